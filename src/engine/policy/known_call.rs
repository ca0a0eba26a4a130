//! `call.fn`, `call.tool` and `call.tags` in a step that is for one function: they are constants there.
//!
//! In: an expression and the function. Out: the same with texts in their place, so that what asks for nothing else is decided before
//! any call comes: a step that never applies to a function is none of its steps. A variable of a macro that is called `call` is
//! left alone. Linear in the expression.

use super::read_path::for_each_path;
use crate::cel::{Element, Expr, ExprKind, Literal, Name};
use crate::context::{CallAtHand, Root};

/// Whether an expression asks for the function of the call.
pub(super) fn reads_call(expr: &Expr) -> bool {
    let mut found = false;
    for_each_path(expr, &mut |root, _| found |= root == Root::Call.name());
    found
}

/// Writes the constants of a function into an expression. `hidden` says whether a variable of a macro is called `call` here.
pub(super) fn write_call(expr: &mut Expr, call: &CallAtHand, hidden: bool) {
    if let ExprKind::Select { operand, field, optional: false } = &expr.kind
        && is_call(operand, hidden)
    {
        let text = |text: &str| ExprKind::Literal(Literal::String(text.to_owned()));
        let of = |kind| Expr { id: expr.id, span: expr.span, kind, in_place_of: None };
        let known = match field.text.as_str() {
            "fn" => text(&call.function),
            "tool" => text(&call.tool),
            "tags" => {
                let tags = call.tags.iter().map(|tag| Element { value: of(text(tag)), optional: false });
                ExprKind::List(tags.collect())
            }
            _ => return,
        };
        expr.kind = known;
        return;
    }
    match &mut expr.kind {
        ExprKind::Comprehension(loops) => {
            let inside = hidden || is_name(&loops.variable) || loops.second.as_ref().is_some_and(is_name);
            write_call(&mut loops.range, call, hidden);
            loops.filter.iter_mut().for_each(|filter| write_call(filter, call, inside));
            write_call(&mut loops.body, call, inside);
        }
        ExprKind::Bind { variable, value, body }
        | ExprKind::OptMap { operand: value, variable, body, .. } => {
            let inside = hidden || is_name(variable);
            write_call(value, call, hidden);
            write_call(body, call, inside);
        }
        _ => expr.for_each_part_mut(&mut |part| write_call(part, call, hidden)),
    }
}

fn is_call(expr: &Expr, hidden: bool) -> bool {
    matches!(&expr.kind, ExprKind::Ident { name, absolute } if name == Root::Call.name() && (*absolute || !hidden))
}

fn is_name(variable: &Name) -> bool {
    variable.text == Root::Call.name()
}
