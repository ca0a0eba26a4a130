//! Constants that name rows of a function's table: whether there are such rows.
//!
//! In: a checked expression. Out: an error for each constant that names none. It would fail whenever it ran, and a guard that
//! fails can be lost behind `||` or in a condition, so the expression is refused. What is no constant is the function's own to
//! refuse, when it runs.

use super::{Checked, Reference, messages};
use crate::function::Code;
use crate::issue::Issue;
use crate::syntax::{Expr, ExprKind, Literal};

/// The constants that name no row. Linear in the expression.
pub(super) fn constants(checked: &Checked) -> Vec<Issue> {
    let mut issues = Vec::new();
    visit(checked, &checked.expr, &mut issues);
    issues
}

/// Recurses over the tree, which `max_depth` bounds.
fn visit(checked: &Checked, expr: &Expr, issues: &mut Vec<Issue>) {
    expr.for_each_part(&mut |part| visit(checked, part, issues));
    let (ExprKind::Call { target, args, .. }, Some(Reference::Function { declaration, qualified, .. })) =
        (&expr.kind, checked.reference(expr.id))
    else {
        return;
    };
    let Code::Named(_, names) = declaration.function.code else { return };
    let receivers = usize::from(target.is_some() && !qualified);
    let Some(last) = args.last().filter(|_| args.len().saturating_add(receivers) > 1) else { return };
    let function = declaration.function.name;
    let rows = names();
    let mut hold = |constant: &Expr| {
        if let ExprKind::Literal(Literal::String(name)) = &constant.kind
            && !rows.contains(&&**name)
        {
            issues.push(messages::unknown_row(constant.span, function, name, &rows));
        }
    };
    match &last.kind {
        ExprKind::List(elements) if elements.is_empty() => {
            issues.push(messages::names_no_row(last.span, function));
        }
        ExprKind::List(elements) => elements.iter().for_each(|element| hold(&element.value)),
        _ => hold(last),
    }
}
