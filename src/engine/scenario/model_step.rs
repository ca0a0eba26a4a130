//! A call of the model in a recorded task or a case: what is sent, or what came back.
//!
//! In: `model: {id: m1, request: {…}}` or `model: {id: m1, answer: {…}}`. Out: a [`ModelStep`], or findings with their places. Whether the
//! documents are of the shape that steps see is the task's to say.

use super::messages;
use crate::cel::Json;
use crate::manifest::fields::Field;
use crate::manifest::reader::Reader;
use crate::manifest::shape::{Mapping as _, Object, Required, Text, mapping};
use crate::source::Embedded;

/// What happens to a call of the model.
#[derive(Clone, Debug)]
pub struct ModelStep {
    /// The id of the call.
    pub id: Embedded,
    /// What is sent, or what came back.
    pub part: ModelPart,
}

/// A part of a call of the model.
#[derive(Clone, Debug)]
pub enum ModelPart {
    /// What is about to be sent: an object.
    Request(Json),
    /// What the model has answered: an object.
    Answer(Json),
}

mapping! {
    /// A call of the model: what is about to be sent, or what came back.
    #[rules = { "oneOf": [{ "required": ["request"] }, { "required": ["answer"] }] }]
    pub(super) ModelStepKeys as "modelCall" = "a call of the model" {
        /// The name by which its answer knows it.
        id: Required<Text>,
        /// What is about to be sent.
        request: Object,
        /// What the model has answered.
        answer: Object,
    }
}

pub(super) fn read_model(field: &Field<'_>, reader: &mut Reader) -> Option<ModelStep> {
    let fields = reader.fields::<ModelStepKeys>(field.node, &field.path)?;
    let id = fields.id().required_text(reader);
    let (request, answer) = (fields.request().object(reader), fields.answer().object(reader));
    let keys = [fields.request().name(), fields.answer().name()];
    fields.refuse_others(reader);
    let part = match (request, answer) {
        (Some(request), None) => ModelPart::Request(request),
        (None, Some(answer)) => ModelPart::Answer(answer),
        _ => {
            reader.report(&field.path, messages::one_key_of(&field.node.place, ModelStepKeys::OWNER, &keys));
            return None;
        }
    };
    Some(ModelStep { id: id?, part })
}
