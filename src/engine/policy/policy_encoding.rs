//! What decides of the policies that are for an agent, written out: a part of its fingerprint, and of what reviews are bound to.
//!
//! In: an agent under its policies. Out: their steps and what they are for, in the order in which they run; nothing of policies
//! that have no step for it, and nothing of what people call them. Linear in the policies and in what their keys select.

use super::claims::Claims;
use super::delegation::DelegationBound;
use super::encoder::{Encoder, RULES_VERSION};
use super::labels::{COPY_LETTERS, copy_letters};
use super::reviews::siblings;
use super::task_limits::AllLimits;
use crate::digest::Digest;
use crate::manifest::catalog::{AppliedKey, AppliedPolicy, FunctionRef, ResolvedAgent};
use crate::manifest::counter::{CounterScope, DeclaredCounter, Decrease};
use crate::manifest::mode::Mode;
use crate::manifest::named_expression::NamedExpression;
use crate::manifest::policy::{DeclaredPolicy, DeclaredVariable, PolicyCapability};
use crate::manifest::policy_use::PolicyParameter;
use crate::manifest::review::Siblings;
use crate::manifest::step::{DeclaredInvoke, DeclaredStep};
use crate::source::Embedded;
use std::collections::HashMap;

/// The key of a function that an invoke step calls.
pub(super) fn target_key(resolved: &ResolvedAgent, target: Option<FunctionRef>) -> Option<&str> {
    resolved.function(target?).map(|(_, function)| function.key.as_str())
}

/// Of each function that steps of policies are for, by its key, the digest of those steps.
pub(super) fn calls_of_policies(resolved: &ResolvedAgent) -> HashMap<String, Digest> {
    let mut by_function: HashMap<String, Encoder> = HashMap::new();
    for applied in &resolved.policies {
        for (key, selected) in applied.keys() {
            let mut steps = Encoder::new(RULES_VERSION);
            steps.policy_counters(resolved, applied);
            steps.policy_key(resolved, applied, key);
            let digest = steps.finish().to_string();
            for (_, function) in selected.functions.iter().filter_map(|at| resolved.function(*at)) {
                let rules = by_function.entry(function.key.clone());
                rules.or_insert_with(|| Encoder::new(RULES_VERSION)).text(&digest);
            }
        }
    }
    by_function.into_iter().map(|(key, rules)| (key, rules.finish())).collect()
}

/// Whether an expression may ask for the tags of the call: the word alone tells, so that nothing has to be compiled for it.
fn may_read_call(text: &Embedded) -> bool {
    text.text.contains("call")
}

impl Encoder {
    /// The steps of all policies, with the functions that they are for, and the limits that they lower.
    pub(super) fn policies(&mut self, resolved: &ResolvedAgent) {
        let keys =
            || resolved.policies.iter().flat_map(|applied| applied.keys().map(move |key| (applied, key)));
        let has_calls = keys().any(|(_, (_, AppliedKey { functions, .. }))| !functions.is_empty());
        if has_calls {
            self.part("policies");
        }
        for (applied, (key, AppliedKey { functions, .. })) in keys() {
            if functions.is_empty() {
                continue;
            }
            self.list(functions, |it, at| it.optional(target_key(resolved, Some(*at)), Self::text));
            if key
                .steps()
                .flat_map(DeclaredStep::expressions)
                .chain(applied.policy.named_texts())
                .any(may_read_call)
            {
                self.part("tags");
                self.list(functions, |it, at| it.tags(resolved, *at));
            }
            self.policy_key(resolved, applied, key);
        }
        resolved.policies.iter().for_each(|applied| self.policy_counters(resolved, applied));
        self.policy_guardrails(resolved);
        self.policy_models(resolved);
        for (_, schema) in Claims::of(resolved).schemas() {
            self.part("claims of a policy");
            self.shape(schema);
        }
        if copy_letters(resolved) != COPY_LETTERS {
            self.part("copy letters");
            self.count(copy_letters(resolved) as u64);
        }
        if siblings(resolved) == Siblings::Run {
            self.part("siblings run");
        }
        if let Some(bound) = DelegationBound::of(resolved) {
            self.delegation(&bound);
        }
        let limits = AllLimits::of(resolved).limits;
        if limits != resolved.agent.limits {
            self.part("limits of policies");
            self.limits(&limits);
        }
    }

    /// The bound of delegated tasks.
    pub(super) fn delegation(&mut self, bound: &DelegationBound) {
        self.part(match bound.mode {
            Mode::Enforce => "within parent",
            Mode::Observe => "within parent, observed",
        });
        for parents in bound.parents() {
            self.optional(parents, |it, patterns| it.list(patterns, |it, pattern| it.text(pattern)));
        }
    }

    /// The tags of a function; its other names are written with it.
    pub(super) fn tags(&mut self, resolved: &ResolvedAgent, at: FunctionRef) {
        let tags = resolved.function(at).map(|(entry, function)| entry.tags(function).all());
        let tags: Vec<&str> = tags.into_iter().flatten().collect();
        self.list(&tags, |it, tag| it.text(tag));
    }

    /// The steps of all policies on messages.
    pub(super) fn policy_guardrails(&mut self, resolved: &ResolvedAgent) {
        for applied in &resolved.policies {
            let lists = [&applied.policy.guardrails_before, &applied.policy.guardrails_after];
            if lists.iter().all(|steps| steps.is_empty()) {
                continue;
            }
            self.part("guardrails of a policy");
            self.definitions(&applied.policy);
            for steps in lists {
                self.policy_steps(resolved, applied, steps);
            }
        }
    }

    /// The steps of all policies around calls of the model, and their checks of tools.
    pub(super) fn policy_models(&mut self, resolved: &ResolvedAgent) {
        for applied in &resolved.policies {
            let lists = [&applied.policy.model_before, &applied.policy.model_after];
            if lists.iter().all(|steps| steps.is_empty()) {
                continue;
            }
            self.part("model calls of a policy");
            self.definitions(&applied.policy);
            for steps in lists {
                self.policy_steps(resolved, applied, steps);
            }
        }
        for applied in resolved.policies.iter().filter(|applied| !applied.policy.tools.is_empty()) {
            self.part("tools of a policy");
            self.definitions(&applied.policy);
            self.policy_steps(resolved, applied, &applied.policy.tools);
        }
    }

    /// The counters of a policy, with the functions whose calls add to them. In a store a counter goes by the names of its
    /// policy and its own.
    pub(super) fn policy_counters(&mut self, resolved: &ResolvedAgent, applied: &AppliedPolicy) {
        if applied.policy.counters.is_empty() {
            return;
        }
        self.part(match applied.policy.mode {
            Mode::Enforce => "counters of a policy",
            Mode::Observe => "counters of an observed policy",
        });
        self.text(&applied.policy.applied_name());
        self.list(applied.policy.used_by.as_ref().map_or(&[][..], |by| &by.uses), |it, used| it.text(used));
        self.definitions(&applied.policy);
        for (counter, selected) in applied.policy.counters.iter().zip(&applied.counters) {
            // a limit is a step
            let DeclaredCounter {
                name,
                place: _,
                path: _,
                on: _,
                key,
                window,
                add,
                model,
                limit: _,
                decrease,
                scope,
            } = counter;
            self.embedded(name);
            self.list(&selected.functions, |it, at| it.optional(target_key(resolved, Some(*at)), Self::text));
            for text in [key, add] {
                self.optional(text.as_ref(), Self::embedded);
            }
            self.text(&window.to_string());
            if *scope == CounterScope::Tree {
                self.part("tree");
            }
            if *decrease != Decrease::None {
                self.part(decrease.as_str());
            }
            if let Some(model) = model {
                self.part("model");
                self.embedded(model);
            }
        }
    }

    fn policy_key(&mut self, resolved: &ResolvedAgent, applied: &AppliedPolicy, key: &PolicyCapability) {
        self.definitions(&applied.policy);
        for steps in [&key.before_first, &key.before, &key.after] {
            self.policy_steps(resolved, applied, steps);
        }
    }

    /// The steps of all policies behind the calls of a function.
    pub(super) fn steps_behind(&mut self, resolved: &ResolvedAgent, function: &str) {
        for applied in &resolved.policies {
            for (key, selected) in applied.keys() {
                let mut keys = selected.functions.iter().map(|at| target_key(resolved, Some(*at)));
                if !key.after.is_empty() && keys.any(|key| key == Some(function)) {
                    self.part("behind calls");
                    self.definitions(&applied.policy);
                    self.results(resolved, applied);
                    self.policy_steps(resolved, applied, &key.after);
                }
            }
        }
    }

    /// What the names of a policy stand for. A policy without such names writes nothing.
    pub(super) fn definitions(&mut self, policy: &DeclaredPolicy) {
        if !policy.parameters.is_empty() {
            self.part("parameters of a policy");
            self.list(&policy.parameters, |it, PolicyParameter { name, path: _, schema: _, value }| {
                it.embedded(name);
                it.optional(value.as_ref(), |it, value| it.plain_json(&value.node.to_json()));
            });
        }
        if !policy.variables.is_empty() {
            self.part("variables");
            self.list(&policy.variables, |it, DeclaredVariable { name, path: _, expression }| {
                it.embedded(name);
                it.embedded(expression);
            });
        }
        if !policy.expressions.is_empty() {
            self.part("named expressions");
            self.list(&policy.expressions, Self::named_expression);
        }
        if !policy.functions.is_empty() {
            self.part("functions of the host");
            self.list(&policy.functions, |it, function| {
                it.text(&function.signature.to_string());
                it.count(function.signature.cost.call);
                it.count(function.signature.cost.size);
            });
        }
        let results = policy.results();
        if !results.is_empty() {
            self.part("results");
            self.list(&results, |it, (id, _)| it.text(id));
        }
        if !policy.imports.is_empty() {
            self.part("named expressions of uses");
            self.list(&policy.imports, |it, import| {
                it.text(&import.name);
                it.definitions(&import.policy);
            });
        }
    }

    /// The `invoke` steps of a policy whose results its other steps read, wherever they stand.
    pub(super) fn results(&mut self, resolved: &ResolvedAgent, applied: &AppliedPolicy) {
        let target = |invoke: &DeclaredInvoke| target_key(resolved, applied.invoke_target(invoke));
        for (id, step) in applied.policy.results() {
            self.part("result");
            self.text(id);
            self.step(&target, step);
        }
    }

    /// A named expression with its parameters.
    pub(super) fn named_expression(&mut self, expression: &NamedExpression) {
        let NamedExpression { name, path: _, parameters, value } = expression;
        self.embedded(name);
        self.list(parameters, |it, parameter| {
            it.embedded(&parameter.name);
            it.text(&parameter.ty.to_string());
        });
        self.embedded(value);
    }

    fn policy_steps(&mut self, resolved: &ResolvedAgent, applied: &AppliedPolicy, steps: &[DeclaredStep]) {
        let target = |invoke: &DeclaredInvoke| target_key(resolved, applied.invoke_target(invoke));
        self.list(steps, |it, step| it.step(&target, step));
    }
}
