//! The API of the model: requests go there with the client's own key, answers come back whole or piece by piece.
//!
//! In: an address, a request less what is between client and proxy alone. Out: status, headers, and the body as it comes. What leaves
//! this machine goes over TLS, to a server for which the system's certificates vouch. Nothing of a request is logged or kept.

use super::asking::Obstacle;
use super::messages;
use axum::body::Bytes;
use axum::http::uri::Scheme;
use axum::http::{HeaderMap, HeaderName, Method, Request, Response, Uri};
use celador_service::ClientError;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::time::Duration;
use tokio::time::timeout;
use tokio_rustls::rustls::crypto::ring;

/// How long the API may take until an answer begins, and between two pieces of it.
const PATIENCE: Duration = Duration::from_secs(600);

/// The largest answer that is taken whole.
const MAX_ANSWER_BYTES: usize = 67_108_864;

/// Headers of a request that the API is sent, by their names or how these begin: keys, versions, and what clients say of themselves. Others
/// may mean another address or another method to whoever reads them next.
const SENT: [&str; 27] = [
    "accept",
    "anthropic-",
    "api-key",
    "authorization",
    "chatgpt-account-id",
    "content-type",
    "conversation_id",
    "cf-aig-",
    "helicone-",
    "http-referer",
    "idempotency-key",
    "openai-",
    "originator",
    "portkey-",
    "session-id",
    "session_id",
    "thread-id",
    "traceparent",
    "tracestate",
    "user-agent",
    "version",
    "x-api-key",
    "x-app",
    "x-claude-",
    "x-client-request-id",
    "x-codex-",
    "x-goog-api-",
];
/// Others of these, of two makers' own clients and two makers of gateways.
const SENT_TOO: [&str; 5] = ["x-openai-", "x-portkey-", "x-request-id", "x-stainless-", "x-title"];

/// Headers that no setting sends on: they are about the connection to the proxy, or about a body that is written anew, or from a browser.
const OWN: [&str; 18] = [
    "accept-encoding",
    "accept-language",
    "connection",
    "content-encoding",
    "content-length",
    "date",
    "expect",
    "host",
    "keep-alive",
    "origin",
    "proxy-",
    "sec-",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-celador-",
];

/// Headers of an answer that the client gets: ids, limits, and when to come again.
const ANSWERED: [&str; 9] = [
    "anthropic-",
    "cf-ray",
    "openai-",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-ratelimit-",
    "x-request-id",
    "x-should-retry",
];

/// The API of a model.
pub(crate) struct Upstream {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Scheme, authority and what stands before every path, without a slash at the end.
    base: String,
    /// Headers of requests that go on as well, by their names or how these begin.
    headers: Vec<String>,
    /// Whether headers go on that are in no list.
    is_lax: bool,
}

impl Upstream {
    /// The API at an address, such as `https://api.openai.com/v1`.
    ///
    /// # Errors
    /// [`ClientError::Address`] for what is none, [`ClientError::Insecure`] for one without TLS beyond loopback.
    pub(crate) fn new(address: &str, headers: &[String], is_lax: bool) -> Result<Self, ClientError> {
        let uri: Uri = address.parse().map_err(|_| ClientError::Address)?;
        let authority = uri.authority().ok_or(ClientError::Address)?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err(ClientError::Address);
        }
        match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => {}
            Some(scheme) if *scheme == Scheme::HTTP && is_loopback(authority.host()) => {}
            Some(scheme) if *scheme == Scheme::HTTP => return Err(ClientError::Insecure),
            _ => return Err(ClientError::Address),
        }
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(ring::default_provider())
            .map_err(ClientError::Unreachable)?
            .https_or_http()
            .enable_http1()
            .build();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(60))
            .build(connector);
        let headers = headers.iter().map(|name| name.to_ascii_lowercase()).collect();
        Ok(Self { client, base: address.trim_end_matches('/').to_owned(), headers, is_lax })
    }

    /// Sends a request and waits for the beginning of the answer.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, Obstacle> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        for (name, value) in headers.iter().filter(|(name, _)| self.sends(name)) {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(body)).map_err(|error| gone(&error))?;
        match timeout(PATIENCE, self.client.request(request)).await {
            Ok(answer) => answer.map_err(|error| gone(&error)),
            Err(_) => Err(Obstacle::new(504, messages::no_upstream("it took too long"))),
        }
    }
}

impl Upstream {
    /// Whether a header of a request goes to the API.
    fn sends(&self, name: &HeaderName) -> bool {
        self.knows(name) || self.is_lax && !is_listed(&OWN, name)
    }

    /// Whether a header is in a list of those that go on.
    fn knows(&self, name: &HeaderName) -> bool {
        let is_set = is_listed(&self.headers, name) && !is_listed(&OWN, name);
        is_set || is_listed(&SENT, name) || is_listed(&SENT_TOO, name)
    }

    /// Headers of a request that are in no list: left out, or sent on where all are.
    pub(crate) fn unknown(&self, headers: &HeaderMap) -> Vec<String> {
        let names = headers.keys().filter(|name| !self.knows(name) && !is_listed(&OWN, name));
        names.map(|name| format!("the header `{name}`")).collect()
    }
}

/// The whole body of an answer.
pub(crate) async fn whole(body: Incoming) -> Result<Bytes, Obstacle> {
    let collected = timeout(PATIENCE, Limited::new(body, MAX_ANSWER_BYTES).collect()).await;
    match collected {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        _ => Err(broken()),
    }
}

/// The next piece of an answer; nothing at its end.
pub(crate) async fn piece(body: &mut Incoming) -> Result<Option<Bytes>, Obstacle> {
    loop {
        match timeout(PATIENCE, body.frame()).await {
            Ok(None) => return Ok(None),
            Ok(Some(Ok(frame))) => {
                if let Ok(piece) = frame.into_data() {
                    return Ok(Some(piece));
                }
            }
            _ => return Err(broken()),
        }
    }
}

/// Whether a list has the name of a header, or how it begins.
fn is_listed(list: &[impl AsRef<str>], name: &HeaderName) -> bool {
    list.iter().map(AsRef::as_ref).any(|known| match known.ends_with('-') {
        true => name.as_str().starts_with(known),
        false => name.as_str() == known,
    })
}

/// Headers of an answer that go to the client.
pub(crate) fn answered(headers: &HeaderMap) -> HeaderMap {
    let kept = headers.iter().filter(|(name, _)| is_listed(&ANSWERED, name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The answer broke off.
pub(crate) fn broken() -> Obstacle {
    Obstacle::new(502, messages::broken_answer())
}

fn gone(error: &dyn std::error::Error) -> Obstacle {
    // the outermost words alone say little
    let cause = error.source().map_or_else(String::new, |cause| format!(": {cause}"));
    Obstacle::new(502, messages::no_upstream(&format!("{error}{cause}")))
}

/// Whether a host is this machine's own loopback, by its name or its address.
pub(crate) fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::Upstream;
    use axum::http::{HeaderMap, HeaderName, HeaderValue};

    #[test]
    fn headers_go_on_that_a_list_or_a_setting_names() {
        let set = ["X-Gateway-Team", "cf-access-", "host", "x-celador-"].map(str::to_owned);
        for (name, strict, lax) in [
            ("authorization", true, true),
            ("anthropic-beta", true, true),
            ("x-gateway-team", true, true),
            ("x-gateway-teams", false, true),
            ("cf-access-client-id", true, true),
            ("x-http-method-override", false, true),
            ("cookie", false, true),
            ("host", false, false),
            ("content-length", false, false),
            ("accept-encoding", false, false),
            ("proxy-authorization", false, false),
            ("x-celador-task", false, false),
        ] {
            let name: HeaderName = name.parse().unwrap();
            for (is_lax, expected) in [(false, strict), (true, lax)] {
                let upstream = Upstream::new("https://api.example.com/v1", &set, is_lax).unwrap();
                assert_eq!(upstream.sends(&name), expected, "{name} {is_lax}");
            }
            let upstream = Upstream::new("https://api.example.com/v1", &set, false).unwrap();
            let headers: HeaderMap = [(name.clone(), HeaderValue::from_static("v"))].into_iter().collect();
            assert_eq!(upstream.unknown(&headers).len(), usize::from(lax && !strict), "{name}");
        }
    }
}
