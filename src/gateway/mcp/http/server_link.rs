//! One session with the server at an address: messages of the guard as requests over HTTP, and what comes of them as messages.
//!
//! A response goes on only if it answers the request of its own POST. A stream that breaks is resumed where the revision allows it. In the
//! revision without sessions a request is cancelled by closing its stream.

use super::super::link::{Link, WAITING};
use super::super::message::Message;
use super::admission::{self, JSON, single};
use super::authorization::Credentials;
use super::endpoint::{Endpoint, read_message};
use super::events::{EVENT_STREAM, EventDecoder};
use super::headers::{LAST_EVENT_ID, PROTOCOL_VERSION, ParamHeaders, SESSION_ID};
use super::messages;
use super::wire::{self, key};
use axum::body::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

/// Time that a notification or a response may take before the next message is sent.
const IN_ORDER: Duration = Duration::from_secs(5);
/// Time for the server to hear that a session is over.
const LEAVE: Duration = Duration::from_secs(2);
/// Failed attempts to resume a stream, one after the other.
const MAX_RESUMES: u32 = 5;
/// First wait before a stream is resumed; it doubles, unless the server asks for another.
const RESUME: Duration = Duration::from_millis(500);
/// Shortest wait that a server may ask for.
const MIN_RESUME: Duration = Duration::from_millis(100);

/// A session with the server.
struct ServerSession {
    endpoint: Arc<Endpoint>,
    credentials: Arc<Credentials>,
    coming: Sender<Message>,
    state: Mutex<State>,
    /// The server has ended the session.
    lost: CancellationToken,
}

#[derive(Default)]
struct State {
    /// The server's id of the session, and the revision that both speak in it.
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
    headers: ParamHeaders,
}

impl Endpoint {
    /// Begins a session with the server.
    pub(in super::super) fn link(self: &Arc<Self>, credentials: Arc<Credentials>) -> Link {
        let (to, going) = channel(WAITING);
        let (coming, from) = channel(WAITING);
        let (endpoint, state, lost) = (self.clone(), Mutex::default(), CancellationToken::new());
        let session = Arc::new(ServerSession { endpoint, credentials, coming, state, lost });
        tokio::spawn(session.run(going));
        Link { to, from }
    }
}

impl ServerSession {
    async fn run(self: Arc<Self>, mut going: Receiver<Message>) {
        let mut tasks = JoinSet::new();
        // requests under way, and whether each is of the revision without sessions
        let mut open: HashMap<String, (AbortHandle, bool)> = HashMap::new();
        loop {
            let message = tokio::select! {
                message = going.recv() => message,
                Some(_) = tasks.join_next(), if !tasks.is_empty() => {
                    open.retain(|_, (task, _)| !task.is_finished());
                    continue;
                }
                () = self.lost.cancelled() => None,
            };
            let Some(message) = message else { break };
            let is_request = message.is_request();
            let body = message.into_value();
            let method = body.get("method").and_then(Value::as_str).unwrap_or_default();
            if is_request {
                let key = key(body.get("id").unwrap_or(&Value::Null));
                let is_stateless = wire::version_of(&body).is_some();
                let task = tasks.spawn(self.clone().request(body, is_stateless));
                open.insert(key, (task, is_stateless));
                continue;
            }
            if method == "notifications/cancelled" {
                let cancelled = body.pointer("/params/requestId").and_then(|id| open.remove(&key(id)));
                if let Some((task, is_stateless)) = cancelled {
                    task.abort();
                    if is_stateless {
                        continue;
                    }
                }
            }
            let begins = method == "notifications/initialized";
            let _ = timeout(IN_ORDER, self.notify(body)).await;
            if begins {
                tasks.spawn(self.clone().listen());
            }
        }
        tasks.abort_all();
        let headers = self.session_headers();
        if headers.contains_key(SESSION_ID) && !self.lost.is_cancelled() {
            let _ = timeout(LEAVE, self.send(Method::DELETE, headers, Bytes::new())).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Headers of a session that has begun.
    fn session_headers(&self) -> HeaderMap {
        let (state, mut headers) = (self.state(), HeaderMap::new());
        headers.extend(state.id.clone().map(|id| (SESSION_ID, id)));
        headers.extend(state.version.clone().map(|version| (PROTOCOL_VERSION, version)));
        headers
    }

    async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, String> {
        self.endpoint.send(method, headers, body, &self.credentials).await
    }

    async fn post(&self, mut headers: HeaderMap, body: &Value) -> Result<Response<Incoming>, String> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        self.send(Method::POST, headers, Bytes::from(body.to_string())).await
    }

    /// Sends a notification or a response.
    async fn notify(&self, body: Value) {
        match self.post(self.session_headers(), &body).await {
            Ok(response) if response.status().is_success() => {}
            Ok(response) => {
                warn!(status = response.status().as_u16(), "the server refused a notification or a response");
            }
            Err(error) => warn!(error, "a notification or a response was not delivered"),
        }
    }

    /// Sends a request, and passes on exactly one response to it.
    async fn request(self: Arc<Self>, body: Value, is_stateless: bool) {
        let id = body.get("id").cloned().unwrap_or_default();
        let response = match self.exchange(&body, &id, is_stateless).await {
            Ok(response) => response,
            Err(reason) => Message::error(id, wire::INTERNAL_ERROR, &reason),
        };
        let _ = self.coming.send(response).await;
    }

    async fn exchange(&self, body: &Value, id: &Value, is_stateless: bool) -> Result<Message, String> {
        let headers = if is_stateless { self.stateless_headers(body) } else { self.session_headers() };
        let had_session = headers.contains_key(SESSION_ID);
        let response = self.post(headers, body).await.map_err(|error| {
            warn!(error, "the server cannot be reached");
            messages::UNREACHABLE.to_owned()
        })?;
        let (status, headers) = (response.status(), response.headers().clone());
        let content_type = admission::essence(single(&headers, &CONTENT_TYPE).unwrap_or_default()).to_owned();
        let is_json = content_type.eq_ignore_ascii_case(JSON);
        if !status.is_success() {
            // some errors have a status of their own, and say what is wrong in the body
            let is_error = is_json && matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND);
            let error = if is_error { read_message(response).await.ok() } else { None };
            if let Some(error) = error.filter(|error| answers(error, id) && error.outcome().is_none()) {
                return Ok(error);
            }
            if had_session && status == StatusCode::NOT_FOUND {
                self.lost.cancel();
                return Err(messages::SESSION_LOST.to_owned());
            }
            return Err(messages::status(status));
        }
        let answer = if is_json {
            let message = read_message(response).await?;
            Some(message).filter(|message| answers(message, id)).ok_or(messages::UNREADABLE)?
        } else if content_type.eq_ignore_ascii_case(EVENT_STREAM) {
            self.read_until_answered(response, id, is_stateless).await?
        } else {
            return Err(messages::UNREADABLE.to_owned());
        };
        self.learn(body, &answer, &headers, is_stateless);
        Ok(answer)
    }

    fn stateless_headers(&self, body: &Value) -> HeaderMap {
        let mut headers = self.state().headers.of_request(body);
        let version = wire::version_of(body).and_then(Value::as_str).unwrap_or_default();
        if let Ok(version) = HeaderValue::from_str(version) {
            headers.insert(PROTOCOL_VERSION, version);
        }
        headers
    }

    /// Takes over what later requests need of a response: the session, the revision, the headers of tools.
    fn learn(&self, request: &Value, answer: &Message, headers: &HeaderMap, is_stateless: bool) {
        let Some(result) = answer.outcome() else { return };
        let mut state = self.state();
        match request.get("method").and_then(Value::as_str) {
            Some("initialize") if !is_stateless => {
                state.id = single(headers, &SESSION_ID).and_then(|id| HeaderValue::from_str(id).ok());
                let version = result.get("protocolVersion").and_then(Value::as_str);
                state.version = version.and_then(|version| HeaderValue::from_str(version).ok());
            }
            Some("tools/list") => {
                state.headers.learn(request.pointer("/params/cursor").is_none(), result);
            }
            _ => {}
        }
    }

    /// Reads the stream of a request until its response, and resumes it where it breaks.
    async fn read_until_answered(
        &self,
        mut response: Response<Incoming>,
        id: &Value,
        is_stateless: bool,
    ) -> Result<Message, String> {
        let mut decoder = EventDecoder::default();
        let mut failures = 0;
        loop {
            if let Some(answer) = self.read(response.body_mut(), &mut decoder, Some(id), is_stateless).await?
            {
                return Ok(answer);
            }
            let Some(last) = decoder.last_id.clone().filter(|_| !is_stateless) else {
                return Err(messages::STREAM_ENDED.to_owned());
            };
            response = loop {
                if failures >= MAX_RESUMES {
                    return Err(messages::STREAM_ENDED.to_owned());
                }
                sleep(wait(&decoder, failures)).await;
                failures = failures.saturating_add(1);
                if let Ok(Some(response)) = self.open_stream(Some(&last)).await {
                    failures = 0;
                    break response;
                }
            };
            decoder.restart();
        }
    }

    /// Opens the standing stream, or resumes one. Nothing if the server has none.
    async fn open_stream(&self, last: Option<&str>) -> Result<Option<Response<Incoming>>, ()> {
        let mut headers = self.session_headers();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(last).ok()) {
            headers.insert(LAST_EVENT_ID, last);
        }
        let response = self.send(Method::GET, headers, Bytes::new()).await.map_err(drop)?;
        let content_type = single(response.headers(), &CONTENT_TYPE).unwrap_or_default();
        let is_stream = admission::essence(content_type).eq_ignore_ascii_case(EVENT_STREAM);
        match response.status() {
            StatusCode::OK if is_stream => Ok(Some(response)),
            status if status.is_server_error() => Err(()),
            _ => Ok(None),
        }
    }

    /// Reads the standing stream as long as the session lasts.
    async fn listen(self: Arc<Self>) {
        let (mut decoder, mut failures) = (EventDecoder::default(), 0_u32);
        loop {
            match self.open_stream(decoder.last_id.clone().as_deref()).await {
                Ok(None) => return debug!("the server has no standing stream"),
                Ok(Some(mut response)) => {
                    failures = 0;
                    decoder.restart();
                    if self.read(response.body_mut(), &mut decoder, None, false).await.is_err() {
                        return;
                    }
                }
                Err(()) if failures >= MAX_RESUMES => {
                    return warn!("the standing stream of the server is gone");
                }
                Err(()) => failures = failures.saturating_add(1),
            }
            sleep(wait(&decoder, failures)).await;
        }
    }

    /// Reads a stream to its end, or to the response for which it is there. Everything else that may go on does.
    async fn read(
        &self,
        body: &mut Incoming,
        decoder: &mut EventDecoder,
        id: Option<&Value>,
        is_stateless: bool,
    ) -> Result<Option<Message>, String> {
        while let Some(frame) = body.frame().await {
            // a stream that breaks has ended
            let Ok(frame) = frame else { return Ok(None) };
            let Ok(piece) = frame.into_data() else { continue };
            let events = decoder.feed(&piece).map_err(|_| messages::UNREADABLE.to_owned())?;
            for event in events {
                let mut message = match wire::decode(&event) {
                    Ok(message) => message,
                    // the response cannot be read, so the request fails
                    Err(wire::NoMessage { id: found, .. }) if id.is_some_and(|id| *id == found) => {
                        return Err(messages::UNREADABLE.to_owned());
                    }
                    Err(_) => {
                        warn!("an event that is no message of JSON-RPC is dropped");
                        continue;
                    }
                };
                if message.method().is_none() {
                    if id.is_some_and(|id| answers(&message, id)) {
                        return Ok(Some(message));
                    }
                    warn!("a response to another request than that of its stream is dropped");
                } else if is_stateless && message.is_request() {
                    warn!("a request of the server is dropped: this revision of the protocol has none");
                } else {
                    message.within = id.cloned();
                    if self.coming.send(message).await.is_err() {
                        return Err(messages::STREAM_ENDED.to_owned());
                    }
                }
            }
        }
        Ok(None)
    }
}

/// The wait before a stream is opened again, after so many failures.
fn wait(decoder: &EventDecoder, failures: u32) -> Duration {
    decoder.retry.map_or(RESUME.saturating_mul(1 << failures.min(MAX_RESUMES)), |wait| wait.max(MIN_RESUME))
}

/// Whether a message is the response to a request.
fn answers(message: &Message, id: &Value) -> bool {
    message.method().is_none() && message.id() == Some(id)
}
