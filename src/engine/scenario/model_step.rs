//! A call of the model in a recorded task or a case: what is sent, or what came back.
//!
//! In: `model: {id: m1, request: {…}}` or `model: {id: m1, answer: {…}}`. Out: an operation, or findings with their places. Whether the
//! documents are of the shape that steps see is the task's to say.

use super::messages;
use crate::manifest::fields::Field;
use crate::manifest::reader::Reader;
use crate::manifest::shape::{Mapping as _, Object, Required, Text, mapping};
use crate::source::Embedded;
use crate::task::{CallId, ModelCall, Operation};

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

/// Reads what is sent to the model, or what has come back, and the id of the call.
pub(super) fn read_model(field: &Field<'_>, reader: &mut Reader) -> Option<(Operation, Embedded)> {
    let fields = reader.fields::<ModelStepKeys>(field.node, &field.path)?;
    let id = fields.id().required_text(reader);
    let (request, answer) = (fields.request().object(reader), fields.answer().object(reader));
    let keys = [fields.request().name(), fields.answer().name()];
    fields.refuse_others(reader);
    let name = id.as_ref().map(|id| CallId::from(&*id.text));
    let operation = match (request, answer) {
        (Some(request), None) => Operation::ModelBefore(ModelCall::new(request).with_id(name?)),
        (None, Some(answer)) => Operation::ModelAfter { call: name?, answer },
        _ => {
            reader.report(&field.path, messages::one_key_of(&field.node.place, ModelStepKeys::OWNER, &keys));
            return None;
        }
    };
    Some((operation, id?))
}
