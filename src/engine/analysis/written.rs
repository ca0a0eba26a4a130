//! Expressions that are made of parts of others.
//!
//! In: an expression, whose place and number the new one has, and its parts. Out: the new one.

use crate::cel::{Comprehension, ComprehensionKind, Expr, ExprKind, Literal, Name};

/// Another expression in the place of one.
pub(super) fn with(expr: &Expr, kind: ExprKind) -> Expr {
    Expr { kind, in_place_of: None, ..expr.clone() }
}

pub(super) fn name(expr: &Expr, text: &str) -> Name {
    Name { text: text.to_owned(), span: expr.span }
}

pub(super) fn ident(expr: &Expr, name: &str) -> Expr {
    with(expr, ExprKind::Ident { name: name.to_owned(), absolute: false })
}

pub(super) fn select(expr: &Expr, of: Expr, field: &str) -> Expr {
    with(expr, ExprKind::Select { operand: Box::new(of), field: name(expr, field), optional: false })
}

pub(super) fn equals(expr: &Expr, left: Expr, word: &str) -> Expr {
    let word = with(expr, ExprKind::Literal(Literal::String(word.into())));
    call(expr, "_==_", vec![left, word])
}

pub(super) fn call(expr: &Expr, function: &str, args: Vec<Expr>) -> Expr {
    with(expr, ExprKind::Call { function: name(expr, function), target: None, args })
}

/// All of these; nothing for none.
pub(super) fn conjunction(parts: Vec<Expr>) -> Option<Expr> {
    parts.into_iter().reduce(|all, part| call(&all, "_&&_", vec![all.clone(), part]))
}

/// The `exists` that asks the same as `exists` or `all`, and whether its answer is the opposite one: `all(x, p)` is true where `exists(x, !p)` is false, and fails where that
/// fails.
pub(super) fn as_exists(expr: &Expr) -> Option<(Expr, bool)> {
    let ExprKind::Comprehension(comprehension) = &expr.kind else { return None };
    let (body, is_negated) = match comprehension.kind {
        ComprehensionKind::Exists => (plain(comprehension.body.clone()), false),
        ComprehensionKind::All => (not(plain(comprehension.body.clone())), true),
        _ => return None,
    };
    let kind = ComprehensionKind::Exists;
    let name = Name { text: "exists".to_owned(), span: comprehension.name.span };
    let exists = Comprehension { kind, body, name, ..(**comprehension).clone() };
    Some((with(expr, ExprKind::Comprehension(Box::new(exists))), is_negated))
}

/// An expression with `!(a == b)` in the place of `a != b`.
fn plain(expr: Expr) -> Expr {
    match &expr.kind {
        ExprKind::Call { function, target: None, args } if function.text == "_!=_" => {
            not(call(&expr, "_==_", args.clone()))
        }
        _ => expr,
    }
}

/// The opposite of an expression; of an opposite, what that is the opposite of.
pub(super) fn not(expr: Expr) -> Expr {
    match expr.kind {
        ExprKind::Call { function, target: None, mut args } if function.text == "!_" && args.len() == 1 => {
            args.remove(0)
        }
        _ => call(&expr.clone(), "!_", vec![expr]),
    }
}
