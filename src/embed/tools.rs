//! An agent that nobody wrote a manifest for: a program has tools, and policies say what calls of them may do.
//!
//! In: the agent's names, tools as MCP lists them. Out: the text of the manifests that the program would have written, so that such an agent
//! is one like any other, in memory and in a store: the tools in a document of kind `celador/v1/tools`, and an agent that admits them.

use crate::sources::Source;
use celador::BroughtTool;
use serde_json::{Value, json};

/// The name of the document that has the tools.
const TOOLS: &str = "tools_of_the_host";

/// The manifests of an agent that may call these tools.
pub(crate) fn manifests(namespace: &str, name: &str, tools: &[BroughtTool]) -> Source {
    let agent = json!({
        "kind": "commonagents.info/v1beta2/agent",
        "namespace": namespace,
        "name": name,
        "description": "Has the tools of its host, under policies.",
        "prompt": "The host has its own.",
        "capabilities": if tools.is_empty() { json!({}) } else { json!({ TOOLS: "*" }) },
    });
    let documents = match tools {
        [] => vec![agent],
        tools => vec![tools_document(namespace, tools), agent],
    };
    // JSON is YAML, and a line for each value gives diagnostics a place
    let texts: Vec<String> = documents.iter().map(|document| format!("{document:#}\n")).collect();
    Source::text("tools of the host", texts.join("---\n"))
}

fn tools_document(namespace: &str, tools: &[BroughtTool]) -> Value {
    json!({
        "kind": "celador/v1/tools",
        "namespace": namespace,
        "name": TOOLS,
        "tools": tools,
    })
}
