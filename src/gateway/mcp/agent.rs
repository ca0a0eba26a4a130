//! The agent of a session for which nobody has written a manifest.
//!
//! In: nothing but whether the server's hints are believed. Out: a manifest that admits every tool that the server lists, and resources and
//! prompts, so that what holds is what policies say. A folder of policies tightens it like any other agent: `applies_to` takes
//! `mcp/session`.

use super::kinds::{PROMPT, RESOURCE};
use serde_json::{Value, json};

/// The namespace and the name of the agent.
pub const AGENT: (&str, &str) = ("mcp", "session");

/// Its manifest. What stands for resources and prompts changes nothing, whatever the server is like.
#[must_use]
pub fn manifest(believe_hints: bool) -> String {
    let believed = if believe_hints { r#""*""# } else { "resources/read, prompts/get" };
    format!(
        r#"kind: celador/v1/tools
namespace: mcp
name: server
description: What the MCP server lists, and what a client asks of it besides calls of tools.
brought: ["*", resources/read, prompts/get]
believe_hints: [{believed}]
---
kind: commonagents.info/v1beta2/agent
namespace: mcp
name: session
description: Whoever uses the MCP server.
prompt: You use the tools of an MCP server.
capabilities: {{server: "*"}}
"#
    )
}

/// What stands for resources and prompts among the tools that a task brings, as `tools/list` has them.
pub(super) fn requests() -> [Value; 2] {
    let hints = json!({ "readOnlyHint": true });
    [
        json!({
            "name": RESOURCE,
            "description": "Reads a resource of the server.",
            "inputSchema": {
                "type": "object",
                "properties": { "uri": { "type": "string" } },
                "required": ["uri"],
            },
            "annotations": hints,
        }),
        json!({
            "name": PROMPT,
            "description": "Gets a prompt of the server.",
            "inputSchema": {
                "type": "object",
                "properties": { "name": { "type": "string" }, "arguments": { "type": "object" } },
                "required": ["name"],
            },
            "annotations": hints,
        }),
    ]
}
