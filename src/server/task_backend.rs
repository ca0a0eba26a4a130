//! Where the tasks of a program are: in this process, or on a server.
//!
//! In: operations of tasks. Out: what they came to. Who asks cannot tell the two apart, so a guard means the same with a server as
//! without one.

use crate::in_process::InProcess;
use celador::BroughtTool;
use celador::task::{CallId, Operation, ReviewReply};
use celador_service::{
    BegunTask, CheckedExpression, ContextPage, ContextQuery, EventPage, Explain, ExpressionOutcome, NewTask,
    Offers, OperationAnswer, Person, PurgedTask, RemoteTasks, ReviewPage, ReviewedReview, ReviewsQuery,
    ServiceError, StepTerms, TaskExpression, TaskProgress, TaskService, TaskStanding,
};
use serde_json::Value;
use std::time::Duration;

/// The tasks of a program.
///
/// ```
/// use celador_server::{InProcess, Parts, Settings, TaskBackend, system_clock};
/// use celador_service::{Client, KeptClient, RemoteTasks};
/// use celador_store::{Database, Location};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
///
/// let tasks = match std::env::var("CELADOR_SERVER") {
///     Ok(address) => TaskBackend::Remote(RemoteTasks::new(KeptClient::new(Client::new(&address, None)?))),
///     Err(_) => {
///         let settings = Settings::new(vec!["examples/first-policy".into()]);
///         let database = Database::open(&Location::Memory, &settings.limits.store)?;
///         let parts = Parts { clock: system_clock()?, database, log: None };
///         TaskBackend::InProcess(InProcess::open(settings, parts)?)
///     }
/// };
/// # drop(tasks);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub enum TaskBackend {
    /// In this process.
    InProcess(InProcess),
    /// On a server.
    Remote(RemoteTasks),
}

/// What the backend answers, whichever it is.
macro_rules! either {
    ($backend:expr, $tasks:ident => $asked:expr) => {
        match $backend {
            TaskBackend::InProcess($tasks) => $asked.await,
            TaskBackend::Remote($tasks) => $asked.await,
        }
    };
}

impl TaskService for TaskBackend {
    async fn begin(&self, new: NewTask) -> Result<BegunTask, ServiceError> {
        either!(self, tasks => tasks.begin(new))
    }

    async fn bring(&self, task: &str, tools: Vec<BroughtTool>) -> Result<BegunTask, ServiceError> {
        either!(self, tasks => tasks.bring(task, tools))
    }

    async fn take(
        &self,
        task: &str,
        operation: Operation,
        terms: StepTerms,
    ) -> Result<OperationAnswer<'static>, ServiceError> {
        either!(self, tasks => tasks.take(task, operation, terms))
    }

    async fn standing(
        &self,
        task: &str,
        call: &CallId,
        wait: Duration,
    ) -> Result<TaskProgress<'static>, ServiceError> {
        either!(self, tasks => tasks.standing(task, call, wait))
    }

    async fn state(&self, task: &str) -> Result<TaskStanding, ServiceError> {
        either!(self, tasks => tasks.state(task))
    }

    async fn offers(&self, task: &str) -> Result<Offers, ServiceError> {
        either!(self, tasks => tasks.offers(task))
    }

    async fn agent_offers(&self, namespace: &str, agent: &str) -> Result<Offers, ServiceError> {
        either!(self, tasks => tasks.agent_offers(namespace, agent))
    }

    async fn purge(&self, task: &str, reason: Option<&str>) -> Result<PurgedTask, ServiceError> {
        either!(self, tasks => tasks.purge(task, reason))
    }

    async fn context(&self, task: &str, query: ContextQuery) -> Result<ContextPage, ServiceError> {
        either!(self, tasks => tasks.context(task, query))
    }

    async fn events(&self, task: &str, after: Option<u64>) -> Result<EventPage, ServiceError> {
        either!(self, tasks => tasks.events(task, after))
    }

    async fn evaluate(
        &self,
        task: &str,
        expression: TaskExpression,
    ) -> Result<ExpressionOutcome, ServiceError> {
        either!(self, tasks => tasks.evaluate(task, expression))
    }

    async fn check(
        &self,
        task: &str,
        scope: &str,
        expression: &str,
    ) -> Result<CheckedExpression, ServiceError> {
        either!(self, tasks => tasks.check(task, scope, expression))
    }

    async fn explain(&self, task: &str, what: Explain) -> Result<Value, ServiceError> {
        either!(self, tasks => tasks.explain(task, what))
    }

    async fn reviews(&self, query: ReviewsQuery) -> Result<ReviewPage, ServiceError> {
        either!(self, tasks => tasks.reviews(query))
    }

    async fn answer_review(
        &self,
        review: &str,
        reply: ReviewReply,
        by: Option<Person>,
    ) -> Result<ReviewedReview, ServiceError> {
        either!(self, tasks => tasks.answer_review(review, reply, by))
    }

    async fn note_unjudged(&self, form: &str, count: u64) -> Result<bool, ServiceError> {
        either!(self, tasks => tasks.note_unjudged(form, count))
    }
}
