//! Expressions that are tried out on a task: by people, prompts and tests. Nothing of the task changes.
//!
//! In: a scope, a text, and the values that a call would bring. Out: the result, or a question; who knows the answer tries
//! again with it. The programs come from the engine's cache.

use super::replay::Halt;
use crate::cel::{EvalError, Issue, Json, Timestamp};
use crate::context::{Activations, Bound, Moment, Scope, TaskContext, TaskIo};
use crate::policy::{Expression, run_to_json};
use crate::task::state::{Exchange, Request, Task};
use std::borrow::Cow;
use std::sync::Arc;

/// An expression to be tried out.
#[derive(Clone, Debug)]
pub struct Trial<'t> {
    /// Where it would stand.
    pub scope: Scope,
    /// The expression.
    pub text: &'t str,
    /// `input`; of guardrails and `exposes` the entry under test.
    pub input: Option<&'t Json>,
    /// `output`; of guardrails and `exposes` the entry under test.
    pub output: Option<&'t Json>,
    /// `event`.
    pub event: Option<&'t Json>,
    /// `parameters` of a filter.
    pub parameters: Option<&'t Json>,
}

/// The result of a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum Tried {
    /// The result.
    Value(Json),
    /// It failed.
    Failed(EvalError),
    /// It asks; try again with the answer.
    Asks(Request),
}

impl<'t> Trial<'t> {
    /// An expression that needs nothing but the task.
    #[must_use]
    pub fn new(scope: Scope, text: &'t str) -> Self {
        Self { scope, text, input: None, output: None, event: None, parameters: None }
    }
}

impl Task {
    /// Tries an expression out, with the answers that it was given so far, in order.
    ///
    /// # Errors
    /// The issues of the expression in its scope.
    ///
    /// # Cost
    /// That of the expression; a hash of its text if it was compiled before. An entry under test costs a snapshot of the
    /// context.
    pub fn evaluate(
        &self,
        trial: &Trial<'_>,
        answers: &[Exchange],
        now: Timestamp,
    ) -> Result<Tried, Arc<[Issue]>> {
        let scope = self.policy.trial_scope(trial.scope);
        let program = self.cache.compile(scope.env(), trial.text)?;
        let now = Moment::from(now);
        let context = self.context_of(trial);
        let bound = Bound {
            context: Some(&context),
            input: trial.input.map(Json::value),
            output: trial.output.map(Json::value),
            event: trial.event.map(Json::value),
            parameters: trial.parameters.map(Json::value),
            ..self.surroundings(&now)
        };
        let mut replay = self.replay(answers);
        let (result, _) = run_to_json(&program, &scope, &bound, &mut replay);
        Ok(match replay.settle(result) {
            Ok((value, _)) => Tried::Value(value),
            Err(Halt::Failed(error)) => Tried::Failed(error),
            Err(Halt::Asks(request, _)) => Tried::Asks(request),
        })
    }

    /// Whether an expression of a policy that is about no operation holds of the task as it stands: an error and a question are no yes.
    pub(crate) fn fulfils(&self, expression: &Expression, now: Timestamp) -> bool {
        let now = Moment::from(now);
        let mut values = Activations::new(self.surroundings(&now));
        expression.holds(&mut values, None).unwrap_or(false)
    }

    /// The context with the entries under test in it.
    fn context_of(&self, trial: &Trial<'_>) -> Cow<'_, TaskContext> {
        let entry = |json: Option<&Json>| {
            let json = json.filter(|_| trial.scope.tests_messages())?;
            TaskIo::from_entry(json.root()).ok()
        };
        let (input, output) = (entry(trial.input), entry(trial.output));
        if input.is_none() && output.is_none() {
            return Cow::Borrowed(&self.context);
        }
        let mut context = self.context.clone();
        input.into_iter().for_each(|input| context.push_input(input));
        output.into_iter().for_each(|output| context.push_output(output));
        Cow::Owned(context)
    }
}
