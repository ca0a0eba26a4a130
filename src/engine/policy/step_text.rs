//! What a step says: text with paths in braces, and in policy documents with any expression.
//!
//! In: the text of a step and its scope. Out: a [`StepText`] that is rendered with the values of the step, or diagnostics with a
//! caret in the YAML. A group that is a path means what it means in a manifest. Any other one of a policy is an expression, read up to the brace that closes it,
//! so a text may hold `{'{'}`. To render never fails and changes no verdict: in the place of an expression that fails stands the
//! code of its error, such as `(no_such_key)`. An empty text there would say that there is nothing, as a path does, and a number
//! is often all that the reader asks for. Once the expressions of a text have taken `max_cost`
//! together, `(budget_exceeded)` stands for the others.

use super::expansion::asking;
use super::expression::{Expression, Texts};
use super::message::{check_paths, compile_message, is_short_enough};
use super::messages;
use super::template::{Placeholder, SHORTENED, Template, render_value};
use crate::cel::{ErrorCode, Stop, Value, closing_brace};
use crate::context::{Activations, Bound, MASK, ScopeEnv};
use crate::source::{Embedded, Span};
use std::sync::Arc;

/// What a step says.
#[derive(Debug)]
pub(super) struct StepText {
    parts: Vec<TextPart>,
    scope: Arc<ScopeEnv>,
}

#[derive(Debug)]
enum TextPart {
    Template(Template),
    Computed(Box<Expression>),
    /// `{suggestion}`: what would have let the call pass.
    Suggestion,
}

/// The group in the place of which stands what would have let the call pass.
const SUGGESTION: &str = "{suggestion}";

/// What a text shows in one place.
#[derive(Clone, Copy, Debug)]
pub enum Shown<'s> {
    /// The value at the end of a path.
    Path(&'s Placeholder),
    /// The value of an expression.
    Computed(&'s Expression),
}

impl StepText {
    /// The text of a step of a manifest, in which each group in braces is a path (INT-19).
    pub(super) fn of_manifest(
        scope: &Arc<ScopeEnv>,
        text: &Embedded,
        path: &str,
        texts: &mut Texts<'_>,
    ) -> Option<Self> {
        let template = compile_message(scope, text, path, &mut texts.findings)?;
        Some(Self { parts: vec![TextPart::Template(template)], scope: scope.clone() })
    }

    /// The text of a step of a policy.
    pub(super) fn of_policy(
        scope: &Arc<ScopeEnv>,
        text: &Embedded,
        path: &str,
        texts: &mut Texts<'_>,
    ) -> Option<Self> {
        if !is_short_enough(scope, text, path, &mut texts.findings) {
            return None;
        }
        let (mut parts, mut is_whole) = (Vec::new(), true);
        let mut at = 0;
        while let Some(open) = text.text.get(at..).and_then(|rest| rest.find('{')) {
            let open = at.saturating_add(open);
            push_text(&mut parts, text, at, open);
            let (group, end) = group(&text.text, open);
            let span = Span::new(open, end);
            if group == SUGGESTION {
                parts.push(TextPart::Suggestion);
                at = end;
                continue;
            }
            let known = |placeholder: &Placeholder| scope.env().variable(&placeholder.root).is_some();
            if let Some(placeholder) = Placeholder::read(group, span).filter(known) {
                let template = Template::of_placeholder(placeholder);
                check_paths(&template, scope, text, path, &mut texts.findings);
                parts.push(TextPart::Template(template));
                at = end;
                continue;
            }
            let start = open.saturating_add(1);
            let Some(bytes) = text.text.get(start..).and_then(closing_brace) else {
                // what stands behind a brace that is never closed may be anything
                texts.findings.push(messages::unclosed_placeholder(text.locate(span)).path(path));
                return None;
            };
            let end = start.saturating_add(bytes);
            let computed = computed(scope, &text.part(Span::new(start, end)), path, texts);
            is_whole &= computed.is_some();
            parts.extend(computed.map(|computed| TextPart::Computed(Box::new(computed))));
            at = end.saturating_add(1);
        }
        push_text(&mut parts, text, at, text.text.len());
        is_whole.then(|| Self { parts, scope: scope.clone() })
    }

    /// What it shows, in order.
    pub(super) fn shows(&self) -> impl Iterator<Item = Shown<'_>> {
        self.parts.iter().flat_map(|part| {
            let (paths, computed) = match part {
                TextPart::Template(template) => (Some(template.placeholders().map(Shown::Path)), None),
                TextPart::Computed(computed) => (None, Some(Shown::Computed(computed))),
                TextPart::Suggestion => (None, None),
            };
            paths.into_iter().flatten().chain(computed)
        })
    }

    /// What the author has written around that.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let templates = self.parts.iter().filter_map(|part| match part {
            TextPart::Template(template) => Some(template),
            TextPart::Computed(_) | TextPart::Suggestion => None,
        });
        templates.flat_map(Template::texts)
    }

    /// Whether it has a place for what would have let the call pass.
    pub(super) fn suggests(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, TextPart::Suggestion))
    }

    /// The text as views show it; nothing if no place of it is secret.
    pub(super) fn masked(
        &self,
        bound: &Bound<'_>,
        suggestion: &str,
        is_secret: impl Fn(Shown<'_>) -> bool,
    ) -> Option<String> {
        let any = self.shows().any(&is_secret);
        any.then(|| self.render(bound, suggestion, is_secret))
    }

    /// The text with the values of a step, and [`MASK`] in the place of what is secret.
    pub(super) fn render(
        &self,
        bound: &Bound<'_>,
        suggestion: &str,
        is_secret: impl Fn(Shown<'_>) -> bool,
    ) -> String {
        let limits = self.scope.env().limits();
        let activation = self.scope.activation(bound).ok();
        let value = |placeholder: &Placeholder| {
            if is_secret(Shown::Path(placeholder)) {
                return Some(Value::text(MASK));
            }
            let root = self.scope.env().variable(&placeholder.root)?;
            placeholder.follow(activation.as_ref()?.get(root.slot)?.clone())
        };
        let (mut text, mut spent) = (String::new(), 0_u64);
        for part in &self.parts {
            match part {
                TextPart::Template(template) => text.push_str(&template.render(limits, value)),
                TextPart::Suggestion => text.push_str(suggestion),
                TextPart::Computed(computed) if is_secret(Shown::Computed(computed)) => text.push_str(MASK),
                TextPart::Computed(_) if spent > limits.max_cost => {
                    text.push_str(&instead(ErrorCode::BudgetExceeded));
                }
                TextPart::Computed(computed) => {
                    let mut values = Activations::new(bound.clone());
                    let (result, cost) = computed.run_metered(&mut values, None);
                    spent = spent.saturating_add(cost);
                    match result {
                        Ok(value) if render_value(&value, limits, &mut text) => {}
                        Ok(_) => text.push_str(SHORTENED),
                        Err(Stop::Failed(error)) => text.push_str(&instead(error.code)),
                        // no expression of a text asks: it is refused when it is compiled
                        Err(Stop::Asked) => {}
                    }
                }
            }
        }
        text
    }
}

/// What stands in the place of a value that there is not.
fn instead(code: ErrorCode) -> String {
    format!("({code})")
}

fn push_text(parts: &mut Vec<TextPart>, text: &Embedded, start: usize, end: usize) {
    if let Some(literal) = text.text.get(start..end).filter(|literal| !literal.is_empty()) {
        parts.push(TextPart::Template(Template::of_text(literal)));
    }
}

/// A group from its brace to the next one, which belongs to it if it closes it, and where the group ends.
fn group(text: &str, open: usize) -> (&str, usize) {
    let inner = open.saturating_add(1);
    let next = text.get(inner..).and_then(|rest| rest.find(['{', '}']));
    let end = next.map_or(text.len(), |next| inner.saturating_add(next).saturating_add(1));
    (text.get(open..end).unwrap_or_default(), end)
}

fn computed(scope: &Arc<ScopeEnv>, text: &Embedded, path: &str, texts: &mut Texts<'_>) -> Option<Expression> {
    let computed = Expression::compile(scope, text, path, texts)?;
    let Some(asking) = asking(computed.program().expr()) else { return Some(computed) };
    texts.findings.push(messages::asking_placeholder(text.locate(asking)).path(path));
    None
}
