//! One session of a client over HTTP: each request has a stream of its own, and what belongs to none goes to the standing stream.
//!
//! A session with an id belongs to one client, which keeps its ids. Requests of the revision without sessions share the session of their
//! caller, so their ids and progress tokens are replaced by unique ones before the guard sees them, and restored in what comes back.

use super::super::link::{Link, WAITING};
use super::super::message::{Body, Message};
use super::super::peer::MAX_OPEN;
use super::authorization::Credentials;
use super::headers::ParamHeaders;
use super::message_stream::MessageStream;
use super::wire::{self, key};
use super::{Caller, Open, messages};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

/// Streams with a response that a session keeps for a client whose connection has broken.
const MAX_FINISHED: usize = 16;
/// Bytes of these streams.
const MAX_FINISHED_BYTES: usize = 16_777_216;

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The client's side of a session.
pub(super) struct ClientSession {
    pub(super) id: String,
    pub(super) caller: Caller,
    pub(super) credentials: Arc<Credentials>,
    /// Whether the session is that of a caller of the revision without sessions.
    pub(super) is_stateless: bool,
    pub(super) standing: Arc<MessageStream>,
    state: Mutex<State>,
    ended: CancellationToken,
}

struct State {
    to_guard: Option<Sender<Message>>,
    used: Instant,
    next: u64,
    /// Requests without a response so far, by the ids that the guard knows.
    open: HashMap<String, OpenRequest>,
    finished: VecDeque<Arc<MessageStream>>,
    /// Ids of cancelled requests, which the guard may still have open.
    cancelled: VecDeque<String>,
    headers: ParamHeaders,
}

struct OpenRequest {
    stream: Arc<MessageStream>,
    /// The id and the progress token of the client.
    id: Value,
    token: Option<Value>,
    /// For a list of tools, whether it is the first page.
    lists_tools: Option<bool>,
}

/// A request with an id that is in use.
pub(super) struct DuplicateId;

impl ClientSession {
    /// Begins a session, and runs the guard for it.
    pub(super) fn begin(id: String, caller: Caller, is_stateless: bool, open: &Open) -> Arc<Self> {
        let (to_guard, from) = channel(WAITING);
        let (to, from_guard) = channel(WAITING);
        let credentials = Arc::<Credentials>::default();
        let running = open(Link { to, from }, credentials.clone());
        let state = State {
            to_guard: Some(to_guard),
            used: Instant::now(),
            next: 1,
            open: HashMap::new(),
            finished: VecDeque::new(),
            cancelled: VecDeque::new(),
            headers: ParamHeaders::default(),
        };
        let session = Arc::new(Self {
            id,
            caller,
            credentials,
            is_stateless,
            standing: MessageStream::new(0),
            state: Mutex::new(state),
            ended: CancellationToken::new(),
        });
        tokio::spawn(running);
        tokio::spawn(session.clone().route(from_guard));
        session
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the session: the guard notices that its client is gone.
    pub(super) fn end(&self) {
        self.state().to_guard = None;
        self.ended.cancel();
    }

    /// Returns when the session is over.
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Since when no client waits for a response; nothing while one does.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        let is_waited_for = state.open.values().any(|request| request.stream.is_read());
        (!is_waited_for).then_some(state.used)
    }

    /// Checks the headers of a request against its body.
    pub(super) fn check_headers(&self, body: &Value, headers: &http::HeaderMap) -> Result<(), String> {
        self.state().headers.check(body, headers)
    }

    /// Passes a request to the guard; its stream ends with the response.
    pub(super) async fn request(self: &Arc<Self>, mut body: Value) -> Result<PendingRequest, DuplicateId> {
        let (pending, sender) = {
            let mut state = self.state();
            let number = state.next;
            state.next = number.wrapping_add(1);
            state.used = Instant::now();
            let id = body.get("id").cloned().unwrap_or_default();
            let token = body.pointer("/params/_meta/progressToken").cloned();
            let lists_tools = (body.get("method") == Some(&"tools/list".into()))
                .then(|| body.pointer("/params/cursor").is_none());
            if self.is_stateless {
                replace(&mut body, "/id", number.into());
                replace(&mut body, "/params/_meta/progressToken", number.into());
            }
            let key = key(body.get("id").unwrap_or(&Value::Null));
            if state.open.contains_key(&key) || state.cancelled.contains(&key) {
                return Err(DuplicateId);
            }
            let stream = MessageStream::new(number);
            state.open.insert(key.clone(), OpenRequest { stream: stream.clone(), id, token, lists_tools });
            (PendingRequest { session: self.clone(), key, stream }, state.to_guard.clone())
        };
        let is_passed = match (Message::of(body), sender) {
            (Some(message), Some(sender)) => sender.send(message).await.is_ok(),
            _ => false,
        };
        if !is_passed {
            self.fail(&pending.key);
        }
        Ok(pending)
    }

    /// Passes a notification or a response to the guard; returns whether the guard is there. A cancelled request has no response: its
    /// stream ends.
    pub(super) async fn pass(&self, message: Message) -> bool {
        let sender = {
            let mut state = self.state();
            state.used = Instant::now();
            state.to_guard.clone()
        };
        let cancelled = cancelled_request(&message).map(key);
        let is_passed = match sender {
            Some(sender) => sender.send(message).await.is_ok(),
            None => false,
        };
        if let Some(key) = cancelled {
            self.state().cancel(key);
        }
        is_passed
    }

    /// The stream of a request, for a client that comes again.
    pub(super) fn find_stream(&self, number: u64) -> Option<Arc<MessageStream>> {
        if number == 0 {
            return Some(self.standing.clone());
        }
        let state = self.state();
        let open = state.open.values().map(|request| &request.stream);
        open.chain(&state.finished).find(|stream| stream.number == number).cloned()
    }

    /// Distributes what the guard sends, until the session is over.
    async fn route(self: Arc<Self>, mut from_guard: Receiver<Message>) {
        loop {
            let message = tokio::select! {
                message = from_guard.recv() => message,
                () = self.ended.cancelled() => None,
            };
            let Some(message) = message else { break };
            self.distribute(message);
        }
        self.end();
        let open: Vec<String> = self.state().open.keys().cloned().collect();
        open.iter().for_each(|key| self.fail(key));
        self.standing.end();
    }

    fn distribute(&self, message: Message) {
        let within = message.within.as_ref().map(key);
        let is_response = message.method().is_none();
        let is_request = message.is_request();
        let mut body = message.into_value();
        let mut state = self.state();
        if is_response {
            let key = key(body.get("id").unwrap_or(&Value::Null));
            let Some(request) = state.open.remove(&key) else {
                drop(state);
                return debug!(id = key, "a response to no open request is dropped");
            };
            state.used = Instant::now();
            if let (Some(is_first), Some(result)) = (request.lists_tools, body.get("result")) {
                state.headers.learn(is_first, result);
            }
            self.restore(&mut body, &request);
            request.stream.push(body.to_string(), true);
            if !self.is_stateless {
                state.keep(request.stream);
            }
            return;
        }
        if self.is_stateless && is_request {
            return warn!("a request of the server is dropped: this revision of the protocol has none");
        }
        let found = within.filter(|key| state.open.contains_key(key)).or_else(|| self.owner(&state, &body));
        match found.and_then(|key| state.open.get(&key)) {
            Some(request) => {
                self.restore(&mut body, request);
                request.stream.push(body.to_string(), false);
            }
            None if self.is_stateless => debug!("a notification that belongs to no open request is dropped"),
            None => self.standing.push(body.to_string(), false),
        }
    }

    /// The open request to which a message belongs by what it says.
    fn owner(&self, state: &State, body: &Value) -> Option<String> {
        if let Some(token) = body.pointer("/params/progressToken") {
            let has_token = |request: &OpenRequest, number: &String| match self.is_stateless {
                true => *number == key(token),
                false => request.token.as_ref() == Some(token),
            };
            let mut open = state.open.iter();
            return open
                .find(|(number, request)| has_token(request, number))
                .map(|(number, _)| number.clone());
        }
        let subscription = body.pointer("/params/_meta").and_then(|meta| meta.get(SUBSCRIPTION_ID));
        let cancelled = body.pointer("/params/requestId").filter(|_| self.is_stateless);
        if let Some(id) = subscription.or(cancelled) {
            return Some(key(id)).filter(|key| state.open.contains_key(key));
        }
        // a client without a standing stream gets it with its only request
        let mut open = state.open.keys();
        match (open.next(), open.next()) {
            (Some(only), None) if self.is_stateless || !self.standing.is_read() => Some(only.clone()),
            _ => None,
        }
    }

    /// Restores the ids and tokens of the client in a message that belongs to its request.
    fn restore(&self, body: &mut Value, request: &OpenRequest) {
        if !self.is_stateless {
            return;
        }
        replace(body, "/id", request.id.clone());
        if let Some(token) = &request.token {
            replace(body, "/params/progressToken", token.clone());
        }
        replace(body, "/params/requestId", request.id.clone());
        for owner in ["/params/_meta", "/result/_meta"] {
            if let Some(id) = body.pointer_mut(owner).and_then(|meta| meta.get_mut(SUBSCRIPTION_ID)) {
                *id = request.id.clone();
            }
        }
    }

    /// Answers an open request with an error.
    fn fail(&self, key: &str) {
        let Some(request) = self.state().open.remove(key) else { return };
        let error = wire::error(request.id, wire::INTERNAL_ERROR, messages::SESSION_ENDED, None);
        request.stream.push(error.to_string(), true);
    }
}

/// The request that a notification cancels.
fn cancelled_request(message: &Message) -> Option<&Value> {
    match &message.body {
        Body::Notification { method, params: Some(params) } if method == "notifications/cancelled" => {
            params.get("requestId")
        }
        _ => None,
    }
}

impl State {
    /// Ends the stream of an open request without a response. Its id is not taken again: a late response would answer the wrong request.
    fn cancel(&mut self, key: String) {
        let Some(request) = self.open.remove(&key) else { return };
        request.stream.end();
        // the guard has no more requests open
        if self.cancelled.len() >= MAX_OPEN {
            self.cancelled.pop_front();
        }
        self.cancelled.push_back(key);
    }

    /// Keeps a stream for a client that did not get its response.
    fn keep(&mut self, stream: Arc<MessageStream>) {
        self.finished.push_back(stream);
        let bytes = |finished: &VecDeque<Arc<MessageStream>>| {
            finished.iter().fold(0_usize, |bytes, stream| bytes.saturating_add(stream.bytes()))
        };
        while self.finished.len() > MAX_FINISHED || bytes(&self.finished) > MAX_FINISHED_BYTES {
            self.finished.pop_front();
        }
    }
}

/// Replaces a value where there is one.
fn replace(body: &mut Value, pointer: &str, value: Value) {
    if let Some(place) = body.pointer_mut(pointer) {
        *place = value;
    }
}

/// A request on whose response a client waits. In the revision without sessions, a client that does not wait any more cancels it.
pub(super) struct PendingRequest {
    session: Arc<ClientSession>,
    key: String,
    pub(super) stream: Arc<MessageStream>,
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if !self.session.is_stateless {
            return;
        }
        let mut state = self.session.state();
        if state.open.remove(&self.key).is_none() {
            return;
        }
        let id: Value = serde_json::from_str(&self.key).unwrap_or_default();
        let params = json!({ "requestId": id, "reason": "the client has closed the stream" });
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        if let (Some(cancel), Some(sender)) = (Message::of(cancel), state.to_guard.clone()) {
            tokio::spawn(async move { sender.send(cancel).await });
        }
    }
}
