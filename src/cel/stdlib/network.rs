//! The network library: IP addresses and CIDR networks, as opaque values `net.IP` and `net.CIDR`.
//!
//! Reading is strict, because a lenient reader lets an address pass for another: no zones, no leading zeros, no IPv4
//! written into an IPv6 address with dots, which the conformance suite has as an error. An IPv4-mapped address in
//! hexadecimal is the IPv4 address that it maps, and a network of such addresses the IPv4 network: else
//! `cidr('10.0.0.0/8').containsIP('::ffff:a00:1')` would be false, and a guard that asks it could be dodged.

use super::no_overload;
use crate::fault::{ErrorCode, Fault};
use crate::function::{Code, Function};
use crate::value::{Cidr, Opaque, Value, read_address};
use core::net::{IpAddr, Ipv4Addr};

pub(super) static NETWORK: &[Function] = &[
    Function {
        name: "ip",
        doc: "the address that a text says, or the address of a network as it was written; `::ffff:a00:1` is the IPv4 \
              address that it maps, and an IPv4 address with dots inside of an IPv6 one is refused",
        cost: "1",
        overloads: &[("string_to_ip", "ip(string) -> net.IP"), ("cidr_ip", "net.CIDR.ip() -> net.IP")],
        examples: &[
            ("string(ip('2001:DB8::1'))", "'2001:db8::1'"),
            ("cidr('10.0.0.1/8').ip() == ip('10.0.0.1')", "true"),
            ("ip('::ffff:a00:1') == ip('10.0.0.1')", "true"),
            ("ip('::ffff:10.0.0.1')", "error: invalid_argument"),
            ("ip('10.0.0.01')", "error: invalid_argument"),
        ],
        code: Code::Pure(|_, args| match args {
            [Value::String(text)] => Ok(address(read_ip(text)?)),
            [Value::Opaque(Opaque::Cidr(network))] => Ok(address(network.address())),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "isIP",
        doc: "whether a text says an address that `ip` reads; `::ffff:10.0.0.1` is none, though a client may connect to \
              it, so refuse a host with a colon that is no address",
        cost: "1",
        overloads: &[("is_ip", "isIP(string) -> bool")],
        examples: &[("isIP('127.0.0.1')", "true"), ("isIP('127.0.0.1.0')", "false")],
        code: Code::Pure(|_, args| match args {
            [Value::String(text)] => Ok(Value::Bool(read_ip(text).is_ok())),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "ip.isCanonical",
        doc: "whether an address is written as RFC 5952 has it: the one way of many",
        cost: "1",
        overloads: &[("ip_is_canonical", "ip.isCanonical(string) -> bool")],
        examples: &[
            ("ip.isCanonical('2001:db8::1')", "true"),
            ("ip.isCanonical('2001:DB8::1')", "false"),
            ("ip.isCanonical('no')", "error: invalid_argument"),
        ],
        code: Code::Pure(|_, args| match args {
            [Value::String(text)] => Ok(Value::Bool(read_ip(text)?.to_string() == **text)),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "family",
        doc: "4 or 6",
        cost: "1",
        overloads: &[("ip_family", "net.IP.family() -> int")],
        examples: &[("ip('127.0.0.1').family()", "4"), ("ip('::1').family()", "6")],
        code: Code::Pure(|_, args| match args {
            [Value::Opaque(Opaque::Ip(address))] => Ok(Value::Int(if address.is_ipv4() { 4 } else { 6 })),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "isUnspecified",
        doc: "whether the address is `0.0.0.0` or `::`",
        cost: "1",
        overloads: &[("ip_is_unspecified", "net.IP.isUnspecified() -> bool")],
        examples: &[("ip('::').isUnspecified()", "true")],
        code: Code::Pure(|_, args| test(args, |address| address.is_unspecified())),
    },
    Function {
        name: "isLoopback",
        doc: "whether the address is this machine: `127.0.0.0/8` or `::1`",
        cost: "1",
        overloads: &[("ip_is_loopback", "net.IP.isLoopback() -> bool")],
        examples: &[("ip('127.1.2.3').isLoopback()", "true")],
        code: Code::Pure(|_, args| test(args, |address| address.is_loopback())),
    },
    Function {
        name: "isGlobalUnicast",
        doc: "whether the address is neither unspecified, loopback, link-local, multicast nor broadcast; private ones are",
        cost: "1",
        overloads: &[("ip_is_global_unicast", "net.IP.isGlobalUnicast() -> bool")],
        examples: &[
            ("ip('192.168.0.1').isGlobalUnicast()", "true"),
            ("ip('255.255.255.255').isGlobalUnicast()", "false"),
        ],
        code: Code::Pure(|_, args| {
            test(args, |address| {
                !address.is_unspecified()
                    && !address.is_loopback()
                    && !address.is_multicast()
                    && !is_link_local(address)
                    && address != IpAddr::V4(Ipv4Addr::BROADCAST)
            })
        }),
    },
    Function {
        name: "isLinkLocalUnicast",
        doc: "whether the address is of `169.254.0.0/16` or `fe80::/10`",
        cost: "1",
        overloads: &[("ip_is_link_local_unicast", "net.IP.isLinkLocalUnicast() -> bool")],
        examples: &[("ip('169.254.169.254').isLinkLocalUnicast()", "true")],
        code: Code::Pure(|_, args| test(args, is_link_local)),
    },
    Function {
        name: "isLinkLocalMulticast",
        doc: "whether the address is of `224.0.0.0/24` or `ff02::/16`",
        cost: "1",
        overloads: &[("ip_is_link_local_multicast", "net.IP.isLinkLocalMulticast() -> bool")],
        examples: &[("ip('ff02::1').isLinkLocalMulticast()", "true")],
        code: Code::Pure(|_, args| {
            test(args, |address| match address {
                IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
                IpAddr::V6(address) => matches!(address.segments(), [first, ..] if first & 0xff0f == 0xff02),
            })
        }),
    },
    Function {
        name: "cidr",
        doc: "the network that a text says: an address, a slash and the number of leading bits; one of IPv4-mapped \
              addresses, with at least 96 bits, is the IPv4 network",
        cost: "1",
        overloads: &[("string_to_cidr", "cidr(string) -> net.CIDR")],
        examples: &[
            ("string(cidr('10.0.0.0/8'))", "'10.0.0.0/8'"),
            ("type(cidr('10.0.0.0/8')) == net.CIDR", "true"),
            ("string(cidr('::ffff:a00:0/104'))", "'10.0.0.0/8'"),
            ("cidr('::ffff:0:0/96') == cidr('0.0.0.0/0')", "true"),
            ("cidr('::ffff:0:0/95')", "error: invalid_argument"),
            ("cidr('10.0.0.0/33')", "error: invalid_argument"),
        ],
        code: Code::Pure(|_, args| match args {
            [Value::String(text)] => Ok(Value::Opaque(Opaque::Cidr(read_cidr(text)?))),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "isCIDR",
        doc: "whether a text says a network",
        cost: "1",
        overloads: &[("is_cidr", "isCIDR(string) -> bool")],
        examples: &[("isCIDR('10.0.0.0/8')", "true"), ("isCIDR('10.0.0.0')", "false")],
        code: Code::Pure(|_, args| match args {
            [Value::String(text)] => Ok(Value::Bool(read_cidr(text).is_ok())),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "containsIP",
        doc: "whether an address is of the network",
        cost: "1",
        overloads: &[
            ("cidr_contains_ip", "net.CIDR.containsIP(net.IP) -> bool"),
            ("cidr_contains_ip_string", "net.CIDR.containsIP(string) -> bool"),
        ],
        examples: &[
            ("cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))", "true"),
            ("cidr('10.0.0.0/8').containsIP('11.0.0.1')", "false"),
            ("cidr('10.0.0.0/8').containsIP('::ffff:a01:203')", "true"),
            ("cidr('::/0').containsIP('::ffff:a01:203')", "false"),
            ("cidr('10.0.0.0/8').containsIP('::ffff:10.1.2.3')", "error: invalid_argument"),
        ],
        code: Code::Pure(|_, args| match args {
            [Value::Opaque(Opaque::Cidr(network)), Value::Opaque(Opaque::Ip(address))] => {
                Ok(Value::Bool(network.contains(*address)))
            }
            [Value::Opaque(Opaque::Cidr(network)), Value::String(text)] => {
                Ok(Value::Bool(network.contains(read_ip(text)?)))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "containsCIDR",
        doc: "whether every address of another network is of this one",
        cost: "1",
        overloads: &[
            ("cidr_contains_cidr", "net.CIDR.containsCIDR(net.CIDR) -> bool"),
            ("cidr_contains_cidr_string", "net.CIDR.containsCIDR(string) -> bool"),
        ],
        examples: &[
            ("cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))", "true"),
            ("cidr('10.0.0.0/8').containsCIDR('10.0.0.0/7')", "false"),
            ("cidr('10.0.0.0/8').containsCIDR('::ffff:a01:0/112')", "true"),
        ],
        code: Code::Pure(|_, args| match args {
            [Value::Opaque(Opaque::Cidr(network)), Value::Opaque(Opaque::Cidr(other))] => {
                Ok(Value::Bool(contains(*network, *other)))
            }
            [Value::Opaque(Opaque::Cidr(network)), Value::String(text)] => {
                Ok(Value::Bool(contains(*network, read_cidr(text)?)))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "masked",
        doc: "the network with the bits after its leading ones cleared",
        cost: "1",
        overloads: &[("cidr_masked", "net.CIDR.masked() -> net.CIDR")],
        examples: &[("string(cidr('192.168.1.5/24').masked())", "'192.168.1.0/24'")],
        code: Code::Pure(|_, args| match args {
            [Value::Opaque(Opaque::Cidr(network))] => Ok(Value::Opaque(Opaque::Cidr(network.masked()))),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "prefixLength",
        doc: "the number of leading bits that name the network",
        cost: "1",
        overloads: &[("cidr_prefix_length", "net.CIDR.prefixLength() -> int")],
        examples: &[("cidr('2001:db8::/32').prefixLength()", "32")],
        code: Code::Pure(|_, args| match args {
            [Value::Opaque(Opaque::Cidr(network))] => Ok(Value::Int(i64::from(network.length()))),
            _ => no_overload(args),
        }),
    },
];

fn address<'a>(address: IpAddr) -> Value<'a> {
    Value::Opaque(Opaque::Ip(address))
}

fn test<'a>(args: &[&Value<'a>], holds: fn(IpAddr) -> bool) -> Result<Value<'a>, Fault> {
    match args {
        [Value::Opaque(Opaque::Ip(address))] => Ok(Value::Bool(holds(*address))),
        _ => no_overload(args),
    }
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

fn contains(network: Cidr, other: Cidr) -> bool {
    network.length() <= other.length() && network.contains(other.address())
}

fn read_ip(text: &str) -> Result<IpAddr, Fault> {
    let address = read_address(text).ok_or(ErrorCode::InvalidArgument)?;
    Ok(address.to_canonical())
}

fn read_cidr(text: &str) -> Result<Cidr, Fault> {
    Cidr::parse(text).ok_or_else(|| ErrorCode::InvalidArgument.into())
}
