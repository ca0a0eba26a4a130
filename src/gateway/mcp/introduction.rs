//! Descriptions that a server gives of itself, asked for without a client.
//!
//! In: the link to a server. Out: its tools and its instructions. The client has no capability and answers nothing but a `ping`.

use super::error::McpError;
use super::link::Link;
use super::message::{Body, Members, Message};
use super::shape::{Decoder, Shape};
use super::{messages, schema};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::time::Duration;
use tokio::time::timeout;

/// The protocol that is asked for; a server answers with the one that it speaks.
const PROTOCOL: &str = "2025-06-18";
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

pub(super) async fn of(mut server: Link) -> Result<Introduction, McpError> {
    let client = json!({ "name": "celador", "version": env!("CARGO_PKG_VERSION") });
    let hello = json!({ "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client });
    let welcome = ask(&mut server, 0, "initialize", hello, &schema::INITIALIZE_RESULT).await?;
    let initialized = Message::notification("notifications/initialized", None);
    server.to.send(initialized).await.map_err(|_| gone())?;
    let instructions = welcome.get("instructions").and_then(Value::as_str).map(str::to_owned);
    let introduced = welcome.get("serverInfo").cloned().unwrap_or_default();
    let (mut tools, mut params, mut cursors) = (Vec::new(), json!({}), HashSet::new());
    for number in 0..MAX_PAGES {
        let id = i64::try_from(number).unwrap_or_default().saturating_add(1);
        let mut page = ask(&mut server, id, "tools/list", params, &schema::TOOLS).await?;
        let Some(Value::Array(listed)) = page.remove("tools") else { break };
        // a tool that is none is hidden in every session
        tools.extend(
            listed
                .into_iter()
                .filter_map(|tool| Decoder::new(&[], true).decode(&schema::TOOL, tool, "").ok()),
        );
        match page.remove("nextCursor") {
            Some(Value::String(cursor)) if cursors.insert(cursor.clone()) => {
                params = json!({ "cursor": cursor })
            }
            _ => break,
        }
    }
    Ok(Introduction { tools, instructions, server: introduced })
}

/// The result of a request, decoded.
async fn ask(
    server: &mut Link,
    id: i64,
    method: &str,
    params: Value,
    shape: &Shape,
) -> Result<Members, McpError> {
    let params = params.as_object().cloned();
    server.to.send(Message::request(id.into(), method, params)).await.map_err(|_| gone())?;
    let answer = async {
        while let Some(message) = server.from.recv().await {
            match message.body {
                Body::Request { id, method, .. } if method == "ping" => {
                    server.to.send(Message::result(id, json!({}))).await.map_err(|_| gone())?;
                }
                Body::Response { id: answered, outcome } if answered == id => {
                    let result = outcome.map_err(|_| McpError::Server(messages::answers_error(method)))?;
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

fn gone() -> McpError {
    McpError::Server(messages::SERVER_GONE.to_owned())
}
