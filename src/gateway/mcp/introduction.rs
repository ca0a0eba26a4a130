//! Descriptions that a server gives of itself, asked for without a client.
//!
//! In: the link to a server. Out: its tools and its instructions. The client has no capability and answers nothing but a `ping`.

use super::error::McpError;
use super::link::Link;
use super::message::{Body, Members, Message};
use super::schema::SERVER_INFO;
use super::shape::{Decoder, Shape};
use super::{messages, schema};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::time::Duration;
use tokio::time::timeout;

/// The revision with sessions that is asked for; a server answers with the one that it speaks.
const PROTOCOL: &str = "2025-06-18";
/// The revision without sessions.
const STATELESS_PROTOCOL: &str = "2026-07-28";
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most pages of one list.
const MAX_PAGES: usize = 1_000;

/// The descriptions that a server gives of itself and of its tools.
#[derive(Clone, Debug, PartialEq)]
pub struct Introduction {
    /// Its tools.
    pub tools: Vec<Value>,
    /// The instructions for the model.
    pub instructions: Option<String>,
    /// Its name, version and description.
    pub server: Value,
}

/// Asks a server in the form of its revision: with a session, or without.
pub(super) async fn of(server: Link) -> Result<Introduction, McpError> {
    let mut meeting = Meeting { server, asked: 0, meta: None };
    let welcome = match meeting.initialize().await {
        Ok(welcome) => welcome,
        // a server of the revision without sessions knows no `initialize`
        Err(error) => meeting.discover().await.map_err(|_| error)?,
    };
    let instructions = welcome.get("instructions").and_then(Value::as_str).map(str::to_owned);
    let said =
        welcome.get("_meta").and_then(|meta| meta.get(SERVER_INFO)).or_else(|| welcome.get("serverInfo"));
    let introduced = said.cloned().unwrap_or_default();
    let (mut tools, mut params, mut cursors) = (Vec::new(), Members::new(), HashSet::new());
    for _ in 0..MAX_PAGES {
        let mut page = meeting.ask("tools/list", params.clone(), &schema::TOOLS).await?;
        let Some(Value::Array(listed)) = page.remove("tools") else { break };
        // a tool that is none is hidden in every session
        tools.extend(
            listed
                .into_iter()
                .filter_map(|tool| Decoder::new(&[], true).decode(&schema::TOOL, tool, "").ok()),
        );
        match page.remove("nextCursor") {
            Some(Value::String(cursor)) if cursors.insert(cursor.clone()) => {
                params.insert("cursor".to_owned(), cursor.into());
            }
            _ => break,
        }
    }
    Ok(Introduction { tools, instructions, server: introduced })
}

/// Requests to a server whose descriptions are asked for.
struct Meeting {
    server: Link,
    /// The number of requests so far, of which the ids are made.
    asked: i64,
    /// `_meta` of each request, in the revision without sessions.
    meta: Option<Value>,
}

impl Meeting {
    /// Begins a session.
    async fn initialize(&mut self) -> Result<Members, McpError> {
        let params = json!({ "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client() });
        let params = params.as_object().cloned().unwrap_or_default();
        let welcome = self.ask("initialize", params, &schema::INITIALIZE_RESULT).await?;
        let initialized = Message::notification("notifications/initialized", None);
        self.server.to.send(initialized).await.map_err(|_| gone())?;
        Ok(welcome)
    }

    /// Meets a server of the revision without sessions. Each request says the revision from here on.
    async fn discover(&mut self) -> Result<Members, McpError> {
        self.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS_PROTOCOL,
            "io.modelcontextprotocol/clientInfo": client(),
            "io.modelcontextprotocol/clientCapabilities": {},
        }));
        self.ask("server/discover", Members::new(), &schema::DISCOVER_RESULT).await
    }

    /// The result of a request, decoded.
    async fn ask(&mut self, method: &str, mut params: Members, shape: &Shape) -> Result<Members, McpError> {
        self.asked = self.asked.saturating_add(1);
        let (id, server) = (self.asked, &mut self.server);
        params.extend(self.meta.clone().map(|meta| ("_meta".to_owned(), meta)));
        server.to.send(Message::request(id.into(), method, Some(params))).await.map_err(|_| gone())?;
        let answer = async {
            while let Some(message) = server.from.recv().await {
                match message.body {
                    Body::Request { id, method, .. } if method == "ping" => {
                        server.to.send(Message::result(id, json!({}))).await.map_err(|_| gone())?;
                    }
                    Body::Response { id: answered, outcome } if answered == id => {
                        let result =
                            outcome.map_err(|_| McpError::Server(messages::answers_error(method)))?;
                        return match Decoder::new(&[], true).decode(shape, result, "") {
                            Ok(Value::Object(result)) => Ok(result),
                            _ => Err(McpError::Server(messages::no_result(method))),
                        };
                    }
                    _ => {}
                }
            }
            Err(gone())
        };
        timeout(PATIENCE, answer).await.unwrap_or_else(|_| Err(McpError::Server(messages::slow(method))))
    }
}

fn client() -> Value {
    json!({ "name": "celador", "version": env!("CARGO_PKG_VERSION") })
}

fn gone() -> McpError {
    McpError::Server(messages::SERVER_GONE.to_owned())
}
