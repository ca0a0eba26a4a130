//! Tasks in a store and on a server: the same operations, answered in this process or by another one.
//!
//! In: steps. Out: what they came to. A step that got no answer may have been taken. Who sends it again under the same
//! ids is answered as before, so nothing here is tried twice behind the caller's back.

use crate::decided::{Decided, Stepped};
use crate::expression::{self, Tryout};
use crate::flaw::span_within;
use crate::review::{Person, ReviewFilter};
use crate::to_explain::ToExplain;
use crate::wire::{no_answer, not_done, stepped, unreadable};
use crate::{Clock, Error, ErrorKind, Flaw, Host};
use celador::cel::Json;
use celador::manifest::load::File;
use celador::manifest::mode::Mode;
use celador::task::{Call, CallId, DecidedKind, Operation, ReviewRecord, ReviewReply, VerdictKind};
use celador_server::{InProcess, Parts, Settings, TaskBackend};
use celador_service::{
    Client, ClientError, ContextQuery, EventPage, Explain, ExpressionOutcome, FailedExpression, KeptClient,
    NewTask, OfferedFunction, OperationAnswer, RemoteTasks, ReviewPage, ReviewsQuery, ServiceError,
    StepTerms, TaskExpression, TaskService,
};
use celador_store::{Database, Location};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Who answers requests.
pub(crate) struct Desk {
    tasks: TaskBackend,
    /// Runs requests and owns the connections to a server. It is shut down in the background, since it may be dropped inside another runtime.
    runtime: Option<Runtime>,
}

impl Drop for Desk {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Desk {
    /// The store of these manifests.
    pub(crate) fn open(
        store: &str,
        texts: Vec<File>,
        (mode, host): (Mode, Host),
        clock: Clock,
    ) -> Result<Self, Error> {
        let unusable = |error: &dyn std::fmt::Display| {
            Error::new(ErrorKind::Store, "store_unavailable", format!("the store cannot be opened: {error}"))
        };
        let observe = mode == Mode::Observe;
        let (hash_key, functions) = host.into_parts();
        let given = Settings { hash_key, functions, ..Settings::new(Vec::new()) };
        let settings = Settings { texts, observe, watch: None, ..given };
        let location = Location::parse(store);
        let database = Database::open(&location, &settings.limits.store).map_err(|error| unusable(&error))?;
        let parts = Parts { clock, database, log: None };
        let desk = InProcess::open(settings, parts).map_err(|error| unusable(&error))?;
        desk.keep_up();
        Self::of(TaskBackend::InProcess(desk))
    }

    fn of(tasks: TaskBackend) -> Result<Self, Error> {
        let runtime =
            Builder::new_multi_thread().worker_threads(1).enable_all().thread_name("celador").build();
        let runtime = runtime.map_err(|error| no_answer(ClientError::Unreachable(error)))?;
        Ok(Self { tasks, runtime: Some(runtime) })
    }

    /// A server, which is not asked for anything yet.
    pub(crate) fn connect(address: &str, token: Option<&str>) -> Result<Self, Error> {
        let client = KeptClient::new(Client::new(address, token).map_err(no_answer)?);
        Self::of(TaskBackend::Remote(RemoteTasks::new(client)))
    }

    /// The word of the place.
    pub(crate) fn word(&self) -> &'static str {
        match self.tasks {
            TaskBackend::InProcess(_) => "store",
            TaskBackend::Remote(_) => "server",
        }
    }

    /// Waits for an answer.
    fn wait<T>(&self, answer: impl Future<Output = Result<T, ServiceError>>) -> Result<T, Error> {
        self.wait_about(answer, "")
    }

    /// The same, of a request about an expression.
    fn wait_about<T>(
        &self,
        answer: impl Future<Output = Result<T, ServiceError>>,
        about: &str,
    ) -> Result<T, Error> {
        let answer = match &self.runtime {
            Some(runtime) => runtime.block_on(answer),
            None => Err(ClientError::Broken(String::new()).into()),
        };
        answer.map_err(|error| not_done(error, about))
    }

    /// Gets or begins a task. Out come the tools that cannot be called, with the reasons.
    pub(crate) fn begin(&self, new: NewTask) -> Result<BTreeMap<String, String>, Error> {
        let begun = self.wait(self.tasks.begin(new))?;
        Ok(begun.left_out.into_iter().map(|it| (it.name, it.reason)).collect())
    }

    /// Takes a step; with `wait` the answer may take so long until what is pending is decided.
    pub(crate) fn step(&self, task: &str, step: Operation, wait: Option<Duration>) -> Result<Stepped, Error> {
        let (kind, function) = (step.decided_kind(), step.function().map(str::to_owned));
        let terms = StepTerms { wait: wait.unwrap_or_default(), ..StepTerms::default() };
        stepped(self.wait(self.tasks.take(task, step, terms))?, kind, function)
    }

    /// How far a call has come.
    pub(crate) fn standing(
        &self,
        task: &str,
        call: &CallId,
        wait: Option<Duration>,
    ) -> Result<Decided, Error> {
        let stands = self.wait(self.tasks.standing(task, call, wait.unwrap_or_default()))?;
        match stepped(OperationAnswer::One(stands), DecidedKind::Call, None)? {
            Stepped::One(decided) => Ok(decided.with_kind_of(call)),
            Stepped::Several(_) => Err(unreadable()),
        }
    }

    /// The word of the task's state.
    pub(crate) fn state(&self, task: &str) -> Result<String, Error> {
        Ok(self.wait(self.tasks.state(task))?.state.as_str().to_owned())
    }

    pub(crate) fn offers(&self, task: &str) -> Result<Vec<OfferedFunction>, Error> {
        Ok(self.wait(self.tasks.offers(task))?.functions)
    }

    pub(crate) fn purge(&self, task: &str, reason: Option<&str>) -> Result<(), Error> {
        self.wait(self.tasks.purge(task, reason)).map(drop)
    }

    /// The context as expressions see it, or parts of it; of long lists the first page.
    pub(crate) fn context(&self, task: &str, paths: &[String]) -> Result<Json, Error> {
        let paths = (!paths.is_empty()).then(|| paths.join(","));
        let query = ContextQuery { paths, ..ContextQuery::default() };
        let page = self.wait(self.tasks.context(task, query))?;
        serde_json::from_str(page.context.get()).map_err(|_| unreadable())
    }

    pub(crate) fn evaluate(&self, task: &str, tryout: &Tryout) -> Result<Json, Error> {
        let Tryout { scope, expression, input, output } = tryout.clone();
        let asked = TaskExpression { scope, expression, input, output };
        let expression = &*tryout.expression;
        match self.wait_about(self.tasks.evaluate(task, asked), expression)? {
            ExpressionOutcome::Value(value) => Ok(value),
            ExpressionOutcome::Failed(FailedExpression { code, message, span }) => {
                Err(expression::failed(&code, message, expression, span_within(span, expression)))
            }
            ExpressionOutcome::Asks(_) => Err(expression::asks()),
        }
    }

    pub(crate) fn explain(&self, task: &str, what: &ToExplain) -> Result<Value, Error> {
        let what = match what.clone() {
            ToExplain::Event(version) => Explain { version: Some(version), ..Explain::default() },
            ToExplain::Call(Call { function, arguments, .. }) => {
                Explain { function: Some(function), arguments: Some(arguments), ..Explain::default() }
            }
        };
        self.wait(self.tasks.explain(task, what))
    }

    /// The events of a task, page by page.
    pub(crate) fn events(&self, task: &str) -> Result<Vec<Value>, Error> {
        let (mut events, mut after) = (Vec::new(), None);
        loop {
            let EventPage { events: found, next } = self.wait(self.tasks.events(task, after))?;
            for event in found {
                events.push(serde_json::to_value(event).map_err(|_| unreadable())?);
            }
            match next {
                Some(next) => after = Some(next),
                None => return Ok(events),
            }
        }
    }

    pub(crate) fn check(&self, task: &str, scope: &str, expression: &str) -> Result<Vec<Flaw>, Error> {
        let checked = self.wait(self.tasks.check(task, scope, expression))?;
        let told = |finding| serde_json::from_value(finding).map_err(|_| unreadable());
        let findings = checked.findings.into_iter().map(told);
        findings.map(|issue| Ok(Flaw::told(issue?, expression))).collect()
    }

    /// The reviews that are wanted, page by page.
    pub(crate) fn reviews(&self, filter: &ReviewFilter, agent: &str) -> Result<Vec<ReviewRecord>, Error> {
        let mut query = ReviewsQuery {
            reviewer: filter.reviewer.clone(),
            state: Some(filter.state.map_or("all", |state| state.as_str()).to_owned()),
            agent: Some(agent.to_owned()),
            after: None,
        };
        let mut reviews = Vec::new();
        loop {
            let ReviewPage { reviews: found, next } = self.wait(self.tasks.reviews(query.clone()))?;
            let is_wanted =
                |review: &ReviewRecord| filter.task.as_deref().is_none_or(|task| task == review.task);
            reviews.extend(found.into_iter().filter(is_wanted));
            match next {
                Some(next) => query.after = Some(next),
                None => return Ok(reviews),
            }
        }
    }

    pub(crate) fn answer(
        &self,
        review: &ReviewRecord,
        reply: ReviewReply,
        by: Option<Person>,
    ) -> Result<(ReviewRecord, VerdictKind), Error> {
        let reply = ReviewReply { digest: Some(review.digest.clone()), ..reply };
        let by = by.map(|Person { id, email, groups }| celador_service::Person { id, email, groups });
        let answered = self.wait(self.tasks.answer_review(&review.id, reply, by))?;
        Ok((answered.review, answered.decision.unwrap_or(VerdictKind::Rejected)))
    }
}
