//! The one runner of step lists, for capabilities and guardrails alike, and the loop over the stages of an operation.
//!
//! Steps run in order (MW-02); each is skipped, passes, fails or asks. What fails does what its `on_fail` says, and every
//! error is a failure: of the condition (MW-26), of the expression, of the call. A finished step never runs again (RV-04).

use super::capability_call::ended;
use super::decision::{Finding, StepOutcome, TraceEntry, Verdict};
use super::effect::{CallStatus, Caller, Progress, Request};
use super::operation::{Operation, Pending, Stage, Subject};
use super::replay::{Halt, Replay};
use super::{Task, messages};
use crate::cel::{EvalError, Json, Timestamp};
use crate::context::{self, FunctionId, Moment, Status};
use crate::manifest::step::OnFail;
use crate::policy::{Binding, Expression, Function, Invoke, Origin, Policy, Step, StepAction};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// How a stage ended.
pub(super) enum Flow {
    /// Nothing stands in the way.
    Passed,
    /// A step stopped the operation.
    Stopped(Stopped),
    /// The task came to its end.
    Ended(Verdict, String),
    /// The host must answer first.
    Asks(Request),
}

/// A failed step that does not let the operation go on.
pub(super) struct Stopped {
    /// Block or lock_task.
    pub(super) verdict: Verdict,
    /// Its rendered message, or the default.
    pub(super) message: String,
    pub(super) origin: Origin,
}

/// How one step ended.
enum StepEnd {
    Skipped,
    Passed,
    Failed(Option<Finding>),
    Asks(Request),
}

/// How carrying out a function ended, for the model or for a step.
pub(super) enum Carried {
    Result(super::CallResult),
    Asks(Request),
}

impl Finding {
    /// An expression that failed.
    pub(super) fn of_error(error: &EvalError, origin: Origin) -> Self {
        Self { code: Cow::Borrowed(error.code.as_str()), message: error.to_string(), origin: Some(origin) }
    }

    pub(super) fn new(code: &'static str, message: String, origin: Option<Origin>) -> Self {
        Self { code: Cow::Borrowed(code), message, origin }
    }
}

impl Task {
    /// Takes an operation as far as it goes.
    pub(super) fn advance(&mut self, mut operation: Operation, now: Timestamp) -> Progress {
        let policy = self.policy.clone();
        let now = Moment::from(now);
        loop {
            let flow = match operation.stage.hook() {
                Some(_) => self.run_steps(&policy, &mut operation, &now),
                None => self.execute(&policy, &mut operation, &now),
            };
            match flow {
                Flow::Passed => match operation.next_stage() {
                    Some(stage) => operation.enter(stage),
                    None => return self.finish(operation, now).into(),
                },
                Flow::Stopped(stopped) => return self.stop(operation, stopped, now).into(),
                Flow::Ended(verdict, reason) => return ended(operation, verdict, reason).into(),
                Flow::Asks(request) => {
                    self.pending = Some(Box::new(Pending { operation, request: request.clone() }));
                    return Progress::Asks(request);
                }
            }
        }
    }

    /// Runs the rest of the stage's list.
    fn run_steps(&mut self, policy: &Policy, operation: &mut Operation, now: &Moment) -> Flow {
        let Some(hook) = operation.stage.hook() else { return Flow::Passed };
        let function = operation.call().and_then(|call| policy.function(call.function));
        let capability = function.map_or(0, |function| function.capability);
        let list = policy.steps(hook, capability);
        while let Some(step) = list.get(operation.step) {
            match self.run_step(policy, step, function, operation, now) {
                StepEnd::Skipped => {}
                StepEnd::Passed => trace(operation, StepOutcome::Pass, None),
                StepEnd::Failed(finding) => {
                    operation.findings.extend(finding);
                    let message = step.message(&self.bound(operation, now));
                    trace(operation, StepOutcome::Fail, message.clone());
                    if let Some(stopped) = stopped(step, operation, message) {
                        return Flow::Stopped(stopped);
                    }
                }
                StepEnd::Asks(request) => return Flow::Asks(request),
            }
            operation.next_step();
        }
        Flow::Passed
    }

    fn run_step(
        &mut self,
        policy: &Policy,
        step: &Step,
        function: Option<&Function>,
        operation: &mut Operation,
        now: &Moment,
    ) -> StepEnd {
        if !function.is_none_or(|function| step.is_for(&function.name)) {
            return StepEnd::Skipped;
        }
        if !operation.entered {
            if operation.stage == Stage::BeforeFirst && !self.is_first(policy, step, operation) {
                return StepEnd::Skipped;
            }
            if let Some(condition) = &step.condition {
                match self.run(operation, now, condition, Expression::holds) {
                    Ok(true) => {}
                    Ok(false) => return StepEnd::Skipped,
                    Err(halt) => return halted(halt, operation, |error| condition.origin_of(error.span)),
                }
            }
            operation.entered = true;
        }
        match &step.action {
            StepAction::Assert(expression) => match self.run(operation, now, expression, Expression::holds) {
                Ok(true) => StepEnd::Passed,
                Ok(false) => StepEnd::Failed(None),
                Err(halt) => halted(halt, operation, |error| expression.origin_of(error.span)),
            },
            StepAction::Transform(expression) => match self.run(operation, now, expression, Expression::json)
            {
                Ok(value) => self.transform(operation, value, step),
                Err(halt) => halted(halt, operation, |error| expression.origin_of(error.span)),
            },
            StepAction::Invoke(invoke) => self.run_invoke(policy, step, invoke, operation, now),
        }
    }

    /// Whether `before_first` still applies: no call that ran is on record, of the capability or, for a step with
    /// `match`, of the function that it selects.
    fn is_first(&self, policy: &Policy, step: &Step, operation: &Operation) -> bool {
        let Some(call) = operation.call() else { return true };
        let has_run = |position: usize| self.context.executed(function_id(position)) > 0;
        if step.selects.is_some() {
            return !has_run(call.function);
        }
        let capability = policy.function(call.function).map_or(0, |function| function.capability);
        !policy.functions_of(capability).any(has_run)
    }

    /// Puts the value of a transform in the place of what is being handled.
    fn transform(&mut self, operation: &mut Operation, value: Json, step: &Step) -> StepEnd {
        let entry = match &mut operation.subject {
            Subject::Call(call) => {
                call.output = Some(value);
                return StepEnd::Passed;
            }
            Subject::Input => self.context.last_input(),
            Subject::Output => self.context.last_output(),
        };
        match (entry.map(|entry| entry.transformed(value.root())), &operation.subject) {
            (Some(Ok(entry)), Subject::Input) => self.context.replace_last_input(entry),
            (Some(Ok(entry)), _) => self.context.replace_last_output(entry),
            (Some(Err(_)) | None, _) => {
                let origin = Some(step.origin());
                let finding = Finding::new("no_message", messages::no_such_message(), origin);
                return StepEnd::Failed(Some(finding));
            }
        }
        StepEnd::Passed
    }

    fn run_invoke(
        &mut self,
        policy: &Policy,
        step: &Step,
        invoke: &Invoke,
        operation: &mut Operation,
        now: &Moment,
    ) -> StepEnd {
        let target = invoke.function.and_then(|position| Some((position, policy.function(position)?)));
        let Some((position, function)) = target else {
            let finding = Finding::new("unresolved", messages::target_not_loaded(), Some(step.origin()));
            return StepEnd::Failed(Some(finding));
        };
        let arguments = match &operation.formed {
            Some(formed) => formed.clone(),
            None => match self.form(function, invoke, operation, now) {
                Ok(Ok(formed)) => {
                    operation.exchanges.clear();
                    operation.formed = Some(formed.clone());
                    formed
                }
                Ok(Err(partial)) => {
                    self.record_invoke(position, partial, None, Status::Errored, now);
                    return StepEnd::Failed(None);
                }
                Err(request) => return StepEnd::Asks(request),
            },
        };
        match self.carry_out(function, &arguments, Caller::Middleware, operation, now) {
            Carried::Asks(request) => StepEnd::Asks(request),
            Carried::Result(result) => {
                let worked = result.status == CallStatus::Successful;
                let status = if worked { Status::Successful } else { Status::Errored };
                self.record_invoke(position, arguments, Some(result), status, now);
                if worked {
                    return StepEnd::Passed;
                }
                let message = messages::invoke_failed(&function.key);
                StepEnd::Failed(Some(Finding::new("invoke_failed", message, Some(step.origin()))))
            }
        }
    }

    /// Forms the arguments of an invoke step: those of the step over those of the invoked capability over defaults
    /// (BND-16). `Ok(Err(..))` holds what there is of arguments that could not be formed.
    fn form(
        &self,
        function: &Function,
        invoke: &Invoke,
        operation: &mut Operation,
        now: &Moment,
    ) -> Result<Result<Json, Json>, Request> {
        let mut findings = Vec::new();
        let mut own: SmallVec<[(&str, Option<Json>); 8]> = SmallVec::new();
        // one log of answers runs through all bindings of the step, in their order
        let mut replay = self.replay(&operation.exchanges);
        for binding in &invoke.bindings {
            let value = binding.evaluate(&self.bound(operation, now), Some(&mut replay));
            let value = match replay.settle(value) {
                Ok(value) => Some(value),
                Err(Halt::Failed(error)) => {
                    findings.push(Finding::of_error(&error, binding.origin_of(error.span)));
                    None
                }
                Err(Halt::Asks(request, used)) => {
                    operation.exchanges.truncate(used);
                    return Err(request);
                }
            };
            own.push((&binding.name, value));
        }
        let is_given = |name: &str| invoke.bindings.iter().any(|binding| *binding.name == *name);
        let inherited = function.bindings.iter().filter(|binding| !is_given(&binding.name));
        let agent = self.evaluate_bindings(inherited, now, &mut findings);
        let resolution = function.parameters.resolve_invoke(&borrowed(&own), &borrowed(&agent));
        let misfits = resolution.unbound.iter().map(|name| messages::binding_misfit(name));
        let misfits = misfits.filter(|_| findings.is_empty());
        let faults = misfits.chain(resolution.faults).map(|fault| Finding::new("bad_arguments", fault, None));
        let faults: Vec<_> = faults.collect();
        let formed = faults.is_empty() && findings.is_empty();
        operation.findings.extend(findings.into_iter().chain(faults));
        Ok(if formed { Ok(resolution.arguments) } else { Err(resolution.arguments) })
    }

    /// The values of a capability's bindings; a failing one is a finding and has none.
    pub(super) fn evaluate_bindings<'p>(
        &self,
        bindings: impl Iterator<Item = &'p Arc<Binding>>,
        now: &Moment,
        findings: &mut Vec<Finding>,
    ) -> SmallVec<[(&'p str, Option<Json>); 8]> {
        let surroundings = self.surroundings(now);
        let values = bindings.map(|binding| {
            let mut replay = Replay::mute();
            let value = match replay.settle(binding.evaluate(&surroundings, None)) {
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

    /// Carries out a function: a CEL tool here, anything else by asking the host.
    pub(super) fn carry_out(
        &self,
        function: &Function,
        arguments: &Json,
        caller: Caller,
        operation: &mut Operation,
        now: &Moment,
    ) -> Carried {
        match &function.execute {
            crate::policy::Execute::Cel(expression) => self.run_tool(expression, arguments, operation, now),
            crate::policy::Execute::Host => match operation.exchanges.pop().map(|exchange| exchange.answer) {
                Some(super::Answer::Result(result)) => Carried::Result(result),
                _ => Carried::Asks(Request::Invoke(super::Invocation {
                    function: function.key.to_string(),
                    caller,
                    target: function.target.clone(),
                    arguments: arguments.clone(),
                })),
            },
        }
    }

    /// Runs the expression of a CEL tool; an error is one of the tool, which can be recovered (TOOL-08, MNT-09).
    fn run_tool(
        &self,
        expression: &Expression,
        arguments: &Json,
        operation: &mut Operation,
        now: &Moment,
    ) -> Carried {
        let mut replay = self.replay(&operation.exchanges);
        let bound = context::Bound { input: Some(arguments.value()), ..self.surroundings(now) };
        let value = expression.json(&bound, Some(&mut replay));
        match replay.settle(value) {
            Ok(output) => Carried::Result(super::CallResult::successful(output)),
            Err(Halt::Asks(request, used)) => {
                operation.exchanges.truncate(used);
                Carried::Asks(request)
            }
            Err(Halt::Failed(error)) => {
                let text = messages::tool_failed(error.code.describe());
                operation.findings.push(Finding::of_error(&error, expression.origin_of(error.span)));
                let output = Json::object([("error", Json::string(&text))]);
                Carried::Result(super::CallResult::errored(output))
            }
        }
    }

    /// Runs an expression of the step under way with the answers that it was given.
    fn run<T>(
        &self,
        operation: &Operation,
        now: &Moment,
        expression: &Expression,
        judge: impl FnOnce(
            &Expression,
            &context::Bound<'_>,
            Option<&mut dyn crate::cel::Host>,
        ) -> Result<T, crate::cel::Stop>,
    ) -> Result<T, Halt> {
        let mut replay = self.replay(&operation.exchanges);
        let result = judge(expression, &self.bound(operation, now), Some(&mut replay));
        replay.settle(result)
    }

    fn record_invoke(
        &mut self,
        position: usize,
        input: Json,
        result: Option<super::CallResult>,
        status: Status,
        now: &Moment,
    ) {
        let executed = result.is_some();
        let (output, task_id) = result.map_or((None, None), |result| (Some(result.output), result.task_id));
        self.context.record(context::Invocation {
            function: function_id(position),
            at: *now,
            input,
            output,
            status,
            executed,
            origin: context::Origin::Middleware,
            task_id: task_id.map(Into::into),
        });
    }
}

/// The id of a function in the task context.
pub(super) fn function_id(position: usize) -> FunctionId {
    FunctionId(u32::try_from(position).unwrap_or(u32::MAX))
}

/// Values of bindings, as resolving takes them.
pub(super) fn borrowed<'b>(
    values: &'b [(&'b str, Option<Json>)],
) -> SmallVec<[(&'b str, Option<&'b Json>); 8]> {
    values.iter().map(|(name, value)| (*name, value.as_ref())).collect()
}

fn trace(operation: &mut Operation, outcome: StepOutcome, message: Option<String>) {
    if let Some(step) = operation.step_name() {
        operation.trace.push(TraceEntry { step, outcome, message });
    }
}

/// What follows from a failed step: nothing under `continue`, else the end of the operation.
fn stopped(step: &Step, operation: &Operation, message: Option<String>) -> Option<Stopped> {
    let verdict = match step.on_fail {
        OnFail::Continue => return None,
        OnFail::Block => Verdict::Block,
        OnFail::LockTask => Verdict::LockTask,
    };
    let default = if operation.call().is_some() { messages::blocked } else { messages::locked };
    Some(Stopped { verdict, message: message.unwrap_or_else(default), origin: step.origin() })
}

fn halted(halt: Halt, operation: &mut Operation, origin: impl Fn(&EvalError) -> Origin) -> StepEnd {
    match halt {
        Halt::Failed(error) => StepEnd::Failed(Some(Finding::of_error(&error, origin(&error)))),
        Halt::Asks(request, used) => {
            operation.exchanges.truncate(used);
            StepEnd::Asks(request)
        }
    }
}
