//! Digests of single steps: two steps with equal digests decide alike on equal values.
//!
//! In: an agent with its policies. Out: by the characters of each step the digest of the step and of the names that it reads: variables, parameters and counters of its
//! policy. Linear in the steps, times the names of their policies.

use super::encoder::Encoder;
use super::policy_encoding::target_key;
use crate::manifest::applied::AppliedPolicy;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::counter::CounterScope;
use crate::manifest::policy::DeclaredPolicy;
use crate::manifest::step::{DeclaredInvoke, DeclaredStep};
use crate::source::{Embedded, Place, Span};
use std::collections::{BTreeSet, HashMap};

const VERSION: &str = "celador step 1";

/// The characters of a step: its file and its span.
pub(crate) type StepKey = (String, Span);

/// Digests of steps. A step of a library that is used twice has one for each use.
pub(crate) type StepDigests = HashMap<StepKey, BTreeSet<String>>;

/// The key of a step at a place.
pub(crate) fn step_key(place: &Place) -> StepKey {
    (place.source.name().to_owned(), place.span)
}

/// The digests of all steps of an agent and of the policies that are for it.
pub(crate) fn step_digests(resolved: &ResolvedAgent) -> StepDigests {
    let mut digests = StepDigests::new();
    let mut add = |step: &DeclaredStep, encoder: Encoder| {
        digests.entry(step_key(&step.place)).or_default().insert(encoder.finish().to_string());
    };
    let agent = &resolved.agent;
    let of_calls = agent.capabilities.iter().flat_map(|capability| capability.steps());
    for step in of_calls.chain(&agent.guardrails.before).chain(&agent.guardrails.after) {
        let target = |invoke: &DeclaredInvoke| target_key(resolved, resolved.invoke_target(invoke));
        let mut encoder = Encoder::new(VERSION);
        encoder.step(&target, step);
        add(step, encoder);
    }
    for applied in &resolved.policies {
        let target = |invoke: &DeclaredInvoke| target_key(resolved, applied.invoke_target(invoke));
        for step in applied.policy.steps() {
            let mut encoder = Encoder::new(VERSION);
            encoder.step(&target, step);
            encoder.names_read(applied, step);
            add(step, encoder);
        }
    }
    digests
}

impl Encoder {
    /// The definitions of the names that a step of a policy reads, directly or through variables.
    fn names_read(&mut self, applied: &AppliedPolicy, step: &DeclaredStep) {
        let policy = &applied.policy;
        let mut texts: Vec<&Embedded> = step.expressions().chain(step.says()).collect();
        let read = variables_read(policy, &texts);
        for (name, expression) in read {
            self.part("variable");
            self.text(name);
            self.embedded(expression);
            texts.push(expression);
        }
        let reads = |root: &str, name: &str| texts.iter().any(|text| mentions(&text.text, root, name));
        let values = policy.parameters.iter().filter(|it| reads("parameters", &it.name.text));
        for parameter in values {
            self.part("parameter");
            self.embedded(&parameter.name);
            self.optional(parameter.value.as_ref(), |it, value| it.plain_json(&value.node.to_json()));
        }
        for counter in policy.counters.iter().filter(|it| reads("counters", &it.name.text)) {
            self.part("counter");
            self.embedded(&counter.name);
            self.text(&counter.window.to_string());
            self.text(counter.decrease.as_str());
            self.text(if counter.scope == CounterScope::Tree { "tree" } else { "caller" });
            for (key, text) in counter.expressions() {
                self.text(key);
                self.embedded(text);
            }
        }
    }
}

/// The variables that texts read, and those that their expressions read.
fn variables_read<'p>(policy: &'p DeclaredPolicy, texts: &[&'p Embedded]) -> Vec<(&'p str, &'p Embedded)> {
    let mut read: Vec<(&str, &Embedded)> = Vec::new();
    let mut pending: Vec<&Embedded> = texts.to_vec();
    while let Some(text) = pending.pop() {
        for variable in &policy.variables {
            let name = &*variable.name.text;
            let is_known = read.iter().any(|(known, _)| *known == name);
            if !is_known && mentions(&text.text, "variables", name) {
                read.push((name, &variable.expression));
                pending.push(&variable.expression);
            }
        }
    }
    read.sort_by_key(|(name, _)| *name);
    read
}

/// The steps of a policy that read a name, such as `variables.paid`, directly or through variables.
pub(crate) fn steps_reading(policy: &DeclaredPolicy, root: &str, name: &str) -> Vec<Place> {
    let reads = |step: &&DeclaredStep| {
        let texts: Vec<&Embedded> = step.expressions().chain(step.says()).collect();
        let read = variables_read(policy, &texts);
        root == "variables" && read.iter().any(|(known, _)| *known == name)
            || texts.iter().any(|text| mentions(&text.text, root, name))
            || read.iter().any(|(_, text)| mentions(&text.text, root, name))
    };
    policy.steps().filter(reads).map(|step| step.place.clone()).collect()
}

/// Whether a text has `root.name` in it, however blanks are set.
pub(crate) fn mentions(text: &str, root: &str, name: &str) -> bool {
    text.match_indices(root).any(|(at, _)| {
        let rest = text.get(at.saturating_add(root.len())..).unwrap_or_default().trim_start();
        let rest = rest.strip_prefix('.').map(str::trim_start).and_then(|rest| rest.strip_prefix(name));
        let is_name = |sign: char| sign.is_alphanumeric() || sign == '_';
        rest.is_some_and(|rest| !rest.starts_with(is_name))
    })
}
