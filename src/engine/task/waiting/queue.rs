//! The queue of operations that wait for others: which may be decided side by side, and when those that wait are.
//!
//! A call is open from its first step until its result is taken or it is withdrawn. A decision that reads what an open call may
//! still change waits, before its first step, and is taken by itself once those calls are closed. The policy says what depends
//! ([`Policy::dependencies`](crate::policy::Policy::dependencies)).
//!
//! While a review is open no call is let through (RV-13). Calls that depend on no open call pass their steps all the same, up to
//! a review of their own, so that all reviews of a turn are asked together; one that comes through, or to a step that does more
//! than to judge, is held there until the reviews are closed. An input or an event is no call that somebody has to look at with the
//! others: it waits, before its first step, until no review is open and nobody is asked about another input.
//!
//! So the operations are as if they had come one after the other, in the order in which they were decided: each saw, of every one that
//! was decided before it, all that it reads, and nothing of any other. A count, a sum or a "once" holds for calls that are made
//! in parallel, and what is said is judged in the order in which it was said.

use crate::cel::Timestamp;
use crate::manifest::review::Siblings;
use crate::policy::{DecidedOperation, Dependencies, Origin};
use crate::task::begun_operation::BegunOperation;
use crate::task::messages;
use crate::task::outcome::HandedOver;
use crate::task::size;
use crate::task::state::{
    Call, CallId, Decision, Extent, Named, Next, Pending, Progress, QuestionId, QueuedOperation, Refused,
    Subject, Task, UnderWay, Verdict, WaitReason, Wanted,
};

/// The state of an operation that another one waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AwaitedState {
    /// It is let through, and its result is awaited.
    Open,
    /// It asks somebody, or is held until reviews are closed.
    BetweenSteps,
    /// It waits before its first step.
    Queued,
}

impl Task {
    /// Why no call may begin now: an operation waits that is about more than one call, or a limit would be exceeded.
    pub(in crate::task) fn hindrance_of_calls(&mut self, now: Timestamp) -> Option<Decision> {
        let hindrance = if self.holds_calls() { self.hindrance(now) } else { self.hindrance_at_end(now) };
        hindrance.or_else(|| self.beyond(Next::Capability, now))
    }

    fn holds_calls(&self) -> bool {
        self.waiting
            .iter()
            .any(|pending| pending.script.is_some() || pending.operation.subject.call().is_none())
    }

    /// The operation that is to be decided; `None` if the policy does not know it.
    pub(in crate::task) fn operation_of(&self, wanted: &Wanted) -> Option<DecidedOperation> {
        Some(match wanted {
            Wanted::Call { call, .. } => DecidedOperation::Call(self.policy.position(&call.function)?),
            Wanted::Input { .. } => DecidedOperation::Input,
            Wanted::Event { capability, event, .. } => {
                DecidedOperation::Event(self.policy.event_of(capability, event)?.0)
            }
        })
    }

    /// What the decision on an operation depends on; nothing of what the policy does not know.
    pub(in crate::task) fn dependencies_of(&self, wanted: &Wanted) -> Option<&Dependencies> {
        self.policy.dependencies_of(self.operation_of(wanted)?)
    }

    /// Whether a call of this function has to wait for one that is open.
    pub(in crate::task) fn must_wait(&self, function: &str) -> bool {
        let own = self.policy.position(function).and_then(|position| self.policy.dependencies(position));
        own.is_some_and(|own| self.awaits(own))
    }

    /// Whether an operation with these dependencies that comes now has to wait for another.
    pub(in crate::task) fn awaits(&self, own: &Dependencies) -> bool {
        self.awaited_by(own, self.queue.waiting.len()).is_some()
    }

    /// The call has to wait, if it does: then it is in the queue, or turned away where that is full.
    pub(in crate::task) fn enqueue(
        &mut self,
        call: &Call,
        extent: Extent,
        now: Timestamp,
    ) -> Option<Decision> {
        let position = self.policy.position(&call.function)?;
        let awaited = self.awaited_by(self.policy.dependencies(position)?, self.queue.waiting.len());
        if awaited.is_none() && !self.is_in_review() {
            return None;
        }
        if let Some(decision) = self.beyond_bytes(size::of(&call.arguments)) {
            return Some(decision);
        }
        let bound = self.policy.limits().max_queued_calls;
        if self.queue.calls() >= bound {
            return Some(Decision::turned_away(messages::too_many_calls(bound)));
        }
        let awaited = awaited?;
        let id = self.name(call, extent);
        let wanted = Wanted::Call { call: Call { id: None, ..call.clone() }, extent };
        let since = Some(now.nanos());
        self.queue.waiting.push(QueuedOperation { id: id.clone(), wanted, since, held: None });
        let operation = Some(DecidedOperation::Call(position));
        Some(self.wait_decision(id, operation, awaited, messages::waits_for_calls()))
    }

    /// The input or event has to wait, if it does: then it is in the queue, or turned away where that is full. It never ends the task:
    /// anybody may send a message, and whoever sends many must not close a review.
    pub(in crate::task) fn put_off(
        &mut self,
        operation: DecidedOperation,
        wanted: impl FnOnce() -> Wanted,
    ) -> Option<Decision> {
        let policy = self.policy.clone();
        let own = policy.dependencies_of(operation)?;
        if !self.awaits(own) {
            return None;
        }
        let wanted = wanted();
        if let Some((bound, most)) = self.has_no_room_for(&wanted) {
            return Some(Decision::turned_away(messages::too_much_said(bound, most)));
        }
        self.name_what_asks();
        let awaited = self.awaited_by(own, self.queue.waiting.len()).unwrap_or_default();
        let id = self.made_up_id(wanted.kind());
        self.queue.waiting.push(QueuedOperation { id: id.clone(), wanted, since: None, held: None });
        Some(self.wait_decision(id, Some(operation), awaited, messages::is_said_later()))
    }

    /// Names the operations that ask and have no name yet: somebody is about to wait for them. Most inputs need none.
    fn name_what_asks(&mut self) {
        for mut pending in std::mem::take(&mut self.waiting) {
            pending.operation = self.with_name(pending.operation);
            self.waiting.push(pending);
        }
    }

    /// The bound that one more input or event would exceed while it waits.
    fn has_no_room_for(&self, wanted: &Wanted) -> Option<(&'static str, u64)> {
        let limits = self.policy.limits();
        let more = size::of(wanted.document());
        let held = self.queue.said().fold(more, |sum, said| sum.saturating_add(size::of(said.document())));
        let rows = [
            (
                "max_queued_inputs",
                limits.max_queued_inputs as u64,
                (self.queue.said().count() as u64).saturating_add(1),
            ),
            ("max_queued_input_bytes", limits.max_queued_input_bytes as u64, held),
            ("max_task_bytes", limits.max_task_bytes, self.bytes().saturating_add(more)),
        ];
        rows.into_iter().find(|(_, most, value)| value > most).map(|(bound, most, _)| (bound, most))
    }

    /// The operations that one with these dependencies waits for, those that have names; `ahead` operations of the queue came before
    /// it. Nothing if it waits for no operation.
    pub(in crate::task) fn awaited_by(&self, own: &Dependencies, ahead: usize) -> Option<Vec<CallId>> {
        if self.open.is_empty() && self.waiting.is_empty() && self.queue.waiting.is_empty() {
            return None;
        }
        if own.reads.is_empty() && self.waiting.is_empty() && !self.queue.holds() {
            return None;
        }
        let is_said = own.changes.has_inputs();
        let of = |function: usize| self.policy.dependencies(function);
        let may_change = |function: usize| of(function).is_some_and(|other| own.reads.meet(&other.changes));
        // of these all is known but how they end
        let ends = |function: usize| of(function).is_some_and(|other| own.reads.meet_open(&other.changes));
        let open = self.open.iter().map(|open| (Some(&open.id), ends(open.function)));
        let is_awaited = |operation: &UnderWay| match &operation.subject {
            // one that is between two of its steps must find what it has read as it was
            Subject::Call(call) => {
                let is_read = || of(call.function).is_some_and(|other| other.reads.meet(&own.changes));
                may_change(call.function) || call.record.is_none() && is_read()
            }
            _ => is_said,
        };
        let asking = self.waiting.iter().map(|pending| {
            let holds_inputs = is_said && (pending.is_in_review() || pending.script.is_some());
            (pending.operation.name(), holds_inputs || is_awaited(&pending.operation))
        });
        let held = self.queue.waiting.iter().filter_map(|queued| queued.held.as_deref());
        let held = held.map(|operation| (operation.name(), is_awaited(operation)));
        let queued = self.queue.waiting.iter().take(ahead).filter(|other| other.held.is_none());
        let queued = queued.map(|other| {
            let theirs = self.dependencies_of(&other.wanted);
            (Some(&other.id), theirs.is_some_and(|theirs| own.reads.meet(&theirs.changes)))
        });
        let mut awaited = None;
        for (id, _) in open.chain(asking).chain(held).chain(queued).filter(|(_, is_awaited)| *is_awaited) {
            awaited.get_or_insert_with(Vec::new).extend(id.cloned());
        }
        if let Some(awaited) = &mut awaited {
            awaited.sort_unstable_by_key(|id| self.known.number(id));
        }
        awaited
    }

    pub(in crate::task) fn wait_decision(
        &self,
        call: CallId,
        operation: Option<DecidedOperation>,
        waits_for: Vec<CallId>,
        message: String,
    ) -> Decision {
        let held_by = self.reviews_of(&waits_for);
        let because = operation.map_or_else(Vec::new, |operation| self.because(operation, &waits_for));
        let verdict = Verdict::Wait { waits_for, because, held_by, message };
        Decision { call: Some(call), ..Decision::new(verdict) }
    }

    /// The expressions for which an operation waits for others, as far as an expression makes it wait. Linear in those others, and in the rules of each function
    /// among them.
    pub(in crate::task) fn because(
        &self,
        operation: DecidedOperation,
        awaited: &[CallId],
    ) -> Vec<WaitReason> {
        let mut known: Vec<((AwaitedState, DecidedOperation), Option<Origin>)> = Vec::new();
        let mut reasons = Vec::new();
        for call in awaited {
            let Some(other) = self.state_of(call) else { continue };
            let at = known.iter().position(|(key, _)| *key == other).unwrap_or_else(|| {
                known.push((other, self.expression_awaiting(operation, other)));
                known.len().saturating_sub(1)
            });
            if let Some((_, Some(reads))) = known.get(at) {
                reasons.push(WaitReason { call: call.clone(), reads: reads.clone() });
            }
        }
        reasons
    }

    /// The state of an operation that others may wait for, and its kind.
    fn state_of(&self, id: &CallId) -> Option<(AwaitedState, DecidedOperation)> {
        if let Some(open) = self.open.iter().find(|open| open.id == *id) {
            return Some((AwaitedState::Open, DecidedOperation::Call(open.function)));
        }
        let asking = self.waiting.iter().map(|pending| &pending.operation);
        let held = self.queue.waiting.iter().filter_map(|queued| queued.held.as_deref());
        if let Some(under_way) = asking.chain(held).find(|it| it.name() == Some(id)) {
            let call = under_way.subject.call()?;
            return Some((AwaitedState::BetweenSteps, DecidedOperation::Call(call.function)));
        }
        let queued = self.queue.waiting.iter().find(|queued| queued.id == *id)?;
        Some((AwaitedState::Queued, self.operation_of(&queued.wanted)?))
    }

    /// The expression for which an operation waits for one other.
    fn expression_awaiting(
        &self,
        own: DecidedOperation,
        (state, other): (AwaitedState, DecidedOperation),
    ) -> Option<Origin> {
        let policy = &self.policy;
        let changes = |operation| policy.dependencies_of(operation).map(|it| &it.changes);
        let (theirs, ours) = (changes(other)?, changes(own)?);
        let read_by_own = policy.first_reading(own, |reads| match state {
            AwaitedState::Open => reads.meet_open(theirs),
            AwaitedState::BetweenSteps | AwaitedState::Queued => reads.meet(theirs),
        });
        let read_by_other = || policy.first_reading(other, |reads| reads.meet(ours));
        read_by_own.or_else(|| (state == AwaitedState::BetweenSteps).then(read_by_other)?)
    }

    /// Whether an operation has come as far as it may while reviews of other calls are open. A script knows the verdicts of its calls, and
    /// none of them waits.
    pub(in crate::task) fn is_held(&self, operation: &UnderWay) -> bool {
        operation.course.stage.is_ahead_of_call()
            && operation.subject.call().is_some()
            && self.script_bytes == 0
            && self.holding(operation).next().is_some()
    }

    /// The open reviews beside which a call must not run: all of them, unless a policy lets siblings run; then those of what is no call, and
    /// of calls that its rules read, or that have read what it changes.
    fn holding<'t>(&'t self, operation: &'t UnderWay) -> impl Iterator<Item = &'t Pending> {
        let own = operation.subject.call().and_then(|call| self.policy.dependencies(call.function));
        let runs_beside = move |pending: &Pending| {
            let (Some(own), Some(other)) = (own, pending.operation.subject.call()) else { return false };
            self.policy.siblings() == Siblings::Run
                && self.policy.dependencies(other.function).is_some_and(|theirs| {
                    let has_read = other.record.is_none() && theirs.reads.meet(&own.changes);
                    !own.reads.meet(&theirs.changes) && !has_read
                })
        };
        let in_review = self.waiting.iter().filter(|pending| pending.is_in_review());
        in_review.filter(move |pending| !runs_beside(pending))
    }

    /// The questions of the open reviews among these operations.
    fn reviews_of(&self, awaited: &[CallId]) -> Vec<QuestionId> {
        let is_awaited = |pending: &&Pending| {
            let name = pending.operation.name();
            pending.is_in_review() && name.is_some_and(|name| awaited.contains(name))
        };
        self.waiting.iter().filter(is_awaited).map(|pending| pending.id).collect()
    }

    /// Keeps a call that has come as far as it may until the reviews are closed.
    pub(in crate::task) fn hold(&mut self, operation: UnderWay) -> Decision {
        let operation = self.with_name(operation);
        let (Some(Named { id, function, .. }), Some(call)) =
            (self.named(&operation), operation.subject.call())
        else {
            return operation.decide(Verdict::rejected(Refused::for_the_reason(messages::not_kept())));
        };
        let wanted =
            Wanted::Call { call: Call::new(&*function, call.arguments.clone()), extent: call.extent };
        let decision = self.hold_decision(&id, &operation);
        let held = Some(Box::new(operation));
        self.queue.waiting.push(QueuedOperation { id, wanted, since: None, held });
        decision
    }

    /// The verdict of a call that waits until the reviews of other calls are closed.
    pub(in crate::task) fn hold_decision(&self, call: &CallId, held: &UnderWay) -> Decision {
        let reviewed = self.holding(held).filter_map(|pending| pending.operation.name().cloned());
        self.wait_decision(call.clone(), None, reviewed.collect(), messages::waits_for_reviews())
    }

    /// Decides the operations that waited for nothing but what is closed by now. Linear in the queue, times the open calls.
    ///
    /// Those that are held go first: they have read what they read, and whoever may change it waits for them.
    fn decide_queued(&mut self, now: Timestamp) {
        self.decide_those(|queued| queued.held.is_some(), now);
        self.decide_those(|queued| queued.held.is_none(), now);
    }

    fn decide_those(&mut self, are_due: impl Fn(&QueuedOperation) -> bool, now: Timestamp) {
        let mut at = 0;
        while let Some(next) = self.queue.waiting.get(at) {
            if !are_due(next) || self.end.is_none() && self.still_waits(next, at) {
                if self.end.is_some() || !self.refuse_overdue(at, now) {
                    at = at.saturating_add(1);
                }
                continue;
            }
            let QueuedOperation { id, wanted, held, .. } = self.queue.waiting.remove(at);
            let named = wanted.named(id.clone());
            let progress = match held {
                Some(held) => self.go_on_from_hold(*held, now),
                None => self.begin_wanted(wanted, id.clone(), now),
            };
            let decision = match progress {
                Progress::Decided(decision) if matches!(decision.verdict, Verdict::Wait { .. }) => {
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
            self.queue.settle(named.decided(decision));
        }
    }

    /// Whether an operation of the queue, at this place, cannot be decided yet.
    fn still_waits(&self, queued: &QueuedOperation, at: usize) -> bool {
        if let Some(held) = &queued.held {
            return self.is_held(held);
        }
        let own = self.dependencies_of(&queued.wanted);
        let is_held_up = !queued.wanted.is_said() && self.holds_calls();
        is_held_up || own.is_some_and(|own| self.awaited_by(own, at).is_some())
    }

    fn go_on_from_hold(&mut self, held: UnderWay, now: Timestamp) -> Progress {
        match self.hindrance_of_calls(now) {
            Some(decision) => {
                self.revoke(&held, now.into());
                held.told_before(decision).into()
            }
            None => self.advance(held, now.into()),
        }
    }

    /// Begins an operation that has waited before its first step.
    fn begin_wanted(&mut self, wanted: Wanted, id: CallId, now: Timestamp) -> Progress {
        match wanted {
            Wanted::Call { call, extent } => match self.hindrance_of_calls(now) {
                Some(decision) => decision.into(),
                None => self.begin_as(&call, extent, Some(id), now),
            },
            Wanted::Input { input } => match self.hindrance_at_end(now) {
                Some(decision) => decision.into(),
                None => self.judge_input(&input, Some(id), now),
            },
            Wanted::Event { capability, event, payload } => match self.hindrance_at_end(now) {
                Some(decision) => decision.into(),
                None => self.judge_event(&capability, &event, &payload, Vec::new(), Some(id), now),
            },
        }
    }

    /// Refuses the call at this place of the queue, if it has waited too long for others.
    fn refuse_overdue(&mut self, at: usize, now: Timestamp) -> bool {
        let Some(queued) = self.queue.waiting.get(at).filter(|queued| self.is_overdue(queued, now)) else {
            return false;
        };
        let awaited = self.dependencies_of(&queued.wanted).and_then(|own| self.awaited_by(own, at));
        let is_open = |id: &&CallId| self.open.iter().any(|open| open.id == **id);
        let awaited = awaited.unwrap_or_default();
        let Some(first) = awaited.iter().find(is_open) else {
            // it waits for a call that asks somebody, and a question has a time of its own
            return false;
        };
        let message = messages::waited_too_long(first);
        let queued = self.queue.waiting.remove(at);
        let refusal = self.withdrawn_unheard(&queued, now);
        let verdict = Verdict::block(message);
        let decision = Decision { verdict, call: Some(queued.id.clone()), ..refusal };
        self.close_unless_open(Some(&queued.id), &decision);
        self.queue.settle(queued.wanted.named(queued.id).decided(decision));
        true
    }

    fn is_overdue(&self, queued: &QueuedOperation, now: Timestamp) -> bool {
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
    pub(in crate::task) fn told(&self, progress: Progress) -> Decision {
        match progress {
            Progress::Decided(decision) => decision,
            Progress::Asks(question) => {
                self.suspension_at(question.id).unwrap_or_else(|| Decision::suspended(question.id, None))
            }
        }
    }

    /// What an operation came to, once the calls are decided that have waited for it.
    pub(in crate::task) fn with_decided(&mut self, progress: Progress, now: Timestamp) -> Progress {
        match progress {
            Progress::Decided(decision) => Progress::Decided(self.decision_with_decided(decision, now)),
            // what asks has closed no call
            asks @ Progress::Asks(_) => asks,
        }
    }

    /// The same for what is decided.
    pub(in crate::task) fn decision_with_decided(
        &mut self,
        mut decision: Decision,
        now: Timestamp,
    ) -> Decision {
        self.close_questions_at_end(now);
        if !self.queue.waiting.is_empty() {
            self.decide_queued(now);
            self.close_questions_at_end(now);
        }
        if self.queue.untold > 0 {
            decision.decided = self.queue.tell();
        }
        self.queue.forget_old_words(self.policy.limits().max_queued_inputs);
        decision
    }

    /// Closes what is asked in a task that takes no step any more: a limit may have ended it while reviews were open.
    fn close_questions_at_end(&mut self, now: Timestamp) {
        if self.end.is_some() && !self.waiting.is_empty() {
            self.take_back_waiting(now.into());
        }
    }

    /// An operation that has begun.
    pub(in crate::task) fn begun<T: HandedOver>(
        &mut self,
        progress: Progress,
        now: Timestamp,
    ) -> BegunOperation<'_, T> {
        let progress = self.with_decided(progress, now);
        BegunOperation::new(self, progress)
    }

    /// Keeps what an operation came to that has asked: whoever wanted it hears of it, too, if somebody else has answered.
    pub(in crate::task) fn settle_answered(&mut self, named: Option<Named>, decision: &Decision) {
        if let Some(named) = named
            && !matches!(decision.verdict, Verdict::Wait { .. })
        {
            self.close_unless_open(Some(&named.id), decision);
            self.queue.settle_told(named.decided(decision.clone()));
        }
    }

    /// The question that an operation asks, if it asks one.
    pub(in crate::task) fn question_of(&self, name: &CallId) -> Option<QuestionId> {
        let is_it = |pending: &&Pending| pending.operation.name() == Some(name);
        self.waiting.iter().find(is_it).map(|pending| pending.id)
    }

    /// Takes an operation out of the queue, if it is there.
    pub(in crate::task) fn leave_queue(&mut self, name: &CallId) -> Option<QueuedOperation> {
        let position = self.queue.waiting.iter().position(|queued| queued.id == *name)?;
        Some(self.queue.waiting.remove(position))
    }

    /// The calls, inputs and events that wait for others, in the order in which they came.
    pub fn queued(&self) -> impl Iterator<Item = &CallId> {
        self.queue.waiting.iter().map(|queued| &queued.id)
    }
}
