//! Texts of an expression with braces in them as a template has: `'{context.user.id}'`.
//!
//! In: a program that gives a value, and its scope. Out: issues. An expression is no template, so the braces stay as they are written, and whoever gets the value
//! sees them. Only texts count that become a part of the value: what is compared, looked for or replaced may hold anything. Linear in the expression.

use super::messages;
use super::template::Template;
use crate::cel::{Env, Expr, ExprKind, Issue, Literal, Program};
use crate::source::Span;

/// The issues of a program that gives a value.
pub(super) fn issues_of_braces(program: &Program, env: &Env) -> Vec<Issue> {
    let mut issues = Vec::new();
    look(program.expr(), &mut |text, span| {
        let placeholders = Template::lenient(text, |root| env.variable(root).is_some());
        let path =
            placeholders.placeholders().find(|placeholder| !placeholder.path.is_empty() && !placeholder.call);
        let Some(written) = path.and_then(|placeholder| text.get(placeholder.span.range())) else { return };
        let path = written.trim_matches(['{', '}']);
        issues.push(messages::braces_in_text(span, path));
    });
    issues
}

/// Hands over each text that is the value or a part of it.
fn look(expr: &Expr, found: &mut dyn FnMut(&str, Span)) {
    match &expr.kind {
        ExprKind::Literal(Literal::String(text)) => found(text, expr.span),
        ExprKind::List(elements) => elements.iter().for_each(|element| look(&element.value, found)),
        ExprKind::Map(entries) => entries.iter().for_each(|entry| look(&entry.value, found)),
        ExprKind::Call { function, target: None, args } => match (function.text.as_str(), args.as_slice()) {
            ("_+_", operands) => operands.iter().for_each(|operand| look(operand, found)),
            ("_?_:_", [_, yes, no]) => [yes, no].into_iter().for_each(|branch| look(branch, found)),
            _ => {}
        },
        ExprKind::Bind { body, .. } => look(body, found),
        _ => {}
    }
}
