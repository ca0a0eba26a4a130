//! From which network address a request comes: that of the connection, or what a proxy says that the operator trusts.
//!
//! In: the address of the connection, the headers of a request. Out: the address, or nothing where it is not known. A client can write any
//! `X-Forwarded-For`, so the header counts only as far as trusted proxies have written it: its entries are read from the last one, which the
//! nearest proxy has added, and the first that is no trusted proxy's is the client. An entry that is no address makes the address unknown.

use crate::error::ServeError;
use crate::messages;
use axum::http::HeaderMap;
use celador::cel::Cidr;
use std::net::IpAddr;

/// The header in which proxies say from where a request came to them.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// The entries that are read of the header; what has more of them comes through no chain of proxies that anybody runs.
const MAX_HOPS: usize = 32;

/// The proxies whose word counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proxies(Vec<Cidr>);

impl Proxies {
    /// The proxies that settings name.
    ///
    /// # Errors
    /// A text that is neither an address nor a network.
    pub(crate) fn new(named: &[String]) -> Result<Self, ServeError> {
        let network = |text: &String| {
            let expected = "an address or a network such as `10.0.0.0/8`";
            let wrong = || ServeError::setting("trusted_proxies", messages::not(expected, text));
            let network = Cidr::parse(text).or_else(|| text.parse().ok().map(Cidr::of_address));
            network.ok_or_else(wrong)
        };
        named.iter().map(network).collect::<Result<_, _>>().map(Self)
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address.to_canonical()))
    }

    /// The address from which a request comes that came over a connection from `peer`.
    pub(crate) fn address(&self, peer: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        let mut address = peer.to_canonical();
        let lines: Vec<_> = headers.get_all(FORWARDED_FOR).iter().collect();
        // several lines are one list, in their order
        let hops = lines.iter().rev().flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
        for (read, hop) in hops.enumerate() {
            if !self.trusts(address) {
                return Some(address);
            }
            if read >= MAX_HOPS {
                return None;
            }
            let hop = std::str::from_utf8(hop).ok()?;
            address = hop.trim_matches([' ', '\t']).parse::<IpAddr>().ok()?.to_canonical();
        }
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::Proxies;
    use axum::http::{HeaderMap, HeaderValue};

    #[test]
    fn a_header_counts_as_far_as_trusted_proxies_have_written_it() {
        let proxies = Proxies::new(&["10.0.0.0/8".to_owned(), "2001:db8::7".to_owned()]).unwrap();
        for (peer, lines, expected) in [
            ("192.0.2.1", &[][..], Some("192.0.2.1")),
            // nobody whose word counts
            ("192.0.2.1", &["203.0.113.9"][..], Some("192.0.2.1")),
            ("192.0.2.1", &["203.0.113.9, 10.1.1.1"], Some("192.0.2.1")),
            ("11.0.0.1", &["203.0.113.9"], Some("11.0.0.1")),
            // a proxy without the header is the client itself
            ("10.1.1.1", &[], Some("10.1.1.1")),
            ("10.1.1.1", &["203.0.113.9"], Some("203.0.113.9")),
            ("::ffff:10.1.1.1", &["::ffff:203.0.113.9"], Some("203.0.113.9")),
            ("2001:db8::7", &["2001:db8::8"], Some("2001:db8::8")),
            ("2001:db8::8", &["203.0.113.9"], Some("2001:db8::8")),
            // what the client wrote itself stands ahead of what the proxy has added
            ("10.1.1.1", &["127.0.0.1, 203.0.113.9"], Some("203.0.113.9")),
            ("10.1.1.1", &["127.0.0.1", "203.0.113.9"], Some("203.0.113.9")),
            ("10.1.1.1", &["127.0.0.1,203.0.113.9 , 10.2.2.2"], Some("203.0.113.9")),
            ("10.1.1.1", &["10.9.9.9, 10.2.2.2"], Some("10.9.9.9")),
            // not known
            ("10.1.1.1", &["unknown"], None),
            ("10.1.1.1", &["127.0.0.1, "], None),
            ("10.1.1.1", &["203.0.113.9:4711"], None),
            ("10.1.1.1", &[""], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("x-forwarded-for", HeaderValue::from_str(line).unwrap());
            }
            let found = proxies.address(peer.parse().unwrap(), &headers);
            assert_eq!(found.map(|address| address.to_string()).as_deref(), expected, "{peer} {lines:?}");
        }
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", HeaderValue::from_str(&["10.0.0.1"; 40].join(",")).unwrap());
        assert_eq!(proxies.address("10.1.1.1".parse().unwrap(), &headers), None);
        let nobody = Proxies::default();
        assert_eq!(nobody.address("10.1.1.1".parse().unwrap(), &headers), "10.1.1.1".parse().ok());
    }

    #[test]
    fn a_network_is_an_address_and_how_much_of_it_counts() {
        for text in
            ["10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/+8", "::/129", "proxy", ""]
        {
            assert!(Proxies::new(&[text.to_owned()]).is_err(), "{text}");
        }
        let contains = |network: &str, address: &str| {
            Proxies::new(&[network.to_owned()]).unwrap().trusts(address.parse().unwrap())
        };
        assert!(contains("0.0.0.0/0", "203.0.113.9") && contains("::/0", "2001:db8::1"));
        assert!(!contains("0.0.0.0/0", "2001:db8::1") && !contains("10.0.0.0/9", "10.128.0.0"));
        assert!(contains("10.1.2.3/8", "10.9.9.9") && !contains("10.1.2.3", "10.1.2.4"));
    }
}
