//! Calls whose subagent works in the background: such a call stays open until a notification reports what has come of it.

use super::event::Event;
use celador::cel::Json;
use celador::task::{CallId, Task};
use serde_json::Value;

/// The tool whose call stays open while its subagent works.
const AGENT: &str = "Agent";

/// The status of the result of a call whose subagent works in the background.
const LAUNCHED: &str = "async_launched";

/// What the model reads as the result of such a call.
const LAUNCHED_TEXT: &str = "Async agent launched successfully.";

/// Whether the model reads of a call that its subagent works in the background.
pub(super) fn is_launch(tool: &str, response: Option<&Json>) -> bool {
    let Some(response) = response.filter(|_| tool == AGENT).and_then(|it| serde_json::to_value(it).ok())
    else {
        return false;
    };
    let text = match &response {
        Value::Array(blocks) => blocks.first().and_then(|block| block.get("text")),
        text => Some(text),
    };
    text.and_then(Value::as_str).is_some_and(|text| text.starts_with(LAUNCHED_TEXT))
}

/// Whether an open call waits for a subagent that works in the background.
pub(super) fn is_of_subagent(task: &Task, call: &str) -> bool {
    let call = CallId::from(call);
    if task.function_of(&call) == Some(AGENT) {
        return true;
    }
    let arguments = task.standing(&call).and_then(|decision| decision.verdict.into_value());
    arguments.is_some_and(|value| value.root().get("tool").is_some_and(|tool| tool.as_str() == Some(AGENT)))
}

impl Event {
    /// Whether the event tells that a subagent has begun to work in the background.
    pub(super) fn is_launch(&self) -> bool {
        let status = self.tool_response.as_ref().and_then(|response| response.root().get("status"));
        self.tool_name.as_deref() == Some(AGENT)
            && status.is_some_and(|status| status.as_str() == Some(LAUNCHED))
    }

    /// Whether no subagent works in the background.
    pub(super) fn has_no_subagents(&self) -> bool {
        self.background_tasks.as_ref().is_some_and(|tasks| tasks.iter().all(|task| task.r#type != "subagent"))
    }
}
