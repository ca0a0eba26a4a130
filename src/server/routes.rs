//! The routes, one row each: method, path, the operation's name in the OpenAPI document, who may, and what answers.
//!
//! Every row's function is blocking and runs on a thread of its own: it decides, waits for the store, and gives a whole
//! answer. A route that is not in this table does not exist; a test compares the table with the document.

use super::hooks;
use super::identity::Scope;
use super::manifests::AgentName;
use super::operations::evaluate::{Check, Evaluate, Render};
use super::operations::explain::explain;
use super::operations::{
    agent_context_routes, brought_tools, counter_routes, switch_routes, task_policies, task_steps,
    unjudged_routes,
};
use super::problem::{Kind, Problem};
use super::protocols;
use super::readiness::Readiness;
use super::request::{Answer, Request};
use super::route::{Access, Action, Body, Route, Work};
use super::service::Service;
use super::task_request::TaskRequest;
use super::tasks::seat::Open;
use super::tasks::{Begun, check_task_id, owner as owner_of};
use super::{messages, reviews};
use axum::http::Method;
use axum::http::header::LOCATION;
use celador::cel::Shortened;
use celador::context::{PageError, PageRequest};
use celador::digest::Digest;
use celador::manifest::listing::Annotations;
use celador::manifest::step::Hook;
use celador::policy::{OutputSchema, Policy};
use celador::task::{Operation, StartTask, TaskState};
use celador_service::{
    BegunTask, CheckedExpression, ContextPage, ContextQuery, ExpressionOutcome, JudgedMessages, NewTask,
    OfferedFunction, Offers, PurgedTask, ShortenedValue, path_segment,
};
use celador_store::{Owner, TaskFilter};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The routes.
pub(super) fn routes() -> Vec<Route> {
    use Access::{Known, Needs, Public};
    use Scope::{
        AgentContextsRead, AgentContextsWrite, CountersRead, CountersWrite, ManifestsRead, ManifestsWrite,
        MetricsRead, PoliciesWrite, ReviewsRead, ReviewsWrite, SwitchesRead, SwitchesWrite, TasksAdmin,
        TasksPurge, TasksRead, TasksWrite,
    };
    type Function = fn(&Service, &Request) -> Result<Answer, Problem>;
    let route = |method, path, operation, access, takes, action| Route {
        method,
        path,
        operation,
        access,
        takes,
        work: Work::Step,
        waits: false,
        action,
    };
    let get = |path, operation, access, answer: Function| {
        route(Method::GET, path, operation, access, Body::None, Action::Call(answer))
    };
    let post = |path, operation, access, answer: Function| {
        route(Method::POST, path, operation, access, Body::Json, Action::Call(answer))
    };
    let step = |path, operation, name| {
        route(Method::POST, path, operation, Needs(TasksWrite), Body::Json, Action::Take(name))
    };
    let waits = |route: Route| Route { waits: true, ..route };
    let long = |route: Route| Route { work: Work::Long, ..route };
    let instant = |path, operation, answer: Function| Route {
        work: Work::None,
        ..get(path, operation, Public, answer)
    };
    let write = Needs(TasksWrite);
    let read = Needs(TasksRead);
    vec![
        post("/v1/tasks", "createTask", write, create),
        get("/v1/tasks", "listTasks", read, list),
        get("/v1/tasks/{task}", "readTask", read, task_policies::state),
        Route { method: Method::DELETE, ..get("/v1/tasks/{task}", "purgeTask", Needs(TasksPurge), purge) },
        long(get("/v1/tasks/{task}/context", "readContext", read, context)),
        get("/v1/tasks/{task}/offers", "readOffers", read, offers),
        get("/v1/offers", "readAgentOffers", read, offers_of_agent),
        get("/v1/tasks/{task}/events", "listEvents", read, events),
        waits(step("/v1/tasks/{task}/input", "input", "input")),
        step("/v1/tasks/{task}/limits", "limits", "limits"),
        step("/v1/tasks/{task}/model-before", "modelBefore", "model_before"),
        step("/v1/tasks/{task}/model-after", "modelAfter", "model_after"),
        step("/v1/tasks/{task}/model-turn", "modelTurn", "model_turn"),
        waits(step("/v1/tasks/{task}/turn", "turn", "turn")),
        waits(step("/v1/tasks/{task}/results", "results", "results")),
        waits(step("/v1/tasks/{task}/before", "before", "before")),
        step("/v1/tasks/{task}/after", "after", "after"),
        waits(get("/v1/tasks/{task}/calls/{call}", "readCall", write, task_steps::standing)),
        step("/v1/tasks/{task}/claim", "claim", "claim"),
        step("/v1/tasks/{task}/release", "release", "release"),
        step("/v1/tasks/{task}/withdraw", "withdraw", "withdraw"),
        step("/v1/tasks/{task}/execute", "execute", "execute"),
        waits(step("/v1/tasks/{task}/invoke", "invoke", "invoke")),
        post("/v1/tasks/{task}/tools", "bringTools", write, brought_tools::bring),
        step("/v1/tasks/{task}/script", "script", "script"),
        waits(step("/v1/tasks/{task}/resume", "resume", "resume")),
        waits(step("/v1/tasks/{task}/event", "event", "event")),
        step("/v1/tasks/{task}/interrupt", "interrupt", "interrupt"),
        step("/v1/tasks/{task}/end", "endTask", "end"),
        waits(step("/v1/tasks/{task}/output", "output", "output")),
        post("/v1/tasks/{task}/unlock", "unlockTask", Needs(TasksAdmin), unlock),
        post("/v1/tasks/{task}/policy", "decidePolicy", Needs(PoliciesWrite), task_policies::decide),
        long(post("/v1/tasks/{task}/evaluate", "evaluateOnTask", read, evaluate_on_task)),
        long(post("/v1/tasks/{task}/explain", "explain", read, explain)),
        long(post("/v1/tasks/{task}/check", "checkOnTask", read, check_on_task)),
        long(post("/v1/tasks/{task}/render", "render", read, render)),
        long(post("/v1/evaluate", "evaluate", read, evaluate)),
        long(post("/v1/check", "check", read, check)),
        get("/v1/reviews", "listReviews", Needs(ReviewsRead), reviews::list),
        Route {
            work: Work::Stream,
            ..get("/v1/reviews/stream", "streamReviews", Needs(ReviewsRead), reviews::streamed)
        },
        get("/v1/reviews/{review}", "readReview", Needs(ReviewsRead), reviews::read),
        post("/v1/reviews/{review}", "answerReview", Needs(ReviewsWrite), reviews::answer),
        get("/v1/switches", "listSwitches", Needs(SwitchesRead), switch_routes::list),
        get("/v1/switches/history", "listSwitchTurns", Needs(SwitchesRead), switch_routes::history),
        post("/v1/switches", "turnSwitchOn", Needs(SwitchesWrite), switch_routes::turn_on),
        Route {
            method: Method::DELETE,
            ..get("/v1/switches", "turnSwitchOff", Needs(SwitchesWrite), switch_routes::turn_off)
        },
        get("/v1/counters", "listCounters", Needs(CountersRead), counter_routes::list),
        post("/v1/counters/reset", "resetCounter", Needs(CountersWrite), counter_routes::reset),
        post("/v1/unjudged", "noteUnjudged", write, unjudged_routes::note),
        post("/hooks/claude-code", "claudeCodeHook", write, hooks::claude_code::claude_code),
        get("/v1/manifests", "readManifests", Needs(ManifestsRead), manifests),
        Route {
            takes: Body::None,
            ..post("/v1/manifests/reload", "reloadManifests", Needs(ManifestsWrite), reload)
        },
        get("/v1/agent-contexts", "readAgentContext", Needs(AgentContextsRead), agent_context_routes::read),
        Route {
            method: Method::PUT,
            ..post(
                "/v1/agent-contexts",
                "writeAgentContext",
                Needs(AgentContextsWrite),
                agent_context_routes::write,
            )
        },
        Route {
            method: Method::DELETE,
            ..get(
                "/v1/agent-contexts",
                "deleteAgentContext",
                Needs(AgentContextsWrite),
                agent_context_routes::delete,
            )
        },
        Route { takes: Body::Raw, ..post("/", "jsonRpc", Known, protocols::rpc) },
        instant("/.well-known/agent-card.json", "readAgentCard", protocols::card),
        instant("/healthz", "readHealth", health),
        Route { work: Work::Probe, ..get("/readyz", "readReadiness", Public, readiness) },
        get("/metrics", "readMetrics", Needs(MetricsRead), metrics),
        instant("/openapi.json", "readOpenApi", openapi),
    ]
}

fn create(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let new: NewTask = request.read(&service.settings.limits.store.engine)?;
    let (task, begun) = begin(service, &request.of_task(), new)?;
    let answer = Answer::json(if begun == Begun::Before { 200 } else { 201 }, &task)?;
    let answer = answer.with_header(LOCATION, format!("/v1/tasks/{}", path_segment(&task.task)));
    Ok(if begun == Begun::Replayed { answer.replayed() } else { answer })
}

/// Begins a task of the caller of a request, or finds the one that the same request has begun.
pub(super) fn begin(
    service: &Service,
    request: &TaskRequest,
    mut new: NewTask,
) -> Result<(BegunTask, Begun), Problem> {
    // a token may have been renewed before the same request comes again
    let user_token = new.user_token.take();
    let made_up = uuid::Uuid::new_v4().to_string();
    // files of a task lie under a name that no caller chooses
    let (id, mount_id, begun_with) = match &new.id {
        Some(id) => {
            check_task_id(id, service.settings.limits.store.engine.max_id_bytes)?;
            (id.clone(), Some(made_up), Some(meaning(&new)?))
        }
        None => (made_up, None, None),
    };
    let agent = match new.agent {
        Some(agent) => agent,
        None => service.default_agent(&new.namespace)?,
    };
    let start = StartTask {
        id,
        namespace: new.namespace,
        agent,
        user: service.user(new.user, user_token.as_deref())?,
        started_at: service.now(),
        address: request.address,
        model: new.model,
        runtime: new.runtime.unwrap_or_default(),
        mount_id,
        begun_with,
        tools: new.tools,
        parent: new.parent,
        metadata: new.metadata,
        retain: service.settings.retain_calls,
    };
    service.tasks.create(request, start)
}

/// What a task is begun with, however its request has ordered and laid it out.
fn meaning(new: &NewTask) -> Result<String, Problem> {
    let mut value = serde_json::to_value(new).map_err(|_| Problem::from(Kind::Internal))?;
    value.sort_all_objects();
    Ok(Digest::of(value.to_string().as_bytes()).to_string())
}

/// Which tasks are listed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ListQuery {
    /// The `next` of the page before.
    after: Option<String>,
    /// `true` for tasks whose last step was stored under the policy that is served, `false` for those that are under another one
    /// and have not ended. A page of these may be short, or empty, and have a `next`.
    current: Option<bool>,
    /// Tasks of this agent: its name, or its namespace and its name with a slash between.
    agent: Option<String>,
    /// Tasks for the user of this identifier.
    user: Option<String>,
    /// Tasks in this state.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = celador::task::TaskState::WORDS)))]
    state: Option<String>,
    /// Tasks to which the task of this id has delegated.
    parent: Option<String>,
    /// Tasks with this metadata: a name, a colon, and the text; several for tasks that have all of them.
    #[serde(default)]
    metadata: Vec<String>,
    /// Tasks that began at this time or later: RFC 3339.
    started_after: Option<String>,
    /// Tasks that began earlier than this: RFC 3339.
    started_before: Option<String>,
    /// Tasks whose last event was at this time or later: RFC 3339.
    changed_after: Option<String>,
    /// Tasks whose last event was earlier than this: RFC 3339.
    changed_before: Option<String>,
}

impl ListQuery {
    /// The tasks that are wanted.
    fn filter(self) -> Result<TaskFilter, Problem> {
        let refuse = || Problem::new(Kind::BadRequest, messages::bad_filter());
        let time = |text: Option<String>| text.map(|text| text.parse().map_err(|_| refuse())).transpose();
        let (namespace, agent) = match self.agent.as_deref().map(|agent| agent.split_once('/').ok_or(agent)) {
            None => (None, None),
            Some(Err(agent)) => (None, Some(agent.to_owned())),
            Some(Ok((namespace, agent))) => (Some(namespace.to_owned()), Some(agent.to_owned())),
        };
        if self.state.as_deref().is_some_and(|state| !TaskState::WORDS.contains(&state)) {
            return Err(refuse());
        }
        let pair = |text: String| {
            let (key, value) = text.split_once(':').ok_or_else(refuse)?;
            Ok((key.to_owned(), value.to_owned()))
        };
        Ok(TaskFilter {
            namespace,
            agent,
            user: self.user,
            state: self.state,
            parent: self.parent,
            metadata: self.metadata.into_iter().map(pair).collect::<Result<_, Problem>>()?,
            started_after: time(self.started_after)?,
            started_before: time(self.started_before)?,
            changed_after: time(self.changed_after)?,
            changed_before: time(self.changed_before)?,
        })
    }
}

fn list(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let mut query: ListQuery = request.query()?;
    let (after, current) = (query.after.take(), query.current.take());
    let filter = query.filter()?;
    Answer::json(200, &service.tasks.list(&request.caller, after, &filter, current)?)
}

/// Which events are listed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct EventsQuery {
    /// The `next` of the page before.
    after: Option<u64>,
}

fn events(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let EventsQuery { after } = request.query()?;
    Answer::json(200, &service.tasks.events(&request.of_task(), after.unwrap_or_default())?)
}

/// The reason for purging a task.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct PurgeQuery {
    /// The reason, which stays in the tombstone and in the decision log.
    reason: Option<String>,
}

fn purge(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let PurgeQuery { reason } = request.query()?;
    Answer::json(200, &purged(service, &request.of_task(), reason.as_deref())?)
}

/// Purges a task of the caller of a request.
pub(super) fn purged(
    service: &Service,
    request: &TaskRequest,
    reason: Option<&str>,
) -> Result<PurgedTask, Problem> {
    let most = service.settings.limits.store.engine.max_reason_bytes;
    service.tasks.purge(request, reason.unwrap_or("purged over HTTP"), most)
}

/// A part of a task's context. A cursor is good for one version: entries that come meanwhile move those of before.
fn context(service: &Service, request: &Request) -> Result<Answer, Problem> {
    Answer::json(200, &context_page(service, &request.of_task(), request.query()?)?)
}

/// A part of the context of the task of a request.
pub(super) fn context_page(
    service: &Service,
    request: &TaskRequest,
    ContextQuery { paths, limit: entries, cursor }: ContextQuery,
) -> Result<ContextPage, Problem> {
    let refuse = || Problem::new(Kind::BadRequest, messages::bad_context_query());
    let paths = paths.map(|paths| paths.split(',').map(str::to_owned).collect()).unwrap_or_default();
    let cursor = cursor.map(|cursor| {
        let (version, from) = cursor.split_once('.')?;
        Some((version.parse::<u64>().ok()?, from.parse::<usize>().ok()?))
    });
    let cursor = cursor.map(|cursor| cursor.ok_or_else(refuse)).transpose()?;
    let max_bytes = service.settings.limits.store.max_page_bytes;
    service.tasks.look(request, |open| {
        let Open { task, head, is_borrowed, .. } = open;
        let version = head.version();
        if cursor.is_some_and(|(of, _)| of != version) {
            return Err(Problem::new(Kind::BadRequest, messages::cursor_of_the_past()));
        }
        let from = cursor.map_or(0, |(_, from)| from);
        let (entries, masks_all) = (entries.unwrap_or(usize::MAX), *is_borrowed);
        let page = PageRequest { paths, from, entries, max_bytes, masks_all };
        let page = task.context().page(&page).map_err(|error| match error {
            PageError::UnknownPath => refuse(),
            PageError::NotJson => Kind::InvalidContext.into(),
        })?;
        let context = serde_json::value::RawValue::from_string(page.text);
        let left = |(pointer, it): (String, Shortened)| ShortenedValue {
            pointer,
            sha256: it.sha256,
            bytes: it.bytes,
            kind: it.kind,
        };
        Ok(ContextPage {
            version,
            context: context.map_err(|_| Problem::from(Kind::Internal))?,
            next: page.next.map(|next| format!("{version}.{next}")),
            shortened: page.shortened.into_iter().map(left).collect(),
            dropped: page.dropped,
        })
    })
}

/// What the functions of a policy are, as the model is to know them, and which messages it judges.
pub(super) fn offers_of(policy: &Policy) -> Offers {
    let functions = policy.offered_functions().map(|function| OfferedFunction {
        name: function.called.to_string(),
        description: function.description.as_deref().map(str::to_owned),
        schema: function.schema().clone(),
        output_schema: function.output.as_ref().map(OutputSchema::schema).cloned(),
        destructive: function.annotations.as_ref().map(Annotations::is_destructive),
    });
    let judged = JudgedMessages {
        inputs: !policy.guardrails(Hook::GuardrailBefore).is_empty(),
        outputs: !policy.guardrails(Hook::GuardrailAfter).is_empty(),
        model_before: !policy.steps_of_model(Hook::ModelBefore).is_empty(),
        model_after: !policy.steps_of_model(Hook::ModelAfter).is_empty(),
    };
    Offers { functions: functions.collect(), judged }
}

fn offers(service: &Service, request: &Request) -> Result<Answer, Problem> {
    service.tasks.look(&request.of_task(), |Open { task, .. }| Answer::json(200, &offers_of(task.policy())))
}

/// Whose offers are listed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct OffersQuery {
    /// The agent: its namespace and its name with a slash between.
    agent: String,
}

/// What an agent is offered by its manifests alone: before a task begins, a runtime learns which of its tools it has to bring.
fn offers_of_agent(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let OffersQuery { agent } = request.query()?;
    let (namespace, name) = agent.split_once('/').unwrap_or((&agent, ""));
    let policy = service.manifests.served().engine.policy(namespace, name)?;
    Answer::json(200, &offers_of(&policy))
}

/// An operator lets a locked task take steps again.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Unlock {
    /// The reason, of at most `max_reason_bytes`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    reason: String,
    /// The identity of the caller whose task it is; without it, the operator's own.
    #[serde(default)]
    owner: Option<String>,
}

/// Unlocks a task, of the caller or of the owner that the body names.
fn unlock(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let Unlock { reason, owner } = request.read(&service.settings.limits.store.engine)?;
    let owner = owner.map_or_else(|| owner_of(&request.caller), |owner| Owner::caller(&owner));
    service.tasks.step_of(&owner, &request.of_task(), &Operation::Unlock { reason })
}

fn evaluate_on_task(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let expression: Evaluate = request.read(&service.settings.limits.store.engine)?;
    if expression.agent.is_some() || expression.context.is_some() {
        return Err(Problem::new(Kind::BadRequest, messages::task_has_them()));
    }
    Answer::json(200, &evaluated(service, &request.of_task(), &expression)?)
}

/// What an expression comes to on the task of a request.
pub(super) fn evaluated(
    service: &Service,
    request: &TaskRequest,
    expression: &Evaluate,
) -> Result<ExpressionOutcome, Problem> {
    service.tasks.look(request, |open @ Open { task, .. }| {
        may_compute(request, open)?;
        expression.on_task(task, service.now())
    })
}

/// An expression can compute anything from a secret, so that no masking of its value would do. Where a task has secrets, or
/// may have, it is for those who may take steps of the task, and are told them anyway.
fn may_compute(request: &TaskRequest, open: &Open) -> Result<(), Problem> {
    let has_none = open.task.policy().secrets().is_empty() && !open.is_borrowed;
    let may = has_none || request.caller.may(Scope::TasksWrite);
    if may { Ok(()) } else { Err(Problem::lacking(Scope::TasksWrite)) }
}

fn check_on_task(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let expression: Check = request.read(&service.settings.limits.store.engine)?;
    if expression.agent.is_some() {
        return Err(Problem::new(Kind::BadRequest, messages::task_has_them()));
    }
    Answer::json(200, &checked(service, &request.of_task(), &expression)?)
}

/// What is wrong with an expression on the task of a request.
pub(super) fn checked(
    service: &Service,
    request: &TaskRequest,
    expression: &Check,
) -> Result<CheckedExpression, Problem> {
    let policy = service.tasks.look(request, |Open { task, .. }| Ok(task.policy().clone()))?;
    Ok(expression.run(Some(&policy), &service.settings.limits.store.engine))
}

fn render(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let template: Render = request.read(&service.settings.limits.store.engine)?;
    let request = request.of_task();
    service.tasks.look(&request, |open @ Open { task, .. }| {
        may_compute(&request, open)?;
        Answer::json(200, &template.on_task(task, service.now())?)
    })
}

fn evaluate(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let limits = &service.settings.limits.store.engine;
    let expression: Evaluate = request.read(limits)?;
    if !expression.answers.is_empty() {
        return Err(Problem::new(Kind::BadRequest, messages::answers_need_a_task()));
    }
    let policy = policy_of(service, expression.agent.as_ref())?;
    Answer::json(200, &expression.on_context(policy.as_deref(), limits, service.now())?)
}

fn check(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let limits = &service.settings.limits.store.engine;
    let expression: Check = request.read(limits)?;
    let policy = policy_of(service, expression.agent.as_ref())?;
    Answer::json(200, &expression.run(policy.as_deref(), limits))
}

fn policy_of(service: &Service, agent: Option<&AgentName>) -> Result<Option<Arc<Policy>>, Problem> {
    let policy = agent.map(|agent| service.manifests.served().engine.policy(&agent.namespace, &agent.name));
    policy.transpose().map_err(Problem::from)
}

fn manifests(service: &Service, _: &Request) -> Result<Answer, Problem> {
    Answer::json(200, &service.manifests.status())
}

fn reload(service: &Service, _: &Request) -> Result<Answer, Problem> {
    let reloaded = service.manifests.reload(service.now());
    service.told(reloaded.as_ref().map(|digest| &**digest).map_err(ToString::to_string));
    reloaded?;
    Answer::json(200, &service.manifests.status())
}

/// The process answers.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Health {
    /// Always `ok`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = "ok")))]
    status: &'static str,
}

fn health(_: &Service, _: &Request) -> Result<Answer, Problem> {
    Answer::json(200, &Health { status: "ok" })
}

/// Whether decisions can be taken, and every reason against it.
fn readiness(service: &Service, _: &Request) -> Result<Answer, Problem> {
    let readiness = Readiness::of(service);
    Answer::json(readiness.status(), &readiness)
}

fn metrics(service: &Service, _: &Request) -> Result<Answer, Problem> {
    let text = service.metrics.render(service.tasks.live(), service.manifests.served().engine.cache_stats());
    Ok(Answer {
        status: 200,
        media_type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
        body: text.into_bytes(),
        headers: Vec::new(),
    })
}

/// The document that describes this table: the module `openapi` makes it, and a test compares the two.
const OPENAPI: &str = include_str!("openapi.json");

fn openapi(_: &Service, _: &Request) -> Result<Answer, Problem> {
    let body = OPENAPI.as_bytes().to_vec();
    Ok(Answer { status: 200, media_type: super::request::JSON, body, headers: Vec::new() })
}
