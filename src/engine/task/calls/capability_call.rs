//! Calls by the model: parameters, steps ahead, execution, record, steps behind (MW, PAR, BND).
//!
//! Every attempt of a function that the agent has leaves exactly one entry on record, whatever becomes of it: before
//! the next step of the task (REC-17), and before the steps of `after`. The `capability` turn comes when a result,
//! an error or a block message goes to the model (CTX-25).

use super::unruled::as_it_came;
use crate::cel::{Json, Timestamp};
use crate::context::{self, Caller, InvocationId, InvocationStatus, Moment, OpenInvocation, TurnKind};
use crate::counter::HoldEnd;
use crate::policy::{AgentFunction, Policy, Resolution};
use crate::task::execution::{Carried, held_to_schema};
use crate::task::flow::{Flow, StopKind, Stopped, ended, function_id};
use crate::task::messages;
use crate::task::size;
use crate::task::state::{
    Allowed, Call, CallId, CallResult, CallStatus, CallUnderWay, DecidedKind, Decision, End, Enforced,
    Extent, Finding, Hidden, Made, Mark, Next, OpenCall, Pending, Progress, QuestionId, Refused, Request,
    Results, Sender, Stage, Subject, Task, TaskError, Termination, TerminationReason, UnderWay, Verdict,
    VerdictKind,
};

impl Task {
    pub(in crate::task) fn begin_after(
        &mut self,
        call: &CallId,
        result: CallResult,
        now: Timestamp,
    ) -> Result<Progress, TaskError> {
        let position = match self.open_position(call) {
            Ok(position) => position,
            Err(_) if self.is_unruled(call) => return Ok(Self::pass_on(result).into()),
            Err(unknown) => return Err(unknown),
        };
        if self.is_invoked(position) {
            return Ok(self.record_late(position, Some(result), now).into());
        }
        self.known.report(call, Mark::of_result(&result));
        if let Some(refusal) = self.refusal_at_end(now) {
            self.withhold(position, result, now);
            self.close_unless_open(Some(call), &refusal);
            return Ok(refusal.into());
        }
        self.take_step(now);
        let mut operation = self.take_open(position, Stage::After);
        let policy = self.policy.clone();
        let moment = now.into();
        let progress = match self.record_result(&policy, &mut operation, result, &moment) {
            Flow::Ended(termination) => {
                self.keep_what_fits(&operation.course.recorded);
                self.take_back_waiting(moment);
                ended(operation, termination).into()
            }
            _ => self.advance_under(&policy, operation, moment),
        };
        self.close_with(Some(call), &progress);
        Ok(progress)
    }

    pub(in crate::task) fn begin_execute(
        &mut self,
        call: &CallId,
        now: Timestamp,
    ) -> Result<Progress, TaskError> {
        let position = self.open_position(call)?;
        if self.is_invoked(position) {
            return Err(TaskError::UnknownCall(call.clone()));
        }
        if self.open.get(position).is_some_and(|open| open.claim.is_some()) {
            return Err(TaskError::CallClaimed(call.clone()));
        }
        // the call stays open: it may have run elsewhere, and its result is taken
        if let Some(refusal) = self.hindrance_of_open(position, now) {
            return Ok(refusal.into());
        }
        self.take_step(now);
        let fingerprint = self.policy.fingerprint();
        let is_new = self.open.get(position).is_some_and(|call| call.admitted == fingerprint);
        let stage = if is_new { Stage::Execute } else { Stage::BeforeFirst };
        let operation = self.take_open(position, stage);
        let progress = self.advance(operation, now.into());
        self.close_with(Some(call), &progress);
        Ok(progress)
    }

    /// Records the result of a call that ended after its task: no step sees it any more, and nobody receives it.
    fn withhold(&mut self, position: usize, result: CallResult, now: Timestamp) {
        let mut operation = self.take_open(position, Stage::After);
        let policy = self.policy.clone();
        let (moment, end) = (now.into(), self.end.clone());
        self.record_result(&policy, &mut operation, result, &moment);
        // an error that nothing can recover does not change why the task has ended
        self.end = end;
        self.revoke(&operation, moment);
        self.keep_what_fits(&operation.course.recorded);
    }

    /// The calls of the model that were let through and have no result yet, in the order in which they were.
    pub fn open_calls(&self) -> impl Iterator<Item = &CallId> {
        self.open.iter().filter(|open| !open.is_invoked).map(|open| &open.id)
    }

    /// The key of the function of a call that was let through and has no result yet.
    #[must_use]
    pub fn function_of(&self, call: &CallId) -> Option<&str> {
        let open = self.open.iter().find(|open| open.id == *call)?;
        self.policy.function(open.function).map(|function| &*function.key)
    }

    /// The key of the function whose result answers a question, or without one, the only question: of an operation that waits, or of a
    /// call that was in the hands of the host when the task was locked or ended.
    #[must_use]
    pub fn function_asked(&self, question: Option<QuestionId>) -> Option<&str> {
        let is_it = |id: QuestionId| question.is_none_or(|question| question == id);
        let waiting = self.waiting.iter().find(|pending| is_it(pending.id));
        if let Some(Request::Invoke(invocation)) = waiting.map(|pending| &pending.request) {
            return Some(&invocation.function);
        }
        let open = self.open.iter().find(|open| open.asked.is_some_and(is_it))?;
        self.policy.function(open.function).map(|function| &*function.key)
    }

    pub(in crate::task) fn open_position(&self, call: &CallId) -> Result<usize, TaskError> {
        let position = self.open.iter().position(|open| open.id == *call);
        position.ok_or_else(|| TaskError::UnknownCall(call.clone()))
    }

    /// Takes a call from those that are open.
    pub(in crate::task) fn close_open(&mut self, position: usize) -> OpenCall {
        let open = self.open.remove(position);
        self.context.close_call(position);
        self.open_bytes = self.open_bytes.saturating_sub(open.bytes());
        self.queue.forget(&open.id);
        open
    }

    /// A call that was let through, as an operation that goes on from there.
    pub(in crate::task) fn take_open(&mut self, position: usize, stage: Stage) -> UnderWay {
        let OpenCall { id, function, arguments, terms, notes, results, message, started_at, .. } =
            self.close_open(position);
        let call = CallUnderWay {
            started_at: Some(started_at),
            message: Some(message),
            ..CallUnderWay::new(Some(id), function, arguments, Extent::Whole)
        };
        let mut operation = UnderWay::new(Subject::Call(call), stage);
        operation.course.notes = notes;
        operation.course.results = results;
        if let Some(terms) = terms.filter(|_| stage == Stage::Execute) {
            operation.course.terms = *terms;
        }
        operation
    }

    /// Awaits the result of a call that was let through elsewhere, with its resolved arguments.
    ///
    /// # Errors
    /// [`TaskError::UnknownFunction`] for a function that the agent does not have, and those of [`Task::before`] for an id.
    pub fn await_result(&mut self, call: &Call) -> Result<CallId, TaskError> {
        let position = self.policy.position(&call.function);
        let position = position.ok_or_else(|| TaskError::UnknownFunction(call.function.clone()))?;
        if self.made_before(call, Extent::Before)?.is_some() {
            return Err(TaskError::CallExists(call.id.clone().unwrap_or_else(|| "".into())));
        }
        let id = self.name(call, Extent::Before);
        let start = (self.start_of(None), Caller::Model);
        self.open_call(id.clone(), position, call.arguments.clone(), start);
        Ok(id)
    }

    /// The arguments that a call would run with, without middleware and without a trace on record: allow, or error.
    #[must_use]
    pub fn resolve(&self, call: &Call, now: Timestamp) -> Decision {
        let Some((_, function)) = self.offered(&self.policy, &call.function) else {
            let message = messages::unknown_function(&call.function, &self.policy, &self.left_out);
            return Decision::new(Verdict::error(message));
        };
        let mut findings = Vec::new();
        let resolution = self.resolve_parameters(function, &call.arguments, &now.into(), &mut findings);
        let message = if !resolution.faults.is_empty() {
            messages::bad_arguments(&resolution.faults)
        } else if !resolution.unbound.is_empty() {
            messages::missing_policy_value()
        } else {
            let verdict = Verdict::allow(Some(resolution.arguments));
            return Decision { findings, ..Decision::new(verdict) };
        };
        Decision { findings, ..Decision::new(Verdict::error(message)) }
    }

    /// Begins a call whose id no other has.
    pub(in crate::task) fn begin(&mut self, call: &Call, extent: Extent, now: Timestamp) -> Progress {
        if let Some(decision) = self.hindrance_of_calls(now) {
            return decision.into();
        }
        if let Some(refusal) = self.refuse_beyond_a_stretch(now) {
            // it is known by its id, so that the same turn, sent again, counts once
            let id = call.id.is_some().then(|| self.name(call, extent));
            self.close_unless_open(id.as_ref(), &refusal);
            return refusal.into();
        }
        match self.enqueue(call, extent, now) {
            Some(wait) => wait.into(),
            None => {
                let id = call.id.is_some().then(|| self.name(call, extent));
                let progress = self.begin_as(call, extent, id.clone(), now);
                self.close_with(id.as_ref(), &progress);
                progress
            }
        }
    }

    /// Begins a call that waits for no other, under its id if it has one by now.
    pub(in crate::task) fn begin_as(
        &mut self,
        call: &Call,
        extent: Extent,
        id: Option<CallId>,
        now: Timestamp,
    ) -> Progress {
        self.take_step(now);
        let policy = self.policy.clone();
        let enforced = self.would_be_beyond(Next::Capability, now);
        let Some((position, function)) = self.offered(&policy, &call.function) else {
            self.context.turn(TurnKind::Capability);
            let message = messages::unknown_function(&call.function, &self.policy, &self.left_out);
            if policy.observes() && extent == Extent::Before {
                let enforced = enforced.unwrap_or_else(|| Enforced::new(VerdictKind::Error, message));
                let id = id.unwrap_or_else(|| self.made_up_id(DecidedKind::Call));
                return self.let_unruled_by(call, id, enforced).into();
            }
            return Decision::new(Verdict::error(message)).into();
        };
        let moment = Moment::from(now);
        let mut findings = Vec::new();
        let resolution = self.resolve_parameters(function, &call.arguments, &moment, &mut findings);
        let resolution = match policy.observes() {
            true => as_it_came(function, resolution, &call.arguments),
            false => resolution,
        };
        if let Some(decision) = self.beyond_bytes(size::of(&resolution.arguments)) {
            return decision.into();
        }
        let mut subject = CallUnderWay::new(id, position, resolution.arguments, extent);
        subject.unbound = !resolution.unbound.is_empty();
        if !resolution.faults.is_empty() && !policy.observes() {
            subject.unbound = true;
            self.record_call(&subject, None, InvocationStatus::Errored, &moment);
            self.context.turn(TurnKind::Capability);
            let message = messages::bad_arguments(&resolution.faults);
            return Decision { findings, ..Decision::new(Verdict::error(message)) }.into();
        }
        let mut operation = UnderWay::new(Subject::Call(subject), Stage::BeforeFirst);
        operation.course.findings = findings;
        operation.course.would_stop(enforced);
        if !resolution.faults.is_empty() {
            let message = messages::bad_arguments(&resolution.faults);
            operation.course.would_stop(Enforced::new(VerdictKind::Error, message));
        }
        if let Some(switch) = self.stopped_function(function) {
            return self.switch_off(operation, switch, moment).into();
        }
        self.advance_under(&policy, operation, moment)
    }

    /// A function that the model may call, with its position.
    pub(in crate::task) fn offered<'p>(
        &self,
        policy: &'p Policy,
        key: &str,
    ) -> Option<(usize, &'p AgentFunction)> {
        let position = policy.position(key)?;
        let function = policy.function(position)?;
        function.offered.then_some((position, function))
    }

    /// Bindings, then the model's arguments, then defaults. What is wrong with a binding is a finding; the call is told
    /// of it when its steps had their say (BND-08).
    pub(in crate::task) fn resolve_parameters(
        &self,
        function: &AgentFunction,
        given: &Json,
        now: &Moment,
        findings: &mut Vec<Finding>,
    ) -> Resolution {
        let bound = self.evaluate_bindings(function.bindings.iter(), now, findings);
        let resolution = function.parameters.resolve(&bound, given, &self.policy.limits().eval);
        let origin = |name: &str| {
            let binding = function.bindings.iter().find(|binding| *binding.name == *name);
            binding.map(|binding| binding.origin())
        };
        for name in &resolution.unbound {
            let misfit = bound.iter().any(|(bound, value)| *bound == &**name && value.is_some());
            if misfit {
                findings.push(Finding::new("binding_misfit", messages::binding_misfit(name), origin(name)));
            }
        }
        for name in &resolution.ignored {
            findings.push(Finding::new("override_ignored", messages::override_ignored(name), origin(name)));
        }
        resolution
    }

    /// Carries the call out and records what came of it.
    pub(in crate::task) fn run_call(
        &mut self,
        policy: &Policy,
        operation: &mut UnderWay,
        now: &Moment,
    ) -> Flow {
        let Subject::Call(call) = &mut operation.subject else { return Flow::Passed };
        call.started_at.get_or_insert(*now);
        let Some(function) = policy.function(call.function) else { return Flow::Passed };
        let arguments = call.arguments.clone();
        match self.carry_out(function, &arguments, Caller::Model, operation, now) {
            Carried::Asks(request) => Flow::Asks(request),
            Carried::Result(result) => self.record_result(policy, operation, result, now),
        }
    }

    /// Puts the result of a call on record and into the hands of `after`; an error that nothing can recover ends the
    /// task (LIFE-02).
    fn record_result(
        &mut self,
        policy: &Policy,
        operation: &mut UnderWay,
        result: CallResult,
        now: &Moment,
    ) -> Flow {
        let UnderWay { subject: Subject::Call(call), course, .. } = operation else { return Flow::Passed };
        let result = match policy.function(call.function) {
            Some(function) => held_to_schema(policy, function, result, &mut course.findings),
            None => result,
        };
        let labels = result.labels.clone();
        let status = match result.status {
            CallStatus::Successful => InvocationStatus::Successful,
            CallStatus::Errored | CallStatus::Unrecoverable => InvocationStatus::Errored,
        };
        let ends = result.status == CallStatus::Unrecoverable;
        if status != InvocationStatus::Successful
            && !policy.secrets().result(Some(function_id(call.function))).is_empty()
        {
            // the schema of results is not about errors
            call.made = Made::OfSecrets;
        }
        call.output = Some(result.output.clone());
        let record = self.record_call(call, Some(result), status, now);
        call.record = Some(record);
        self.label_response(call.function, record, labels);
        if let Some(id) = &call.id {
            self.known.record(id, record);
        }
        course.recorded.push(record);
        if ends {
            let key = policy.function(call.function).map_or("", |function| &*function.key);
            let reason = TerminationReason::UnrecoverableError;
            let termination = Termination { reason, message: messages::unrecoverable(key) };
            self.end = Some(End::Terminated(termination.clone()));
            return Flow::Ended(termination);
        }
        Flow::Passed
    }

    pub(in crate::task) fn record_call(
        &mut self,
        call: &CallUnderWay,
        result: Option<CallResult>,
        status: InvocationStatus,
        now: &Moment,
    ) -> InvocationId {
        let executed = result.is_some();
        if executed {
            self.allow_arguments(call.function, &call.arguments);
            if let Some(id) = &call.id {
                // it has run, or nobody knows
                self.holdings.end(id.as_str(), HoldEnd::Spent);
            }
        }
        let (output, task_id) = result.map_or((None, None), |result| (Some(result.output), result.task_id));
        self.put_on_record(context::InvocationRecord {
            function: function_id(call.function),
            at: *now,
            started_at: call.started_at.unwrap_or(*now),
            input: call.arguments.clone(),
            output,
            status,
            executed,
            origin: Caller::Model,
            task_id: task_id.map(Into::into),
            message: call.message.unwrap_or_else(|| self.context.message()),
            rejected: call.unbound,
        })
    }

    /// Keeps what is in the hands of the host when an operation is taken back: it may have run, so its result is awaited, by the
    /// question or by its id. Whether that is the call itself that the operation is about.
    pub(in crate::task) fn keep_in_hands(&mut self, pending: &Pending) -> bool {
        let Pending { id, operation, request, .. } = pending;
        let Request::Invoke(invocation) = request else { return false };
        if invocation.caller == Caller::Middleware {
            self.keep_invoked(*id, invocation, operation.course.asked_at);
            return false;
        }
        let Subject::Call(call) = &operation.subject else { return false };
        if call.record.is_some() || operation.course.stage != Stage::Execute {
            return false;
        }
        let name = call.id.clone().unwrap_or_else(|| self.made_up_id(DecidedKind::Call));
        let start = (self.start_of(call.started_at), Caller::Model);
        self.open_call(name, call.function, call.arguments.clone(), start);
        if let Some(open) = self.open.last_mut() {
            open.asked = Some(*id);
        }
        true
    }

    /// The call whose operation was taken back after the host was asked to carry it out by this question.
    pub(in crate::task) fn in_hands(&self, question: QuestionId) -> Option<CallId> {
        let open = self.open.iter().find(|open| open.asked == Some(question))?;
        Some(open.id.clone())
    }

    /// When a call was let through of which that may not be known: with the last step at the latest.
    pub(in crate::task) fn start_of(&self, started_at: Option<Moment>) -> Moment {
        let last_step = || self.activity.last_step().unwrap_or_else(|| self.context.started_at());
        started_at.unwrap_or_else(|| last_step().into())
    }

    /// Awaits the result of a call that was let through at this time. One that a step invoked is none of the model's.
    pub(in crate::task) fn open_call(
        &mut self,
        id: CallId,
        function: usize,
        arguments: Json,
        (started_at, origin): (Moment, Caller),
    ) {
        self.open_bytes = self.open_bytes.saturating_add(size::of(&arguments));
        let (admitted, message) = (self.policy.fingerprint(), self.context.message());
        let (of, input) = (function_id(function), arguments.clone());
        self.context.open_call(OpenInvocation { function: of, input, message, started_at, origin });
        self.open.push(OpenCall {
            id,
            function,
            arguments,
            admitted,
            started_at,
            message,
            is_invoked: origin == Caller::Middleware,
            terms: None,
            notes: Vec::new(),
            results: Results::default(),
            asked: None,
            claim: None,
        });
    }

    /// Ends an operation in which nothing stood in the way.
    pub(in crate::task) fn finish(&mut self, mut operation: UnderWay, now: Moment) -> Decision {
        if operation.course.stage != Stage::After
            && let Some(switch) = self.stopped_subject(&self.policy, &operation.subject)
        {
            return self.switch_off(operation, switch, now);
        }
        let call = match &mut operation.subject {
            Subject::Call(call) => call,
            // an event goes on to the guardrails, as an input
            Subject::Event(_) | Subject::Input(_) => return self.admit(operation),
            Subject::Output => return self.deliver(operation),
            Subject::Model(_) => return self.let_model_go_on(operation),
            // a script has no stage to come through: its end is its own
            Subject::Script(_) => return operation.decide(Verdict::allow(None)),
        };
        if operation.course.stage == Stage::After {
            let value = call.output.take();
            let secret = self.hidden_result(call, value.as_ref());
            self.context.turn(TurnKind::Capability);
            // whoever would run the call must not
            let instead = call.responded && call.extent == Extent::Before;
            let decided_by = call.answered_by.take().map(|origin| *origin);
            let verdict = if instead {
                let said = if decided_by.is_some() { messages::answered } else { messages::responded };
                Verdict::Respond { value, message: said() }
            } else {
                let terms = operation.course.terms.some().filter(|_| !call.responded);
                Verdict::Allow(Allowed { value, terms, ..Allowed::default() })
            };
            return Decision { secret, decided_by, ..operation.decide(verdict) };
        }
        if call.unbound {
            let call = call.clone();
            self.record_call(&call, None, InvocationStatus::Errored, &now);
            self.context.turn(TurnKind::Capability);
            return operation.decide(Verdict::error(messages::missing_policy_value()));
        }
        let (id, value, function) = (call.id.clone(), call.arguments.clone(), call.function);
        let secret = self.hidden_arguments(function, &value);
        let id = id.unwrap_or_else(|| self.made_up_id(DecidedKind::Call));
        self.open_call(id.clone(), function, value.clone(), (now, Caller::Model));
        let terms = operation.course.terms.some();
        if let Some(open) = self.open.last_mut() {
            open.terms.clone_from(&terms);
            open.notes.clone_from(&operation.course.notes);
            self.open_bytes = self.open_bytes.saturating_sub(open.bytes());
            open.results = std::mem::take(&mut operation.course.results);
            self.open_bytes = self.open_bytes.saturating_add(open.bytes());
        }
        let verdict = Verdict::Allow(Allowed { value: Some(value), terms, ..Allowed::default() });
        Decision { call: Some(id), secret, ..operation.decide(verdict) }
    }

    /// Ends an operation that a step stopped.
    pub(in crate::task) fn stop(&mut self, operation: UnderWay, stopped: Stopped, now: Moment) -> Decision {
        if let Subject::Event(_) = &operation.subject {
            return self.stop_event(operation, stopped);
        }
        self.revoke(&operation, now);
        let Stopped { kind, message, user_message, origin } = stopped;
        let secret = Hidden::said(message.shown.clone(), user_message.as_ref());
        let is_event = matches!(operation.subject, Subject::Input(Sender::Event));
        let is_call = operation.subject.call().is_some();
        if operation.subject.is_answer() {
            self.context.withhold_answer();
        }
        if kind == StopKind::LockTask {
            self.end = Some(End::Locked(message.shown().to_owned()));
            self.take_back_waiting(now);
        } else if is_call {
            self.context.turn(TurnKind::Capability);
        }
        let refused =
            Refused { user_message: user_message.map(|said| said.text), ..Refused::new(message.text) };
        let verdict = match kind {
            // an event that is refused as an input is dropped like one that a step before has stopped (EVT-10)
            StopKind::Block if is_event => {
                Verdict::Discard { stage: operation.course.stage.of_event(), refused }
            }
            kind => kind.with(refused),
        };
        Decision { secret, decided_by: Some(origin), ..operation.decide(verdict) }
    }

    /// Takes back what an operation that does not come through was about: a call becomes restricted (REC-05, REC-06), an
    /// input was never accepted, a response never delivered.
    pub(in crate::task) fn revoke(&mut self, operation: &UnderWay, now: Moment) {
        match &operation.subject {
            Subject::Event(_) => {}
            Subject::Input(_) => drop(self.context.pop_input()),
            Subject::Output => drop(self.context.pop_output()),
            Subject::Model(_) | Subject::Script(_) => {}
            Subject::Call(CallUnderWay { record: Some(record), .. }) => self.context.restrict(*record),
            Subject::Call(call) => {
                self.record_call(call, None, InvocationStatus::Restricted, &now);
            }
        }
    }
}
