//! What is found of a step once it is compiled, beside the functions whose calls it is about.
//!
//! In: a compiled step, and positions of functions. Out: findings, among those of the compiler. Linear in the step, times the functions.

use super::compiler::Compiler;
use super::declaration::Declaration;
use super::effect::{ComputedValue, Effect, SetArguments};
use super::expression::Expression;
use super::known_call::reads_call;
use super::message_transform::no_message;
use super::messages;
use super::needed::{ReadMap, needed_for_truth};
use super::of_agents::{OfPolicyStep, UseOfPolicy};
use super::parameter::{Parameter, ParameterSource};
use super::put::{added_keys, missed_keys};
use super::secrets;
use super::step::{Invoke, Step, StepAction};
use crate::cel::{Expr, ExprKind, Kind, Literal};
use crate::context::{FunctionId, Scope};
use crate::diagnostic::slip;
use crate::manifest::catalog::DeclaredFunction;
use crate::manifest::mode::Mode;
use crate::manifest::step::OnFail;
use crate::manifest::step_effect::DeclaredEffect;
use crate::manifest::tool::DeclaredExecute;
use crate::source::{Embedded, Span};

impl Compiler<'_> {
    /// Says so if a step gives the function that it invokes a value that fits no parameter of it, or shows a secret in its arguments.
    pub(super) fn check_invoke(&mut self, callers: &[usize], invoke: &Invoke, target: &DeclaredFunction) {
        let callers = function_ids(callers);
        let findings = &mut self.texts.findings;
        let values = invoke.bindings.iter().filter_map(|it| Some((&*it.name, it.expression()?)));
        secrets::warn_of_shown(values, target, &callers, &self.schema, findings);
        let Some(declaration) = invoke.function.and_then(|at| self.functions.get(at)) else { return };
        for binding in &invoke.bindings {
            let mut parameters = declaration.parameters.iter().filter(|it| it.name == binding.name);
            if parameters.any(|parameter| binding.misfits(&parameter.shape)) {
                findings.push(binding.told_of_invoke_misfit(&target.key));
            }
        }
    }

    /// Says so if a transform makes something that none of its actions declares. It is no error: what an agent makes of a
    /// result, such as a mask in the place of an address, is its own affair. A mask in the place of nothing is one.
    pub(super) fn check_transform(&mut self, functions: &[usize], step: Option<&Step>, text: &Embedded) {
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
                (Some(near), _) if key.is_open => messages::put_near(place, &key.record, &key.key, near),
                (Some(near), _) => messages::put_beside(place, &key.record, &key.key, near),
                (None, Some(output)) if key.to_result => messages::transform_misfit(place, output.place()),
                (None, _) => continue,
            };
            self.texts.findings.push(finding.path(&path));
        }
        for key in missed_keys(transform) {
            let finding = messages::redact_near(transform.place_of(key.span), &key.key, &key.near);
            self.texts.findings.push(finding.path(&path));
        }
        if let Some(output) = declared.clone().next()
            && declared.count() == 1
        {
            let fields = || output.shape().fields.iter().map(|field| &*field.name);
            for (key, span) in map_keys(transform.program().expr()) {
                if let Some(near) = slip(key, fields()).filter(|_| !fields().any(|field| field == key)) {
                    let finding = messages::map_near(transform.place_of(span), key, near);
                    self.texts.findings.push(finding.path(&path));
                }
            }
        }
    }

    /// Says so if a transform of a guardrail gives nothing that can take the place of a message.
    pub(super) fn check_message(&mut self, step: &Step, scope: Scope) {
        let StepAction::Transform(transform) = &step.action else { return };
        let Some(span) = no_message(transform) else { return };
        let root = if scope == Scope::GuardrailBefore { "input" } else { "output" };
        let finding = messages::message_transform_misfit(transform.place_of(span), root);
        self.texts.findings.push(finding.path(&transform.origin().path));
    }

    /// Says so if an assert cannot hold for calls of some of these functions, as they lack an argument that it reads. With a condition, or with a question about the
    /// function, its author may have thought of that.
    pub(super) fn check_needed(&mut self, functions: &[usize], step: Option<&Step>) {
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
        for argument in
            needed_for_truth(ReadMap::Arguments, expr).iter().filter(|argument| argument.is_whole())
        {
            let (name, span) = (argument.name(), argument.span);
            let lacking = lacking(&declared, name);
            let [first, others @ ..] = lacking.as_slice() else { continue };
            // where all of them lack it, the type of `input` says so
            if lacking.len() < declared.len() {
                let finding = messages::read_not_by_all(assert.place_of(span), name, first, others.len());
                self.texts.findings.push(finding.path(&assert.origin().path));
            }
        }
    }

    /// Says so if the host cannot do what a step asks for: a delay is too long, or the audience or a scope of a credential is no
    /// text, or is made of a secret, as decisions and logs show both.
    pub(super) fn check_effect(
        &mut self,
        functions: &[usize],
        step: &Step,
        effect: &DeclaredEffect,
        path: &str,
    ) {
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
        let callers = function_ids(functions);
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
    pub(super) fn check_delay(&mut self, function: usize, step: Option<&Step>) {
        let is_delay = |step: &&Step| matches!(step.action, StepAction::Effect(Effect::Delay(_)));
        let Some(step) = step.filter(is_delay).filter(|step| step.mode == Mode::Enforce) else { return };
        let Some(declaration) = self.functions.get(function) else { return };
        let entry = self.resolved.capabilities.get(declaration.capability);
        let action = entry.and_then(|entry| entry.action(declaration.function));
        if action.is_some_and(|action| matches!(action.execute, DeclaredExecute::Cel(_))) {
            let place = step.place().clone();
            let finding = messages::delay_unheeded(place.clone(), &declaration.function.key);
            let findings = vec![finding.path(&step.origin().path)];
            let of = step.name.as_deref().map(UseOfPolicy::of).unwrap_or_default();
            self.texts.of_policies.push(OfPolicyStep { of, place, findings });
        }
    }

    /// Says so if no function that a step answers in the place of declares such a result.
    pub(super) fn check_response(&mut self, functions: &[usize], response: &Expression) {
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
    pub(super) fn check_set(&mut self, functions: &[usize], step: &Step, set: &SetArguments) {
        match set {
            SetArguments::Each(values) => self.check_set_each(functions, step, values),
            SetArguments::Whole(value) => self.check_set_whole(functions, value),
        }
    }

    /// The same of a step that sets all arguments: its value is a map, and what is known of the keys is held to the parameters.
    fn check_set_whole(&mut self, functions: &[usize], value: &Expression) {
        let path = value.origin().path;
        let is_map = value.program().result_type().kind().is_none_or(|kind| kind == Kind::Map);
        if !is_map {
            let found = value.program().result_type().to_string();
            self.texts.findings.push(messages::set_not_a_map(value.place().clone(), &found).path(&path));
        }
        let declared: Vec<&Declaration<'_>> =
            functions.iter().filter_map(|&at| self.functions.get(at)).collect();
        let all = || declared.iter().flat_map(|declaration| declaration.parameters.iter());
        let is_open = declared.iter().any(|declaration| declaration.parameters.is_open());
        let mut findings = Vec::new();
        for (name, span) in written_keys(value.program().expr()) {
            if !is_open && !all().any(|parameter| *parameter.name == *name) {
                let names = all().map(|parameter| &*parameter.name);
                findings.push(messages::set_undeclared(value.place_of(span), name, names).path(&path));
            } else if is_open
                && let Some(near) = slip(name, all().map(|parameter| &*parameter.name))
                    .filter(|_| !all().any(|parameter| *parameter.name == *name))
            {
                findings.push(messages::put_near(value.place_of(span), "input", name, near).path(&path));
            }
        }
        for &at in functions {
            let (Some(declaration), Ok(position)) = (self.functions.get(at), u32::try_from(at)) else {
                continue;
            };
            let values = [("*", value)].into_iter();
            let caller = [FunctionId(position)];
            secrets::warn_of_shown(values, declaration.function, &caller, &self.schema, &mut findings);
        }
        self.texts.findings.extend(findings);
    }

    fn check_set_each(&mut self, functions: &[usize], step: &Step, values: &[ComputedValue]) {
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
            let is_declared = |it: &&Declaration<'_>| it.parameters.iter().any(|own| own.name == *name);
            let may_be_undeclared = is_open && !declared.iter().all(is_declared);
            let mut parameters = all().filter(|parameter| parameter.name == *name).peekable();
            if parameters.peek().is_none() && !is_open {
                let names = all().map(|parameter| &*parameter.name);
                self.texts.findings.push(messages::set_undeclared(place, name, names).path(&path));
            } else if parameters.peek().is_some()
                && parameters.all(|parameter| parameter.shape.excludes(value))
                && !may_be_undeclared
            {
                self.texts.findings.push(messages::set_misfit(place, name).path(&path));
            } else if let Some(near) = slip(name, all().map(|parameter| &*parameter.name))
                .filter(|_| is_open && !all().any(|parameter| parameter.name == *name))
            {
                let found = messages::put_near(value.place().clone(), "input", name, near);
                self.texts.findings.push(found.path(&path));
            } else if step.condition.is_none() {
                let lacking = lacking(&declared, name);
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
}

/// The keys of a map that is written out, also where `put` adds them or a condition selects it.
fn written_keys(expr: &Expr) -> Vec<(&str, Span)> {
    fn key(expr: &Expr) -> Option<(&str, Span)> {
        match &expr.kind {
            ExprKind::Literal(Literal::String(text)) => Some((text, expr.span)),
            _ => None,
        }
    }
    match &expr.kind {
        ExprKind::Map(entries) => entries.iter().filter_map(|entry| key(&entry.key)).collect(),
        ExprKind::Call { function, target: None, args } if function.text == "_?_:_" => {
            args.iter().skip(1).flat_map(written_keys).collect()
        }
        ExprKind::Call { function, target: Some(map), args } if function.text == "put" => {
            let own = args.first().and_then(key);
            written_keys(map).into_iter().chain(own).collect()
        }
        ExprKind::Bind { body, .. } => written_keys(body),
        _ => Vec::new(),
    }
}

/// The keys of a map that an expression gives, where it writes the whole map.
fn map_keys(expr: &Expr) -> Vec<(&str, Span)> {
    match &expr.kind {
        ExprKind::Map(_) => written_keys(expr),
        ExprKind::Call { function, target: None, args } if function.text == "_?_:_" => {
            args.iter().skip(1).flat_map(map_keys).collect()
        }
        ExprKind::Bind { body, .. } => map_keys(body),
        _ => Vec::new(),
    }
}

/// The functions that take no argument of this name, as the model knows them.
fn lacking<'d>(declared: &[&'d Declaration<'_>], name: &str) -> Vec<&'d str> {
    let lacks = |declaration: &&&Declaration<'_>| {
        let parameters = &declaration.parameters;
        !parameters.is_open() && !parameters.iter().any(|parameter| *parameter.name == *name)
    };
    declared.iter().filter(lacks).map(|it| &*it.function.key).collect()
}

fn function_ids(positions: &[usize]) -> Vec<FunctionId> {
    positions.iter().filter_map(|at| Some(FunctionId(u32::try_from(*at).ok()?))).collect()
}
