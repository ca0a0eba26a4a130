//! What a server says of itself, asked without a client.
//!
//! In: the link to a server. Out: its tools and its instructions. It is given no capability, and no answer but to a `ping`.

use super::error::McpError;
use super::link::Link;
use super::message::Message;
use super::messages;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

/// The protocol that is asked for; a server answers with the one that it speaks.
const PROTOCOL: &str = "2025-06-18";
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most pages of one list.
const MAX_PAGES: usize = 1_000;

/// What a server lists and says of itself, as somebody who looks at it before it is used wants to see it.
pub struct Introduction {
    /// Its tools.
    pub tools: Vec<Value>,
    /// What it tells the model.
    pub instructions: Option<String>,
}

pub(super) async fn of(mut server: Link) -> Result<Introduction, McpError> {
    let client = json!({ "name": "celador", "version": env!("CARGO_PKG_VERSION") });
    let hello = json!({ "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client });
    let welcome = ask(&mut server, "hello", "initialize", hello).await?;
    let initialized = Message::notification("notifications/initialized", json!({}));
    server.to.send(initialized).await.map_err(|_| gone())?;
    let instructions = welcome.get("instructions").and_then(Value::as_str).map(str::to_owned);
    let (mut tools, mut params) = (Vec::new(), json!({}));
    for number in 0..MAX_PAGES {
        let page = ask(&mut server, &format!("tools-{number}"), "tools/list", params).await?;
        let listed = page.get("tools").and_then(Value::as_array);
        tools.extend(listed.ok_or_else(|| McpError::Server(messages::NO_LIST.to_owned()))?.iter().cloned());
        match page.get("nextCursor").filter(|cursor| cursor.is_string()) {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return Ok(Introduction { tools, instructions }),
        }
    }
    Err(McpError::Server(messages::NO_LIST.to_owned()))
}

/// The result of a request.
async fn ask(server: &mut Link, id: &str, method: &str, params: Value) -> Result<Value, McpError> {
    server.to.send(Message::request(id, method, params)).await.map_err(|_| gone())?;
    let answer = async {
        while let Some(message) = server.from.recv().await {
            if message.method() == Some("ping") {
                let id = message.id().cloned().unwrap_or_default();
                server.to.send(Message::result(id, json!({}))).await.map_err(|_| gone())?;
            } else if message.method().is_none() && message.id() == Some(&id.into()) {
                let result = message.outcome().cloned();
                return result.ok_or_else(|| McpError::Server(messages::answers_error(method)));
            }
        }
        Err(gone())
    };
    timeout(PATIENCE, answer).await.unwrap_or_else(|_| Err(McpError::Server(messages::slow(method))))
}

fn gone() -> McpError {
    McpError::Server(messages::SERVER_GONE.to_owned())
}
