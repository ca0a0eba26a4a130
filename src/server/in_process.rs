//! The same decisions without a network: operations of tasks, and requests of the API, that are answered in this process.
//!
//! In: what [`TaskService`] takes. Out: what a server would answer, by the same functions. So bindings, hooks and proxies have one meaning whether
//! they decide themselves or ask a server.

use super::error::ServeError;
use super::gate::done_by;
use super::manifests::ReadManifests;
use super::messages;
use super::operations::evaluate::{Check, Evaluate, scope_of};
use super::operations::explain::explained;
use super::operations::pending::Pauses;
use super::operations::task_policies::task_state;
use super::operations::unjudged_routes::{Unjudged, noted};
use super::problem::{Kind, Problem};
use super::request::depth;
use super::reviews::{answered, listed};
use super::routes::{begin, checked, context_page, evaluated, offers_of, purged};
use super::service::{Parts, Service};
use super::settings::Settings;
use super::task_request::{OnceKey, TaskRequest};
use super::tasks::owner;
use super::{EVENT_INTERVAL, identity, most_threads, upkeep};
use celador::BroughtTool;
use celador::digest::Digest;
use celador::task::{CallId, Operation, ReviewReply};
use celador_service::{
    BegunTask, CheckedExpression, ClientError, ContextPage, ContextQuery, EventPage, Explain,
    ExpressionOutcome, NewTask, Offers, OperationAnswer, Person, PurgedTask, ReviewPage, ReviewedReview,
    ReviewsQuery, ServiceError, StepTerms, TaskExpression, TaskProgress, TaskService, TaskStanding,
};
use celador_store::Location;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

/// Tasks in this process. It has no address and opens no socket. Callers need no token: who has this value may do everything that a server
/// without tokens lets its callers do.
///
/// Settings that are about the network (address, TLS, origins, authentication, webhooks) have no meaning here.
///
/// ```
/// use celador::task::{Call, Operation, User};
/// use celador_server::{InProcess, Parts, Settings, system_clock};
/// use celador_service::{NewTask, OperationAnswer, StepTerms, TaskService};
/// use celador_store::{Database, Location};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
///
/// let settings = Settings::new(vec!["examples/first-policy".into()]);
/// let database = Database::open(&Location::Memory, &settings.limits.store)?;
/// let tasks = InProcess::open(settings, Parts { clock: system_clock()?, database, log: None })?;
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let user = User { id: "u-7".into(), ..User::default() };
/// let new = NewTask { id: Some("t-1".into()), namespace: "shop".into(), agent: Some("clerk".into()), user, ..NewTask::default() };
/// tasks.begin(new).await?;
/// let call = Call::new("payout", serde_json::json!({"amount": 40}).into());
/// let answer = tasks.take("t-1", Operation::Before(call), StepTerms::default()).await?;
/// let OperationAnswer::One(progress) = answer else { panic!("it is one call") };
/// assert!(progress.came_to.decision().is_some_and(|decision| decision.is_allowed()));
/// # Ok::<(), celador_service::ServiceError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct InProcess {
    service: Arc<Service>,
    stop: watch::Sender<bool>,
    /// Ended on a thread of its own, as who drops this may be a task of another runtime.
    runtime: Option<Runtime>,
}

impl InProcess {
    /// Reads the manifests that the settings name. Nothing is done beside requests until [`keep_up`](Self::keep_up): a process that
    /// answers one request and ends leaves the rest to others of the same store.
    ///
    /// # Errors
    /// [`ServeError`], but for those of a network.
    pub fn open(settings: Settings, parts: Parts) -> Result<Self, ServeError> {
        let steps_at_once = *parts.database.location() == Location::Memory;
        let manifests = ReadManifests::of(&settings)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .event_interval(EVENT_INTERVAL)
            .enable_all()
            .thread_name("celador")
            .max_blocking_threads(most_threads(&settings.limits))
            .build()?;
        let address = settings.address;
        let service = Service { steps_at_once, ..Service::open(settings, manifests, parts, address)? };
        let service = Arc::new(service);
        let (stop, _) = watch::channel(false);
        Ok(Self { service, stop, runtime: Some(runtime) })
    }

    /// From now on does beside requests what a server does: looks at the files of manifests, denies reviews that have expired,
    /// refuses calls that have waited too long, removes what is over its age. To be called once.
    pub fn keep_up(&self) {
        if let Some(runtime) = &self.runtime {
            upkeep::keep_up(runtime.handle(), &self.service, &self.stop.subscribe());
        }
    }
}

impl InProcess {
    /// What a function of the service gives. It runs on a thread of its own, or on this one where nothing in it waits for a disk or a network.
    async fn done<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Service) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let done = if self.service.steps_at_once {
            done_by(&self.service, work)
        } else {
            let Some(runtime) = &self.runtime else { return Err(ClientError::Broken(String::new()).into()) };
            let service = self.service.clone();
            let done = runtime.spawn_blocking(move || done_by(&service, work)).await;
            done.map_err(|error| ClientError::Broken(error.to_string()))?
        };
        done.map_err(|problem| problem.details("").into())
    }

    /// The caller of this process, about a task.
    fn asked(&self, task: &str) -> Result<TaskRequest, ServiceError> {
        let caller = self.service.authority.caller(None, self.service.now());
        let caller = caller.map_err(|_| Problem::from(Kind::Unauthenticated).details(""))?;
        Ok(TaskRequest::new(caller, task))
    }

    /// What somebody asks for as JSON, if it is within the bounds that the body of a request has.
    fn written(&self, body: &impl Serialize) -> Result<Vec<u8>, ServiceError> {
        let limits = &self.service.settings.limits;
        let written = serde_json::to_vec(body).map_err(|_| ClientError::Text)?;
        let (most, deepest) = (limits.max_body_bytes, limits.store.engine.eval.max_json_depth);
        if written.len() > most {
            return Err(Problem::new(Kind::TooLarge, messages::body_over(most)).details("").into());
        }
        if depth(&written) > deepest {
            return Err(Problem::new(Kind::BadRequest, messages::too_deep(deepest)).details("").into());
        }
        Ok(written)
    }

    /// Waits until what is pending of an answer is decided, or for so long. An answer that cannot be looked for any more is the last
    /// one that was true.
    async fn until_decided(
        &self,
        mut told: OperationAnswer<'static>,
        task: &str,
        wait: Duration,
    ) -> Result<OperationAnswer<'static>, ServiceError> {
        let wait = wait.min(Duration::from_millis(self.service.settings.limits.max_pending_ms));
        let mut pauses = Pauses::new(wait);
        while told.is_pending() {
            let Some(pause) = pauses.next() else { break };
            self.sleep(pause).await;
            let (request, before) = (self.asked(task)?, told.clone());
            match self.done(move |service| service.standing_now(&request, &before)).await {
                Ok(present) => told = present,
                Err(_) => break,
            }
        }
        Ok(told)
    }

    /// Sleeps by the timers of this runtime, whatever polls.
    async fn sleep(&self, time: Duration) {
        let Some(runtime) = &self.runtime else { return };
        // a task of that runtime has its timers; only an aborted one has no end
        let _ = runtime.spawn(async move { tokio::time::sleep(time).await }).await;
    }
}

impl TaskService for InProcess {
    async fn begin(&self, new: NewTask) -> Result<BegunTask, ServiceError> {
        let request = self.asked("")?;
        self.written(&new)?;
        self.done(move |service| begin(service, &request, new).map(|(task, _)| task)).await
    }

    async fn bring(&self, task: &str, tools: Vec<BroughtTool>) -> Result<BegunTask, ServiceError> {
        let request = self.asked(task)?;
        self.written(&tools)?;
        self.done(move |service| {
            let brought = service.tasks.bring(&request, &owner(&request.caller), &tools);
            brought.map(|(task, _)| task)
        })
        .await
    }

    async fn take(
        &self,
        task: &str,
        operation: Operation,
        StepTerms { key, wait }: StepTerms,
    ) -> Result<OperationAnswer<'static>, ServiceError> {
        let request = self.asked(task)?;
        let most = self.service.settings.limits.max_idempotency_key_bytes;
        if key.as_ref().is_some_and(|key| !OnceKey::is_valid(key, most)) {
            return Err(Problem::new(Kind::BadRequest, messages::bad_key(most)).details("").into());
        }
        let written = self.written(&operation)?;
        // what the same operation is known by when it comes again
        let digest = || Digest::of_parts([task.as_bytes(), &written]).to_string();
        let once = key.map(|key| OnceKey { key, digest: digest() });
        let request = TaskRequest { once, ..request };
        let told = self.done(move |service| service.tasks.take(&request, &operation)).await?;
        if wait.is_zero() { Ok(told) } else { self.until_decided(told, task, wait).await }
    }

    async fn standing(
        &self,
        task: &str,
        call: &CallId,
        wait: Duration,
    ) -> Result<TaskProgress<'static>, ServiceError> {
        let (request, call) = (self.asked(task)?, call.clone());
        let stands = self.done(move |service| service.standing(&request, &call)).await?;
        match self.until_decided(OperationAnswer::One(stands), task, wait).await? {
            OperationAnswer::One(stands) => Ok(stands),
            OperationAnswer::Several(_) => Err(Problem::from(Kind::Internal).details("").into()),
        }
    }

    async fn state(&self, task: &str) -> Result<TaskStanding, ServiceError> {
        let request = self.asked(task)?;
        self.done(move |service| task_state(service, &request)).await
    }

    async fn offers(&self, task: &str) -> Result<Offers, ServiceError> {
        let request = self.asked(task)?;
        self.done(move |service| service.tasks.look(&request, |open| Ok(offers_of(open.task.policy())))).await
    }

    async fn agent_offers(&self, namespace: &str, agent: &str) -> Result<Offers, ServiceError> {
        let (namespace, agent) = (namespace.to_owned(), agent.to_owned());
        self.done(move |service| {
            Ok(offers_of(&*service.manifests.served().engine.policy(&namespace, &agent)?))
        })
        .await
    }

    async fn purge(&self, task: &str, reason: Option<&str>) -> Result<PurgedTask, ServiceError> {
        let (request, reason) = (self.asked(task)?, reason.map(str::to_owned));
        self.done(move |service| purged(service, &request, reason.as_deref())).await
    }

    async fn context(&self, task: &str, query: ContextQuery) -> Result<ContextPage, ServiceError> {
        let request = self.asked(task)?;
        self.done(move |service| context_page(service, &request, query)).await
    }

    async fn events(&self, task: &str, after: Option<u64>) -> Result<EventPage, ServiceError> {
        let request = self.asked(task)?;
        self.done(move |service| service.tasks.events(&request, after.unwrap_or_default())).await
    }

    async fn evaluate(
        &self,
        task: &str,
        expression: TaskExpression,
    ) -> Result<ExpressionOutcome, ServiceError> {
        let request = self.asked(task)?;
        self.written(&expression)?;
        self.done(move |service| evaluated(service, &request, &Evaluate::of(expression)?)).await
    }

    async fn check(
        &self,
        task: &str,
        scope: &str,
        expression: &str,
    ) -> Result<CheckedExpression, ServiceError> {
        let request = self.asked(task)?;
        let scope = scope_of(scope);
        let scope = scope.map_err(|expected| Problem::new(Kind::BadRequest, expected).details(""))?;
        let check = Check::on_task(scope, expression);
        self.done(move |service| checked(service, &request, &check)).await
    }

    async fn explain(&self, task: &str, what: Explain) -> Result<Value, ServiceError> {
        let request = self.asked(task)?;
        self.written(&what)?;
        self.done(move |service| {
            let explained = explained(service, &request, what)?;
            serde_json::to_value(explained).map_err(|_| Kind::Internal.into())
        })
        .await
    }

    async fn reviews(&self, query: ReviewsQuery) -> Result<ReviewPage, ServiceError> {
        let caller = self.asked("")?.caller;
        self.done(move |service| listed(service, &caller, &query)).await
    }

    async fn answer_review(
        &self,
        review: &str,
        reply: ReviewReply,
        by: Option<Person>,
    ) -> Result<ReviewedReview, ServiceError> {
        let caller = self.asked("")?.caller;
        let caller = match by {
            Some(Person { id, email, groups }) => caller.speaking(identity::Person {
                subject: id,
                is_named: true,
                email,
                groups,
                ..identity::Person::default()
            }),
            None => caller,
        };
        self.written(&reply)?;
        let review = review.to_owned();
        self.done(move |service| answered(service, &caller, &review, reply)).await
    }

    async fn note_unjudged(&self, form: &str, count: u64) -> Result<bool, ServiceError> {
        let (caller, unjudged) = (self.asked("")?.caller, Unjudged { form: form.to_owned(), count });
        self.done(move |service| noted(service, &caller, &unjudged)).await
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        self.service.tasks.feed.close();
        let Some(runtime) = self.runtime.take() else { return };
        // a connection to Postgres blocks where it is closed, so the last handle must not go within a runtime: neither this one, whose
        // tasks have handles, nor that of whoever drops this
        let last = self.service.clone();
        let close = move || {
            runtime.shutdown_timeout(CLOSING);
            drop(last);
        };
        // without a thread they stay open until the process ends
        drop(std::thread::Builder::new().name("celador".into()).spawn(close));
    }
}

/// How long requests on other threads may take that were under way when their service was dropped.
const CLOSING: Duration = Duration::from_secs(5);
