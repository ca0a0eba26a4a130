//! An expression as it could have been written out: with what `cel.bind` names in the place of the names, and with a macro in the place of a question about sets.
//!
//! In: an expression. Out: its checked tree, of which the other parts of the analysis decide the clauses. Each part keeps its place in the text.
//!
//! `cel.bind` fails where the value that it names is missing, and what is written out may not ask for it. So where it has an answer the two are alike, and what is true for no
//! input, or false for none, is so of both. Whoever asks which inputs fail gets names of what is always there written out, and no others. Linear in what comes of it, which
//! has at most [`MAX_PARTS`] parts.

use super::path::{asks_host, function, is_path};
use super::sample::constant;
use super::subject::is_there;
use super::written::{call, ident, name, with};
use crate::cel::{Checked, Comprehension, ComprehensionKind, Expr, ExprKind, Type};
use crate::policy::Expression;

/// The variable of a macro that nobody has written.
const ELEMENT: &str = "of_list";

/// The most parts of an expression that is written out.
const MAX_PARTS: usize = 1_000;

/// Which names of `cel.bind` are written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// Those of what is there for every input.
    OfWhatIsThere,
    /// And those of what may be missing or fail.
    All,
}

/// The tree of an expression, written out.
pub(super) fn spelled_out(expression: &Expression, names: Names) -> Option<Checked> {
    let checked = expression.checked()?;
    Some(spell_out(expression, &checked, names).unwrap_or(checked))
}

/// The same of a tree that is checked; nothing if it stays as it is.
pub(super) fn spell_out(expression: &Expression, checked: &Checked, names: Names) -> Option<Checked> {
    let mut expr = checked.expr.clone();
    let is_changed = spell(checked, &mut expr, names);
    if is_changed && parts(&expr) <= MAX_PARTS { expression.checked_as(expr) } else { None }
}

/// Whether something in it was written out.
fn spell(checked: &Checked, expr: &mut Expr, names: Names) -> bool {
    let mut is_changed = false;
    expr.for_each_part_mut(&mut |part| is_changed |= spell(checked, part, names));
    match body_of_binding(checked, expr, names).or_else(|| as_macro(checked, expr)) {
        Some(other) => {
            *expr = other;
            true
        }
        None => is_changed,
    }
}

fn parts(expr: &Expr) -> usize {
    let mut count = 1_usize;
    expr.for_each_part(&mut |part| count = count.saturating_add(parts(part)));
    count
}

/// `input.amount > 5` of `cel.bind(x, input.amount, x > 5)`.
fn body_of_binding(checked: &Checked, expr: &Expr, names: Names) -> Option<Expr> {
    let ExprKind::Bind { variable, value, body } = &expr.kind else { return None };
    let is_known = match names {
        Names::OfWhatIsThere => {
            constant(value).is_some() || (is_path(checked, value) && is_there(checked, value))
        }
        // a host is asked once
        Names::All => !asks_host(checked, value),
    };
    let mut mentioned = vec![variable.text.as_str()];
    names_in(value, &mut mentioned);
    // a name in a name doubles what is written out each time
    if !is_known || declares(body, &mentioned) || parts(value).saturating_mul(parts(body)) > MAX_PARTS {
        return None;
    }
    let mut body = (**body).clone();
    put(&mut body, &variable.text, value);
    Some(body)
}

/// `input.tags.all(of_list, of_list in ['a', 'b'])` of `sets.contains(['a', 'b'], input.tags)`.
fn as_macro(checked: &Checked, expr: &Expr) -> Option<Expr> {
    let ExprKind::Call { args, .. } = &expr.kind else { return None };
    let ("sets.contains", [constants, list]) = (function(checked, expr)?.0, args.as_slice()) else {
        return None;
    };
    let ExprKind::List(elements) = &constants.kind else { return None };
    let is_known = elements.iter().all(|it| !it.optional && constant(&it.value).is_some());
    let is_list = is_path(checked, list) && matches!(checked.type_of(list.id), Type::List(_));
    let mut names = Vec::new();
    names_in(list, &mut names);
    if !is_known || !is_list || names.contains(&ELEMENT) {
        return None;
    }
    Some(with(
        expr,
        ExprKind::Comprehension(Box::new(Comprehension {
            kind: ComprehensionKind::All,
            range: list.clone(),
            variable: name(expr, ELEMENT),
            second: None,
            filter: None,
            body: call(constants, "@in", vec![ident(list, ELEMENT), constants.clone()]),
            name: name(expr, "all"),
        })),
    ))
}

fn names_in<'e>(expr: &'e Expr, names: &mut Vec<&'e str>) {
    if let ExprKind::Ident { name, .. } = &expr.kind {
        names.push(name);
    }
    expr.for_each_part(&mut |part| names_in(part, names));
}

/// Whether some macro or `cel.bind` in an expression gives one of these names to something else.
fn declares(expr: &Expr, names: &[&str]) -> bool {
    let is_one = |name: &str| names.contains(&name);
    let mut found = match &expr.kind {
        ExprKind::Comprehension(comprehension) => {
            let Comprehension { variable, second, .. } = &**comprehension;
            is_one(&variable.text) || second.as_ref().is_some_and(|second| is_one(&second.text))
        }
        ExprKind::Bind { variable, .. } | ExprKind::OptMap { variable, .. } => is_one(&variable.text),
        ExprKind::Block { .. } => true,
        _ => false,
    };
    expr.for_each_part(&mut |part| found |= declares(part, names));
    found
}

pub(super) fn put(expr: &mut Expr, variable: &str, value: &Expr) {
    if matches!(&expr.kind, ExprKind::Ident { name, absolute: false } if name == variable) {
        *expr = value.clone();
        return;
    }
    expr.for_each_part_mut(&mut |part| put(part, variable, value));
}
