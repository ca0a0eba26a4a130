//! Optional arguments that a step reads without `has`: every call without one fails at the step.
//!
//! In: the lists of steps that the calls of each function pass. Out: findings by step. An argument that an earlier step asks for, reads or sets is present for later steps,
//! so each argument is reported once per list. A condition that compares an argument with constants may select the calls that have another one, so the action of such a step is not looked at. Linear in the steps, times the functions.

use super::document;
use super::messages::{self, Fails};
use super::path::part;
use crate::cel::{ExprKind, Literal, Type};
use crate::diagnostic::Diagnostic;
use crate::manifest::mode::Mode;
use crate::manifest::step::{Hook, OnFail};
use crate::policy::{
    AgentFunction, ArgumentPath, Effect, Expression, Missing, NeededArgument, ParameterSource, Policy,
    SetArguments, Step, StepAction, asked_for, given_by_truth, needed_for_exemption, needed_for_truth,
    needed_for_value, tells_kinds_apart,
};
use std::collections::{HashMap, HashSet};

/// Findings about steps around calls, by step.
pub(super) fn findings(policy: &Policy) -> HashMap<*const Step, Vec<Diagnostic>> {
    let mut found: HashMap<*const Step, Vec<Diagnostic>> = HashMap::new();
    let mut told = HashSet::new();
    let callers = callers(policy);
    for (position, function) in policy.functions().iter().enumerate() {
        let mut given: HashMap<Option<&str>, HashSet<ArgumentPath>> = HashMap::new();
        for hook in [Hook::BeforeFirst, Hook::Before, Hook::After] {
            let steps = policy.steps_of_call(hook, position);
            for step in steps.iter().filter(|step| step.is_for(&function.name)) {
                // a policy does not rely on what another document asks for
                let given = given.entry(document(step)).or_default();
                for Lacking { expression, argument, fails } in
                    lacking(step, (policy, function), &callers, given)
                {
                    let place = expression.place_of(argument.span);
                    if told.insert((std::ptr::from_ref(step), place.span)) {
                        let finding =
                            messages::read_without_has(place, &function.key, &written(&argument), fails);
                        let finding = finding.path(expression.origin().path);
                        found.entry(std::ptr::from_ref(step)).or_default().push(finding);
                    }
                }
                pass(step, given);
            }
            if hook == Hook::BeforeFirst {
                // it checks the first call only
                given.clear();
            }
        }
    }
    found
}

/// An argument that a step needs and calls of a function may omit.
struct Lacking<'s> {
    /// The expression that reads it.
    expression: &'s Expression,
    argument: NeededArgument,
    /// Which calls without it fail.
    fails: Fails,
}

/// Arguments that a step needs and calls of a function may omit.
fn lacking<'s>(
    step: &'s Step,
    (policy, function): (&Policy, &AgentFunction),
    callers: &HashMap<*const Step, Vec<usize>>,
    given: &HashSet<ArgumentPath>,
) -> Vec<Lacking<'s>> {
    if step.on_fail == OnFail::Continue {
        return Vec::new();
    }
    let asked: Vec<ArgumentPath> = step.expressions().flat_map(|it| asked_for(it.program().expr())).collect();
    let mut found: Vec<Lacking<'s>> = Vec::new();
    let mut take = |expression: &'s Expression, more: Vec<NeededArgument>, fails: Fails| {
        found.extend(more.into_iter().map(|argument| Lacking { expression, argument, fails }));
    };
    let of_action = if step.condition.is_some() { Fails::UnderCondition } else { Fails::Always };
    let mut selected: Vec<ArgumentPath> = Vec::new();
    let mut selects_kind = false;
    if let Some(condition) = &step.condition {
        let expr = condition.program().expr();
        let needed = needed_for_value(expr);
        selected.extend(needed.iter().map(|argument| argument.path.clone()));
        selects_kind = tells_kinds_apart(expr);
        take(condition, needed, Fails::Always);
    }
    if !selects_kind {
        match &step.action {
            StepAction::Assert(assert) => {
                let expr = assert.program().expr();
                take(assert, needed_for_truth(expr), of_action);
                take(assert, needed_for_exemption(expr), Fails::UnlessExempt);
            }
            StepAction::Transform(value) => take(value, needed_for_value(value.program().expr()), of_action),
            StepAction::Effect(Effect::Set(values)) => {
                for value in values.expressions() {
                    take(value, needed_for_value(value.program().expr()), of_action);
                }
            }
            StepAction::Effect(_) | StepAction::Invoke(_) | StepAction::Label(_) => {}
        }
    }
    let callers = callers.get(&std::ptr::from_ref(step)).map(Vec::as_slice).unwrap_or_default();
    let is_one = callers.len() == 1;
    let is_read_by_condition = |it: &Lacking<'_>| {
        let is_action =
            step.condition.as_ref().is_none_or(|condition| !std::ptr::eq(condition, it.expression));
        is_action && selected.contains(&it.argument.path)
    };
    found.retain(|it| {
        let argument = &it.argument;
        !asked.contains(&argument.path)
            && !given.contains(&argument.path)
            && !is_read_by_condition(it)
            && match argument.is_whole() {
                true => {
                    may_lack(function, argument.name()) && !is_lacking_in_others(callers, policy, argument)
                }
                false => {
                    is_one
                        && is_declared(function, argument.name())
                        && is_optional_part(it.expression, argument)
                }
            }
    });
    found
}

/// Whether the model may omit an argument that has no default.
fn may_lack(function: &AgentFunction, name: &str) -> bool {
    let mut own = function.parameters.iter().filter(|parameter| *parameter.name == *name);
    own.any(|it| it.source == ParameterSource::Model && it.missing == Missing::LeftOut)
}

fn is_declared(function: &AgentFunction, name: &str) -> bool {
    function.parameters.iter().any(|parameter| *parameter.name == *name)
}

/// The functions whose calls pass each step. A step that asks for the function of the call is one of its own for each of them.
fn callers(policy: &Policy) -> HashMap<*const Step, Vec<usize>> {
    let mut callers: HashMap<*const Step, Vec<usize>> = HashMap::new();
    for position in 0..policy.functions().len() {
        for hook in [Hook::BeforeFirst, Hook::Before, Hook::After] {
            for step in policy.steps_of_call(hook, position).iter() {
                callers.entry(std::ptr::from_ref(step)).or_default().push(position);
            }
        }
    }
    callers
}

/// Whether some function of a step does not declare the argument, which the compiler reports as `read_not_by_all`.
fn is_lacking_in_others(callers: &[usize], policy: &Policy, argument: &NeededArgument) -> bool {
    let functions = callers.iter().filter_map(|at| policy.function(*at));
    functions.into_iter().any(|it| !it.parameters.is_open() && !is_declared(it, argument.name()))
}

/// Whether the schema of an argument lets an object in it omit a field.
fn is_optional_part(expression: &Expression, argument: &NeededArgument) -> bool {
    let Some(checked) = expression.checked() else { return false };
    let (operand, field) = match part(&checked.expr, argument.id).map(|read| &read.kind) {
        Some(ExprKind::Select { operand, field, .. }) => (operand, &field.text),
        Some(ExprKind::Index { operand, index, .. }) => match &index.kind {
            ExprKind::Literal(Literal::String(field)) => (operand, field),
            _ => return false,
        },
        _ => return false,
    };
    let Type::Record(record) = checked.type_of(operand.id) else { return false };
    let declared = record.slot(field).and_then(|slot| record.fields.get_index(slot));
    declared.is_some_and(|(_, declared)| !declared.required)
}

/// Adds the arguments that every call has after it has passed a step.
fn pass(step: &Step, given: &mut HashSet<ArgumentPath>) {
    match &step.action {
        // a step that sets under a condition handles the calls without the argument
        StepAction::Effect(Effect::Set(SetArguments::Each(values))) => {
            given.extend(values.iter().map(|computed| vec![Some(computed.name.to_string())]));
        }
        StepAction::Assert(assert)
            if step.condition.is_none() && step.mode == Mode::Enforce && step.on_fail != OnFail::Continue =>
        {
            given.extend(given_by_truth(assert.program().expr()));
        }
        _ => {}
    }
    if let Some(condition) = &step.condition {
        given.extend(needed_for_value(condition.program().expr()).into_iter().map(|it| it.path));
    }
}

/// `options.limit`, `items[].price`
fn written(argument: &NeededArgument) -> String {
    let mut text = String::new();
    for step in &argument.path {
        match step {
            Some(name) if text.is_empty() => text.push_str(name),
            Some(name) => {
                text.push('.');
                text.push_str(name);
            }
            None => text.push_str("[]"),
        }
    }
    text
}
