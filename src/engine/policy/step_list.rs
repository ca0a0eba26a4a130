//! The steps that an operation passes in one list: those of policies and those of the agent's own manifest, in order.
//!
//! In: the steps of the manifest, and those of policies that are for the same function or message. Out: a [`StepList`] over
//! both, which copies nothing. Ahead of a call and on inputs the policies come first, so that what they refuse the agent's own
//! steps never see; behind a call and on responses they come last, so that they see what the model or the user will get. Steps that watch
//! come behind all others.

use super::Step;
use std::sync::Arc;

/// Steps in the order in which they run.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepList<'p> {
    own: &'p [Step],
    of_policies: &'p [Arc<Step>],
    /// Whether the policies come after the manifest.
    policies_last: bool,
    /// Those that only look at what the others let by.
    watching: &'p [Arc<Step>],
}

impl<'p> StepList<'p> {
    /// Those of policies, then those of the manifest.
    pub(super) fn ahead(own: &'p [Step], of_policies: &'p [Arc<Step>]) -> Self {
        Self { own, of_policies, policies_last: false, watching: &[] }
    }

    /// Those of the manifest, then those of policies.
    pub(super) fn behind(own: &'p [Step], of_policies: &'p [Arc<Step>]) -> Self {
        Self { own, of_policies, policies_last: true, watching: &[] }
    }

    /// The same with steps that watch behind all of them.
    pub(super) fn watched(self, watching: &'p [Arc<Step>]) -> Self {
        Self { watching, ..self }
    }

    /// The step at a position.
    #[inline]
    #[must_use]
    pub fn get(&self, position: usize) -> Option<&'p Step> {
        let (own, of_policies) = (self.own, self.of_policies);
        let found = if self.policies_last {
            let rest = || position.checked_sub(own.len()).and_then(|position| of_policies.get(position));
            own.get(position).or_else(|| rest().map(Arc::as_ref))
        } else {
            let rest = || position.checked_sub(of_policies.len()).and_then(|position| own.get(position));
            of_policies.get(position).map(Arc::as_ref).or_else(rest)
        };
        found.or_else(|| self.watching_at(position))
    }

    #[inline]
    fn watching_at(&self, position: usize) -> Option<&'p Step> {
        let before = self.own.len().saturating_add(self.of_policies.len());
        self.watching.get(position.checked_sub(before)?).map(Arc::as_ref)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.own.len().saturating_add(self.of_policies.len()).saturating_add(self.watching.len())
    }

    /// Whether there are no steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The steps, in order.
    pub fn iter(self) -> impl Iterator<Item = &'p Step> {
        (0..self.len()).filter_map(move |position| self.get(position))
    }
}
