//! The questions that a conversation has for Celador, and how far the answers let it go.
//!
//! In: a task and a step of it. Out: the decision, as the few words that the proxy acts on. An answer that is none, a step that the
//! server does not take, and a question that only a host could answer are errors or refusals: nothing goes on because of them.

use super::messages;
use celador::cel::Json;
use celador::task::{CallId, Decision, Operation, Ran, ReportedCall, Request, Terms, Turn, VerdictKind};
use celador_server::TaskBackend;
use celador_service::{
    CallProgress, CameTo, Offers, OperationAnswer, ProblemKind, ServiceError, StepTerms, TaskService,
    TaskStanding,
};
use serde_json::Value;
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Decided {
    /// Nothing of what was not decided: it is a refusal.
    verdict: Option<VerdictKind>,
    pub(crate) value: Value,
    message: Option<String>,
    user_message: Option<String>,
    reason: Option<String>,
    reviewer: Option<String>,
    terms: Option<Terms>,
    /// What the host is asked to do.
    asks: Option<Request>,
    /// The id under which an input waits.
    pub(crate) call: Option<CallId>,
}

impl From<CameTo<'static>> for Decided {
    fn from(came_to: CameTo<'static>) -> Self {
        match came_to {
            CameTo::Decided { decided } => Self::of(decided.into_owned(), None),
            CameTo::Asks { asks, call, .. } => {
                let asks = Some(asks.into_owned());
                Self { verdict: Some(VerdictKind::Suspend), asks, call, ..Self::default() }
            }
        }
    }
}

impl From<CallProgress<'static>> for Decided {
    fn from(CallProgress { decision, asks, .. }: CallProgress<'static>) -> Self {
        Self::of(decision.into_owned(), asks)
    }
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
    fn of(decision: Decision, asks: Option<Request>) -> Self {
        let Decision { verdict, call, .. } = decision;
        let text = |text: Option<&str>| text.map(str::to_owned);
        Self {
            verdict: Some(verdict.kind()),
            message: text(verdict.message()),
            user_message: text(verdict.user_message()),
            reason: text(verdict.reason()),
            reviewer: text(verdict.reviewer()),
            terms: verdict.terms().cloned(),
            value: verdict.into_value().map_or(Value::Null, |value| written(&value)),
            asks,
            call,
        }
    }

    /// A refusal of the proxy's own.
    pub(crate) fn refusal(verdict: VerdictKind, message: &str) -> Self {
        Self { verdict: Some(verdict), message: Some(message.to_owned()), ..Self::default() }
    }

    /// The word of its verdict.
    pub(crate) fn verdict(&self) -> &'static str {
        self.verdict.map_or("", VerdictKind::as_str)
    }

    pub(crate) fn way(&self) -> Way {
        if self.asks.as_ref().is_some_and(|asks| !matches!(asks, Request::Review { .. })) {
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
        (!asks_more)
            .then(|| Duration::from_millis(terms.and_then(|terms| terms.delay_ms).unwrap_or_default()))
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
        let asked = match &self.asks {
            Some(Request::Review { reviewer, .. }) => Some(&**reviewer),
            _ => None,
        };
        self.reviewer.as_deref().or(asked)
    }
}

/// The answer to a turn.
#[derive(Debug, Default)]
pub(crate) struct DecidedTurn {
    pub(crate) limits: Decided,
    pub(crate) calls: Vec<Decided>,
}

/// One task, to be asked about.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'d> {
    pub(crate) desk: &'d TaskBackend,
    pub(crate) task: &'d str,
}

impl Asking<'_> {
    async fn take(
        &self,
        operation: Operation,
        key: Option<String>,
    ) -> Result<OperationAnswer<'static>, ServiceError> {
        self.desk.take(self.task, operation, StepTerms { key, ..StepTerms::default() }).await
    }

    /// Takes an operation whose answer is one decision; under a key it is taken once. If it has to wait, it is waited for, for so long.
    pub(crate) async fn decide(
        &self,
        operation: Operation,
        key: Option<String>,
        wait: Duration,
    ) -> Result<Decided, Obstacle> {
        let taken = self.take(operation, key).await.map_err(|error| obstacle(&error))?;
        let OperationAnswer::One(progress) = taken else { return Err(unreadable()) };
        let decided = Decided::from(progress.came_to);
        let Some(call) = decided.call.clone().filter(|_| decided.way() == Way::Waits && !wait.is_zero())
        else {
            return Ok(decided);
        };
        let standing = self.standing(call.as_str(), wait).await?.unwrap_or(decided);
        Ok(Decided { call: Some(call), ..standing })
    }

    /// Reports a turn of the model.
    pub(crate) async fn turn(&self, turn: Turn) -> Result<DecidedTurn, Obstacle> {
        match self.take(Operation::Turn(turn), None).await.map_err(|error| obstacle(&error))? {
            OperationAnswer::Several(several) => Ok(DecidedTurn {
                limits: several.limits.map_or_else(Decided::default, |limits| Decided::of(limits, None)),
                calls: several.calls.into_iter().map(Decided::from).collect(),
            }),
            OperationAnswer::One(_) => Err(unreadable()),
        }
    }

    /// Reports results, all in one step. An error of the service is for the caller, who may know what to make of it.
    pub(crate) async fn results(
        &self,
        results: Vec<ReportedCall>,
    ) -> Result<Result<Vec<Decided>, ServiceError>, Obstacle> {
        match self.take(Operation::Results { results }, None).await {
            Ok(OperationAnswer::Several(several)) => {
                Ok(Ok(several.calls.into_iter().map(Decided::from).collect()))
            }
            Ok(OperationAnswer::One(_)) => Err(unreadable()),
            Err(error) => Ok(Err(error)),
        }
    }

    /// How far a call is, or an input or a response that waits, once it is decided or the time has passed; nothing of one that the task
    /// does not know.
    pub(crate) async fn standing(&self, call: &str, wait: Duration) -> Result<Option<Decided>, Obstacle> {
        let (until, call) = (Instant::now().checked_add(wait), CallId::from(call));
        loop {
            let left = until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
            let slice = Duration::from_millis(u64::try_from(left.min(SLICE).as_millis()).unwrap_or_default());
            let decided = match self.desk.standing(self.task, &call, slice).await {
                Ok(stands) => Decided::from(stands.came_to),
                Err(error) if error.kind() == Some(ProblemKind::UnknownCall) => return Ok(None),
                Err(error) => return Err(obstacle(&error)),
            };
            if decided.way() != Way::Waits || slice.is_zero() {
                return Ok(Some(decided));
            }
        }
    }

    /// Takes a call back.
    pub(crate) async fn withdraw(&self, call: &str, ran: Ran) -> Result<(), Obstacle> {
        match self.take(Operation::Withdraw { call: call.into(), ran }, None).await {
            // one that is over by now needs nothing
            Err(error) if error.kind() != Some(ProblemKind::UnknownCall) => Err(obstacle(&error)),
            _ => Ok(()),
        }
    }

    /// The task as it stands.
    pub(crate) async fn state(&self) -> Result<TaskStanding, Obstacle> {
        self.desk.state(self.task).await.map_err(|error| obstacle(&error))
    }

    /// What the model may be offered, and which messages are judged.
    pub(crate) async fn offers(&self) -> Result<Offers, Obstacle> {
        self.desk.offers(self.task).await.map_err(|error| obstacle(&error))
    }
}

fn written(value: &Json) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Why an operation was not taken, as the client is told it: what the client could mend keeps its status, all else is the proxy's.
pub(crate) fn obstacle(error: &ServiceError) -> Obstacle {
    match error {
        ServiceError::NoAnswer(error) => Obstacle::new(503, messages::no_decision(error)),
        ServiceError::Problem(problem) => {
            let status = match problem.status {
                status @ (400 | 409 | 410 | 413 | 422) => status,
                _ => 503,
            };
            Obstacle::new(status, messages::not_decided(problem.said()))
        }
    }
}

fn unreadable() -> Obstacle {
    Obstacle::new(503, messages::not_decided("the answer is no answer of Celador"))
}
