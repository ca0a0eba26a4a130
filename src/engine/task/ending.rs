//! How a task comes to its end, and what it says to whoever tries a step then or while it waits.

use super::messages;
use super::state::{
    Allowed, Decision, End, Pending, QuestionId, Refused, Request, Stage, StepOutcome, Task, TaskError,
    TaskState, Termination, TerminationReason, Verdict,
};
use crate::cel::Timestamp;
use crate::policy::Step;

impl Task {
    /// Whether it takes steps.
    #[must_use]
    pub fn state(&self) -> TaskState {
        TaskState::of(self.end.as_ref(), &self.waiting)
    }

    pub(super) fn begin_interrupt(&mut self, now: Timestamp) -> Decision {
        if let Some(rejection) = self.rejection() {
            return rejection;
        }
        self.activity.interrupt(now);
        Decision::new(Verdict::allow(None))
    }

    pub(super) fn begin_end(&mut self, reason: TerminationReason, message: &str, now: Timestamp) -> Decision {
        if self.end.is_some() {
            return self.rejection().unwrap_or_else(Decision::not_known);
        }
        let termination = Termination { reason, message: message.to_owned() };
        self.end = Some(End::Terminated(termination.clone()));
        let decision = Decision::new(termination.verdict());
        self.stop_waiting(decision, now)
    }

    pub(super) fn begin_unlock(&mut self, reason: &str) -> Result<Decision, TaskError> {
        match &self.end {
            Some(End::Locked(_)) => self.end = None,
            Some(End::Terminated(_)) => return Err(TaskError::HasEnded),
            None => return Err(TaskError::NotLocked),
        }
        let passed = Allowed { reason: Some(reason.to_owned()), ..Allowed::default() };
        Ok(Decision::new(Verdict::Allow(passed)))
    }

    /// Why no step may be taken now, whatever it is; an expired review ends the task first (RV-12).
    pub(super) fn refusal(&mut self, now: Timestamp) -> Option<Decision> {
        self.expire(now).or_else(|| self.rejection())
    }

    /// Why the task takes no step any more, not even for a call that was let through: it does while it waits.
    pub(super) fn refusal_at_end(&mut self, now: Timestamp) -> Option<Decision> {
        self.expire(now).or_else(|| self.end.is_some().then(|| self.rejection())?)
    }

    /// Whether what it waits for is the result of a call that was let through, or of one that a step behind that call makes:
    /// such a result is of something that has run, whatever becomes of the task.
    #[must_use]
    pub fn awaits_result(&self) -> bool {
        self.open.iter().any(|open| open.asked.is_some())
            || self.waiting.iter().any(|Pending { operation, request, .. }| {
                matches!(request, Request::Invoke(_))
                    && matches!(operation.course.stage, Stage::Execute | Stage::After)
            })
    }

    pub(super) fn is_in_review(&self) -> bool {
        self.waiting.iter().any(Pending::is_in_review)
    }

    /// What a task at its end says to whoever tries a step.
    pub(super) fn rejection_at_end(&self) -> Option<Decision> {
        self.end.is_some().then(|| self.rejection())?
    }

    fn rejection(&self) -> Option<Decision> {
        let waiting = messages::waiting();
        let (reason, message) = match &self.end {
            Some(end) => end.said(),
            None if self.waiting.is_empty() => return None,
            None => (&*waiting, &*waiting),
        };
        let refused = Refused { reason: Some(reason.to_owned()), ..Refused::new(message.to_owned()) };
        Some(Decision::new(Verdict::rejected(refused)))
    }
}

impl Task {
    /// The decision of the operation that has waited longest: suspend, with the steps so far and, if it is a review, the
    /// reviewer. Nothing if no operation waits.
    #[must_use]
    pub fn suspension(&self) -> Option<Decision> {
        self.waiting.first().map(|pending| self.suspension_of(pending))
    }

    /// The same of the operation that asks a question.
    #[must_use]
    pub fn suspension_at(&self, question: QuestionId) -> Option<Decision> {
        let pending = self.waiting.iter().find(|pending| pending.id == question);
        pending.map(|pending| self.suspension_of(pending))
    }

    fn suspension_of(&self, pending: &Pending) -> Decision {
        let Pending { id, operation, request, script, asked: _ } = pending;
        let reviewer = match request {
            Request::Review { reviewer, .. } => Some(reviewer.clone()),
            _ => None,
        };
        let step = operation.step_under_way(&self.policy);
        let mut trace = operation.course.trace.clone();
        trace.extend(step.and_then(|step| operation.course.trace_of(step, StepOutcome::Suspend, None)));
        let decision = Decision {
            call: operation.name().cloned(),
            decided_by: step.map(Step::origin),
            trace,
            observed: operation.course.observed.clone(),
            enforced: operation.course.enforced.clone(),
            findings: operation.course.findings.clone(),
            counters: operation.course.counters.clone(),
            cost: operation.course.cost,
            ..Decision::new(Verdict::Suspend { question: *id, reviewer, message: messages::waiting() })
        };
        match script {
            Some(script) => script.told_before(decision),
            None => decision,
        }
    }
}

impl Decision {
    /// The decision of an operation that asks: its verdict and nothing else. It is for callers that have the question alone.
    #[must_use]
    pub fn suspended(question: QuestionId, reviewer: Option<String>) -> Self {
        Self::new(Verdict::Suspend { question, reviewer, message: messages::waiting() })
    }

    /// The decision on an operation of which the task knows nothing any more.
    pub(crate) fn not_known() -> Self {
        Self::turned_away(messages::not_kept())
    }
}
