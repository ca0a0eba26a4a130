//! URLs that all readers read alike.
//!
//! In: a text. Out: scheme, host, port, path and query, or what was expected instead. Two standards say how a URL is read, RFC 3986
//! and the WHATWG's, and programs follow either, or neither to the letter. Where they part ways, one text has two hosts: the one that a
//! rule allows, and the one that is asked. So only what both read alike is read here. Refused are:
//!
//! - characters that RFC 3986 does not know, among them backslashes (a slash to browsers), blanks, tabs and line breaks (dropped by
//!   browsers) and everything beyond ASCII: a host has to be written in Punycode, a path with percent-escapes;
//! - user information: `https://example.com@evil.test` and `https://a@b@c` are where parsers went wrong most often, and a
//!   password in a URL ends up in logs;
//! - a URL without `//` and a host (`http:/x`, `file:///x`, `mailto:…`), which browsers repair or read as something else;
//! - a host with percent-escapes, empty labels or a dot at its end, which is the same host under another name, and one that ends in a
//!   number without being four decimal numbers (`127.1`, `0x7f.1`, `017700000001`), which is an address to some;
//! - an IPv6 address with a zone, or one that has an IPv4 address in it: that one has a shorter form;
//! - an empty port, or one with leading zeros;
//! - a path with segments of dots (`..;x` is one to some servers), with escapes of escapes, and with escapes of control characters or of bytes that are no UTF-8.

use super::segments::{decoded, escapes, has_dots_alone, has_escape, is_invisible};
use crate::fault::Fault;
use core::net::{Ipv4Addr, Ipv6Addr};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

const CHARACTERS: &str = "a URL has only characters that RFC 3986 allows, others are percent-encoded";
const FORM: &str = "a URL has a scheme other than `file`, then `://` and a host";
const USER: &str = "a URL has no user information before its host";
const HOST: &str =
    "a host is a name of letters, digits, `_`, `-` and single dots, or an IP address in its usual form";
const PORT: &str = "a port is a number up to 65535 without leading zeros";
const PATH: &str = "the path of a URL has no segments of dots alone and no doubtful escapes";
const QUERY: &str = "a query has pieces that `&` separates, UTF-8 once decoded";

/// Bytes of the longest name of a host, and of the longest part of one.
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// A URL whose scheme, host, port and path are the same to every usual reader: absolute, with a host, without user information.
///
/// Scheme and host are kept in lower case, and an IPv6 address as RFC 5952 has it; all else stays as it was written.
///
/// ```
/// use celador_cel::{Activation, EXTENSIONS, Env, EnvBuilder, Opaque, Program, STANDARD, Type, Url, Value};
/// use std::sync::Arc;
///
/// let url: Url = "https://Docs.Example.com:8443/a/b?k=v#part".parse()?;
/// assert_eq!((url.scheme(), url.port(), url.path()), ("https", Some(8443), "/a/b"));
/// assert_eq!(url.hostname(), "docs.example.com");
/// assert!("https://example.com@evil.test/".parse::<Url>().is_err());
///
/// // a host that has a URL gives it to expressions as a value
/// let scope = Env::builder().variable("address", Type::opaque("kubernetes.URL", []));
/// let env = STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library).build();
/// let program = Program::compile(&env, "address.getHostname().endsWith('.example.com')").unwrap();
/// let activation = Activation::new(&env).with(&env, "address", Value::Opaque(Opaque::Url(Arc::new(url))));
/// assert_eq!(program.holds(&activation, None), Ok(true));
/// # Ok::<(), celador_cel::Fault>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    scheme: Box<str>,
    host: Host,
    port: Option<u16>,
    path: Box<str>,
    query: Option<Box<str>>,
    fragment: Option<Box<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    /// A name, or an IPv4 address.
    Name(Box<str>),
    V6(Ipv6Addr),
}

impl FromStr for Url {
    type Err = Fault;

    /// Reads a URL. Linear in the text.
    ///
    /// # Errors
    /// `invalid_argument` with what was expected, if readers may differ about the text.
    fn from_str(text: &str) -> Result<Self, Fault> {
        if !text.bytes().all(is_allowed) || !escapes(text).all(|is_escape| is_escape) {
            return Err(Fault::refused(CHARACTERS));
        }
        let (scheme, rest) = text.split_once("://").ok_or(Fault::refused(FORM))?;
        let scheme = read_scheme(scheme).ok_or(Fault::refused(FORM))?;
        let (rest, fragment) = cut(rest, '#');
        let (rest, query) = cut(rest, '?');
        let authority_ends = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(authority_ends).ok_or(Fault::refused(FORM))?;
        if [Some(path), query, fragment].into_iter().flatten().any(|part| part.contains(['[', ']', '#'])) {
            return Err(Fault::refused(CHARACTERS));
        }
        if authority.contains('@') {
            return Err(Fault::refused(USER));
        }
        let (host, port) = read_authority(authority)?;
        if !is_clear_path(path) {
            return Err(Fault::refused(PATH));
        }
        let owned = |part: Option<&str>| part.map(Into::into);
        Ok(Self { scheme, host, port, path: path.into(), query: owned(query), fragment: owned(fragment) })
    }
}

impl Url {
    /// The scheme, in lower case.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The host in lower case, an IPv6 address without brackets.
    #[must_use]
    pub fn hostname(&self) -> Cow<'_, str> {
        match &self.host {
            Host::Name(name) => Cow::Borrowed(name),
            Host::V6(address) => Cow::Owned(address.to_string()),
        }
    }

    /// The host and, if one was written, the port behind a colon; an IPv6 address in brackets.
    #[must_use]
    pub fn host(&self) -> String {
        match self.port {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.to_string(),
        }
    }

    /// The port, if one was written.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The path as it was written, percent-escapes and all. Empty, or a slash stands in front.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The names and values of the query, decoded, in their order; a `+` is a blank, and a name without `=` has the empty
    /// value. Linear in the query.
    ///
    /// # Errors
    /// `invalid_argument` for a query with a `;`, which separates pieces to some readers, and for one that is not UTF-8 once
    /// it is decoded.
    pub fn query(&self) -> Result<Vec<(String, String)>, Fault> {
        let query = self.query.as_deref().unwrap_or_default();
        if query.contains(';') {
            return Err(Fault::refused(QUERY));
        }
        let pieces = query.split('&').filter(|piece| !piece.is_empty());
        let read = |piece: &str| {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            let decoded = |text: &str| decoded(&text.replace('+', " "));
            Some((decoded(name)?, decoded(value)?))
        };
        pieces.map(|piece| read(piece).ok_or(Fault::refused(QUERY))).collect()
    }

    /// The bytes of its text, which is what it costs to look at.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let host = match &self.host {
            Host::Name(name) => name.len(),
            Host::V6(_) => "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]".len(),
        };
        let optional = [&self.query, &self.fragment].into_iter().flatten().map(|part| part.len());
        [self.scheme.len(), host, self.path.len(), "://:65535?#".len()]
            .into_iter()
            .chain(optional)
            .fold(0, usize::saturating_add)
    }
}

impl fmt::Display for Url {
    /// The whole URL, which reads as the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.host(), self.path)?;
        if let Some(query) = &self.query {
            write!(f, "?{query}")?;
        }
        if let Some(fragment) = &self.fragment {
            write!(f, "#{fragment}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::V6(address) => write!(f, "[{address}]"),
        }
    }
}

/// A character of RFC 3986.
fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte)
}

/// What stands before a sign, and what stands behind it if it is there.
fn cut(text: &str, sign: char) -> (&str, Option<&str>) {
    text.split_once(sign).map_or((text, None), |(before, after)| (before, Some(after)))
}

/// A scheme in lower case. Files have no host that anybody agrees on, and drives where others have a path.
fn read_scheme(text: &str) -> Option<Box<str>> {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let is_scheme = text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(is_sign);
    let scheme = text.to_ascii_lowercase();
    (is_scheme && scheme != "file").then(|| scheme.into())
}

/// Host and port.
fn read_authority(text: &str) -> Result<(Host, Option<u16>), Fault> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, after) = rest.split_once(']').ok_or(Fault::refused(HOST))?;
            let port = match after.strip_prefix(':') {
                None if after.is_empty() => None,
                None => return Err(Fault::refused(HOST)),
                port => port,
            };
            (read_v6(address), port)
        }
        None => {
            let (name, port) = cut(text, ':');
            (read_name(name), port)
        }
    };
    if text.is_empty() {
        return Err(Fault::refused(FORM));
    }
    let host = host.ok_or(Fault::refused(HOST))?;
    Ok((host, port.map(read_port).transpose()?))
}

fn read_port(text: &str) -> Result<u16, Fault> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain).ok_or(Fault::refused(PORT))
}

fn read_v6(text: &str) -> Option<Host> {
    let address: Ipv6Addr = text.parse().ok()?;
    let is_plain = !text.contains('.') && address.to_ipv4_mapped().is_none();
    is_plain.then_some(Host::V6(address))
}

/// A name in lower case, or an IPv4 address.
fn read_name(text: &str) -> Option<Host> {
    let is_label = |label: &str| {
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        (1..=LONGEST_LABEL).contains(&label.len())
            && label.bytes().all(is_sign)
            // a hyphen in front makes an option of a command of it, and an `xn--…-` is a name in plain letters to some
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let name = text.to_ascii_lowercase();
    let last = name.rsplit('.').next().unwrap_or_default();
    let ends_in_number = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
    let is_name = name.len() <= LONGEST_NAME && name.split('.').all(is_label);
    let is_host = is_name && (!ends_in_number || name.parse::<Ipv4Addr>().is_ok());
    is_host.then(|| Host::Name(name.into()))
}

fn is_clear_path(path: &str) -> bool {
    let is_clear = |text: &str| !has_dots_alone(text) && !has_escape(text) && !text.chars().any(is_invisible);
    !has_dots_alone(path) && decoded(path).is_some_and(|path| is_clear(&path))
}
