//! The queue of calls that wait for other calls: which calls may be decided side by side, and when those that wait are.
//!
//! A call is open from its first step until its result is taken or it is withdrawn. A decision that reads what an open call may
//! still change waits, before its first step, and is taken by itself once those calls are closed. The policy says what depends
//! ([`Policy::dependencies`](crate::policy::Policy::dependencies)).
//!
//! While a review is open no call is let through (RV-13). Calls that depend on no open call pass their steps all the same, up to
//! a review of their own, so that all reviews of a turn are asked together; one that comes through, or to a step that does more
//! than to judge, is held there until the reviews are closed.
//!
//! So the calls are as if they had run one after the other, in the order in which they were decided: each saw, of every call that
//! was decided before it, all that it reads, and nothing of any other. A count, a sum or a "once" holds for calls that are made
//! in parallel.

use super::operation::Operation;
use super::outcome::HandedOver;
use super::state::{
    Call, CallId, DecidedCall, Decision, Extent, Next, Pending, Progress, QuestionId, QueuedCall, Task,
    UnderWay, Verdict,
};
use super::{messages, size};
use crate::cel::Timestamp;

impl Task {
    /// Why no call may begin now: an operation waits that is about more than one call, or a limit would be exceeded.
    pub(super) fn hindrance_of_calls(&mut self, now: Timestamp) -> Option<Decision> {
        let hindrance = if self.holds_calls() {
            self.hindrance(now)
        } else {
            self.refusal_at_end(now).or_else(|| self.stopped().map(Decision::switched_off))
        };
        hindrance.or_else(|| self.beyond(Next::Capability, now))
    }

    fn holds_calls(&self) -> bool {
        self.waiting
            .iter()
            .any(|pending| pending.script.is_some() || pending.operation.subject.call().is_none())
    }

    /// Whether a call of this function has to wait for one that is open.
    pub(super) fn must_wait(&self, function: &str) -> bool {
        let position = self.policy.position(function);
        position.is_some_and(|position| !self.awaited_by(position, self.queue.waiting.len()).is_empty())
    }

    /// The call has to wait, if it does: then it is in the queue, or turned away where that is full.
    pub(super) fn enqueue(&mut self, call: &Call, extent: Extent, now: Timestamp) -> Option<Decision> {
        let position = self.policy.position(&call.function)?;
        let awaited = self.awaited_by(position, self.queue.waiting.len());
        if awaited.is_empty() && !self.is_in_review() {
            return None;
        }
        if let Some(decision) = self.beyond_bytes(size::of(&call.arguments)) {
            return Some(decision);
        }
        let bound = self.policy.limits().max_queued_calls;
        if self.queue.waiting.len() >= bound {
            let reason = messages::too_many_calls(bound);
            let message = Some(reason.clone());
            return Some(Decision { reason: Some(reason), message, ..Decision::new(Verdict::Rejected) });
        }
        if awaited.is_empty() {
            return None;
        }
        let id = self.name(call, extent);
        let call = Call { id: None, ..call.clone() };
        self.queue.waiting.push(QueuedCall {
            id: id.clone(),
            call,
            extent,
            since: Some(now.nanos()),
            held: None,
        });
        Some(Self::wait_decision(id, awaited))
    }

    /// The calls that a call of this function waits for; `ahead` calls of the queue were asked for before it.
    fn awaited_by(&self, function: usize, ahead: usize) -> Vec<CallId> {
        if self.open.is_empty() && self.waiting.is_empty() && self.queue.waiting.is_empty() {
            return Vec::new();
        }
        let Some(own) = self.policy.dependencies(function) else { return Vec::new() };
        if own.reads.is_empty() && self.waiting.is_empty() && !self.queue.holds() {
            return Vec::new();
        }
        let of = |other: usize| self.policy.dependencies(other);
        let may_change = |other: usize| of(other).is_some_and(|other| own.reads.meet(&other.changes));
        // of these all is known but how they end
        let ends = |other: usize| of(other).is_some_and(|other| own.reads.meet_open(&other.changes));
        let open = self.open.iter().map(|open| (&open.id, ends(open.function)));
        let held = self.queue.waiting.iter().filter_map(|queued| queued.held.as_deref());
        let under_way =
            self.waiting.iter().map(|pending| &pending.operation).chain(held).filter_map(|operation| {
                let call = operation.subject.call()?;
                // one that is between two of its steps must find what it has read as it was
                let is_read = || of(call.function).is_some_and(|other| other.reads.meet(&own.changes));
                Some((call.id.as_ref()?, may_change(call.function) || call.record.is_none() && is_read()))
            });
        let queued = self.queue.waiting.iter().take(ahead).filter(|other| other.held.is_none());
        let queued = queued
            .filter_map(|other| Some((&other.id, may_change(self.policy.position(&other.call.function)?))));
        let others = open.chain(under_way).chain(queued);
        let mut awaited: Vec<CallId> = others.filter(|(_, meets)| *meets).map(|(id, _)| id.clone()).collect();
        awaited.sort_unstable_by_key(|id| self.known.number(id));
        awaited
    }

    fn wait_decision(call: CallId, waits_for: Vec<CallId>) -> Decision {
        let message = Some(messages::waits_for_calls());
        Decision { call: Some(call), waits_for, message, ..Decision::new(Verdict::Wait) }
    }

    /// Whether an operation has come as far as it may while reviews of other calls are open. A script knows the verdicts of its calls, and
    /// none of them waits.
    pub(super) fn is_held(&self, operation: &UnderWay) -> bool {
        operation.course.stage.is_ahead_of_call()
            && operation.subject.call().is_some()
            && self.script_bytes == 0
            && self.is_in_review()
    }

    /// Keeps a call that has come as far as it may until the reviews are closed.
    pub(super) fn hold(&mut self, mut operation: UnderWay) -> Decision {
        self.name_call(&mut operation);
        let (Some((id, function)), Some(call)) = (self.named_call(&operation), operation.subject.call())
        else {
            return operation.decide(Verdict::Rejected);
        };
        let (call, extent) = (Call::new(&*function, call.arguments.clone()), call.extent);
        let held = Some(Box::new(operation));
        self.queue.waiting.push(QueuedCall { id: id.clone(), call, extent, since: None, held });
        self.hold_decision(&id)
    }

    /// The verdict of a call that waits until the reviews of other calls are closed.
    fn hold_decision(&self, call: &CallId) -> Decision {
        let reviewed = self.waiting.iter().filter(|pending| pending.is_in_review());
        let waits_for = reviewed.filter_map(|pending| pending.operation.subject.call()?.id.clone()).collect();
        let message = Some(messages::waits_for_reviews());
        Decision { message, ..Self::wait_decision(call.clone(), waits_for) }
    }

    /// Decides the calls that waited for nothing but what is closed by now. Linear in the queue, times the open calls.
    fn decide_queued(&mut self, now: Timestamp) {
        let mut at = 0;
        while let Some(next) = self.queue.waiting.get(at) {
            let waits = match next.held {
                Some(_) => self.is_in_review(),
                None => {
                    let position = self.policy.position(&next.call.function);
                    self.holds_calls()
                        || position.is_some_and(|position| !self.awaited_by(position, at).is_empty())
                }
            };
            if self.end.is_none() && waits {
                if !self.refuse_overdue(at, now) {
                    at = at.saturating_add(1);
                }
                continue;
            }
            let QueuedCall { id, call, extent, held, .. } = self.queue.waiting.remove(at);
            let progress = match (self.hindrance_of_calls(now), held) {
                (Some(decision), Some(held)) => {
                    self.revoke(&held, now.into());
                    held.told_before(decision).into()
                }
                (Some(decision), None) => decision.into(),
                (None, Some(held)) => self.advance(*held, now.into()),
                (None, None) => self.begin_as(&call, extent, Some(id.clone()), now),
            };
            let decision = match progress {
                Progress::Decided(decision) if decision.verdict == Verdict::Wait => {
                    // it is held, and keeps its place
                    if let Some(held) = self.queue.waiting.pop() {
                        self.queue.waiting.insert(at, held);
                    }
                    at = at.saturating_add(1);
                    continue;
                }
                progress => self.told(progress),
            };
            self.close_unless_open(Some(&id), &decision);
            self.queue.settle(DecidedCall { call: id, function: call.function, decision });
        }
    }

    /// Refuses the call at this place of the queue, if it has waited too long for others.
    fn refuse_overdue(&mut self, at: usize, now: Timestamp) -> bool {
        let Some(queued) = self.queue.waiting.get(at).filter(|queued| self.is_overdue(queued, now)) else {
            return false;
        };
        let Some(position) = self.policy.position(&queued.call.function) else { return false };
        let waits_for = self.awaited_by(position, at);
        let Some(first) = waits_for.iter().find(|id| self.open.iter().any(|open| open.id == **id)) else {
            // it waits for a call that asks somebody, and a question has a time of its own
            return false;
        };
        let message = messages::waited_too_long(first);
        let queued = self.queue.waiting.remove(at);
        let refusal = self.withdrawn_unheard(&queued, now);
        let decision = Decision { message: Some(message), call: Some(queued.id.clone()), ..refusal };
        self.close_unless_open(Some(&queued.id), &decision);
        self.queue.settle(DecidedCall { call: queued.id, function: queued.call.function, decision });
        true
    }

    fn is_overdue(&self, queued: &QueuedCall, now: Timestamp) -> bool {
        let most = i128::from(self.policy.limits().max_queued_ms).saturating_mul(1_000_000);
        queued.since.is_some_and(|since| now.nanos().saturating_sub(since) > most)
    }

    /// Whether a call has waited for others for more than `max_queued_ms`: the next operation refuses it, and
    /// [`Task::limits`] is one that does nothing else.
    #[must_use]
    pub fn has_overdue_calls(&self, now: impl Into<Timestamp>) -> bool {
        let now = now.into();
        self.end.is_none() && self.queue.waiting.iter().any(|queued| self.is_overdue(queued, now))
    }

    /// How far an operation came, as a decision.
    pub(super) fn told(&self, progress: Progress) -> Decision {
        match progress {
            Progress::Decided(decision) => decision,
            Progress::Asks(question) => self.suspension_at(question.id).unwrap_or_else(Decision::suspended),
        }
    }

    /// What an operation came to, once the calls are decided that have waited for it.
    pub(super) fn with_decided(&mut self, progress: Progress, now: Timestamp) -> Progress {
        match progress {
            Progress::Decided(decision) => Progress::Decided(self.decision_with_decided(decision, now)),
            // what asks has closed no call
            asks @ Progress::Asks(_) => asks,
        }
    }

    /// The same for what is decided.
    pub(super) fn decision_with_decided(&mut self, mut decision: Decision, now: Timestamp) -> Decision {
        if !self.queue.waiting.is_empty() {
            self.decide_queued(now);
        }
        if self.queue.untold > 0 {
            decision.decided = self.queue.tell();
        }
        decision
    }

    /// An operation that has begun.
    pub(super) fn begun<T: HandedOver>(&mut self, progress: Progress, now: Timestamp) -> Operation<'_, T> {
        let progress = self.with_decided(progress, now);
        Operation::new(self, progress)
    }

    /// Keeps what a call came to that has asked: whoever made it hears of it, too, if somebody else has answered.
    pub(super) fn settle_answered(&mut self, call: Option<(CallId, String)>, decision: &Decision) {
        if let Some((call, function)) = call
            && decision.verdict != Verdict::Wait
        {
            self.close_unless_open(Some(&call), decision);
            self.queue.settle_told(DecidedCall { call, function, decision: decision.clone() });
        }
    }

    /// The question that a call asks, if it asks one.
    pub(super) fn question_of(&self, call: &CallId) -> Option<QuestionId> {
        let is_it = |pending: &&Pending| {
            pending.operation.subject.call().is_some_and(|it| it.id.as_ref() == Some(call))
        };
        self.waiting.iter().find(is_it).map(|pending| pending.id)
    }

    /// Takes a call out of the queue, if it is there.
    pub(super) fn leave_queue(&mut self, call: &CallId) -> Option<QueuedCall> {
        let position = self.queue.waiting.iter().position(|queued| queued.id == *call)?;
        Some(self.queue.waiting.remove(position))
    }

    /// The calls that wait for others, in the order in which they were asked for.
    pub fn queued(&self) -> impl Iterator<Item = &CallId> {
        self.queue.waiting.iter().map(|queued| &queued.id)
    }

    /// How far a call has come: [`Verdict::Wait`] while it waits for others, [`Verdict::Suspend`] while it asks,
    /// [`Verdict::Allow`] with its arguments while its result is awaited; of a call that has waited the decision, until the
    /// model has its next turn. Of a call that is over it is what it came to, as far as that is kept: [`Verdict::Rejected`] once its
    /// result was reported. Nothing of a call that the task does not know (any more: `max_known_calls`).
    ///
    /// # Cost
    /// Linear in the calls that are open or wait.
    #[must_use]
    pub fn standing(&self, call: &CallId) -> Option<Decision> {
        let queued = self.queue.waiting.iter().position(|queued| queued.id == *call);
        if let Some((at, queued)) = queued.and_then(|at| Some((at, self.queue.waiting.get(at)?))) {
            if queued.held.is_some() {
                return Some(self.hold_decision(call));
            }
            let position = self.policy.position(&queued.call.function);
            let awaited = position.map(|position| self.awaited_by(position, at)).unwrap_or_default();
            return Some(Self::wait_decision(call.clone(), awaited));
        }
        if let Some(question) = self.question_of(call) {
            return self.suspension_at(question);
        }
        if let Some(settled) = self.queue.settled.iter().find(|settled| settled.call == *call) {
            return Some(settled.decision.clone());
        }
        let Some(open) = self.open.iter().find(|open| open.id == *call) else {
            return self.known.get(call).map(|known| self.over(known, call));
        };
        let secret = self.hidden_arguments(open.function, &open.arguments);
        let value = Some(open.arguments.clone());
        Some(Decision { value, call: Some(call.clone()), secret, ..Decision::new(Verdict::Allow) })
    }
}
