//! What one line says of observed steps: those that would have made another decision of it.
//!
//! In: the observed steps of a decision. Out: step, name, outcome, verdict and codes of errors; no text and no value of the task.
//! With the function of the line that is enough to tell which calls a policy would have stopped before anybody enforces it.

use celador::ObservedStep;
use celador::manifest::policy_step::PolicyStep;
use celador::task::{Decision, StepOutcome, VerdictKind};
use serde::{Serialize, Serializer};

/// The observed steps of a decision that a line tells of. An operation that waits is told of when it is decided, so that each
/// step stands in one line.
pub(super) fn of_decision(decision: &Decision) -> &[ObservedStep] {
    match decision.verdict.kind() {
        VerdictKind::Suspend | VerdictKind::Wait => &[],
        _ => &decision.observed,
    }
}

/// Whether a line has no word of them.
pub(super) fn is_empty(observed: &[ObservedStep]) -> bool {
    !observed.iter().any(ObservedStep::would_change)
}

/// Those that would have made another decision.
pub(super) fn in_short<S: Serializer>(observed: &[ObservedStep], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Line<'e> {
        step: &'e str,
        #[serde(rename = "policy", skip_serializing_if = "Option::is_none")]
        policy_step: Option<&'e PolicyStep>,
        outcome: StepOutcome,
        #[serde(skip_serializing_if = "Option::is_none")]
        verdict: Option<VerdictKind>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        errors: Vec<&'e str>,
    }
    let observed = observed.iter().filter(|observed| observed.would_change());
    serializer.collect_seq(observed.map(|ObservedStep { outcome, verdict, findings, origin, .. }| Line {
        step: &origin.path,
        policy_step: origin.policy.as_deref(),
        outcome: *outcome,
        verdict: *verdict,
        errors: findings.iter().map(|finding| &*finding.code).collect(),
    }))
}
