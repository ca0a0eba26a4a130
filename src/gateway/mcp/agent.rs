//! The agent of a session for which nobody has written a manifest.
//!
//! In: nothing but whether the server's hints are believed. Out: a manifest that admits every tool that the server lists, resources, prompts
//! and questions of the server, so that policies alone say what holds. A folder of policies tightens it like any other agent: `applies_to` takes
//! `mcp/session`.

use super::kinds::{PROMPT, RESOURCE};
use serde_json::{Value, json};

/// The namespace and the name of the agent.
pub const AGENT: (&str, &str) = ("mcp", "session");

/// The functions that are requests of MCP and not tools: reads, and questions of the server. They change nothing, whatever the server is like.
const REQUESTS: [&str; 5] = [RESOURCE, PROMPT, "elicitation/create", "sampling/createMessage", "roots/list"];

/// Its manifest.
#[must_use]
pub fn manifest(believe_hints: bool) -> String {
    let requests = REQUESTS.join(", ");
    let believed = if believe_hints { r#""*""# } else { &*requests };
    format!(
        r#"kind: celador/v1/tools
namespace: mcp
name: server
description: The tools of the MCP server, and the requests besides calls of tools.
brought: ["*", {requests}]
believe_hints: [{believed}]
---
kind: commonagents.info/v1beta2/agent
namespace: mcp
name: session
description: The user of the MCP server.
prompt: You use the tools of an MCP server.
capabilities: {{server: "*"}}
"#
    )
}

/// Requests of MCP among the tools that a task brings, as `tools/list` has them.
pub(super) fn requests() -> Vec<Value> {
    let (text, list, object) = (
        json!({ "type": "string" }),
        json!({ "type": "array" }),
        json!({ "type": "object", "additionalProperties": true }),
    );
    let number = json!({ "type": "number" });
    let tool = |name: &str, description: &str, properties: Value, required: &[&str]| {
        json!({
            "name": name,
            "description": description,
            "inputSchema": { "type": "object", "properties": properties, "required": required },
            "annotations": { "readOnlyHint": true },
        })
    };
    vec![
        tool(RESOURCE, "Reads a resource of the server.", json!({ "uri": text }), &["uri"]),
        tool(PROMPT, "Gets a prompt of the server.", json!({ "name": text, "arguments": object }), &["name"]),
        tool(
            "elicitation/create",
            "Asks the user of the client for the server.",
            json!({
                "mode": text, "message": text, "requestedSchema": object, "url": text, "elicitationId": text,
            }),
            &["message"],
        ),
        tool(
            "sampling/createMessage",
            "Asks the model of the client for the server.",
            json!({
                "messages": list, "modelPreferences": object, "systemPrompt": text, "includeContext": text,
                "temperature": number, "maxTokens": number, "stopSequences": list, "metadata": object,
                "tools": list, "toolChoice": object,
            }),
            &["messages"],
        ),
        tool("roots/list", "Lists the folders of the client for the server.", json!({}), &[]),
    ]
}
