//! The steps of an operation that differ between two sets of policies.
//!
//! In: an agent on both sides, and an operation. Out: by side the steps that the other side does not have, by their characters. Only a task whose evaluation comes to
//! one of them is evidence about the difference.

use super::AgentOfSet;
use crate::manifest::step::Hook;
use crate::policy::{Policy, StepKey, StepList, step_digests, step_key};
use crate::task::{Explanation, SkipReason, StepEnding};
use std::collections::{BTreeSet, HashSet};

/// The steps that differ, old and new. Where both are empty something else differs, such as a schema or a limit, and each evaluation counts.
#[derive(Debug, Default)]
pub(super) struct ChangedSteps([HashSet<StepKey>; 2]);

impl ChangedSteps {
    /// Those of an operation: of calls of a function, or of messages.
    pub(super) fn of(sides: [&AgentOfSet<'_>; 2], operation: &str, function: Option<&str>) -> Self {
        let [old, new] = sides.map(|side| {
            let digests = step_digests(&side.resolved);
            let mut all = Vec::new();
            let name = function.and_then(|function| side.policy.function(side.policy.position(function)?));
            for list in lists(&side.policy, operation, function) {
                let own = list.iter().filter(|step| name.is_none_or(|function| step.is_for(&function.name)));
                all.extend(own.map(|step| {
                    let key = step_key(step.place());
                    let digest = digests.get(&key).cloned().unwrap_or_default();
                    (key, digest)
                }));
            }
            all
        });
        let missing = |own: &Vec<(StepKey, _)>, other: &Vec<(StepKey, _)>| -> HashSet<StepKey> {
            let missing = own.iter().filter(|(_, digest)| other.iter().all(|(_, known)| known != digest));
            missing.map(|(key, _)| key.clone()).collect()
        };
        let changed = [missing(&old, &new), missing(&new, &old)];
        if changed.iter().any(|steps| !steps.is_empty()) {
            return Self(changed);
        }
        // the same steps in another order, or more often: from the first place on at which they differ
        let same = old.iter().zip(&new).take_while(|((_, old), (_, new))| old == new).count();
        let rest = |own: Vec<(StepKey, _)>| own.into_iter().skip(same).map(|(key, _)| key).collect();
        Self([rest(old), rest(new)])
    }

    /// Whether an evaluation came to one of those of a side.
    pub(super) fn are_reached(&self, side: usize, explanation: &Explanation) -> bool {
        if self.0.iter().all(HashSet::is_empty) {
            return true;
        }
        let Some(changed) = self.0.get(side).filter(|changed| !changed.is_empty()) else { return false };
        explanation.steps.iter().any(|step| {
            let is_evaluated = match (step.outcome, step.skipped) {
                (StepEnding::NotReached, _) => false,
                (StepEnding::Skipped, reason) => reason == Some(SkipReason::Condition),
                _ => true,
            };
            is_evaluated && step.place.0.as_ref().is_some_and(|place| changed.contains(&step_key(place)))
        })
    }
}

/// Whether a step around calls differs that no function of either side passes: only tools that nobody knows yet could.
pub(super) fn are_uncompared(sides: [&AgentOfSet<'_>; 2]) -> bool {
    let digests = sides.map(|side| step_digests(&side.resolved));
    let [old, new] = &digests;
    [(old, new), (new, old)].into_iter().zip(sides).any(|((own, other), side)| {
        let compared: HashSet<StepKey> = side.policy.steps().map(|step| step_key(step.place())).collect();
        let of_calls = side.resolved.policies.iter().flat_map(|applied| &applied.policy.capabilities);
        let mut of_calls =
            of_calls.flat_map(|capability| capability.steps()).map(|step| step_key(&step.place));
        of_calls.any(|key| {
            let digest = own.get(&key);
            !compared.contains(&key) && other.values().all(|known| Some(known) != digest)
        })
    })
}

/// The lists of steps that an operation passes, in order.
fn lists<'p>(policy: &'p Policy, operation: &str, function: Option<&str>) -> Vec<StepList<'p>> {
    let of_call = |hooks: &[Hook]| {
        let function = function.and_then(|function| policy.position(function));
        let lists = |function| hooks.iter().map(move |hook| policy.steps_of_call(*hook, function)).collect();
        function.map(lists).unwrap_or_default()
    };
    match operation {
        "input" => vec![policy.guardrails(Hook::GuardrailBefore)],
        "output" => vec![policy.guardrails(Hook::GuardrailAfter)],
        "before" => of_call(&[Hook::BeforeFirst, Hook::Before]),
        "after" => of_call(&[Hook::After]),
        "model" => [Hook::ModelBefore, Hook::ModelAfter].map(|hook| policy.steps_of_model(hook)).to_vec(),
        "event" => {
            let capabilities: BTreeSet<usize> =
                policy.events().iter().map(|event| event.capability).collect();
            let hooks = [Hook::BeforeFirst, Hook::Before, Hook::After];
            let lists = |capability| hooks.map(|hook| policy.steps_of_event(hook, capability));
            capabilities.into_iter().flat_map(lists).collect()
        }
        _ => Vec::new(),
    }
}
