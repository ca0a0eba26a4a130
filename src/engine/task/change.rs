//! What a step changed in a task, so that a store writes the step and not the whole task.
//!
//! In: a task, and a [`TaskMark`] of it from before the step. Out: a [`TaskChange`]; a [`SavedTask`] with the changes that
//! followed it, one after the other, is what [`Task::save`] would give now. A change holds the state, not the operation:
//! it needs no policy to be read back, so a task that went on under an old policy stays what it was.

use super::operation::Operation;
use super::save::{SavedAllowList, SavedCall, SavedTask};
use super::state::{
    Activity, Call, CallClaim, CallId, CallsChange, CallsMark, Decision, DeliveriesChange, End, Holdings,
    ModelCalls, ModelMark, OpenCall, Pending, QuestionId, Queue, Review, Stretches, Task, TaskError,
    Termination, TerminationReason, VerdictKind,
};
use crate::cel::Json;
use crate::context::{ContextChange, ContextMark};
use crate::manifest::brought::BroughtTool;
use crate::policy::{AllowList, Fingerprint, Policy};
use serde::{Deserialize, Serialize};

/// Where a task was at one moment. Linear in the calls that are let through and not reported, and in the capabilities.
#[derive(Clone, Debug)]
pub struct TaskMark {
    context: ContextMark,
    open: Vec<(CallId, Option<CallClaim>)>,
    allowed: Vec<usize>,
    /// How many names of deliveries there had been, and how many of them had made room.
    delivered: (usize, usize),
    next_call: u64,
    model: ModelMark,
    known: CallsMark,
    is_ended: bool,
    /// The questions that were open.
    asked: Vec<(QuestionId, usize)>,
    /// How many reviews were closed.
    reviewed: usize,
    /// How many calls waited for others.
    queued: usize,
    stretches: Stretches,
    /// How many tools it had brought.
    tools: usize,
}

/// What happened to a task between two moments, as plain data.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskChange {
    context: ContextChange,
    /// The policy under which it happened.
    fingerprint: Fingerprint,
    activity: Activity,
    /// Where stretches began meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stretches: Option<Stretches>,
    next_call: u64,
    /// The calls of the model, if something has become of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<ModelCalls>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    known: Option<CallsChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<End>,
    /// The operations that wait for an answer.
    #[serde(default, rename = "pending", skip_serializing_if = "Vec::is_empty")]
    waiting: Vec<Pending>,
    next_question: u32,
    /// The reviews that were closed meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reviews: Vec<Review>,
    #[serde(default, skip_serializing_if = "Queue::is_empty")]
    queue: Queue,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    opened: Vec<SavedCall>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    closed: Vec<CallId>,
    /// The claims on calls that were open before, as far as they have changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    claimed: Vec<(CallId, Option<CallClaim>)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    allowed: Vec<SavedAllowList>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delivered: Option<DeliveriesChange>,
    /// What calls hold behind it.
    #[serde(default, skip_serializing_if = "Holdings::is_empty")]
    holdings: Holdings,
    /// The tools that the task has brought meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    brought: Vec<BroughtTool>,
}

impl TaskMark {
    /// The mark of a task that has brought tools since, as it was before that.
    pub(crate) fn before_tools(self, had: usize) -> Self {
        Self { tools: had, ..self }
    }
}

impl Task {
    /// Where the task is now: to be taken before a step that is to be stored.
    #[must_use]
    pub fn mark(&self) -> TaskMark {
        TaskMark {
            context: self.context.mark(),
            open: self.open.iter().map(|call| (call.id.clone(), call.claim.clone())).collect(),
            allowed: self.allowed.iter().map(AllowList::count).collect(),
            delivered: (self.delivered.count(), self.delivered.forgotten()),
            next_call: self.next_call,
            model: self.model.mark(),
            known: self.known.mark(),
            is_ended: self.end.is_some(),
            asked: self.asked_now().collect(),
            reviewed: self.reviews.len(),
            queued: self.queue.waiting.len(),
            stretches: self.stretches,
            tools: self.tools.len(),
        }
    }

    /// What is asked, and how many have approved of each review by several people.
    fn asked_now(&self) -> impl Iterator<Item = (QuestionId, usize)> {
        self.waiting.iter().map(|pending| (pending.id, pending.approvals().len()))
    }

    /// Whether an operation was turned away since this task was at a mark, and left no trace: the task had ended, or
    /// waited for an answer and was not given one, too many calls waited, or an operator's switch stopped it. A store need not keep such a step: whoever goes on asking a task at its
    /// end would otherwise fill it. The result of a call that was let through leaves its trace even then.
    ///
    /// # Cost
    /// Linear in the calls that are let through and not reported, and in the capabilities.
    #[must_use]
    pub fn turned_away_since(&self, mark: &TaskMark, decision: &Decision) -> bool {
        (decision.verdict.kind() == VerdictKind::Rejected || mark.is_ended) && self.is_at(mark)
    }

    /// Whether nothing happened since this task was at a mark: the step that was taken only looked at it, such as one that brings a
    /// call or a result once more.
    ///
    /// # Cost
    /// As [`Task::turned_away_since`].
    #[must_use]
    pub fn is_at(&self, mark: &TaskMark) -> bool {
        self.end.is_some() == mark.is_ended
            && self.asked_now().eq(mark.asked.iter().copied())
            && self.next_call == mark.next_call
            && self.model.mark() == mark.model
            && self.known.is_at(&mark.known)
            && self.queue.waiting.len() == mark.queued
            && self.tools.len() == mark.tools
            && self
                .open
                .iter()
                .map(|call| (&call.id, &call.claim))
                .eq(mark.open.iter().map(|(id, claim)| (id, claim)))
            && self.allowed.iter().map(AllowList::count).eq(mark.allowed.iter().copied())
            && self.context.is_at(&mark.context)
    }

    /// What happened since this task was at a mark; of another task's mark it is nonsense.
    ///
    /// # Cost
    /// Linear in what happened, in the operation that waits, and in the calls that are let through and not reported.
    #[must_use]
    pub fn change_since(&self, mark: &TaskMark) -> TaskChange {
        let is_open = |id: &CallId| self.open.iter().any(|call| call.id == *id);
        let before = |call: &OpenCall| mark.open.iter().find(|(id, _)| *id == call.id);
        let opened = self.open.iter().filter(|call| before(call).is_none());
        let claimed =
            self.open.iter().filter(|call| before(call).is_some_and(|(_, claim)| *claim != call.claim));
        let lists = self.policy.agent().capabilities.iter().zip(self.allowed.iter().zip(&mark.allowed));
        TaskChange {
            context: self.context.change_since(&mark.context),
            fingerprint: self.policy.fingerprint(),
            activity: self.activity,
            stretches: Some(self.stretches).filter(|stretches| *stretches != mark.stretches),
            next_call: self.next_call,
            model: (self.model.mark() != mark.model).then(|| self.model.clone()),
            known: self.known.since(&mark.known),
            end: self.end.clone(),
            waiting: self.waiting.clone(),
            next_question: self.next_question,
            reviews: self.reviews.iter().skip(mark.reviewed).cloned().collect(),
            queue: self.queue.clone(),
            opened: opened.filter_map(|call| self.saved_call(call)).collect(),
            closed: mark.open.iter().map(|(id, _)| id).filter(|id| !is_open(id)).cloned().collect(),
            claimed: claimed.map(|call| (call.id.clone(), call.claim.clone())).collect(),
            allowed: lists
                .filter(|(_, (list, before))| list.count() > **before)
                .map(|(capability, (list, before))| SavedAllowList::since(capability, list, *before))
                .collect(),
            delivered: self.delivered.since(mark.delivered.0, mark.delivered.1),
            holdings: self.holdings.clone(),
            brought: self.tools.iter().skip(mark.tools).cloned().collect(),
        }
    }
}

impl TaskChange {
    /// The operation that the change came of, as far as it tells: a call that was let through, put on record or asked about, or an input that was
    /// admitted. What was turned away without a trace is not told, nor are several calls of one turn. `policy` is that of the task.
    #[must_use]
    pub fn operation(&self, verdict: VerdictKind, policy: &Policy) -> Option<Operation> {
        let call =
            |function: &str, arguments: &Json| Operation::Before(Call::new(function, arguments.clone()));
        if verdict == VerdictKind::Suspend {
            let asked = self.waiting.last()?.operation.subject.call()?;
            return Some(call(&policy.function(asked.function)?.key, &asked.arguments));
        }
        let opened = match &*self.opened {
            [only] => Some(only.told()),
            _ => None,
        };
        let called = opened.or_else(|| self.context.last_call());
        let called = called.map(|(function, arguments)| call(function, arguments));
        called.or_else(|| self.context.last_input().cloned().map(Operation::Input))
    }

    /// The reviews that were open behind the change, as [`SavedTask::open_reviews`].
    pub fn open_reviews(&self) -> impl Iterator<Item = QuestionId> {
        self.waiting.iter().filter_map(Pending::dated_review)
    }
}

impl SavedTask {
    /// The reviews that are open, but for those that a release asked for which kept no reviews.
    pub fn open_reviews(&self) -> impl Iterator<Item = QuestionId> {
        self.waiting.iter().filter_map(Pending::dated_review)
    }

    /// What [`Task::end`] or [`Task::end_with_parent`] would change and decide, for a task that waits for nothing and has not ended: that needs no policy.
    /// Nothing for any other task, because what waits can be taken back under its policy only.
    #[must_use]
    pub fn ending(&self, reason: TerminationReason, message: &str) -> Option<(TaskChange, Decision)> {
        if self.has_ended() || !self.waiting.is_empty() || !self.queue.waiting.is_empty() {
            return None;
        }
        let termination = Termination { reason, message: message.to_owned() };
        let change = TaskChange {
            context: self.context.no_change(),
            fingerprint: self.fingerprint,
            activity: self.activity,
            stretches: None,
            next_call: self.next_call,
            model: None,
            known: None,
            end: Some(End::Terminated(termination.clone())),
            waiting: Vec::new(),
            next_question: self.next_question,
            reviews: Vec::new(),
            queue: Queue::default(),
            opened: Vec::new(),
            closed: Vec::new(),
            claimed: Vec::new(),
            allowed: Vec::new(),
            delivered: None,
            // the store spends what is held when a task ends
            holdings: Holdings::default(),
            brought: Vec::new(),
        };
        Some((change, Decision::new(termination.verdict())))
    }

    /// The task after a change: what [`Task::save`] gave, or would have given, once it had happened.
    ///
    /// # Errors
    /// [`TaskError::NotRestorable`] if it is no change of this task as it is here.
    ///
    /// # Cost
    /// Linear in the change.
    pub fn apply(mut self, change: TaskChange) -> Result<Self, TaskError> {
        let context = self.context.after(change.context);
        self.context = context.ok_or(TaskError::NotRestorable("a change is not one of its history"))?;
        self.fingerprint = change.fingerprint;
        self.activity = change.activity;
        self.stretches = change.stretches.unwrap_or(self.stretches);
        self.next_call = change.next_call;
        if let Some(model) = change.model {
            self.model = model;
        }
        if let Some(known) = change.known {
            self.known.apply(known);
        }
        self.end = change.end;
        self.waiting = change.waiting;
        self.next_question = self.next_question.max(change.next_question);
        self.reviews.extend(change.reviews);
        self.queue = change.queue;
        self.holdings = change.holdings;
        if !change.brought.is_empty() {
            self.tools = self.tools.iter().cloned().chain(change.brought).collect();
        }
        self.open.retain(|call| !change.closed.contains(&call.id));
        self.open.extend(change.opened);
        for (id, claim) in change.claimed {
            self.open.iter_mut().filter(|call| call.id == id).for_each(|call| call.claim.clone_from(&claim));
        }
        if let Some(delivered) = change.delivered {
            delivered.apply(&mut self.delivered);
        }
        for list in change.allowed {
            match self.allowed.iter_mut().find(|known| known.capability == list.capability) {
                Some(known) => known.extend(list),
                None => self.allowed.push(list),
            }
        }
        Ok(self)
    }
}
