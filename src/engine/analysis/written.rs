//! Expressions that are made of parts of others.
//!
//! In: an expression, whose place and number the new one has, and its parts. Out: the new one.

use crate::cel::{Expr, ExprKind, Literal, Name};

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
