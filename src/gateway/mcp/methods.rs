//! The table of methods: what each request and notification holds, and what the guard does with it.
//!
//! A session looks every message up here, by the side that sent it, its form and its method. A message without a row is unknown and refused. Both
//! directions and all revisions are in one table; a method means the same in each revision that has it.

use super::schema;
use super::shape::Shape;
use celador_server::traffic::{Form, Treatment};

use Handling::{
    Call, Cancel, CancelTask, Catalog, Complete, GetTask, Introduce, ListTasks, ListTools, Listen, Operation,
    Pass, Progress, Refuse, TaskResult, TaskStatus, ToolsChanged, UpdateTask,
};
use Side::{Client, Server};
use Treatment::{Dropped, Judged, Passed, Refused};

/// The side that sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// What the guard does with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handling {
    /// Forwarded with the members of its shape; so is the result.
    Pass,
    /// Refused, although it is known.
    Refuse,
    /// Begins a session, or asks for what the server is. What the server says of itself is held to pins and rules.
    Introduce,
    /// The list of tools: those that the session can call, as the guard knows them.
    ListTools,
    /// A list whose entries are held to the rules about descriptions; the name is that of its member.
    Catalog(&'static str),
    /// Completions: a list of texts that are held to the same rules.
    Complete,
    /// Judged as a call before it is forwarded; the result is judged before it goes on.
    Call,
    /// A question of the server to the client, judged in the same way with the sides exchanged.
    Operation,
    /// A stream of notifications under the id of its request.
    Listen,
    GetTask,
    TaskResult,
    ListTasks,
    CancelTask,
    UpdateTask,
    /// Takes a request back.
    Cancel,
    Progress,
    /// The server's tools have changed.
    ToolsChanged,
    /// The status of a task that is known, and of the extension what it has come to.
    TaskStatus,
}

/// A row of the table.
#[derive(Debug)]
pub(super) struct Method {
    pub(super) name: &'static str,
    pub(super) from: Side,
    pub(super) is_request: bool,
    pub(super) handling: Handling,
    pub(super) params: Shape,
    /// The result of a request.
    pub(super) result: Shape,
    treatment: Treatment,
    note: &'static str,
}

impl Method {
    const fn request(
        name: &'static str,
        from: Side,
        handling: Handling,
        params: Shape,
        result: Shape,
    ) -> Self {
        Self { name, from, is_request: true, handling, params, result, treatment: Judged, note: "" }
    }

    const fn notification(name: &'static str, from: Side, handling: Handling, params: Shape) -> Self {
        let result = schema::EMPTY_RESULT;
        Self { name, from, is_request: false, handling, params, result, treatment: Judged, note: "" }
    }

    const fn shown_as(mut self, treatment: Treatment, note: &'static str) -> Self {
        self.treatment = treatment;
        self.note = note;
        self
    }

    const fn form(&self) -> Form {
        let from = match (self.from, self.is_request) {
            (Client, true) => "client, request",
            (Client, false) => "client, notification",
            (Server, true) => "server, request",
            (Server, false) => "server, notification",
        };
        Form { name: self.name, from, treatment: self.treatment, note: self.note }
    }
}

/// The row of a message.
pub(super) fn method(from: Side, is_request: bool, name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|it| it.from == from && it.is_request == is_request && it.name == name)
}

const KNOWN_MEMBERS: &str = "members that the protocol defines";
const DESCRIPTIONS: &str = "entries are held to the rules about descriptions";
const TO_SERVER: &str = "changes what the server sends, not what it does";
const NO_CLIENT_TASKS: &str = "tasks that run in a client are not offered";

/// All methods that the guard knows.
pub(super) const METHODS: &[Method] = &[
    Method::request("initialize", Client, Introduce, schema::INITIALIZE, schema::INITIALIZE_RESULT)
        .shown_as(Judged, "`serverInfo` and `instructions`, by pins and rules about descriptions"),
    Method::request("server/discover", Client, Introduce, schema::NO_PARAMS, schema::DISCOVER_RESULT)
        .shown_as(Judged, "`serverInfo` and `instructions`, by pins and rules about descriptions"),
    Method::request("ping", Client, Pass, schema::NO_PARAMS, schema::EMPTY_RESULT)
        .shown_as(Passed, "it holds nothing"),
    Method::request("tools/list", Client, ListTools, schema::CURSOR, schema::TOOLS)
        .shown_as(Judged, "by pins, rules about descriptions and what the agent may call"),
    Method::request("tools/call", Client, Call, schema::CALL_TOOL, schema::CALL_TOOL_RESULT)
        .shown_as(Judged, "`before` and `after` of the tool"),
    Method::request("resources/read", Client, Call, schema::READ_RESOURCE, schema::READ_RESOURCE_RESULT)
        .shown_as(Judged, "`before` and `after` of the function `resources/read`"),
    Method::request("prompts/get", Client, Call, schema::GET_PROMPT, schema::GET_PROMPT_RESULT)
        .shown_as(Judged, "`before` and `after` of the function `prompts/get`"),
    Method::request("resources/list", Client, Catalog("resources"), schema::CURSOR, schema::RESOURCES)
        .shown_as(Passed, DESCRIPTIONS),
    Method::request(
        "resources/templates/list",
        Client,
        Catalog("resourceTemplates"),
        schema::CURSOR,
        schema::RESOURCE_TEMPLATES,
    )
    .shown_as(Passed, DESCRIPTIONS),
    Method::request("prompts/list", Client, Catalog("prompts"), schema::CURSOR, schema::PROMPTS)
        .shown_as(Passed, DESCRIPTIONS),
    Method::request("completion/complete", Client, Complete, schema::COMPLETE, schema::COMPLETE_RESULT)
        .shown_as(Passed, "values are held to the rules about descriptions"),
    Method::request("logging/setLevel", Client, Pass, schema::SET_LEVEL, schema::EMPTY_RESULT)
        .shown_as(Passed, TO_SERVER),
    Method::request("resources/subscribe", Client, Pass, schema::SUBSCRIBE, schema::EMPTY_RESULT)
        .shown_as(Passed, TO_SERVER),
    Method::request("resources/unsubscribe", Client, Pass, schema::SUBSCRIBE, schema::EMPTY_RESULT)
        .shown_as(Passed, TO_SERVER),
    Method::request("subscriptions/listen", Client, Listen, schema::LISTEN, schema::EMPTY_RESULT)
        .shown_as(Passed, TO_SERVER),
    Method::request("tasks/get", Client, GetTask, schema::TASK_ID, schema::DETAILED_TASK)
        .shown_as(Judged, "a task of this session; its result as that of the call that created it"),
    Method::request("tasks/result", Client, TaskResult, schema::TASK_ID, schema::CALL_TOOL_RESULT)
        .shown_as(Judged, "a task of this session; as the result of the call that created it"),
    Method::request("tasks/list", Client, ListTasks, schema::CURSOR, schema::TASK_LIST)
        .shown_as(Passed, "tasks of this session, without `statusMessage`"),
    Method::request("tasks/cancel", Client, CancelTask, schema::TASK_ID, schema::DETAILED_TASK)
        .shown_as(Passed, "a task of this session"),
    Method::request("tasks/update", Client, UpdateTask, schema::UPDATE_TASK, schema::EMPTY_RESULT)
        .shown_as(Judged, "a task of this session; answers to questions that were judged"),
    Method::notification("notifications/initialized", Client, Pass, schema::NO_NEWS)
        .shown_as(Passed, "it holds nothing"),
    Method::notification("notifications/cancelled", Client, Cancel, schema::CANCELLED)
        .shown_as(Passed, "for a request of the client that is open"),
    Method::notification("notifications/progress", Client, Progress, schema::PROGRESS)
        .shown_as(Passed, "for a request of the server that is open"),
    Method::notification("notifications/roots/list_changed", Client, Pass, schema::NO_NEWS)
        .shown_as(Passed, "it holds nothing"),
    Method::notification("notifications/tasks/status", Client, Refuse, schema::TASK_STATUS_NEWS)
        .shown_as(Dropped, NO_CLIENT_TASKS),
    Method::request("ping", Server, Pass, schema::NO_PARAMS, schema::EMPTY_RESULT)
        .shown_as(Passed, "it holds nothing"),
    Method::request("elicitation/create", Server, Operation, schema::ELICIT, schema::ELICIT_RESULT)
        .shown_as(Judged, "`before` and `after` of the function `elicitation/create`"),
    Method::request(
        "sampling/createMessage",
        Server,
        Operation,
        schema::CREATE_MESSAGE,
        schema::CREATE_MESSAGE_RESULT,
    )
    .shown_as(Judged, "`before` and `after` of the function `sampling/createMessage`"),
    Method::request("roots/list", Server, Operation, schema::NO_PARAMS, schema::ROOTS)
        .shown_as(Judged, "`before` and `after` of the function `roots/list`"),
    Method::request("tasks/get", Server, Refuse, schema::TASK_ID, schema::EMPTY_RESULT)
        .shown_as(Refused, NO_CLIENT_TASKS),
    Method::request("tasks/result", Server, Refuse, schema::TASK_ID, schema::EMPTY_RESULT)
        .shown_as(Refused, NO_CLIENT_TASKS),
    Method::request("tasks/list", Server, Refuse, schema::CURSOR, schema::EMPTY_RESULT)
        .shown_as(Refused, NO_CLIENT_TASKS),
    Method::request("tasks/cancel", Server, Refuse, schema::TASK_ID, schema::EMPTY_RESULT)
        .shown_as(Refused, NO_CLIENT_TASKS),
    Method::notification("notifications/cancelled", Server, Cancel, schema::CANCELLED)
        .shown_as(Passed, "for a request of the server that is open, or a subscription"),
    Method::notification("notifications/progress", Server, Progress, schema::PROGRESS).shown_as(
        Passed,
        "for a request of the client that is open; `message` is held to the rules about descriptions",
    ),
    Method::notification("notifications/message", Server, Pass, schema::LOG_MESSAGE)
        .shown_as(Passed, "a log for people, held to the rules about descriptions"),
    Method::notification("notifications/resources/updated", Server, Pass, schema::RESOURCE_UPDATED)
        .shown_as(Passed, KNOWN_MEMBERS),
    Method::notification("notifications/resources/list_changed", Server, Pass, schema::NO_NEWS)
        .shown_as(Passed, "it holds nothing"),
    Method::notification("notifications/prompts/list_changed", Server, Pass, schema::NO_NEWS)
        .shown_as(Passed, "it holds nothing"),
    Method::notification("notifications/tools/list_changed", Server, ToolsChanged, schema::NO_NEWS)
        .shown_as(Passed, "the tools are listed and judged anew before the next call"),
    Method::notification("notifications/elicitation/complete", Server, Pass, schema::ELICITATION_COMPLETE)
        .shown_as(Passed, KNOWN_MEMBERS),
    Method::notification("notifications/subscriptions/acknowledged", Server, Pass, schema::ACKNOWLEDGED)
        .shown_as(Passed, KNOWN_MEMBERS),
    Method::notification("notifications/tasks/status", Server, TaskStatus, schema::TASK_STATUS_NEWS)
        .shown_as(Passed, "a task of this session, without `statusMessage`"),
    Method::notification("notifications/tasks", Server, TaskStatus, schema::DETAILED_TASK)
        .shown_as(Judged, "a task of this session; its result as that of the call that created it"),
];

const fn result(name: &'static str, treatment: Treatment, note: &'static str) -> Form {
    Form { name, from: "server, result", treatment, note }
}

/// Forms of messages that are not methods.
const OTHER_FORMS: &[Form] = &[
    Form { name: "another method", from: "both, request", treatment: Refused, note: "-32601 to the sender" },
    Form { name: "another method", from: "both, notification", treatment: Dropped, note: "" },
    Form {
        name: "a line that is no message",
        from: "both",
        treatment: Refused,
        note: "an error for its id, if it has one",
    },
    Form { name: "a batch", from: "both", treatment: Judged, note: "taken apart, each message by itself" },
    Form { name: "a member that the protocol does not define", from: "both", treatment: Dropped, note: "" },
    Form { name: "a response to no open request", from: "both", treatment: Dropped, note: "" },
    result("`complete`, or no `resultType`", Judged, ""),
    result("`input_required`", Judged, "questions as operations; only for requests of 2026-07-28"),
    result("`task`, or a member `task`", Judged, "the handle; only for calls that allow a task"),
    result("another `resultType`", Refused, ""),
    result("an error", Judged, "`code` and `message`; `data` of errors that the protocol defines"),
    result("`content[].type`: another type", Dropped, ""),
];

const fn block(name: &'static str) -> Form {
    result(name, Judged, "a block of `content`")
}

/// Number of all forms.
const COUNT: usize = METHODS.len() + OTHER_FORMS.len() + schema::CONTENT_BLOCKS.len();

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "it runs when it is compiled, where an index out of range is an error"
)]
const fn forms() -> [Form; COUNT] {
    let mut forms = [block(""); COUNT];
    let mut next = 0;
    while next < METHODS.len() {
        forms[next] = METHODS[next].form();
        next += 1;
    }
    while next - METHODS.len() < schema::CONTENT_BLOCKS.len() {
        forms[next] = block(schema::CONTENT_BLOCKS[next - METHODS.len()].0);
        next += 1;
    }
    while next < COUNT {
        forms[next] = OTHER_FORMS[next - METHODS.len() - schema::CONTENT_BLOCKS.len()];
        next += 1;
    }
    forms
}

/// Each form of a message of MCP with what the guard does with it.
pub const FORMS: &[Form] = &forms();

/// Rows of unknown methods, for a session that only observes.
pub(super) static OBSERVED_REQUEST: Method =
    Method::request("", Client, Pass, Shape::Map(&Shape::Any), Shape::Map(&Shape::Any));
pub(super) static OBSERVED_NOTIFICATION: Method =
    Method::notification("", Client, Pass, Shape::Map(&Shape::Any));
