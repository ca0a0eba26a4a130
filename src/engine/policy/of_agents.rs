//! What is wrong with the steps of policy documents, seen over all agents that they are for.
//!
//! In: what compiling each step found, agent by agent. Out: each thing once, and of the warnings those that hold for every agent.

use crate::diagnostic::Diagnostic;
use crate::source::Place;
use std::collections::{HashMap, HashSet};

/// What was found about one step of a policy document, compiled for one agent.
#[derive(Debug)]
pub(crate) struct OfPolicyStep {
    /// Where the step stands.
    pub(crate) place: Place,
    pub(crate) findings: Vec<Diagnostic>,
}

/// What was found about the steps of policies, each thing once. A step is compiled for each agent that it is for, and these have
/// different tools: a warning that holds for some of them only, such as that `input` has no such field, is none, for the
/// step asks the others. Linear in what was found.
pub(crate) fn of_all_agents(steps: Vec<OfPolicyStep>) -> Vec<Diagnostic> {
    let at = |place: &Place| (place.source.name().to_owned(), place.span);
    let mut agents: HashMap<_, usize> = HashMap::new();
    for step in &steps {
        let count = agents.entry(at(&step.place)).or_default();
        *count = count.saturating_add(1);
    }
    let mut told: HashMap<_, usize> = HashMap::new();
    let mut findings = Vec::new();
    for OfPolicyStep { place, findings: found } in steps {
        let all = agents.get(&at(&place)).copied().unwrap_or_default();
        let mut once = HashSet::new();
        for finding in found {
            let about = (at(&finding.place), finding.path.clone(), finding.code);
            if !once.insert(about.clone()) {
                continue;
            }
            let is_error = finding.is_error();
            let count = told.entry(about).or_default();
            *count = count.saturating_add(1);
            // an error is told with the first agent that has it, a warning with the last one
            if *count == if is_error { 1 } else { all } {
                findings.push(finding);
            }
        }
    }
    findings
}
