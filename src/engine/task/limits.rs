//! The limits of a task at work (LIM): tested ahead of each step, and after each model turn.

use super::messages;
use super::model_counting::uncounted;
use super::state::{
    Decision, End, Enforced, LimitReached, MAX_TASK_BYTES, Next, Pending, Refused, ReviewState, Task,
    Termination, TerminationReason, Usage, Verdict, VerdictKind,
};
use crate::cel::Timestamp;
use crate::context::{Moment, TurnKind};
use crate::manifest::task_limit::{LimitNumber, Quantity, Stretch, TaskLimit};
use std::borrow::Cow;

/// A limit that a step would exceed.
#[derive(Clone, Copy, Debug)]
struct Exceeded {
    limit: TaskLimit,
    bound: LimitNumber,
    /// The value that the step would lead to.
    value: LimitNumber,
}

impl Task {
    pub(super) fn begin_limits(&mut self, next: Next, now: Timestamp) -> Decision {
        if let Some(refusal) = self.hindrance(now) {
            return refusal;
        }
        let enforced = self.would_be_beyond(next, now).map(Box::new);
        let beyond = self.beyond(next, now).or_else(|| self.beyond_a_stretch(next));
        beyond.unwrap_or_else(|| Decision { enforced, ..Decision::new(Verdict::allow(None)) })
    }

    pub(super) fn begin_model_turn(&mut self, usage: Usage, now: Timestamp) -> Decision {
        if let Some(refusal) = self.refusal(now) {
            return refusal;
        }
        self.take_step(now);
        let fault = self.record_reported_turn(usage, now);
        if let Some(beyond) = self.beyond(Next::Other, now).or_else(|| self.beyond_a_stretch(Next::Other)) {
            return beyond;
        }
        if let Some(fault) = fault {
            return uncounted(fault);
        }
        // the turn was made and is on record; nothing that the model asked for in it may run
        let enforced = self.would_be_beyond(Next::Other, now).map(Box::new);
        let allow = || Decision { enforced, ..Decision::new(Verdict::allow(None)) };
        self.stopped().map_or_else(allow, Decision::switched_off)
    }

    pub(super) fn record_turn(&mut self, usage: Usage) {
        self.queue.forget_told();
        self.context.turn(TurnKind::Llm);
        self.context.add_tokens(usage.prompt_tokens, usage.completion_tokens);
        self.context.add_cost(usage.cost);
        self.stretches.begin_turn(self.calls_by_model());
    }

    /// A message is accepted, of a person or of an event that became one: what is bounded for each message counts anew.
    pub(super) fn record_message(&mut self) {
        self.context.turn(TurnKind::Input);
        let (turns, calls) = (self.context.llm_turns().into(), self.calls_by_model());
        self.stretches.begin_message(turns, calls, self.context.spend());
    }

    /// Refuses a call that is one too many for the message or the turn of the model. It leaves no entry on record, as no step has seen
    /// it, so a call that was let through ahead of it is not counted anew.
    pub(super) fn refuse_beyond_a_stretch(&mut self, now: Timestamp) -> Option<Decision> {
        let refusal = self.beyond_a_stretch(Next::Capability)?;
        self.take_step(now);
        self.context.turn(TurnKind::Capability);
        Some(refusal)
    }

    /// Blocks the step if it would exceed a limit of the message or of the turn. The task goes on: the model may still answer, and the
    /// next message begins anew.
    pub(super) fn beyond_a_stretch(&self, next: Next) -> Option<Decision> {
        let exceeded = self.exceeded_stretch(next).filter(|_| !self.policy.observes())?;
        let limit = self.limit_reached(exceeded);
        let message = messages::stretch_exceeded(&limit);
        Some(Decision::new(Verdict::Block(Refused { limit: Some(limit), ..Refused::new(message) })))
    }

    /// Ends the task if the step would exceed a limit.
    pub(super) fn beyond(&mut self, next: Next, now: Timestamp) -> Option<Decision> {
        self.beyond_its_limits(next, now).or_else(|| self.beyond_bytes(0))
    }

    /// Ends the task if the step would exceed a limit of the manifest.
    fn beyond_its_limits(&mut self, next: Next, now: Timestamp) -> Option<Decision> {
        let exceeded = self.exceeded(next, now).filter(|_| !self.policy.observes())?;
        let limit = self.limit_reached(exceeded);
        Some(self.end_at(limit))
    }

    /// What the limits would have made of the step, of a task that is only observed. It goes on over each of them, and hears of it at
    /// each step.
    pub(super) fn would_be_beyond(&self, next: Next, now: Timestamp) -> Option<Enforced> {
        if !self.policy.observes() {
            return None;
        }
        let of = |verdict, exceeded, say: fn(&LimitReached) -> String| {
            let limit = self.limit_reached(exceeded);
            Enforced { limit: Some(limit.clone()), ..Enforced::new(verdict, say(&limit)) }
        };
        let ends = |exceeded| of(VerdictKind::Terminate, exceeded, messages::limit_exceeded);
        let blocks = |exceeded| of(VerdictKind::Block, exceeded, messages::stretch_exceeded);
        self.exceeded(next, now).map(ends).or_else(|| self.exceeded_stretch(next).map(blocks))
    }

    /// The name of the limit that the step would exceed: of the task, of the message or of the turn.
    pub(super) fn limit_before(&self, next: Next, now: Timestamp) -> Option<&'static str> {
        let exceeded = self.exceeded(next, now).or_else(|| self.exceeded_stretch(next));
        exceeded.filter(|_| !self.policy.observes()).map(|exceeded| exceeded.limit.as_str())
    }

    /// The limit of the task that the step exceeds.
    fn exceeded(&self, next: Next, now: Timestamp) -> Option<Exceeded> {
        self.first_exceeded(next, now, |stretch| stretch == Stretch::Task)
    }

    /// The limit of the message or of the turn that the step exceeds: that of the longest stretch first, as it takes longest to begin anew.
    fn exceeded_stretch(&self, next: Next) -> Option<Exceeded> {
        // no stretch bounds an age
        self.first_exceeded(next, self.context.started_at(), |stretch| stretch != Stretch::Task)
    }

    fn first_exceeded(
        &self,
        next: Next,
        now: Timestamp,
        counts: impl Fn(Stretch) -> bool,
    ) -> Option<Exceeded> {
        let limits = self.policy.task_limits().iter().filter(|(limit, _)| counts(limit.stretch()));
        let used = |(limit, bound)| Exceeded { limit, bound, value: self.used(limit, next, now) };
        limits.map(used).find(|exceeded| exceeded.value > exceeded.bound)
    }

    /// Ends the task if so many bytes more would exceed `max_task_bytes`.
    pub(super) fn beyond_bytes(&mut self, more: u64) -> Option<Decision> {
        let (bound, value) = (self.policy.limits().max_task_bytes, self.bytes().saturating_add(more));
        (value > bound).then(|| {
            let which = Cow::Borrowed(MAX_TASK_BYTES);
            self.end_at(LimitReached { which, bound: bound.into(), value: value.into(), policy: None })
        })
    }

    fn end_at(&mut self, limit: LimitReached) -> Decision {
        let reason = TerminationReason::LimitExceeded;
        let message = messages::limit_exceeded(&limit);
        self.end = Some(End::Terminated(Termination { reason, message: message.clone() }));
        Decision::new(Verdict::Terminate { reason, message, limit: Some(limit) })
    }

    fn limit_reached(&self, Exceeded { limit, bound, value }: Exceeded) -> LimitReached {
        let which = Cow::Borrowed(limit.as_str());
        LimitReached { which, bound, value, policy: self.policy.limit_policy(limit).cloned() }
    }

    /// Ends a task whose review took longer than `max_age` allows (RV-12); what waited is stopped.
    ///
    /// Reviews that nobody has answered in time are denied.
    pub(super) fn expire(&mut self, now: Timestamp) -> Option<Decision> {
        if !self.is_in_review() {
            return None;
        }
        self.deny_expired(now);
        // not for its size: the result that is under review has its place
        let decision = self.beyond_its_limits(Next::Other, now)?;
        Some(self.stop_waiting(decision, now))
    }

    /// Takes back the operations that wait: the decision then tells of their steps so far.
    pub(super) fn stop_waiting(&mut self, mut decision: Decision, now: Timestamp) -> Decision {
        for Pending { operation, script, .. } in self.take_back_waiting(now.into()) {
            let of_script = script.into_iter().map(|script| script.course);
            for course in of_script.chain([operation.course]) {
                decision.trace.extend(course.trace);
                decision.observed.extend(course.observed);
                decision.findings.extend(course.findings);
                decision.cost = decision.cost.saturating_add(course.cost);
            }
        }
        decision
    }

    /// Takes back the operations that wait, as the task takes no step any more. Calls in the hands of the host stay open.
    pub(super) fn take_back_waiting(&mut self, now: Moment) -> Vec<Pending> {
        let waiting = std::mem::take(&mut self.waiting);
        for pending in &waiting {
            self.close_review(pending, ReviewState::Withdrawn, None);
            if !self.keep_in_hands(pending) {
                self.revoke(&pending.operation, now);
            }
            self.keep_what_fits(&pending.operation.course.recorded);
        }
        waiting
    }

    /// The calls that the model has asked for and that were not turned away. Calls in flight have no entry on record yet.
    fn calls_by_model(&self) -> u64 {
        let under_way = self.waiting.iter().filter_map(|pending| pending.operation.subject.call());
        let in_flight = under_way.filter(|call| call.record.is_none()).count();
        let open = self.open.iter().filter(|open| !open.is_invoked).count();
        let in_flight = in_flight.saturating_add(open).saturating_add(self.queue.calls());
        u64::from(self.context.calls_by_model()).saturating_add(in_flight as u64)
    }

    /// The turns of the model. Before another one those count, too, whose answers are awaited.
    fn turns_with(&self, next: Next) -> u64 {
        let turns = u64::from(self.context.llm_turns());
        if next != Next::ModelTurn {
            return turns;
        }
        turns.saturating_add(self.model.open.len() as u64).saturating_add(1)
    }

    /// How much of what a limit bounds has been used, the coming step included. A clock that runs backwards makes an age of 0.
    fn used(&self, limit: TaskLimit, next: Next, now: Timestamp) -> LimitNumber {
        let (quantity, stretch) = (limit.quantity(), limit.stretch());
        // a turn that is asked for begins with no call
        if stretch == Stretch::Turn && next == Next::ModelTurn {
            return 0.into();
        }
        let used: LimitNumber = match quantity {
            Quantity::Age => {
                let age = now.nanos().saturating_sub(self.context.started_at().nanos());
                u64::try_from(age.max(0)).unwrap_or(u64::MAX).into()
            }
            Quantity::Turns => self.turns_with(next).into(),
            Quantity::PromptTokens => self.context.prompt_tokens().unsigned_abs().into(),
            Quantity::CompletionTokens => self.context.completion_tokens().unsigned_abs().into(),
            Quantity::Calls => {
                self.calls_by_model().saturating_add(u64::from(next == Next::Capability)).into()
            }
            Quantity::Spend => self.context.spend().into(),
        };
        used.minus(self.stretches.used_before(stretch, quantity))
    }
}
