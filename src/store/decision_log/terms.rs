//! What one line says of the terms of a call: how long it waits, the ids of obligations, and how many credentials.
//!
//! In: the terms of a decision. Out: no value of the task: what is computed for an obligation stays out, and so do audiences and
//! scopes, which a policy may compute.

use celador::Terms;
use serde::{Serialize, Serializer};

/// The terms without their content.
pub(super) fn in_short<S: Serializer>(terms: &Option<&Terms>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Line<'e> {
        #[serde(skip_serializing_if = "Option::is_none")]
        delay_ms: Option<u64>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        obligations: Vec<&'e str>,
        credentials: usize,
    }
    let line = terms.map(|terms| Line {
        delay_ms: terms.delay_ms,
        obligations: terms.obligations.iter().map(|obligation| &*obligation.id).collect(),
        credentials: terms.credentials.len(),
    });
    line.serialize(serializer)
}
