//! The functions of an agent that no step mentions, and the policies that deny their calls by default.
//!
//! In: an agent with its capabilities and the policies that are for it. Out: positions of functions. A step of the agent's manifest mentions the
//! functions that it is about; a step of a policy those that its key selects. Linear in the steps times the functions that they are for.

use super::agent::Agent;
use super::applied::AppliedPolicy;
use super::capability_key::sanitise;
use super::function_ref::FunctionRef;
use super::mode::Mode;
use super::resolved_agent::{CapabilityEntry, ResolvedAgent};
use super::step::DeclaredStep;
use crate::source::Place;
use std::collections::HashSet;

impl ResolvedAgent {
    /// The functions that the model can call and that no step mentions: no enforced one, or no step at all.
    #[must_use]
    pub fn unmentioned(&self, mode: Mode) -> Vec<FunctionRef> {
        unmentioned(&self.agent, &self.capabilities, &self.policies, (mode, Steps::All))
    }

    /// Functions that a default does not deny because a policy has steps after their calls alone, each with the place of the first of these. A step of the
    /// manifest is a mention in each list: the manifest also lists the function.
    pub(crate) fn mentioned_behind_calls(&self) -> Vec<(FunctionRef, Place)> {
        let lists = [Steps::All, Steps::Ahead];
        let [all, ahead] = lists.map(|steps| {
            unmentioned(&self.agent, &self.capabilities, &self.policies, (Mode::Enforce, steps))
        });
        let place = |at: &FunctionRef| {
            let of_policies =
                self.policies.iter().filter(|applied| !applied.policy.watches).flat_map(|applied| {
                    let keys = applied.policy.capabilities.iter().zip(&applied.calls);
                    keys.filter(|(key, selected)| {
                        !key.calls.is_catch_all() && selected.functions.contains(at)
                    })
                    .flat_map(|(key, _)| &key.after)
                });
            of_policies.map(|step| step.place.clone()).next()
        };
        let behind = ahead.into_iter().filter(|at| !all.contains(at));
        behind.filter_map(|at| Some((at, place(&at)?))).collect()
    }

    /// Whether calls of functions that no enforced step mentions are denied.
    #[must_use]
    pub fn denies_by_default(&self) -> bool {
        let mut denials = self.policies.iter().flat_map(|applied| &applied.policy.default_denial);
        denials.any(|denial| denial.steps().any(|step| step.mode == Mode::Enforce))
    }
}

/// Says of each policy that denies by default for which functions of the agent it does.
pub(super) fn settle_defaults(agent: &Agent, entries: &[CapabilityEntry], policies: &mut [AppliedPolicy]) {
    let denies = |applied: &AppliedPolicy, mode| {
        applied.policy.default_denial.is_some() && applied.policy.mode == mode
    };
    for mode in [Mode::Enforce, Mode::Observe] {
        if !policies.iter().any(|applied| denies(applied, mode)) {
            continue;
        }
        let functions = unmentioned(agent, entries, policies, (mode, Steps::All));
        for applied in policies.iter_mut().filter(|applied| denies(applied, mode)) {
            applied.default.functions.clone_from(&functions);
        }
    }
}

/// Which steps of a key count as a mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Steps {
    All,
    /// Those ahead of the call.
    Ahead,
}

/// The functions that the model can call and that no step mentions. Steps that are only tried out mention nothing for a default that is enforced: what
/// is tried out changes no verdict.
fn unmentioned(
    agent: &Agent,
    entries: &[CapabilityEntry],
    policies: &[AppliedPolicy],
    (mode, counted): (Mode, Steps),
) -> Vec<FunctionRef> {
    let mentioned = mentioned_by_policies(policies, mode, counted);
    let mut left = Vec::new();
    for (capability, entry) in entries.iter().enumerate() {
        let Some(listed) = entry.capability(agent) else { continue };
        let names: Vec<Option<String>> =
            listed.steps().map(|step| step.match_name.as_ref().map(|name| sanitise(&name.text))).collect();
        for (function, declared) in entry.functions.iter().enumerate().filter(|(_, it)| it.active) {
            let at = FunctionRef { capability, function };
            let name = sanitise(&declared.name);
            let by_manifest = || names.iter().any(|selected| selected.as_ref().is_none_or(|it| *it == name));
            if !mentioned.contains(&at) && !by_manifest() {
                left.push(at);
            }
        }
    }
    left
}

fn mentioned_by_policies(policies: &[AppliedPolicy], mode: Mode, counted: Steps) -> HashSet<FunctionRef> {
    let mut mentioned = HashSet::new();
    // invariants look at calls and decide nothing
    for applied in policies.iter().filter(|applied| !applied.policy.watches) {
        for (key, selected) in applied.policy.capabilities.iter().zip(&applied.calls) {
            let counts = |step: &DeclaredStep| mode == Mode::Observe || step.mode == Mode::Enforce;
            let mentions = if key.calls.is_catch_all() {
                key.before.iter().any(counts)
            } else {
                match counted {
                    Steps::All => key.steps().any(counts),
                    Steps::Ahead => key.before_first.iter().chain(&key.before).any(counts),
                }
            };
            if mentions {
                mentioned.extend(selected.functions.iter().copied());
            }
        }
    }
    mentioned
}
