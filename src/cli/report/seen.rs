//! One decision as a log or a store has it, and the parts of it that a report counts.
//!
//! In: a line of a decision log, or an event of a task. Out: the function, the time, and each step, limit or schema that stopped the
//! operation or would have. No text and no value of a task comes along.

use celador::manifest::policy_step::{Labels, PolicyStep, Severity};
use celador::task::{DecidedCall, Decision, LimitReached, TraceEntry, VerdictKind};
use celador::{Enforced, ObservedStep};
use celador_store::StoredEvent;
use celador_store::decision_log::Notice;
use serde::Deserialize;
use std::iter::once;

/// A line of a log, as far as a report reads it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Line {
    #[serde(default)]
    at: String,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    replayed: bool,
    #[serde(default)]
    subject: String,
    #[serde(default)]
    count: u64,
    #[serde(flatten)]
    told: Told,
    #[serde(default)]
    decided: Vec<Told>,
}

/// What is told of one operation.
#[derive(Debug, Default, Deserialize)]
struct Told {
    #[serde(default)]
    function: Option<String>,
    #[serde(default)]
    verdict: Option<String>,
    #[serde(default)]
    step: Option<String>,
    #[serde(default)]
    policy: Option<PolicyStep>,
    #[serde(default)]
    limit: Option<String>,
    #[serde(default)]
    observed: Vec<Tried>,
    #[serde(default)]
    exceptions: Vec<Excepted>,
    #[serde(default)]
    enforced: Option<Tried>,
}

/// What would have come of it.
#[derive(Debug, Default, Deserialize)]
struct Tried {
    #[serde(default)]
    verdict: Option<VerdictKind>,
    #[serde(default)]
    step: Option<String>,
    #[serde(default)]
    policy: Option<PolicyStep>,
    #[serde(default)]
    limit: Option<String>,
}

/// An operation, and what stopped it or would have.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) at: String,
    pub(super) function: String,
    /// Whether a call is made, and not reported.
    pub(super) is_call: bool,
    pub(super) stops: Vec<Stop>,
    pub(super) exceptions: Vec<Excepted>,
}

/// One thing that stopped an operation, or would have stopped or changed it.
#[derive(Debug)]
pub(super) struct Stop {
    pub(super) observed: bool,
    /// The verdict; `change` where the operation would have gone on otherwise than it came.
    pub(super) verdict: String,
    /// The step, the limit, or what else it was.
    pub(super) by: String,
    /// How grave it is, if it is a step of a policy that says so.
    pub(super) severity: Option<Severity>,
    /// The labels of that step.
    pub(super) labels: Labels,
}

/// Something that passed by an exception.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Excepted {
    #[serde(default)]
    policy: Option<PolicyStep>,
    #[serde(default)]
    pub(super) path: String,
    #[serde(default)]
    pub(super) until: String,
    #[serde(default)]
    pub(super) reason: String,
}

impl Excepted {
    /// The rule.
    pub(super) fn rule(&self) -> String {
        self.policy.as_ref().map(ToString::to_string).unwrap_or_default()
    }
}

/// The verdicts with which an operation goes on.
const GOES_ON: [&str; 5] = ["allow", "route", "asks", "wait", "suspend"];

impl Line {
    /// An event of a task as its line would be; nothing of one that was no decision.
    pub(super) fn of_event(event: &StoredEvent) -> Option<Self> {
        let decision: Decision = serde_json::from_str(event.decision.as_deref()?).ok()?;
        let told = Told { function: function_of(&event.change), ..Told::of(&decision) };
        let decided = decision.decided.iter().map(|DecidedCall { function, decision, .. }| Told {
            function: Some(function.clone()).filter(|it| !it.is_empty()),
            ..Told::of(decision)
        });
        let operation = event.operation.as_str().to_owned();
        Some(Self { at: event.at.clone(), operation, told, decided: decided.collect(), ..Self::default() })
    }

    /// The form of messages that were forwarded unjudged, with when and how many; nothing of a line about anything else.
    pub(super) fn unjudged(&self) -> Option<(&str, &str, u64)> {
        (self.operation == Notice::UNJUDGED).then_some((&self.subject, &self.at, self.count))
    }

    /// The operations that it tells of. An answer that was given once more is none.
    pub(super) fn seen(self) -> impl Iterator<Item = Seen> {
        let Self { at, operation, replayed, told, decided, .. } = self;
        let is_call = !matches!(&*operation, "after" | "results" | "withdraw" | "claim" | "release");
        let all = once(told).chain(decided).filter(move |_| !replayed);
        all.map(move |mut told| Seen {
            at: at.clone(),
            function: told.function.clone().unwrap_or_default(),
            is_call,
            exceptions: std::mem::take(&mut told.exceptions),
            stops: told.stops(),
        })
    }
}

/// The function of a call that an event has opened or put on record.
fn function_of(change: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Change {
        #[serde(default)]
        opened: Vec<Called>,
        #[serde(default)]
        context: Context,
    }
    #[derive(Default, Deserialize)]
    struct Context {
        /// Behind how many, and which.
        #[serde(default)]
        invocations: Option<(u64, Vec<Called>)>,
    }
    #[derive(Deserialize)]
    struct Called {
        function: String,
    }
    let Change { opened, context } = serde_json::from_str(change).ok()?;
    let recorded = context.invocations.into_iter().flat_map(|(_, recorded)| recorded);
    opened.into_iter().chain(recorded).next().map(|called| called.function)
}

impl Told {
    fn of(decision: &Decision) -> Self {
        let tried = |observed: &ObservedStep| Tried {
            verdict: observed.verdict,
            step: Some(observed.origin.path.clone()),
            policy: observed.origin.policy.as_deref().cloned(),
            limit: None,
        };
        let enforced = |Enforced { verdict, limit, decided_by, .. }: &Enforced| Tried {
            verdict: Some(*verdict),
            step: decided_by.as_ref().map(|origin| origin.path.clone()),
            policy: decided_by.as_ref().and_then(|origin| origin.policy.as_deref().cloned()),
            limit: limit.as_ref().map(|LimitReached { which, .. }| which.to_string()),
        };
        let origin = decision.decided_by.as_ref();
        Self {
            function: None,
            verdict: Some(decision.verdict.kind().as_str().to_owned()),
            step: origin.map(|origin| origin.path.clone()),
            policy: origin.and_then(|origin| origin.policy.as_deref().cloned()),
            limit: decision.verdict.limit().map(|limit| limit.which.to_string()),
            observed: decision.observed.iter().filter(|it| it.would_change()).map(tried).collect(),
            exceptions: exceptions_of(decision),
            enforced: decision.enforced.as_deref().map(enforced),
        }
    }

    fn stops(self) -> Vec<Stop> {
        let Self { verdict, step, policy, limit, observed, enforced, .. } = self;
        let own = verdict.filter(|verdict| !GOES_ON.contains(&&**verdict)).map(|verdict| Stop {
            observed: false,
            by: called(policy.as_ref(), step.as_deref(), limit.as_deref(), &verdict),
            severity: policy.as_ref().and_then(|policy| policy.severity),
            labels: policy.map(|policy| policy.labels).unwrap_or_default(),
            verdict,
        });
        // a step stands among those that were observed
        let whole = enforced.filter(|enforced| enforced.step.is_none());
        own.into_iter().chain(observed.into_iter().chain(whole).map(Tried::stop)).collect()
    }
}

impl Tried {
    fn stop(self) -> Stop {
        let verdict = self.verdict.map_or("change", VerdictKind::as_str).to_owned();
        let by = called(self.policy.as_ref(), self.step.as_deref(), self.limit.as_deref(), &verdict);
        let severity = self.policy.as_ref().and_then(|policy| policy.severity);
        let labels = self.policy.map(|policy| policy.labels).unwrap_or_default();
        Stop { observed: true, verdict, by, severity, labels }
    }
}

/// The exceptions by which something passed. An operation that waits is counted when it is decided.
fn exceptions_of(decision: &Decision) -> Vec<Excepted> {
    if matches!(decision.verdict.kind(), VerdictKind::Suspend | VerdictKind::Wait) {
        return Vec::new();
    }
    let excepted = |entry: &TraceEntry| {
        let exception = entry.exception.as_deref()?;
        Some(Excepted {
            policy: entry.policy.as_deref().cloned(),
            path: exception.path.clone(),
            until: exception.until.clone(),
            reason: exception.reason.clone(),
        })
    };
    decision.trace.iter().filter_map(excepted).collect()
}

/// What is blamed, in a word: the name of a step of a policy, the place of a step of a manifest, a limit, or that no step was asked.
fn called(policy: Option<&PolicyStep>, step: Option<&str>, limit: Option<&str>, verdict: &str) -> String {
    match (policy, limit, step) {
        (Some(policy), _, Some(step)) => policy.at(step),
        (Some(policy), _, None) if policy.id.is_some() => policy.to_string(),
        (_, Some(limit), _) => limit.to_owned(),
        (_, _, Some(step)) => step.to_owned(),
        (Some(policy), _, None) => policy.to_string(),
        (None, None, None) => match verdict {
            "error" => "the call cannot be formed, or there is no such function".to_owned(),
            "invalid_input" => "the input does not fit".to_owned(),
            _ => "-".to_owned(),
        },
    }
}
