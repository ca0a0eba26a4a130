//! Answers of OpenAI's responses, whole: items, of which calls are some.

use super::answer::{Answer, Usage, all_text};
use super::call::{ModelCall, is_call};
use super::forms::responses_answer::ITEMS;
use super::shape::Shape;
use super::{add_usage, array, array_mut, count, is_type, text_of};
use serde_json::{Value, json};

/// The items of an answer, for its texts.
static OUTPUT: Shape = Shape::Object(&[("output", Shape::List(&Shape::Kinds(&ITEMS)))]);

pub(super) fn answer(whole: &Value) -> Answer {
    let output = array(whole, "output");
    let messages = output.iter().filter(|it| is_type(it, "message"));
    let parts = messages.flat_map(|it| array(it, "content"));
    let texts: Vec<&str> = parts.map(|it| text_of(it, "text")).collect();
    let usage = whole.get("usage");
    let items = json!({"output": output});
    Answer {
        text: all_text(&texts.concat(), &items, &OUTPUT, |at| at.ends_with("/text")),
        calls: output.iter().filter(|it| is_call(it)).map(ModelCall::of_item).collect(),
        finish: whole.get("status").and_then(Value::as_str).map(str::to_owned),
        usage: Usage { prompt: count(usage, "input_tokens"), completion: count(usage, "output_tokens") },
    }
}

pub(super) fn dress(whole: &mut Value, text: Option<&str>, calls: &[ModelCall]) {
    let id = text_of(whole, "id").to_owned();
    let Some(output) = array_mut(whole, "output") else { return };
    if let Some(text) = text {
        output.retain(is_call);
        output.insert(0, said(&id, text));
    }
    let mut left: Vec<&ModelCall> = calls.iter().collect();
    output.retain_mut(|item| {
        if !is_call(item) {
            return true;
        }
        let Some(at) = left.iter().position(|call| call.id == text_of(item, "call_id")) else { return false };
        left.remove(at).put_into_item(item);
        true
    });
    output.extend(left.into_iter().map(ModelCall::for_item));
}

fn said(id: &str, text: &str) -> Value {
    let part = json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
    json!({"type": "message", "id": format!("msg_{id}"), "role": "assistant", "status": "completed", "content": [part]})
}

pub(super) fn made(id: &str, model: &str, at: u64, text: &str) -> Value {
    let output = if text.is_empty() { json!([]) } else { json!([said(id, text)]) };
    json!({
        "id": format!("resp_{id}"), "object": "response", "created_at": at, "status": "completed", "error": null,
        "incomplete_details": null, "instructions": null, "metadata": {}, "model": model, "output": output,
        "parallel_tool_calls": true, "temperature": null, "tool_choice": "auto", "tools": [], "top_p": null,
        "usage": {
            "input_tokens": 0, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 0
        }
    })
}

pub(super) fn join(first: &mut Value, mut next: Value) {
    if let Some(usage) = next.get_mut("usage") {
        add_usage(usage, first.get("usage").unwrap_or(&Value::Null));
    }
    let before = array(first, "output").to_vec();
    if let Some(output) = array_mut(&mut next, "output") {
        output.splice(0..0, before);
    }
    // clients hold an answer to the id that it began with
    if let (Some(next), Some(id)) = (next.as_object_mut(), first.get("id")) {
        next.insert("id".to_owned(), id.clone());
    }
    *first = next;
}
