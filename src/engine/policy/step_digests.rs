//! Digests of single steps: two steps with equal digests decide alike on equal values.
//!
//! In: an agent with its policies. Out: by the characters of each step the digest of the step and of the names that it reads: variables, named expressions, parameters and counters of its
//! policy, and the named expressions of the policies that it uses. Linear in the steps, times the names of their policies.

use super::encoder::Encoder;
use super::policy_encoding::target_key;
use crate::context::Root;
use crate::manifest::applied::AppliedPolicy;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::counter::CounterScope;
use crate::manifest::named_expression::{EXPRESSIONS, NamedExpression};
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
            encoder.names_read(resolved, applied, step);
            add(step, encoder);
        }
    }
    digests
}

impl Encoder {
    /// The definitions of the names that a step of a policy reads, directly or through others.
    fn names_read(&mut self, resolved: &ResolvedAgent, applied: &AppliedPolicy, step: &DeclaredStep) {
        let policy = &applied.policy;
        let mut texts: Vec<&Embedded> = step.expressions().chain(step.says()).collect();
        let read = names_read(policy, &texts);
        for ReadName { name, text, of } in &read {
            self.part("name");
            self.text(name);
            self.embedded(text);
            if let Some(expression) = of {
                self.named_expression(expression);
            }
        }
        for import in policy.imports.iter().filter(|it| uses(&texts, &read, &it.name)) {
            self.part("used policy");
            self.text(&import.name);
            self.definitions(&import.policy);
        }
        texts.extend(read.iter().map(|it| it.text));
        let reads = |root: &str, name: &str| texts.iter().any(|text| mentions(&text.text, root, name));
        let values = policy.parameters.iter().filter(|it| reads("parameters", &it.name.text));
        for parameter in values {
            self.part("parameter");
            self.embedded(&parameter.name);
            self.optional(parameter.value.as_ref(), |it, value| it.plain_json(&value.node.to_json()));
        }
        if texts.iter().any(|text| text.text.contains(Root::Invoked.name())) {
            self.results(resolved, applied);
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

/// A variable or named expression of a policy that texts read.
struct ReadName<'p> {
    /// The name with its root, such as `variables.paid`.
    name: String,
    text: &'p Embedded,
    of: Option<&'p NamedExpression>,
}

/// The variables and named expressions of a policy that texts read, and those that their texts read, in the order of their names.
fn names_read<'p>(policy: &'p DeclaredPolicy, texts: &[&'p Embedded]) -> Vec<ReadName<'p>> {
    let mut read: Vec<ReadName<'_>> = Vec::new();
    let mut pending: Vec<&Embedded> = texts.to_vec();
    let variables = || policy.variables.iter().map(|it| ("variables", &*it.name.text, &it.expression, None));
    let expressions =
        || policy.expressions.iter().map(|it| (EXPRESSIONS, &*it.name.text, &it.value, Some(it)));
    while let Some(text) = pending.pop() {
        for (root, name, named, of) in variables().chain(expressions()) {
            let full = format!("{root}.{name}");
            let is_known = read.iter().any(|known| known.name == full);
            if !is_known && mentions(&text.text, root, name) {
                read.push(ReadName { name: full, text: named, of });
                pending.push(named);
            }
        }
    }
    read.sort_by(|one, other| one.name.cmp(&other.name));
    read
}

/// Whether texts, or what they read, call named expressions of a used policy.
fn uses(texts: &[&Embedded], read: &[ReadName<'_>], import: &str) -> bool {
    let mut all = texts.iter().copied().chain(read.iter().map(|it| it.text));
    all.any(|text| calls(&text.text, import))
}

/// Whether a text may call named expressions of a used policy: it has `expressions.money`, or an index of `expressions`.
fn calls(text: &str, import: &str) -> bool {
    let is_indexed = || {
        text.match_indices(EXPRESSIONS).any(|(at, root)| {
            text.get(at.saturating_add(root.len())..).is_some_and(|rest| rest.trim_start().starts_with('['))
        })
    };
    mentions(text, EXPRESSIONS, import) || is_indexed()
}

/// The steps of a policy that read a name, such as `variables.paid`, directly or through others. A named expression of a used policy is `expressions.money.over`.
pub(crate) fn steps_reading(policy: &DeclaredPolicy, root: &str, name: &str) -> Vec<Place> {
    let of_use = name.split_once('.').filter(|_| root == EXPRESSIONS);
    let reads_in = |text: &Embedded| match of_use {
        Some((import, _)) => calls(&text.text, import),
        None => mentions(&text.text, root, name),
    };
    let reads = |step: &&DeclaredStep| {
        let texts: Vec<&Embedded> = step.expressions().chain(step.says()).collect();
        let read = names_read(policy, &texts);
        texts.iter().copied().chain(read.iter().map(|it| it.text)).any(reads_in)
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
