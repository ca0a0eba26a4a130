//! What an expression reads: paths to values that are there, arguments and results, and one name for all ways to write it.
//!
//! In: expressions of a checked tree. Out: what they are, as far as their form says it. Each question is linear in the expression.

use super::reach::{is_root, root};
use crate::cel::{Checked, Code, ComprehensionKind, Expr, ExprId, ExprKind, Literal, Name, Reference, Type};
use crate::context::Root;

/// The expression without the ways to write one thing twice: short names of roots, `a['b']` for `a.b`. A variable of a macro may have the
/// name of a root, so it gets another one.
pub(super) fn key(checked: &Checked, expr: &Expr) -> String {
    let mut plain = expr.clone();
    simplify(checked, &mut plain);
    plain.to_string()
}

fn simplify(checked: &Checked, expr: &mut Expr) {
    if let ExprKind::Ident { name, absolute: false } = &mut expr.kind {
        *name = match root(checked, expr.id, name) {
            Some(root) => root.to_owned(),
            None => format!("{name}_of_macro"),
        };
    }
    if let ExprKind::Index { operand, index, optional: false } = &expr.kind
        && let ExprKind::Literal(Literal::String(field)) = &index.kind
    {
        let field = Name { text: field.to_string(), span: index.span };
        expr.kind = ExprKind::Select { operand: operand.clone(), field, optional: false };
    }
    if let ExprKind::Call { function, target, args } = &mut expr.kind
        && target.is_some()
        && args.is_empty()
        && function.text == "size"
    {
        args.extend(target.take().map(|target| *target));
    }
    // `c.cap` and `c.capabilities` are one thing
    if let ExprKind::Select { operand, field, .. } = &mut expr.kind
        && field.text == "cap"
        && is_root(checked, operand, Root::Context)
    {
        "capabilities".clone_into(&mut field.text);
    }
    expr.for_each_part_mut(&mut |part| simplify(checked, part));
}

/// Whether an expression only goes to a value that is there.
pub(super) fn is_path(checked: &Checked, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Ident { .. } => {
            matches!(checked.reference(expr.id), Some(Reference::Variable(_) | Reference::Local(_)))
        }
        ExprKind::Select { .. } if matches!(checked.reference(expr.id), Some(Reference::Variable(_))) => true,
        ExprKind::Select { operand, optional: false, .. } => is_path(checked, operand),
        ExprKind::Index { operand, index, optional: false } => {
            matches!(index.kind, ExprKind::Literal(Literal::String(_) | Literal::Int(_)))
                && is_path(checked, operand)
        }
        _ => false,
    }
}

/// Whether a path leads into the result of a call.
pub(super) fn is_of_result(checked: &Checked, expr: &Expr) -> bool {
    match &expr.kind {
        // ahead of messages and behind the model `output` is what the engine itself has put together
        ExprKind::Ident { .. } => {
            is_root(checked, expr, Root::Invoked)
                || is_root(checked, expr, Root::Output)
                    && !matches!(checked.type_of(expr.id), Type::Singleton(_))
        }
        ExprKind::Select { operand, field, .. } => {
            matches!(field.text.as_str(), "output" | "outputs") || is_of_result(checked, operand)
        }
        ExprKind::Index { operand, index, .. } => {
            matches!(&index.kind, ExprKind::Literal(Literal::String(field)) if matches!(field.as_str(), "output" | "outputs"))
                || is_of_result(checked, operand)
        }
        _ => false,
    }
}

/// Whether some part is answered by the host, who may say something else the next time.
pub(super) fn asks_host(checked: &Checked, expr: &Expr) -> bool {
    let mut asks = asked_of_host(checked, expr).is_some();
    expr.for_each_part(&mut |part| asks |= asks_host(checked, part));
    asks
}

/// The function that an expression calls, if the host answers it.
pub(super) fn asked_of_host(checked: &Checked, expr: &Expr) -> Option<&'static str> {
    match checked.reference(expr.id)? {
        Reference::Function { declaration, .. } if matches!(declaration.function.code, Code::Host) => {
            Some(declaration.function.name)
        }
        _ => None,
    }
}

/// The one function that a call means.
pub(super) fn function<'c>(checked: &'c Checked, expr: &Expr) -> Option<(&'static str, &'c [&'static str])> {
    match checked.reference(expr.id)? {
        Reference::Function { declaration, overloads, .. } => Some((declaration.function.name, overloads)),
        _ => None,
    }
}

/// Whether a macro asks something of each element.
pub(super) const fn is_predicate(kind: ComprehensionKind) -> bool {
    matches!(
        kind,
        ComprehensionKind::All
            | ComprehensionKind::Exists
            | ComprehensionKind::ExistsOne
            | ComprehensionKind::Filter
    )
}

/// Whether an expression is an argument of the call at hand, or a part of one.
pub(super) fn is_argument(checked: &Checked, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Ident { .. } => is_root(checked, expr, Root::Input),
        ExprKind::Select { operand, .. } | ExprKind::Index { operand, .. } => is_argument(checked, operand),
        _ => false,
    }
}

/// Whether the runtime holds a path to its schema: an argument of the call at hand, or a claim of the user.
pub(super) fn is_validated(checked: &Checked, expr: &Expr) -> bool {
    is_argument(checked, expr) || is_claim(checked, expr)
}

/// Whether an expression is the claims of the user, or a part of them: `context.user.claims.level`.
fn is_claim(checked: &Checked, expr: &Expr) -> bool {
    are_claims(checked, expr)
        || match &expr.kind {
            ExprKind::Select { operand, .. } | ExprKind::Index { operand, .. } => is_claim(checked, operand),
            _ => false,
        }
}

/// `context.user.claims`, which is an object also for a user without claims.
pub(super) fn are_claims(checked: &Checked, expr: &Expr) -> bool {
    let ExprKind::Select { operand: user, field: claims, .. } = &expr.kind else { return false };
    let ExprKind::Select { operand: context, field: user, .. } = &user.kind else { return false };
    claims.text == "claims" && user.text == "user" && is_root(checked, context, Root::Context)
}

/// What `size` is asked of.
pub(super) fn sized<'e>(checked: &Checked, expr: &'e Expr) -> Option<&'e Expr> {
    let ("size", _) = function(checked, expr)? else { return None };
    let ExprKind::Call { target, args, .. } = &expr.kind else { return None };
    target.as_deref().or_else(|| args.first())
}

/// Whether an expression names a variable. A macro within it may have one of the same name, which is another variable.
pub(super) fn mentions(expr: &Expr, variable: &str) -> bool {
    match &expr.kind {
        ExprKind::Ident { name, .. } => name == variable,
        ExprKind::Comprehension(macros)
            if [Some(&macros.variable), macros.second.as_ref()]
                .into_iter()
                .flatten()
                .any(|own| own.text == variable) =>
        {
            mentions(&macros.range, variable)
        }
        ExprKind::Bind { variable: own, value, .. } if own.text == variable => mentions(value, variable),
        _ => {
            let mut mentioned = false;
            expr.for_each_part(&mut |part| mentioned = mentioned || mentions(part, variable));
            mentioned
        }
    }
}

/// The part of an expression with this number.
pub(super) fn part(expr: &Expr, id: ExprId) -> Option<&Expr> {
    if expr.id == id {
        return Some(expr);
    }
    let mut found = None;
    expr.for_each_part(&mut |inner| {
        if found.is_none() {
            found = part(inner, id);
        }
    });
    found
}
