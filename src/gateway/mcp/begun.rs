//! The task of a session, and what it made of the server's tools.
//!
//! In: the name of a tool, or the tool as a later list has it. Out: whether it can be called, and what the client sees of it.

use super::guard::Guard;
use super::messages;
use super::pins::digest;
use celador::digest::Digest;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use tracing::warn;

/// The task of a session and its tools.
pub(super) struct Begun {
    pub(super) guard: Guard,
    /// The tools that can be called.
    pub(super) tools: HashMap<String, Listed>,
    /// Why the others cannot.
    pub(super) hidden: HashMap<String, String>,
    /// Whether a call was asked for.
    pub(super) used: AtomicBool,
}

/// A tool that can be called.
pub(super) struct Listed {
    pub(super) digest: Digest,
    /// The schema that the model sees, where it is not the server's.
    pub(super) schema: Option<Value>,
}

impl Begun {
    /// Why a tool cannot be called; nothing if it can.
    pub(super) fn obstacle(&self, tool: &str) -> Option<String> {
        if self.tools.contains_key(tool) {
            return None;
        }
        let hidden = self.hidden.get(tool);
        Some(hidden.map_or_else(|| messages::not_listed(tool), |reason| messages::hidden(tool, reason)))
    }

    /// A tool as the client sees it; nothing if it does not.
    pub(super) fn shown(&self, mut tool: Value) -> Option<Value> {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        let listed = match self.tools.get(name) {
            Some(listed) if listed.digest == digest(&tool) => listed,
            Some(_) => return hide(name, messages::CHANGED_IN_SESSION),
            None if self.hidden.contains_key(name) => return None,
            None => return hide(name, messages::NEW_IN_SESSION),
        };
        if let Some(schema) = &listed.schema {
            tool.as_object_mut()?.insert("inputSchema".to_owned(), schema.clone());
        }
        Some(tool)
    }
}

fn hide(tool: &str, reason: &str) -> Option<Value> {
    warn!(tool, reason, "a tool is hidden");
    None
}
