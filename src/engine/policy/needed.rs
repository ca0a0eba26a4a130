//! Arguments without which an assert cannot hold: of a call that lacks one of them it fails.
//!
//! In: the expression of an assert. Out: names, each with the place where it is read. `input.?amount` needs nothing; `||` needs what both operands need; a macro
//! needs what its list needs. For what is asked for by `has` its author has thought of a call without it. Linear in the expression, times the arguments.

use crate::cel::{Expr, ExprKind, Literal};
use crate::context::Root;
use crate::source::Span;

/// Names of arguments, each once.
type Needed<'e> = Vec<(&'e str, Span)>;

/// The arguments without which an expression is not true.
pub(super) fn needed_arguments(expr: &Expr) -> Needed<'_> {
    let mut needed = for_truth(expr, true);
    drop_asked(expr, &mut needed);
    needed
}

/// Takes out what `has` asks for, and what is looked for among the names.
fn drop_asked(expr: &Expr, needed: &mut Needed<'_>) {
    let asked = match &expr.kind {
        ExprKind::Has { operand, field } if is_input(operand) => Some(field.text.as_str()),
        ExprKind::Call { function, target: None, args } if function.text == "@in" => match args.as_slice() {
            [Expr { kind: ExprKind::Literal(Literal::String(name)), .. }, of] if is_input(of) => {
                Some(name.as_str())
            }
            _ => None,
        },
        _ => None,
    };
    needed.retain(|(name, _)| Some(*name) != asked);
    expr.for_each_part(&mut |part| drop_asked(part, needed));
}

/// The same for this truth.
fn for_truth(expr: &Expr, truth: bool) -> Needed<'_> {
    let ExprKind::Call { function, target: None, args } = &expr.kind else { return for_value(expr) };
    match (function.text.as_str(), args.as_slice()) {
        ("!_", [operand]) => for_truth(operand, !truth),
        (sign @ ("_&&_" | "_||_"), operands) => {
            let each = operands.iter().map(|operand| for_truth(operand, truth));
            let takes_all = (sign == "_&&_") == truth;
            each.reduce(if takes_all { all_of } else { shared_by }).unwrap_or_default()
        }
        ("_?_:_", [condition, yes, no]) => {
            let branches = shared_by(for_truth(yes, truth), for_truth(no, truth));
            all_of(for_value(condition), branches)
        }
        _ => for_value(expr),
    }
}

/// The arguments without which an expression has no value at all.
fn for_value(expr: &Expr) -> Needed<'_> {
    match &expr.kind {
        ExprKind::Select { operand, field, optional: false } if is_input(operand) => {
            vec![(field.text.as_str(), expr.span)]
        }
        ExprKind::Select { operand, optional: false, .. } => for_value(operand),
        ExprKind::Index { operand, index, optional: false } => all_of(for_value(operand), for_value(index)),
        ExprKind::Call { function, target: None, args }
            if matches!(function.text.as_str(), "_&&_" | "_||_" | "_?_:_") && !args.is_empty() =>
        {
            // which operand decides is not known
            Vec::new()
        }
        ExprKind::Call { target, args, .. } => {
            let parts = target.as_deref().into_iter().chain(args);
            parts.map(for_value).reduce(all_of).unwrap_or_default()
        }
        ExprKind::List(elements) => {
            elements.iter().map(|element| for_value(&element.value)).reduce(all_of).unwrap_or_default()
        }
        ExprKind::Comprehension(comprehension) => for_value(&comprehension.range),
        _ => Vec::new(),
    }
}

fn is_input(expr: &Expr) -> bool {
    let is_name = |name: &str| Root::Input.name() == name || Root::Input.alias() == Some(name);
    matches!(&expr.kind, ExprKind::Ident { name, .. } if is_name(name))
}

fn all_of<'e>(mut one: Needed<'e>, other: Needed<'e>) -> Needed<'e> {
    for (name, span) in other {
        if one.iter().all(|(known, _)| *known != name) {
            one.push((name, span));
        }
    }
    one
}

fn shared_by<'e>(mut one: Needed<'e>, other: Needed<'e>) -> Needed<'e> {
    one.retain(|(name, _)| other.iter().any(|(known, _)| known == name));
    one
}

#[cfg(test)]
mod tests {
    use super::needed_arguments;
    use crate::cel::{EvalLimits, parse};

    #[test]
    fn what_an_assert_needs_it_cannot_do_without() {
        for (text, needed) in [
            ("input.amount < 5", "amount"),
            ("i.amount < 5 && input.order != ''", "amount, order"),
            ("input.amount < 5 || input.order != ''", ""),
            ("input.amount < 5 || input.amount > 7 && input.order == 'a'", "amount"),
            ("!(input.amount < 5 && input.order != '')", ""),
            ("!(input.amount < 5 || input.order != '')", "amount, order"),
            ("has(input.amount) && input.amount < 5", ""),
            ("'amount' in input && input.amount < input.parts", "parts"),
            ("!has(input.amount) || input.amount < 5", ""),
            ("has(input.amount) ? input.amount < 5 : true", ""),
            ("input.urgent ? input.amount < 5 : input.amount < 3", "urgent, amount"),
            ("input.?amount.orValue(0) < 5", ""),
            ("input.items.all(x, x == input.order)", "items"),
            ("size(input.items) + input.parts < 5", "items, parts"),
            ("input.address.city in ['a', input.order]", "address, order"),
            ("input['amount'] < 5", ""),
            ("c.calls.all(t, t.input.amount < 5)", ""),
            ("cel.bind(input, c, input.amount < 5)", ""),
            ("(input.amount < 5) == (input.order == '')", "amount, order"),
        ] {
            let expr = parse(text, &EvalLimits::default()).unwrap();
            let found: Vec<&str> = needed_arguments(&expr).into_iter().map(|(name, _)| name).collect();
            assert_eq!(found.join(", "), needed, "{text}");
        }
    }
}
