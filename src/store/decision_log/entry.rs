//! What one line says of a decision.
//!
//! In: the facts of one operation. Out: the members of a JSON object, in the order of the fields; what is not there is
//! left out. Nothing here is content of the task but `content` itself, which is empty unless the operator asked for it.

use super::{enforced, exceptions, observed, terms};
use celador::cel::Timestamp;
use celador::manifest::policy_step::PolicyStep;
use celador::policy::Fingerprint;
use celador::task::{
    CallId, DecidedCall, DecidedKind, Decision, LimitReached, Switch, TerminationReason, TraceEntry,
};
use celador::{Enforced, ObservedStep, Terms};
use serde::{Serialize, Serializer};
use std::fmt;
use std::time::Duration;

/// One decision.
///
/// ```
/// use celador::{Call, Engine, EngineLimits, StartTask, User};
/// use celador_store::decision_log::LogEntry;
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
///
/// let call = Call::new("payout", serde_json::json!({"amount": 2_000}).into());
/// let decision = task.before(&call, now)?.outcome().into_decision();
/// let entry = LogEntry {
///     at: now,
///     who: Some("desk"),
///     task: "t-1",
///     stored: None,
///     namespace: "shop",
///     agent: "clerk",
///     policy: task.policy().fingerprint(),
///     operation: "before",
///     function: Some("payout"),
///     verdict: "",
///     step: None,
///     policy_step: None,
///     limit: None,
///     ended: None,
///     switch: None,
///     reason: None,
///     decided: &[],
///     observed: &[],
///     exceptions: &[],
///     enforced: None,
///     terms: None,
///     cost: 0,
///     took: std::time::Duration::from_micros(30),
///     content: None,
/// }
/// .of(&decision);
/// assert_eq!((entry.verdict, entry.step), ("block", Some("capabilities.payout.before[0].assert")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct LogEntry<'e> {
    /// When it was made.
    #[serde(serialize_with = "text")]
    pub at: Timestamp,
    /// The caller's identity, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<&'e str>,
    /// The task.
    pub task: &'e str,
    /// Where a store has the decision, if one has.
    #[serde(flatten)]
    pub stored: Option<Stored<'e>>,
    /// The namespace of its agent.
    pub namespace: &'e str,
    /// Its agent.
    pub agent: &'e str,
    /// The fingerprint of the policy that decided, which a line calls `manifest`: 64 hexadecimal digits. It is no digest of
    /// files: comments and layout do not change it.
    #[serde(rename = "manifest", serialize_with = "text")]
    pub policy: Fingerprint,
    /// The operation: `input`, `before`, `output` …
    pub operation: &'e str,
    /// The function, if it is about a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<&'e str>,
    /// The verdict, or `asks` for an operation that waits.
    pub verdict: &'e str,
    /// The place of the rule that decided, such as `tools[0].middleware.before[1]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<&'e str>,
    /// The name of that rule, where it is a step of a policy document.
    #[serde(rename = "policy", skip_serializing_if = "Option::is_none")]
    pub policy_step: Option<&'e PolicyStep>,
    /// The limit that was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<&'e str>,
    /// The kind of reason for which the task was terminated by it, such as `limit_exceeded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<TerminationReason>,
    /// The switch of an operator that decided, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<&'e Switch>,
    /// Why the host ended the task, in its words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'e str>,
    /// The calls, inputs and events that had waited for it and were decided with it.
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "in_short")]
    pub decided: &'e [DecidedCall],
    /// What observed steps of policy documents would have done that would have made another decision of it, without its content.
    #[serde(skip_serializing_if = "observed::is_empty", serialize_with = "observed::in_short")]
    pub observed: &'e [ObservedStep],
    /// The steps that let something pass by an exception, of those that were evaluated.
    #[serde(skip_serializing_if = "exceptions::is_empty", serialize_with = "exceptions::in_short")]
    pub exceptions: &'e [TraceEntry],
    /// What would have come of it under a server that stops things, where this one only observes.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "enforced::in_short")]
    pub enforced: Option<&'e Enforced>,
    /// What the host has to do for the call, without its content.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "terms::in_short")]
    pub terms: Option<&'e Terms>,
    /// The cost of its expressions, in cost units.
    pub cost: u64,
    /// How long it took, in nanoseconds.
    #[serde(rename = "nanos", serialize_with = "nanoseconds")]
    pub took: Duration,
    /// The content of request and answer, only if the operator wants it in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<&'e serde_json::Value>,
}

/// The place of a decision in a store, by which its line in the log is compared with it.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Stored<'e> {
    /// The owner of the task, as the store names it; empty without an owner.
    pub owner: &'e str,
    /// The number of the event in its task, from 1.
    pub version: u64,
    /// The digest of the event, which chains to all of the task before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<&'e str>,
}

impl<'e> LogEntry<'e> {
    /// The entry with the facts of a decision: verdict, step, limit, cost.
    #[must_use]
    pub fn of(self, decision: &'e Decision) -> Self {
        Self {
            verdict: decision.verdict.kind().as_str(),
            step: decision.decided_by.as_ref().map(|origin| &*origin.path),
            policy_step: decision.decided_by.as_ref().and_then(|origin| origin.policy.as_deref()),
            limit: decision.verdict.limit().map(|LimitReached { which, .. }| &**which),
            ended: decision.termination(),
            switch: decision.verdict.switch(),
            decided: &decision.decided,
            observed: observed::of_decision(decision),
            exceptions: exceptions::of_decision(decision),
            enforced: decision.enforced.as_deref(),
            terms: decision.verdict.terms(),
            cost: decision.cost,
            ..self
        }
    }
}

pub(super) fn text<S: Serializer>(shown: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(shown)
}

/// What was decided, without its content.
fn in_short<S: Serializer>(calls: &[DecidedCall], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Line<'e> {
        call: &'e CallId,
        #[serde(skip_serializing_if = "DecidedKind::is_call")]
        kind: DecidedKind,
        #[serde(skip_serializing_if = "str::is_empty")]
        function: &'e str,
        verdict: &'e str,
        #[serde(skip_serializing_if = "Option::is_none")]
        step: Option<&'e str>,
        #[serde(rename = "policy", skip_serializing_if = "Option::is_none")]
        policy_step: Option<&'e PolicyStep>,
        #[serde(skip_serializing_if = "observed::is_empty", serialize_with = "observed::in_short")]
        observed: &'e [ObservedStep],
        #[serde(skip_serializing_if = "exceptions::is_empty", serialize_with = "exceptions::in_short")]
        exceptions: &'e [TraceEntry],
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "enforced::in_short")]
        enforced: Option<&'e Enforced>,
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "terms::in_short")]
        terms: Option<&'e Terms>,
        cost: u64,
    }
    serializer.collect_seq(calls.iter().map(|DecidedCall { call, kind, function, decision }| Line {
        call,
        kind: *kind,
        function,
        verdict: decision.verdict.kind().as_str(),
        step: decision.decided_by.as_ref().map(|origin| &*origin.path),
        policy_step: decision.decided_by.as_ref().and_then(|origin| origin.policy.as_deref()),
        observed: observed::of_decision(decision),
        exceptions: exceptions::of_decision(decision),
        enforced: decision.enforced.as_deref(),
        terms: decision.verdict.terms(),
        cost: decision.cost,
    }))
}

fn nanoseconds<S: Serializer>(took: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX))
}
