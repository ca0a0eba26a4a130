//! Values near to those of a case and to the constants of a policy.
//!
//! In: a value of a case, and the constants of the expressions of a step. Out: other values that are worth trying in its place. Linear in the constants, for each
//! member of an object.

use super::mutants::Mutant;
use super::run::Compiled;
use crate::cel::{Expr, ExprKind, Literal, parse};
use crate::limits::EngineLimits;
use serde_json::{Value, json};

/// The constants of the expressions of the changed step, and those near to them.
pub(super) fn constants(mutant: &Mutant, compiled: &Compiled, limits: &EngineLimits) -> Vec<Value> {
    let mut found = Vec::new();
    let changed = mutant.steps();
    for list in compiled.catalog.step_lists() {
        let of_change = list.steps.iter().filter(|step| {
            changed.iter().any(|place| place.source.same(&step.place.source) && place.span == step.place.span)
        });
        for text in of_change.flat_map(|step| step.expressions()) {
            if let Ok(expression) = parse(&text.text, &limits.eval) {
                literals(&expression, &mut found);
            }
        }
    }
    for policy in compiled.catalog.agents().iter().flat_map(|resolved| &resolved.policies) {
        for text in policy.policy.named_texts().filter(|text| mutant.is_within(&text.place)) {
            if let Ok(expression) = parse(&text.text, &limits.eval) {
                literals(&expression, &mut found);
            }
        }
        let values = policy.policy.parameters.iter().filter_map(|parameter| parameter.value.as_ref());
        for value in values.filter(|value| mutant.is_within(&value.node.place)) {
            near_value(&value.node.to_json(), &mut found);
        }
    }
    found.dedup();
    found
}

/// The value of a parameter, or each member of a list, and those near to it.
fn near_value(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| near_value(item, found)),
        Value::Number(number) => match number.as_i64() {
            Some(number) => {
                found.extend([-1, 0, 1].iter().filter_map(|by| number.checked_add(*by)).map(Value::from));
            }
            None => found.push(value.clone()),
        },
        Value::String(text) => found.extend([text.clone(), format!("{text}~")].map(Value::from)),
        Value::Null | Value::Bool(_) | Value::Object(_) => {}
    }
}

fn literals(expression: &Expr, found: &mut Vec<Value>) {
    if let ExprKind::Literal(literal) = &expression.kind {
        match literal {
            Literal::Int(number) => {
                found.extend([-1, 0, 1].iter().filter_map(|by| number.checked_add(*by)).map(Value::from));
            }
            Literal::Double(number) => found.extend([-0.01, 0.0, 0.01].map(|by| json!(number + by))),
            Literal::String(text) => found.extend([text.clone(), format!("{text}~")].map(Value::from)),
            _ => {}
        }
    }
    expression.for_each_part(&mut |part| literals(part, found));
}

/// The longest text that is tried for its length alone.
const MAX_FILLER: u64 = 1_000;

/// Values near to one that is given: of an object those with one member changed or not there, of a text other texts.
pub(super) fn variations(given: &Value, constants: &[Value]) -> Vec<Value> {
    let mut all = vec![given.clone()];
    let Some(members) = given.as_object() else {
        all.extend(others(given, constants));
        return all;
    };
    for (name, value) in members {
        let with = |value: Value| {
            let mut changed = members.clone();
            changed.insert(name.clone(), value);
            Value::Object(changed)
        };
        all.extend(others(value, constants).map(with));
        let mut without = members.clone();
        without.remove(name);
        all.push(without.into());
    }
    all
}

/// Other values in the place of one: the constants of its kind, the other truth, texts of the lengths that constants are.
fn others<'c>(value: &'c Value, constants: &'c [Value]) -> impl Iterator<Item = Value> + 'c {
    let fits = constants.iter().filter(move |constant| {
        std::mem::discriminant(*constant) == std::mem::discriminant(value) && *constant != value
    });
    let lengths = constants.iter().filter_map(Value::as_u64).filter(|_| value.is_string());
    let fillers = lengths
        .filter(|length| (1..=MAX_FILLER).contains(length))
        .filter_map(|length| Some(Value::from("x".repeat(usize::try_from(length).ok()?))));
    fits.cloned().chain(value.as_bool().map(|truth| (!truth).into())).chain(fillers)
}
