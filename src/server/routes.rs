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
use super::tasks::seat::Open;
use super::tasks::{check_task_id, owner as owner_of};
use super::{messages, reviews};
use axum::http::Method;
use celador::BroughtTool;
use celador::cel::Shortened;
use celador::context::{PageError, PageRequest, Runtime};
use celador::manifest::listing::Annotations;
use celador::manifest::step::Hook;
use celador::policy::{OutputSchema, Policy};
use celador::task::{Operation, Parent, StartTask, TaskState, User};
use celador_store::{Owner, TaskFilter};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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

/// A task to begin.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct NewTask {
    /// The id of the task, unique among the caller's: 1 to `max_id_bytes` bytes without control characters, and neither `.` nor `..`.
    /// Without one the server makes an id up. The same id with the same body answers with the task as it is.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    id: Option<String>,
    /// The agent's namespace.
    namespace: String,
    /// The agent's name; without it the default agent of the namespace.
    #[serde(default)]
    agent: Option<String>,
    /// The person for whom it runs. `claims` only where callers need no token, or the operator allows it; else they come with `user_token`.
    user: User,
    /// A token (JWT) of that person, whose subject is the `id` of `user`: what it says is their claims. It is verified as callers' tokens are,
    /// and not kept. A task without it that has a parent has the claims of its parent.
    #[serde(default)]
    user_token: Option<String>,
    /// The resolved model; without it the one that the agent wishes for.
    #[serde(default)]
    model: Option<String>,
    /// The platform that calls: `runtime` in expressions.
    #[serde(default)]
    runtime: Option<Runtime>,
    /// The tools that the task brings, each exactly as `tools/list` of MCP has it. The agent can call those that its manifests keep
    /// places for, under `brought` in a document of kind `celador/v1/tools`.
    #[serde(default)]
    tools: Vec<BroughtTool>,
    /// The task that has delegated to it. It is the caller's own and has not ended; when it does, this one ends with it.
    #[serde(default)]
    parent: Option<Parent>,
    /// What the task is to be found by: texts under names of ASCII letters, digits, `_`, `-`, `.` and `/`. Expressions do not see it.
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

fn create(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let new: NewTask = request.read(&service.settings.limits.store.engine)?;
    let made_up = uuid::Uuid::new_v4().to_string();
    // files of a task lie under a name that no caller chooses
    let (id, mount_id, begun_with) = match new.id {
        Some(id) => {
            check_task_id(&id, service.settings.limits.store.engine.max_id_bytes)?;
            (id, Some(made_up), Some(request.meaning(&["user_token"])?))
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
        user: service.user(new.user, new.user_token.as_deref())?,
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
    Answer::json(200, &service.tasks.events(request, after.unwrap_or_default())?)
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
    let most = service.settings.limits.store.engine.max_reason_bytes;
    service.tasks.purge(request, reason.as_deref().unwrap_or("purged over HTTP"), most)
}

/// The part of a context that is looked at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ContextQuery {
    /// The paths of its parts, with commas between: `input,capabilities.refund`; without it, all of the context.
    paths: Option<String>,
    /// The most entries of each list; without it, as many as `max_page_bytes` allows.
    limit: Option<usize>,
    /// The `next` of the page before, as long as the task has taken no step.
    cursor: Option<String>,
}

/// The context of a task, as expressions see it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Context"))]
pub(super) struct Seen {
    /// The number of the task's last event, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    version: u64,
    /// The context, or the part of it that was asked for. A value of which only the digest is kept, or nothing, is null.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    context: Box<serde_json::value::RawValue>,
    /// The `cursor` of the next page; null if no list goes on.
    next: Option<String>,
    /// The values of which only the digest is kept.
    shortened: Vec<Left>,
    /// The values of which nothing is kept, as no rule reads them (`--retain-calls needed`): JSON pointers into `context`, to the nulls in
    /// their places.
    dropped: Vec<String>,
}

/// A value of which only the digest is kept.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ShortenedValue"))]
struct Left {
    /// A JSON pointer into `context`, to the null in the value's place.
    pointer: String,
    /// The SHA-256 of its JSON text, compact and with its keys in their order: 64 hexadecimal digits.
    sha256: String,
    /// The bytes of that text.
    bytes: u64,
    /// Its kind before it was shortened: `map`, `list` or `string`.
    kind: String,
}

/// A part of a task's context. A cursor is good for one version: entries that come meanwhile move those of before.
fn context(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let refuse = || Problem::new(Kind::BadRequest, messages::bad_context_query());
    let ContextQuery { paths, limit: entries, cursor } = request.query()?;
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
        let left = |(pointer, it): (String, Shortened)| Left {
            pointer,
            sha256: it.sha256,
            bytes: it.bytes,
            kind: it.kind,
        };
        let seen = Seen {
            version,
            context: context.map_err(|_| Problem::from(Kind::Internal))?,
            next: page.next.map(|next| format!("{version}.{next}")),
            shortened: page.shortened.into_iter().map(left).collect(),
            dropped: page.dropped,
        };
        Answer::json(200, &seen)
    })
}

/// A function that the model is offered.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Offer"))]
struct Offered<'t> {
    /// The name that the model calls.
    name: &'t str,
    /// The description of the function in the manifest; null if it has none.
    description: Option<&'t str>,
    /// The JSON Schema of its arguments, without those that are bound.
    schema: &'t serde_json::Value,
    /// The JSON Schema of its successful results, if its tool declares one.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'t serde_json::Value>,
    /// Whether a call may destroy something, as far as the server of the tool can be believed: that of a tool that the task has
    /// brought is not. Only tools of documents of kind `celador/v1/tools` have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    destructive: Option<bool>,
}

/// The functions that the model is offered, and what else of a conversation is judged.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Offers<'t> {
    /// The functions, in the order of the manifests.
    functions: Vec<Offered<'t>>,
    /// Which messages have steps that judge them, whatever the model calls.
    judged: Judged,
}

/// Which messages have steps that judge them. A runtime that passes on what comes in parts may pass on at once what nothing judges.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Judged {
    /// What is said to the agent: guardrails ahead of it.
    inputs: bool,
    /// What the agent says: guardrails behind it.
    outputs: bool,
    /// What is sent to the model.
    model_before: bool,
    /// What the model answers.
    model_after: bool,
}

impl<'t> Offers<'t> {
    fn of(policy: &'t Policy) -> Self {
        let functions = policy.offered_functions().map(|function| Offered {
            name: &function.called,
            description: function.description.as_deref(),
            schema: function.schema(),
            output_schema: function.output.as_ref().map(OutputSchema::schema),
            destructive: function.annotations.as_ref().map(Annotations::is_destructive),
        });
        let judged = Judged {
            inputs: !policy.guardrails(Hook::GuardrailBefore).is_empty(),
            outputs: !policy.guardrails(Hook::GuardrailAfter).is_empty(),
            model_before: !policy.steps_of_model(Hook::ModelBefore).is_empty(),
            model_after: !policy.steps_of_model(Hook::ModelAfter).is_empty(),
        };
        Self { functions: functions.collect(), judged }
    }
}

fn offers(service: &Service, request: &Request) -> Result<Answer, Problem> {
    service.tasks.look(request, |Open { task, .. }| Answer::json(200, &Offers::of(task.policy())))
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
    Answer::json(200, &Offers::of(&policy))
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

/// A lock is for good unless the operator has said otherwise.
fn unlock(service: &Service, request: &Request) -> Result<Answer, Problem> {
    if !service.settings.allow_unlock {
        return Err(Kind::UnlockDisabled.into());
    }
    let Unlock { reason, owner } = request.read(&service.settings.limits.store.engine)?;
    let owner = owner.map_or_else(|| owner_of(&request.caller), |owner| Owner::caller(&owner));
    service.tasks.step_of(&owner, request, &Operation::Unlock { reason })
}

fn evaluate_on_task(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let expression: Evaluate = request.read(&service.settings.limits.store.engine)?;
    if expression.agent.is_some() || expression.context.is_some() {
        return Err(Problem::new(Kind::BadRequest, messages::task_has_them()));
    }
    service.tasks.look(request, |open @ Open { task, .. }| {
        may_compute(request, open)?;
        Answer::json(200, &expression.on_task(task, service.now())?)
    })
}

/// An expression can compute anything from a secret, so that no masking of its value would do. Where a task has secrets, or
/// may have, it is for those who may take steps of the task, and are told them anyway.
fn may_compute(request: &Request, open: &Open) -> Result<(), Problem> {
    let has_none = open.task.policy().secrets().is_empty() && !open.is_borrowed;
    let may = has_none || request.caller.may(Scope::TasksWrite);
    if may { Ok(()) } else { Err(Problem::lacking(Scope::TasksWrite)) }
}

fn check_on_task(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let expression: Check = request.read(&service.settings.limits.store.engine)?;
    if expression.agent.is_some() {
        return Err(Problem::new(Kind::BadRequest, messages::task_has_them()));
    }
    let policy = service.tasks.look(request, |Open { task, .. }| Ok(task.policy().clone()))?;
    Answer::json(200, &expression.run(Some(&policy), &service.settings.limits.store.engine))
}

fn render(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let template: Render = request.read(&service.settings.limits.store.engine)?;
    service.tasks.look(request, |open @ Open { task, .. }| {
        may_compute(request, open)?;
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
