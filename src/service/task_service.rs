//! What a program wants of tasks, wherever they are kept.

use crate::{
    BegunTask, CheckedExpression, ClientError, ContextPage, ContextQuery, EventPage, Explain,
    ExpressionOutcome, NewTask, Offers, OperationAnswer, Person, ProblemDetails, ProblemKind, PurgedTask,
    ReviewPage, ReviewedReview, ReviewsQuery, TaskExpression, TaskProgress, TaskStanding,
};
use celador::BroughtTool;
use celador::task::{CallId, Operation, ReviewReply};
use serde_json::Value;
use std::time::Duration;

/// Tasks, in this process or on a server: the same operations with the same answers.
///
/// A task is found by its id among those of the caller. A denial is a decision and no error. An error says that nothing has happened, but for
/// [`ServiceError::NoAnswer`]: then nobody knows, and the same operation under the same ids, or the same key, is answered as it was.
///
/// ```
/// use celador::task::{Call, Operation, User};
/// use celador_server::{Parts, Server, Settings, system_clock};
/// use celador_service::{Client, KeptClient, NewTask, OperationAnswer, RemoteTasks, ServiceError, StepTerms, TaskService};
/// use celador_store::{Database, Location};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
///
/// /// Whether a clerk may pay so much, wherever their tasks are.
/// async fn may_pay<T: TaskService>(tasks: &T, amount: i64) -> Result<bool, ServiceError> {
///     let user = User { id: "u-7".into(), ..User::default() };
///     let new = NewTask { namespace: "shop".into(), agent: Some("clerk".into()), user, ..NewTask::default() };
///     let begun = tasks.begin(new).await?;
///     let call = Call::new("payout", serde_json::json!({"amount": amount}).into());
///     let answer = tasks.take(&begun.task, Operation::Before(call), StepTerms::default()).await?;
///     let OperationAnswer::One(progress) = answer else { panic!("it is one call") };
///     Ok(progress.came_to.decision().is_some_and(|decision| decision.is_allowed()))
/// }
///
/// let mut settings = Settings::new(vec!["examples/first-policy".into()]);
/// settings.address.set_port(0);
/// let database = Database::open(&Location::Memory, &settings.limits.store)?;
/// let server = Server::start(settings, Parts { clock: system_clock()?, database, log: None })?;
/// let client = Client::new(&format!("http://{}", server.address()), None)?;
/// let tasks = RemoteTasks::new(KeptClient::new(client));
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// # runtime.block_on(async {
/// assert!(may_pay(&tasks, 40).await? && !may_pay(&tasks, 2_000).await?);
/// # Ok::<(), ServiceError>(())
/// # })?;
/// # server.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait TaskService: Send + Sync {
    /// Begins a task, or finds the one that the same request has begun.
    fn begin(&self, new: NewTask) -> impl Future<Output = Result<BegunTask, ServiceError>> + Send;

    /// Brings tools that the task does not know. Those that it knows as they are here are passed over.
    fn bring(
        &self,
        task: &str,
        tools: Vec<BroughtTool>,
    ) -> impl Future<Output = Result<BegunTask, ServiceError>> + Send;

    /// Takes an operation.
    fn take(
        &self,
        task: &str,
        operation: Operation,
        terms: StepTerms,
    ) -> impl Future<Output = Result<OperationAnswer<'static>, ServiceError>> + Send;

    /// How far a call has come, or an input, event or response that waits: once it is decided, or after so long.
    fn standing(
        &self,
        task: &str,
        call: &CallId,
        wait: Duration,
    ) -> impl Future<Output = Result<TaskProgress<'static>, ServiceError>> + Send;

    /// The task as it stands.
    fn state(&self, task: &str) -> impl Future<Output = Result<TaskStanding, ServiceError>> + Send;

    /// What the model may be offered, and which messages are judged.
    fn offers(&self, task: &str) -> impl Future<Output = Result<Offers, ServiceError>> + Send;

    /// The same of an agent, by its manifests alone: its namespace and its name.
    fn agent_offers(
        &self,
        namespace: &str,
        agent: &str,
    ) -> impl Future<Output = Result<Offers, ServiceError>> + Send;

    /// Removes a task for good. Out come the facts that stay of it.
    fn purge(
        &self,
        task: &str,
        reason: Option<&str>,
    ) -> impl Future<Output = Result<PurgedTask, ServiceError>> + Send;

    /// The context of a task as expressions see it, a page at a time.
    fn context(
        &self,
        task: &str,
        query: ContextQuery,
    ) -> impl Future<Output = Result<ContextPage, ServiceError>> + Send;

    /// What has happened to a task behind a version, a page at a time.
    fn events(
        &self,
        task: &str,
        after: Option<u64>,
    ) -> impl Future<Output = Result<EventPage, ServiceError>> + Send;

    /// The value of an expression on a task. Nothing of the task changes.
    fn evaluate(
        &self,
        task: &str,
        expression: TaskExpression,
    ) -> impl Future<Output = Result<ExpressionOutcome, ServiceError>> + Send;

    /// What is wrong with an expression in a scope of a task.
    fn check(
        &self,
        task: &str,
        scope: &str,
        expression: &str,
    ) -> impl Future<Output = Result<CheckedExpression, ServiceError>> + Send;

    /// Why a decision was made as it was, or what a call would come to: JSON with `decision`, `steps` and, of a decision of the past, `same`.
    fn explain(&self, task: &str, what: Explain) -> impl Future<Output = Result<Value, ServiceError>> + Send;

    /// The reviews that the caller sees and that are wanted, a page at a time.
    fn reviews(&self, query: ReviewsQuery) -> impl Future<Output = Result<ReviewPage, ServiceError>> + Send;

    /// Answers a review. A program that has the tasks in its process says who answers; a server knows that by the token.
    fn answer_review(
        &self,
        review: &str,
        reply: ReviewReply,
        by: Option<Person>,
    ) -> impl Future<Output = Result<ReviewedReview, ServiceError>> + Send;

    /// Says that something was forwarded so often which no rule saw, for the decision log. Whether it is in one.
    fn note_unjudged(
        &self,
        form: &str,
        count: u64,
    ) -> impl Future<Output = Result<bool, ServiceError>> + Send;
}

/// Under which terms an operation is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepTerms {
    /// A key under which it is taken once: the same operation under it is answered as before.
    pub key: Option<String>,
    /// How long the answer may wait for what is pending to be decided.
    pub wait: Duration,
}

/// Why an operation was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// It is not possible, and nothing has happened.
    #[error("{0}")]
    Problem(Box<ProblemDetails>),
    /// There is no answer: it may have happened.
    #[error("{0}")]
    NoAnswer(ClientError),
}

impl ServiceError {
    /// The kind of problem; nothing where there is no answer.
    #[must_use]
    pub fn kind(&self) -> Option<ProblemKind> {
        match self {
            Self::Problem(problem) => problem.kind(),
            Self::NoAnswer(_) => None,
        }
    }
}

impl From<ProblemDetails> for ServiceError {
    fn from(problem: ProblemDetails) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl From<ClientError> for ServiceError {
    fn from(error: ClientError) -> Self {
        Self::NoAnswer(error)
    }
}
