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
    of_values: GivenLabels,
    of_task: GivenLabels,
    /// The constants that are looked for among labels or taken from values.
    asked: Vec<AskedLabel>,
}

/// The labels that steps give to values, or to the task.
#[derive(Default)]
struct GivenLabels {
    written: BTreeSet<Arc<str>>,
    /// Whether some expression gives labels.
    are_computed: bool,
}

/// A constant that is looked for among labels or taken from a value.
struct AskedLabel {
    place: Place,
    /// The path of what names it.
    path: String,
    text: String,
    /// Whether it is looked for among the labels of the task.
    of_task: bool,
    /// Whether it is the value of a parameter: the policy that gives it may have other steps that give the label.
    is_given: bool,
}

impl Labels {
    /// Notes which labels a step gives.
    pub(super) fn note_step(&mut self, step: &Step) {
        let StepAction::Label(given) = &step.action else { return };
        let of_kind = if given.of_task { &mut self.of_task } else { &mut self.of_values };
        match &given.labels {
            StepLabels::Written(labels) if !given.takes => of_kind.written.extend(labels.iter().cloned()),
            StepLabels::Written(labels) => {
                self.asked.extend(labels.iter().map(|label| AskedLabel {
                    place: step.place().clone(),
                    path: step.origin().path,
                    text: label.to_string(),
                    of_task: given.of_task,
                    is_given: false,
                }));
            }
            StepLabels::Computed(_) => of_kind.are_computed |= !given.takes,
        }
    }

    /// Notes for which labels an expression asks.
    pub(super) fn note_questions(&mut self, expression: &Expression, checked: &Checked) {
        look(checked, &checked.expr, &mut |constant, text, of_task| {
            self.asked.push(AskedLabel {
                place: expression.place_of(constant.span),
                path: expression.origin().path,
                text: text.to_owned(),
                of_task,
                is_given: expression.values_in(constant.span).next().is_some(),
            });
        });
    }

    /// What is found once all steps are known.
    pub(super) fn end(self) -> Vec<Diagnostic> {
        let Self { of_values, of_task, asked } = self;
        let told = asked.into_iter().filter_map(|asked| {
            let (given, other) = if asked.of_task { (&of_task, &of_values) } else { (&of_values, &of_task) };
            if given.written.contains(&*asked.text) {
                return None;
            }
            let near = slip(&asked.text, given.written.iter().map(|label| &**label));
            let is_of_other = near.is_none() && other.written.contains(&*asked.text);
            let is_unknown = near.is_some() || !given.are_computed && !asked.is_given;
            let finding = match is_of_other {
                true => messages::label_of_other_kind(asked.place, asked.of_task),
                false => messages::unknown_label(asked.place, near),
            };
            is_unknown.then(|| finding.path(asked.path))
        });
        told.collect()
    }
}

/// Hands over each text that is looked for in what `labels`, `callLabels` or `taskLabels` gives, or that an element of it is compared with, and whether these are labels of the task.
fn look<'e>(checked: &Checked, expr: &'e Expr, found: &mut dyn FnMut(&'e Expr, &'e str, bool)) {
    let of_task = |of: &Expr| name(checked, of) == TASK_LABELS;
    match &expr.kind {
        ExprKind::Call { args, .. } => match (name(checked, expr), args.as_slice()) {
            ("@in", [constant, of]) if are_labels(checked, of) => {
                text(constant, &mut |constant, text| found(constant, text, of_task(of)));
            }
            ("sets.intersects" | "sets.contains", [one, other]) => {
                for (constants, of) in [(one, other), (other, one)] {
                    if are_labels(checked, of) {
                        texts(constants, &mut |constant, text| found(constant, text, of_task(of)));
                    }
                }
            }
            _ => {}
        },
        ExprKind::Comprehension(macros) if macros.second.is_none() && are_labels(checked, &macros.range) => {
            let of_task = of_task(&macros.range);
            compared(checked, &macros.variable.text, &macros.body, &mut |constant, text| {
                found(constant, text, of_task);
            });
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
