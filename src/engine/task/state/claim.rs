//! The claim on a call: which of several processes over one store runs it.

use serde::{Deserialize, Serialize};

/// The claim on a call that was let through and whose result is awaited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::task) struct CallClaim {
    /// The text by which the claimant is known again: random, as two claims with one text are the same claim.
    pub(in crate::task) claimant: Box<str>,
    /// The time of the last claim, in nanoseconds since 1970.
    pub(in crate::task) at: i128,
}

impl CallClaim {
    /// Whether more than `most` milliseconds have passed since the claim.
    pub(in crate::task) fn has_lapsed(&self, now: i128, most: u64) -> bool {
        now.saturating_sub(self.at) > i128::from(most).saturating_mul(1_000_000)
    }
}
