//! Taking a call back: its runtime will never report it, because a person said no or the process that ran it died.
//!
//! In: a call that was let through, or the question of an operation that waits. Out: the decision, whose message the model is
//! told. A call that has certainly not run is on record as restricted, as if a step had stopped it. One of which nobody knows is
//! on record as an error that ran: whatever counts calls or sums amounts must count it, for it may have paid.

use crate::cel::{Json, Timestamp};
use crate::context::{Caller, InvocationStatus, Moment, TurnKind};
use crate::task::invoke_step::Invoked;
use crate::task::messages;
use crate::task::state::{
    CallId, CallResult, CallUnderWay, Decision, Pending, QuestionId, QueuedOperation, Ran, Request,
    ReviewState, Stage, Subject, Task, TaskError, UnderWay, Verdict, Wanted,
};

impl Task {
    pub(in crate::task) fn begin_withdraw(
        &mut self,
        call: &CallId,
        ran: Ran,
        now: Timestamp,
    ) -> Result<Decision, TaskError> {
        if let Some(question) = self.question_of(call) {
            return self.begin_take_back(question, ran, now);
        }
        if let Some(mut queued) = self.leave_queue(call) {
            let decision = match queued.held.take() {
                Some(held) => {
                    self.take_step_unless_ended(now);
                    self.withdrawn(*held, ran, now.into())
                }
                None => self.withdrawn_unheard(&queued, now),
            };
            self.close_unless_open(Some(call), &decision);
            return Ok(decision);
        }
        if let Some(decision) = self.withdraw_model_call(call, ran, now) {
            return Ok(decision);
        }
        if self.is_unruled(call) {
            return Ok(Decision::new(Verdict::block(messages::withdrawn())));
        }
        let position = self.open_position(call)?;
        self.take_step_unless_ended(now);
        if self.is_invoked(position) {
            let result = (ran == Ran::Unknown).then(unknown_result);
            self.record_late(position, result, now);
            return Ok(Decision::new(Verdict::block(messages::withdrawn())));
        }
        let operation = self.take_open(position, Stage::Execute);
        let decision = self.withdrawn(operation, ran, now.into());
        self.close_unless_open(Some(call), &decision);
        Ok(decision)
    }

    pub(in crate::task) fn begin_take_back(
        &mut self,
        question: QuestionId,
        ran: Ran,
        now: Timestamp,
    ) -> Result<Decision, TaskError> {
        if let Some(call) = self.in_hands(question) {
            return self.begin_withdraw(&call, ran, now);
        }
        let position = self.waiting.iter().position(|pending| pending.id == question);
        let position = position.ok_or(TaskError::UnknownQuestion(question.0))?;
        self.take_step_unless_ended(now);
        let pending = self.waiting.remove(position);
        self.close_review(&pending, ReviewState::Withdrawn, None);
        let Pending { mut operation, request, script, .. } = pending;
        if let Request::Invoke(invocation) = &request
            && invocation.caller == Caller::Middleware
            && ran == Ran::Unknown
        {
            // what a step has invoked may have run, whatever becomes of the operation
            if let Some(position) = self.policy.position(&invocation.function) {
                let call = Invoked {
                    position,
                    input: invocation.arguments.clone(),
                    started_at: self.start_of(operation.course.asked_at),
                    message: self.context.message(),
                    rejected: false,
                };
                let record = self.record_of_step(call, Some(unknown_result()), &now.into());
                operation.course.recorded.push(record);
            }
        }
        let named = self.named(&operation);
        let decision = self.withdrawn(operation, ran, now.into());
        self.settle_answered(named, &decision);
        Ok(match script {
            Some(script) => script.told_before(decision),
            None => decision,
        })
    }

    /// An operation is withdrawn that still waits for others: no step has seen it. Of an input or an event nothing is on record.
    pub(in crate::task) fn withdrawn_unheard(
        &mut self,
        queued: &QueuedOperation,
        now: Timestamp,
    ) -> Decision {
        self.take_step_unless_ended(now);
        let Wanted::Call { call, extent } = &queued.wanted else {
            return Decision::new(Verdict::block(messages::withdrawn_unjudged()));
        };
        let policy = self.policy.clone();
        if let Some((position, function)) = self.offered(&policy, &call.function) {
            let mut findings = Vec::new();
            let moment = Moment::from(now);
            let resolution = self.resolve_parameters(function, &call.arguments, &moment, &mut findings);
            let is_whole = resolution.faults.is_empty() && resolution.unbound.is_empty();
            let call = CallUnderWay {
                unbound: !is_whole,
                ..CallUnderWay::new(Some(queued.id.clone()), position, resolution.arguments, *extent)
            };
            self.record_call(&call, None, InvocationStatus::Restricted, &moment);
            self.context.turn(TurnKind::Capability);
        }
        Decision::new(Verdict::block(messages::withdrawn()))
    }

    pub(super) fn take_step_unless_ended(&mut self, now: Timestamp) {
        if self.end.is_none() {
            self.take_step(now);
        }
    }

    pub(super) fn withdrawn(&mut self, mut operation: UnderWay, ran: Ran, now: Moment) -> Decision {
        let may_have_run = match (&operation.subject, ran) {
            (Subject::Call(call), Ran::Unknown) => {
                call.record.is_none() && operation.course.stage == Stage::Execute
            }
            _ => false,
        };
        match &operation.subject {
            Subject::Call(call) if may_have_run => {
                let call = call.clone();
                let record = self.record_call(&call, Some(unknown_result()), InvocationStatus::Errored, &now);
                operation.course.recorded.push(record);
            }
            _ => self.revoke(&operation, now),
        }
        if operation.subject.call().is_some() {
            self.context.turn(TurnKind::Capability);
        }
        self.keep_what_fits(&operation.course.recorded);
        operation.decide(Verdict::block(messages::withdrawn()))
    }
}

/// What is on record of a call that may have run.
fn unknown_result() -> CallResult {
    CallResult::errored(Json::object([("error", Json::string(&messages::nobody_knows()))]))
}
