//! The outcome of an operation, in the words of a case.
//!
//! In: a decision, a value, or the issues of a text. Out: the aspects that are compared with the expectations of the case.

use super::case::{Aspect, Check, Want};
use super::expect::Found;
use super::expect_labels::FoundLabels;
use super::{expect_observed, expect_terms};
use crate::cel::{Issue, Json, Timestamp};
use crate::context::Scope;
use crate::counter::{CounterBook, Decimal};
use crate::task::{Decision, EventStage, Task, Trial, Tried};

/// A decision, aspect by aspect.
pub(super) fn decided(decision: Decision) -> Found {
    let trace = decision.trace.iter();
    let mut found = Found {
        trace: trace.map(|entry| (entry.called(), entry.outcome.as_str().to_owned())).collect(),
        observed: expect_observed::found(&decision.observed),
        terms: expect_terms::found(decision.verdict.terms()),
        labels: FoundLabels::of(&decision),
        value: decision.verdict.value().cloned(),
        exposes: decision.verdict.exposes().cloned(),
        decided_by: decision.decided_by,
        findings: decision.findings,
        waits_for: decision.verdict.waits_for().iter().map(ToString::to_string).collect(),
        asks: decision.verdict.question(),
        notes: decision.notes,
        ..Found::default()
    };
    found.set(Aspect::Decision, Some(decision.verdict.kind().as_str()));
    found.set(Aspect::Message, decision.verdict.message().map(str::to_owned));
    found.set(Aspect::UserMessage, decision.verdict.user_message().map(str::to_owned));
    found.set(Aspect::Stage, decision.verdict.stage().map(EventStage::as_str));
    found.set(Aspect::Reason, decision.verdict.reason().map(str::to_owned));
    found.set(Aspect::Reviewer, decision.verdict.reviewer().map(str::to_owned));
    if let Some(enforced) = decision.enforced {
        found.set(Aspect::Enforced, Some(enforced.verdict.as_str()));
        found.set(Aspect::EnforcedMessage, enforced.message);
    }
    found.set(Aspect::Limit, decision.verdict.limit().map(|limit| limit.which.clone()));
    found
}

/// The counters that checks look at, each with what a book holds of it.
pub(super) fn counted(
    checks: &[Check],
    task: &Task,
    book: &CounterBook,
    now: Timestamp,
) -> Vec<(String, Option<Decimal>)> {
    let wanted = checks.iter().filter_map(|check| match &check.want {
        Want::Counter(counted) => Some(counted),
        _ => None,
    });
    wanted.map(|counted| (counted.called(), counted.found(task, book, now))).collect()
}

/// The same of a decision about a message, whose value is its text.
pub(super) fn decided_message(decision: Decision) -> Found {
    let text = decision.text().map(|text| Json::string(&text));
    let found = decided(decision);
    Found { value: text, labels: found.labels.of_message(), ..found }
}

/// The value of an expression over the context of a task, or why there is none.
pub(super) fn of_context(task: &Task, expression: &str, now: Timestamp) -> Result<Json, String> {
    // the scope of prompts has `context` and `now`, and nothing of an operation
    match task.evaluate(&Trial::new(Scope::Prompt, expression), &[], now) {
        Ok(Tried::Value(value)) => Ok(value),
        Ok(Tried::Failed(error)) => Err(error.to_string()),
        Ok(Tried::Asks(_)) => Err("it asks".to_owned()),
        Err(issues) => Err(issues.first().map(|issue| issue.message.clone()).unwrap_or_default()),
    }
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
