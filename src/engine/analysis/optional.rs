//! Optional members that a step reads without `has`: arguments, claims of the user, members of a result. The step fails where one is missing.
//!
//! In: the lists of steps that the calls of each function pass, and its counters. Out: findings by step. What an earlier step asks for, reads or sets is present for later steps,
//! so each member is reported once per list. A condition that compares an argument with constants may select the calls that have another one, so the action of such a step is not looked at. An assert
//! that compares a claim with constants denies users without it, which is meant; a condition, and an assert that denies a constant, are not. Linear in the steps, times the functions.

use super::document;
use super::messages::{self, Fails};
use super::path::part;
use crate::cel::{ExprKind, Literal, Type};
use crate::diagnostic::Diagnostic;
use crate::manifest::mode::Mode;
use crate::manifest::step::{Hook, OnFail};
use crate::policy::{
    AgentFunction, ArgumentPath, CounterReader, Effect, Expression, Missing, NeededArgument, ParameterSource,
    Policy, ReadMap, SetArguments, Step, StepAction, asked_for, given_by_truth, needed_for_denial,
    needed_for_exemption, needed_for_truth, needed_for_value, tells_kinds_apart,
};
use std::collections::{HashMap, HashSet};

/// The members that are present for later steps, by the document of the steps.
type Given<'p> = HashMap<(Option<&'p str>, ReadMap), HashSet<ArgumentPath>>;

/// Findings about steps around calls, by step.
pub(super) fn findings(policy: &Policy) -> HashMap<*const Step, Vec<Diagnostic>> {
    let mut found: HashMap<*const Step, Vec<Diagnostic>> = HashMap::new();
    let mut told = HashSet::new();
    let callers = callers(policy);
    for (position, function) in policy.functions().iter().enumerate() {
        let mut given = Given::new();
        for (step, lacking) in of_counters(policy, position, &callers) {
            let path = lacking.argument.path.clone();
            given.entry((document(step), ReadMap::Arguments)).or_default().insert(path);
            let place = lacking.expression.place_of(lacking.argument.span);
            if told.insert((std::ptr::from_ref(step), place.span)) {
                found.entry(std::ptr::from_ref(step)).or_default().push(lacking.tell(function));
            }
        }
        for hook in [Hook::BeforeFirst, Hook::Before, Hook::After] {
            let maps: &[ReadMap] = match hook {
                Hook::After => &[ReadMap::Arguments, ReadMap::Claims, ReadMap::Result],
                _ => &[ReadMap::Arguments, ReadMap::Claims],
            };
            let steps = policy.steps_of_call(hook, position);
            let own = steps.iter().filter(|step| step.is_for(&function.name));
            for (step, map) in own.flat_map(|step| maps.iter().map(move |map| (step, *map))) {
                // a policy does not rely on what another document asks for
                let given = given.entry((document(step), map)).or_default();
                for lacking in lacking(map, step, (policy, function), &callers, given) {
                    let place = lacking.expression.place_of(lacking.argument.span);
                    if told.insert((std::ptr::from_ref(step), place.span)) {
                        found.entry(std::ptr::from_ref(step)).or_default().push(lacking.tell(function));
                    }
                }
                pass(map, step, given);
            }
            if hook == Hook::BeforeFirst {
                // it checks the first call only
                given.clear();
            }
        }
    }
    found
}

/// A member that a step needs and that may be missing.
struct Lacking<'s> {
    /// The map that lacks it.
    map: ReadMap,
    /// The expression that reads it.
    expression: &'s Expression,
    argument: NeededArgument,
    /// Which calls without it fail.
    fails: Fails,
}

impl Lacking<'_> {
    fn tell(&self, function: &AgentFunction) -> Diagnostic {
        let place = self.expression.place_of(self.argument.span);
        let finding = messages::read_without_has(
            place,
            &function.key,
            (self.map, &written(&self.argument)),
            self.fails,
        );
        finding.path(self.expression.origin().path)
    }
}

/// Arguments that the counters of a function need, each with the first step of the counter's policy.
fn of_counters<'p>(
    policy: &'p Policy,
    position: usize,
    callers: &HashMap<*const Step, Vec<usize>>,
) -> Vec<(&'p Step, Lacking<'p>)> {
    let Some(function) = policy.function(position) else { return Vec::new() };
    let steps = |hook| policy.steps_of_call(hook, position).iter().filter(|step| step.is_for(&function.name));
    let mut found = Vec::new();
    for counter in policy.counters().of(CounterReader::Function(position)) {
        let mut of_policy = [Hook::BeforeFirst, Hook::Before, Hook::After].into_iter().flat_map(steps);
        let Some(step) = of_policy.find(|step| counter.is_of_policy_of(step)) else { continue };
        // one expression for several functions is for those that have the argument
        let is_one = callers.get(&std::ptr::from_ref(step)).is_none_or(|callers| callers.len() == 1);
        let added = counter.added_by(position);
        for expression in added.into_iter().chain(counter.key()).filter(|_| is_one) {
            let needed = needed_for_value(ReadMap::Arguments, expression.program().expr());
            let lacking = needed.into_iter().filter(|it| it.is_whole() && may_lack(function, it.name()));
            found.extend(lacking.map(|argument| {
                (step, Lacking { map: ReadMap::Arguments, expression, argument, fails: Fails::Always })
            }));
        }
    }
    found
}

/// Members that a step needs and that may be missing.
fn lacking<'s>(
    map: ReadMap,
    step: &'s Step,
    (policy, function): (&Policy, &AgentFunction),
    callers: &HashMap<*const Step, Vec<usize>>,
    given: &HashSet<ArgumentPath>,
) -> Vec<Lacking<'s>> {
    if step.on_fail == OnFail::Continue {
        return Vec::new();
    }
    let asked: Vec<ArgumentPath> =
        step.expressions().flat_map(|it| asked_for(map, it.program().expr())).collect();
    let mut found: Vec<Lacking<'s>> = Vec::new();
    let mut take = |expression: &'s Expression, more: Vec<NeededArgument>, fails: Fails| {
        found.extend(more.into_iter().map(|argument| Lacking { map, expression, argument, fails }));
    };
    let of_action = if step.condition.is_some() { Fails::UnderCondition } else { Fails::Always };
    let mut selected: Vec<ArgumentPath> = Vec::new();
    let mut selects_kind = false;
    if let Some(condition) = &step.condition {
        let expr = condition.program().expr();
        let needed = needed_for_value(map, expr);
        selected.extend(needed.iter().map(|argument| argument.path.clone()));
        selects_kind = tells_kinds_apart(map, expr);
        take(condition, needed, Fails::Always);
    }
    if !selects_kind {
        match &step.action {
            StepAction::Assert(assert) if map == ReadMap::Claims => {
                let expr = assert.program().expr();
                take(assert, needed_for_denial(map, expr), of_action);
                take(assert, needed_for_exemption(map, expr), Fails::UnlessExempt);
            }
            StepAction::Assert(assert) => {
                let expr = assert.program().expr();
                take(assert, needed_for_truth(map, expr), of_action);
                take(assert, needed_for_exemption(map, expr), Fails::UnlessExempt);
            }
            StepAction::Transform(value) => {
                take(value, needed_for_value(map, value.program().expr()), of_action);
            }
            StepAction::Effect(effect) => {
                for value in values_of(effect) {
                    take(value, needed_for_value(map, value.program().expr()), of_action);
                }
            }
            StepAction::Invoke(_) | StepAction::Label(_) => {}
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
            && match map {
                ReadMap::Arguments if argument.is_whole() => {
                    may_lack(function, argument.name()) && !is_lacking_in_others(callers, policy, argument)
                }
                ReadMap::Arguments => {
                    is_one
                        && is_declared(function, argument.name())
                        && is_optional_part(it.expression, argument)
                }
                ReadMap::Claims => policy.claims().may_lack(&argument.path),
                ReadMap::Result => {
                    is_one && function.output.as_ref().is_some_and(|output| output.may_lack(&argument.path))
                }
            }
    });
    found
}

/// The expressions of an effect whose failure stops the call.
fn values_of(effect: &Effect) -> Vec<&Expression> {
    match effect {
        Effect::Set(values) => values.expressions().collect(),
        Effect::Respond(value) => vec![value],
        Effect::Oblige(duties) => {
            duties.iter().flat_map(|duty| &duty.values).map(|computed| &computed.value).collect()
        }
        Effect::Delay(_) | Effect::Credential(_) => Vec::new(),
    }
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

/// Adds the members that every call has after it has passed a step.
fn pass(map: ReadMap, step: &Step, given: &mut HashSet<ArgumentPath>) {
    match &step.action {
        // a step that sets under a condition handles the calls without the argument
        StepAction::Effect(Effect::Set(SetArguments::Each(values))) if map == ReadMap::Arguments => {
            given.extend(values.iter().map(|computed| vec![Some(computed.name.to_string())]));
        }
        StepAction::Assert(assert)
            if step.condition.is_none() && step.mode == Mode::Enforce && step.on_fail != OnFail::Continue =>
        {
            given.extend(given_by_truth(map, assert.program().expr()));
        }
        _ => {}
    }
    if let Some(condition) = &step.condition {
        given.extend(needed_for_value(map, condition.program().expr()).into_iter().map(|it| it.path));
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
