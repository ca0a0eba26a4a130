//! What an operation ends in: one verdict with everything that explains it.
//!
//! A denial is a [`Decision`] like any other, never an error (MW-28). Texts in it are those of the manifest's author,
//! rendered, or fixed words of [`messages`](crate::task::messages); what went wrong inside an expression is told by code and
//! place, never by a value. All of it is plain data that goes over a wire.

use super::counter_use::CounterUse;
use super::effect::QuestionId;
use super::enforced::Enforced;
use super::hidden::Hidden;
use super::limit_reached::LimitReached;
use super::observed::ObservedStep;
use super::switch::Switch;
use super::termination::TerminationReason;
use super::terms::Terms;
use super::trace::{Finding, TraceEntry};
use super::verdict::{EventStage, Verdict};
use crate::cel::Json;
use crate::policy::Origin;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::Write as _;
use std::sync::Arc;

/// The answer to one operation.
///
/// ```
/// use celador::{Call, Decision, Engine, EngineLimits, StartTask, User, Verdict};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: Some("kim@example.com".into()), ..User::default() };
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
///
/// let call = Call::new("payout", serde_json::json!({"amount": 2_000}).into());
/// let decision = task.before(&call, now)?.outcome().into_decision();
/// assert_eq!(decision.verdict, Verdict::Block);
/// let rule = decision.decided_by.as_ref().expect("an assert has failed");
/// assert_eq!(rule.path, "capabilities.payout.before[0].assert");
///
/// // the form for wires, logs and stores
/// let text = serde_json::to_string(&decision)?;
/// assert_eq!(serde_json::from_str::<Decision>(&text)?, decision);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// Whether the step may go on, and otherwise why not.
    pub verdict: Verdict,
    /// The value to go on with: resolved arguments (`before`), the result for the model (`after`, `invoke`), the admitted input or
    /// the delivered response as an object with `message` (`input`, `output`, `event`), what is sent to the model or what it has answered
    /// (`model_before`, `model_after`), the result of an expression.
    pub value: Option<Json>,
    /// The text for the model when the verdict is [`Verdict::Block`] or [`Verdict::Error`] (MW-34); for the
    /// caller in all other cases but allow.
    pub message: Option<String>,
    /// The text for the user, where the step of a policy document that stopped it has a `user_message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_message: Option<String>,
    /// What reviewers have added to their answers, in the order in which they answered, for the model: with the call that they approved of and with
    /// its result, and with what they denied. Without the notes that a policy keeps private. The message of a call that was denied has its note too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How far an event came that was discarded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<EventStage>,
    /// Why the task is in its state, when it is locked or terminated: of a lock the rendered message of the step (MW-38,
    /// GR-14), of an end one of the words of [`TerminationReason`] (LIM-01). Of an
    /// unlocking why it was unlocked.
    pub reason: Option<String>,
    /// What it waits for, when the verdict is [`Verdict::Suspend`]: the name under which the answer is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionId>,
    /// Who is asked, when the verdict is [`Verdict::Suspend`] for a review (RV-01).
    pub reviewer: Option<String>,
    /// The limit that ended the task.
    pub limit: Option<LimitReached>,
    /// The switch by which an operator stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<Box<Switch>>,
    /// The call that was let through by `before`, for `after`; or that waits, for a review or for other calls. An input, an event or a
    /// response that waits has an id of the same kind.
    pub call: Option<CallId>,
    /// The calls that are open or under review and that it waits for, when the verdict is [`Verdict::Wait`]; inputs, events and responses
    /// that are ahead of it, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<CallId>,
    /// For operations of `waits_for`, the expressions that make it wait. Nothing of one that it waits for whatever the rules read, such as a call in review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<WaitReason>,
    /// The open reviews that it waits for, when the verdict is [`Verdict::Wait`]: their questions. A call that waits for reviews and for no open call has
    /// passed its steps so far, and runs once they are closed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_by: Vec<QuestionId>,
    /// The calls, inputs and events that waited and were decided because of it, in the order in which they were decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<DecidedCall>,
    /// The rule of the manifest that decided, unless nothing stood in the way.
    pub decided_by: Option<Origin>,
    /// The steps that were evaluated, in order (MW-50); skipped ones leave nothing (MW-24).
    pub trace: Vec<TraceEntry>,
    /// What the observed steps would have done that were evaluated, in order: nothing else of the decision follows from it. An operation
    /// that waits has them as far as it came, and its decision has them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<ObservedStep>,
    /// What would have come of it under an engine that stops things, where this one observes and the operation would not have gone on as it
    /// came. What observed steps would have made of values is not in it; it is in `observed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforced: Option<Box<Enforced>>,
    /// What its host has to do for the call, when it is let through and a policy asks for something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Box<Terms>>,
    /// The values that `exposes` adds to a response (EXP-01): an object.
    #[cfg_attr(feature = "schema", schemars(extend("type" = ["object", "null"])))]
    pub exposes: Option<Json>,
    /// Failures and ignored values on the way that did not decide by themselves.
    pub findings: Vec<Finding>,
    /// The counters across tasks that it has read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterUse>,
    /// The cost of the conditions, asserts and transforms of its steps, in cost units. One that asked and was evaluated
    /// again with the answer costs each time.
    pub cost: u64,
    /// The places in it that a manifest marks as secret. Views show `***` there, and so should whoever writes it down.
    ///
    /// [`Decision::masked`] makes such a view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Box<Hidden>>,
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

/// A call that has waited for other calls, or an input or event that has waited for calls or reviews, with its decision.
///
/// ```
/// use celador::{Call, CallResult, DecidedCall, Engine, Outcome, StartTask, User, Verdict};
/// # let manifests = r#"
/// # kind: commonagents.info/v1beta2/tool
/// # namespace: shop
/// # name: refund
/// # description: Pays money back.
/// # actions:
/// #   - name: pay
/// #     description: Pays.
/// #     parameters: {properties: {amount: {type: number}}}
/// #     execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
/// # ---
/// # kind: commonagents.info/v1beta2/agent
/// # namespace: shop
/// # name: clerk
/// # description: Answers customers.
/// # prompt: You are a careful clerk.
/// # capabilities:
/// #   refund:
/// #     before:
/// #       - assert: context.capabilities.refund.count_successful == 0
/// # "#;
/// # let engine = Engine::parse("shop.yaml", manifests)?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// // one refund a task, and the model asks for two at once
/// let call = Call::new("refund", serde_json::json!({"amount": 20}).into());
/// let Outcome::Allowed(first) = task.before(&call, now)?.outcome() else { panic!("nothing is paid yet") };
/// let Outcome::Queued(second) = task.before(&call, now)?.outcome() else { panic!("the first may pay") };
/// assert_eq!(second.waits_for, [first.call.clone()]);
///
/// // the first is reported, and with it the second is decided
/// let paid = CallResult::successful(serde_json::json!({"paid": true}).into());
/// let told = task.after(&first.call, paid, now)?.outcome().into_decision();
/// let [DecidedCall { call, decision, .. }] = &*told.decided else { panic!("one has waited") };
/// assert_eq!((call, decision.verdict), (&second.call, Verdict::Block));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecidedCall {
    /// Its name.
    pub call: CallId,
    /// The kind of operation; absent for a call.
    #[serde(default, skip_serializing_if = "DecidedKind::is_call")]
    pub kind: DecidedKind,
    /// The function of a call; empty and absent for all else.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// How far it came: to its decision, or to a question.
    pub decision: Decision,
}

/// The kinds of operations that can wait.
///
/// ```
/// use celador::{Call, DecidedKind, Engine, EngineLimits, Json, Outcome, Answer, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// // while the lead looks at a payout, the user says something
/// let call = Call::new("payout", serde_json::json!({"amount": 250}).into());
/// let Outcome::Waits(review) = task.before(&call, now)?.outcome() else { panic!("250 needs a review") };
/// let Outcome::Queued(said) = task.input(&Json::string("Is it paid?"), now).outcome() else { panic!("a review is open") };
///
/// // the input is judged when the lead has answered, and the decision on the answer tells of it
/// let told = task.answer(review.question, Answer::deny(), now)?.outcome().into_decision();
/// let decided = &told.decided[0];
/// assert_eq!((decided.kind, &decided.call), (DecidedKind::Input, &said.call));
/// assert_eq!(decided.decision.text().as_deref(), Some("Is it paid?"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DecidedKind {
    /// A call by the model.
    #[default]
    Call,
    /// An input.
    Input,
    /// An event of a tool.
    Event,
    /// A response of the model.
    Output,
    /// A call of the model.
    Model,
}

impl DecidedKind {
    /// The word for wires and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Input => "input",
            Self::Event => "event",
            Self::Output => "output",
            Self::Model => "model",
        }
    }

    /// Whether it is a call.
    #[must_use]
    pub fn is_call(&self) -> bool {
        *self == Self::Call
    }
}

/// The id of a call: a text that is unique in its task. It is that of whoever makes the call ([`Call::id`](super::Call)), such as the
/// id that the model gave it; of a call that has none the task makes one up: `1`, `2`, and so on. An input,
/// an event or a response that waits gets one, too, such as `input-3`.
///
/// A clone shares the text. In JSON it is a text.
///
/// ```
/// use celador::{Call, CallId, CallResult, Engine, EngineLimits, Json, Outcome, StartTask, User};
/// use std::collections::BTreeMap;
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
///
/// // the model wants several calls at once; the host knows each by its id while it runs
/// let mut running: BTreeMap<CallId, i64> = BTreeMap::new();
/// for (id, amount) in [("toolu_1", 40), ("toolu_2", 60)] {
///     let call = Call::new("payout", serde_json::json!({"amount": amount}).into()).with_id(id);
///     let Outcome::Allowed(allowed) = task.before(&call, now)?.outcome() else { panic!("it is little") };
///     assert_eq!(allowed.call.as_str(), id);
///     running.insert(allowed.call, amount);
/// }
///
/// // they come back in any order, which is that of their records
/// for (id, amount) in running.into_iter().rev() {
///     let result = CallResult::successful(serde_json::json!({"paid": amount}).into());
///     assert!(task.after(&id, result, now)?.outcome().is_allowed());
/// }
/// let paid: Vec<_> = task.context().invocations().filter_map(|record| record.output.as_ref().map(Json::to_string)).collect();
/// assert_eq!(paid, [r#"{"paid":60}"#, r#"{"paid":40}"#]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct CallId(#[cfg_attr(feature = "schema", schemars(with = "String", length(min = 1)))] Arc<str>);

impl CallId {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id that a task makes up for its operation of this number, if it is no call: `input-3`.
    pub(in crate::task) fn of_kind(kind: DecidedKind, number: u64) -> Self {
        match kind {
            DecidedKind::Call => Self::numbered(number),
            kind => format!("{}-{number}", kind.as_str()).into(),
        }
    }

    /// The id that a task makes up for its call of this number.
    fn numbered(number: u64) -> Self {
        let mut digits = [0; 20];
        let mut text: &mut [u8] = &mut digits;
        // 20 digits hold every number
        let _ = write!(text, "{number}");
        let rest = text.len();
        let written = digits.split_at(digits.len().saturating_sub(rest)).0;
        Self(std::str::from_utf8(written).unwrap_or_default().into())
    }

    /// Whether a call may have this id: a text of at most so many bytes, with no control characters in it.
    pub(in crate::task) fn is_sound(&self, most: usize) -> bool {
        !self.0.is_empty() && self.0.len() <= most && !self.0.contains(char::is_control)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for CallId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for CallId {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl Decision {
    /// What has decided, in a word: the name of a step of a policy, the path of one of a manifest, or a limit. Nothing if nothing stood in the way.
    #[must_use]
    pub fn decided_by_name(&self) -> Option<String> {
        let step = self.decided_by.as_ref().map(Origin::name);
        step.or_else(|| self.limit.as_ref().map(|limit| limit.which.to_string()))
    }

    /// A decision with nothing but its verdict.
    pub(crate) fn new(verdict: Verdict) -> Self {
        Self {
            verdict,
            value: None,
            message: None,
            user_message: None,
            notes: Vec::new(),
            stage: None,
            reason: None,
            question: None,
            reviewer: None,
            limit: None,
            switch: None,
            call: None,
            waits_for: Vec::new(),
            because: Vec::new(),
            held_by: Vec::new(),
            decided: Vec::new(),
            decided_by: None,
            trace: Vec::new(),
            observed: Vec::new(),
            enforced: None,
            terms: None,
            exposes: None,
            findings: Vec::new(),
            counters: Vec::new(),
            cost: 0,
            secret: None,
        }
    }

    /// The decision of an operation that asks: its verdict and nothing else. It is for callers that have the question alone.
    #[must_use]
    pub fn suspended() -> Self {
        Self::new(Verdict::Suspend)
    }

    /// Not now, and why; nothing has happened.
    pub(in crate::task) fn turned_away(why: String) -> Self {
        Self { reason: Some(why.clone()), message: Some(why), ..Self::new(Verdict::Rejected) }
    }

    /// Whether the operation goes on.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        matches!(self.verdict, Verdict::Allow | Verdict::Route)
    }

    /// Why the task was terminated by it: nothing of any other decision.
    #[must_use]
    pub fn termination(&self) -> Option<TerminationReason> {
        let reason = self.reason.as_deref().filter(|_| self.verdict == Verdict::Terminate);
        TerminationReason::parse(reason?)
    }

    /// The text of the admitted or delivered message: that of its parts, one after the other. Nothing if the value is
    /// no message.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let message = self.value.as_ref()?.root().get("message")?;
        Some(message.items().filter_map(|part| part.get("text")?.as_str()).collect())
    }
}
