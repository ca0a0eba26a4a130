//! An event of Claude Code, as its hooks bring it: the members that decide something, of every kind of event.
//!
//! In: JSON of any event. Out: one type with the members that decisions read. Other members are dropped: an answer is written from this type alone.

use super::events::{Kind, kind_of};
use super::messages;
use crate::problem::{Kind as ProblemKind, Problem};
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
    /// What has changed, such as `project_settings` or `skills` (`ConfigChange`), or the reason of a start.
    #[serde(default)]
    pub(super) source: Option<String>,
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
    pub(super) tool_calls: Option<Vec<BatchedCall>>,
    /// What the user has said (`UserPromptSubmit`), or what a command has come to (`UserPromptExpansion`).
    #[serde(default)]
    pub(super) prompt: Option<String>,
    /// What the model has answered (`Stop`).
    #[serde(default)]
    pub(super) last_assistant_message: Option<String>,
    /// Work that still runs (`Stop`).
    #[serde(default)]
    pub(super) background_tasks: Option<Vec<BackgroundTask>>,
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

/// Work that runs in the background.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct BackgroundTask {
    /// Its kind, such as `subagent` or `shell`.
    #[serde(default)]
    pub(super) r#type: String,
}

/// A call of a turn.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct BatchedCall {
    /// Its id.
    pub(super) tool_use_id: String,
    /// Its tool.
    #[serde(default)]
    pub(super) tool_name: String,
    /// Its result, as the model is about to read it.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub(super) tool_response: Option<Json>,
}

impl Event {
    pub(super) fn kind(&self) -> Kind {
        kind_of(&self.hook_event_name)
    }

    /// A member that this kind of event has to have.
    pub(super) fn required<'e, T>(&self, member: &'e Option<T>, name: &str) -> Result<&'e T, Problem> {
        member.as_ref().ok_or_else(|| {
            Problem::new(ProblemKind::BadRequest, messages::missing(&self.hook_event_name, name))
        })
    }

    /// Whether the tool is one of an MCP server.
    pub(super) fn is_of_server(&self) -> bool {
        self.tool_name.as_deref().is_some_and(|tool| tool.starts_with("mcp__"))
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
