//! Lists of steps, compiled: those of capabilities and guardrails, and those of policies, laid out by function.
//!
//! In: the steps of an agent and of the policies that are for it, as they were written. Out: steps ready to run, each in a scope
//! whose types are those of the functions that share it; findings. A step of a policy is compiled once for the agent,
//! whatever number of functions it is for. Linear in the steps, and in what each policy's step is for.

use super::CapabilitySteps;
use super::Step;
use super::compiler::{Compiler, ScopeKey, declares_functions};
use super::declaration::Declaration;
use super::definitions::Definitions;
use super::expression::Texts;
use super::known_call::reads_call;
use super::of_agents::{OfPolicyStep, UseOfPolicy};
use super::panel_check::bad_reviews;
use super::policy_steps::{CallSteps, PolicySteps};
use super::step::{StepAction, StepScopes};
use crate::cel::Type;
use crate::context::{FunctionId, Scope};
use crate::diagnostic::Diagnostic;
use crate::manifest::capability_key::sanitise;
use crate::manifest::catalog::{AppliedPolicy, CapabilityEntry, FunctionRef};
use crate::manifest::mode::Mode;
use crate::manifest::policy::PolicyCapability;
use crate::manifest::step::{DeclaredAction, DeclaredStep, Hook};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl Compiler<'_> {
    /// The steps of each capability.
    pub(super) fn capabilities(&mut self) -> Option<Vec<CapabilitySteps>> {
        let mut all = Vec::new();
        for (at, entry) in self.resolved.capabilities.iter().enumerate() {
            let Some(capability) = entry.capability(self.agent) else {
                all.push(Some(CapabilitySteps::default()));
                continue;
            };
            let before_first = self.steps(&capability.before_first, at, entry, Hook::BeforeFirst);
            let before = self.steps(&capability.before, at, entry, Hook::Before);
            let after = self.steps(&capability.after, at, entry, Hook::After);
            all.push((|| {
                Some(CapabilitySteps { before_first: before_first?, before: before?, after: after? })
            })());
        }
        all.into_iter().collect()
    }

    fn steps(
        &mut self,
        written: &[DeclaredStep],
        at: usize,
        entry: &CapabilityEntry,
        hook: Hook,
    ) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        // the functions of which a step before has made something else
        let mut transformed = HashSet::new();
        for step in written {
            let selected = step.match_name.as_ref().map(|name| sanitise(&name.text));
            let is_for = |name: &str| selected.as_deref().is_none_or(|selected| selected == sanitise(name));
            let own = |(_, declaration): &(usize, &Declaration<'_>)| {
                declaration.capability == at && is_for(&declaration.function.name)
            };
            let positions = self.functions.iter().enumerate().filter(own);
            let positions: Vec<usize> = positions.map(|(position, _)| position).collect();
            // `before_first` never runs for events (MW-43)
            let heard = entry.events.iter().enumerate().filter(|_| hook != Hook::BeforeFirst);
            let heard = heard.filter(|(_, event)| event.active && is_for(&event.name));
            let events: Vec<_> = heard.map(|(position, _)| (at, position)).collect();
            let (action, condition) = match hook {
                Hook::After => (Scope::After, Scope::AfterCondition),
                _ => (Scope::Before, Scope::BeforeCondition),
            };
            let is_transformed = positions.iter().any(|position| transformed.contains(position));
            let key = |scope| ScopeKey {
                scope,
                functions: positions.clone(),
                events: events.clone(),
                transformed: is_transformed,
                counters: None,
                invoked: None,
                host: None,
                of_policy: false,
            };
            let action = self.step_scope(key(action), &entry.reference);
            let condition = match &step.condition {
                Some(_) => self.step_scope(key(condition), &entry.reference),
                None => action.clone(),
            };
            let scopes = StepScopes { action, condition };
            let compiled = self.step(step, &scopes, &positions);
            if let DeclaredAction::Transform(text) = &step.action {
                self.check_transform(&positions, compiled.as_ref(), text);
                transformed.extend(positions);
            } else {
                self.check_needed(&positions, compiled.as_ref());
            }
            steps.push(compiled);
        }
        steps.into_iter().collect()
    }

    pub(super) fn guardrails(&mut self, written: &[DeclaredStep], scope: Scope) -> Option<Vec<Step>> {
        if written.is_empty() {
            return Some(Vec::new());
        }
        let under_test = scope;
        let scope = self.plain_scope(scope);
        let scopes = StepScopes { action: scope.clone(), condition: scope };
        let mut steps = Vec::new();
        for step in written {
            let compiled = self.step(step, &scopes, &[]);
            if let DeclaredAction::Transform(text) = &step.action {
                self.check_transform(&[], compiled.as_ref(), text);
            }
            compiled.iter().for_each(|step| self.check_message(step, under_test));
            steps.push(compiled);
        }
        steps.into_iter().collect()
    }

    /// A step of the agent's manifest about the calls of these functions, or of none.
    fn step(&mut self, written: &DeclaredStep, scopes: &StepScopes, callers: &[usize]) -> Option<Step> {
        let target = match &written.action {
            DeclaredAction::Invoke(invoke) => self.resolved.invoke_target(invoke),
            DeclaredAction::Assert(_)
            | DeclaredAction::Deny(_)
            | DeclaredAction::Limit(_)
            | DeclaredAction::Transform(_)
            | DeclaredAction::Label(_)
            | DeclaredAction::Effect(_) => None,
        };
        self.step_to(target, written, scopes, callers)
    }

    /// The same of any document, with the target of its invoke step.
    fn step_to(
        &mut self,
        target: Option<FunctionRef>,
        written: &DeclaredStep,
        scopes: &StepScopes,
        callers: &[usize],
    ) -> Option<Step> {
        let called = target.and_then(|at| self.resolved.function(at));
        let key = called.map(|(_, function)| &function.key);
        let function =
            key.and_then(|key| self.schema.function(key)).map(|FunctionId(position)| position as usize);
        let step = Step::compile(written, scopes, callers, function, &mut self.texts)?;
        if let (StepAction::Invoke(invoke), Some((_, target))) = (&step.action, called) {
            self.check_invoke(callers, invoke, target);
        }
        Some(step)
    }

    /// The steps of the policies that are for the agent: in the order of their names ahead of calls and on inputs, and the other
    /// way round behind calls and on responses.
    pub(super) fn policies(&mut self) -> Option<PolicySteps> {
        let policies = &self.resolved.policies;
        let mut steps = PolicySteps::default();
        if policies.is_empty() {
            return Some(steps);
        }
        steps.calls.resize(self.functions.len(), CallSteps::default());
        let transformed = self.transformed();
        let mut is_whole = true;
        let definitions = self.definitions.clone();
        let known = |texts: &mut Texts<'_>, definitions: &Arc<Definitions>| {
            texts.definitions = Some(definitions.clone());
        };
        for (at, (applied, definitions)) in policies.iter().zip(&definitions).enumerate() {
            known(&mut self.texts, definitions);
            self.declare_counters(at, applied);
            self.declare_results(applied);
            for hook in [Hook::BeforeFirst, Hook::Before] {
                is_whole &= self.policy_calls((at, applied), hook, &transformed, &mut steps.calls);
            }
            let compiled = self.policy_guardrails((at, applied), Hook::GuardrailBefore);
            is_whole &= compiled.is_some();
            steps.guardrails_before.extend(compiled.into_iter().flatten());
            let compiled = self.model_steps((at, applied), Hook::ModelBefore);
            is_whole &= compiled.is_some();
            steps.model_before.extend(compiled.into_iter().flatten());
            let compiled = self.tool_checks(applied);
            is_whole &= compiled.is_some();
            steps.tools.extend(compiled.into_iter().flatten());
        }
        for (at, (applied, definitions)) in policies.iter().zip(&definitions).enumerate().rev() {
            known(&mut self.texts, definitions);
            is_whole &= self.policy_calls((at, applied), Hook::After, &transformed, &mut steps.calls);
            let compiled = self.policy_guardrails((at, applied), Hook::GuardrailAfter);
            is_whole &= compiled.is_some();
            steps.guardrails_after.extend(compiled.into_iter().flatten());
            let compiled = self.model_steps((at, applied), Hook::ModelAfter);
            is_whole &= compiled.is_some();
            steps.model_after.extend(compiled.into_iter().flatten());
        }
        for calls in &mut steps.calls {
            // what an argument is in the end, each other step sees
            calls.before.sort_by_key(|step| step.sets().is_none());
        }
        self.drop_steps_of_denied(&mut steps.calls);
        self.texts.definitions = None;
        is_whole.then_some(steps)
    }

    /// Leaves out what would run ahead of a denial by default: a step ahead of the first call mentions no function by `*`, and a person would be
    /// asked about a call that is denied anyway.
    fn drop_steps_of_denied(&self, calls: &mut [CallSteps]) {
        for applied in &self.resolved.policies {
            let mut denial = applied.policy.default_denial.iter().flat_map(PolicyCapability::steps);
            if !denial.any(|step| step.mode == Mode::Enforce) {
                continue;
            }
            for position in applied.default.functions.iter().map(|at| self.position(*at)) {
                let Some(calls) = calls.get_mut(position) else { continue };
                calls.before_first.retain(|step| step.mode == Mode::Observe);
            }
        }
    }

    /// Adds the steps of one list of a policy to the functions that they are for. Whether all compile.
    fn policy_calls(
        &mut self,
        (at, applied): (usize, &AppliedPolicy),
        hook: Hook,
        transformed: &HashMap<usize, usize>,
        calls: &mut [CallSteps],
    ) -> bool {
        let (action, condition) = match hook {
            Hook::After => (Scope::After, Scope::AfterCondition),
            _ => (Scope::Before, Scope::BeforeCondition),
        };
        let mut is_whole = true;
        let results = self.results_of(applied);
        for (key, selected) in applied.keys() {
            let positions: Vec<usize> = selected.functions.iter().map(|at| self.position(*at)).collect();
            if positions.is_empty() {
                continue;
            }
            let of = |scope, is_transformed| ScopeKey {
                functions: positions.clone(),
                transformed: is_transformed,
                counters: Some(at).filter(|_| hook != Hook::After && !applied.policy.counters.is_empty()),
                invoked: results.clone(),
                host: declares_functions(at, applied),
                of_policy: true,
                ..ScopeKey::plain(scope)
            };
            let written = match hook {
                Hook::BeforeFirst => &key.before_first,
                Hook::Before => &key.before,
                _ => &key.after,
            };
            for step in written {
                // its own transform sees what the call gave
                let own = usize::from(is_transform(step));
                let others = |at: &usize| transformed.get(at).is_some_and(|transforms| *transforms > own);
                let is_transformed = positions.iter().any(others);
                let action = self.step_scope(of(action, is_transformed), &key.key.text);
                let condition = match &step.condition {
                    Some(_) => self.step_scope(of(condition, is_transformed), &key.key.text),
                    None => action.clone(),
                };
                let scopes = StepScopes { action, condition };
                let Some(compiled) = self.policy_step(applied, step, &scopes, &positions) else {
                    is_whole = false;
                    continue;
                };
                for position in &positions {
                    let own = if asks_for_call(&compiled) {
                        let own = self.policy_step_of(*position, applied, step, &scopes, &positions);
                        is_whole &= own.is_some();
                        own.filter(|own| !never_applies(own))
                    } else {
                        Some(compiled.clone())
                    };
                    self.check_delay(*position, own.as_deref());
                    let Some(calls) = calls.get_mut(*position) else { continue };
                    let list = match hook {
                        Hook::BeforeFirst => &mut calls.before_first,
                        Hook::Before if applied.policy.watches => &mut calls.watching,
                        Hook::Before => &mut calls.before,
                        _ => &mut calls.after,
                    };
                    list.extend(own);
                }
            }
        }
        is_whole
    }

    fn policy_guardrails(
        &mut self,
        (at, applied): (usize, &AppliedPolicy),
        hook: Hook,
    ) -> Option<Vec<Arc<Step>>> {
        let (written, scope) = match hook {
            Hook::GuardrailBefore => (&applied.policy.guardrails_before, Scope::GuardrailBefore),
            _ => (&applied.policy.guardrails_after, Scope::GuardrailAfter),
        };
        if written.is_empty() {
            return Some(Vec::new());
        }
        let (invoked, host) = (self.results_of(applied), declares_functions(at, applied));
        let key = ScopeKey { invoked, host, of_policy: true, ..ScopeKey::plain(scope) };
        let types = self.scope(key, Type::Dyn, Type::Dyn, Type::Dyn);
        let scopes = StepScopes { action: types.clone(), condition: types };
        // all of them are compiled, so that each problem is told
        let compile = |step| {
            let compiled = self.policy_step(applied, step, &scopes, &[]);
            let known = self.texts.findings.len();
            compiled.iter().for_each(|step| self.check_message(step, scope));
            // it belongs to what was found about the step, which is told once for all agents
            let found = self.texts.findings.split_off(known);
            self.texts
                .of_policies
                .last_mut()
                .into_iter()
                .for_each(|step| step.findings.extend(found.clone()));
            compiled
        };
        let steps: Vec<_> = written.iter().map(compile).collect();
        steps.into_iter().collect()
    }

    /// A step of a policy about the calls of these functions, or about messages; what is found stands apart.
    pub(super) fn policy_step(
        &mut self,
        applied: &AppliedPolicy,
        written: &DeclaredStep,
        scopes: &StepScopes,
        callers: &[usize],
    ) -> Option<Arc<Step>> {
        let target = match &written.action {
            DeclaredAction::Invoke(invoke) => applied.invoke_target(invoke),
            DeclaredAction::Assert(_)
            | DeclaredAction::Deny(_)
            | DeclaredAction::Limit(_)
            | DeclaredAction::Transform(_)
            | DeclaredAction::Label(_)
            | DeclaredAction::Effect(_) => None,
        };
        let known = self.texts.findings.len();
        let compiled = self.step_to(target, written, scopes, callers);
        if let DeclaredAction::Transform(text) = &written.action {
            self.check_transform(callers, compiled.as_ref(), text);
        }
        let expressions = compiled.iter().flat_map(Step::expressions);
        self.texts.findings.extend(expressions.flat_map(bad_reviews));
        self.check_results_read(applied, written, compiled.as_ref());
        self.check_needed(callers, compiled.as_ref());
        if let Some((step, values)) = compiled.as_ref().and_then(|step| Some((step, step.sets()?))) {
            self.check_set(callers, step, values);
        }
        if let (Some(step), DeclaredAction::Effect(effect)) = (&compiled, &written.action) {
            self.check_effect(callers, step, effect, &written.path);
        }
        let findings = self.texts.findings.split_off(known);
        let of = written.name.as_deref().map(UseOfPolicy::of).unwrap_or_default();
        self.texts.of_policies.push(OfPolicyStep { of, place: written.place.clone(), findings });
        compiled.map(Arc::new)
    }

    /// A step of a policy for one of its functions, as far as it asks for the function of the call. What is worth a warning was found
    /// when it was compiled for all of them; of one function alone most such steps are constant.
    fn policy_step_of(
        &mut self,
        function: usize,
        applied: &AppliedPolicy,
        written: &DeclaredStep,
        scopes: &StepScopes,
        callers: &[usize],
    ) -> Option<Arc<Step>> {
        let known = self.texts.of_policies.len();
        self.texts.call = self.functions.get(function).map(|declaration| declaration.call.clone());
        let compiled = self.policy_step(applied, written, scopes, callers);
        self.texts.call = None;
        let mut found = self.texts.of_policies.split_off(known);
        found.iter_mut().for_each(|step| step.findings.retain(Diagnostic::is_error));
        self.texts.of_policies.extend(found.into_iter().filter(|step| !step.findings.is_empty()));
        compiled
    }

    /// How many steps of all documents make something else of the results of each function.
    fn transformed(&self) -> HashMap<usize, usize> {
        let own = self.functions.iter().enumerate().flat_map(|(position, declaration)| {
            let entry = self.resolved.capabilities.get(declaration.capability);
            let capability = entry.and_then(|entry| entry.capability(self.agent));
            let steps = capability.into_iter().flat_map(|capability| &capability.after);
            let name = sanitise(&declaration.function.name);
            let is_for = move |step: &&DeclaredStep| {
                step.match_name.as_ref().is_none_or(|selected| sanitise(&selected.text) == name)
            };
            steps.filter(|step| is_transform(step)).filter(is_for).map(move |_| position)
        });
        let keys = self.resolved.policies.iter().flat_map(AppliedPolicy::keys);
        let of_policies = keys.flat_map(|(key, selected)| {
            let transforms = key.after.iter().filter(|step| is_transform(step)).count();
            selected.functions.iter().flat_map(move |at| std::iter::repeat_n(*at, transforms))
        });
        let mut counts = HashMap::new();
        for position in own.chain(of_policies.map(|at| self.position(at))) {
            let count: &mut usize = counts.entry(position).or_default();
            *count = count.saturating_add(1);
        }
        counts
    }

    /// The position of a function among those of the policy.
    pub(super) fn position(&self, at: FunctionRef) -> usize {
        let before = self.resolved.capabilities.iter().take(at.capability);
        let before = before.fold(0_usize, |sum, entry| sum.saturating_add(entry.functions.len()));
        before.saturating_add(at.function)
    }
}

/// Whether what a step does depends on the function of the call.
fn asks_for_call(step: &Step) -> bool {
    step.expressions().any(|expression| reads_call(expression.program().expr()))
}

/// Whether the condition of a step is false, whatever comes.
fn never_applies(step: &Step) -> bool {
    step.condition.as_ref().is_some_and(|condition| condition.program().constant_truth() == Some(false))
}

fn is_transform(step: &DeclaredStep) -> bool {
    matches!(step.action, DeclaredAction::Transform(_))
}
