//! The HTTP side of `--listen`: requests of clients at `/mcp`, in both revisions.
//!
//! Connections are bounded as those of the server are. A response is JSON if it comes first and soon; otherwise it ends a stream of events.

use super::super::error::McpError;
use super::super::link::MAX_MESSAGE_BYTES;
use super::super::message::Message;
use super::admission::{self, JSON, Refusal, single};
use super::authorization::METADATA_PATH;
use super::client_session::{ClientSession, DuplicateId, PendingRequest};
use super::endpoint::Endpoint;
use super::events::{EVENT_STREAM, encode_event};
use super::headers::{LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID};
use super::message_stream::{StreamMessage, StreamReader};
use super::sessions::Sessions;
use super::wire::{self, STATELESS, WITH_SESSIONS};
use super::{Caller, Open, messages};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::Response;
use celador_server::{ServerLimits, listen_beside, serve_beside};
use futures_util::stream::unfold;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tracing::{debug, info};

/// Path of the guard at its address.
const PATH: &str = "/mcp";
/// Time for the body of a request.
const BODY: Duration = Duration::from_secs(30);
/// Time that a response has to be JSON; later, or behind other messages, it is in a stream of events.
const JSON_WAIT: Duration = Duration::from_secs(5);
/// The same for `initialize`, whose response decides about the session.
const INITIALIZE_WAIT: Duration = Duration::from_secs(60);
/// Interval of the comments by which a broken connection is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Listens until the process ends, for programs of this machine and no page of a browser.
pub(in super::super) async fn listen(
    address: SocketAddr,
    open: Arc<Open>,
    endpoint: Option<Arc<Endpoint>>,
    limits: ServerLimits,
    listening: impl FnOnce(SocketAddr),
) -> Result<(), McpError> {
    let fail = |reason: String| McpError::Listen { address: address.to_string(), reason };
    if !address.ip().is_loopback() {
        return Err(fail(super::super::messages::NOT_LOOPBACK.to_owned()));
    }
    let listener = listen_beside(address).map_err(|error| fail(error.to_string()))?;
    let bound = listener.local_addr().map_err(|error| fail(error.to_string()))?;
    info!(address = %bound, "listening");
    listening(bound);
    let handler = Arc::new(Handler { sessions: Sessions::new(open), endpoint });
    let answer = move |request: Request| {
        let handler = handler.clone();
        async move { handler.answer(request).await }
    };
    serve_beside(listener, limits, std::future::pending(), answer).await;
    Ok(())
}

/// Answers the requests of clients.
pub(super) struct Handler {
    pub(super) sessions: Arc<Sessions>,
    /// The server, if it is at an address.
    pub(super) endpoint: Option<Arc<Endpoint>>,
}

impl Handler {
    pub(super) async fn answer(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let authority = match admission::check_origin(&parts) {
            Ok(authority) => authority,
            Err(refusal) => return refuse(refusal),
        };
        let path = parts.uri.path();
        if path != PATH {
            let is_metadata =
                path.strip_prefix(METADATA_PATH).is_some_and(|rest| rest.is_empty() || rest == PATH);
            return match is_metadata && parts.method == Method::GET {
                true => self.metadata(&authority).await,
                false => empty(StatusCode::NOT_FOUND),
            };
        }
        match parts.method {
            Method::POST => self.post(&parts, body, &authority).await,
            Method::GET => self.get(&parts.headers),
            Method::DELETE => match self.session(&parts.headers) {
                Ok(session) => {
                    self.sessions.end(&session);
                    empty(StatusCode::NO_CONTENT)
                }
                Err(refusal) => refuse(refusal),
            },
            _ => {
                let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST, DELETE"));
                response
            }
        }
    }

    async fn post(&self, parts: &Parts, body: Body, authority: &Authority) -> Response {
        if let Err(refusal) = admission::check_post(&parts.headers) {
            return refuse(refusal);
        }
        let body = timeout(BODY, Limited::new(body, MAX_MESSAGE_BYTES).collect()).await;
        let Ok(Ok(body)) = body else { return refuse((StatusCode::BAD_REQUEST, messages::SLOW_BODY)) };
        let message = match wire::decode(&body.to_bytes()) {
            Ok(message) => message,
            Err(wire::NoMessage { code, reason, id }) => {
                return json_response(StatusCode::BAD_REQUEST, &wire::error(id, code, reason, None));
            }
        };
        let is_request = message.is_request();
        let is_initialize = is_request && message.method() == Some("initialize");
        let body = message.into_value();
        let id = body.get("id").cloned().unwrap_or_default();
        match Revision::of(&parts.headers, &body, is_initialize) {
            Ok(Revision::WithSessions) if is_initialize => self.initialize(parts, body, authority).await,
            Ok(Revision::WithSessions) => self.in_session(parts, body, is_request, authority).await,
            Ok(Revision::Stateless) if is_request => self.stateless(parts, body, authority).await,
            // clients cancel by closing the stream; other notifications of this revision have no receiver
            Ok(Revision::Stateless) if body.get("method").is_some() => {
                debug!("a notification of a client is dropped: this revision of the protocol has none");
                empty(StatusCode::ACCEPTED)
            }
            Ok(Revision::Stateless) => refuse((StatusCode::BAD_REQUEST, messages::ONLY_REQUESTS)),
            Err(Disagreement { code, reason, data }) => {
                json_response(StatusCode::BAD_REQUEST, &wire::error(id, code, &reason, data))
            }
        }
    }

    /// Begins a session. Its id is in the response, if that is no error.
    async fn initialize(&self, parts: &Parts, body: Value, authority: &Authority) -> Response {
        let Some(session) = self.sessions.begin(Caller::of(&parts.headers)) else {
            return refuse((StatusCode::SERVICE_UNAVAILABLE, messages::TOO_MANY));
        };
        let mut response = self.exchange(&session, parts, body, authority, INITIALIZE_WAIT).await;
        if response.extensions().get::<IsError>().is_some() {
            self.sessions.end(&session);
        } else if let Ok(id) = HeaderValue::from_str(&session.id) {
            response.headers_mut().insert(SESSION_ID, id);
        }
        response
    }

    async fn in_session(
        &self,
        parts: &Parts,
        body: Value,
        is_request: bool,
        authority: &Authority,
    ) -> Response {
        let session = match self.session(&parts.headers) {
            Ok(session) => session,
            Err(refusal) => return refuse(refusal),
        };
        if is_request {
            return self.exchange(&session, parts, body, authority, JSON_WAIT).await;
        }
        session.credentials.update(&parts.headers);
        let Some(message) = Message::of(body) else {
            return refuse((StatusCode::BAD_REQUEST, messages::NO_MESSAGE));
        };
        if session.pass(message).await {
            empty(StatusCode::ACCEPTED)
        } else {
            refuse((StatusCode::NOT_FOUND, messages::SESSION_UNKNOWN))
        }
    }

    async fn stateless(&self, parts: &Parts, body: Value, authority: &Authority) -> Response {
        let Some(session) = self.sessions.of_caller(Caller::of(&parts.headers)) else {
            return refuse((StatusCode::SERVICE_UNAVAILABLE, messages::TOO_MANY));
        };
        if let Err(header) = session.check_headers(&body, &parts.headers) {
            let id = body.get("id").cloned().unwrap_or_default();
            let error = wire::error(id, wire::HEADER_MISMATCH, &messages::header_mismatch(&header), None);
            return json_response(StatusCode::BAD_REQUEST, &error);
        }
        self.exchange(&session, parts, body, authority, JSON_WAIT).await
    }

    /// Passes a request to the guard, and answers it with what comes.
    async fn exchange(
        &self,
        session: &Arc<ClientSession>,
        parts: &Parts,
        body: Value,
        authority: &Authority,
        wait: Duration,
    ) -> Response {
        session.credentials.update(&parts.headers);
        let challenges = session.credentials.challenges();
        let id = body.get("id").cloned().unwrap_or_default();
        let pending = match session.request(body).await {
            Ok(pending) => pending,
            Err(DuplicateId) => {
                let error = wire::error(id, wire::INVALID_REQUEST, messages::DUPLICATE_ID, None);
                return json_response(StatusCode::BAD_REQUEST, &error);
            }
        };
        let mut reader = pending.stream.attach(0);
        let first = match timeout(wait, reader.next()).await {
            Ok(Some(message)) if message.is_last => {
                let body: Value = serde_json::from_str(&message.text).unwrap_or_default();
                let challenge = session.credentials.challenge_since(challenges).filter(|_| is_failure(&body));
                let Some(challenge) = challenge else { return last_response(session.is_stateless, &body) };
                let mut response = json_response(challenge.status, &body);
                let value = challenge.encode(&format!("http://{authority}"), PATH);
                response.headers_mut().insert(WWW_AUTHENTICATE, value);
                return response;
            }
            // a stream that ends without a response, as that of a cancelled request, is an empty stream of events
            Ok(first) => first,
            Err(_) => None,
        };
        events(reader, first, Some(pending), !session.is_stateless)
    }

    fn get(&self, headers: &HeaderMap) -> Response {
        if single(headers, &PROTOCOL_VERSION) == Some(STATELESS) {
            return refuse((StatusCode::METHOD_NOT_ALLOWED, messages::POST_ONLY));
        }
        let session = match admission::check_get(headers).and_then(|()| self.session(headers)) {
            Ok(session) => session,
            Err(refusal) => return refuse(refusal),
        };
        session.credentials.update(headers);
        let position = single(headers, &LAST_EVENT_ID).map(|id| {
            let (stream, seen) = id.split_once('/')?;
            Some((stream.parse().ok()?, seen.parse().ok()?))
        });
        let (stream, seen) = match position {
            None => (session.standing.clone(), 0),
            Some(position) => {
                let found = position.and_then(|(stream, seen)| Some((session.find_stream(stream)?, seen)));
                let Some(found) = found else {
                    return refuse((StatusCode::BAD_REQUEST, messages::NO_STREAM));
                };
                found
            }
        };
        events(stream.attach(seen), None, None, true)
    }

    /// The session that a request names.
    fn session(&self, headers: &HeaderMap) -> Result<Arc<ClientSession>, Refusal> {
        let id = single(headers, &SESSION_ID).ok_or((StatusCode::BAD_REQUEST, messages::NO_SESSION))?;
        self.sessions.find(id).ok_or((StatusCode::NOT_FOUND, messages::SESSION_UNKNOWN))
    }

    /// The metadata of the server's resource, as that of the guard.
    async fn metadata(&self, authority: &Authority) -> Response {
        let Some(endpoint) = &self.endpoint else { return empty(StatusCode::NOT_FOUND) };
        match endpoint.metadata(format!("http://{authority}{PATH}")).await {
            Some(metadata) => json_response(StatusCode::OK, &metadata),
            None => empty(StatusCode::NOT_FOUND),
        }
    }
}

/// The two ways in which the protocol is spoken.
enum Revision {
    WithSessions,
    Stateless,
}

/// A request whose headers and body name different revisions, or one that is not supported.
struct Disagreement {
    code: i64,
    reason: String,
    data: Option<Value>,
}

impl Revision {
    fn of(headers: &HeaderMap, body: &Value, is_initialize: bool) -> Result<Self, Disagreement> {
        let fail = |code, reason: String| Disagreement { code, reason, data: None };
        let mismatch = || fail(wire::HEADER_MISMATCH, messages::header_mismatch(PROTOCOL_VERSION.as_str()));
        let unsupported = |version: &str| {
            let data = json!({ "supported": [STATELESS], "requested": version });
            let reason = messages::unsupported_version(version);
            Disagreement { code: wire::UNSUPPORTED_VERSION, reason, data: Some(data) }
        };
        let header = single(headers, &PROTOCOL_VERSION);
        if header.is_none() && headers.contains_key(PROTOCOL_VERSION) {
            return Err(mismatch());
        }
        let is_request = body.get("id").is_some() && body.get("method").is_some();
        match (header, wire::version_of(body)) {
            (header, Some(version)) => {
                let version = version.as_str().ok_or_else(mismatch)?;
                if header != Some(version) {
                    return Err(mismatch());
                }
                let capabilities = body.pointer("/params/_meta/io.modelcontextprotocol~1clientCapabilities");
                match version {
                    STATELESS if is_request && !capabilities.is_some_and(Value::is_object) => {
                        Err(fail(wire::INVALID_PARAMS, messages::NO_CAPABILITIES.to_owned()))
                    }
                    STATELESS => Ok(Self::Stateless),
                    other => Err(unsupported(other)),
                }
            }
            // the response to `initialize` settles the revision
            (_, None) if is_initialize => Ok(Self::WithSessions),
            (None, None) => Ok(Self::WithSessions),
            (Some(STATELESS), None) if is_request => {
                Err(fail(wire::INVALID_PARAMS, messages::NO_CAPABILITIES.to_owned()))
            }
            (Some(STATELESS), None) => Ok(Self::Stateless),
            (Some(version), None) if WITH_SESSIONS.contains(&version) => Ok(Self::WithSessions),
            (Some(version), None) => Err(unsupported(version)),
        }
    }
}

/// Marks the response to a request that failed.
#[derive(Clone)]
struct IsError;

fn is_failure(body: &Value) -> bool {
    body.get("error").is_some() || body.pointer("/result/isError") == Some(&Value::Bool(true))
}

/// A response as JSON. Some errors of the revision without sessions have a status of their own.
fn last_response(is_stateless: bool, body: &Value) -> Response {
    let status = match body.pointer("/error/code").and_then(Value::as_i64) {
        Some(wire::METHOD_NOT_FOUND) if is_stateless => StatusCode::NOT_FOUND,
        Some(wire::HEADER_MISMATCH | wire::MISSING_CAPABILITY | wire::UNSUPPORTED_VERSION)
            if is_stateless =>
        {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    };
    json_response(status, body)
}

/// A stream of events: what has come already, and what comes until the response, or until the client is gone.
fn events(
    reader: StreamReader,
    first: Option<StreamMessage>,
    pending: Option<PendingRequest>,
    has_ids: bool,
) -> Response {
    let state = Some((reader, first, pending));
    let stream = unfold(state, move |state| async move {
        let (mut reader, first, pending) = state?;
        let message = match first {
            Some(first) => Some(first),
            None => match timeout(KEEP_ALIVE, reader.next()).await {
                Ok(None) => return None,
                Ok(message) => message,
                Err(_) => None,
            },
        };
        let Some(message) = message else {
            return Some((Ok::<_, Infallible>(Bytes::from_static(b":\n\n")), Some((reader, None, pending))));
        };
        let id = has_ids.then(|| format!("{}/{}", reader.number_of_stream(), message.position));
        let event = Bytes::from(encode_event(id.as_deref(), &message.text));
        Some((Ok(event), (!message.is_last).then_some((reader, None, pending))))
    });
    let mut response = Response::new(Body::from_stream(stream));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
        .headers_mut()
        .insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

fn json_response(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if is_failure(body) && body.get("result").is_none() {
        response.extensions_mut().insert(IsError);
    }
    response
}

fn refuse((status, reason): Refusal) -> Response {
    json_response(status, &wire::error(Value::Null, wire::INVALID_REQUEST, reason, None))
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
