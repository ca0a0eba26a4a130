//! What is sent to a model and what it answers, as JSON Schema: said once, for what checks documents, for what types expressions, and
//! for whoever speaks with a server.
//!
//! The names of roles and parts are those of OpenTelemetry's conventions for models where these have some, and the counts of tokens
//! are called as in a turn of the model. A key with a `default` is one that a host may leave out, and that every step finds.

use serde_json::{Value, json};

/// What is sent to a model.
pub fn request_schema() -> Value {
    json!({
        "type": "object",
        "required": ["model", "messages"],
        "additionalProperties": false,
        "properties": {
            "model": { "type": "string", "description": "The name of the model." },
            "messages": {
                "type": "array",
                "description": "What it is told, in order; instructions of the system are messages too.",
                "items": {
                    "type": "object",
                    "required": ["role", "text"],
                    "additionalProperties": false,
                    "properties": {
                        "role": {
                            "enum": ["system", "user", "assistant", "tool"],
                            "description": "Whose words they are."
                        },
                        "text": {
                            "type": "string",
                            "description": "All of its text; empty where it has none."
                        },
                        "other": other()
                    }
                }
            },
            "tools": {
                "type": "array",
                "items": { "type": "string" },
                "default": [],
                "description": "The names of the tools that it is offered."
            },
            "parameters": {
                "type": "object",
                "default": {},
                "description": "How it is to answer, such as `temperature`, by the names of its own interface."
            },
            "other": defaulted_other()
        }
    })
}

/// What a model answers.
pub fn answer_schema() -> Value {
    let tokens = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    json!({
        "type": "object",
        "required": ["text"],
        "additionalProperties": false,
        "properties": {
            "text": { "type": "string", "description": "All of its text; empty where it has none." },
            "tool_calls": {
                "type": "array",
                "default": [],
                "description": "The calls that it asks for, in order.",
                "items": {
                    "type": "object",
                    "required": ["name", "arguments"],
                    "additionalProperties": false,
                    "properties": {
                        "id": { "type": "string", "description": "The id that the model gave it." },
                        "name": { "type": "string", "description": "The function." },
                        "arguments": { "type": "object", "description": "Its arguments." },
                        "other": other()
                    }
                }
            },
            "finish_reason": { "type": "string", "description": "Why it stopped, in the words of its interface." },
            "usage": {
                "type": "object",
                "required": ["prompt_tokens", "completion_tokens"],
                "additionalProperties": false,
                "properties": {
                    "prompt_tokens": tokens("Tokens read."),
                    "completion_tokens": tokens("Tokens written."),
                    "cost": {
                        "type": "number",
                        "minimum": 0,
                        "description": "What the answer cost, in a unit of the host's."
                    }
                },
                "description": "What it used. It counts for the task once."
            },
            "other": defaulted_other()
        }
    })
}

fn other() -> Value {
    json!({ "type": "object", "description": "Whatever else the host has of it, by names of its own." })
}

fn defaulted_other() -> Value {
    let mut schema = other();
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("default".to_owned(), json!({}));
    }
    schema
}
