//! What the document says of each operation that its route does not say: words, the query, the types of body and answers.

use super::schemas::{Of, members_of, of};
use crate::hooks::{Event as HookEvent, HookAnswer, HookQuery};
use crate::manifests::Status;
use crate::operations::agent_context_routes::KeyQuery;
use crate::operations::brought_tools::Bring;
use crate::operations::counter_routes::{Counted, Counters, CountersQuery, ResetCounter};
use crate::operations::evaluate::{Check, Evaluate, Render, Rendered};
use crate::operations::pending::WaitQuery;
use crate::operations::switch_routes::{History, HistoryQuery, List, TurnOffQuery, TurnOn, Turned};
use crate::operations::task_lists::Page;
use crate::operations::task_policies::{Decide, Decision};
use crate::operations::unjudged_routes::{Unjudged, UnjudgedNoted};
use crate::readiness::Readiness;
use crate::request::{Empty, JSON};
use crate::reviews::review_stream::EVENT_STREAM;
use crate::routes::{EventsQuery, Health, ListQuery, OffersQuery, PurgeQuery, Unlock};
use celador::task::{ExplainedDecision, ReviewRecord, ReviewReply};
use celador_service::{
    BegunTask, CheckedExpression, ContextPage, ContextQuery, EventPage, Explain, ExpressionOutcome, NewTask,
    Offers, PurgedTask, ReviewPage, ReviewedReview, ReviewsQuery, SeveralCalls, TaskProgress, TaskStanding,
};
use celador_store::conversation::{AgentCard, Reply, StoredContext};
use schemars::JsonSchema;

/// The groups of operations.
pub(super) const TAGS: [(&str, &str); 10] = [
    ("tasks", "Tasks of the caller"),
    ("steps", "Steps of a task"),
    ("expressions", "Expressions and templates that are tried out"),
    ("reviews", "Questions to people, and their answers"),
    ("manifests", "The manifests that are served"),
    ("switches", "Agents, tools and users that an operator stops"),
    ("counters", "Amounts that count across tasks"),
    ("hooks", "Hooks of agents that people run"),
    ("protocols", "Contexts of conversations"),
    ("operation", "For those who run the server"),
];

/// An operation.
pub(super) struct Operation {
    pub(super) tag: &'static str,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    /// Sentences that stand behind that about the scope.
    pub(super) notes: &'static str,
    pub(super) query: Option<Of>,
    pub(super) taken: Option<Taken>,
    pub(super) answered: Vec<Answered>,
    /// Statuses of problems that its route does not tell.
    pub(super) also: &'static [u16],
}

/// The body of a request.
pub(super) enum Taken {
    Whole(Of),
    /// A type without some of its members, under a name of its own.
    Without(&'static str, Of, &'static [&'static str]),
}

/// An answer that is no problem.
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) description: &'static str,
    pub(super) media_type: &'static str,
    /// The schema; a text without one.
    pub(super) schema: Option<Of>,
    pub(super) headers: &'static [(&'static str, &'static str)],
}

/// The operations.
pub(super) fn operations() -> Vec<Operation> {
    const SECRETS: &str = "On a task whose manifests mark anything as `secret` it needs `tasks:write`, too, as an expression can compute anything from a secret.";
    let tasks = |id, summary| operation("tasks", id, summary);
    let tried = |id, summary| operation("expressions", id, summary);
    let reviews = |id, summary| operation("reviews", id, summary);
    let switches = |id, summary| operation("switches", id, summary);
    let counters = |id, summary| operation("counters", id, summary);
    let manifests = |id, summary| operation("manifests", id, summary);
    let hooks = |id, summary| operation("hooks", id, summary);
    let protocols = |id, summary| operation("protocols", id, summary);
    let operated = |id, summary| operation("operation", id, summary);
    vec![
        tasks("createTask", "Begin a task")
            .takes::<NewTask>()
            .answers::<BegunTask>(201, "The task is there.")
            .with_headers(&[("Location", "The address of the task.")])
            .answers::<BegunTask>(200, "The same request has begun the task before: this is the task as it stands.")
            .with_headers(&[("Location", "The address of the task.")])
            .also(&[404, 409, 410]),
        tasks("listTasks", "List the caller's tasks, a page at a time").asks::<ListQuery>().gives::<Page>("The page."),
        tasks("readTask", "Read a task as it stands").gives::<TaskStanding>("The task as it is now."),
        tasks("purgeTask", "Take a task away for good")
            .notes("All of its rows go; a tombstone stays, and its id is not used again.")
            .asks::<PurgeQuery>()
            .gives::<PurgedTask>("The tombstone."),
        tasks("readContext", "Read its context, as expressions see it")
            .asks::<ContextQuery>()
            .gives::<ContextPage>("The context as it is now.")
            .also(&[422]),
        tasks("listEvents", "List its events, a page at a time").asks::<EventsQuery>().gives::<EventPage>("The page."),
        tasks("readOffers", "List the functions that the model is offered").gives::<Offers>("The functions, and which messages have steps that judge them."),
        tasks("readAgentOffers", "List what an agent is offered by its manifests alone")
            .notes("What its tasks bring is not among it.")
            .asks::<OffersQuery>()
            .gives::<Offers>("The functions, and which messages have steps that judge them.")
            .also(&[422]),
        step("input", "Somebody says something").asks::<WaitQuery>().notes(
            "While a review is open, or a call that its guardrails read, its verdict is `wait`: it is judged by itself afterwards, in the order in which it came, and `call` is the id under which `readCall` tells of it.",
        ),
        step("limits", "May this be done next?"),
        step("modelBefore", "Something is about to be sent to the model: may it be?").notes(
            "Allow carries what is sent in `value`, and the id under which `modelAfter` takes the answer in `call`. While a review is open, or calls are open that its rules read, its verdict is `rejected`: ask again when they are over. A call that will not be answered is withdrawn.",
        ),
        step("modelAfter", "The model has answered").notes(
            "The answer counts as a turn of the model with its `usage`, whatever becomes of it; the turn that is reported next, before another call of the model begins, is the same one and not counted again.",
        ),
        step("modelTurn", "The model has answered"),
        together("turn", "The model has answered, with all the calls that it wants").notes(
            "As `model-turn` and then `before` for each call, in one request. A turn whose calls are all known by their ids comes again: it is not counted once more.",
        ),
        together("results", "Several functions have run").notes("As `after` for each, in one request: all are taken, or nothing is."),
        step("before", "The model calls a function: may it run?").asks::<WaitQuery>(),
        step("after", "The function has run"),
        tasks("readCall", "Read how far a call has come, or an input, event or response that has waited or asked")
            .notes("`wait` while it waits for others, the question while it asks, `allow` with its arguments while its result is awaited; of a call that is over what it came to, as far as that is kept, and `rejected` once its result was reported. Any other call is 409 `unknown-call`.")
            .asks::<WaitQuery>()
            .gives::<TaskProgress<'_>>("How far the call has come.")
            .also(&[409]),
        tasks("bringTools", "The task brings tools that it did not have")
            .notes(
                "Its policy is made anew with them, as at its beginning; calls that are open go on. Of a task that waits for an answer in the middle of its policy it is 409 `task-waits`: bring them once it is answered. A tool of a name that the task knows otherwise is 422 `invalid-tools`.",
            )
            .takes::<Bring>()
            .gives::<BegunTask>("The task, and which of its tools cannot be called.")
            .also(&[409, 422]),
        step("claim", "One of several processes claims a call, to run it").notes(
            "Exactly one claimant is allowed, with the arguments to run the call with; any other is 409 `call-claimed`. A claim that its process has not answered with a result within `max_claim_ms` is lost: the next claim of another process takes the call back as one that may have run, and is `block`.",
        ),
        step("release", "A claimed call was not run: another process may claim it"),
        step("withdraw", "The function will never be reported"),
        step("execute", "Have a call carried out that was let through"),
        step("invoke", "A whole call: before, execution, after").asks::<WaitQuery>(),
        step("script", "The model writes a script of calls"),
        step("resume", "The answer to a question").asks::<WaitQuery>(),
        step("event", "Something happened outside").asks::<WaitQuery>().notes("It may have to wait, as an input does."),
        step("interrupt", "The task is interrupted"),
        step("endTask", "The task is ended").notes(
            "It takes no step any more, and says `reason` to whoever tries one. An operation that waits is taken back. A task at its end already answers `rejected`.",
        ),
        step("unlockTask", "A locked task takes steps again").takes::<Unlock>().notes(
            "Only where the operator has enabled it (`celador serve --allow-unlock`), for tasks of all callers. A task that is not locked, or was terminated, is 409 `not-locked`.",
        ),
        step("output", "The model has a response").asks::<WaitQuery>(),
        operation("steps", "decidePolicy", "An operator decides under which policy the task goes on")
            .notes(
                "The scope holds for the tasks of all callers. `adopt` is 409 `policy-changed` if the policy that is served cannot take the task over, and `keep` if the task's own cannot be had; the detail says why. The decision is an event of the task and a line of the decision log.",
            )
            .takes::<Decide>()
            .gives::<Decision<'_>>("The policy that the task is under now."),
        tried("evaluateOnTask", "Evaluate an expression on a task")
            .notes(SECRETS)
            .takes_without::<Evaluate>("EvaluateOnTask", &["agent", "context"])
            .gives::<ExpressionOutcome>("The outcome."),
        tried("explain", "Explain a decision of a task, or what a call would come to")
            .notes("The operation is taken once more, on a copy of the task as it was before the event: nothing changes, and nobody is asked. An event that does not tell what its operation was about, such as a result or a turn with several calls, is 409 `not-explainable`.")
            .takes::<Explain>()
            .gives::<ExplainedDecision>("The decision, with every step and the value of each part of its expressions.")
            .also(&[404, 409]),
        tried("checkOnTask", "Check an expression in the types of a task")
            .takes_without::<Check>("CheckOnTask", &["agent"])
            .gives::<CheckedExpression>("The facts about the expression."),
        tried("render", "Render the prompt or a template on a task")
            .notes(SECRETS)
            .takes::<Render>()
            .gives::<Rendered>("The text."),
        tried("evaluate", "Evaluate an expression on a context that is given")
            .takes_without::<Evaluate>("Evaluate", &["answers"])
            .gives::<ExpressionOutcome>("The outcome."),
        tried("check", "Check an expression").takes::<Check>().gives::<CheckedExpression>("The facts about the expression."),
        reviews("listReviews", "List the reviews that the caller sees, a page at a time")
            .notes("In the order in which they were asked. They are those that are addressed to the caller and those of the caller's tasks; with `tasks:admin` all of them.")
            .asks::<ReviewsQuery>()
            .gives::<ReviewPage>("The page."),
        reviews("streamReviews", "Hear of reviews when they are asked, and whenever their state changes")
            .notes("Server-sent events: `event: review`, the review as `data`, and an `id`, with which `Last-Event-ID` goes on behind it; without that header the stream begins now. A review that changed twice meanwhile is told once, as it is.")
            .gives_text("The stream, until the client ends it.", EVENT_STREAM),
        reviews("readReview", "Read a review").gives::<ReviewRecord>("The review as it is now.").also(&[404]),
        reviews("answerReview", "Answer a review that is addressed to the caller")
            .notes("It is a step of the task, under the caller's name. The same answer once more is answered as before; any other is 409 `review-closed`.")
            .takes::<ReviewReply>()
            .gives::<ReviewedReview>("The review with its answer.")
            .also(&[404, 409, 410]),
        switches("listSwitches", "List the switches that are on").gives::<List<'_>>("The switches."),
        switches("listSwitchTurns", "List all turns of switches, a page at a time")
            .notes("Oldest first.")
            .asks::<HistoryQuery>()
            .gives::<History<'_>>("The page."),
        switches("turnSwitchOn", "Stop an agent, a tool or a user")
            .notes("In force at the next step of every task, on every server that shares the store.")
            .takes::<TurnOn>()
            .gives::<Turned<'_>>("The turn.")
            .also(&[409]),
        switches("turnSwitchOff", "Let an agent, a tool or a user go on")
            .asks::<TurnOffQuery>()
            .gives::<Turned<'_>>("The turn.")
            .also(&[404]),
        counters("listCounters", "List the counters of all callers, or of one, a page at a time")
            .asks::<CountersQuery>()
            .gives::<Counters>("The page."),
        counters("resetCounter", "Forget what was spent of a counter")
            .notes("What calls hold that are under way goes on counting. Who, when and why stand in the decision log.")
            .takes::<ResetCounter>()
            .gives::<Counted>("The counter as it is now.")
            .also(&[404]),
        operation("operation", "noteUnjudged", "A gateway has forwarded what no rule saw")
            .notes("Gateways that only observe say so of each form of message that they do not know. It is a line of the decision log, which `celador report` counts, and nothing besides.")
            .takes::<Unjudged>()
            .gives::<UnjudgedNoted>("Whether it is in a decision log."),
        hooks("claudeCodeHook", "Something happens in a session of Claude Code")
            .notes("The answer is that of a hook. The session is a task, which begins with its first event. Where nothing can be decided the answer refuses, with status 200, as Claude Code goes on after any other; with `fail=open` it is a problem.")
            .asks::<HookQuery>()
            .takes::<HookEvent>()
            .gives::<HookAnswer>("The answer to the event.")
            .also(&[404, 409, 410, 422]),
        manifests("readManifests", "Read which manifests are served").gives::<Status>("The manifests."),
        manifests("reloadManifests", "Load the manifests anew").gives::<Status>("They are served.").also(&[422]),
        protocols("readAgentContext", "Read which context and task an Aletheia agent is in")
            .notes("404 `unknown-path` where the server has no store for it (`--aletheia-store`).")
            .asks::<KeyQuery>()
            .gives::<StoredContext>("The value that was set last.")
            .also(&[404]),
        protocols("writeAgentContext", "Set which context and task an Aletheia agent is in")
            .notes("The whole value takes the place of the former one.")
            .asks::<KeyQuery>()
            .takes::<StoredContext>()
            .gives::<StoredContext>("The value that is kept now.")
            .also(&[404]),
        protocols("deleteAgentContext", "Forget which context and task an Aletheia agent is in")
            .asks::<KeyQuery>()
            .gives::<Empty>("Nothing is kept under the key.")
            .also(&[404]),
        protocols("jsonRpc", "The context protocols of A2A agents, as JSON-RPC")
            .notes("Each method needs the scope `agent:read` or `agent:write`.")
            .takes::<RpcRequest>()
            .gives::<Reply<'_>>("A JSON-RPC answer."),
        protocols("readAgentCard", "The agent card").gives::<AgentCard<'_>>("The card."),
        operated("readHealth", "Whether the process answers").gives::<Health>("It does."),
        operated("readReadiness", "Whether decisions can be taken")
            .gives::<Readiness>("They can.")
            .answers::<Readiness>(503, "They cannot."),
        operated("readMetrics", "The figures of the server, for Prometheus")
            .gives_text("OpenMetrics text.", "application/openmetrics-text"),
        operated("readOpenApi", "This document").gives::<Document>("The document."),
    ]
}

/// A JSON-RPC 2.0 request: `contexts/list`, `contexts/clear`, `GetContext`, `GetContexts`, `context/get`, `contexts/get`. A body that is
/// none is answered, too.
#[derive(JsonSchema)]
struct RpcRequest(#[expect(dead_code, reason = "its schema is looked at")] serde_json::Value);

/// An OpenAPI document.
#[derive(JsonSchema)]
struct Document(
    #[expect(dead_code, reason = "its schema is looked at")] serde_json::Map<String, serde_json::Value>,
);

fn operation(tag: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation { tag, id, summary, notes: "", query: None, taken: None, answered: Vec::new(), also: &[] }
}

/// A step of a task. Its body is that of the operation that its route takes.
fn step(id: &'static str, summary: &'static str) -> Operation {
    operation("steps", id, summary).gives::<TaskProgress<'_>>("How far the step came.")
}

/// A step that is about several calls.
fn together(id: &'static str, summary: &'static str) -> Operation {
    let whole = operation("steps", id, summary).asks::<WaitQuery>();
    whole.gives::<SeveralCalls<'_>>("How far each call came.")
}

impl Operation {
    fn notes(self, notes: &'static str) -> Self {
        Self { notes, ..self }
    }

    fn asks<T: JsonSchema>(self) -> Self {
        Self { query: Some(members_of::<T>), ..self }
    }

    fn takes<T: JsonSchema>(self) -> Self {
        Self { taken: Some(Taken::Whole(of::<T>)), ..self }
    }

    fn takes_without<T: JsonSchema>(self, name: &'static str, left_out: &'static [&'static str]) -> Self {
        Self { taken: Some(Taken::Without(name, members_of::<T>, left_out)), ..self }
    }

    fn gives<T: JsonSchema>(self, description: &'static str) -> Self {
        self.answers::<T>(200, description)
    }

    fn answers<T: JsonSchema>(mut self, status: u16, description: &'static str) -> Self {
        let schema: Option<Of> = Some(of::<T>);
        self.answered.push(Answered { status, description, media_type: JSON, schema, headers: &[] });
        self
    }

    fn gives_text(mut self, description: &'static str, media_type: &'static str) -> Self {
        self.answered.push(Answered { status: 200, description, media_type, schema: None, headers: &[] });
        self
    }

    fn with_headers(mut self, headers: &'static [(&'static str, &'static str)]) -> Self {
        self.answered.iter_mut().for_each(|answered| answered.headers = headers);
        self
    }

    fn also(self, also: &'static [u16]) -> Self {
        Self { also, ..self }
    }
}
