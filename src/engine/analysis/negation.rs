//! Asserts that demand what a rule is there to stop, as a `!` was forgotten: `assert: secrets.has(input.body)`.
//!
//! In: a step. Out: findings. What counts is whether the step lets a call by because a detector finds something, a label says that a value is not trusted, a field says that something is bad, or a dangerous
//! text is there. A step that asks the same also in another way, such as `pii.has(x) ? input.encrypted : true`, means it. Linear in the step.

use super::argument_names::PROSE;
use super::messages;
use super::path::{function, is_path, sized};
use super::step_questions::{Demand, LocalName, constants, for_each_question, resolved};
use crate::cel::{Checked, Comprehension, ComprehensionKind, Expr, ExprKind, Literal, Reference, Type};
use crate::context::{CALL_LABELS, LABELS, TASK_LABELS};
use crate::diagnostic::Diagnostic;
use crate::policy::{Expression, Step, StepAction};
use std::collections::HashMap;

/// Functions that say whether there is something that rules stop.
pub(super) const DETECTORS: [&str; 3] = ["pii.has", "secrets.has", "invisible.has"];

/// Functions that list it.
const FINDERS: [&str; 3] = ["pii.find", "pii.texts", "secrets.find"];

/// Kinds of personal data that a whole argument may have to be: `pii.has(input.iban, 'iban')` checks its digits.
const FORMATS: [&str; 4] = ["email", "iban", "ip_address", "phone"];

/// Labels of what is not trusted.
const BAD_LABELS: [&str; 11] = [
    "compromised",
    "external-content",
    "injected",
    "injection",
    "malicious",
    "phishing",
    "poisoned",
    "suspicious",
    "tainted",
    "unsafe",
    "untrusted",
];

/// Names of truths that say of something that it is bad, without `is_`, `has_` and the like ahead of them.
const BAD_NAMES: [&str; 26] = [
    "banned",
    "blocked",
    "compromised",
    "dangerous",
    "destructive",
    "expired",
    "flagged",
    "forbidden",
    "fraud",
    "fraudulent",
    "harmful",
    "infected",
    "injected",
    "injection",
    "jailbreak",
    "leaked",
    "malicious",
    "malware",
    "phishing",
    "prompt_injection",
    "revoked",
    "spam",
    "suspended",
    "suspicious",
    "toxic",
    "unsafe",
];

/// Words in the names of lists of what is not allowed.
const BAD_LISTS: [&str; 10] = [
    "banned",
    "blacklist",
    "blacklisted",
    "blocked",
    "blocklist",
    "denied",
    "denylist",
    "disallowed",
    "forbidden",
    "prohibited",
];

/// Words behind `is` that say of something that it is not allowed.
const FORBIDDEN: [&str; 8] = [
    "banned",
    "blocked",
    "denied",
    "forbidden",
    "never allowed",
    "not allowed",
    "not permitted",
    "prohibited",
];

/// Words ahead of a text that say that everything else is meant.
const EXCEPT: [&str; 7] = ["besides", "but", "except", "only", "other", "outside", "unless"];

/// Words ahead of such a name.
const AHEAD: [&str; 5] = ["is_", "has_", "was_", "contains_", "looks_"];

/// Texts that no rule demands, in small letters.
const DANGEROUS: [&str; 12] = [
    "../",
    "/etc/passwd",
    "/etc/shadow",
    "169.254.169.254",
    "<script",
    "drop table",
    "id_rsa",
    "ignore all previous",
    "ignore previous instructions",
    "private key",
    "rm -rf",
    "sudo ",
];

/// Findings about a step.
pub(super) fn of_step(step: &Step) -> Vec<Diagnostic> {
    let StepAction::Assert(assert) = &step.action else { return Vec::new() };
    // a condition says which calls an assert is about; ahead of `false` it is what the step asks
    let is_never = matches!(assert.program().expr().kind, ExprKind::Literal(Literal::Bool(false)));
    let asked = match &step.condition {
        Some(condition) if is_never => (condition, false),
        _ => (assert, true),
    };
    let (expression, lets_by) = asked;
    let Some(checked) = expression.checked() else { return Vec::new() };
    let mut wanted: Vec<(&Expr, String, Demand<'_>)> = Vec::new();
    let message: Vec<String> = step.written_messages().map(|text| text.to_ascii_lowercase()).collect();
    for_each_question(&checked, &checked.expr, lets_by, &mut |expr, local, lets_by| {
        let found = demanded(&checked, expr, local)
            .or_else(|| named(&checked, expression, expr).map(|demanded| (expr, demanded, true)))
            .or_else(|| forbidden(&checked, expr, local, &message));
        if let Some((of, demanded, is_there)) = found
            && is_there == lets_by
        {
            wanted.push((expr, of.to_string(), demanded));
        }
    });
    let mut mentioned: HashMap<String, usize> = HashMap::new();
    let other = step.condition.as_ref().filter(|_| !is_never).and_then(Expression::checked);
    for checked in std::iter::once(&checked).chain(&other) {
        mentions(checked, &checked.expr, &mut mentioned);
    }
    let mut demands: HashMap<&str, usize> = HashMap::new();
    for (_, of, _) in &wanted {
        let count = demands.entry(of).or_default();
        *count = count.saturating_add(1);
    }
    let told = wanted.iter().filter(|(_, of, _)| mentioned.get(of) <= demands.get(of.as_str()));
    told.map(|(expr, _, demanded)| {
        messages::missing_negation(expression.place_of(expr.span), *demanded).path(expression.origin().path)
    })
    .collect()
}

/// Counts the questions of an expression, each by its text.
fn mentions(checked: &Checked, expr: &Expr, found: &mut HashMap<String, usize>) {
    let is_question = match &expr.kind {
        ExprKind::Call { .. } => {
            let name = function(checked, expr).map_or("", |(name, _)| name);
            !matches!(name, "_&&_" | "_||_" | "!_" | "_?_:_" | "_+_")
        }
        ExprKind::Select { .. } | ExprKind::Comprehension(_) => true,
        _ => false,
    };
    if is_question {
        let count = found.entry(expr.to_string()).or_default();
        *count = count.saturating_add(1);
    }
    expr.for_each_part(&mut |part| mentions(checked, part, found));
}

/// What a question asks for that rules stop, the part that says so, and whether a yes says that it is there.
fn demanded<'e>(
    checked: &Checked,
    expr: &'e Expr,
    local: &[LocalName<'e>],
) -> Option<(&'e Expr, Demand<'e>, bool)> {
    let name = function(checked, expr).map_or("", |(name, _)| name);
    match &expr.kind {
        ExprKind::Call { args, .. } if DETECTORS.contains(&name) => {
            (!is_format(args)).then_some((expr, Demand::Find(static_name(&DETECTORS, name)?), true))
        }
        ExprKind::Call { args, .. } if name == "@in" => {
            let (label, of) = (args.first()?, args.get(1)?);
            let (_, label) = *constants(label, local).first()?;
            let is_bad = are_labels(checked, of) && is_bad_label(label);
            is_bad.then_some((expr, Demand::Label(label), true))
        }
        ExprKind::Call { target, args, .. } if name == "contains" => {
            let subject = target.as_deref().or_else(|| args.first())?;
            let is_value = !matches!(resolved(subject, local).kind, ExprKind::Literal(_));
            let found = constants(args.last()?, local);
            let (_, text) = *found.iter().find(|(_, text)| is_dangerous(text)).filter(|_| is_value)?;
            Some((expr, Demand::Text(text), true))
        }
        ExprKind::Call { target: None, args, .. } if args.len() == 2 => {
            let (of, is_there) = filled(checked, name, args)?;
            if let ExprKind::Select { operand, field, .. } = &of.kind
                && field.text == "writes"
                && function(checked, resolved(operand, local)).is_some_and(|(name, _)| name == "sql.parse")
            {
                return Some((expr, Demand::Name(&field.text), is_there));
            }
            let finder = static_name(&FINDERS, function(checked, finds(of))?.0)?;
            Some((expr, Demand::Find(finder), is_there))
        }
        ExprKind::Comprehension(macros) => of_macro(checked, expr, macros, local),
        _ => {
            let name = truth_name(checked, expr)?;
            is_bad_name(name).then_some((expr, Demand::Name(name), true))
        }
    }
}

/// What a question says by the name of a variable, a named expression or a parameter: `variables.is_dangerous`, `input.country in parameters.blocked`.
fn named<'e>(checked: &Checked, expression: &'e Expression, expr: &Expr) -> Option<Demand<'e>> {
    let written = |part: &Expr| written_name(expression.source().get(part.span.range())?);
    if let Some(name) = written(expr).filter(|name| is_bad_name(name)) {
        return Some(Demand::Named(name));
    }
    let list = match (&expr.kind, function(checked, expr).map_or("", |(name, _)| name)) {
        (ExprKind::Call { args, .. }, "@in") => args.get(1)?,
        (ExprKind::Comprehension(macros), _) if macros.kind == ComprehensionKind::Exists => &macros.range,
        _ => return None,
    };
    let name = match &list.kind {
        ExprKind::Select { field, .. } => expression.source().get(field.span.range())?,
        _ => written(list)?,
    };
    let is_bad = |word: &str| BAD_LISTS.contains(&word.to_ascii_lowercase().as_str());
    name.split('_').any(is_bad).then_some(Demand::Named(name))
}

/// The last part of the name of a variable, a parameter or a called expression; nothing of any other text.
fn written_name(text: &str) -> Option<&str> {
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte));
    let (name, roots): (&str, &[&str]) = match text.split_once('(') {
        Some((name, _)) => (name, &["expressions."]),
        None => (text, &["variables.", "parameters."]),
    };
    let begins = roots.iter().any(|root| name.starts_with(root));
    name.rsplit('.').next().filter(|_| begins && is_name(name))
}

/// The text that a question asks for, if the message of the step says that it is not allowed: `curl is not allowed`.
fn forbidden<'e>(
    checked: &Checked,
    expr: &'e Expr,
    local: &[LocalName<'e>],
    messages: &[String],
) -> Option<(&'e Expr, Demand<'e>, bool)> {
    let ExprKind::Call { target, args, .. } = &expr.kind else { return None };
    let name = function(checked, expr)?.0;
    let constant = match (name, target, args.as_slice()) {
        ("contains" | "startsWith" | "endsWith", Some(_), [constant]) => constant,
        ("_==_" | "_!=_", None, [one, other]) if constants(other, &[]).is_empty() => one,
        ("_==_" | "_!=_" | "@in", None, [_, other]) => other,
        _ => return None,
    };
    let is_forbidden = |text: &str| messages.iter().any(|message| forbids(message, text));
    let found = constants(constant, local).into_iter().map(|(_, text)| text);
    let text = found.filter(|text| text.len() > 1).find(|text| is_forbidden(text))?;
    Some((expr, Demand::Forbidden(text), name != "_!=_"))
}

/// Whether a message, in small letters, says of a text that it is not allowed.
fn forbids(message: &str, text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    let Some((before, after)) = message.split_once(text.as_str()).filter(|_| !text.is_empty()) else {
        return false;
    };
    let words = |part: &str| -> Vec<String> {
        let words = part.split(|sign: char| !sign.is_ascii_alphabetic() && sign != '\'');
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let sentence_end = [". ", "; ", "! ", "\n"];
    let after = sentence_end.iter().fold(after, |after, end| after.split(end).next().unwrap_or_default());
    let (before, after) = (words(before), words(after));
    let is_apart = before.iter().any(|word| word == "not")
        || before.iter().chain(&after).any(|word| EXCEPT.contains(&word.as_str()));
    let is = after.iter().take(3).position(|word| matches!(word.as_str(), "is" | "are"));
    let said = is.and_then(|is| after.get(is.saturating_add(1)..)).unwrap_or_default().join(" ");
    let is_said = FORBIDDEN
        .iter()
        .any(|words| said.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')));
    !is_apart && is_said
}

/// `pii.find(x).exists(f, f.kind == 'iban')`, `labels(x).exists(l, l == 'untrusted')`
fn of_macro<'e>(
    checked: &Checked,
    expr: &'e Expr,
    macros: &'e Comprehension,
    local: &[LocalName<'e>],
) -> Option<(&'e Expr, Demand<'e>, bool)> {
    if macros.kind != ComprehensionKind::Exists {
        return None;
    }
    let range = resolved(&macros.range, local);
    if are_labels(checked, range) {
        let ExprKind::Call { args, .. } = &macros.body.kind else { return None };
        let is_equal = matches!(function(checked, &macros.body)?.0, "_==_" | "@in");
        let mut compared = args.iter().flat_map(|arg| constants(arg, local)).map(|(_, label)| label);
        let label = compared.find(|label| is_bad_label(label)).filter(|_| is_equal)?;
        return Some((expr, Demand::Label(label), true));
    }
    let (finder, _) = function(checked, finds(range))?;
    // `pii.texts(x).exists(…)` compares what is found
    let finder = static_name(&FINDERS, finder).filter(|finder| *finder != "pii.texts")?;
    Some((expr, Demand::Find(finder), true))
}

/// The list that is compared with the empty one, and whether the answer yes says that it has an element.
fn filled<'e>(checked: &Checked, sign: &str, operands: &'e [Expr]) -> Option<(&'e Expr, bool)> {
    let [one, other] = operands else { return None };
    let is_empty = |expr: &Expr| matches!(&expr.kind, ExprKind::List(elements) if elements.is_empty());
    let count = |expr: &Expr| match expr.kind {
        ExprKind::Literal(Literal::Int(count)) => Some(count),
        _ => None,
    };
    let list = match (is_empty(one), is_empty(other)) {
        (false, true) => Some(one),
        (true, false) => Some(other),
        _ => None,
    };
    if let Some(list) = list {
        return match sign {
            "_!=_" => Some((list, true)),
            "_==_" => Some((list, false)),
            _ => None,
        };
    }
    let (list, sign, count) = match (count(one), count(other)) {
        (None, Some(count)) => (sized(checked, one)?, sign, count),
        (Some(count), None) => {
            let mirrored = match sign {
                "_<_" => "_>_",
                "_<=_" => "_>=_",
                "_>_" => "_<_",
                "_>=_" => "_<=_",
                same => same,
            };
            (sized(checked, other)?, mirrored, count)
        }
        _ => return None,
    };
    match (sign, count) {
        ("_>_" | "_!=_", 0) | ("_>=_", 1) => Some((list, true)),
        ("_==_" | "_<=_", 0) | ("_<_", 1) => Some((list, false)),
        _ => None,
    }
}

/// The call that lists finds, of which a macro chooses some.
fn finds(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Comprehension(macros)
            if matches!(macros.kind, ComprehensionKind::Filter | ComprehensionKind::Map) =>
        {
            finds(&macros.range)
        }
        _ => expr,
    }
}

/// Whether a detector is asked for the form of an argument: `pii.has(input.iban, 'iban')`.
fn is_format(args: &[Expr]) -> bool {
    let [subject, kinds] = args else { return false };
    let is_prose = |field: &str| PROSE.contains(&field.to_ascii_lowercase().as_str()) || field.ends_with("s");
    let kinds = constants(kinds, &[]);
    matches!(&subject.kind, ExprKind::Select { field, .. } if !is_prose(&field.text))
        && !kinds.is_empty()
        && kinds.iter().all(|(_, kind)| FORMATS.contains(kind))
}

fn static_name(names: &[&'static str], name: &str) -> Option<&'static str> {
    names.iter().copied().find(|known| *known == name)
}

/// Whether an expression is a list of labels.
fn are_labels(checked: &Checked, expr: &Expr) -> bool {
    function(checked, expr).is_some_and(|(name, _)| [LABELS, CALL_LABELS, TASK_LABELS].contains(&name))
}

fn is_bad_label(label: &str) -> bool {
    BAD_LABELS.contains(&label.to_ascii_lowercase().replace('_', "-").as_str())
}

fn is_dangerous(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    DANGEROUS.iter().any(|dangerous| text.contains(dangerous))
}

/// The name of a truth: of a field, or of a function of the host.
fn truth_name<'e>(checked: &Checked, expr: &'e Expr) -> Option<&'e str> {
    let is_truth = matches!(checked.type_of(expr.id), Type::Bool | Type::Dyn);
    match &expr.kind {
        ExprKind::Select { field, optional: false, .. } if is_truth && is_path(checked, expr) => {
            Some(&field.text)
        }
        ExprKind::Call { function, .. } if is_truth => {
            let is_known = matches!(checked.reference(expr.id), Some(Reference::Function { .. }));
            Some(&*function.text).filter(|_| is_known)
        }
        _ => None,
    }
}

/// `flagged`, `is_flagged`, `injection.detected`
fn is_bad_name(name: &str) -> bool {
    name.split('.').any(|part| {
        let part = part.to_ascii_lowercase();
        let bare = AHEAD.iter().find_map(|ahead| part.strip_prefix(ahead)).unwrap_or(&part);
        BAD_NAMES.contains(&bare)
    })
}
