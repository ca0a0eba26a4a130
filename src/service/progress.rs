//! How far an operation came, or several calls: the answers of the API, read and written by one type each.

use celador::task::{
    CallId, DecidedCall, DecidedKind, Decision, Question, QuestionId, Request, Task, VerdictKind,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What an operation came to: an answer to one operation, or one to several calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OperationAnswer<'p> {
    /// To a turn, or to the results of several calls.
    Several(SeveralCalls<'p>),
    /// To any other operation.
    One(TaskProgress<'p>),
}

/// How far an operation of a task came: to its decision, or to a question. It is told when it is durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Progress"))]
pub struct TaskProgress<'p> {
    /// The task's id.
    pub task: Cow<'p, str>,
    /// The number of the task's last event, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub version: u64,
    /// The decision, or the question.
    #[serde(flatten)]
    pub came_to: CameTo<'p>,
}

/// The decision of an operation, or what it asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CameTo<'p> {
    /// The operation has ended.
    Decided {
        /// Its decision.
        decided: Cow<'p, Decision>,
    },
    /// The operation waits for an answer.
    Asks {
        /// The question, which `resume` answers.
        asks: Cow<'p, Request>,
        /// Its name, which `resume` needs where several questions are open.
        question: QuestionId,
        /// The call that asks, or the input, event or response, by the id that the task has made up for it. Absent where a script asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The decision so far: `suspend`, with the steps that were evaluated and the rule that asks. Absent where the runtime has a call in
        /// its hands that was let through.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<Cow<'p, Decision>>,
        /// The places in `asks` that a manifest marks as secret, as JSON pointers; views do not show them. Absent if there are none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        secret: Vec<String>,
    },
}

/// How far a whole turn came, or the results of several calls. It is told when it is durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeveralCalls<'p> {
    /// The task's id.
    pub task: Cow<'p, str>,
    /// The number of the task's last event, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub version: u64,
    /// Whether the turn is within the limits; without that no call is looked at. Absent in the answer to results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Decision>,
    /// How far each call came, in the order of the request.
    pub calls: Vec<CallProgress<'p>>,
    /// The calls, inputs and events that have waited and were decided because of these.
    pub decided: Vec<CallProgress<'p>>,
}

/// How far one of several calls came, or an input or event that has waited for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "OneOfSeveralCalls"))]
pub struct CallProgress<'p> {
    /// Its id.
    pub id: Cow<'p, CallId>,
    /// The kind of operation; absent for a call.
    #[serde(default, skip_serializing_if = "DecidedKind::is_call")]
    pub kind: DecidedKind,
    /// The function of a call; absent for all else.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub function: Cow<'p, str>,
    /// Its decision.
    #[serde(flatten)]
    pub decision: Cow<'p, Decision>,
    /// The question that it asks, under the name in `question`; absent if it asks for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<Request>,
}

impl<'p> CameTo<'p> {
    /// A question of a task, with the decision so far.
    #[must_use]
    pub fn asks(task: &Task, question: &'p Question, suspension: Option<&'p Decision>) -> Self {
        let Question { id, request } = question;
        Self::Asks {
            asks: Cow::Borrowed(request),
            question: *id,
            call: suspension.and_then(|decision| decision.call.clone()),
            decision: suspension.map(Cow::Borrowed),
            secret: task.policy().secret_places(request),
        }
    }

    /// A decision.
    #[must_use]
    pub const fn decided(decision: &'p Decision) -> Self {
        Self::Decided { decided: Cow::Borrowed(decision) }
    }

    /// The decision; of an operation that asks, the one so far.
    #[must_use]
    pub fn decision(&self) -> Option<&Decision> {
        match self {
            Self::Decided { decided } => Some(decided),
            Self::Asks { decision, .. } => decision.as_deref(),
        }
    }

    /// The call that waits for others or for a person, or the input, event or response.
    #[must_use]
    pub fn pending(&self) -> Option<&CallId> {
        match self {
            Self::Decided { decided } if is_pending(decided) => decided.call.as_ref(),
            Self::Asks { asks, call, .. } if matches!(&**asks, Request::Review { .. }) => call.as_ref(),
            _ => None,
        }
    }
}

impl<'p> SeveralCalls<'p> {
    /// What the decision on a turn or on results says of its first `count` calls, and of those behind them.
    #[must_use]
    pub fn of(task: &'p Task, version: u64, decision: &'p Decision, is_turn: bool, count: usize) -> Self {
        let called = |decided: &'p DecidedCall| {
            let DecidedCall { call, kind, function, decision } = decided;
            let asked = task.questions().find(|question| decision.verdict.question() == Some(question.id));
            CallProgress {
                id: Cow::Borrowed(call),
                kind: *kind,
                function: Cow::Borrowed(function),
                decision: Cow::Borrowed(decision),
                asks: asked.map(|question| question.request),
            }
        };
        Self {
            task: Cow::Borrowed(task.id()),
            version,
            limits: is_turn.then(|| Decision { decided: Vec::new(), ..decision.clone() }),
            calls: decision.decided.iter().take(count).map(called).collect(),
            decided: decision.decided.iter().skip(count).map(called).collect(),
        }
    }
}

impl CallProgress<'_> {
    /// Whether it waits for other calls or for a person.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        match self.decision.verdict.kind() {
            VerdictKind::Wait => true,
            VerdictKind::Suspend => matches!(self.asks, Some(Request::Review { .. })),
            _ => false,
        }
    }

    /// The same without what it borrows.
    #[must_use]
    pub fn into_owned(self) -> CallProgress<'static> {
        let Self { id, kind, function, decision, asks } = self;
        let id = Cow::Owned(id.into_owned());
        let function = Cow::Owned(function.into_owned());
        CallProgress { id, kind, function, decision: Cow::Owned(decision.into_owned()), asks }
    }
}

impl OperationAnswer<'_> {
    /// Whether something of it waits for other calls or for a person. What the runtime itself is asked for is not pending.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        match self {
            Self::One(progress) => progress.came_to.pending().is_some(),
            Self::Several(several) => several.calls.iter().any(CallProgress::is_pending),
        }
    }

    /// The same without what it borrows.
    #[must_use]
    pub fn into_owned(self) -> OperationAnswer<'static> {
        match self {
            Self::One(progress) => OperationAnswer::One(progress.into_owned()),
            Self::Several(SeveralCalls { task, version, limits, calls, decided }) => {
                let owned =
                    |calls: Vec<CallProgress<'_>>| calls.into_iter().map(CallProgress::into_owned).collect();
                let (task, calls, decided) = (Cow::Owned(task.into_owned()), owned(calls), owned(decided));
                OperationAnswer::Several(SeveralCalls { task, version, limits, calls, decided })
            }
        }
    }
}

impl TaskProgress<'_> {
    /// The same without what it borrows.
    #[must_use]
    pub fn into_owned(self) -> TaskProgress<'static> {
        let came_to = match self.came_to {
            CameTo::Decided { decided } => CameTo::Decided { decided: Cow::Owned(decided.into_owned()) },
            CameTo::Asks { asks, question, call, decision, secret } => CameTo::Asks {
                asks: Cow::Owned(asks.into_owned()),
                question,
                call,
                decision: decision.map(|decision| Cow::Owned(decision.into_owned())),
                secret,
            },
        };
        TaskProgress { task: Cow::Owned(self.task.into_owned()), version: self.version, came_to }
    }
}

fn is_pending(decision: &Decision) -> bool {
    matches!(decision.verdict.kind(), VerdictKind::Wait | VerdictKind::Suspend)
}
