//! Answers of Anthropic's messages, whole: one message of blocks.

use super::answer::{Answer, Usage, all_text};
use super::call::ModelCall;
use super::forms::messages_answer::ANSWER;
use super::shape::Shape;
use super::{add_usage, array, array_mut, count, is_type, text_of};
use serde_json::{Value, json};

pub(super) fn answer(whole: &Value) -> Answer {
    let blocks = array(whole, "content");
    let texts: Vec<&str> =
        blocks.iter().filter(|it| is_type(it, "text")).map(|it| text_of(it, "text")).collect();
    let usage = whole.get("usage");
    let prompt = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    let is_said = |at: &str| at.starts_with("/content/") && at.ends_with("/text");
    Answer {
        text: all_text(&texts.concat(), whole, &Shape::Object(ANSWER), is_said),
        calls: blocks.iter().filter(|it| is_type(it, "tool_use")).map(ModelCall::of_block).collect(),
        finish: whole.get("stop_reason").and_then(Value::as_str).map(str::to_owned),
        usage: Usage {
            prompt: prompt.iter().fold(0, |sum, key| count(usage, key).saturating_add(sum)),
            completion: count(usage, "output_tokens"),
        },
    }
}

pub(super) fn dress(whole: &mut Value, text: Option<&str>, calls: &[ModelCall]) {
    let Some(members) = whole.as_object_mut() else { return };
    let decides = members.get("stop_reason").is_none_or(|it| it == "tool_use" || it == "end_turn");
    if decides || text.is_some() || !calls.is_empty() {
        let stopped = if calls.is_empty() { "end_turn" } else { "tool_use" };
        members.insert("stop_reason".to_owned(), json!(stopped));
    }
    if text.is_some() {
        members.shift_remove("stop_details");
    }
    let Some(blocks) = array_mut(whole, "content") else { return };
    if let Some(text) = text {
        blocks.retain(|block| is_type(block, "tool_use"));
        blocks.insert(0, json!({"type": "text", "text": text}));
    }
    let mut left: Vec<&ModelCall> = calls.iter().collect();
    blocks.retain_mut(|block| {
        if !is_type(block, "tool_use") {
            return true;
        }
        let Some(at) = left.iter().position(|call| call.id == text_of(block, "id")) else { return false };
        let call = left.remove(at);
        block.as_object_mut().map(|block| block.insert("input".to_owned(), json!(call.arguments)));
        true
    });
    blocks.extend(left.into_iter().map(ModelCall::for_block));
}

pub(super) fn made(id: &str, model: &str, text: &str) -> Value {
    let content = if text.is_empty() { json!([]) } else { json!([{"type": "text", "text": text}]) };
    json!({
        "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 0, "output_tokens": 0}
    })
}

pub(super) fn join(first: &mut Value, mut next: Value) {
    if let Some(usage) = next.get_mut("usage") {
        add_usage(usage, first.get("usage").unwrap_or(&Value::Null));
    }
    let before = array(first, "content").to_vec();
    if let Some(blocks) = array_mut(&mut next, "content") {
        blocks.splice(0..0, before);
    }
    if let (Some(next), Some(id)) = (next.as_object_mut(), first.get("id")) {
        next.insert("id".to_owned(), id.clone());
    }
    *first = next;
}
