//! The limits of a task at work (LIM): tested ahead of each step, and after each model turn.

use super::messages;
use super::state::{Decision, End, LimitReached, Next, Pending, Task, Usage, Verdict};
use crate::cel::Timestamp;
use crate::context::TurnKind;
use crate::policy::{Exceeded, Used, exceeded};
use std::borrow::Cow;

impl Task {
    pub(super) fn begin_limits(&mut self, next: Next, now: Timestamp) -> Decision {
        if let Some(refusal) = self.hindrance(now) {
            return refusal;
        }
        self.beyond(next, now).unwrap_or_else(|| Decision::new(Verdict::Allow))
    }

    pub(super) fn begin_model_turn(&mut self, usage: Usage, now: Timestamp) -> Decision {
        if let Some(refusal) = self.refusal(now) {
            return refusal;
        }
        self.take_step(now);
        self.record_turn(usage);
        if let Some(beyond) = self.beyond(Next::Other, now) {
            return beyond;
        }
        // the turn was made and is on record; nothing that the model asked for in it may run
        self.stopped().map_or_else(|| Decision::new(Verdict::Allow), Decision::switched_off)
    }

    pub(super) fn record_turn(&mut self, usage: Usage) {
        self.context.turn(TurnKind::Llm);
        self.context.add_tokens(usage.prompt_tokens, usage.completion_tokens);
    }

    /// Ends the task if the step would exceed a limit.
    pub(super) fn beyond(&mut self, next: Next, now: Timestamp) -> Option<Decision> {
        self.beyond_its_limits(next, now).or_else(|| self.beyond_bytes(0))
    }

    /// Ends the task if the step would exceed a limit of the manifest.
    fn beyond_its_limits(&mut self, next: Next, now: Timestamp) -> Option<Decision> {
        let exceeded = exceeded(self.policy.task_limits(), &self.used(next, now))?;
        Some(self.end_at(exceeded))
    }

    /// Ends the task if so many bytes more would exceed `max_task_bytes`.
    pub(super) fn beyond_bytes(&mut self, more: u64) -> Option<Decision> {
        let (bound, value) = (self.policy.limits().max_task_bytes, self.bytes().saturating_add(more));
        let exceeded = Exceeded { name: "max_task_bytes", bound, value };
        (value > bound).then(|| self.end_at(exceeded))
    }

    fn end_at(&mut self, exceeded: Exceeded) -> Decision {
        self.end = Some(End::Terminated(messages::limit_exceeded()));
        Decision {
            reason: Some(messages::limit_exceeded()),
            message: Some(messages::limit_exceeded()),
            limit: Some(LimitReached {
                which: Cow::Borrowed(exceeded.name),
                bound: exceeded.bound,
                value: exceeded.value,
            }),
            ..Decision::new(Verdict::Terminate)
        }
    }

    /// Ends a task whose review took longer than `max_age` allows (RV-12); what waited is stopped.
    pub(super) fn expire(&mut self, now: Timestamp) -> Option<Decision> {
        if !self.is_in_review() {
            return None;
        }
        // not for its size: the result that is under review has its place
        let decision = self.beyond_its_limits(Next::Other, now)?;
        Some(self.stop_waiting(decision, now))
    }

    /// Takes back the operation that waits, if one does: the decision then tells of its steps so far.
    pub(super) fn stop_waiting(&mut self, mut decision: Decision, now: Timestamp) -> Decision {
        let Some(pending) = self.pending.take() else { return decision };
        let Pending { operation, script, .. } = *pending;
        self.withdraw(&operation, now.into());
        self.keep_what_fits(&operation.course.recorded);
        decision.trace = operation.course.trace;
        decision.findings = operation.course.findings;
        match script {
            Some(script) => script.told_before(decision),
            None => decision,
        }
    }

    /// What the task has used, the coming step included. Calls in flight have no entry on record yet.
    fn used(&self, next: Next, now: Timestamp) -> Used {
        let age = now.nanos().saturating_sub(self.context.started_at().nanos());
        let turns = u64::from(self.context.llm_turns());
        let calls = u64::from(self.context.calls_by_model()).saturating_add(self.open.len() as u64);
        Used {
            age: u64::try_from(age.max(0)).unwrap_or(u64::MAX),
            turns: turns.saturating_add(u64::from(next == Next::ModelTurn)),
            prompt_tokens: self.context.prompt_tokens().unsigned_abs(),
            completion_tokens: self.context.completion_tokens().unsigned_abs(),
            calls: calls.saturating_add(u64::from(next == Next::Capability)),
        }
    }
}
