//! Which hosts a request may be for, and which web pages it may come from.
//!
//! In: the header of a request. Out: whether it may go on, and what a browser is told of origins. A server without tokens is
//! protected by its address alone, and a browser lends that address to every page that it shows. So such a server answers only
//! under names of its own (a page whose name was pointed at this machine has another one), and no server changes anything
//! for a page of another origin (RFC 6454, Fetch Metadata). Programs that are no browsers send neither header.

use crate::error::ServeError;
use crate::messages;
use crate::problem::{Kind, Problem};
use crate::settings::Settings;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use celador_service::is_loopback;
use std::net::{Ipv6Addr, SocketAddr};

/// Names of headers that have no constant.
const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// What a page of a listed origin may use: everything that the routes look at.
const METHODS: &str = "GET, POST, PUT, PATCH, DELETE";
const REQUEST_HEADERS: &str = "authorization, content-type, idempotency-key, x-request-id";
const RESPONSE_HEADERS: &str = "idempotency-replayed, location, retry-after, x-request-id";

/// Seconds that a browser may remember an answer to its preflight request.
const MAX_AGE: &str = "600";

/// Hosts and origins of one server.
pub(crate) struct Origins {
    /// The names that requests may be for, besides those of loopback; nothing if any will do.
    hosts: Option<Vec<String>>,
    /// The origins of other sites that may do everything.
    listed: Vec<Origin>,
    /// The server's own, where it is reached.
    public: Option<Origin>,
    scheme: &'static str,
}

/// Scheme, host and port of a page, in lower case and with the port that the scheme stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

impl Origins {
    /// The hosts and origins of a server that listens here.
    ///
    /// # Errors
    /// A host, an origin or a public address that is none.
    pub(crate) fn new(
        settings: &Settings,
        address: SocketAddr,
        knows_callers: bool,
    ) -> Result<Self, ServeError> {
        let wrong = |name, text: &str, expected| ServeError::setting(name, messages::not(expected, text));
        let public = settings.public_url.as_deref().map(|url| {
            let origin = url.parse().ok().and_then(|url| Origin::of(&url));
            origin.ok_or_else(|| wrong("public_url", url, "an address such as `https://celador.example/`"))
        });
        let public = public.transpose()?;
        let listed = settings.allowed_origins.iter().map(|text| {
            let origin = Origin::parse(text);
            origin.ok_or_else(|| {
                wrong("allowed_origins", text, "an origin such as `https://console.example:8443`")
            })
        });
        let hosts = settings.allowed_hosts.iter().map(|text| match split(text) {
            Some((host, None)) => Ok(host),
            _ => Err(wrong("allowed_hosts", text, "a name or an IP address without a port")),
        });
        let mut hosts = hosts.collect::<Result<Vec<_>, _>>()?;
        let is_open = knows_callers && hosts.is_empty();
        hosts.extend(public.iter().map(|origin| origin.host.clone()));
        if !address.ip().is_unspecified() {
            hosts.push(address.ip().to_string());
        }
        Ok(Self {
            hosts: (!is_open).then_some(hosts),
            listed: listed.collect::<Result<_, _>>()?,
            public,
            scheme: if settings.tls.is_some() { "https" } else { "http" },
        })
    }

    /// Whether a request may go on.
    ///
    /// # Errors
    /// A request for a host that is not the server's, or one of another site that would change something.
    pub(crate) fn admit(&self, request: &Parts) -> Result<(), Problem> {
        let for_host = self.host(request)?;
        if request.method == Method::GET || request.method == Method::HEAD {
            return Ok(());
        }
        let foreign = || Err(Problem::new(Kind::ForeignOrigin, messages::foreign_origin()));
        let mut origins = request.headers.get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (Some(origin), None) => match origin.to_str().ok().and_then(Origin::parse) {
                Some(origin) if self.is_own(&origin, for_host.as_ref()) => Ok(()),
                _ => foreign(),
            },
            (None, _) => {
                let mut sites = request.headers.get_all(SEC_FETCH_SITE).iter();
                let near = |site: &HeaderValue| site == "same-origin" || site == "none";
                if sites.all(near) { Ok(()) } else { foreign() }
            }
            _ => foreign(),
        }
    }

    /// The host and port that a request is for, if it is one that the server answers for.
    fn host(&self, request: &Parts) -> Result<Option<(String, Option<u16>)>, Problem> {
        let address = request.uri.authority().map(|authority| authority.as_str());
        let fields = request.headers.get_all(header::HOST).iter();
        let fields = fields.map(|host| host.to_str().unwrap_or_default());
        // an address with a host says it first (RFC 9112 3.2.2); all that is said has to be right
        let said: Vec<_> = address.into_iter().chain(fields).map(split).collect();
        if let Some(hosts) = &self.hosts {
            let known = |said: &Option<(String, _)>| {
                said.as_ref().is_some_and(|(host, _)| is_loopback(host) || hosts.contains(host))
            };
            if said.is_empty() || !said.iter().all(known) {
                return Err(Problem::new(Kind::ForeignHost, messages::foreign_host()));
            }
        }
        Ok(said.into_iter().next().flatten())
    }

    fn is_own(&self, origin: &Origin, for_host: Option<&(String, Option<u16>)>) -> bool {
        let here = for_host.and_then(|(host, port)| {
            let port = port.or_else(|| default_port(self.scheme))?;
            Some(Origin { scheme: self.scheme.to_owned(), host: host.clone(), port })
        });
        here.as_ref() == Some(origin) || self.public.as_ref() == Some(origin) || self.listed.contains(origin)
    }

    /// The answer to a preflight request of a listed origin; nothing for any other request.
    pub(crate) fn preflight(&self, request: &Parts) -> Option<Response> {
        let asks = request.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        if request.method != Method::OPTIONS || !asks {
            return None;
        }
        self.listed_origin(&request.headers)?;
        let mut response = StatusCode::NO_CONTENT.into_response();
        for (name, value) in [
            (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS),
            (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE),
        ] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        Some(response)
    }

    /// What a browser needs to show an answer to a page of a listed origin. Nothing where no origin is listed.
    pub(crate) fn mark(&self, asked: &HeaderMap, answer: &mut HeaderMap) {
        if self.listed.is_empty() {
            return;
        }
        answer.append(header::VARY, HeaderValue::from_static("origin"));
        if let Some(origin) = self.listed_origin(asked) {
            answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            let exposed = HeaderValue::from_static(RESPONSE_HEADERS);
            answer.insert(HeaderName::from_static("access-control-expose-headers"), exposed);
        }
    }

    fn listed_origin<'h>(&self, headers: &'h HeaderMap) -> Option<&'h HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        let parsed = origin.to_str().ok().and_then(Origin::parse)?;
        self.listed.contains(&parsed).then_some(origin)
    }
}

impl Origin {
    /// An origin as browsers write it: nothing but scheme, host and, if it is not the scheme's, a port.
    fn parse(text: &str) -> Option<Self> {
        let rest = text.split_once("://")?.1;
        if rest.contains(['/', '?', '#', '@']) {
            return None;
        }
        Self::of(&text.parse().ok()?)
    }

    fn of(url: &Uri) -> Option<Self> {
        let scheme = url.scheme_str()?.to_ascii_lowercase();
        let (host, port) = split(url.authority()?.as_str())?;
        let port = port.or_else(|| default_port(&scheme))?;
        Some(Self { scheme, host, port })
    }
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// Host and port of an authority, the host in lower case, an IPv6 address without brackets; nothing for anything else.
fn split(authority: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            (host.parse::<Ipv6Addr>().ok()?.to_string(), port)
        }
        None if authority.parse::<Ipv6Addr>().is_ok() => (authority.to_ascii_lowercase(), ""),
        None => {
            let end = authority.find(':').unwrap_or(authority.len());
            let (host, port) = authority.split_at_checked(end)?;
            (host.to_ascii_lowercase(), port)
        }
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    if host.is_empty() || !host.bytes().all(is_name) {
        return None;
    }
    match port.strip_prefix(':') {
        None if port.is_empty() => Some((host, None)),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some((host, Some(digits.parse().ok()?)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Origin, is_loopback, split};

    #[test]
    fn hosts_are_read_strictly() {
        let host = |text: &str| split(text).map(|(host, port)| (host, port.unwrap_or(0)));
        for (text, name, port) in [
            ("localhost", "localhost", 0),
            ("LOCALHOST:8717", "localhost", 8717),
            ("127.0.0.1:1", "127.0.0.1", 1),
            ("[::1]", "::1", 0),
            ("[0:0:0:0:0:0:0:1]:80", "::1", 80),
            ("::1", "::1", 0),
        ] {
            assert_eq!(host(text), Some((name.to_owned(), port)), "{text}");
        }
        for text in [
            "",
            ":80",
            "a b",
            "user@localhost",
            "localhost:",
            "localhost:x",
            "localhost:99999",
            "[::1",
            "[x]",
        ] {
            assert_eq!(host(text), None, "{text}");
        }
        for text in ["localhost", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(is_loopback(text), "{text}");
        }
        for text in
            ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.1", "0.0.0.0", "::"]
        {
            assert!(!is_loopback(text), "{text}");
        }
    }

    #[test]
    fn origins_are_read_strictly() {
        assert_eq!(Origin::parse("http://a"), Origin::parse("HTTP://A:80"));
        assert_ne!(Origin::parse("http://a"), Origin::parse("https://a"));
        for text in
            ["null", "*", "a", "http://a/", "http://a/b", "http://u@a", "file://", "http://", "ftp://a"]
        {
            assert_eq!(Origin::parse(text), None, "{text}");
        }
    }
}
