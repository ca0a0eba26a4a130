//! Invoke steps: a call that middleware makes, unseen by the model (MW-08 to MW-14, BND-16 to BND-18).
//!
//! In: the step and the operation it belongs to. Out: whether it passed. The invoked capability has no middleware of its own
//! (MW-09); its call is on record under its own key (MW-10), also where its arguments could not be formed, and no turn tells
//! of it. An error that nothing recovers fails the step like any other: what then happens its `on_fail` says.

use super::evaluation::replay::Halt;
use super::execution::{Carried, held_to_schema};
use super::flow::{StepEnd, function_id};
use super::messages;
use super::state::{
    CallResult, CallStatus, DecidedKind, Decision, Exchange, Finding, Invocation, OpenCall, QuestionId,
    Request, Results, Subject, Task, UnderWay,
};
use crate::cel::{Json, Timestamp};
use crate::context::{
    Activations, Caller, InvocationId, InvocationRecord, InvocationStatus, InvokedResult, Moment,
};
use crate::policy::{AgentFunction, Execute, Invoke, Policy, Step, Supplied};
use smallvec::SmallVec;

/// What came of forming the arguments.
pub(super) enum Formed {
    Arguments(Json),
    /// The arguments as far as they could be formed, and the findings that say why no more could be.
    Incomplete(Json, Vec<Finding>),
    /// A binding asks; this many answers are still good.
    Asks(Request, usize),
}

/// A call of a step that goes on record.
pub(super) struct Invoked {
    /// The position of the function in the policy.
    pub(super) position: usize,
    /// The arguments as far as they could be formed.
    pub(super) input: Json,
    /// When the host was asked to carry it out.
    pub(super) started_at: Moment,
    /// The message that it was made for.
    pub(super) message: u32,
    /// Whether its arguments could not be formed.
    pub(super) rejected: bool,
}

impl Task {
    pub(super) fn run_invoke(
        &mut self,
        policy: &Policy,
        step: &Step,
        invoke: &Invoke,
        operation: &mut UnderWay,
        now: &Moment,
    ) -> StepEnd {
        let (position, function) = match Self::invoked(policy, step, invoke) {
            Ok(target) => target,
            Err(finding) => return StepEnd::Failed(Some(finding)),
        };
        // one that was asked for before has run, and its result is recorded
        if operation.course.exchanges.is_empty()
            && let Some(finding) = self.stopped_invoke(function, step)
        {
            return StepEnd::Failed(Some(finding));
        }
        if operation.course.formed.is_none() {
            let answers = (&*operation.course.exchanges, &*operation.course.approved);
            let about = (&operation.subject, &operation.course.results);
            match self.form(step, function, invoke, about, answers, now) {
                Formed::Arguments(arguments) => {
                    operation.course.exchanges.clear();
                    operation.course.formed = Some(arguments);
                }
                Formed::Incomplete(partial, findings) => {
                    operation.course.findings.extend(findings);
                    let message = self.context.message();
                    let status = InvocationStatus::Errored;
                    let call =
                        Invoked { position, input: partial, started_at: *now, message, rejected: true };
                    let id = self.record_invoke(call, None, status, now);
                    operation.course.recorded.push(id);
                    return StepEnd::Failed(None);
                }
                Formed::Asks(request, used) => {
                    operation.course.exchanges.truncate(used);
                    return StepEnd::Asks(request);
                }
            }
        }
        let arguments = operation.course.formed.clone().unwrap_or_else(Json::null);
        let started_at = *operation.course.asked_at.get_or_insert(*now);
        let result = match self.carry_out(function, &arguments, Caller::Middleware, operation, now) {
            Carried::Asks(request) => return StepEnd::Asks(request),
            Carried::Result(result) => {
                held_to_schema(policy, function, result, &mut operation.course.findings)
            }
        };
        let worked = result.status == CallStatus::Successful;
        let status = if worked { InvocationStatus::Successful } else { InvocationStatus::Errored };
        let message = self.context.message();
        let call = Invoked { position, input: arguments, started_at, message, rejected: false };
        let named = invoke.result.clone().filter(|_| worked);
        let named = named.map(|step| InvokedResult { step, output: result.output.clone() });
        named.into_iter().for_each(|result| operation.course.results.add(result));
        let id = self.record_invoke(call, Some(result), status, now);
        operation.course.recorded.push(id);
        let place = (operation.course.stage, operation.course.step);
        operation.course.invoked.push(place);
        if worked {
            return StepEnd::Passed;
        }
        let message = messages::invoke_failed(&function.key);
        StepEnd::Failed(Some(Finding::new("invoke_failed", message, Some(step.origin()))))
    }

    /// The function that a step invokes, with its position.
    pub(super) fn invoked<'p>(
        policy: &'p Policy,
        step: &Step,
        invoke: &Invoke,
    ) -> Result<(usize, &'p AgentFunction), Finding> {
        let target = invoke.function.and_then(|position| Some((position, policy.function(position)?)));
        let Some((position, function)) = target else {
            return Err(Finding::new("unresolved", messages::target_not_loaded(), Some(step.origin())));
        };
        if matches!(function.execute, Execute::Absent) {
            let message = messages::not_brought(&function.called);
            return Err(Finding::new("not_brought", message, Some(step.origin())));
        }
        Ok((position, function))
    }

    /// Forms the arguments: those of the step over those of the invoked capability over defaults (BND-16).
    ///
    /// `answers` are those that the step was given so far, and who has approved of the call.
    pub(super) fn form(
        &self,
        step: &Step,
        function: &AgentFunction,
        invoke: &Invoke,
        (subject, results): (&Subject, &Results),
        (exchanges, approved): (&[Exchange], &[String]),
        now: &Moment,
    ) -> Formed {
        let mut findings = Vec::new();
        let mut values = Activations::new(self.bound_of(step, subject, results, now));
        // one log of answers runs through all bindings of the step, in their order
        let mut replay = self.replay(exchanges).approved(approved);
        let mut own: SmallVec<[Supplied<'_>; 4]> = SmallVec::new();
        for binding in &invoke.bindings {
            let value = binding.evaluate(&mut values, Some(&mut replay));
            let value = match replay.settle(value) {
                Ok(value) => Some(value),
                Err(Halt::Failed(error)) => {
                    findings.push(Finding::of_error(&error, binding.origin_of(error.span)));
                    None
                }
                Err(Halt::Asks(request, used)) => return Formed::Asks(request, used),
            };
            own.push((&binding.name, value));
        }
        let is_given = |name: &str| invoke.bindings.iter().any(|binding| *binding.name == *name);
        let inherited = function.bindings.iter().filter(|binding| !is_given(&binding.name));
        let agent = self.evaluate_bindings(inherited, now, &mut findings);
        let resolution = function.parameters.resolve_invoke(&own, &agent, &self.policy.limits().eval);
        let has_value =
            |name: &str| own.iter().chain(&agent).any(|(bound, value)| *bound == name && value.is_some());
        let misfits = resolution.unbound.iter().filter(|name| has_value(name));
        let misfits = misfits.map(|name| messages::binding_misfit(name));
        let faults = misfits.chain(resolution.faults);
        findings.extend(faults.map(|fault| Finding::new("bad_arguments", fault, Some(step.origin()))));
        if findings.is_empty() {
            Formed::Arguments(resolution.arguments)
        } else {
            Formed::Incomplete(resolution.arguments, findings)
        }
    }

    /// Keeps a call of a step in the hands of the host, whose operation is taken back: its result is put on record when it comes.
    pub(super) fn keep_invoked(
        &mut self,
        question: QuestionId,
        invocation: &Invocation,
        asked_at: Option<Moment>,
    ) {
        let Some(position) = self.policy.position(&invocation.function) else { return };
        let id = self.made_up_id(DecidedKind::Call);
        let start = (self.start_of(asked_at), Caller::Middleware);
        self.open_call(id, position, invocation.arguments.clone(), start);
        if let Some(open) = self.open.last_mut() {
            open.asked = Some(question);
        }
    }

    /// Whether the open call at this position is one of a step.
    pub(super) fn is_invoked(&self, position: usize) -> bool {
        self.open.get(position).is_some_and(|open| open.is_invoked)
    }

    /// Puts on record what came of a call of a step whose operation is over: it has run, and nobody waits for it. Without a result
    /// it never ran.
    pub(super) fn record_late(
        &mut self,
        position: usize,
        result: Option<CallResult>,
        now: Timestamp,
    ) -> Decision {
        let refusal = self.refusal_at_end(now);
        let OpenCall { id, function, arguments, message, started_at, .. } = self.close_open(position);
        let call = Invoked { position: function, input: arguments, started_at, message, rejected: false };
        let record = self.record_of_step(call, result, &now.into());
        self.keep_what_fits(&[record]);
        let decision = refusal.unwrap_or_else(|| Decision::turned_away(messages::operation_is_over()));
        self.close_unless_open(Some(&id), &decision);
        decision
    }

    /// Puts a call of a step on record that no step waits for, under the message that it was made for; without a result it never ran.
    pub(super) fn record_of_step(
        &mut self,
        call: Invoked,
        result: Option<CallResult>,
        now: &Moment,
    ) -> InvocationId {
        let policy = self.policy.clone();
        let result = match policy.function(call.position) {
            Some(function) => {
                result.map(|result| held_to_schema(&self.policy, function, result, &mut Vec::new()))
            }
            None => result,
        };
        let status = match result.as_ref().map(|result| result.status) {
            None => InvocationStatus::Restricted,
            Some(CallStatus::Successful) => InvocationStatus::Successful,
            Some(CallStatus::Errored | CallStatus::Unrecoverable) => InvocationStatus::Errored,
        };
        self.record_invoke(call, result, status, now)
    }

    fn record_invoke(
        &mut self,
        call: Invoked,
        result: Option<CallResult>,
        status: InvocationStatus,
        now: &Moment,
    ) -> InvocationId {
        let Invoked { position, input, started_at, message, rejected } = call;
        let executed = result.is_some();
        let labels = result.as_ref().map(|result| result.labels.clone()).unwrap_or_default();
        let (output, task_id) = result.map_or((None, None), |result| (Some(result.output), result.task_id));
        let record = self.put_on_record(InvocationRecord {
            function: function_id(position),
            at: *now,
            started_at,
            input,
            output,
            status,
            executed,
            origin: Caller::Middleware,
            task_id: task_id.map(Into::into),
            message,
            rejected,
        });
        self.label_response(position, record, labels);
        record
    }
}
