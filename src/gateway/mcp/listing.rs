//! The tools that a server lists, and those of them that a client sees.
//!
//! In: all pages of `tools/list`. Out: a task that brings these tools, and one page without what cannot be called. Tools that are listed later
//! join the task. The description of a tool that was judged first holds for the session: a tool that says something else later is hidden and
//! refused.

use super::agent::requests;
use super::begun::{Begun, ToolList, name_of};
use super::course::Request;
use super::guard::{Guard, Start, Unbrought};
use super::kinds::{BESIDE, uncached};
use super::message::{Failure, INTERNAL_ERROR, METHOD_NOT_FOUND, Members};
use super::messages;
use super::methods::Side;
use super::peer::{Cancellation, Peer, Reply};
use super::schema;
use super::session::Session;
use celador::manifest::capability_key::sanitise;
use celador::task::User;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::timeout;
use tracing::warn;
use uuid::Uuid;

/// The most pages and tools of one list.
const MAX_PAGES: usize = 1_000;
const MAX_TOOLS: usize = 10_000;
/// The most attempts to bring a part of the tools of one list.
const MAX_ATTEMPTS: usize = 64;
/// How long a server may take for a page.
const PATIENCE: Duration = Duration::from_secs(60);

impl Session {
    /// The task of the session; it begins with the first request that needs it. `protocol` is what that request says of its protocol.
    pub(super) async fn begun(&self, protocol: Option<Value>) -> Result<Arc<Begun>, String> {
        let mut slot = self.begun.lock().await;
        let changed = std::mem::take(&mut self.state().changed);
        match &*slot {
            Some(begun) if !changed => return Ok(begun.clone()),
            // nothing was called yet, so the session may as well begin with the tools that there are now
            Some(begun) if !begun.used.load(Ordering::Relaxed) && self.settings.task.is_none() => {
                begun.guard.end().await;
                *slot = None;
            }
            Some(begun) => {
                let listed = self.all_tools(protocol).await.inspect_err(|_| self.state().changed = true)?;
                self.join(begun, &listed).await;
                return Ok(begun.clone());
            }
            None => {}
        }
        let begun = self.begin(protocol).await.inspect_err(|reason| {
            self.state().changed = changed;
            warn!(reason, "no task begins");
        })?;
        let begun = Arc::new(begun);
        *slot = Some(begun.clone());
        Ok(begun)
    }

    async fn begin(&self, protocol: Option<Value>) -> Result<Begun, String> {
        let listed = self.all_tools(protocol).await?;
        let mut tools = ToolList::default();
        let brought = self.admissible(listed, &mut tools);
        let settings = &self.settings;
        let id = settings.task.clone().unwrap_or_else(|| format!("mcp-{}", Uuid::new_v4()));
        let user = User { id: settings.user.clone(), email: settings.email.clone(), ..User::default() };
        let told: Vec<Value> = brought.iter().map(told).collect();
        let agent = settings.agent.clone();
        let start = |tools| Start { id: id.clone(), agent: agent.clone(), user: user.clone(), tools };
        let mut attempts = [(true, [told, requests()].concat()), (false, requests())];
        if settings.task.is_some() {
            // the tools of a named task join it, so that a later session resumes it whatever the server lists by then
            attempts.reverse();
        }
        let mut reason = None;
        for (has_tools, list) in attempts {
            match Guard::begin(self.desk.clone(), start(list)).await {
                Ok((guard, offers)) if has_tools => {
                    tools.take(&brought, offers);
                    return Ok(Begun::new(guard, tools));
                }
                // a tool that no task can have keeps none of the others out
                Ok((guard, _)) => {
                    let begun = Begun::new(guard, tools);
                    self.bring(&begun, &brought).await;
                    return Ok(begun);
                }
                Err(refused) => reason = reason.or(Some(refused)),
            }
        }
        Err(reason.unwrap_or_default())
    }

    /// Takes in a later list: tools that the task does not know join it, as they would have at its beginning. Those that say something else than
    /// they did are hidden.
    async fn join(&self, begun: &Begun, listed: &[Value]) {
        let _joining = begun.joining.lock().await;
        let unknown = begun.compare(listed);
        let admitted = self.admissible(unknown, &mut begun.tools());
        if admitted.is_empty() {
            return;
        }
        self.bring(begun, &admitted).await;
    }

    /// Brings tools to a task. Those that it cannot have are hidden, and keep none of the others out: what is refused together is brought in halves.
    async fn bring(&self, begun: &Begun, tools: &[Value]) {
        let mut parts = vec![tools];
        for attempt in 0.. {
            let Some(part) = parts.pop() else { return };
            let told: Vec<Value> = part.iter().map(told).collect();
            match begun.guard.bring(&told).await {
                Ok(offers) => begun.tools().take(part, offers),
                Err(unbrought) if unbrought.is_unfit && part.len() > 1 && attempt < MAX_ATTEMPTS => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                Err(Unbrought { is_unfit, reason }) => {
                    if !is_unfit {
                        // they join with the next request, if what is in the way has gone by then
                        self.state().changed = true;
                    }
                    let mut list = begun.tools();
                    part.iter().for_each(|tool| list.hide(name_of(tool), &reason));
                }
            }
        }
    }

    /// The tools that pins and rules about descriptions admit. The others are hidden.
    fn admissible(&self, listed: Vec<Value>, tools: &mut ToolList) -> Vec<Value> {
        let requests = requests();
        let mut keys: HashSet<String> = requests.iter().map(|tool| sanitise(name_of(tool))).collect();
        keys.extend(tools.keys());
        let mut admitted = Vec::new();
        for tool in listed {
            let key = sanitise(name_of(&tool));
            let pinned = || self.settings.pins.as_ref().and_then(|pins| pins.misfit(&tool));
            let taken = keys.contains(&key).then(|| messages::SAME_KEY.to_owned());
            match taken.or_else(pinned).or_else(|| self.settings.tool_rules.misfit(&tool)) {
                Some(reason) => tools.hide(name_of(&tool), &reason),
                None => {
                    keys.insert(key);
                    admitted.push(tool);
                }
            }
        }
        admitted
    }

    /// All tools that the server lists, decoded. A list that does not end is that of the pages that differ.
    async fn all_tools(&self, protocol: Option<Value>) -> Result<Vec<Value>, String> {
        let mut params = Members::new();
        params.extend(protocol.map(|meta| ("_meta".to_owned(), meta)));
        let (mut tools, mut names, mut cursors) = (Vec::new(), HashSet::new(), HashSet::new());
        loop {
            let mut page = match self.page(&params).await? {
                Ok(page) => page,
                // a server without tools
                Err(failure) if failure.code == METHOD_NOT_FOUND => return Ok(tools),
                Err(failure) => return Err(messages::list_refused(failure.code)),
            };
            let Some(Value::Array(listed)) = page.remove("tools") else {
                return Err(messages::NO_LIST.to_owned());
            };
            for tool in listed {
                let Ok(tool) = self.decode(Side::Client, &schema::TOOL, tool, "tools/list tool") else {
                    continue;
                };
                if names.insert(name_of(&tool).to_owned()) {
                    tools.push(tool);
                } else {
                    self.notices.warn(messages::SAME_NAME, name_of(&tool));
                }
            }
            let Some(Value::String(cursor)) = page.remove("nextCursor") else { return Ok(tools) };
            if cursors.len() >= MAX_PAGES || tools.len() > MAX_TOOLS || !cursors.insert(cursor.clone()) {
                self.notices.warn(messages::ENDLESS_LIST, "tools/list");
                tools.truncate(MAX_TOOLS);
                return Ok(tools);
            }
            params.insert("cursor".to_owned(), cursor.into());
        }
    }

    /// A page of the list of tools, or the server's error.
    async fn page(&self, params: &Members) -> Result<Result<Members, Failure>, String> {
        let params = (!params.is_empty()).then(|| params.clone());
        let mut sent =
            Peer::ask(&self.server, "tools/list", params, None, None).await.ok_or(messages::SERVER_GONE)?;
        let never = Cancellation::default();
        let reply = timeout(PATIENCE, sent.reply(&never, &self.over)).await;
        match reply.map_err(|_| messages::slow("tools/list"))? {
            Reply::Outcome(Ok(page)) => {
                match self.decode(Side::Client, &schema::TOOLS, page, "tools/list result") {
                    Ok(Value::Object(page)) => Ok(Ok(page)),
                    _ => Err(messages::NO_LIST.to_owned()),
                }
            }
            Reply::Outcome(Err(failure)) => Ok(Err(failure)),
            Reply::Gone | Reply::Cancelled => Err(messages::SERVER_GONE.to_owned()),
        }
    }

    /// The client asks for the tools: those of all pages that it can call, on one page.
    pub(super) async fn list(self: Arc<Self>, request: Request, begun: Result<Arc<Begun>, String>) {
        if self.settings.observe {
            let Some(sent) = self.ask_server(&request).await else { return };
            let Some(outcome) = self.reply(&request, sent).await else { return };
            if let (Ok(begun), Some(Value::Array(listed))) =
                (begun, outcome.as_ref().ok().and_then(|page| page.get("tools")))
            {
                let decode = |tool: &Value| {
                    self.decode(Side::Client, &schema::TOOL, tool.clone(), "tools/list tool").ok()
                };
                let listed: Vec<Value> = listed.iter().filter_map(decode).collect();
                self.join(&begun, &listed).await;
            }
            self.client.answer(&request.id, outcome).await;
            return;
        }
        let listed = match begun {
            Ok(_) if request.param("cursor").is_some() => {
                let failure = Failure::new(super::message::INVALID_PARAMS, messages::NO_SUCH_CURSOR);
                return self.client.answer(&request.id, Err(failure)).await;
            }
            Ok(begun) => self.all_tools(request.protocol()).await.map(|listed| (begun, listed)),
            Err(reason) => Err(messages::no_task(&reason)),
        };
        let (begun, listed) = match listed {
            Ok(listed) => listed,
            Err(reason) => {
                return self.client.answer(&request.id, Err(Failure::new(INTERNAL_ERROR, reason))).await;
            }
        };
        self.join(&begun, &listed).await;
        let shown: Vec<Value> = listed.into_iter().filter_map(|tool| begun.shown(tool)).collect();
        let mut page = json!({ "tools": shown });
        uncached(&mut page, request.is_modern());
        self.end_with(&request, Ok(page)).await;
    }
}

/// A tool as the task is told of it: its output may have content beside the structure.
fn told(tool: &Value) -> Value {
    let mut tool = tool.clone();
    if let Some(schema) = tool.get_mut("outputSchema").and_then(Value::as_object_mut)
        && let Some(properties) = schema.entry("properties").or_insert_with(|| json!({})).as_object_mut()
    {
        properties.entry(BESIDE).or_insert_with(|| json!({ "type": "array" }));
    }
    tool
}
