//! What one line says of exceptions: those that let something pass which the rule alone would have stopped.
//!
//! In: the trace of a decision. Out: the rule, and of its exception where it stands, until when it holds and why there is one, in the words of its
//! author; no value of the task.

use celador::manifest::policy_step::PolicyStep;
use celador::task::{Decision, TraceEntry, VerdictKind};
use serde::{Serialize, Serializer};

/// The steps of a decision that a line tells of. An operation that waits is told of when it is decided, so that each step stands in one line.
pub(super) fn of_decision(decision: &Decision) -> &[TraceEntry] {
    match decision.verdict.kind() {
        VerdictKind::Suspend | VerdictKind::Wait => &[],
        _ => &decision.trace,
    }
}

/// Whether a line has no word of them.
pub(super) fn is_empty(trace: &[TraceEntry]) -> bool {
    trace.iter().all(|entry| entry.exception.is_none())
}

/// Those that passed by an exception.
pub(super) fn in_short<S: Serializer>(trace: &[TraceEntry], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Line<'e> {
        #[serde(rename = "policy", skip_serializing_if = "Option::is_none")]
        policy_step: Option<&'e PolicyStep>,
        path: &'e str,
        until: &'e str,
        reason: &'e str,
    }
    serializer.collect_seq(trace.iter().filter_map(|entry| {
        let exception = entry.exception.as_deref()?;
        Some(Line {
            policy_step: entry.policy.as_deref(),
            path: &exception.path,
            until: &exception.until,
            reason: &exception.reason,
        })
    }))
}
