//! What an operation comes to, with what belongs to it; and how far an event came.

use super::call_id::CallId;
use super::effect::QuestionId;
use super::limit_reached::LimitReached;
use super::switch::Switch;
use super::termination::TerminationReason;
use super::terms::Terms;
use crate::cel::Json;
use crate::policy::Origin;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What an operation comes to. In JSON it is an object whose member `verdict` is the word of its [`VerdictKind`].
///
/// ```
/// use celador::{Call, Engine, EngineLimits, StartTask, User, Verdict};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: None, ..User::default() };
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
/// let mut pay = |amount: i64| {
///     let call = Call::new("payout", serde_json::json!({"amount": amount}).into());
///     Ok::<Verdict, celador::TaskError>(task.before(&call, now)?.outcome().into_decision().verdict)
/// };
/// let Verdict::Allow(allowed) = pay(40)? else { panic!("40 is little") };
/// assert_eq!(allowed.value.map(|arguments| arguments.to_string()).as_deref(), Some(r#"{"customer":"u-7","amount":40}"#));
/// let Verdict::Block(refused) = pay(2_000)? else { panic!("2000 is too much") };
/// assert_eq!(refused.message, "2000 is outside what a clerk may pay.");
/// let Verdict::Suspend { reviewer, .. } = pay(250)? else { panic!("250 needs a review") };
/// assert_eq!(reviewer.as_deref(), Some("lead@example.com"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Verdict {
    /// The operation goes on.
    Allow(Allowed),
    /// The event became an input of the task (EVT-16).
    Route {
        /// The entry of `context.input`: an object with `message`.
        value: Option<Json>,
    },
    /// The call does not run: a reviewer, or a step, gave its result.
    Respond {
        /// The result, which the model receives in the tool's place.
        value: Option<Json>,
        /// A sentence for the caller.
        message: String,
    },
    /// The operation does not go on; the model gets the message as an error of the tool (MW-34).
    Block(Refused),
    /// The call could not be formed; the model gets the message (REC-07).
    Error(Refused),
    /// The input does not fit the agent's parameters (CTX-18, CTX-20), or what is sent to a model or came back is not of the shape that
    /// steps see.
    InvalidInput(Refused),
    /// The operation does not go on, and no later one does: the task is locked (MW-31).
    LockTask(Refused),
    /// Nothing has happened: the task is locked, terminated, or waits for an answer (MW-32, RV-13, LIM-14), or an operator has stopped
    /// its agent or user.
    Rejected {
        /// Why.
        #[serde(flatten)]
        refused: Refused,
        /// The calls that a call of the model has to wait for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        waits_for: Vec<CallId>,
        /// For those calls, the expressions that make it wait.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        because: Vec<WaitReason>,
    },
    /// The event is dropped, and nothing of it reaches the model (EVT-10).
    Discard {
        /// The check that it did not pass.
        stage: EventStage,
        /// Why.
        #[serde(flatten)]
        refused: Refused,
    },
    /// The task has ended: at a limit (LIM-01), or in an error that nothing can recover (LIFE-02).
    Terminate {
        /// The kind of reason.
        reason: TerminationReason,
        /// A sentence with the limit and its numbers, or with the function that cannot work.
        message: String,
        /// The limit that was reached, if that is the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<LimitReached>,
    },
    /// The operation asks, and goes on with the answer.
    Suspend {
        /// The name under which [`Task::answer`](crate::task::Task::answer) takes the answer.
        question: QuestionId,
        /// Who is asked for a review (RV-01).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reviewer: Option<String>,
        /// A sentence for the caller.
        message: String,
    },
    /// The operation waits: it reads what others may still change, or a review is open. It is decided by itself once those are reported,
    /// withdrawn or closed ([`Task::standing`](crate::task::Task::standing)).
    Wait {
        /// The calls that are open or in review and that it waits for; inputs, events and responses that are ahead of it, too.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        waits_for: Vec<CallId>,
        /// For operations of `waits_for`, the expressions that make it wait. Nothing of one that it waits for whatever the rules read, such as a
        /// call in review.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        because: Vec<WaitReason>,
        /// The questions of the open reviews that it waits for. A call that waits for reviews and for no open call has allowed its steps so
        /// far, and runs once they are closed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        held_by: Vec<QuestionId>,
        /// A sentence for the caller.
        message: String,
    },
}

/// What an operation goes on with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Allowed {
    /// The value to go on with: the resolved arguments of a call that may run, a result for the model, the entry of an input or of a response (an
    /// object with `message`), what is sent to the model or what it has answered. `null` for an operation that has none.
    pub value: Option<Json>,
    /// The values that `exposes` adds to a response (EXP-01): an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("type" = ["object", "null"])))]
    pub exposes: Option<Json>,
    /// What the host has to do for a call, where a policy asks for something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Box<Terms>>,
    /// Why a locked task was unlocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Why an operation does not go on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Refused {
    /// For the model if the verdict is block or error (MW-34), for the caller otherwise.
    pub message: String,
    /// The text for the user, where the step of a policy document that stopped it has a `user_message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_message: Option<String>,
    /// Why the task is in its state: of a locked one the rendered message of the step (MW-38, GR-14), of one that has ended a word of
    /// [`TerminationReason`] (LIM-01), of one that is stopped or waits a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The limit that was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitReached>,
    /// The switch by which an operator stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<Box<Switch>>,
}

/// The expression for which an operation waits for another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitReason {
    /// The operation that is waited for.
    pub call: CallId,
    /// The expression that reads what that operation may still change. Of an operation that is between two of its steps, one of its own that has read what the
    /// waiting operation changes.
    pub reads: Origin,
}

/// The kind of a [`Verdict`]: whether a step may go on, and otherwise why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Verdict"))]
pub enum VerdictKind {
    /// Go on.
    Allow,
    /// Do not; the model gets the message as an error of the tool.
    Block,
    /// Do not, and never again: the task is locked (MW-31).
    LockTask,
    /// Wait: somebody has to answer first.
    Suspend,
    /// Wait: it reads what calls may change that are still open, or a review is open. It is decided by itself once they are reported or
    /// withdrawn, and reviews closed ([`Task::standing`](crate::task::Task::standing)).
    Wait,
    /// Do not: a reviewer, or a step, gave the result, which the model receives in the tool's place.
    Respond,
    /// The task has ended: a limit (LIM-01) or an error that nothing can recover (LIFE-02).
    Terminate,
    /// Not now: the task is locked, terminated, or waits for an answer (MW-32, RV-13, LIM-14), or an operator has stopped
    /// its agent or user.
    Rejected,
    /// The input does not fit the agent's parameters (CTX-18, CTX-20), or what is sent to a model or came back is not of the shape that
    /// steps see.
    InvalidInput,
    /// The call could not be formed; the model gets the message (REC-07).
    Error,
    /// The event became an input of the task (EVT-16).
    Route,
    /// The event is dropped, and nothing of it reaches the model (EVT-10).
    Discard,
}

/// The checks that an event has to pass, in this order (EVT-15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EventStage {
    /// The task's subscription to it.
    Inactive,
    /// The secret of the webhook.
    Signature,
    /// The schema of its payload.
    Payload,
    /// The filter of the tool.
    Filter,
    /// The steps of `before`.
    Before,
    /// The steps of `after`.
    After,
    /// A guardrail of a policy document that refuses one input.
    Guardrails,
}

impl EventStage {
    /// The word for wires and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inactive => "inactive",
            Self::Signature => "signature",
            Self::Payload => "payload",
            Self::Filter => "filter",
            Self::Before => "before",
            Self::After => "after",
            Self::Guardrails => "guardrails",
        }
    }
}

impl Verdict {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> VerdictKind {
        match self {
            Self::Allow(_) => VerdictKind::Allow,
            Self::Route { .. } => VerdictKind::Route,
            Self::Respond { .. } => VerdictKind::Respond,
            Self::Block(_) => VerdictKind::Block,
            Self::Error(_) => VerdictKind::Error,
            Self::InvalidInput(_) => VerdictKind::InvalidInput,
            Self::LockTask(_) => VerdictKind::LockTask,
            Self::Rejected { .. } => VerdictKind::Rejected,
            Self::Discard { .. } => VerdictKind::Discard,
            Self::Terminate { .. } => VerdictKind::Terminate,
            Self::Suspend { .. } => VerdictKind::Suspend,
            Self::Wait { .. } => VerdictKind::Wait,
        }
    }

    /// Goes on with a value.
    pub(crate) fn allow(value: Option<Json>) -> Self {
        Self::Allow(Allowed { value, ..Allowed::default() })
    }

    /// Blocks with a message for the model.
    pub(crate) fn block(message: String) -> Self {
        Self::Block(Refused::new(message))
    }

    /// A call that could not be formed, with a message for the model.
    pub(crate) fn error(message: String) -> Self {
        Self::Error(Refused::new(message))
    }

    /// An input of another shape.
    pub(crate) fn invalid_input(message: String) -> Self {
        Self::InvalidInput(Refused::new(message))
    }

    /// Nothing has happened, for this reason.
    pub(crate) fn rejected(refused: Refused) -> Self {
        Self::Rejected { refused, waits_for: Vec::new(), because: Vec::new() }
    }

    /// The value that the operation goes on with, or that the model receives in the tool's place.
    #[must_use]
    pub const fn value(&self) -> Option<&Json> {
        match self {
            Self::Allow(Allowed { value, .. }) | Self::Route { value } | Self::Respond { value, .. } => {
                value.as_ref()
            }
            _ => None,
        }
    }

    /// The same, owned.
    #[must_use]
    pub fn into_value(self) -> Option<Json> {
        match self {
            Self::Allow(Allowed { value, .. }) | Self::Route { value } | Self::Respond { value, .. } => value,
            _ => None,
        }
    }

    /// What is kept of it once somebody has gone on with its value, which is on record or nowhere.
    pub(in crate::task) fn without_value(self) -> Self {
        match self {
            Self::Allow(_) => Self::allow(None),
            Self::Route { .. } => Self::Route { value: None },
            Self::Respond { message, .. } => Self::Respond { value: None, message },
            other => other,
        }
    }

    /// The same with this value, of the verdicts that have one.
    pub(in crate::task) fn with_value(self, value: Json) -> Self {
        let value = Some(value);
        match self {
            Self::Allow(allowed) => Self::Allow(Allowed { value, ..allowed }),
            Self::Route { .. } => Self::Route { value },
            Self::Respond { message, .. } => Self::Respond { value, message },
            other => other,
        }
    }

    pub(in crate::task) fn value_mut(&mut self) -> Option<&mut Json> {
        match self {
            Self::Allow(Allowed { value, .. }) | Self::Route { value } | Self::Respond { value, .. } => {
                value.as_mut()
            }
            _ => None,
        }
    }

    /// Why it does not go on, if it is refused and the task has not ended by it.
    #[must_use]
    pub const fn refused(&self) -> Option<&Refused> {
        match self {
            Self::Block(refused)
            | Self::Error(refused)
            | Self::InvalidInput(refused)
            | Self::LockTask(refused)
            | Self::Rejected { refused, .. }
            | Self::Discard { refused, .. } => Some(refused),
            _ => None,
        }
    }

    pub(in crate::task) fn refused_mut(&mut self) -> Option<&mut Refused> {
        match self {
            Self::Block(refused)
            | Self::Error(refused)
            | Self::InvalidInput(refused)
            | Self::LockTask(refused)
            | Self::Rejected { refused, .. }
            | Self::Discard { refused, .. } => Some(refused),
            _ => None,
        }
    }

    /// The text for the model if it is block or error, for the caller in all other cases but allow and route, which have none.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Respond { message, .. }
            | Self::Terminate { message, .. }
            | Self::Suspend { message, .. }
            | Self::Wait { message, .. } => Some(message),
            _ => self.refused().map(|refused| &*refused.message),
        }
    }

    /// The same with another message. What has none, as it goes on, is blocked with this one.
    #[must_use]
    pub fn with_message(self, message: String) -> Self {
        match self {
            Self::Allow(_) | Self::Route { .. } => Self::block(message),
            Self::Respond { value, .. } => Self::Respond { value, message },
            Self::Terminate { reason, limit, .. } => Self::Terminate { reason, message, limit },
            Self::Suspend { question, reviewer, .. } => Self::Suspend { question, reviewer, message },
            Self::Wait { waits_for, because, held_by, .. } => {
                Self::Wait { waits_for, because, held_by, message }
            }
            mut refused => {
                if let Some(refused) = refused.refused_mut() {
                    refused.message = message;
                }
                refused
            }
        }
    }

    /// The text for the user, where the step that stopped it has one.
    #[must_use]
    pub fn user_message(&self) -> Option<&str> {
        self.refused()?.user_message.as_deref()
    }

    /// Why the task is in its state, when it is locked or terminated, and why it was unlocked.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Allow(allowed) => allowed.reason.as_deref(),
            Self::Terminate { reason, .. } => Some(reason.as_str()),
            _ => self.refused()?.reason.as_deref(),
        }
    }

    /// The limit that was reached.
    #[must_use]
    pub fn limit(&self) -> Option<&LimitReached> {
        match self {
            Self::Terminate { limit, .. } => limit.as_ref(),
            _ => self.refused()?.limit.as_ref(),
        }
    }

    /// The switch by which an operator stopped it.
    #[must_use]
    pub fn switch(&self) -> Option<&Switch> {
        self.refused()?.switch.as_deref()
    }

    /// How far an event came that was discarded.
    #[must_use]
    pub const fn stage(&self) -> Option<EventStage> {
        match self {
            Self::Discard { stage, .. } => Some(*stage),
            _ => None,
        }
    }

    /// What the host has to do for a call that goes on.
    #[must_use]
    pub fn terms(&self) -> Option<&Terms> {
        match self {
            Self::Allow(allowed) => allowed.terms.as_deref(),
            _ => None,
        }
    }

    /// The values that a response exposes.
    #[must_use]
    pub const fn exposes(&self) -> Option<&Json> {
        match self {
            Self::Allow(allowed) => allowed.exposes.as_ref(),
            _ => None,
        }
    }

    /// The name of what it asks.
    #[must_use]
    pub const fn question(&self) -> Option<QuestionId> {
        match self {
            Self::Suspend { question, .. } => Some(*question),
            _ => None,
        }
    }

    /// Who is asked for a review.
    #[must_use]
    pub fn reviewer(&self) -> Option<&str> {
        match self {
            Self::Suspend { reviewer, .. } => reviewer.as_deref(),
            _ => None,
        }
    }

    /// The operations that it waits for.
    #[must_use]
    pub fn waits_for(&self) -> &[CallId] {
        match self {
            Self::Wait { waits_for, .. } | Self::Rejected { waits_for, .. } => waits_for,
            _ => &[],
        }
    }

    /// For operations that it waits for, the expressions that make it wait.
    #[must_use]
    pub fn because(&self) -> &[WaitReason] {
        match self {
            Self::Wait { because, .. } | Self::Rejected { because, .. } => because,
            _ => &[],
        }
    }

    /// The questions of the open reviews that it waits for.
    #[must_use]
    pub fn held_by(&self) -> &[QuestionId] {
        match self {
            Self::Wait { held_by, .. } => held_by,
            _ => &[],
        }
    }
}

impl Refused {
    /// A message and nothing else.
    pub(crate) fn new(message: String) -> Self {
        Self { message, ..Self::default() }
    }

    /// A message that is the reason, too.
    pub(crate) fn for_the_reason(message: String) -> Self {
        Self { reason: Some(message.clone()), ..Self::new(message) }
    }
}

impl VerdictKind {
    /// The word for wires and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Block => "block",
            Self::LockTask => "lock_task",
            Self::Suspend => "suspend",
            Self::Wait => "wait",
            Self::Respond => "respond",
            Self::Terminate => "terminate",
            Self::Rejected => "rejected",
            Self::InvalidInput => "invalid_input",
            Self::Error => "error",
            Self::Route => "route",
            Self::Discard => "discard",
        }
    }
}

impl fmt::Display for VerdictKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{Allowed, EventStage, LimitReached, QuestionId, Refused, TerminationReason, Verdict};
    use crate::cel::Json;
    use crate::task::Decision;
    use serde_json::{Value, json};

    /// Each verdict as JSON: flat beside the rest of its decision, under the word of its kind, and read as it was written.
    #[test]
    fn a_verdict_stands_flat_in_its_decision() {
        let refused = || Refused { user_message: Some("Ask the lead.".into()), ..Refused::new("No.".into()) };
        let limit =
            LimitReached { which: "max_turns".into(), bound: 5.into(), value: 6.into(), policy: None };
        let value = || Some(Json::from(&json!({ "amount": 5 })));
        let is_refused = json!({ "message": "No.", "user_message": "Ask the lead." });
        for (verdict, members) in [
            (
                Verdict::Allow(Allowed {
                    value: value(),
                    exposes: Some(Json::object([])),
                    ..Allowed::default()
                }),
                json!({ "value": { "amount": 5 }, "exposes": {} }),
            ),
            (Verdict::allow(None), json!({ "value": null })),
            (Verdict::Route { value: value() }, json!({ "value": { "amount": 5 } })),
            (
                Verdict::Respond { value: value(), message: "It is given.".into() },
                json!({ "value": { "amount": 5 }, "message": "It is given." }),
            ),
            (Verdict::Block(refused()), is_refused.clone()),
            (Verdict::Error(refused()), is_refused.clone()),
            (Verdict::InvalidInput(refused()), is_refused.clone()),
            (
                Verdict::LockTask(Refused::for_the_reason("Stop.".into())),
                json!({ "message": "Stop.", "reason": "Stop." }),
            ),
            (
                Verdict::Rejected { refused: refused(), waits_for: vec!["c1".into()], because: Vec::new() },
                json!({ "message": "No.", "user_message": "Ask the lead.", "waits_for": ["c1"] }),
            ),
            (
                Verdict::Discard { stage: EventStage::Filter, refused: refused() },
                json!({ "stage": "filter", "message": "No.", "user_message": "Ask the lead." }),
            ),
            (
                Verdict::Terminate {
                    reason: TerminationReason::LimitExceeded,
                    message: "6 of 5 turns".into(),
                    limit: Some(limit),
                },
                json!({
                    "reason": "limit_exceeded",
                    "message": "6 of 5 turns",
                    "limit": { "which": "max_turns", "bound": 5, "value": 6 }
                }),
            ),
            (
                Verdict::Suspend {
                    question: QuestionId(2),
                    reviewer: Some("lead".into()),
                    message: "Wait.".into(),
                },
                json!({ "question": 2, "reviewer": "lead", "message": "Wait." }),
            ),
            (
                Verdict::Wait {
                    waits_for: vec!["c1".into()],
                    because: Vec::new(),
                    held_by: vec![QuestionId(2)],
                    message: "Wait.".into(),
                },
                json!({ "waits_for": ["c1"], "held_by": [2], "message": "Wait." }),
            ),
        ] {
            let word = verdict.kind().as_str();
            let decision = Decision { cost: 3, ..Decision::new(verdict) };
            let written = serde_json::to_value(&decision).unwrap();
            let mut expected = json!({ "verdict": word, "trace": [], "findings": [], "cost": 3 });
            let (Value::Object(all), Value::Object(own)) = (&mut expected, members) else {
                panic!("objects")
            };
            all.extend(own);
            assert_eq!(written, expected);
            assert_eq!(serde_json::from_value::<Decision>(written).unwrap(), decision);
        }
    }
}
