//! What one line says of what would have come of an operation that nothing stops.
//!
//! In: what a decision says of it. Out: verdict, step, name and limit; no text and no value of the task.

use celador::Enforced;
use celador::manifest::policy_step::PolicyStep;
use celador::task::{LimitReached, VerdictKind};
use serde::{Serialize, Serializer};

/// The line without its content.
pub(super) fn in_short<S: Serializer>(
    enforced: &Option<&Enforced>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Line<'e> {
        verdict: VerdictKind,
        #[serde(skip_serializing_if = "Option::is_none")]
        step: Option<&'e str>,
        #[serde(rename = "policy", skip_serializing_if = "Option::is_none")]
        policy_step: Option<&'e PolicyStep>,
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<&'e str>,
    }
    let line = enforced.map(|Enforced { verdict, decided_by, limit, .. }| Line {
        verdict: *verdict,
        step: decided_by.as_ref().map(|origin| &*origin.path),
        policy_step: decided_by.as_ref().and_then(|origin| origin.policy.as_deref()),
        limit: limit.as_ref().map(|LimitReached { which, .. }| &**which),
    });
    line.serialize(serializer)
}
