//! The questions that a conversation has for Celador, and how far the answers let it go.
//!
//! In: a task and a step of it. Out: the decision, as the few words that the proxy acts on. An answer that is none, a step that the
//! server does not take, and a question that only a host could answer are errors or refusals: nothing goes on because of them.

use super::messages;
use crate::{Desk, Reply};
use celador::task::VerdictKind;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// What stands in the way of a request, with the status that its client is told.
#[derive(Debug)]
pub(crate) struct Obstacle {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// The error of the model's API in the form of the interface, if it is that.
    pub(crate) upstream: Option<Value>,
}

impl Obstacle {
    /// One of the proxy's own.
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), upstream: None }
    }
}

/// A decision, as far as the proxy acts on it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Decided {
    /// Nothing of a question alone. A word that is no verdict is no decision.
    #[serde(default)]
    verdict: Option<VerdictKind>,
    #[serde(default)]
    pub(crate) value: Value,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    user_message: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    reviewer: Option<String>,
    #[serde(default)]
    terms: Option<Terms>,
    /// What the host is asked to do.
    #[serde(default)]
    asks: Option<Value>,
    /// The id under which an input waits.
    #[serde(default)]
    pub(crate) call: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Terms {
    #[serde(default)]
    delay_ms: u64,
    #[serde(default)]
    obligations: Vec<Value>,
    #[serde(default)]
    credentials: Vec<Value>,
}

/// The longest that one request waits: well below `max_pending_ms`.
const SLICE: Duration = Duration::from_secs(20);

/// What may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It goes on with the value.
    On,
    /// It does not, and the conversation does.
    Refused,
    /// The value stands in the place of what the tool would have said.
    Answered,
    /// It waits for other calls or for a person.
    Waits,
    /// The host is asked to do what a proxy cannot.
    Beyond,
    /// The task takes no step any more, or none now.
    Over,
}

impl Decided {
    /// A refusal of the proxy's own.
    pub(crate) fn refusal(verdict: VerdictKind, message: &str) -> Self {
        Self { verdict: Some(verdict), message: Some(message.to_owned()), ..Self::default() }
    }

    /// The word of its verdict.
    pub(crate) fn verdict(&self) -> &'static str {
        self.verdict.map_or("", VerdictKind::as_str)
    }

    pub(crate) fn way(&self) -> Way {
        if self.asks.as_ref().is_some_and(|asks| asks.get("review").is_none()) {
            return Way::Beyond;
        }
        match self.verdict {
            Some(VerdictKind::Allow) => Way::On,
            Some(VerdictKind::Respond) => Way::Answered,
            Some(VerdictKind::Wait | VerdictKind::Suspend) => Way::Waits,
            Some(VerdictKind::LockTask | VerdictKind::Terminate | VerdictKind::Rejected) => Way::Over,
            None if self.asks.is_some() => Way::Waits,
            // no step of a proxy brings an event
            Some(
                VerdictKind::Block
                | VerdictKind::Error
                | VerdictKind::InvalidInput
                | VerdictKind::Route
                | VerdictKind::Discard,
            )
            | None => Way::Refused,
        }
    }

    /// How long the host is to wait before a call that goes on; nothing of a call that asks more of its host.
    pub(crate) fn delay(&self) -> Option<Duration> {
        let terms = self.terms.as_ref();
        let asks_more =
            terms.is_some_and(|terms| !terms.obligations.is_empty() || !terms.credentials.is_empty());
        (!asks_more).then(|| Duration::from_millis(terms.map_or(0, |terms| terms.delay_ms)))
    }

    /// What the model is told.
    pub(crate) fn for_model(&self) -> String {
        let said = self.message.as_ref().or(self.reason.as_ref());
        said.map_or_else(|| messages::refused().to_owned(), Clone::clone)
    }

    /// What the user is told.
    pub(crate) fn for_user(&self) -> String {
        self.user_message.clone().unwrap_or_else(|| self.for_model())
    }

    /// Whom it waits for, if that is a person.
    pub(crate) fn reviewer(&self) -> Option<&str> {
        let asked =
            self.asks.as_ref().and_then(|asks| asks.pointer("/review/reviewer")).and_then(Value::as_str);
        self.reviewer.as_deref().or(asked)
    }
}

/// The answer to a turn.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct DecidedTurn {
    #[serde(default)]
    pub(crate) limits: Decided,
    #[serde(default)]
    pub(crate) calls: Vec<Decided>,
}

/// One task, to be asked about.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'d> {
    pub(crate) desk: &'d Desk,
    pub(crate) task: &'d str,
}

impl Asking<'_> {
    fn path(&self, rest: &str) -> String {
        format!("/v1/tasks/{}{rest}", encoded(self.task))
    }

    /// Takes a step of the task; under a key it is taken once.
    pub(crate) async fn step(&self, step: &str, key: Option<&str>, body: &Value) -> Result<Reply, Obstacle> {
        ask(self.desk, key, "POST", &self.path(&format!("/{step}")), Some(body)).await
    }

    /// Takes a step whose answer is one decision. If it has to wait, it is waited for, for so long.
    pub(crate) async fn decide(
        &self,
        step: &str,
        key: Option<&str>,
        wait: Duration,
        body: &Value,
    ) -> Result<Decided, Obstacle> {
        let decided = decided(self.step(step, key, body).await?)?;
        let Some(call) = decided.call.clone().filter(|_| decided.way() == Way::Waits && !wait.is_zero())
        else {
            return Ok(decided);
        };
        let standing = self.standing(&call, wait).await?.unwrap_or(decided);
        Ok(Decided { call: Some(call), ..standing })
    }

    /// Reports a turn of the model.
    pub(crate) async fn turn(&self, body: &Value) -> Result<DecidedTurn, Obstacle> {
        let reply = self.step("turn", None, body).await?;
        if !reply.is_done() {
            return Err(obstacle(&reply));
        }
        serde_json::from_value(reply.body).map_err(|_| unreadable())
    }

    /// How far a call is, or an input or a response that waits, once it is decided or the time has passed; nothing of one that the task
    /// does not know.
    pub(crate) async fn standing(&self, call: &str, wait: Duration) -> Result<Option<Decided>, Obstacle> {
        let until = Instant::now().checked_add(wait);
        loop {
            let left = until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
            let slice = left.min(SLICE).as_millis();
            let wait = if slice == 0 { String::new() } else { format!("?wait_ms={slice}") };
            let path = self.path(&format!("/calls/{}{wait}", encoded(call)));
            let reply = ask(self.desk, None, "GET", &path, None).await?;
            if reply.problem() == "unknown-call" {
                return Ok(None);
            }
            let decided = decided(reply)?;
            if decided.way() != Way::Waits || slice == 0 {
                return Ok(Some(decided));
            }
        }
    }

    /// Takes a call back.
    pub(crate) async fn withdraw(&self, call: &str, ran: Value) -> Result<(), Obstacle> {
        let reply = self.step("withdraw", None, &json!({"call": call, "ran": ran})).await?;
        // one that is over by now needs nothing
        if reply.is_done() || reply.problem() == "unknown-call" { Ok(()) } else { Err(obstacle(&reply)) }
    }

    /// The task as it stands.
    pub(crate) async fn state(&self) -> Result<Value, Obstacle> {
        let reply = ask(self.desk, None, "GET", &self.path(""), None).await?;
        if reply.is_done() { Ok(reply.body) } else { Err(obstacle(&reply)) }
    }

    /// What the model may be offered, and which messages are judged.
    pub(crate) async fn offers(&self) -> Result<Offers, Obstacle> {
        let reply = ask(self.desk, None, "GET", &self.path("/offers"), None).await?;
        offers(reply)
    }
}

/// What an agent is offered, and which messages are judged.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Offers {
    pub(crate) functions: Vec<Offered>,
    pub(crate) judged: JudgedMessages,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Offered {
    pub(crate) name: String,
}

/// Which messages have steps that judge them.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct JudgedMessages {
    pub(crate) outputs: bool,
    pub(crate) model_before: bool,
    pub(crate) model_after: bool,
}

/// Reads the answer about offers.
pub(crate) fn offers(reply: Reply) -> Result<Offers, Obstacle> {
    if !reply.is_done() {
        return Err(obstacle(&reply));
    }
    serde_json::from_value(reply.body).map_err(|_| unreadable())
}

/// Asks the desk; no answer is an obstacle.
pub(crate) async fn ask(
    desk: &Desk,
    key: Option<&str>,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Result<Reply, Obstacle> {
    let reply = desk.ask_under(key, method, path, body).await;
    reply.map_err(|error| Obstacle::new(503, messages::no_decision(&error)))
}

fn decided(reply: Reply) -> Result<Decided, Obstacle> {
    if !reply.is_done() {
        return Err(obstacle(&reply));
    }
    let Value::Object(mut progress) = reply.body else { return Err(unreadable()) };
    if let Some(decided) = progress.remove("decided") {
        return serde_json::from_value(decided).map_err(|_| unreadable());
    }
    let asks = progress.remove("asks").ok_or_else(unreadable)?;
    let call = progress.remove("call").and_then(|call| call.as_str().map(str::to_owned));
    Ok(Decided { verdict: Some(VerdictKind::Suspend), asks: Some(asks), call, ..Decided::default() })
}

/// A problem of the API, as the client is told it: what the client could mend keeps its status, all else is the proxy's.
pub(crate) fn obstacle(reply: &Reply) -> Obstacle {
    let status = match reply.status {
        status @ (400 | 409 | 410 | 413 | 422) => status,
        _ => 503,
    };
    Obstacle::new(status, messages::not_decided(reply.detail()))
}

fn unreadable() -> Obstacle {
    Obstacle::new(503, messages::not_decided("the answer is no answer of Celador"))
}

/// An id as a part of a path.
fn encoded(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    id.bytes().fold(String::new(), |text, byte| {
        if plain(byte) {
            text + char::from(byte).encode_utf8(&mut [0; 4])
        } else {
            text + &format!("%{byte:02X}")
        }
    })
}
