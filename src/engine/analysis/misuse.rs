//! Constants and steps that say something else than their author meant.
//!
//! In: steps, expressions and limits. Out: findings. Nothing here is guessed of values: each finding names what stands in the text,
//! and what it does. Linear in the texts.

use super::messages;
use super::subject::{asks_host, function};
use crate::cel::{Checked, Expr, ExprKind, Json, Literal};
use crate::diagnostic::Diagnostic;
use crate::manifest::agent::TaskLimits;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::mode::Mode;
use crate::manifest::policy::DeclaredPolicy;
use crate::manifest::step::OnFail;
use crate::policy::{Expression, Shape, Step, StepAction};
use crate::source::{Place, Span};

/// A step whose failure changes nothing, and which asks a person.
pub(super) fn of_step(step: &Step) -> Option<Diagnostic> {
    let StepAction::Assert(assert) = &step.action else { return None };
    if step.on_fail != OnFail::Continue || step.mode != Mode::Enforce {
        return None;
    }
    let checked = assert.checked()?;
    let asks = asks_host(&checked, &checked.expr);
    asks.then(|| messages::unheeded_review(assert.place().clone()).path(assert.origin().path))
}

/// Texts that look like regular expressions and are none, and regular expressions that have lost a backslash.
pub(super) fn of_expression(expression: &Expression, checked: &Checked) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    if let Some(rest) = cut_off(expression.place()) {
        findings.push(messages::cut_expression(rest).path(expression.origin().path));
    }
    look(checked, &checked.expr, &mut |name, constant, text| {
        let place = || expression.place_of(constant.span);
        let path = expression.origin().path;
        match name {
            "matches" if text.chars().any(is_eaten) => {
                findings.push(messages::eaten_backslash(place()).path(path));
            }
            "contains" | "startsWith" | "endsWith" if looks_like_pattern(name, text) => {
                findings.push(messages::looks_like_pattern(place(), name).path(path));
            }
            _ => {}
        }
    });
    findings
}

/// The comment behind an expression that goes on where the expression ends: YAML has cut it off. A remark of an author begins with no
/// operator.
fn cut_off(place: &Place) -> Option<Place> {
    const OPERATORS: [&str; 9] = ["&&", "||", "==", "!=", "<", ">", "+ ", "? ", "in ["];
    let end = place.span.range().end;
    let behind = place.source.text().get(end..)?.lines().next()?;
    let comment = behind.trim_start().strip_prefix('#').filter(|_| behind.starts_with([' ', '\t']))?;
    let rest = comment.trim_start();
    if !OPERATORS.iter().any(|operator| rest.starts_with(operator)) {
        return None;
    }
    let start = end.checked_add(behind.len())?.checked_sub(behind.trim_start().len())?;
    let whole = end.checked_add(behind.trim_end().len())?;
    Some(Place::new(&place.source, Span::new(start, whole)))
}

/// Defaults that their own schemas refuse. Null is none: it says that nothing stands in for the value (PAR-04).
pub(super) fn of_parameters(resolved: &ResolvedAgent) -> Vec<Diagnostic> {
    let functions = resolved.capabilities.iter().flat_map(|entry| &entry.functions);
    let declared = functions.flat_map(|function| &function.parameters).filter_map(|it| it.declared.as_ref());
    let mut findings = Vec::new();
    for property in declared {
        let Some(default) = property.schema.default.as_ref().filter(|default| !default.is_null()) else {
            continue;
        };
        let Some(node) = property.schema.node.get("default") else { continue };
        if Shape::of(&property.schema).check(&Json::from(default).value()).is_err() {
            let finding = messages::default_misfit(node.place.clone());
            findings.push(finding.path(format!("{}.default", property.path)));
        }
    }
    findings
}

/// Hands over the constant part of each question about a text.
fn look<'e>(checked: &Checked, expr: &'e Expr, found: &mut dyn FnMut(&'static str, &'e Expr, &'e str)) {
    if let ExprKind::Call { args, .. } = &expr.kind
        && let Some((name @ ("contains" | "startsWith" | "endsWith" | "matches"), _)) =
            function(checked, expr)
        && let Some(constant @ Expr { kind: ExprKind::Literal(Literal::String(text)), .. }) = args.last()
    {
        found(name, constant, text);
    }
    expr.for_each_part(&mut |part| look(checked, part, found));
}

/// The control characters that `\a`, `\b`, `\f` and `\v` stand for. Nobody looks for one of them in what people write.
fn is_eaten(c: char) -> bool {
    matches!(c, '\u{7}' | '\u{8}' | '\u{b}' | '\u{c}')
}

/// Signs that regular expressions have, and other texts hardly: a sign that holds the place of any, a class, an anchor.
fn looks_like_pattern(name: &str, text: &str) -> bool {
    const SIGNS: [&str; 8] = [".*", ".+", "\\b", "\\d", "\\s", "\\w", "[a-z", "[0-9"];
    let anchored = text.len() > 1
        && (text.starts_with('^')
            || text.ends_with('$') && name != "startsWith" && text.starts_with(['^', '(']));
    anchored || SIGNS.iter().any(|sign| text.contains(sign))
}

/// Limits of a stretch of a task that the whole task reaches first.
pub(super) fn of_limits(policy: &DeclaredPolicy) -> Vec<Diagnostic> {
    let TaskLimits { max_turns, max_tool_calls, max_spend, stretches, .. } = &policy.limits;
    let pairs = [
        hidden(stretches.max_turns_per_message, *max_turns, "max_turns_per_message", "max_turns"),
        hidden(
            stretches.max_tool_calls_per_message,
            *max_tool_calls,
            "max_tool_calls_per_message",
            "max_tool_calls",
        ),
        hidden(
            stretches.max_tool_calls_per_turn,
            *max_tool_calls,
            "max_tool_calls_per_turn",
            "max_tool_calls",
        ),
        hidden(
            stretches.max_tool_calls_per_turn,
            stretches.max_tool_calls_per_message,
            "max_tool_calls_per_turn",
            "max_tool_calls_per_message",
        ),
        hidden(stretches.max_spend_per_message, *max_spend, "max_spend_per_message", "max_spend"),
    ];
    let told = |(hidden, by): (&str, &str)| {
        messages::hidden_limit(policy.name.place.clone(), hidden, by).path(format!("limits.{hidden}"))
    };
    pairs.into_iter().flatten().map(told).collect()
}

/// The names of two limits, if the first is never reached before the second.
fn hidden<T: Ord + Copy>(
    of_stretch: Option<T>,
    of_all: Option<T>,
    name: &'static str,
    by: &'static str,
) -> Option<(&'static str, &'static str)> {
    (of_stretch? >= of_all?).then_some((name, by))
}
