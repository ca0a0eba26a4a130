//! The steps around a call of the model on the wire: what is sent, and what came back.

use crate::problem::Problem;
use crate::tasks::steps::{Circumstances, StepBody, WhileHeld, replace, written};
use celador::cel::Json;
use celador::task::{CallId, ModelCall, Progress, Task};
use celador_store::OperationKind;
use serde::Deserialize;
use serde_json::Value;

/// Something is about to be sent to the model.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct ModelBefore(ModelCall);

impl StepBody for ModelBefore {
    fn operation(&self) -> OperationKind {
        OperationKind::ModelBefore
    }

    fn masked(&self, task: &Task, mut body: Value) -> Value {
        replace(&mut body, "/request", written(&task.policy().masked_of_model(&self.0.request)));
        body
    }

    fn comes_again(&self, task: &Task) -> bool {
        self.0.id.as_ref().is_some_and(|id| task.has_call(id))
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.model_before(&self.0, at.now)?.into_progress())
    }
}

/// The model has answered a call that was let through.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ModelAfter {
    /// The call that `model-before` let through.
    call: CallId,
    /// What the model has answered.
    #[cfg_attr(feature = "schema", schemars(schema_with = "answer_schema"))]
    answer: Json,
}

#[cfg(feature = "schema")]
fn answer_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::Schema::try_from(celador::policy::answer_schema()).unwrap_or_default()
}

impl StepBody for ModelAfter {
    fn operation(&self) -> OperationKind {
        OperationKind::ModelAfter
    }

    fn masked(&self, task: &Task, mut body: Value) -> Value {
        replace(&mut body, "/answer", written(&task.policy().masked_of_model(&self.answer)));
        body
    }

    fn while_held(&self, _: &Task) -> WhileHeld {
        WhileHeld::Taken
    }

    fn comes_again(&self, task: &Task) -> bool {
        !task.awaits_answer(&self.call) && task.has_call(&self.call)
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.model_after(&self.call, &self.answer, at.now)?.into_progress())
    }
}
