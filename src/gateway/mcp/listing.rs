//! The tools, resources and prompts that a server lists, and those of them that a client sees.
//!
//! In: all pages of `tools/list`. Out: a task that brings these tools, and lists without what nobody can call. What a tool said of itself when
//! the task began is what holds for the session: a tool that says something else later is hidden and refused.

use super::agent::requests;
use super::begun::{Begun, Listed};
use super::guard::{Guard, Offers, Start};
use super::kinds::{PROMPT, RESOURCE};
use super::message::Message;
use super::messages;
use super::pins::digest;
use super::session::Session;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::warn;
use uuid::Uuid;

/// The most pages and tools of one list.
const MAX_PAGES: usize = 1_000;
const MAX_TOOLS: usize = 10_000;
/// A method that is not there, in the words of JSON-RPC.
const NO_METHOD: i64 = -32_601;

impl Session {
    /// The task of the session; it begins with the first request that needs it. `request` is that one.
    pub(super) async fn begun(&self, request: &Message) -> Result<Arc<Begun>, String> {
        let (begun, changed) = {
            let mut state = self.state();
            (state.begun.clone(), std::mem::take(&mut state.changed))
        };
        match begun {
            // nobody has called anything yet, so the session may as well begin with the tools that there are now
            Some(begun) if changed && !begun.used.load(Ordering::Relaxed) && self.settings.task.is_none() => {
                begun.guard.end().await;
            }
            Some(begun) => return Ok(begun),
            None => {}
        }
        let begun =
            Arc::new(self.begin(request).await.inspect_err(|reason| warn!(reason, "no task begins"))?);
        self.state().begun = Some(begun.clone());
        Ok(begun)
    }

    async fn begin(&self, request: &Message) -> Result<Begun, String> {
        let listed = self.all_tools(request).await?;
        let (mut hidden, mut brought) = (HashMap::new(), Vec::new());
        for tool in listed {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let pinned = || self.settings.pins.as_ref().and_then(|pins| pins.misfit(&tool));
            let ours = is_ours(&name).then(|| messages::KEY_OF_OURS.to_owned());
            let misfit = ours.or_else(pinned).or_else(|| self.settings.tool_rules.misfit(&tool));
            match misfit {
                Some(reason) => {
                    warn!(tool = name, reason, "a tool is hidden");
                    hidden.insert(name, reason);
                }
                None => brought.push(tool),
            }
        }
        let settings = &self.settings;
        let id = settings.task.clone().unwrap_or_else(|| format!("mcp-{}", Uuid::new_v4()));
        let mut user = json!({ "id": settings.user });
        if let (Some(user), Some(email)) = (user.as_object_mut(), &settings.email) {
            user.insert("email".to_owned(), email.clone().into());
        }
        let start =
            Start { id, agent: settings.agent.clone(), user, tools: [&brought[..], &requests()].concat() };
        let (guard, offers) = Guard::begin(self.desk.clone(), start).await?;
        let Offers { functions, left_out } = offers;
        for (name, reason) in left_out {
            warn!(tool = name, reason, "a tool is hidden");
            hidden.insert(name, reason);
        }
        let offered: HashMap<String, Value> = functions.into_iter().collect();
        let listed = brought.iter().filter_map(|tool| {
            let name = tool.get("name").and_then(Value::as_str)?;
            let schema = offered.get(name)?;
            let has_all = properties(schema) == properties(tool.get("inputSchema")?);
            let schema = (!has_all).then(|| schema.clone());
            Some((name.to_owned(), Listed { digest: digest(tool), schema }))
        });
        Ok(Begun { guard, tools: listed.collect(), hidden, used: AtomicBool::new(false) })
    }

    /// All tools that the server lists.
    pub(super) async fn all_tools(&self, request: &Message) -> Result<Vec<Value>, String> {
        let mut params = Map::new();
        params.extend(protocol_of(request).map(|meta| ("_meta".to_owned(), meta)));
        let mut tools = Vec::new();
        for _ in 0..MAX_PAGES {
            let ask = Message::request(&self.next_id(), "tools/list", Value::Object(params.clone()));
            let response = self.ask_server(ask).await.ok_or(messages::SERVER_GONE)?;
            if let Some(failure) = response.failure() {
                let code = failure.get("code").and_then(Value::as_i64);
                // a server without tools
                return if code == Some(NO_METHOD) { Ok(tools) } else { Err(messages::NO_LIST.to_owned()) };
            }
            let page = response.outcome().ok_or(messages::NO_LIST)?;
            let listed = page.get("tools").and_then(Value::as_array).ok_or(messages::NO_LIST)?;
            tools.extend(listed.iter().cloned());
            if tools.len() > MAX_TOOLS {
                return Err(messages::NO_LIST.to_owned());
            }
            match page.get("nextCursor").filter(|cursor| cursor.is_string()) {
                Some(cursor) => drop(params.insert("cursor".to_owned(), cursor.clone())),
                None => return Ok(tools),
            }
        }
        Err(messages::NO_LIST.to_owned())
    }

    /// A client asks for the tools: the page of the server goes on without what nobody can call.
    pub(super) async fn list(self: Arc<Self>, request: Message, begun: Result<Arc<Begun>, String>) {
        let id = request.id().cloned().unwrap_or_default();
        let begun = match begun {
            Ok(begun) => Some(begun),
            Err(_) if self.settings.observe => None,
            Err(reason) => {
                let told = Message::error(id, INTERNAL, &messages::no_task(&reason));
                self.to_client(told).await;
                return;
            }
        };
        let Some(mut response) = self.ask_server(request).await else { return };
        let listed = response.outcome_mut().and_then(|page| page.get_mut("tools"));
        if let (Some(begun), Some(Value::Array(tools))) = (begun, listed) {
            let shown = |tool: &Value| begun.shown(tool.clone());
            if self.settings.observe {
                tools.iter().for_each(|tool| drop(shown(tool)));
            } else {
                *tools = tools.iter().filter_map(shown).collect();
            }
        }
        self.to_client(response).await;
    }
}

/// An error of whoever answers, in the words of JSON-RPC.
const INTERNAL: i64 = -32_603;

/// Whether a name would become that of a request.
fn is_ours(name: &str) -> bool {
    let key = |name: &str| name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    [RESOURCE, PROMPT].iter().any(|ours| key(name) == key(ours))
}

fn properties(schema: &Value) -> Vec<&String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut names: Vec<&String> = properties.into_iter().flatten().map(|(name, _)| name).collect();
    names.sort();
    names
}

/// What a request says of the protocol, where each request says it.
fn protocol_of(request: &Message) -> Option<Value> {
    let meta = request.param("/_meta").and_then(Value::as_object)?;
    let is_protocol = |(name, _): &(&String, &Value)| name.starts_with("io.modelcontextprotocol/");
    let kept: Map<String, Value> =
        meta.iter().filter(is_protocol).map(|(name, value)| (name.clone(), value.clone())).collect();
    (!kept.is_empty()).then_some(Value::Object(kept))
}
