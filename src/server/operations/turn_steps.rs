//! The steps that are about several calls at once: a whole turn of the model, and the results of its calls.
//!
//! In: one body for all of them. Out: as `steps`, one decision that is stored and written down, with those of the calls in it.

use crate::messages;
use crate::problem::{Kind, Problem};
use crate::tasks::steps::{
    After, Answers, Circumstances, StepBody, WhileHeld, masked_result, replace, written,
};
use celador::task::{Call, Progress, Task, Turn};
use celador_store::OperationKind;
use serde::Deserialize;
use serde_json::Value;

/// The model has answered, with all the calls that it wants.
#[derive(Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct TurnStep(Turn);

impl StepBody for TurnStep {
    fn operation(&self) -> OperationKind {
        OperationKind::Turn
    }

    fn masked(&self, task: &Task, mut body: Value) -> Value {
        for (at, call) in self.0.calls.iter().enumerate() {
            let arguments = task.policy().masked_arguments(&call.function, &call.arguments);
            replace(&mut body, &format!("/calls/{at}/arguments"), written(&arguments));
        }
        body
    }

    fn comes_again(&self, task: &Task) -> bool {
        let is_known = |call: &Call| call.id.as_ref().is_some_and(|id| task.has_call(id));
        !self.0.calls.is_empty() && self.0.calls.iter().all(is_known)
    }

    fn answers(&self) -> Answers {
        Answers::Turn(self.0.calls.len())
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        Ok(task.turn(&self.0, at.now)?.into_decision().into())
    }
}

/// Several calls that were let through have run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Results {
    /// The calls with their results, in the order in which they are to be recorded.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    results: Vec<After>,
}

impl StepBody for Results {
    fn operation(&self) -> OperationKind {
        OperationKind::Results
    }

    fn masked(&self, task: &Task, mut body: Value) -> Value {
        for (at, After { call, result }) in self.results.iter().enumerate() {
            let function = task.function_of(call).unwrap_or_default();
            let place = format!("/results/{at}/result/output");
            replace(&mut body, &place, masked_result(task, function, result));
        }
        body
    }

    fn while_held(&self, _: &Task) -> WhileHeld {
        WhileHeld::Taken
    }

    fn comes_again(&self, task: &Task) -> bool {
        self.results.iter().all(|after| after.comes_again(task))
    }

    fn answers(&self) -> Answers {
        Answers::Results(self.results.len())
    }

    fn take(&self, task: &mut Task, at: &Circumstances<'_>) -> Result<Progress, Problem> {
        if self.results.is_empty() {
            return Err(Problem::new(Kind::BadRequest, messages::no_results()));
        }
        let results = self.results.iter().map(|After { call, result }| {
            Ok((call.clone(), at.result(task, task.function_of(call), result)?))
        });
        let results = results.collect::<Result<_, Problem>>()?;
        Ok(task.results(results, at.now)?.into_decision().into())
    }
}
