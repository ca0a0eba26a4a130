//! Answers of OpenAI's chat completions, whole: one choice, with a message and why it stopped.

use super::answer::{Answer, Usage, all_text};
use super::call::{ModelCall, of_chat_message};
use super::forms::chat_answer::ANSWER;
use super::shape::Shape;
use super::{add_usage, count, text_of};
use serde_json::{Value, json};

pub(super) fn answer(whole: &Value) -> Answer {
    let choice = whole.pointer("/choices/0").unwrap_or(&Value::Null);
    let message = choice.get("message").unwrap_or(&Value::Null);
    let usage = whole.get("usage");
    Answer {
        text: all_text(text_of(message, "content"), whole, &Shape::Object(ANSWER), |at| {
            at.ends_with("/content")
        }),
        calls: of_chat_message(message),
        finish: choice.get("finish_reason").and_then(Value::as_str).map(str::to_owned),
        usage: Usage { prompt: count(usage, "prompt_tokens"), completion: count(usage, "completion_tokens") },
    }
}

pub(super) fn dress(whole: &mut Value, text: Option<&str>, calls: &[ModelCall]) {
    let Some(choice) = whole.pointer_mut("/choices/0").and_then(Value::as_object_mut) else { return };
    let stopped = if calls.is_empty() { "stop" } else { "tool_calls" };
    let decides = choice
        .get("finish_reason")
        .is_none_or(|it| ["tool_calls", "function_call", "stop"].iter().any(|word| it == word));
    if decides || text.is_some() || !calls.is_empty() {
        choice.insert("finish_reason".to_owned(), json!(stopped));
    }
    if text.is_some() {
        choice.insert("logprobs".to_owned(), Value::Null);
    }
    let Some(message) = choice.get_mut("message").and_then(Value::as_object_mut) else { return };
    if let Some(text) = text {
        message.retain(|key, _| ["role", "tool_calls"].contains(&key.as_str()));
        message.insert("content".to_owned(), json!(text));
    }
    if calls.is_empty() {
        message.shift_remove("tool_calls");
    } else {
        message.insert("tool_calls".to_owned(), calls.iter().map(ModelCall::for_chat).collect());
    }
}

pub(super) fn made(id: &str, model: &str, at: u64, text: &str) -> Value {
    json!({
        "id": format!("chatcmpl-{id}"), "object": "chat.completion", "created": at, "model": model,
        "choices": [{
            "index": 0, "message": {"role": "assistant", "content": text, "refusal": null},
            "logprobs": null, "finish_reason": "stop"
        }],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    })
}

pub(super) fn join(first: &mut Value, mut next: Value) {
    let content = |whole: &Value| {
        let content = whole.pointer("/choices/0/message/content").and_then(Value::as_str);
        content.unwrap_or_default().to_owned()
    };
    let before = content(first);
    if let Some(usage) = next.get_mut("usage") {
        add_usage(usage, first.get("usage").unwrap_or(&Value::Null));
    }
    let after = content(&next);
    let break_ = if before.is_empty() || after.is_empty() { "" } else { "\n\n" };
    if let Some(message) = next.pointer_mut("/choices/0/message").and_then(Value::as_object_mut) {
        message.insert("content".to_owned(), json!(format!("{before}{break_}{after}")));
    }
    if let (Some(next), Some(id)) = (next.as_object_mut(), first.get("id")) {
        next.insert("id".to_owned(), id.clone());
    }
    *first = next;
}
