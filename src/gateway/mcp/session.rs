//! One session: a client, its server, and what is open between them.
//!
//! Each message is looked up in the table of methods, decoded, and handled as its row says. Judged requests go to a queue, in which they are
//! decided one after the other in the order in which they came; from there on each goes on by itself. A session has one task, and is over
//! when one of the two sides is gone.

use super::begun::Begun;
use super::course::Request;
use super::kinds::{Kind, unknown_result};
use super::link::{Link, WAITING};
use super::message::{Body, Failure, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Members, Message};
use super::methods::{Handling, Method, OBSERVED_NOTIFICATION, OBSERVED_REQUEST, Side, method};
use super::notices::Notices;
use super::parked::ParkedCalls;
use super::peer::{Peer, Reply, Sent};
use super::settings::McpSettings;
use super::shape::{Decoder, Shape};
use super::task_list::Tasks;
use super::{messages, schema};
use crate::unjudged::tell_of_unjudged;
use celador_server::TaskBackend;
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Time for open calls to end once their client is gone.
const LEAVE: Duration = Duration::from_secs(2);

/// A session, as all of its calls share it.
pub(super) struct Session {
    pub(super) settings: Arc<McpSettings>,
    pub(super) desk: Arc<TaskBackend>,
    pub(super) client: Arc<Peer>,
    pub(super) server: Arc<Peer>,
    pub(super) state: Mutex<State>,
    /// The task. It is locked while the tools are listed, so that there is one.
    pub(super) begun: tokio::sync::Mutex<Option<Arc<Begun>>>,
    pub(super) notices: Notices,
    pub(super) calls: TaskTracker,
    pub(super) over: CancellationToken,
}

/// The state of a session besides its open requests.
#[derive(Default)]
pub(super) struct State {
    /// The open calls of the task, by their ids, and those that nobody has reported.
    pub(super) open: std::collections::HashSet<String>,
    pub(super) parked: ParkedCalls,
    pub(super) tasks: Tasks,
    /// Whether the client can ask its user.
    pub(super) elicits: bool,
    /// Whether the server has said that its tools have changed since they were listed.
    pub(super) changed: bool,
}

/// Runs a session until it is over.
pub(super) async fn run(settings: Arc<McpSettings>, desk: Arc<TaskBackend>, client: Link, server: Link) {
    let session = Arc::new(Session {
        settings,
        desk,
        client: Peer::new(client.to),
        server: Peer::new(server.to),
        state: Mutex::default(),
        begun: tokio::sync::Mutex::default(),
        notices: Notices::default(),
        calls: TaskTracker::new(),
        over: CancellationToken::new(),
    });
    let (queue, queued) = channel(WAITING);
    let deciding = tokio::spawn(decide(session.clone(), queued));
    // each direction by itself, so that one that is full never stops the other
    let from_client = take_from_client(&session, client.from, queue);
    let from_server = take_from_server(&session, server.from);
    tokio::select! {
        () = from_client => { let _ = timeout(LEAVE, session.idle()).await; }
        () = from_server => {}
    }
    session.over.cancel();
    deciding.abort();
    session.server.give_up();
    session.calls.close();
    let _ = timeout(LEAVE, session.calls.wait()).await;
    session.leave().await;
}

async fn take_from_client(session: &Arc<Session>, mut from: Receiver<Message>, queue: Sender<Request>) {
    while let Some(message) = from.recv().await {
        session.tell_unjudged().await;
        match message.body {
            Body::Response { id, outcome } => session.responded(&session.client, &id, outcome),
            Body::Notification { method, params } => session.noted_by_client(&method, params).await,
            Body::Request { id, method, params } => {
                let Some(request) = session.opened(id, method, params).await else { continue };
                match request.method.handling {
                    Handling::Call | Handling::ListTools => {
                        if queue.send(request).await.is_err() {
                            return;
                        }
                    }
                    Handling::GetTask
                    | Handling::TaskResult
                    | Handling::CancelTask
                    | Handling::UpdateTask => {
                        let session = session.clone();
                        session.calls.clone().spawn(async move { session.ask_task(request).await });
                    }
                    _ => session.forward(request).await,
                }
            }
        }
    }
}

async fn take_from_server(session: &Arc<Session>, mut from: Receiver<Message>) {
    while let Some(message) = from.recv().await {
        // over HTTP the stream says to which request a message belongs
        let within = message.within.as_ref().and_then(|id| session.server.origin(id));
        match message.body {
            Body::Response { id, outcome } => session.responded(&session.server, &id, outcome),
            Body::Notification { method, params } => session.noted_by_server(&method, params, within).await,
            Body::Request { id, method, params } => {
                let within = within.or_else(|| session.client.only_open());
                session.asked_by_server(id, method, params, within).await;
            }
        }
    }
}

/// Decides one request after the other, in the order in which they came.
async fn decide(session: Arc<Session>, mut queue: Receiver<Request>) {
    while let Some(request) = queue.recv().await {
        let begun = session.begun(request.protocol()).await;
        match Kind::of(&request.name) {
            Some(kind) => session.clone().admit(request, kind, begun).await,
            None => drop(session.calls.spawn(session.clone().list(request, begun))),
        }
    }
}

impl Session {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // each change of it is one assignment, so a poisoned state is whole
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decodes a value. What is dropped is logged; a session that observes drops nothing.
    ///
    /// # Errors
    /// The path of the first part that does not have its shape.
    pub(super) fn decode(&self, to: Side, shape: &Shape, value: Value, name: &str) -> Result<Value, String> {
        let observed = self.settings.observe.then(|| value.clone());
        let mut decoder = Decoder::new(&self.settings.forward_meta, to == Side::Client);
        let decoded = decoder.decode(shape, value, name);
        for path in &decoder.dropped {
            match observed {
                Some(_) => self.notices.unjudged(messages::UNJUDGED_MEMBER, "member", path),
                None => self.notices.warn(messages::DROPPED_MEMBER, path),
            }
        }
        match (decoded, observed) {
            (Ok(_), Some(observed)) => Ok(observed),
            (Err(misfit), Some(observed)) => {
                self.notices.unjudged(messages::UNJUDGED_VALUE, "message", &misfit.path);
                Ok(observed)
            }
            (Err(misfit), None) => {
                self.notices.warn(messages::MALFORMED_VALUE, &misfit.path);
                Err(misfit.path)
            }
            (Ok(decoded), None) => Ok(decoded),
        }
    }

    /// Decodes parameters.
    pub(super) fn decode_params(
        &self,
        to: Side,
        method: &Method,
        params: Option<Members>,
        name: &str,
    ) -> Result<Option<Members>, Failure> {
        let is_absent = params.is_none();
        let value = Value::Object(params.unwrap_or_default());
        match self.decode(to, &method.params, value, name) {
            Ok(Value::Object(params)) => Ok((!is_absent || !params.is_empty()).then_some(params)),
            Ok(_) => Ok(None),
            Err(path) => Err(Failure::new(INVALID_PARAMS, messages::malformed(&path))),
        }
    }

    /// Tells the decision log what was forwarded unjudged.
    async fn tell_unjudged(&self) {
        for (form, count) in self.notices.take_unjudged() {
            tell_of_unjudged(&self.desk, &form, count).await;
        }
    }

    /// Opens a request of the client; nothing if it was refused.
    async fn opened(&self, id: Value, name: String, params: Option<Members>) -> Option<Request> {
        let known = method(Side::Client, true, &name).filter(|it| it.handling != Handling::Refuse);
        let method = match known {
            Some(method) => method,
            None if self.settings.observe => {
                self.notices.unjudged(messages::UNJUDGED_METHOD, "method", &name);
                &OBSERVED_REQUEST
            }
            None => {
                self.notices.warn(messages::UNKNOWN_METHOD, &name);
                let refused = Failure::new(METHOD_NOT_FOUND, messages::METHOD_NOT_FOUND);
                self.client.refuse(id, refused).await;
                return None;
            }
        };
        let cancellation = match self.client.open(&id) {
            Ok(Some(cancellation)) => cancellation,
            Ok(None) => {
                // an answer would be taken for that of the other request
                self.notices.warn(messages::SAME_ID, &name);
                return None;
            }
            Err(failure) => {
                self.client.refuse(id, failure).await;
                return None;
            }
        };
        match self.decode_params(Side::Server, method, params, &name) {
            Ok(params) => Some(Request { id, method, name, params, cancellation }),
            Err(failure) => {
                self.client.answer(&id, Err(failure)).await;
                None
            }
        }
    }

    /// Forwards a request that is not judged by the task. It is sent before the next message of the client is taken.
    async fn forward(self: &Arc<Self>, request: Request) {
        if request.method.handling == Handling::Introduce {
            self.meet(&request);
        }
        let Some(sent) = self.ask_server(&request).await else {
            self.client.answer(&request.id, Err(Failure::new(INTERNAL_ERROR, messages::SERVER_GONE))).await;
            return;
        };
        let session = self.clone();
        self.calls.spawn(async move {
            if let Some(outcome) = session.reply(&request, sent).await {
                let outcome = match outcome {
                    Ok(result) => session.passed(&request, result),
                    Err(failure) => Err(session.error(failure)),
                };
                session.client.answer(&request.id, outcome).await;
            }
        });
    }

    /// Sends a request of the client to the server.
    pub(super) async fn ask_server(&self, request: &Request) -> Option<Sent> {
        self.server.ask(&request.name, request.params.clone(), Some(request.id.clone()), None).await
    }

    /// The server's response to a request of the client; nothing if the client needs none any more.
    pub(super) async fn reply(&self, request: &Request, mut sent: Sent) -> Option<Result<Value, Failure>> {
        match sent.reply(&request.cancellation, &self.over).await {
            Reply::Outcome(outcome) => Some(outcome),
            Reply::Gone => Some(Err(Failure::new(INTERNAL_ERROR, messages::SERVER_GONE))),
            Reply::Cancelled => {
                self.client.close(&request.id);
                None
            }
        }
    }

    /// The result of a request that is not judged by the task.
    fn passed(&self, request: &Request, result: Value) -> Result<Value, Failure> {
        let name = format!("{} result", request.name);
        let mut result =
            self.decode(Side::Client, &request.method.result, result, &name).map_err(|_| unknown_result())?;
        if self.settings.observe {
            return Ok(result);
        }
        match request.method.handling {
            Handling::Introduce => self.welcome(&mut result),
            Handling::Catalog(member) => self.filter(&mut result, member),
            Handling::Complete => self.filter_completions(&mut result),
            Handling::ListTasks => self.state().tasks.filter(&mut result),
            Handling::Listen => self.restore_subscription(&mut result, &request.id),
            _ => {}
        }
        self.hold_meta(&mut result);
        if matches!(request.method.handling, Handling::Introduce | Handling::Catalog(_)) {
            super::kinds::uncached(&mut result, request.is_modern());
        }
        Ok(result)
    }

    /// An error of the server that is not judged by the task: its data are those that the protocol defines.
    pub(super) fn error(&self, failure: Failure) -> Failure {
        if self.settings.observe {
            return failure;
        }
        let Failure { code, message, data } = failure;
        let defined = schema::ERROR_DATA.iter().find(|(defined, _)| *defined == code);
        let data = data.and_then(|data| {
            let Some((_, shape)) = defined else {
                self.notices.warn(messages::DROPPED_MEMBER, "error.data");
                return None;
            };
            self.decode(Side::Client, shape, data, "error.data").ok()
        });
        let is_shown = self.settings.tool_rules.shows(&message);
        let message = if is_shown { message } else { messages::WITHHELD_ERROR.to_owned() };
        Failure { code, message, data }
    }

    fn responded(&self, side: &Peer, id: &Value, outcome: Result<Value, Failure>) {
        if !side.answered(id, outcome) {
            self.notices.warn(messages::NO_SUCH_REQUEST, "");
        }
    }

    async fn noted_by_client(&self, name: &str, params: Option<Members>) {
        let Some((method, params)) = self.notification(Side::Client, name, params) else { return };
        let param = |name: &str| params.as_ref().and_then(|it| it.get(name));
        match method.handling {
            Handling::Cancel => {
                let reason = param("reason").and_then(Value::as_str).map(str::to_owned);
                param("requestId").map(|id| self.client.cancel(id, reason));
            }
            Handling::Progress => self.report_progress(&self.client, &self.server, params).await,
            _ => self.server.notify(name, params, None).await,
        }
    }

    /// A notification that is known; nothing if it is dropped.
    pub(super) fn notification(
        &self,
        from: Side,
        name: &str,
        params: Option<Members>,
    ) -> Option<(&'static Method, Option<Members>)> {
        let known = method(from, false, name).filter(|it| it.handling != Handling::Refuse);
        let to = if from == Side::Client { Side::Server } else { Side::Client };
        match known {
            Some(method) => Some((method, self.decode_params(to, method, params, name).ok()?)),
            None if self.settings.observe => {
                self.notices.unjudged(messages::UNJUDGED_METHOD, "method", name);
                Some((&OBSERVED_NOTIFICATION, params))
            }
            None => {
                self.notices.warn(messages::UNKNOWN_METHOD, name);
                None
            }
        }
    }

    /// Reports progress to the side that asked for it, under its own token.
    pub(super) async fn report_progress(&self, from: &Peer, to: &Peer, params: Option<Members>) {
        let Some(mut params) = params else { return };
        let Some(target) = params.get("progressToken").and_then(|token| from.progress(token)) else {
            self.notices.warn(messages::NO_SUCH_REQUEST, "notifications/progress");
            return;
        };
        params.insert("progressToken".to_owned(), target.token);
        self.hold_text(&mut params, "message");
        to.notify("notifications/progress", Some(params), target.within).await;
    }

    /// Waits until no request of the client is open.
    async fn idle(&self) {
        self.calls.close();
        self.calls.wait().await;
    }

    /// Takes back what is left open, and ends a task with which no session goes on.
    async fn leave(&self) {
        self.tell_unjudged().await;
        let calls: Vec<String> = {
            let mut state = self.state();
            let tasks = state.tasks.drain();
            state.open.drain().chain(tasks).collect()
        };
        let Some(begun) = self.begun.lock().await.take() else { return };
        for call in calls {
            begun.guard.withdraw(&call, true).await;
        }
        if self.settings.task.is_none() {
            begun.guard.end().await;
        }
    }
}
