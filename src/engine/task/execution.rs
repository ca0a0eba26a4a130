//! Carrying a function out, and the bindings that its arguments come from: for the model's calls and for invoke steps alike.

use super::evaluation::replay::{Halt, Replay};
use super::messages;
use super::state::{Answer, CallResult, CallStatus, Finding, Invocation, Request, Task, Terms, UnderWay};
use crate::cel::Json;
use crate::context::{Activations, Bound, Caller, Moment};
use crate::policy::{AgentFunction, Binding, Execute, Expression, Policy, Supplied};
use smallvec::SmallVec;
use std::sync::Arc;

/// How carrying out a function ended.
pub(super) enum Carried {
    /// With a result, or an error as data.
    Result(CallResult),
    /// The host must do it, or answer a question of a CEL tool.
    Asks(Request),
}

/// The result of a call as all that follows sees it. One that breaks what its function declares is a failed one, with the
/// place and the word that it breaks; the value itself goes no further, to no step, no record and no model. The call has run
/// all the same. A result that tells of a failure is held to nothing. Of a task that is only observed the finding is told, and the result
/// stays.
pub(super) fn held_to_schema(
    policy: &Policy,
    function: &AgentFunction,
    result: CallResult,
    findings: &mut Vec<Finding>,
) -> CallResult {
    let Some(declared) = function.output.as_ref().filter(|_| result.status == CallStatus::Successful) else {
        return result;
    };
    let Err(why) = declared.check(&result.output) else { return result };
    let text = messages::output_misfit(&function.called, &why);
    findings.push(Finding::new("output_misfit", text.clone(), Some(declared.origin())));
    if policy.observes() {
        return result;
    }
    let output = Json::object([("error", Json::string(&text))]);
    CallResult { output, task_id: result.task_id, ..CallResult::errored(Json::null()) }
}

/// The code of the finding about a result that was replaced by one that the function does not declare.
pub(super) const RESULT_MISFIT: &str = "result_misfit";

/// Whether a result that a step or a reviewer gives is not what the function declares. It goes to the model all the same, as nobody but the host knows
/// what holds its readers to the schema.
pub(super) fn result_misfit(function: &AgentFunction, result: &Json) -> Option<Finding> {
    let declared = function.output.as_ref()?;
    let why = declared.check(result).err()?;
    let text = messages::result_misfit(&function.called, &why);
    Some(Finding::new(RESULT_MISFIT, text, Some(declared.origin())))
}

impl AgentFunction {
    /// What a host is asked to carry out.
    pub(super) fn invocation(&self, caller: Caller, arguments: Json, terms: Option<Box<Terms>>) -> Request {
        let (function, target) = (self.key.to_string(), self.target.clone());
        Request::Invoke(Invocation { function, caller, target, arguments, terms })
    }
}

impl Task {
    /// The values of a capability's bindings; a failing one is a finding and has none.
    pub(super) fn evaluate_bindings<'v>(
        &'v self,
        bindings: impl Iterator<Item = &'v Arc<Binding>>,
        now: &'v Moment,
        findings: &mut Vec<Finding>,
    ) -> SmallVec<[Supplied<'v>; 4]> {
        let mut surroundings = Activations::new(self.surroundings(now));
        let values = bindings.map(|binding| {
            let value = match Replay::mute().settle(binding.evaluate(&mut surroundings, None)) {
                Ok(value) => Some(value),
                Err(Halt::Failed(error)) => {
                    findings.push(Finding::of_error(&error, binding.origin_of(error.span)));
                    None
                }
                // the scope of bindings has no function that asks
                Err(Halt::Asks(..)) => None,
            };
            (&*binding.name, value)
        });
        values.collect()
    }

    /// Carries a function out: a CEL tool here, anything else by asking the host, whose answer is the last exchange.
    pub(super) fn carry_out(
        &self,
        function: &AgentFunction,
        arguments: &Json,
        caller: Caller,
        operation: &mut UnderWay,
        now: &Moment,
    ) -> Carried {
        match &function.execute {
            Execute::Cel(expression) => self.run_tool(expression, arguments, operation, now),
            Execute::Absent => {
                let text = messages::not_brought(&function.called);
                Carried::Result(CallResult::errored(Json::object([("error", Json::string(&text))])))
            }
            Execute::Host => match operation.course.exchanges.pop().map(|exchange| exchange.answer) {
                Some(Answer::Result(result)) => Carried::Result(result),
                _ => {
                    let terms = operation.course.terms.some().filter(|_| caller == Caller::Model);
                    Carried::Asks(function.invocation(caller, arguments.clone(), terms))
                }
            },
        }
    }

    /// Runs the expression of a CEL tool; an error is one of the tool, which can be recovered (TOOL-08, MNT-09).
    fn run_tool(
        &self,
        expression: &Expression,
        arguments: &Json,
        operation: &mut UnderWay,
        now: &Moment,
    ) -> Carried {
        let mut replay = self.replay(&operation.course.exchanges);
        let bound = Bound { input: Some(arguments.value()), ..self.surroundings(now) };
        let value = expression.json(&mut Activations::new(bound), Some(&mut replay));
        match replay.settle(value) {
            Ok(output) => Carried::Result(CallResult::successful(output)),
            Err(Halt::Asks(request, used)) => {
                operation.course.exchanges.truncate(used);
                Carried::Asks(request)
            }
            Err(Halt::Failed(error)) => {
                let text = messages::tool_failed(&error.reason());
                operation.course.findings.push(Finding::of_error(&error, expression.origin_of(error.span)));
                let output = Json::object([("error", Json::string(&text))]);
                Carried::Result(CallResult::errored(output))
            }
        }
    }
}
