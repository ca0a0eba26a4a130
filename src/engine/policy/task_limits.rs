//! The limits of the tasks of an agent: of several limits of one name the smallest counts, so that a policy can only tighten.
//!
//! In: an agent and the policies that are for it. Out: the limits, each with the policy that sets it. A limit n allows n (LIM-02).

use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::task_limit::{TaskLimit, TaskLimits};
use std::sync::Arc;

/// The limits of the tasks of an agent, with the policies that set them.
#[derive(Clone, Debug, Default)]
pub(super) struct AllLimits {
    /// The smallest of each name.
    pub(super) limits: TaskLimits,
    /// Limits that a policy has set lower than the manifest and the policies before it, with the policy's name.
    owners: Vec<(TaskLimit, Arc<str>)>,
}

impl AllLimits {
    /// Those of an agent and its policies.
    pub(super) fn of(resolved: &ResolvedAgent) -> Self {
        let mut all = Self { limits: resolved.agent.limits, owners: Vec::new() };
        for applied in &resolved.policies {
            for limit in all.limits.tighten(&applied.policy.limits) {
                all.owners.retain(|(known, _)| *known != limit);
                all.owners.push((limit, applied.policy.applied_name()));
            }
        }
        all
    }

    /// The policy that has set a limit; nothing if the manifest has.
    pub(super) fn owner(&self, limit: TaskLimit) -> Option<&Arc<str>> {
        self.owners.iter().find(|(known, _)| *known == limit).map(|(_, policy)| policy)
    }
}
