//! Templates of a manifest's own texts: the `error_message` of a step, the prompt of an agent, the message of an event.
//!
//! In: the text and the scope whose variables are its roots (INT-15). Out: a [`Template`], or diagnostics with a caret under
//! the placeholder. A path that the scope's types do not have is a warning: it renders as nothing, and a message that
//! fails to render never changes a decision (MW-53).

use super::messages;
use super::template::{PathStep, Placeholder, Template};
use crate::cel::{Expr, ExprKind, Literal, Storage, Type, parse};
use crate::context::{Root, ScopeEnv};
use crate::diagnostic::{Diagnostic, nearest};
use crate::source::{Embedded, Span};

/// An `error_message`: every brace must open a placeholder with a root of the step's scope (INT-19).
pub(super) fn compile_message(
    scope: &ScopeEnv,
    text: &Embedded,
    path: &str,
    findings: &mut Vec<Diagnostic>,
) -> Option<Template> {
    if !is_short_enough(scope, text, path, findings) {
        return None;
    }
    let env = scope.env();
    match Template::strict(&text.text, |root| env.variable(root).is_some()) {
        Ok(template) => {
            check_paths(&template, scope, text, path, findings);
            Some(template)
        }
        Err(bad) => {
            findings.extend(bad.iter().map(|bad| {
                let known = env.variables().map(|(name, _)| name);
                messages::of_placeholder(bad, text, known, |root| env.reason(root)).path(path)
            }));
            None
        }
    }
}

/// A message that was to be computed: as a whole it is an expression that puts texts together, as `messageExpression` of Kubernetes
/// holds one. It is shown as it is written.
pub(super) fn check_no_expression(
    scope: &ScopeEnv,
    text: &Embedded,
    path: &str,
    findings: &mut Vec<Diagnostic>,
) {
    let limits = scope.env().limits();
    if text.text.contains(['\'', '"']) && parse(&text.text, limits).is_ok_and(|expr| is_computed_text(&expr))
    {
        findings.push(messages::message_is_expression(text.place.clone()).path(path));
    }
}

/// `'a'`, `'a' + b`, `c ? 'a' : 'b'`, `'a %s'.format([b])`
fn is_computed_text(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(Literal::String(_)) => true,
        ExprKind::Call { target, args, .. } => {
            target.as_deref().into_iter().chain(args).any(is_computed_text)
        }
        _ => false,
    }
}

/// A prompt: a brace group that is no placeholder with a root of the scope stays as it is written (INT-18).
pub(super) fn compile_prompt(
    scope: &ScopeEnv,
    text: &Embedded,
    path: &str,
    findings: &mut Vec<Diagnostic>,
) -> Template {
    let roots: Vec<&str> = scope.scope().roots().iter().map(|root| root.name()).collect();
    lenient(scope, text, path, &roots, findings)
}

/// The message of an event that begins or enters a task: like a prompt, over the event alone (INT-12, INT-13).
pub(super) fn compile_event_message(
    scope: &ScopeEnv,
    text: &Embedded,
    path: &str,
    findings: &mut Vec<Diagnostic>,
) -> Template {
    lenient(scope, text, path, &[Root::Event.name()], findings)
}

/// A template that leaves other braces as they are. Those that were to be placeholders are told of.
fn lenient(
    scope: &ScopeEnv,
    text: &Embedded,
    path: &str,
    roots: &[&str],
    findings: &mut Vec<Diagnostic>,
) -> Template {
    let template = Template::lenient(&text.text, |root| roots.contains(&root));
    check_paths(&template, scope, text, path, findings);
    let all = Template::lenient(&text.text, |root| !roots.contains(&root));
    let literal = all.placeholders().filter_map(|placeholder| literal(placeholder, scope, text, roots));
    findings.extend(literal.map(|finding| finding.path(path)));
    let misspelt = Template::other_groups(&text.text).into_iter();
    let misspelt = misspelt.filter_map(|group| misspelt_placeholder(group, text, roots));
    findings.extend(misspelt.map(|finding| finding.path(path)));
    template
}

/// Braces that are no placeholder, and would be one without the blanks in them, or with the brace that closes them.
fn misspelt_placeholder(group: Span, text: &Embedded, roots: &[&str]) -> Option<Diagnostic> {
    let written = text.text.get(group.range())?;
    if is_of_others(text, group) {
        return None;
    }
    let inner = written.strip_prefix('{')?;
    let path = match inner.strip_suffix('}') {
        Some(inner) => inner.trim(),
        None => {
            inner.split_whitespace().next()?.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != ']')
        }
    };
    let Placeholder { root, path: steps, .. } = Placeholder::read(&format!("{{{path}}}"), group)?;
    let was_meant = roots.contains(&&*root) && !steps.is_empty();
    was_meant.then(|| messages::misspelt_placeholder(text.locate(group), path))
}

/// Whether braces stand in those of another kind of template, as `${x}` and `{{x}}` do.
fn is_of_others(text: &Embedded, group: Span) -> bool {
    text.text.get(..group.range().start).unwrap_or_default().ends_with(['$', '{'])
}

/// Whether a name is a longer one with letters left out, as `ctx` is.
fn is_short_for(short: &str, long: &str) -> bool {
    let mut letters = long.chars();
    short.len() >= 3
        && short.chars().next() == long.chars().next()
        && short.chars().all(|letter| letters.any(|it| it == letter))
}

/// Braces that stay as they are written, and were to be a placeholder: their path begins with a root of other texts, its short name, a field of
/// a root, or nearly with the name of one. A prompt may hold other braces.
fn literal(
    placeholder: &Placeholder,
    scope: &ScopeEnv,
    text: &Embedded,
    roots: &[&str],
) -> Option<Diagnostic> {
    if is_of_others(text, placeholder.span) {
        return None;
    }
    let begin = &*placeholder.root;
    let written = text.text.get(placeholder.span.range())?;
    let rest = written.strip_prefix('{')?.strip_prefix(begin)?.strip_suffix('}')?;
    let long = Root::long_name(begin);
    let has_field = |root: &&&str| match scope.env().variable(root).map(|variable| &variable.ty) {
        Some(Type::Record(record) | Type::Singleton(record)) => record.slot(begin).is_some(),
        _ => false,
    };
    let meant = if roots.contains(&long) {
        Some(format!("{long}{rest}"))
    } else if let Some(root) = roots.iter().find(has_field) {
        Some(format!("{root}.{begin}{rest}"))
    } else {
        let short = || roots.iter().copied().find(|root| !rest.is_empty() && is_short_for(begin, root));
        nearest(begin, roots.iter().copied()).or_else(short).map(|root| format!("{root}{rest}"))
    };
    let is_elsewhere = Root::ALL.iter().any(|root| root.name() == long);
    (meant.is_some() || is_elsewhere)
        .then(|| messages::literal_placeholder(text.locate(placeholder.span), begin, meant, roots))
}

pub(super) fn is_short_enough(
    scope: &ScopeEnv,
    text: &Embedded,
    path: &str,
    findings: &mut Vec<Diagnostic>,
) -> bool {
    let limit = scope.env().limits().max_source_bytes;
    let fits = text.text.len() <= limit;
    if !fits {
        findings.push(messages::template_too_long(text.place.clone(), limit).path(path));
    }
    fits
}

/// Warns of every path that leads nowhere.
pub(super) fn check_paths(
    template: &Template,
    scope: &ScopeEnv,
    text: &Embedded,
    path: &str,
    findings: &mut Vec<Diagnostic>,
) {
    for placeholder in template.placeholders() {
        let Some(root) = scope.env().variable(&placeholder.root) else { continue };
        if let Some((record, field, near)) = dead_end(placeholder, root.ty.clone()) {
            let place = text.locate(placeholder.span);
            findings.push(messages::unknown_field(place, &record, &field, near.as_deref()).path(path));
        }
    }
}

/// The record and the field at which a path leaves what its types know, with the nearest right name.
fn dead_end(placeholder: &Placeholder, root: Type) -> Option<(String, String, Option<String>)> {
    let mut ty = root;
    for step in &placeholder.path {
        ty = match (step, ty) {
            (PathStep::Key(key), Type::Record(record) | Type::Singleton(record)) => {
                match record.slot(key).and_then(|slot| record.fields.get_index(slot)) {
                    Some((_, field)) => field.ty.clone(),
                    None if record.storage == Storage::Open => return None,
                    None => {
                        let near = nearest(key, record.fields.keys().map(|name| &**name)).map(str::to_owned);
                        return Some((record.name.clone(), key.to_string(), near));
                    }
                }
            }
            (PathStep::Index(_), ty) => ty.element()?,
            (PathStep::Key(_), ty) => ty.entry()?.1,
        };
    }
    None
}
