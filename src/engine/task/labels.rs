//! Steps of policies that label what came in, a result or an input under test, or the task.
//!
//! In: the step, and the operation that passes it. Out: the labels that it gave or took, on record with the step that did. A result that a person
//! gave in the tool's place is not on record, and has none. What is no label makes the step fail.

use super::flow::{StepEnd, halted};
use super::messages;
use super::state::{Finding, Subject, Task, UnderWay};
use crate::cel::{Json, JsonRef};
use crate::context::{Activations, LabelChange, LabelSet, Labelling, Moment, SeenBy, ValueSource};
use crate::manifest::label::MAX_LABEL_BYTES;
use crate::policy::{Expression, LabelStep, Step, StepLabels};

impl Task {
    pub(super) fn label(
        &mut self,
        step: &Step,
        labels: &LabelStep,
        operation: &mut UnderWay,
        now: &Moment,
    ) -> StepEnd {
        let UnderWay { subject, course, .. } = operation;
        let given = match &labels.labels {
            StepLabels::Written(given) => given.clone(),
            StepLabels::Computed(expression) => {
                let results = course.results.clone();
                let mut values = Activations::new(self.bound(subject, &results, now));
                let texts = match self.run(expression, course, &mut values, Expression::json_metered) {
                    Ok(texts) => texts,
                    Err(halt) => return halted(halt, course, expression),
                };
                match self.labels_by(step, &texts) {
                    Ok(given) => given,
                    Err(finding) => return StepEnd::Failed(Some(finding)),
                }
            }
        };
        if let Some(labelling) = self.labelling(step, labels, &given, subject, SeenBy::Everybody) {
            self.context.label(labelling);
        }
        StepEnd::Labelled(given)
    }

    /// What a step does with these labels; nothing if there is no value that it could label.
    pub(super) fn labelling(
        &self,
        step: &Step,
        of_step: &LabelStep,
        labels: &LabelSet,
        subject: &Subject,
        seen_by: SeenBy,
    ) -> Option<Labelling> {
        let change = if of_step.takes { LabelChange::Taken } else { LabelChange::Given };
        let by = step.name.as_ref().map(|name| name.to_string().into());
        let of = if of_step.of_task { ValueSource::Task } else { self.labelled_by(subject)? };
        Some(Labelling { of, change, labels: labels.clone(), by, seen_by })
    }

    /// The labels that the expression of a step gives, or why they are none.
    pub(super) fn labels_by(&self, step: &Step, texts: &Json) -> Result<LabelSet, Finding> {
        let most = self.policy.limits().max_labels;
        label_set(texts, most).ok_or_else(|| {
            let message = messages::no_label(most, MAX_LABEL_BYTES);
            Finding::new("label_misfit", message, Some(step.origin()))
        })
    }

    /// The value that a step of an operation labels.
    fn labelled_by(&self, subject: &Subject) -> Option<ValueSource> {
        match subject {
            Subject::Call(call) => call.record.map(|record| self.context.source_of(record)),
            Subject::Input(_) => self.context.last_input_source(),
            Subject::Event(_) | Subject::Output | Subject::Model(_) | Subject::Script(_) => None,
        }
    }
}

/// The labels that an expression gives: a text, or a list of texts.
fn label_set(texts: &Json, most: usize) -> Option<LabelSet> {
    let root = texts.root();
    let label = |text: JsonRef<'_>| {
        let text = text.as_str().filter(|text| !text.is_empty() && text.len() <= MAX_LABEL_BYTES)?;
        Some(text.into())
    };
    let labels: LabelSet =
        if root.is_array() { root.items().map(label).collect::<Option<_>>()? } else { [label(root)?].into() };
    (labels.len() <= most).then_some(labels)
}
