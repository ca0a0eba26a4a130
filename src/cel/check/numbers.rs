//! Numbers in places where no overload takes one: `'refund of ' + input.amount`.
//!
//! In: a checked expression with the domains of its parts. Out: a warning for each call that fails so whatever the number is, and for each
//! comparison that has one answer so. JSON writes a number as an int or as a double, so a field of numbers is `dyn` to the checker, and `dyn` goes
//! with everything; that it is a number, its domain says. Linear in the tree, times the overloads of the functions called.

use super::{Checked, Reference, messages};
use crate::domain::Domain;
use crate::function::{Declaration, Overload};
use crate::issue::Issue;
use crate::syntax::{Expr, ExprKind, Literal};
use crate::types::Type;

/// What is doubtful.
pub(super) fn numbers(checked: &Checked) -> Vec<Issue> {
    let mut issues = Vec::new();
    look(checked, &checked.expr, &mut issues);
    issues
}

fn look(checked: &Checked, expr: &Expr, issues: &mut Vec<Issue>) {
    if let ExprKind::Call { function, target, args } = &expr.kind
        && let Some(Reference::Function { declaration, overloads, qualified }) = checked.reference(expr.id)
    {
        let target = target.as_deref().filter(|_| !qualified);
        let operands: Vec<&Expr> = target.into_iter().chain(args).collect();
        let types: Vec<Type> = operands.iter().map(|operand| type_of(checked, operand)).collect();
        let name = declaration.function.name;
        let found = match (name, types.as_slice()) {
            ("_==_" | "_!=_", [left, right]) => is_apart(left, right)
                .then(|| messages::never_equal(function.span, left, right, name == "_==_")),
            ("@in", [item, of]) if *of != number() => member_of(of)
                .filter(|member| is_apart(item, member))
                .map(|_| messages::never_in(function.span, item, of)),
            _ => misplaced(declaration, overloads, &types).map(|at| {
                let span = match name {
                    // each operand of these is a question of its own
                    "_&&_" | "_||_" | "_?_:_" => operands.get(at).map_or(expr.span, |operand| operand.span),
                    _ if name.starts_with(char::is_alphabetic) => expr.span,
                    _ => function.span,
                };
                messages::no_matching_overload(span, declaration, target.is_some(), &types)
            }),
        };
        issues.extend(
            found.map(|issue| messages::number_is_no_text(issue, name, &types, number_in_quotes(&operands))),
        );
    }
    expr.for_each_part(&mut |part| look(checked, part, issues));
}

/// The type of an operand, with `number` for one of which only that is known.
fn type_of(checked: &Checked, operand: &Expr) -> Type {
    let is_number = |domain: &Domain| domain.numbers.is_some();
    match (checked.type_of(operand.id), checked.domain_of(operand.id)) {
        (Type::Dyn, Some(domain)) if is_number(domain) => number(),
        (Type::List(element), Some(domain))
            if **element == Type::Dyn && domain.items.as_deref().is_some_and(is_number) =>
        {
            Type::list(number())
        }
        (ty, _) => ty.clone(),
    }
}

/// An int or a double, whichever it is: what messages call it stands for it among types.
fn number() -> Type {
    Type::Param("number".into())
}

/// The type of what is looked for in a list, or among the keys of a map.
fn member_of(of: &Type) -> Option<Type> {
    match of {
        Type::List(element) => Some((**element).clone()),
        Type::Singleton(record) => Some(Type::Record(record.clone())),
        Type::Map(entry) => Some(entry.0.clone()),
        Type::Record(_) => Some(Type::String),
        _ => None,
    }
}

/// Whether one of the two is a number, and the other one is something else. That it is not null is asked with care.
fn is_apart(one: &Type, other: &Type) -> bool {
    let number = number();
    let is_else = |ty: &Type| ![&number, &Type::Null, &Type::UInt].contains(&ty) && !takes_number(ty);
    (*one == number && is_else(other)) || (*other == number && is_else(one))
}

/// The position of the first number for which no overload that fits the types has a place.
fn misplaced(declaration: &Declaration, fitting: &[&str], types: &[Type]) -> Option<usize> {
    let number = number();
    let overloads: Vec<&Overload> =
        declaration.overloads.iter().filter(|overload| fitting.contains(&overload.id)).collect();
    let is_taken = |at: usize| {
        let mut parameters =
            overloads.iter().filter_map(|it| it.parameters.get(at).or_else(|| it.parameters.last()));
        parameters.any(takes_number)
    };
    let mut numbers = types.iter().enumerate().filter(|(_, ty)| **ty == number);
    numbers.find(|(at, _)| !overloads.is_empty() && !is_taken(*at)).map(|(at, _)| at)
}

/// Whether a number may be a value of a type. JSON has none that are `uint`.
fn takes_number(ty: &Type) -> bool {
    matches!(ty, Type::Dyn | Type::Param(_) | Type::Int | Type::Double)
}

/// The number that somebody has written as a text.
fn number_in_quotes<'e>(operands: &[&'e Expr]) -> Option<&'e str> {
    operands.iter().find_map(|operand| match &operand.kind {
        ExprKind::Literal(Literal::String(text)) => text.parse::<f64>().is_ok().then_some(text.as_str()),
        ExprKind::List(elements) => {
            let values: Vec<&Expr> = elements.iter().map(|element| &element.value).collect();
            number_in_quotes(&values)
        }
        _ => None,
    })
}
