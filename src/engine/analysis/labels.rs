//! Labels that are asked for, and that no step gives: `'privat' in labels(input)`.
//!
//! In: the steps of all agents, and their expressions. Out: a finding for each constant that is looked for among labels, or taken from a value, and is none of those that steps give. Where an
//! expression gives labels, nobody knows which, so only what is nearly one of the others is told. Linear in the expressions, times the labels.

use super::messages;
use super::path::function;
use crate::cel::{Checked, Expr, ExprKind, Literal};
use crate::context::{CALL_LABELS, LABELS, TASK_LABELS};
use crate::diagnostic::{Diagnostic, slip};
use crate::policy::{Expression, Step, StepAction, StepLabels};
use crate::source::Place;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The labels of all agents.
#[derive(Default)]
pub(super) struct Labels {
    given: BTreeSet<Arc<str>>,
    /// Whether some expression gives labels.
    are_computed: bool,
    /// The constants that are looked for among labels or taken from values.
    asked: Vec<AskedLabel>,
}

/// A constant that is looked for among labels or taken from a value.
struct AskedLabel {
    place: Place,
    /// The path of what names it.
    path: String,
    text: String,
    /// Whether it is the value of a parameter: the policy that gives it may have other steps that give the label.
    is_given: bool,
}

impl Labels {
    /// Notes which labels a step gives.
    pub(super) fn note_step(&mut self, step: &Step) {
        let StepAction::Label(given) = &step.action else { return };
        match &given.labels {
            StepLabels::Written(labels) if !given.takes => self.given.extend(labels.iter().cloned()),
            StepLabels::Written(labels) => {
                self.asked.extend(labels.iter().map(|label| AskedLabel {
                    place: step.place().clone(),
                    path: step.origin().path,
                    text: label.to_string(),
                    is_given: false,
                }));
            }
            StepLabels::Computed(_) => self.are_computed |= !given.takes,
        }
    }

    /// Notes for which labels an expression asks.
    pub(super) fn note_questions(&mut self, expression: &Expression, checked: &Checked) {
        look(checked, &checked.expr, &mut |constant, text| {
            self.asked.push(AskedLabel {
                place: expression.place_of(constant.span),
                path: expression.origin().path,
                text: text.to_owned(),
                is_given: expression.values_in(constant.span).next().is_some(),
            });
        });
    }

    /// What is found once all steps are known.
    pub(super) fn end(self) -> Vec<Diagnostic> {
        let Self { given, are_computed, asked } = self;
        let unknown = asked.into_iter().filter(|asked| !given.contains(&*asked.text));
        let told = unknown.filter_map(|AskedLabel { place, path, text, is_given }| {
            let near = slip(&text, given.iter().map(|label| &**label));
            (near.is_some() || !are_computed && !is_given)
                .then(|| messages::unknown_label(place, near).path(path))
        });
        told.collect()
    }
}

/// Hands over each text that is looked for in what `labels`, `callLabels` or `taskLabels` gives, or that an element of it is compared with.
fn look<'e>(checked: &Checked, expr: &'e Expr, found: &mut dyn FnMut(&'e Expr, &'e str)) {
    match &expr.kind {
        ExprKind::Call { args, .. } => match (name(checked, expr), args.as_slice()) {
            ("@in", [constant, of]) if are_labels(checked, of) => text(constant, found),
            ("sets.intersects" | "sets.contains", [one, other]) => {
                for (constants, of) in [(one, other), (other, one)] {
                    if are_labels(checked, of) {
                        texts(constants, found);
                    }
                }
            }
            _ => {}
        },
        ExprKind::Comprehension(macros) if macros.second.is_none() && are_labels(checked, &macros.range) => {
            compared(checked, &macros.variable.text, &macros.body, found);
        }
        _ => {}
    }
    expr.for_each_part(&mut |part| look(checked, part, found));
}

fn name(checked: &Checked, expr: &Expr) -> &'static str {
    function(checked, expr).map_or("", |(name, _)| name)
}

/// Whether an expression is a list of labels: of a value, a call, the task, or a source.
fn are_labels(checked: &Checked, expr: &Expr) -> bool {
    let is_of_source = || match &expr.kind {
        ExprKind::Select { operand, field, .. } if field.text == "labels" => {
            checked.domain_of(operand.id).is_some_and(|domain| domain.members.is_some())
        }
        _ => false,
    };
    [LABELS, CALL_LABELS, TASK_LABELS].contains(&name(checked, expr)) || is_of_source()
}

/// Hands over each text that a variable is compared with.
fn compared<'e>(checked: &Checked, variable: &str, expr: &'e Expr, found: &mut dyn FnMut(&'e Expr, &'e str)) {
    let is_it =
        |expr: &Expr| matches!(&expr.kind, ExprKind::Ident { name, absolute: false } if name == variable);
    if let ExprKind::Call { target: None, args, .. } = &expr.kind
        && let [one, other] = args.as_slice()
    {
        match name(checked, expr) {
            "_==_" | "_!=_" if is_it(one) => text(other, found),
            "_==_" | "_!=_" if is_it(other) => text(one, found),
            "@in" if is_it(one) => texts(other, found),
            _ => {}
        }
    }
    expr.for_each_part(&mut |part| compared(checked, variable, part, found));
}

fn texts<'e>(list: &'e Expr, found: &mut dyn FnMut(&'e Expr, &'e str)) {
    if let ExprKind::List(elements) = &list.kind {
        elements.iter().for_each(|element| text(&element.value, found));
    }
}

fn text<'e>(constant: &'e Expr, found: &mut dyn FnMut(&'e Expr, &'e str)) {
    if let ExprKind::Literal(Literal::String(text)) = &constant.kind {
        found(constant, text);
    }
}
