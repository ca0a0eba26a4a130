//! The task of a session, and the tools of its server that can be called.

use super::guard::Guard;
use super::messages;
use super::pins::digest;
use celador::digest::Digest;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tracing::warn;

/// The task of a session and its tools.
pub(super) struct Begun {
    pub(super) guard: Guard,
    tools: Mutex<ToolList>,
    /// Whether a call was asked for.
    pub(super) used: AtomicBool,
}

/// The tools of a session by their names.
#[derive(Default)]
pub(super) struct ToolList {
    /// The tools that the task has brought and that it can call.
    pub(super) brought: HashMap<String, ListedTool>,
    /// The reasons why tools cannot be called.
    pub(super) hidden: HashMap<String, String>,
}

/// A tool that can be called.
pub(super) struct ListedTool {
    digest: Digest,
    /// The schema that the model sees, where it is not the server's.
    schema: Option<Value>,
}

impl ListedTool {
    pub(super) fn new(tool: &Value, schema: Option<Value>) -> Self {
        Self { digest: digest(tool), schema }
    }
}

impl Begun {
    pub(super) fn new(guard: Guard, tools: ToolList) -> Self {
        Self { guard, tools: Mutex::new(tools), used: AtomicBool::new(false) }
    }

    fn tools(&self) -> MutexGuard<'_, ToolList> {
        // each change of it is one assignment, so a poisoned list is whole
        self.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why a tool cannot be called; nothing if it can.
    pub(super) fn obstacle(&self, tool: &str) -> Option<String> {
        let tools = self.tools();
        if let Some(reason) = tools.hidden.get(tool) {
            return Some(messages::hidden(tool, reason));
        }
        (!tools.brought.contains_key(tool)).then(|| messages::not_listed(tool))
    }

    /// A tool as the client sees it; nothing if it does not.
    pub(super) fn shown(&self, mut tool: Value) -> Option<Value> {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        let tools = self.tools();
        let listed = tools.brought.get(name).filter(|_| !tools.hidden.contains_key(name))?;
        if listed.digest != digest(&tool) {
            return None;
        }
        if let Some(schema) = &listed.schema {
            tool.as_object_mut()?.insert("inputSchema".to_owned(), schema.clone());
        }
        Some(tool)
    }

    /// Compares a later list with the tools that were judged, and hides those that say something else now, or are new.
    pub(super) fn compare(&self, listed: &[Value]) {
        let mut tools = self.tools();
        let ToolList { brought, hidden } = &mut *tools;
        for tool in listed {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            let reason = match brought.get(name) {
                Some(known) if known.digest == digest(tool) => {
                    if hidden.get(name).is_some_and(|reason| reason == messages::CHANGED_IN_SESSION) {
                        hidden.remove(name);
                    }
                    continue;
                }
                Some(_) => messages::CHANGED_IN_SESSION,
                None if hidden.contains_key(name) => continue,
                None => messages::NEW_IN_SESSION,
            };
            if hidden.insert(name.to_owned(), reason.to_owned()).is_none() {
                warn!(tool = name, reason, "a tool is hidden");
            }
        }
    }
}
