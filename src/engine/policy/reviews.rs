//! What the policies of an agent say of the reviews of its tasks.
//!
//! In: the policies that are for the agent. Out: whether calls go on beside an open review. A policy that is only tried out says nothing.

use super::Policy;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::mode::Mode;
use crate::manifest::review::Siblings;

/// Whether calls go on beside a review: if a policy says so and no other one says that they wait. Manifests say nothing, so without policies they
/// wait (RV-13).
pub(super) fn siblings(resolved: &ResolvedAgent) -> Siblings {
    let enforced = resolved.policies.iter().filter(|applied| applied.policy.mode == Mode::Enforce);
    let said: Vec<_> = enforced.filter_map(|applied| applied.policy.reviews.siblings).collect();
    if said.is_empty() || said.contains(&Siblings::Wait) { Siblings::Wait } else { Siblings::Run }
}

impl Policy {
    /// Whether calls are let through while a review of a call is open that has nothing to do with them.
    #[must_use]
    pub fn siblings(&self) -> Siblings {
        self.siblings
    }
}
