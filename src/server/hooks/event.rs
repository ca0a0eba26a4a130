//! An event of Claude Code, as its hooks bring it: the members that decide something, of every kind of event.
//!
//! In: JSON of any event. Out: one type whose members are there as far as the event has them. Members and kinds that are not known are
//! no error: the agent is newer than this program, and what it does not ask about goes on.

use celador::cel::Json;
use serde::Deserialize;

/// An event of Claude Code: `session_id`, `hook_event_name`, and what the kind of event brings. Other members are not looked at.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ClaudeCodeEvent"))]
pub(crate) struct Event {
    /// The session, which is the id of its task.
    pub(super) session_id: String,
    /// The kind of event, such as `PreToolUse`.
    pub(super) hook_event_name: String,
    /// The subagent in which it happens; absent in the conversation itself.
    #[serde(default)]
    pub(super) agent_id: Option<String>,
    /// The model of the session (`SessionStart`).
    #[serde(default)]
    pub(super) model: Option<String>,
    /// The tool that is called.
    #[serde(default)]
    pub(super) tool_name: Option<String>,
    /// Its arguments.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub(super) tool_input: Option<Json>,
    /// The call.
    #[serde(default)]
    pub(super) tool_use_id: Option<String>,
    /// What the tool has given (`PostToolUse`).
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub(super) tool_response: Option<Json>,
    /// Why it has failed (`PostToolUseFailure`).
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub(super) error: Option<Json>,
    /// The calls of a turn, when all have ended (`PostToolBatch`).
    #[serde(default)]
    pub(super) tool_calls: Vec<BatchedCall>,
    /// What the user has said (`UserPromptSubmit`), or what a command has come to (`UserPromptExpansion`).
    #[serde(default)]
    pub(super) prompt: Option<String>,
    /// What the model has answered (`Stop`).
    #[serde(default)]
    pub(super) last_assistant_message: Option<String>,
    /// Whether the model goes on because a hook has refused its answer.
    #[serde(default)]
    pub(super) stop_hook_active: bool,
    /// The server of MCP that asks the user (`Elicitation`), and gets the answer (`ElicitationResult`).
    #[serde(default)]
    pub(super) mcp_server_name: Option<String>,
    /// The question of a server.
    #[serde(default)]
    pub(super) message: Option<String>,
    /// `form` or `url`: whether a form is filled in, or a page opened.
    #[serde(default)]
    pub(super) mode: Option<String>,
    /// The page.
    #[serde(default)]
    pub(super) url: Option<String>,
    /// The question, where it has an id.
    #[serde(default)]
    pub(super) elicitation_id: Option<String>,
    /// The schema of the form.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub(super) requested_schema: Option<Json>,
    /// `accept`, `decline` or `cancel`: what the user has answered.
    #[serde(default)]
    pub(super) action: Option<String>,
    /// What they have filled in.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub(super) content: Option<Json>,
}

/// A call of a turn.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct BatchedCall {
    /// Its id.
    #[serde(default)]
    pub(super) tool_use_id: Option<String>,
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Something is said to the model.
    Said,
    /// A tool is about to be called.
    Before,
    /// The user is about to be asked whether it may be.
    Permission,
    /// It will not be called.
    Denied,
    /// It has given a result.
    After,
    /// It has failed.
    Failed,
    /// All calls of a turn have ended.
    Turn,
    /// The model has answered, and stops.
    Stop,
    /// A session begins.
    Start,
    /// A session ends.
    End,
    /// A subagent has answered.
    SubagentStop,
    /// A server of MCP asks the user.
    Elicitation,
    /// The user has answered a server.
    ElicitationResult,
    /// Nothing that Celador decides about.
    Other,
}

impl Event {
    pub(super) fn kind(&self) -> Kind {
        match &*self.hook_event_name {
            "UserPromptSubmit" | "UserPromptExpansion" => Kind::Said,
            "PreToolUse" => Kind::Before,
            "PermissionRequest" => Kind::Permission,
            "PermissionDenied" => Kind::Denied,
            "PostToolUse" => Kind::After,
            "PostToolUseFailure" => Kind::Failed,
            "PostToolBatch" => Kind::Turn,
            "Stop" => Kind::Stop,
            "SessionStart" => Kind::Start,
            "SessionEnd" => Kind::End,
            "SubagentStop" => Kind::SubagentStop,
            "Elicitation" => Kind::Elicitation,
            "ElicitationResult" => Kind::ElicitationResult,
            _ => Kind::Other,
        }
    }

    /// The id of a call in the task: that of Claude Code, and behind the id of a subagent that of its calls, so that what is left of a
    /// subagent is told from what is left of the conversation.
    pub(super) fn call_id(&self, tool_use_id: &str) -> String {
        match &self.agent_id {
            Some(agent) => format!("{agent}/{tool_use_id}"),
            None => tool_use_id.to_owned(),
        }
    }

    /// Whether a call is one of this conversation or of this subagent, and of no other.
    pub(super) fn is_own(&self, call: &str) -> bool {
        match &self.agent_id {
            Some(agent) => call.strip_prefix(&**agent).is_some_and(|rest| rest.starts_with('/')),
            None => !call.contains('/'),
        }
    }
}
