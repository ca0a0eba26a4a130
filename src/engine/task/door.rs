//! Where a task begins, and how an operation that asked goes on.

use super::allowed;
use super::state::{
    Activity, Answer, Deliveries, Exchange, Pending, Progress, Sender, StartTask, Subject, Switches, Task,
    TaskError,
};
use crate::cel::{Cache, Timestamp};
use crate::context::{TaskContext, TaskStart};
use crate::policy::Policy;
use std::sync::Arc;

impl Task {
    /// A task that starts under a policy; expressions that are tried out share a cache.
    #[must_use]
    pub fn new(policy: Arc<Policy>, cache: Arc<Cache>, start: StartTask) -> Self {
        let agent = policy.agent();
        let wish = agent.model.as_ref().map(|model| model.text.clone());
        let facts = TaskStart {
            agent: agent.name.text.clone(),
            namespace: agent.namespace.text.clone(),
            started_at: start.started_at,
            user_id: start.user.id.into(),
            user_email: start.user.email.map(Into::into),
            model: start.model.map(Into::into).or(wish).unwrap_or_default(),
        };
        let context = TaskContext::new(policy.schema().clone(), facts);
        let mount = policy.mount(&start.id);
        let mut task = Self {
            allowed: allowed::lists(&policy),
            id: start.id,
            policy,
            cache,
            context,
            runtime: start.runtime,
            mount,
            end: None,
            pending: None,
            open: Vec::new(),
            open_bytes: 0,
            script_bytes: 0,
            next_call: 0,
            activity: Activity::starting(start.started_at),
            delivered: Deliveries::default(),
            switches: Switches::default(),
        };
        task.seal(start.started_at);
        task
    }

    /// Goes on with the pending operation.
    ///
    /// # Errors
    /// [`TaskError::NothingPending`], and [`TaskError::WrongAnswer`] for an answer of another kind than the request's;
    /// the operation then still waits.
    pub fn resume(&mut self, answer: Answer, now: Timestamp) -> Result<Progress, TaskError> {
        let Some(pending) = &self.pending else { return Err(TaskError::NothingPending) };
        if !answer.fits(&pending.request) {
            return Err(TaskError::WrongAnswer);
        }
        if let Some(decision) = self.expire(now).or_else(|| self.unanswerable(&answer)) {
            return Ok(Progress::Decided(decision));
        }
        let Some(pending) = self.pending.take() else { return Err(TaskError::NothingPending) };
        let Pending { mut operation, request, script } = *pending;
        operation.course.exchanges.push(Exchange { question: request, answer });
        let of_event = matches!(operation.subject, Subject::Event(_) | Subject::Input(Sender::Event));
        if !of_event {
            self.take_step(now);
        }
        let progress = self.go_on(operation, script, now);
        Ok(self.settle_event(progress, now))
    }
}
