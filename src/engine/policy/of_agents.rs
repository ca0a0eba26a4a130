//! What is wrong with the steps of policy documents, seen over all agents that they are for.
//!
//! In: what compiling each step found, agent by agent. Out: each thing once, and of the warnings those that hold for every agent.

use crate::diagnostic::Diagnostic;
use crate::manifest::policy::DeclaredPolicy;
use crate::manifest::policy_step::PolicyStep;
use crate::source::Place;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Policy with the chain of uses that leads from it to a step. Each use of a library has steps of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct UseOfPolicy {
    policy: Arc<str>,
    uses: Vec<Arc<str>>,
}

impl UseOfPolicy {
    /// Returns the use that a step belongs to.
    pub(crate) fn of(step: &PolicyStep) -> Self {
        Self { policy: step.name.clone(), uses: step.uses.clone() }
    }

    /// Returns the use that made a policy.
    pub(super) fn of_policy(policy: &DeclaredPolicy) -> Self {
        let uses = policy.used_by.as_ref().map(|by| by.uses.clone()).unwrap_or_default();
        Self { policy: policy.applied_name(), uses }
    }
}

/// What was found about one step of a policy document, compiled for one agent.
#[derive(Debug)]
pub(crate) struct OfPolicyStep {
    pub(crate) of: UseOfPolicy,
    /// Where the step stands.
    pub(crate) place: Place,
    pub(crate) findings: Vec<Diagnostic>,
}

/// What was found about the steps of policies, each thing once. A step is compiled for each agent that it is for, and these have
/// different tools: a warning that holds for some of them only, such as that `input` has no such field, is none, for the
/// step asks the others. A warning about one use of a library is told whatever other uses have. Linear in what was found.
pub(crate) fn of_all_agents(steps: Vec<OfPolicyStep>) -> Vec<Diagnostic> {
    let at = |place: &Place| (place.source.name().to_owned(), place.span);
    let mut agents: HashMap<_, usize> = HashMap::new();
    for step in &steps {
        let count = agents.entry((&step.of, at(&step.place))).or_default();
        *count = count.saturating_add(1);
    }
    let mut told: HashMap<_, usize> = HashMap::new();
    let mut of_uses = HashSet::new();
    let mut findings = Vec::new();
    for OfPolicyStep { of, place, findings: found } in &steps {
        let all = agents.get(&(of, at(place))).copied().unwrap_or_default();
        let mut once = HashSet::new();
        for finding in found {
            let about = (at(&finding.place), finding.path.clone(), finding.code);
            if !once.insert(about.clone()) {
                continue;
            }
            let is_error = finding.is_error();
            let count = told.entry((of, about.clone())).or_default();
            *count = count.saturating_add(1);
            // an error is told with the first agent that has it, a warning with the last one
            let is_told = *count == if is_error { 1 } else { all };
            // two uses that give different values may be wrong in the same way
            let values: Vec<_> = finding.related.iter().map(|label| at(&label.place)).collect();
            if is_told && of_uses.insert((about, values)) {
                findings.push(finding.clone());
            }
        }
    }
    findings
}
