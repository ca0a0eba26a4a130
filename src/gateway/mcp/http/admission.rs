//! Checks of a request before its body is read: its host, its origin, what it sends and accepts.

use super::messages;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, StatusCode};
use std::net::IpAddr;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Media types of answers that a client must accept.
pub(super) const JSON: &str = "application/json";

/// A refusal: its status and its text.
pub(super) type Refusal = (StatusCode, &'static str);

/// Checks that a request is for this machine, and from no page of another site. Returns the authority that the client connects to.
///
/// # Errors
/// Another host, as after DNS rebinding, or another origin.
pub(super) fn check_origin(request: &Parts) -> Result<Authority, Refusal> {
    let refuse = |reason| (StatusCode::FORBIDDEN, reason);
    let named = request.uri.authority().cloned();
    let host = single(&request.headers, &HOST).and_then(|host| host.parse::<Authority>().ok());
    let is_consistent = named.is_none() || host.is_none() || named == host;
    let authority = named.or(host).filter(|authority| is_consistent && is_loopback(authority));
    let authority = authority.ok_or(refuse(messages::NOT_HERE))?;
    let is_own = |origin: &str| {
        origin.strip_prefix("http://").and_then(|rest| rest.parse().ok()) == Some(authority.clone())
    };
    let origins = request.headers.get_all(ORIGIN);
    let sites = request.headers.get_all(SEC_FETCH_SITE);
    let own_origin = origins.iter().all(|origin| origin.to_str().is_ok_and(is_own));
    if own_origin && sites.iter().all(|site| site == "same-origin" || site == "none") {
        Ok(authority)
    } else {
        Err(refuse(messages::FOREIGN_PAGE))
    }
}

/// Whether the host is this machine by name or by number. Other forms of numbers (`127.1`) are not.
fn is_loopback(authority: &Authority) -> bool {
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let is_plain = !authority.as_str().contains('@');
    let is_here = host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback());
    is_plain && is_here
}

/// Checks that a body is JSON, and that its answer may be JSON or a stream of events.
pub(super) fn check_post(headers: &HeaderMap) -> Result<(), Refusal> {
    let content_type = single(headers, &CONTENT_TYPE).unwrap_or_default();
    if !essence(content_type).eq_ignore_ascii_case(JSON) {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, messages::NOT_JSON));
    }
    if accepts(headers, JSON) && accepts(headers, super::events::EVENT_STREAM) {
        Ok(())
    } else {
        Err((StatusCode::NOT_ACCEPTABLE, messages::ACCEPT_BOTH))
    }
}

/// Checks that a stream of events is acceptable.
pub(super) fn check_get(headers: &HeaderMap) -> Result<(), Refusal> {
    if accepts(headers, super::events::EVENT_STREAM) {
        Ok(())
    } else {
        Err((StatusCode::NOT_ACCEPTABLE, messages::ACCEPT_EVENTS))
    }
}

/// The media type of a `Content-Type`, without parameters.
pub(super) fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let wanted =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|it| it.split(','));
    let group = media_type.split('/').next().unwrap_or_default();
    wanted
        .map(essence)
        .any(|it| it.eq_ignore_ascii_case(media_type) || it == "*/*" || it.strip_suffix("/*") == Some(group))
}

/// The value of a header that occurs once.
pub(super) fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{check_get, check_origin, check_post};
    use http::Request;
    use http::request::Parts;

    fn parts(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let request =
            headers.iter().fold(Request::builder().uri(uri), |it, (name, value)| it.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn requests_are_for_this_machine_and_from_no_page_of_another_site() {
        for (uri, headers, passes) in [
            ("/mcp", &[("host", "127.0.0.1:8770")][..], true),
            ("/mcp", &[("host", "LOCALHOST:8770")], true),
            ("/mcp", &[("host", "[::1]:8770")], true),
            ("http://127.0.0.1:1/mcp", &[("host", "127.0.0.1:1")], true),
            ("/mcp", &[("host", "127.0.0.1:1"), ("origin", "http://127.0.0.1:1")], true),
            ("/mcp", &[("host", "127.0.0.1:1"), ("sec-fetch-site", "none")], true),
            ("/mcp", &[], false),
            ("/mcp", &[("host", "a"), ("host", "127.0.0.1:1")], false),
            ("/mcp", &[("host", "evil.example")], false),
            ("/mcp", &[("host", "127.1:8770")], false),
            ("/mcp", &[("host", "localhost.evil.example")], false),
            ("/mcp", &[("host", "a@127.0.0.1")], false),
            ("http://evil.example/mcp", &[("host", "127.0.0.1:1")], false),
            ("/mcp", &[("host", "127.0.0.1:1"), ("origin", "http://127.0.0.1:2")], false),
            ("/mcp", &[("host", "127.0.0.1:1"), ("origin", "https://127.0.0.1:1")], false),
            ("/mcp", &[("host", "127.0.0.1:1"), ("origin", "null")], false),
            (
                "/mcp",
                &[("host", "127.0.0.1:1"), ("origin", "http://127.0.0.1:1"), ("origin", "http://a")],
                false,
            ),
            ("/mcp", &[("host", "127.0.0.1:1"), ("sec-fetch-site", "cross-site")], false),
        ] {
            assert_eq!(check_origin(&parts(uri, headers)).is_ok(), passes, "{uri} {headers:?}");
        }
    }

    #[test]
    fn media_types_are_checked() {
        let both = ("accept", "application/json, text/event-stream;q=0.5");
        for (headers, status) in [
            (&[both, ("content-type", "application/json; charset=utf-8")][..], 200),
            (&[("accept", "*/*"), ("content-type", "application/json")], 200),
            (&[both, ("content-type", "text/plain")], 415),
            (&[both], 415),
            (&[("accept", "application/json"), ("content-type", "application/json")], 406),
            (&[("content-type", "application/json")], 406),
        ] {
            let status_of =
                check_post(&parts("/", headers).headers).map_or_else(|(status, _)| status.as_u16(), |()| 200);
            assert_eq!(status_of, status, "{headers:?}");
        }
        assert!(check_get(&parts("/", &[both]).headers).is_ok());
        assert!(check_get(&parts("/", &[("accept", "application/json")]).headers).is_err());
    }
}
