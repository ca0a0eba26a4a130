//! Values of a library's own, which the language only carries, compares and prints: addresses, networks, URLs,
//! versions, quantities.
//!
//! They are a closed set, so that the language needs no trait objects for them. What can be done with
//! them stands in their library. The addresses are those of `core`, where there is no network to reach.

use crate::formats::{Quantity, Semver, Url};
use crate::types::Kind;
use core::net::IpAddr;
use std::fmt;
use std::sync::Arc;

/// A value of a library's own. Values of different libraries, or of different types of one, are unequal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opaque {
    /// `ip('10.0.0.1')`
    Ip(IpAddr),
    /// `cidr('10.0.0.0/8')`
    Cidr(Cidr),
    /// `url('https://example.com/')`
    Url(Arc<Url>),
    /// `semver('1.2.3')`
    Semver(Arc<Semver>),
    /// `quantity('1.5Gi')`
    Quantity(Arc<Quantity>),
}

impl Opaque {
    /// The names of the types.
    pub const TYPES: [&'static str; 5] =
        [Kind::Ip.name(), Kind::Cidr.name(), Kind::Url.name(), Kind::Semver.name(), Kind::Quantity.name()];

    /// The kind of the value.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Ip(_) => Kind::Ip,
            Self::Cidr(_) => Kind::Cidr,
            Self::Url(_) => Kind::Url,
            Self::Semver(_) => Kind::Semver,
            Self::Quantity(_) => Kind::Quantity,
        }
    }

    /// The name of the value's type, as `type()` prints it.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        self.kind().name()
    }

    /// The bytes that it holds beside itself, which is what it costs to look at; none for those that are always short.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Ip(_) | Self::Cidr(_) | Self::Semver(_) | Self::Quantity(_) => 0,
            Self::Url(url) => url.bytes(),
        }
    }
}

impl fmt::Display for Opaque {
    /// The text that its library reads: `10.0.0.1`, `10.0.0.0/8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Cidr(network) => network.fmt(f),
            Self::Url(url) => url.fmt(f),
            Self::Semver(version) => version.fmt(f),
            Self::Quantity(quantity) => quantity.fmt(f),
        }
    }
}

/// An address and how many of its leading bits name the network; the bits after them may be set.
///
/// ```
/// use celador_cel::{Activation, Cidr, EXTENSIONS, Env, EnvBuilder, Opaque, Program, STANDARD, Type, Value};
///
/// // the network that a host allows is a value, not a text that each expression reads anew
/// let office = Cidr::new("10.1.0.0".parse()?, 16).ok_or("an address has that many bits")?;
/// assert!(office.contains("10.1.7.9".parse()?) && !office.contains("10.2.0.1".parse()?));
///
/// let scope = Env::builder().variable("office", Type::opaque("net.CIDR", [])).variable("client", Type::String);
/// let env = STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library).build();
/// let program = Program::compile(&env, "office.containsIP(ip(client))").unwrap();
/// let activation = Activation::new(&env).with(&env, "office", Value::Opaque(Opaque::Cidr(office)));
/// assert_eq!(program.holds(&activation.with(&env, "client", Value::from("10.1.7.9")), None), Ok(true));
/// assert_eq!(Opaque::Cidr(office).to_string(), "10.1.0.0/16");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    length: u8,
}

impl Cidr {
    /// Nothing if an address of this family has fewer bits.
    #[must_use]
    pub fn new(address: IpAddr, length: u8) -> Option<Self> {
        (length <= width(address)).then_some(Self { address, length })
    }

    /// The network that a text such as `10.0.0.0/8` says, read as strictly as the function `cidr` does; nothing for any other text. A network of
    /// IPv4 addresses that are mapped to IPv6 is the IPv4 network.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST_CIDR {
            return None;
        }
        let (address, length) = text.split_once('/')?;
        let is_plain =
            length.bytes().all(|byte| byte.is_ascii_digit()) && (length == "0" || !length.starts_with('0'));
        let length: u8 = length.parse().ok().filter(|_| is_plain)?;
        let written = read_address(address)?;
        let address = written.to_canonical();
        // a wider network would be of IPv4 in part, and there is no such value
        let length = if address == written { Some(length) } else { length.checked_sub(MAPPED_BITS) };
        Self::new(address, length?)
    }

    /// The network of one address. An IPv4 address that is mapped to IPv6 is the IPv4 address.
    #[must_use]
    pub fn of_address(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { address, length: width(address) }
    }

    /// The address as it was written.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// How many leading bits name the network.
    #[must_use]
    pub fn length(&self) -> u8 {
        self.length
    }

    /// The network with all bits after the leading ones cleared.
    #[must_use]
    pub fn masked(&self) -> Self {
        let rest = u32::from(width(self.address).saturating_sub(self.length));
        let address = match self.address {
            IpAddr::V4(address) => {
                IpAddr::V4((address.to_bits() & u32::MAX.checked_shl(rest).unwrap_or(0)).into())
            }
            IpAddr::V6(address) => {
                IpAddr::V6((address.to_bits() & u128::MAX.checked_shl(rest).unwrap_or(0)).into())
            }
        };
        Self { address, length: self.length }
    }

    /// Whether an address is of this network; one of the other family never is.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        Self::new(address, self.length).is_some_and(|other| other.masked() == self.masked())
            && address.is_ipv4() == self.address.is_ipv4()
    }
}

/// The bits of an IPv6 address before the IPv4 address that it maps.
const MAPPED_BITS: u8 = 96;

/// Bytes of the longest text that says a network; a longer one is not looked at, so that asking has one price.
const LONGEST_CIDR: usize = 49;

/// The address that a text says, as it is written: one that maps an IPv4 address stays of IPv6.
pub(crate) fn read_address(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    // with dots inside, it is written in a way that the conformance suite has as an error
    (address.is_ipv4() || !text.contains('.')).then_some(address)
}

/// The bits of an address.
fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}
