//! `tool`, as checks of tools see it: a tool that a task brings, by what it says of itself.
//!
//! In: a tool as `tools/list` of MCP has it. Out: the type of `tool`, and its value: the members of the list, those for people empty where the
//! server says nothing, and `text`, all texts of the tool, a line each. Linear in the tool.

use super::record_type::record;
use crate::cel::{Json, Type};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The type of `tool`.
pub(crate) fn tool_type() -> Type {
    static TOOL: LazyLock<Type> = LazyLock::new(|| {
        let annotations = record(
            "annotations",
            [
                ("title".into(), Type::String, false, "a name for people"),
                ("readOnlyHint".into(), Type::Bool, false, "it changes nothing, says its server"),
                ("destructiveHint".into(), Type::Bool, false, "it may destroy something"),
                ("idempotentHint".into(), Type::Bool, false, "the same call again changes nothing more"),
                ("openWorldHint".into(), Type::Bool, false, "it reaches beyond what its server holds"),
            ],
        );
        record(
            "tool",
            [
                ("name".into(), Type::String, true, "the name by which the model calls it"),
                ("title".into(), Type::String, true, "a name for people; empty if there is none"),
                (
                    "description".into(),
                    Type::String,
                    true,
                    "what the model is told; empty if that is nothing",
                ),
                ("inputSchema".into(), Type::Dyn, true, "the schema of its arguments"),
                ("outputSchema".into(), Type::Dyn, false, "the schema of its results"),
                ("annotations".into(), annotations, true, "hints of its server"),
                ("text".into(), Type::String, true, "all texts of it, a line each"),
            ],
        )
    });
    TOOL.clone()
}

/// The value of `tool`, of a tool as the list has it.
pub(crate) fn tool_value(mut value: Value) -> Json {
    let text = tool_text(&value);
    if let Some(members) = value.as_object_mut() {
        for name in ["title", "description"] {
            members.entry(name).or_insert_with(|| json!(""));
        }
        members.entry("annotations").or_insert_with(|| json!({}));
        members.insert("text".to_owned(), text.into());
    }
    Json::from(&value)
}

/// All texts of a tool as `tools/list` of MCP has it, a line each, names of members among them: a schema has descriptions, defaults and
/// examples at any depth.
///
/// ```
/// let tool = serde_json::json!({"name": "add", "description": "Adds.", "inputSchema": {"default": "0"}});
/// assert_eq!(celador::tool_text(&tool), "add\nAdds.\ndefault\n0");
/// ```
#[must_use]
pub fn tool_text(tool: &Value) -> String {
    let mut texts = Vec::new();
    for member in ["name", "title", "description", "inputSchema", "outputSchema", "annotations"] {
        gather(tool.get(member).unwrap_or(&Value::Null), &mut texts);
    }
    texts.join("\n")
}

fn gather<'t>(value: &'t Value, texts: &mut Vec<&'t str>) {
    // what comes as JSON is no deeper than its reader lets it be
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| gather(item, texts)),
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            texts.push(name);
            gather(value, texts);
        }),
        _ => {}
    }
}
