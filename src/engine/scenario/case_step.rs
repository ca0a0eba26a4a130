//! The steps of a case: those of a recorded task, each with what must come of it.
//!
//! In: the list `steps` or `story` of a case. Out: [`TestedStep`]s, or findings with their places.

use super::case::{TestedOperation, TestedStep};
use super::expect::{StepExpectations, read_of_step};
use super::messages;
use super::step::{StepKeys, read_step};
use crate::manifest::fields::Field;
use crate::manifest::node::Node;
use crate::manifest::reader::{Path, Reader};
use crate::manifest::shape::{List, Part, Required, mapping, shape, with};

mapping! {
    /// Something that happens, and what must come of it.
    TestedStepKeys as "testedStep" = "a step" {
        step: Part<StepKeys>,
        /// What must hold after the step; an absent key is not looked at.
        expect: StepExpectations,
    }
}

mapping! {
    /// Something that happens, and what must come of it.
    StoryStepKeys as "storyStep" = "a step" {
        _step: Part<StepKeys>,
        /// What must hold after the step; an absent key is not looked at.
        expect: Required<StepExpectations>,
    }
}

shape! {
    /// What happens, in order.
    pub(super) TestedSteps = |definitions| with(<List<TestedStepKeys>>::schema(definitions), "minItems", 1);
    /// What happens, in order, each step with expectations.
    pub(super) StorySteps = |definitions| with(<List<StoryStepKeys>>::schema(definitions), "minItems", 1);
}

/// Reads `steps`.
pub(super) fn read_steps(field: &Field<'_>, reader: &mut Reader) -> Option<TestedOperation> {
    let items = reader.list(field.node, &field.path)?;
    if items.is_empty() {
        reader.report(&field.path, messages::no_steps(field.key));
    }
    let items = items.iter().enumerate();
    let steps = items.filter_map(|(at, item)| read_tested_step(item, &field.path.item(at), reader));
    Some(TestedOperation::Steps(steps.collect()))
}

/// Reads `story`: steps that all have expectations.
pub(super) fn read_story(field: &Field<'_>, reader: &mut Reader) -> Option<TestedOperation> {
    let items = reader.list(field.node, &field.path)?;
    for (at, item) in items.iter().enumerate() {
        if let Some(fields) = reader.fields::<StoryStepKeys>(item, &field.path.item(at)) {
            fields.expect().required("", reader);
        }
    }
    read_steps(field, reader)
}

fn read_tested_step(node: &Node, path: &Path, reader: &mut Reader) -> Option<TestedStep> {
    let fields = reader.fields::<TestedStepKeys>(node, path)?;
    let step = read_step(node, &fields.step().part(), &[fields.expect().name()], reader);
    let expect = fields.expect().get().map(|field| read_of_step(field.node, &field.path, reader));
    let (expect, calls) = expect.unwrap_or_default();
    Some(TestedStep { step: step?, expect, calls })
}
