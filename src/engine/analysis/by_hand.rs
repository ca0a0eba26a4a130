//! Addresses, paths and command lines that an expression takes apart by itself: `input.to.split('@')[1]`.
//!
//! In: a step. Out: findings about parts that are compared with something. The part that such an expression takes is not the one that the consumer of the text takes: `"a@example.com"@evil.org`, `https://example.com@evil.org/`. Functions of the language parse these
//! texts as their consumers do. Linear in the step.

use super::argument_names::{COMMAND_LINES, PATHS, TextFormat, URLS, is_called};
use super::messages;
use super::path::function;
use super::reach::is_root;
use crate::cel::{Checked, Expr, ExprKind, Literal};
use crate::context::Root;
use crate::diagnostic::Diagnostic;
use crate::policy::{Step, StepAction};

/// Findings about a step.
pub(super) fn of_step(step: &Step) -> Vec<Diagnostic> {
    let assert = match &step.action {
        StepAction::Assert(assert) => Some(assert),
        _ => None,
    };
    let mut findings = Vec::new();
    for expression in step.condition.iter().chain(assert) {
        let Some(checked) = expression.checked() else { continue };
        parts(&checked, &checked.expr, &mut |part, kind| {
            let place = expression.place_of(part.span);
            findings.push(messages::parsed_by_hand(place, kind).path(expression.origin().path));
        });
    }
    findings
}

/// Questions and comparisons in which the part of a text decides.
const COMPARISONS: [&str; 7] = ["_==_", "_!=_", "@in", "startsWith", "endsWith", "contains", "matches"];

/// Hands over each part of a text that is taken apart and compared.
fn parts<'e>(checked: &Checked, expr: &'e Expr, found: &mut dyn FnMut(&'e Expr, TextFormat)) {
    if let ExprKind::Call { target, args, .. } = &expr.kind
        && function(checked, expr).is_some_and(|(name, _)| COMPARISONS.contains(&name))
    {
        for operand in target.as_deref().into_iter().chain(args) {
            let operand = bare(operand);
            if let Some(kind) = parsed(checked, operand) {
                found(operand, kind);
            }
        }
    }
    expr.for_each_part(&mut |part| parts(checked, part, found));
}

/// The expression without what only changes its letters or says what stands in for it: `x.lowerAscii()`, `x.orValue('')`.
fn bare(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Call { function, target: Some(target), .. }
            if ["lowerAscii", "upperAscii", "trim", "orValue", "value"].contains(&function.text.as_str()) =>
        {
            bare(target)
        }
        _ => expr,
    }
}

/// What an expression takes apart, if it takes a part of it.
fn parsed(checked: &Checked, expr: &Expr) -> Option<TextFormat> {
    match &expr.kind {
        ExprKind::Index { operand, .. } => split(checked, operand),
        ExprKind::Call { target, args, .. } => {
            let subject = target.as_deref();
            match (function(checked, expr)?.0, args.as_slice()) {
                ("first" | "last", _) => split(checked, subject.or_else(|| args.first())?),
                ("substring", bounds) => bounds.iter().find_map(|bound| position(checked, bound)),
                ("regex.extract", [_, pattern]) => {
                    let pattern = text(pattern)?;
                    // a pattern that has the whole text between anchors says what it takes
                    (!pattern.starts_with('^') || !pattern.ends_with('$')).then_some(())?;
                    match () {
                        () if pattern.contains("://") || pattern.contains(":\\/\\/") => Some(TextFormat::Url),
                        () if pattern.contains('@') => Some(TextFormat::Address),
                        () => None,
                    }
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// `x.split('@')`
fn split(checked: &Checked, expr: &Expr) -> Option<TextFormat> {
    let ExprKind::Call { target: Some(subject), args, .. } = &expr.kind else { return None };
    if function(checked, expr)?.0 != "split" {
        return None;
    }
    of_separator(checked, subject, text(args.first()?)?)
}

/// `x.indexOf('@') + 1`
fn position(checked: &Checked, expr: &Expr) -> Option<TextFormat> {
    if let ExprKind::Call { target: Some(subject), args, .. } = &expr.kind
        && matches!(function(checked, expr)?.0, "indexOf" | "lastIndexOf")
    {
        return of_separator(checked, subject, text(args.first()?)?);
    }
    let mut found = None;
    expr.for_each_part(&mut |part| found = found.or_else(|| position(checked, part)));
    found
}

fn of_separator(checked: &Checked, subject: &Expr, separator: &str) -> Option<TextFormat> {
    // the host vouches for what it says of the user
    if is_of_user(checked, subject) {
        return None;
    }
    match separator {
        "@" => Some(TextFormat::Address),
        "://" => Some(TextFormat::Url),
        "/" if is_called(subject, &URLS) || parsed(checked, subject) == Some(TextFormat::Url) => {
            Some(TextFormat::Url)
        }
        "/" if is_called(subject, &PATHS) => Some(TextFormat::Path),
        " " | ";" | "|" | "&&" if is_called(subject, &COMMAND_LINES) => Some(TextFormat::Command),
        _ => None,
    }
}

fn is_of_user(checked: &Checked, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Select { operand, field, .. } => {
            field.text == "user" && is_root(checked, operand, Root::Context) || is_of_user(checked, operand)
        }
        ExprKind::Call { target: Some(target), .. } => is_of_user(checked, target),
        _ => false,
    }
}

fn text(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Literal(Literal::String(text)) => Some(text),
        _ => None,
    }
}
