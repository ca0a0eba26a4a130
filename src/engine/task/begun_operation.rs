//! An operation of a task on its way to what it comes to.
//!
//! In: an operation as it began. Out: its [`Outcome`], by one of three ways: a [`Host`] that answers at once, an async closure, or
//! effect by effect. While it goes on nobody else can use the task, which it borrows; where it waits for days, the host drops it,
//! keeps the task ([`Task::save`]) and goes on with [`Task::resume`].

use super::driver::{Host, answer};
use super::outcome::{HandedOver, Outcome};
use super::state::{Answer, Decision, Progress, Question, Request, Task, TaskError};
use crate::cel::Timestamp;
use std::marker::PhantomData;

/// An operation that was begun: decided already, or asking for something.
///
/// Of most operations nothing is asked, and [`BegunOperation::outcome`] is all that a host needs. Dropping one that asks leaves the task
/// waiting for the answer.
///
/// ```
/// # use celador::{Answer, Call, Engine, Outcome, Request, StartTask, User};
/// # let manifests = r#"
/// # kind: commonagents.info/v1beta2/tool
/// # namespace: shop
/// # name: refund
/// # description: Pays money back.
/// # actions:
/// #   - name: pay
/// #     description: Pays.
/// #     parameters: {properties: {amount: {type: number}}}
/// #     execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
/// # ---
/// # kind: commonagents.info/v1beta2/agent
/// # namespace: shop
/// # name: clerk
/// # description: Answers customers.
/// # prompt: You are a careful clerk.
/// # capabilities:
/// #   refund:
/// #     before:
/// #       - assert: input.amount <= 100 || review('lead@example.com')
/// # "#;
/// # let engine = Engine::parse("shop.yaml", manifests)?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// let call = Call::new("refund", serde_json::json!({"amount": 250}).into());
/// let mut operation = task.before(&call, now)?;
/// while let Some(request) = operation.request() {
///     let Request::Review { reviewer, .. } = request else { unreachable!("the steps only ask for reviews") };
///     assert_eq!(reviewer, "lead@example.com");
///     operation = operation.answer(Answer::approve(), now)?;
/// }
/// let Outcome::Allowed(allowed) = operation.outcome() else { panic!("the lead has approved it") };
/// assert_eq!(allowed.arguments.to_string(), r#"{"amount":250}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "an operation may ask for something, and what it comes to decides what may be done"]
pub struct BegunOperation<'t, T> {
    task: &'t mut Task,
    progress: Progress,
    hands_over: PhantomData<fn() -> T>,
}

impl<'t, T: HandedOver> BegunOperation<'t, T> {
    pub(super) fn new(task: &'t mut Task, progress: Progress) -> Self {
        Self { task, progress, hands_over: PhantomData }
    }

    /// What it asks for; nothing once it is decided.
    #[must_use]
    pub fn request(&self) -> Option<&Request> {
        match &self.progress {
            Progress::Decided(_) => None,
            Progress::Asks(question) => Some(&question.request),
        }
    }

    /// The same with its name, under which [`Task::answer`] takes the answer once the operation was dropped.
    #[must_use]
    pub fn question(&self) -> Option<&Question> {
        match &self.progress {
            Progress::Decided(_) => None,
            Progress::Asks(question) => Some(question),
        }
    }

    /// Goes on with the answer to [`BegunOperation::request`].
    ///
    /// # Errors
    /// As [`Task::answer`]; the task then still waits for the answer.
    pub fn answer(self, answer: Answer, now: impl Into<Timestamp>) -> Result<Self, TaskError> {
        let Progress::Asks(question) = &self.progress else { return Err(TaskError::NothingPending) };
        let progress = self.task.go_on_with(question.id, answer, now.into())?;
        Ok(Self { progress, ..self })
    }

    /// What it has come to; [`Outcome::Waits`] if it asks.
    pub fn outcome(self) -> Outcome<T> {
        match self.progress {
            Progress::Decided(decision) => Outcome::new(decision),
            Progress::Asks(question) => {
                // a task that asks has a decision that says so
                let waiting = self
                    .task
                    .suspension_at(question.id)
                    .unwrap_or_else(|| Decision::suspended(question.id, None));
                Outcome::waits(question, waiting)
            }
        }
    }

    /// How far it has come, as plain data that is not tied to the task.
    #[must_use]
    pub fn into_progress(self) -> Progress {
        self.progress
    }

    /// Answers whatever it asks with a host that answers at once, until it is decided or the host has no answer yet: then
    /// it waits. What it does to counters is in the host's book then.
    ///
    /// # Errors
    /// [`TaskError::CountersMoved`] if somebody has changed the host's book meanwhile. [`TaskError::WrongAnswer`] does not come from
    /// here: each question gets an answer of its kind.
    pub fn drive(mut self, host: &mut dyn Host) -> Result<Outcome<T>, TaskError> {
        while let Some(request) = self.request() {
            let Some(answer) = answer(host, request) else { break };
            self = self.answer(answer, host.now())?;
        }
        let now = host.now();
        if let Some(book) = host.counters() {
            let changes = self.task.take_counter_changes();
            book.apply(&self.task.id, &changes, now).map_err(|_| TaskError::CountersMoved)?;
        }
        Ok(self.outcome())
    }

    /// The same with an async closure, which answers a request, or answers nothing if the answer is not there yet. `now` is the
    /// clock of the host: after an answer an operation goes on at a later time.
    ///
    /// # Errors
    /// [`TaskError::WrongAnswer`] for an answer of another kind than the request's; the task then still waits.
    pub async fn drive_async<N: Into<Timestamp>>(
        mut self,
        now: impl Fn() -> N,
        mut answer: impl AsyncFnMut(Request) -> Option<Answer>,
    ) -> Result<Outcome<T>, TaskError> {
        while let Some(request) = self.request().cloned() {
            let Some(answer) = answer(request).await else { break };
            self = self.answer(answer, now())?;
        }
        Ok(self.outcome())
    }
}

impl<T> From<BegunOperation<'_, T>> for Progress {
    fn from(operation: BegunOperation<'_, T>) -> Self {
        operation.progress
    }
}
