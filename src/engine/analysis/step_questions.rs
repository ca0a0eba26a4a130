//! Questions of a step, each with whether a yes lets a call by.
//!
//! In: an assert or a condition. Out: its parts that are true or false, down to those that are no `!`, `&&`, `||`, `?:` and no comparison with a truth. An assert lets a call by that it is true for; a
//! condition one that it is false for, as the step is left out then. Linear in the expression.

use super::path::function;
use crate::cel::{Checked, ComprehensionKind, Expr, ExprKind, Literal};

/// What an assert demands though rules are there to stop it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demand<'e> {
    /// A find of this function.
    Find(&'static str),
    /// This label.
    Label(&'e str),
    /// The truth of this field, or of what this function of the host gives.
    Name(&'e str),
    /// This text.
    Text(&'e str),
    /// An element of this list, or the truth of this variable or named expression.
    Named(&'e str),
    /// This text, of which the message of the step says that it is not allowed.
    Forbidden(&'e str),
}

/// A list that a macro goes through, by the name of its variable; or a value by the name that `cel.bind` gives to it.
pub(super) type LocalName<'e> = (&'e str, &'e Expr);

/// Hands over each question with the names around it, the innermost last, and whether a yes lets a call by. Of a macro that asks something of each element, the macro comes first, then what it asks.
pub(super) fn for_each_question<'e>(
    checked: &Checked,
    expr: &'e Expr,
    lets_by: bool,
    found: &mut dyn FnMut(&'e Expr, &[LocalName<'e>], bool),
) {
    questions(checked, expr, lets_by, &mut Vec::new(), found);
}

fn questions<'e>(
    checked: &Checked,
    expr: &'e Expr,
    lets_by: bool,
    local: &mut Vec<LocalName<'e>>,
    found: &mut dyn FnMut(&'e Expr, &[LocalName<'e>], bool),
) {
    match &expr.kind {
        ExprKind::Comprehension(macros) => {
            found(expr, local, lets_by);
            if matches!(macros.kind, ComprehensionKind::All | ComprehensionKind::Exists) {
                let element = macros.second.as_ref().unwrap_or(&macros.variable);
                local.push((&element.text, &macros.range));
                questions(checked, &macros.body, lets_by, local, found);
                local.pop();
            }
        }
        ExprKind::Bind { variable, value, body } => {
            local.push((&variable.text, value));
            questions(checked, body, lets_by, local, found);
            local.pop();
        }
        ExprKind::Call { args, .. } => {
            let name = function(checked, expr).map_or("", |(name, _)| name);
            match (name, args.as_slice()) {
                ("!_", [operand]) => questions(checked, operand, !lets_by, local, found),
                ("_&&_" | "_||_", operands) => {
                    operands.iter().for_each(|operand| questions(checked, operand, lets_by, local, found));
                }
                ("_?_:_", [_, yes, no]) => {
                    [yes, no].into_iter().for_each(|it| questions(checked, it, lets_by, local, found));
                }
                ("_==_" | "_!=_", [one, other]) => match (truth(one), truth(other)) {
                    (Some(truth), None) => {
                        questions(checked, other, lets_by == (truth == (name == "_==_")), local, found);
                    }
                    (None, Some(truth)) => {
                        questions(checked, one, lets_by == (truth == (name == "_==_")), local, found);
                    }
                    _ => found(expr, local, lets_by),
                },
                _ => found(expr, local, lets_by),
            }
        }
        _ => found(expr, local, lets_by),
    }
}

fn truth(expr: &Expr) -> Option<bool> {
    match expr.kind {
        ExprKind::Literal(Literal::Bool(truth)) => Some(truth),
        _ => None,
    }
}

/// The constant texts that an expression stands for: one, the elements of a constant list, or of the one that its name goes through.
pub(super) fn constants<'e>(expr: &'e Expr, local: &[LocalName<'e>]) -> Vec<(&'e Expr, &'e str)> {
    let text = |expr: &'e Expr| match &expr.kind {
        ExprKind::Literal(Literal::String(text)) => Some((expr, text.as_str())),
        _ => None,
    };
    match &expr.kind {
        ExprKind::List(elements) => elements.iter().filter_map(|element| text(&element.value)).collect(),
        ExprKind::Ident { name, absolute: false } => {
            let known = local.iter().rposition(|(local, _)| local == name);
            let outside = known.and_then(|at| Some((local.get(at)?.1, local.get(..at)?)));
            outside.map(|(value, outside)| constants(value, outside)).unwrap_or_default()
        }
        _ => text(expr).into_iter().collect(),
    }
}

/// The expression that a name of a macro or of `cel.bind` stands for, or whose elements it does; any other expression itself.
pub(super) fn resolved<'e>(expr: &'e Expr, local: &[LocalName<'e>]) -> &'e Expr {
    let ExprKind::Ident { name, absolute: false } = &expr.kind else { return expr };
    match local.iter().rposition(|(local, _)| local == name) {
        Some(at) => match (local.get(at), local.get(..at)) {
            (Some((_, value)), Some(outside)) => resolved(value, outside),
            _ => expr,
        },
        None => expr,
    }
}
