//! The task of a session, and the tools of its server that can be called.

use super::guard::{Guard, Offers};
use super::messages;
use super::pins::digest;
use celador::digest::Digest;
use celador::manifest::capability_key::sanitise;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tracing::warn;

/// The task of a session and its tools.
pub(super) struct Begun {
    pub(super) guard: Guard,
    tools: Mutex<ToolList>,
    /// Whether a call was asked for.
    pub(super) used: AtomicBool,
    /// Held while tools join the task, so that each joins once.
    pub(super) joining: tokio::sync::Mutex<()>,
}

/// The tools of a session by their names.
#[derive(Default)]
pub(super) struct ToolList {
    /// The tools that the task was told of, whether or not it can call them. What a name means in the task does not change.
    told: HashSet<String>,
    /// Those that can be called.
    brought: HashMap<String, ListedTool>,
    /// The reasons why tools cannot be called.
    hidden: HashMap<String, String>,
}

/// A tool that can be called.
struct ListedTool {
    digest: Digest,
    /// The schema that the model sees, where it is not the server's.
    schema: Option<Value>,
}

impl ToolList {
    /// Hides a tool.
    pub(super) fn hide(&mut self, name: &str, reason: &str) {
        if self.hidden.get(name).is_none_or(|known| known != reason) {
            warn!(tool = name, reason, "a tool is hidden");
            self.hidden.insert(name.to_owned(), reason.to_owned());
        }
    }

    /// The keys of the tools that the task was told of.
    pub(super) fn keys(&self) -> impl Iterator<Item = String> {
        self.told.iter().map(|name| sanitise(name))
    }

    /// Takes in what the task made of tools.
    pub(super) fn take(&mut self, tools: &[Value], offers: Offers) {
        let Offers { functions, left_out } = offers;
        let offered: HashMap<String, Value> = functions.into_iter().collect();
        let left_out: HashMap<String, String> = left_out.into_iter().collect();
        for tool in tools {
            let name = name_of(tool);
            self.told.insert(name.to_owned());
            if let Some(reason) = left_out.get(name) {
                self.hide(name, reason);
            }
            let Some(schema) = offered.get(name) else { continue };
            let has_all = properties(schema) == tool.get("inputSchema").map(properties).unwrap_or_default();
            let schema = (!has_all).then(|| schema.clone());
            self.hidden.remove(name);
            self.brought.insert(name.to_owned(), ListedTool { digest: digest(tool), schema });
        }
    }
}

impl Begun {
    pub(super) fn new(guard: Guard, tools: ToolList) -> Self {
        let (used, joining) = (AtomicBool::new(false), tokio::sync::Mutex::default());
        Self { guard, tools: Mutex::new(tools), used, joining }
    }

    pub(super) fn tools(&self) -> MutexGuard<'_, ToolList> {
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
        let name = name_of(&tool);
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

    /// Compares a later list with the tools that the task knows, and hides those that say something else now. The tools that it does not know are
    /// returned.
    pub(super) fn compare(&self, listed: &[Value]) -> Vec<Value> {
        let mut tools = self.tools();
        let mut unknown = Vec::new();
        for tool in listed {
            let name = name_of(tool);
            match tools.brought.get(name) {
                Some(known) if known.digest == digest(tool) => {
                    if tools.hidden.get(name).is_some_and(|reason| reason == messages::CHANGED_IN_SESSION) {
                        tools.hidden.remove(name);
                    }
                }
                Some(_) => tools.hide(name, messages::CHANGED_IN_SESSION),
                None if tools.told.contains(name) => {}
                None => unknown.push(tool.clone()),
            }
        }
        unknown
    }
}

pub(super) fn name_of(tool: &Value) -> &str {
    tool.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn properties(schema: &Value) -> Vec<&String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut names: Vec<&String> = properties.into_iter().flatten().map(|(name, _)| name).collect();
    names.sort();
    names
}
