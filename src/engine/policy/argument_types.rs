//! The types of the arguments in calls of named expressions.
//!
//! In: a compiled expression, and the arguments that it was put together with. Out: a finding for each whose type is not that of its parameter. Linear in the expression, for each
//! argument.

use super::expansion::Argument;
use super::messages;
use crate::cel::{Checked, Expr, Program, Type, check};
use crate::context::ScopeEnv;
use crate::diagnostic::Diagnostic;
use crate::source::{Embedded, Span};

/// The findings about arguments whose types are not those of their parameters.
pub(super) fn argument_misfits(
    program: &Program,
    scope: &ScopeEnv,
    arguments: &[Argument],
    text: &Embedded,
) -> Vec<Diagnostic> {
    if arguments.is_empty() {
        return Vec::new();
    }
    let Some(checked) = check(program.expr().clone(), scope.env()).0 else { return Vec::new() };
    let misfit = |argument: &Argument| {
        let found = with_span(&checked.expr, argument.span)?;
        let Argument { span, of, parameter, ty, is_literal: _ } = argument;
        let is_misfit = !checked.may_be(found.id, ty);
        is_misfit.then(|| {
            messages::argument_type(text.locate(*span), (of, parameter), ty, &found_type(&checked, found))
        })
    };
    arguments.iter().filter_map(misfit).collect()
}

/// The type of an argument as messages call it: a JSON number may be any number.
fn found_type(checked: &Checked, found: &Expr) -> String {
    match checked.type_of(found.id) {
        Type::Dyn => "number".to_owned(),
        ty => ty.to_string(),
    }
}

/// The outermost part with these characters, which is the argument wherever it was put.
fn with_span(expr: &Expr, span: Span) -> Option<&Expr> {
    if expr.span == span {
        return Some(expr);
    }
    let mut found = None;
    expr.for_each_part(&mut |part| {
        if found.is_none() {
            found = with_span(part, span);
        }
    });
    found
}
