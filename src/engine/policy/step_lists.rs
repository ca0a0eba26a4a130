//! Lists of steps, compiled: those of capabilities and guardrails, and those of policies, laid out by function.
//!
//! In: the steps of an agent and of the policies that are for it, as they were written. Out: steps ready to run, each in a scope
//! whose types are those of the functions that share it; findings. A step of a policy is compiled once for the agent,
//! whatever number of functions it is for. Linear in the steps, and in what each policy's step is for.

use super::CapabilitySteps;
use super::Step;
use super::compiler::{Compiler, ScopeKey};
use super::declaration::Declaration;
use super::definitions::Definitions;
use super::effect::{ComputedValue, Effect};
use super::expression::Expression;
use super::expression::Texts;
use super::known_call::reads_call;
use super::messages;
use super::needed::needed_arguments;
use super::of_agents::OfPolicyStep;
use super::panel_check::bad_reviews;
use super::parameter::{Parameter, ParameterSource};
use super::policy_steps::{CallSteps, PolicySteps};
use super::put::added_keys;
use super::secrets;
use super::step::{StepAction, StepScopes};
use crate::cel::Kind;
use crate::cel::Type;
use crate::context::{FunctionId, Scope};
use crate::diagnostic::Diagnostic;
use crate::manifest::capability_key::sanitise;
use crate::manifest::catalog::{AppliedPolicy, CapabilityEntry, FunctionRef};
use crate::manifest::mode::Mode;
use crate::manifest::step::{DeclaredAction, DeclaredStep, Hook, OnFail};
use crate::manifest::step_effect::DeclaredEffect;
use crate::manifest::tool::DeclaredExecute;
use crate::source::Embedded;
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

    /// Says so if a transform makes something that none of its actions declares. It is no error: what an agent makes of a
    /// result, such as a mask in the place of an address, is its own affair. A mask in the place of nothing is one.
    fn check_transform(&mut self, functions: &[usize], step: Option<&Step>, text: &Embedded) {
        let Some(StepAction::Transform(transform)) = step.map(|step| &step.action) else { return };
        let path = transform.origin().path;
        let declared = functions.iter().filter_map(|&at| self.functions.get(at)?.output.as_ref());
        if let Some(output) = declared.clone().find(|output| output.excludes(transform)) {
            let finding = messages::transform_misfit(text.place.clone(), output.place());
            self.texts.findings.push(finding.path(&path));
            return;
        }
        for key in added_keys(transform) {
            let place = transform.place_of(key.span);
            let finding = match (&key.near, declared.clone().next()) {
                (Some(near), _) => messages::put_beside(place, &key.record, &key.key, near),
                (None, Some(output)) if key.to_result => messages::transform_misfit(place, output.place()),
                (None, _) => continue,
            };
            self.texts.findings.push(finding.path(&path));
        }
    }

    pub(super) fn guardrails(&mut self, written: &[DeclaredStep], scope: Scope) -> Option<Vec<Step>> {
        if written.is_empty() {
            return Some(Vec::new());
        }
        let scope = self.plain_scope(scope);
        let scopes = StepScopes { action: scope.clone(), condition: scope };
        let mut steps = Vec::new();
        for step in written {
            let compiled = self.step(step, &scopes, &[]);
            if let DeclaredAction::Transform(text) = &step.action {
                self.check_transform(&[], compiled.as_ref(), text);
            }
            steps.push(compiled);
        }
        steps.into_iter().collect()
    }

    /// A step of the agent's manifest about the calls of these functions, or of none.
    fn step(&mut self, written: &DeclaredStep, scopes: &StepScopes, callers: &[usize]) -> Option<Step> {
        let target = match &written.action {
            DeclaredAction::Invoke(invoke) => self.resolved.invoke_target(invoke),
            DeclaredAction::Assert(_)
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
            let callers = callers.iter().filter_map(|at| Some(FunctionId(u32::try_from(*at).ok()?)));
            let callers: Vec<FunctionId> = callers.collect();
            let findings = &mut self.texts.findings;
            let values = invoke.bindings.iter().filter_map(|it| Some((&*it.name, it.expression()?)));
            secrets::warn_of_shown(values, target, &callers, &self.schema, findings);
            let parameters =
                function.and_then(|at| self.functions.get(at)).map(|target| target.parameters.iter());
            for (parameter, binding) in parameters
                .into_iter()
                .flatten()
                .flat_map(|parameter| invoke.bindings.iter().map(move |binding| (parameter, binding)))
            {
                if binding.name == parameter.name && binding.misfits(&parameter.shape) {
                    findings.push(binding.told_of_invoke_misfit(&target.key));
                }
            }
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
            for hook in [Hook::BeforeFirst, Hook::Before] {
                is_whole &= self.policy_calls((at, applied), hook, &transformed, &mut steps.calls);
            }
            let compiled = self.policy_guardrails(applied, Hook::GuardrailBefore);
            is_whole &= compiled.is_some();
            steps.guardrails_before.extend(compiled.into_iter().flatten());
            let compiled = self.model_steps(applied, Hook::ModelBefore);
            is_whole &= compiled.is_some();
            steps.model_before.extend(compiled.into_iter().flatten());
            let compiled = self.tool_checks(applied);
            is_whole &= compiled.is_some();
            steps.tools.extend(compiled.into_iter().flatten());
        }
        for (at, (applied, definitions)) in policies.iter().zip(&definitions).enumerate().rev() {
            known(&mut self.texts, definitions);
            is_whole &= self.policy_calls((at, applied), Hook::After, &transformed, &mut steps.calls);
            let compiled = self.policy_guardrails(applied, Hook::GuardrailAfter);
            is_whole &= compiled.is_some();
            steps.guardrails_after.extend(compiled.into_iter().flatten());
            let compiled = self.model_steps(applied, Hook::ModelAfter);
            is_whole &= compiled.is_some();
            steps.model_after.extend(compiled.into_iter().flatten());
        }
        for calls in &mut steps.calls {
            // what an argument is in the end, each other step sees
            calls.before.sort_by_key(|step| step.sets().is_none());
        }
        self.texts.definitions = None;
        is_whole.then_some(steps)
    }

    /// Says so if the host cannot do what a step asks for: a delay is too long, or the audience or a scope of a credential is no
    /// text, or is made of a secret, as decisions and logs show both.
    fn check_effect(&mut self, functions: &[usize], step: &Step, effect: &DeclaredEffect, path: &str) {
        if let DeclaredEffect::Delay(delay) = effect
            && delay.milliseconds > self.limits.max_delay_ms
        {
            let finding = messages::delay_too_long(delay.place.clone(), self.limits.max_delay_ms);
            self.texts.findings.push(finding.path(format!("{path}.delay")));
        }
        if let StepAction::Effect(Effect::Respond(response)) = &step.action {
            self.check_response(functions, response);
        }
        let StepAction::Effect(Effect::Credential(asked)) = &step.action else { return };
        let callers = functions.iter().filter_map(|at| Some(FunctionId(u32::try_from(*at).ok()?)));
        let callers: Vec<FunctionId> = callers.collect();
        for expression in asked.expressions() {
            let program = expression.program();
            let (place, path) = (expression.place().clone(), expression.origin().path);
            let reads =
                |caller: &FunctionId| secrets::reads_secret(program.expr(), &self.schema, Some(*caller));
            if program.result_type().kind().is_some_and(|kind| kind != Kind::String) {
                self.texts.findings.push(messages::credential_misfit(place).path(&path));
            } else if callers.iter().any(reads) {
                self.texts.findings.push(messages::secret_in_credential(place).path(&path));
            }
        }
    }

    /// Says so if a step delays calls that the engine itself evaluates: nobody would wait.
    fn check_delay(&mut self, function: usize, step: Option<&Step>) {
        let is_delay = |step: &&Step| matches!(step.action, StepAction::Effect(Effect::Delay(_)));
        let Some(step) = step.filter(is_delay).filter(|step| step.mode == Mode::Enforce) else { return };
        let Some(declaration) = self.functions.get(function) else { return };
        let entry = self.resolved.capabilities.get(declaration.capability);
        let action = entry.and_then(|entry| entry.action(declaration.function));
        if action.is_some_and(|action| matches!(action.execute, DeclaredExecute::Cel(_))) {
            let place = step.place().clone();
            let finding = messages::delay_unheeded(place.clone(), &declaration.function.key);
            let findings = vec![finding.path(&step.origin().path)];
            self.texts.of_policies.push(OfPolicyStep { place, findings });
        }
    }

    /// Says so if no function that a step answers in the place of declares such a result.
    fn check_response(&mut self, functions: &[usize], response: &Expression) {
        let declared = functions.iter().filter_map(|at| self.functions.get(*at));
        let mut outputs = declared.map(|declaration| declaration.output.as_ref()).peekable();
        let is_any = outputs.peek().is_some();
        if is_any && outputs.all(|output| output.is_some_and(|output| output.excludes(response))) {
            let (place, path) = (response.place().clone(), response.origin().path);
            self.texts.findings.push(messages::respond_misfit(place).path(&path));
        }
    }

    /// Says so if a step sets what cannot be set: an argument that these functions do not have, or that the agent binds, or to a value
    /// that cannot fit. The calls of a function that lacks an argument which others have fail at the step, which is told unless the step has a
    /// condition, by which its author may have thought of that.
    fn check_set(&mut self, functions: &[usize], step: &Step, values: &[ComputedValue]) {
        let declared: Vec<&Declaration<'_>> =
            functions.iter().filter_map(|&at| self.functions.get(at)).collect();
        let is_open = declared.iter().any(|declaration| declaration.parameters.is_open());
        for ComputedValue { name, value } in values {
            let (place, path) = (value.place().clone(), value.origin().path);
            let all = || declared.iter().flat_map(|declaration| declaration.parameters.iter());
            let is_for_agent =
                |parameter: &Parameter| parameter.name == *name && parameter.source != ParameterSource::Model;
            if all().any(is_for_agent) {
                let finding =
                    messages::set_bound(place, name, &self.agent.namespace.text, &self.agent.name.text);
                self.texts.findings.push(finding.path(&path));
                continue;
            }
            let mut parameters = all().filter(|parameter| parameter.name == *name).peekable();
            if parameters.peek().is_none() && !is_open {
                let names = all().map(|parameter| &*parameter.name);
                self.texts.findings.push(messages::set_undeclared(place, name, names).path(&path));
            } else if parameters.peek().is_some()
                && parameters.all(|parameter| parameter.shape.excludes(value))
                && !is_open
            {
                self.texts.findings.push(messages::set_misfit(place, name).path(&path));
            } else if step.condition.is_none() {
                let lacks = |declaration: &&&Declaration<'_>| {
                    let parameters = &declaration.parameters;
                    !parameters.is_open() && !parameters.iter().any(|parameter| parameter.name == *name)
                };
                let lacking: Vec<&str> = declared.iter().filter(lacks).map(|it| &*it.function.key).collect();
                if let [first, others @ ..] = lacking.as_slice() {
                    let finding = messages::set_not_by_all(place, name, first, others.len());
                    self.texts.findings.push(finding.path(&path));
                }
            }
        }
        for &at in functions {
            let (Some(declaration), Ok(position)) = (self.functions.get(at), u32::try_from(at)) else {
                continue;
            };
            let values = values.iter().map(|it| (&*it.name, &it.value));
            let caller = [FunctionId(position)];
            let findings = &mut self.texts.findings;
            secrets::warn_of_shown(values, declaration.function, &caller, &self.schema, findings);
        }
    }

    /// Says so if an assert cannot hold for calls of some of these functions, as they lack an argument that it reads. With a condition, or with a question about the
    /// function, its author may have thought of that.
    fn check_needed(&mut self, functions: &[usize], step: Option<&Step>) {
        let Some(Step { action: StepAction::Assert(assert), condition: None, on_fail, .. }) = step else {
            return;
        };
        let expr = assert.program().expr();
        if *on_fail == OnFail::Continue || reads_call(expr) {
            return;
        }
        // what the model cannot call, a step calls with what it gives
        let declared = functions.iter().filter_map(|&at| self.functions.get(at));
        let declared: Vec<&Declaration<'_>> = declared.filter(|it| it.function.active).collect();
        for (name, span) in needed_arguments(expr) {
            let lacks = |declaration: &&&Declaration<'_>| {
                let parameters = &declaration.parameters;
                !parameters.is_open() && !parameters.iter().any(|parameter| *parameter.name == *name)
            };
            let lacking: Vec<&str> = declared.iter().filter(lacks).map(|it| &*it.function.key).collect();
            let [first, others @ ..] = lacking.as_slice() else { continue };
            // where all of them lack it, the type of `input` says so
            if lacking.len() < declared.len() {
                let finding = messages::read_not_by_all(assert.place_of(span), name, first, others.len());
                self.texts.findings.push(finding.path(&assert.origin().path));
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
        for (key, selected) in applied.keys() {
            let positions: Vec<usize> = selected.functions.iter().map(|at| self.position(*at)).collect();
            if positions.is_empty() {
                continue;
            }
            let of = |scope, is_transformed| ScopeKey {
                functions: positions.clone(),
                transformed: is_transformed,
                counters: Some(at).filter(|_| hook != Hook::After && !applied.policy.counters.is_empty()),
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

    fn policy_guardrails(&mut self, applied: &AppliedPolicy, hook: Hook) -> Option<Vec<Arc<Step>>> {
        let (written, scope) = match hook {
            Hook::GuardrailBefore => (&applied.policy.guardrails_before, Scope::GuardrailBefore),
            _ => (&applied.policy.guardrails_after, Scope::GuardrailAfter),
        };
        if written.is_empty() {
            return Some(Vec::new());
        }
        let key = ScopeKey { of_policy: true, ..ScopeKey::plain(scope) };
        let scope = self.scope(key, Type::Dyn, Type::Dyn, Type::Dyn);
        let scopes = StepScopes { action: scope.clone(), condition: scope };
        // all of them are compiled, so that each problem is told
        let steps: Vec<_> =
            written.iter().map(|step| self.policy_step(applied, step, &scopes, &[])).collect();
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
        self.check_needed(callers, compiled.as_ref());
        if let Some((step, values)) = compiled.as_ref().and_then(|step| Some((step, step.sets()?))) {
            self.check_set(callers, step, values);
        }
        if let (Some(step), DeclaredAction::Effect(effect)) = (&compiled, &written.action) {
            self.check_effect(callers, step, effect, &written.path);
        }
        let findings = self.texts.findings.split_off(known);
        self.texts.of_policies.push(OfPolicyStep { place: written.place.clone(), findings });
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
