//! One side of a session, as the guard speaks with it: requests that it has sent and that are open, and requests that wait for its response.
//!
//! The guard numbers every request anew, in both directions, with a random id. So a response has exactly one request, which waits for it once; a
//! response under any other id, however it is spelled, has none and is dropped. Progress tokens are replaced by the same numbers.

use super::message::{Failure, Members, Message};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::mpsc::Sender;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// The most requests of one side that are open at a time, and the most that wait for its response.
pub(super) const MAX_OPEN: usize = 1_024;
/// The bits of an id: an integer that every client and server holds exactly.
const ID_BITS: u128 = (1 << 52) - 1;

/// One side of a session.
pub(super) struct Peer {
    link: Sender<Message>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Requests of the guard that wait for a response of this side.
    waiting: HashMap<i64, Waiting>,
    /// Requests of this side that are not answered yet.
    open: HashMap<String, Cancellation>,
    /// Progress that this side reports, by the guard's tokens.
    progress: HashMap<i64, ProgressTarget>,
}

struct Waiting {
    answer: oneshot::Sender<Result<Value, Failure>>,
    method: String,
    /// The id of the request of the other side that it forwards, or in whose course it is sent.
    origin: Option<Value>,
}

/// The other side's token for progress, and the request to which it belongs.
#[derive(Clone)]
pub(super) struct ProgressTarget {
    pub(super) token: Value,
    pub(super) within: Option<Value>,
}

/// Told when an open request is taken back.
#[derive(Clone, Default)]
pub(super) struct Cancellation {
    pub(super) token: CancellationToken,
    reason: Arc<OnceLock<String>>,
}

impl Cancellation {
    fn cancel(&self, reason: Option<String>) {
        if let Some(reason) = reason {
            let _ = self.reason.set(reason);
        }
        self.token.cancel();
    }
}

/// A request that was sent.
pub(super) struct Sent {
    id: i64,
    answer: oneshot::Receiver<Result<Value, Failure>>,
    peer: Arc<Peer>,
    progress: Option<ProgressReports>,
}

/// The forwarding of progress for a request. It ends when this is dropped.
pub(super) struct ProgressReports {
    id: i64,
    peer: Arc<Peer>,
}

impl Drop for ProgressReports {
    fn drop(&mut self) {
        self.peer.state().progress.remove(&self.id);
    }
}

/// The end of a request that was sent.
pub(super) enum Reply {
    Outcome(Result<Value, Failure>),
    /// The side that asked has taken it back.
    Cancelled,
    /// The session is over.
    Gone,
}

impl Peer {
    pub(super) fn new(link: Sender<Message>) -> Arc<Self> {
        Arc::new(Self { link, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // each change of it is one assignment, so a poisoned state is whole
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message; whether the side is there.
    async fn send(&self, message: Message) -> bool {
        self.link.send(message).await.is_ok()
    }

    pub(super) async fn notify(&self, method: &str, params: Option<Members>, within: Option<Value>) {
        let mut message = Message::notification(method, params);
        message.within = within;
        self.send(message).await;
    }

    /// Opens a request of this side; nothing if its id is that of an open one.
    ///
    /// # Errors
    /// More requests than may be open.
    pub(super) fn open(&self, id: &Value) -> Result<Option<Cancellation>, Failure> {
        let mut state = self.state();
        if state.open.len() >= MAX_OPEN {
            return Err(Failure::new(super::message::INTERNAL_ERROR, super::messages::TOO_MANY_REQUESTS));
        }
        let key = id.to_string();
        if state.open.contains_key(&key) {
            return Ok(None);
        }
        let cancellation = Cancellation::default();
        state.open.insert(key, cancellation.clone());
        Ok(Some(cancellation))
    }

    /// Answers an open request of this side, once.
    pub(super) async fn answer(&self, id: &Value, outcome: Result<Value, Failure>) {
        if self.close(id) {
            self.send(Message::response(id.clone(), outcome)).await;
        }
    }

    /// Refuses a request that was never open.
    pub(super) async fn refuse(&self, id: Value, failure: Failure) {
        self.send(Message::response(id, Err(failure))).await;
    }

    /// Closes an open request without an answer, as one that was taken back; whether it was open.
    pub(super) fn close(&self, id: &Value) -> bool {
        self.state().open.remove(&id.to_string()).is_some()
    }

    /// Takes an open request of this side back; whether there is one.
    pub(super) fn cancel(&self, id: &Value, reason: Option<String>) -> bool {
        let open = self.state().open.get(&id.to_string()).cloned();
        open.map(|it| it.cancel(reason)).is_some()
    }

    /// The only request of this side that is open.
    pub(super) fn only_open(&self) -> Option<Value> {
        let state = self.state();
        let mut open = state.open.keys();
        match (open.next(), open.next()) {
            (Some(only), None) => serde_json::from_str(only).ok(),
            _ => None,
        }
    }

    /// Sends a request. A progress token in its parameters is replaced; `origin` is the request of the other side to which it belongs.
    pub(super) async fn ask(
        self: &Arc<Self>,
        method: &str,
        mut params: Option<Members>,
        origin: Option<Value>,
        within: Option<Value>,
    ) -> Option<Sent> {
        let (asker, answer) = oneshot::channel();
        let id = {
            let mut state = self.state();
            if state.waiting.len() >= MAX_OPEN.saturating_mul(2) {
                return None;
            }
            let mut id = random_id();
            while state.waiting.contains_key(&id) || state.progress.contains_key(&id) {
                id = random_id();
            }
            let waiting = Waiting { answer: asker, method: method.to_owned(), origin: origin.clone() };
            state.waiting.insert(id, waiting);
            id
        };
        let meta = params.as_mut().and_then(|it| it.get_mut("_meta")).and_then(Value::as_object_mut);
        let token = meta.and_then(|meta| {
            let token = meta.get_mut("progressToken")?;
            Some(std::mem::replace(token, id.into()))
        });
        let progress = token.map(|token| {
            self.state().progress.insert(id, ProgressTarget { token, within: origin });
            ProgressReports { id, peer: self.clone() }
        });
        let mut message = Message::request(id.into(), method, params);
        message.within = within;
        if !self.send(message).await {
            self.state().waiting.remove(&id);
            return None;
        }
        Some(Sent { id, answer, peer: self.clone(), progress })
    }

    /// Takes a response of this side; whether a request waits for it.
    pub(super) fn answered(&self, id: &Value, outcome: Result<Value, Failure>) -> bool {
        let waiting = id.as_i64().and_then(|id| self.state().waiting.remove(&id));
        // a receiver that is gone has taken its request back
        waiting.map(|waiting| waiting.answer.send(outcome)).is_some()
    }

    /// The request of the other side that was forwarded to this one under an id.
    pub(super) fn origin(&self, id: &Value) -> Option<Value> {
        let id = id.as_i64()?;
        self.state().waiting.get(&id)?.origin.clone()
    }

    /// The request of the other side that was forwarded under an id and a method.
    pub(super) fn origin_of(&self, id: &Value, method: &str) -> Option<Value> {
        let id = id.as_i64()?;
        let state = self.state();
        state.waiting.get(&id).filter(|it| it.method == method)?.origin.clone()
    }

    /// The target of progress that this side reports.
    pub(super) fn progress(&self, token: &Value) -> Option<ProgressTarget> {
        let id = token.as_i64()?;
        self.state().progress.get(&id).cloned()
    }

    /// Fails all requests that wait.
    pub(super) fn give_up(&self) {
        self.state().waiting.clear();
    }
}

impl Sent {
    /// Waits for the response. A request that is taken back is taken back here too.
    pub(super) async fn reply(&mut self, cancellation: &Cancellation, over: &CancellationToken) -> Reply {
        tokio::select! {
            outcome = &mut self.answer => outcome.map_or(Reply::Gone, Reply::Outcome),
            () = over.cancelled() => Reply::Gone,
            () = cancellation.token.cancelled() => {
                self.take_back(cancellation.reason.get().map(String::as_str)).await;
                Reply::Cancelled
            }
        }
    }

    /// Tells the other side that the response is not needed any more.
    pub(super) async fn take_back(&self, reason: Option<&str>) {
        self.peer.state().waiting.remove(&self.id);
        let mut params = json!({ "requestId": self.id });
        if let (Some(members), Some(reason)) = (params.as_object_mut(), reason) {
            members.insert("reason".to_owned(), reason.into());
        }
        self.peer.notify("notifications/cancelled", params.as_object().cloned(), None).await;
    }

    /// The progress of the request, to be reported after its response as well.
    pub(super) fn take_progress(&mut self) -> Option<ProgressReports> {
        self.progress.take()
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.peer.state().waiting.remove(&self.id);
    }
}

/// A random id, which the other side cannot guess.
fn random_id() -> i64 {
    i64::try_from(Uuid::new_v4().as_u128() & ID_BITS).unwrap_or_default()
}
