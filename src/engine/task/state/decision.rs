//! What an operation ends in: one verdict with everything that explains it.
//!
//! A denial is a [`Decision`] like any other, never an error (MW-28). Texts in it are those of the manifest's author,
//! rendered, or fixed words of [`messages`](crate::task::messages); what went wrong inside an expression is told by code and
//! place, never by a value. All of it is plain data that goes over a wire.

use super::call_id::{CallId, DecidedKind};
use super::counter_use::CounterUse;
use super::enforced::Enforced;
use super::hidden::Hidden;
use super::observed::ObservedStep;
use super::termination::TerminationReason;
use super::trace::{Finding, TraceEntry};
use super::verdict::{EventStage, Refused, Verdict};
use crate::cel::Json;
use crate::policy::Origin;
use serde::{Deserialize, Serialize};

/// The answer to one operation.
///
/// ```
/// use celador::{Call, Decision, Engine, EngineLimits, StartTask, User, VerdictKind};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: Some("kim@example.com".into()), ..User::default() };
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
///
/// let call = Call::new("payout", serde_json::json!({"amount": 2_000}).into());
/// let decision = task.before(&call, now)?.outcome().into_decision();
/// assert_eq!(decision.verdict.kind(), VerdictKind::Block);
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
    /// Whether the step may go on, with its value, and otherwise why not.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The call that was let through by `before`, for `after`; or that waits, for a review or for other calls. An input, an event or a
    /// response that waits has an id of the same kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// What reviewers have added to their answers, in the order in which they answered, for the model: with the call that they approved of and with
    /// its result, and with what they denied. Without the notes that a policy keeps private. The message of a call that was denied has its note too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The calls, inputs and events that waited and were decided because of it, in the order in which they were decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<DecidedCall>,
    /// The rule of the manifest that decided, unless nothing stood in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// A call that has waited for other calls, or an input or event that has waited for calls or reviews, with its decision.
///
/// ```
/// use celador::{Call, CallResult, DecidedCall, Engine, Outcome, StartTask, User, VerdictKind};
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
/// assert_eq!((call, decision.verdict.kind()), (&second.call, VerdictKind::Block));
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

impl Decision {
    /// What has decided, in a word: the name of a step of a policy, the path of one of a manifest, or a limit. Nothing if nothing stood in the way.
    #[must_use]
    pub fn decided_by_name(&self) -> Option<String> {
        let step = self.decided_by.as_ref().map(Origin::name);
        step.or_else(|| self.verdict.limit().map(|limit| limit.which.to_string()))
    }

    /// A decision with nothing but its verdict.
    pub(crate) fn new(verdict: Verdict) -> Self {
        Self {
            verdict,
            call: None,
            notes: Vec::new(),
            decided: Vec::new(),
            decided_by: None,
            trace: Vec::new(),
            observed: Vec::new(),
            enforced: None,
            findings: Vec::new(),
            counters: Vec::new(),
            cost: 0,
            secret: None,
        }
    }

    /// Nothing has happened; the message is the reason.
    pub(in crate::task) fn turned_away(why: String) -> Self {
        Self::new(Verdict::rejected(Refused::for_the_reason(why)))
    }

    /// The same for an event, which is dropped: it has not passed this check.
    pub(in crate::task) fn discarded(self, stage: EventStage) -> Self {
        let refused = match self.verdict {
            Verdict::Terminate { reason, message, limit } => {
                Refused { reason: Some(reason.as_str().to_owned()), limit, ..Refused::new(message) }
            }
            other => other.refused().cloned().unwrap_or_default(),
        };
        Self { verdict: Verdict::Discard { stage, refused }, ..self }
    }

    /// The same with a value that was kept elsewhere. A verdict that goes on with none has none.
    pub(in crate::task) fn with_value(self, value: Json) -> Self {
        Self { verdict: self.verdict.with_value(value), ..self }
    }

    /// Whether the operation goes on.
    #[must_use]
    pub const fn is_allowed(&self) -> bool {
        matches!(self.verdict, Verdict::Allow(_) | Verdict::Route { .. })
    }

    /// Why the task was terminated by it: nothing of any other decision.
    #[must_use]
    pub const fn termination(&self) -> Option<TerminationReason> {
        match &self.verdict {
            Verdict::Terminate { reason, .. } => Some(*reason),
            _ => None,
        }
    }

    /// The text of the admitted or delivered message: that of its parts, one after the other. Nothing if the value is
    /// no message.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let message = self.verdict.value()?.root().get("message")?;
        Some(message.items().filter_map(|part| part.get("text")?.as_str()).collect())
    }
}
