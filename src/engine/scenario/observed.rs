//! The outcome of an operation, in the words of a case.
//!
//! In: a decision, a value, or the issues of a text. Out: the aspects that are compared with the expectations of the case.

use super::case::Aspect;
use super::expect::Found;
use crate::cel::{Issue, Json};
use crate::task::{Decision, EventStage};

/// A decision, aspect by aspect.
pub(super) fn decided(decision: Decision) -> Found {
    let trace = decision.trace.iter();
    let mut found = Found {
        trace: trace.map(|entry| (entry.called(), entry.outcome.as_str().to_owned())).collect(),
        value: decision.value,
        exposes: decision.exposes,
        decided_by: decision.decided_by,
        findings: decision.findings,
        ..Found::default()
    };
    found.set(Aspect::Decision, Some(decision.verdict.as_str()));
    found.set(Aspect::Message, decision.message);
    found.set(Aspect::Stage, decision.stage.map(EventStage::as_str));
    found.set(Aspect::Reason, decision.reason);
    found.set(Aspect::Reviewer, decision.reviewer);
    found.set(Aspect::Limit, decision.limit.map(|limit| limit.which));
    found
}

/// The value of an expression or a template.
pub(super) fn value(value: Option<Json>) -> Found {
    let mut found = Found { value, ..Found::default() };
    found.set(Aspect::Decision, Some("value"));
    found
}

/// An expression that is not valid where it would stand.
pub(super) fn rejected(issues: &[Issue]) -> Found {
    let message = issues.iter().map(|issue| issue.message.as_str()).collect::<Vec<_>>();
    failed("reject", Some(message.join("; ")))
}

/// Something that gave no value, with the words for it.
pub(super) fn failed(decision: &str, message: Option<impl Into<String>>) -> Found {
    let mut found = Found::default();
    found.set(Aspect::Decision, Some(decision));
    found.set(Aspect::Message, message);
    found
}
