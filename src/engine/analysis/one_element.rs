//! Checks of one element of a list, or of one detector of several, that let the others by.
//!
//! In: a step. Out: findings. `input.to[0].endsWith('@example.com')` says nothing of the second recipient, and `!pii.has(x) || !secrets.has(x)` lets a secret by that has no person in it. A step that also asks for the size of the list, or goes
//! through it, knows of its other elements. Linear in the step, times the lists of which it reads one element.

use super::argument_names::is_called;
use super::messages;
use super::negation::DETECTORS;
use super::path::{function, is_argument, sized};
use super::range::sizes;
use super::sample::{Sample, constant};
use super::step_questions::{constants, for_each_question};
use crate::cel::{Checked, Expr, ExprKind, Type};
use crate::diagnostic::Diagnostic;
use crate::policy::{Step, StepAction};
use std::collections::HashSet;

/// Findings about a step.
pub(super) fn of_step(step: &Step) -> Vec<Diagnostic> {
    let StepAction::Assert(assert) = &step.action else { return Vec::new() };
    let Some(checked) = assert.checked() else { return Vec::new() };
    let path = || assert.origin().path;
    let mut findings = Vec::new();
    absences(&checked, &checked.expr, true, &mut |part| {
        findings.push(messages::one_absence_is_enough(assert.place_of(part.span)).path(path()));
    });
    let mut elements: Vec<(&Expr, String)> = Vec::new();
    for_each_question(&checked, &checked.expr, true, &mut |question, local, lets_by| {
        let ExprKind::Call { target, args, .. } = &question.kind else { return };
        let subject = match (function(&checked, question).map_or("", |(name, _)| name), args.as_slice()) {
            ("startsWith" | "endsWith" | "matches" | "contains", _) => target.as_deref(),
            ("_==_", [one, other]) if constants(other, local).is_empty() => {
                Some(other).filter(|_| !constants(one, local).is_empty())
            }
            ("_==_" | "@in", [one, _]) => Some(one),
            _ => None,
        };
        let list = subject.filter(|_| lets_by).and_then(|subject| list_of(&checked, subject));
        elements.extend(list.map(|list| (question, list.to_string())));
    });
    let condition = step.condition.as_ref().and_then(|condition| condition.checked());
    let mut known = HashSet::new();
    for checked in std::iter::once(&checked).chain(&condition) {
        known_lists(checked, &checked.expr, &mut known);
    }
    for (question, _) in elements.iter().filter(|(_, list)| !known.contains(list)) {
        findings.push(messages::one_element_asked(assert.place_of(question.span)).path(path()));
    }
    findings
}

/// Names of lists each of whose elements is used.
const ALL_USED: [&str; 20] = [
    "addresses",
    "attachments",
    "bcc",
    "cc",
    "commands",
    "domains",
    "emails",
    "files",
    "hosts",
    "links",
    "paths",
    "queries",
    "receivers",
    "recipients",
    "statements",
    "targets",
    "to",
    "tos",
    "uris",
    "urls",
];

/// Functions that return the part of a text that says whose it is, or another form of it.
const FORMS: [&str; 5] = ["mail.domain", "path.clean", "string", "text", "url"];

/// The list of arguments of which an expression reads one element: `input.to[0].lowerAscii()`.
fn list_of<'e>(checked: &Checked, subject: &'e Expr) -> Option<&'e Expr> {
    match &subject.kind {
        ExprKind::Index { operand, index, optional: false } => {
            let is_text = |element: &Type| matches!(element, Type::String);
            let is_list = matches!(checked.type_of(operand.id), Type::List(element) if is_text(element));
            let is_used = is_called(operand, &ALL_USED) && is_argument(checked, operand);
            let has_one = checked.domain_of(operand.id).map(sizes).is_some_and(|[_, most]| most == Some(1));
            let is_element = is_list && is_used && !has_one;
            (is_element && matches!(constant(index), Some(Sample::Int(_)))).then_some(&**operand)
        }
        ExprKind::Call { target, args, .. } => match (args.as_slice(), target.as_deref()) {
            ([only], _) if FORMS.contains(&function(checked, subject)?.0) => list_of(checked, only),
            (_, Some(target)) => list_of(checked, target),
            _ => None,
        },
        _ => None,
    }
}

/// Collects the lists whose size an expression asks for, and those that it goes through or gives to a function.
fn known_lists(checked: &Checked, expr: &Expr, found: &mut HashSet<String>) {
    let mut note = |list: &Expr| {
        if matches!(list.kind, ExprKind::Select { .. }) {
            found.insert(list.to_string());
        }
    };
    match &expr.kind {
        ExprKind::Comprehension(macros) => note(&macros.range),
        ExprKind::Call { target, args, .. } => {
            sized(checked, expr).into_iter().for_each(&mut note);
            target.as_deref().into_iter().chain(args).for_each(&mut note);
        }
        _ => {}
    }
    expr.for_each_part(&mut |part| known_lists(checked, part, found));
}

/// Hands over each chain in which it is enough that one of several detectors finds nothing in a value. `lets_by` says whether the step allows a call where the part is true.
fn absences<'e>(checked: &Checked, expr: &'e Expr, lets_by: bool, found: &mut dyn FnMut(&'e Expr)) {
    let name = function(checked, expr).map_or("", |(name, _)| name);
    let ExprKind::Call { args, .. } = &expr.kind else { return };
    match (name, args.as_slice()) {
        ("!_", [operand]) => absences(checked, operand, !lets_by, found),
        ("_||_" | "_&&_", operands) => {
            let subjects: Vec<String> =
                operands.iter().filter_map(|operand| detected(checked, operand, lets_by)).collect();
            let is_one_enough = (name == "_||_") == lets_by;
            let is_same = subjects
                .first()
                .is_some_and(|first| subjects.len() > 1 && subjects.iter().all(|subject| subject == first));
            if is_one_enough && is_same {
                found(expr);
            }
            operands.iter().for_each(|operand| absences(checked, operand, lets_by, found));
        }
        _ => {}
    }
}

/// The value of which a part says that a detector finds nothing, if that lets a call by.
fn detected(checked: &Checked, expr: &Expr, lets_by: bool) -> Option<String> {
    let ExprKind::Call { args, .. } = &expr.kind else { return None };
    match (function(checked, expr)?.0, args.as_slice()) {
        ("!_", [operand]) => detected(checked, operand, !lets_by),
        (name, [subject, ..]) if !lets_by && DETECTORS.contains(&name) => Some(subject.to_string()),
        _ => None,
    }
}
