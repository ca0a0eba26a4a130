//! Arithmetic that takes some numbers and fails on others.
//!
//! In: an expression. Out: a finding for each operation that works for some values of its operands and fails for others, because a number of JSON is an int or a
//! double, as it is written, and no operation mixes the two. The evaluator itself says so: it is given an int and a double for each
//! operand that may be either, and what it does is told only if it does both. Linear in the expression.

use super::messages;
use super::path::function;
use crate::cel::{
    Activation, Checked, ComprehensionKind, Env, EnvBuilder, Expr, ExprKind, LANGUAGE, Literal, Numbers,
    Program, Type, Value,
};
use crate::diagnostic::Diagnostic;
use crate::limits::EvalLimits;
use crate::policy::{Expression, Parameter, Policy};
use std::collections::HashSet;
use std::sync::Arc;

/// The operations, and how each is asked of two values.
const OPERATIONS: [(&str, &str); 5] =
    [("_+_", "a + b"), ("_-_", "a - b"), ("_*_", "a * b"), ("_/_", "a / b"), ("_%_", "a % b")];

/// The functions of lists of numbers, and how each is asked of a list of two.
const OF_LISTS: [(&str, &str); 3] =
    [("sum", "[a, b].sum()"), ("min", "[a, b].min()"), ("max", "[a, b].max()")];

/// The arguments that are numbers in each function of a policy which has them.
pub(super) fn numbers(policy: &Policy) -> HashSet<Arc<str>> {
    let parameters = || policy.functions().iter().flat_map(|function| function.parameters.iter());
    let is_number = |parameter: &Parameter| parameter.shape.domain().numbers == Some(Numbers::All);
    let mut numbers: HashSet<Arc<str>> = parameters()
        .filter(|parameter| is_number(parameter))
        .map(|parameter| parameter.name.clone())
        .collect();
    for other in parameters().filter(|parameter| !is_number(parameter)) {
        numbers.remove(&other.name);
    }
    numbers
}

/// A kind of number that an operand may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Double,
}

/// What fails for some numbers. `numbers` are the arguments that are numbers in each function which has them: of the calls on record nothing more
/// is known, as they are of any function.
pub(super) fn mixed_numbers(
    expression: &Expression,
    checked: &Checked,
    numbers: &HashSet<Arc<str>>,
    limits: &EvalLimits,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    look((checked, numbers), &checked.expr, limits, &mut |part, name| {
        let place = expression.place_of(part.span);
        found.push(messages::mixed_numbers(place, name).path(expression.origin().path));
    });
    found
}

fn look<'e>(
    (checked, numbers): (&Checked, &HashSet<Arc<str>>),
    expr: &'e Expr,
    limits: &EvalLimits,
    found: &mut dyn FnMut(&'e Expr, &'static str),
) {
    if let ExprKind::Call { target, args, .. } = &expr.kind
        && let Some((name, _)) = function(checked, expr)
    {
        let operands: Vec<&Expr> = target.as_deref().into_iter().chain(args).collect();
        let of_two = OPERATIONS.iter().find(|(known, _)| *known == name);
        let of_list = OF_LISTS.iter().find(|(known, _)| *known == name);
        let asked = match (of_two, of_list, operands.as_slice()) {
            // what stands on both sides is of one kind, whichever that is
            (Some(_), _, [left, right]) if is_same_path(left, right) => None,
            (Some((_, text)), _, [left, right]) => {
                kinds(checked, left).zip(kinds(checked, right)).map(|kinds| (*text, kinds))
            }
            (_, Some((_, text)), [list, ..]) => {
                let items = checked.domain_of(list.id).and_then(|list| list.items.as_ref());
                let any = items.is_some_and(|items| items.numbers == Some(Numbers::All));
                let of_calls = argument(list).is_some_and(|name| numbers.contains(name));
                (any || of_calls)
                    .then_some((*text, (&[Kind::Int, Kind::Double][..], &[Kind::Int, Kind::Double][..])))
            }
            _ => None,
        };
        if asked.is_some_and(|(text, kinds)| is_mixed(text, kinds, limits)) {
            found(expr, name);
        }
    }
    expr.for_each_part(&mut |part| look((checked, numbers), part, limits, found));
}

/// Whether both read the same value: `input.amount` and `input.amount`.
fn is_same_path(left: &Expr, right: &Expr) -> bool {
    match (&left.kind, &right.kind) {
        (ExprKind::Ident { name: left, .. }, ExprKind::Ident { name: right, .. }) => left == right,
        (
            ExprKind::Select { operand: left, field: of_left, .. },
            ExprKind::Select { operand: right, field: of_right, .. },
        ) => of_left.text == of_right.text && is_same_path(left, right),
        _ => false,
    }
}

/// The argument of each call that a list is made of: `amount` of `calls.map(t, t.input.amount)`.
fn argument(list: &Expr) -> Option<&str> {
    let ExprKind::Comprehension(comprehension) = &list.kind else { return None };
    let ExprKind::Select { operand, field, .. } = &comprehension.body.kind else { return None };
    let is_input = matches!(&operand.kind, ExprKind::Select { field, .. } if field.text == "input");
    (comprehension.kind == ComprehensionKind::Map && is_input).then_some(field.text.as_str())
}

/// The kinds of number that an operand may be; nothing if it may be something else.
fn kinds(checked: &Checked, expr: &Expr) -> Option<&'static [Kind]> {
    match (&expr.kind, checked.type_of(expr.id)) {
        (ExprKind::Literal(Literal::Int(_)), _) | (_, Type::Int) => Some(&[Kind::Int]),
        (ExprKind::Literal(Literal::Double(_)), _) | (_, Type::Double) => Some(&[Kind::Double]),
        (_, Type::Dyn) => {
            let domain = checked.domain_of(expr.id)?;
            (domain.numbers == Some(Numbers::All) && domain.allowed.is_none())
                .then_some(&[Kind::Int, Kind::Double])
        }
        _ => None,
    }
}

/// Whether the evaluator takes some of these numbers, and fails on others.
fn is_mixed(text: &str, (left, right): (&[Kind], &[Kind]), limits: &EvalLimits) -> bool {
    if left.len().max(right.len()) < 2 {
        return false;
    }
    let builder = Env::builder().limits(*limits);
    let builder = builder.optional_variable("a", Type::Dyn).optional_variable("b", Type::Dyn);
    let env = LANGUAGE.iter().copied().fold(builder, EnvBuilder::library).build();
    let Ok(program) = Program::compile(&env, text) else { return false };
    let sample = |kind: &Kind| match kind {
        Kind::Int => Value::Int(10),
        Kind::Double => Value::Double(10.5),
    };
    let mut runs = left.iter().flat_map(|left| right.iter().map(move |right| (left, right))).map(|(a, b)| {
        let activation = Activation::new(&env).with(&env, "a", sample(a)).with(&env, "b", sample(b));
        program.run(&activation, None).is_ok()
    });
    let first = runs.next();
    runs.any(|ran| Some(ran) != first)
}
