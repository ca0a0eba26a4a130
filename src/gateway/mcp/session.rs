//! One session: what its client and its server say to each other.
//!
//! In: the links to both. Out: the same messages on the other side, in their order and under their own ids, but for the few that are guarded:
//! lists of tools, calls, resources, prompts. Those go to a queue, in which they are decided one after the other in the order in which
//! they came, and from there on each by itself. A session has one task, and is over when one of the two is gone.

use super::begun::Begun;
use super::guard::Asked;
use super::kinds::Kind;
use super::link::Link;
use super::message::Message;
use super::settings::McpSettings;
use crate::desk::Desk;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

/// How long calls that are under way have once their client is gone.
const LEAVE: Duration = Duration::from_secs(2);

/// A session, as all of its calls share it.
pub(super) struct Session {
    pub(super) settings: Arc<McpSettings>,
    pub(super) desk: Arc<Desk>,
    client: Sender<Message>,
    server: Sender<Message>,
    state: Mutex<State>,
    /// What stands in front of the ids of its own requests, which nobody else can guess.
    own: String,
    last: AtomicU64,
    pub(super) calls: TaskTracker,
    over: CancellationToken,
}

/// What a session knows of what is under way.
#[derive(Default)]
pub(super) struct State {
    /// Who waits for the server's response to a request, by its id.
    responses: HashMap<String, oneshot::Sender<Message>>,
    /// Who waits for the client's response to a request of this session.
    answers: HashMap<String, oneshot::Sender<Message>>,
    /// The calls of the client that are under way, by the ids of their requests.
    pub(super) open: HashMap<String, OpenCall>,
    /// Calls that are not over although their requests were answered, by what the same call is known by when it is made again.
    pub(super) parked: HashMap<String, Parked>,
    /// Calls whose results come later, by the server's names for them.
    pub(super) later: HashMap<String, Later>,
    /// Whether the client can ask its user.
    pub(super) elicits: bool,
    /// The id of the request that begins the session.
    initialize: Option<String>,
    /// Whether the server has said that its tools have changed since the task began.
    pub(super) changed: bool,
    pub(super) begun: Option<Arc<Begun>>,
}

/// A call of the client that is under way.
#[derive(Clone)]
pub(super) struct OpenCall {
    /// Its id in the task.
    pub(super) call: String,
    /// Told when the client takes it back.
    pub(super) cancelled: CancellationToken,
}

/// A call that goes on when it is made again.
#[derive(Clone)]
pub(super) struct Parked {
    pub(super) call: String,
    pub(super) phase: Phase,
    /// What the user is asked in the answer to its request.
    pub(super) asked: Option<Asked>,
}

/// How far a parked call is.
#[derive(Clone)]
pub(super) enum Phase {
    /// It has not run.
    Asked,
    /// The server wants something more of the client before it goes on.
    Continues,
    /// It has run, and its result is reviewed.
    Ran(Message),
}

/// A call whose result comes later.
#[derive(Clone)]
pub(super) struct Later {
    pub(super) call: String,
    pub(super) function: String,
}

/// Runs a session until it is over.
pub(super) async fn run(settings: Arc<McpSettings>, desk: Arc<Desk>, client: Link, server: Link) {
    let session = Arc::new(Session {
        settings,
        desk,
        client: client.to,
        server: server.to,
        state: Mutex::default(),
        own: format!("celador-{}-", Uuid::new_v4()),
        last: AtomicU64::new(0),
        calls: TaskTracker::new(),
        over: CancellationToken::new(),
    });
    let (queue, queued) = channel(super::link::WAITING);
    let deciding = tokio::spawn(decide(session.clone(), queued));
    // each direction by itself, so that one that is full never stops the other
    let to_server = pass_to_server(&session, client.from, queue);
    let to_client = pass_to_client(&session, server.from);
    tokio::select! {
        () = to_server => { let _ = timeout(LEAVE, session.idle()).await; }
        () = to_client => {}
    }
    session.over.cancel();
    deciding.abort();
    session.state().responses.clear();
    session.calls.close();
    let _ = timeout(LEAVE, session.calls.wait()).await;
    session.leave().await;
}

async fn pass_to_server(session: &Arc<Session>, mut from: Receiver<Message>, queue: Sender<Message>) {
    while let Some(message) = from.recv().await {
        let passed = match (message.method(), message.is_request()) {
            (Some(method), true) if is_guarded(method) => queue.send(message).await.is_ok(),
            (Some("initialize"), true) => {
                session.meet(&message);
                session.to_server(message).await
            }
            (Some("tasks/cancel"), true) => {
                session.give_up(&message);
                session.to_server(message).await
            }
            (Some("notifications/cancelled"), false) => match session.cancel(&message) {
                true => true,
                false => session.to_server(message).await,
            },
            (None, _) => match session.answered(&message) {
                Some(asker) => hand(asker, message),
                None => session.to_server(message).await,
            },
            _ => session.to_server(message).await,
        };
        if !passed {
            return;
        }
    }
}

/// Gives a response to who waits for it; one who does not wait any more has cancelled the request. Nobody is gone by that.
fn hand(asker: oneshot::Sender<Message>, response: Message) -> bool {
    let _ = asker.send(response);
    true
}

/// Whether a request is looked at.
fn is_guarded(method: &str) -> bool {
    Kind::of(method).is_some() || matches!(method, "tools/list" | "tasks/result")
}

async fn pass_to_client(session: &Arc<Session>, mut from: Receiver<Message>) {
    while let Some(mut message) = from.recv().await {
        let key = message.key();
        let passed = match (message.method(), key) {
            (None, Some(key)) => {
                let asker = session.state().responses.remove(&key);
                match asker {
                    Some(asker) => hand(asker, message),
                    None => {
                        session.welcome(&key, &mut message);
                        session.to_client(message).await
                    }
                }
            }
            (Some(method), _) => {
                if method == "notifications/tools/list_changed" {
                    session.state().changed = true;
                }
                session.place(&mut message);
                session.to_client(message).await
            }
            (None, None) => session.to_client(message).await,
        };
        if !passed {
            return;
        }
    }
}

/// Decides one request after the other, in the order in which they came.
async fn decide(session: Arc<Session>, mut queue: Receiver<Message>) {
    while let Some(request) = queue.recv().await {
        let begun = session.begun(&request).await;
        match request.method().map(|method| (method, Kind::of(method))) {
            Some((_, Some(kind))) => session.clone().admit(request, kind, begun).await,
            Some(("tools/list", _)) => drop(session.calls.spawn(session.clone().list(request, begun))),
            Some(("tasks/result", _)) => {
                drop(session.calls.spawn(session.clone().result_of_later(request, begun)));
            }
            _ => {}
        }
    }
}

impl Session {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // each change of it is one assignment, so a poisoned state is whole
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends to the server; whether it is there.
    pub(super) async fn to_server(&self, message: Message) -> bool {
        self.server.send(message).await.is_ok()
    }

    /// Sends to the client; whether it is there.
    pub(super) async fn to_client(&self, message: Message) -> bool {
        self.client.send(message).await.is_ok()
    }

    /// Sends a request to the server and waits for the response; nothing if the session is over before it comes.
    pub(super) async fn ask_server(&self, request: Message) -> Option<Message> {
        let key = request.key()?;
        let (asker, response) = oneshot::channel();
        self.state().responses.insert(key, asker);
        if !self.to_server(request).await {
            return None;
        }
        tokio::select! {
            response = response => response.ok(),
            () = self.over.cancelled() => None,
        }
    }

    /// Asks the client something in the course of one of its requests; nothing if the session is over before it answers.
    pub(super) async fn ask_client(
        &self,
        id: &str,
        method: &str,
        params: Value,
        within: &Value,
    ) -> Option<Message> {
        let mut request = Message::request(id, method, params);
        request.within = Some(within.clone());
        let key = request.key()?;
        let (asker, answer) = oneshot::channel();
        self.state().answers.insert(key, asker);
        if !self.to_client(request).await {
            return None;
        }
        tokio::select! {
            answer = answer => answer.ok(),
            () = self.over.cancelled() => None,
        }
    }

    /// Tells the client that a question of this session needs no answer any more.
    pub(super) async fn take_back(&self, id: &str, reason: &str, within: &Value) {
        self.state().answers.remove(&Value::from(id).to_string());
        let mut told =
            Message::notification("notifications/cancelled", json!({ "requestId": id, "reason": reason }));
        told.within = Some(within.clone());
        self.to_client(told).await;
    }

    /// An id for a request of this session.
    pub(super) fn next_id(&self) -> String {
        format!("{}{}", self.own, self.last.fetch_add(1, Ordering::Relaxed))
    }

    /// Who waits for this answer of the client.
    fn answered(&self, message: &Message) -> Option<oneshot::Sender<Message>> {
        self.state().answers.remove(&message.key()?)
    }

    /// A client introduces itself.
    fn meet(&self, message: &Message) {
        let mut state = self.state();
        state.initialize = message.key();
        state.elicits = can_elicit(message.param("/capabilities"));
    }

    /// The server introduces itself: instructions that nobody has accepted do not reach the model.
    fn welcome(&self, key: &str, message: &mut Message) {
        let is_welcome = self.state().initialize.as_deref() == Some(key);
        let (Some(pins), true) = (&self.settings.pins, is_welcome) else { return };
        let Some(result) = message.outcome_mut().and_then(Value::as_object_mut) else { return };
        if !pins.accepts(result.get("instructions").and_then(Value::as_str)) {
            tracing::warn!("the instructions of the server are not those that were accepted");
            if !self.settings.observe {
                result.remove("instructions");
            }
        }
    }

    /// The client takes a request back; whether it is one that is guarded.
    fn cancel(&self, message: &Message) -> bool {
        let Some(id) = message.param("/requestId") else { return false };
        let open = self.state().open.get(&id.to_string()).cloned();
        open.map(|open| open.cancelled.cancel()).is_some()
    }

    /// The client does not want the result of a call that was to come later.
    fn give_up(self: &Arc<Self>, message: &Message) {
        let id = message.param("/taskId").and_then(Value::as_str).unwrap_or_default();
        let later = self.state().later.remove(id);
        let begun = self.state().begun.clone();
        if let (Some(later), Some(begun)) = (later, begun) {
            self.calls.spawn(async move { begun.guard.withdraw(&later.call, true).await });
        }
    }

    /// A request of the server in the course of the only call there is belongs to it, where the transport does not say so.
    fn place(&self, message: &mut Message) {
        if message.within.is_some() || !message.is_request() {
            return;
        }
        let state = self.state();
        let mut open = state.open.keys();
        if let (Some(only), None) = (open.next(), open.next()) {
            message.within = serde_json::from_str(only).ok();
        }
    }

    /// Waits until no request of the client is under way.
    async fn idle(&self) {
        self.calls.close();
        self.calls.wait().await;
    }

    /// Takes back what is left open, and ends a task that nobody will go on with.
    async fn leave(&self) {
        let (begun, calls) = {
            let mut state = self.state();
            let open = state.open.drain().map(|(_, open)| open.call).collect::<Vec<_>>();
            let later = state.later.drain().map(|(_, later)| later.call).collect::<Vec<_>>();
            (state.begun.take(), [open, later].concat())
        };
        let Some(begun) = begun else { return };
        for call in calls {
            begun.guard.withdraw(&call, true).await;
        }
        if self.settings.task.is_none() {
            begun.guard.end().await;
        }
    }
}

/// Whether a client can show its user a form. Capabilities without modes are those of before there were modes.
pub(super) fn can_elicit(capabilities: Option<&Value>) -> bool {
    let elicitation = capabilities.and_then(|it| it.get("elicitation")).and_then(Value::as_object);
    elicitation.is_some_and(|modes| modes.contains_key("form") || !modes.contains_key("url"))
}
