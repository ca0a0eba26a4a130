//! OpenAI's chat completions.
//!
//! A request has `messages`; an answer has one choice, with a message and why it stopped. In a stream each chunk has what is new of
//! the message: the text in pieces, calls by their position with their arguments in pieces.

use super::{
    Answer, Conversation, Fate, Item, Kind, ModelCall, Sent, Told, Tool, Usage, add_usage, array, array_mut,
    count, is_true, is_type, model, sse, text_of, texts,
};
use serde_json::{Map, Value, json};

pub(super) fn read(body: &Value) -> Result<Conversation, String> {
    let messages = body.get("messages").and_then(Value::as_array).ok_or("`messages` is not an array")?;
    let mut unseen = Vec::new();
    for key in ["functions", "function_call", "web_search_options"] {
        if body.get(key).is_some_and(|value| !value.is_null()) {
            unseen.push(format!("`{key}`"));
        }
    }
    if body.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1) {
        unseen.push("more than one choice (`n`)".to_owned());
    }
    let mut tools = Vec::new();
    for tool in array(body, "tools") {
        match tool.get("function").filter(|_| is_type(tool, "function")) {
            Some(function) => tools.push(Tool {
                name: text_of(function, "name").to_owned(),
                description: function.get("description").and_then(Value::as_str).map(str::to_owned),
                schema: function.get("parameters").cloned().unwrap_or_else(|| json!({"type": "object"})),
            }),
            None => unseen.push(format!("a tool of type `{}`", text_of(tool, "type"))),
        }
    }
    let items = messages.iter().enumerate().map(|(at, message)| item(at, message));
    let text = |key| body.get(key).and_then(Value::as_str).filter(|it| !it.is_empty()).map(str::to_owned);
    Ok(Conversation {
        model: model(body)?,
        streams: is_true(body, "stream"),
        wants_usage: body
            .pointer("/stream_options/include_usage")
            .and_then(Value::as_bool)
            .unwrap_or_default(),
        items: items.collect::<Result<_, String>>()?,
        tools,
        unseen,
        user: text("user").or_else(|| text("safety_identifier")),
        named: body.pointer("/metadata/celador_task").and_then(Value::as_str).map(str::to_owned),
        previous: None,
        is_kept: false,
    })
}

fn item(at: usize, message: &Value) -> Result<Item, String> {
    let holder = format!("/messages/{at}/content");
    let kind = match text_of(message, "role") {
        "system" | "developer" => Kind::System,
        "user" => Kind::User,
        "assistant" => Kind::Assistant(array(message, "tool_calls").iter().map(call).collect()),
        "tool" => Kind::Result { call: text_of(message, "tool_call_id").to_owned(), failed: false },
        _ => return Err(format!("`messages[{at}].role` is none that is known")),
    };
    Ok(Item { kind, texts: texts(message.get("content"), &holder, &["text"]), holder })
}

fn call(call: &Value) -> ModelCall {
    let function = call.get("function").unwrap_or(&Value::Null);
    ModelCall::of_text(text_of(call, "id"), text_of(function, "name"), text_of(function, "arguments"))
}

fn written(call: &ModelCall) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text()}})
}

pub(super) fn answer(whole: &Value) -> Answer {
    let choice = whole.pointer("/choices/0").unwrap_or(&Value::Null);
    let message = choice.get("message").unwrap_or(&Value::Null);
    let usage = whole.get("usage");
    let calls = array(message, "tool_calls");
    let other = calls.iter().filter(|call| call.get("function").is_none());
    Answer {
        text: text_of(message, "content").to_owned(),
        calls: calls.iter().filter(|call| call.get("function").is_some()).map(call_of).collect(),
        finish: choice.get("finish_reason").and_then(Value::as_str).map(str::to_owned),
        usage: Usage { prompt: count(usage, "prompt_tokens"), completion: count(usage, "completion_tokens") },
        unseen: other.map(|call| format!("a call of type `{}`", text_of(call, "type"))).collect(),
    }
}

fn call_of(value: &Value) -> ModelCall {
    call(value)
}

pub(super) fn dress(whole: &mut Value, text: Option<&str>, calls: &[ModelCall]) {
    let Some(choice) = whole.pointer_mut("/choices/0").and_then(Value::as_object_mut) else { return };
    let stopped = if calls.is_empty() { "stop" } else { "tool_calls" };
    let decides =
        choice.get("finish_reason").is_none_or(|it| ["tool_calls", "stop"].iter().any(|word| it == word));
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
        message.insert("tool_calls".to_owned(), calls.iter().map(written).collect());
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

pub(super) fn append(body: &mut Value, whole: &Value) {
    if let (Some(messages), Some(message)) =
        (array_mut(body, "messages"), whole.pointer("/choices/0/message"))
    {
        messages.push(message.clone());
    }
}

fn result(told: &Told) -> Value {
    json!({"role": "tool", "tool_call_id": told.call.id, "content": told.text})
}

pub(super) fn tell(body: &mut Value, told: &[Told]) {
    if let Some(messages) = array_mut(body, "messages") {
        messages.extend(told.iter().map(result));
    }
}

pub(super) fn insert(body: &mut Value, beside: &str, told: &[Told]) {
    let Some(messages) = array_mut(body, "messages") else { return };
    let has = |message: &Value| array(message, "tool_calls").iter().any(|call| text_of(call, "id") == beside);
    let Some(at) = messages.iter().position(has) else { return };
    if let Some(calls) = messages.get_mut(at).and_then(|message| array_mut(message, "tool_calls")) {
        calls.extend(told.iter().map(|told| written(&told.call)));
    }
    let behind = at.saturating_add(1);
    let results =
        messages.get(behind..).unwrap_or_default().iter().take_while(|it| text_of(it, "role") == "tool");
    let behind = behind.saturating_add(results.count());
    messages.splice(behind..behind, told.iter().map(result));
}

pub(super) fn join(first: &mut Value, mut next: Value) {
    let before = answer(first).text;
    if let Some(usage) = next.get_mut("usage") {
        add_usage(usage, first.get("usage").unwrap_or(&Value::Null));
    }
    let after = answer(&next).text;
    let break_ = if before.is_empty() || after.is_empty() { "" } else { "\n\n" };
    if let Some(content) = next.pointer_mut("/choices/0/message/content") {
        *content = json!(format!("{before}{break_}{after}"));
    }
    if let (Some(next), Some(id)) = (next.as_object_mut(), first.get("id")) {
        next.insert("id".to_owned(), id.clone());
    }
    *first = next;
}

/// Takes in a chunk. A chunk with a call, or the last one, is held; one of usage alone too.
pub(super) fn take(whole: &mut Value, chunk: &Value, sent: &mut Sent) -> (Fate, bool) {
    let Some(chunk) = chunk.as_object() else { return (Fate::Hold, false) };
    if whole.is_null() {
        *whole = json!({"object": "chat.completion"});
    }
    let Some(members) = whole.as_object_mut() else { return (Fate::Hold, false) };
    for (key, value) in chunk {
        if !["object", "choices"].contains(&key.as_str()) && !value.is_null() {
            members.insert(key.clone(), value.clone());
        }
    }
    let choice = chunk.get("choices").and_then(|choices| choices.get(0));
    let Some(choice) = choice else {
        // the usage alone, at the end
        return (
            if chunk.get("usage").is_some_and(|it| !it.is_null()) { Fate::Hold } else { Fate::Pass },
            false,
        );
    };
    let choices = members.entry("choices").or_insert_with(
        || json!([{"index": 0, "message": {"role": "assistant", "content": null}, "finish_reason": null}]),
    );
    let Some(own) = choices.get_mut(0).and_then(Value::as_object_mut) else { return (Fate::Hold, false) };
    let finish = choice.get("finish_reason").filter(|it| !it.is_null());
    if let Some(finish) = finish {
        own.insert("finish_reason".to_owned(), finish.clone());
    }
    if let Some(logprobs) = choice.get("logprobs").and_then(Value::as_object) {
        let kept = own.entry("logprobs").or_insert_with(|| json!({}));
        for (key, value) in logprobs {
            if let (Some(kept), Some(value)) = (array_mut(kept, key), value.as_array()) {
                kept.extend(value.iter().cloned());
            }
        }
    }
    let empty = Map::new();
    let delta = choice.get("delta").and_then(Value::as_object).unwrap_or(&empty);
    let mut calls = false;
    if let Some(message) = own.get_mut("message").and_then(Value::as_object_mut) {
        for (key, value) in delta {
            match (key.as_str(), value) {
                ("tool_calls", Value::Array(pieces)) => {
                    calls |= !pieces.is_empty();
                    pieces.iter().for_each(|piece| take_call(message, piece));
                }
                ("role", _) | (_, Value::Null) => {}
                (_, Value::String(piece)) => {
                    if key == "content" {
                        sent.units = sent.units.saturating_add(piece.len());
                    }
                    match message.get_mut(key) {
                        Some(Value::String(text)) => text.push_str(piece),
                        _ => drop(message.insert(key.clone(), json!(piece))),
                    }
                }
                (_, value) => drop(message.insert(key.clone(), value.clone())),
            }
        }
    }
    sent.begun = true;
    (if calls || finish.is_some() { Fate::Hold } else { Fate::Pass }, finish.is_some())
}

/// A piece of a call: the first has its id and name, all have pieces of the arguments.
fn take_call(message: &mut Map<String, Value>, piece: &Value) {
    let calls = message.entry("tool_calls").or_insert_with(|| json!([]));
    let Some(calls) = calls.as_array_mut() else { return };
    let at = piece.get("index").and_then(Value::as_u64).unwrap_or_default();
    let at = usize::try_from(at).unwrap_or(usize::MAX).min(calls.len());
    if at == calls.len() {
        calls.push(json!({"id": "", "type": "function", "function": {"name": "", "arguments": ""}}));
    }
    let Some(call) = calls.get_mut(at) else { return };
    for (from, to) in [("/id", "/id"), ("/function/name", "/function/name")] {
        if let (Some(Value::String(text)), Some(place)) = (piece.pointer(from), call.pointer_mut(to))
            && !text.is_empty()
        {
            *place = json!(text);
        }
    }
    let arguments = piece.pointer("/function/arguments").and_then(Value::as_str).unwrap_or_default();
    if let Some(Value::String(text)) = call.pointer_mut("/function/arguments") {
        text.push_str(arguments);
    }
}

pub(super) fn events(whole: &Value, sent: Sent, wants_usage: bool) -> String {
    let chunk = |choices: Value| {
        let mut chunk = json!({"id": whole.get("id"), "object": "chat.completion.chunk"});
        for key in ["created", "model", "system_fingerprint", "service_tier"] {
            if let (Some(value), Some(chunk)) = (whole.get(key), chunk.as_object_mut()) {
                chunk.insert(key.to_owned(), value.clone());
            }
        }
        chunk.as_object_mut().map(|chunk| chunk.insert("choices".to_owned(), choices));
        chunk
    };
    let choice = whole.pointer("/choices/0").unwrap_or(&Value::Null);
    let empty = Map::new();
    let message = choice.get("message").and_then(Value::as_object).unwrap_or(&empty);
    let mut written = String::new();
    let mut say = |delta: Value, finish: Value| {
        written += &sse::data(&chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}])));
    };
    if !sent.begun {
        let others = message.iter().filter(|(key, _)| !["content", "tool_calls"].contains(&key.as_str()));
        let mut delta: Map<String, Value> = others.map(|(key, value)| (key.clone(), value.clone())).collect();
        delta.insert("content".to_owned(), json!(""));
        say(Value::Object(delta), Value::Null);
    }
    let content = message.get("content").and_then(Value::as_str).unwrap_or_default();
    if let Some(rest) = content.get(sent.units..).filter(|rest| !rest.is_empty()) {
        say(json!({"content": rest}), Value::Null);
    }
    let calls = message.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (index, call) in calls.iter().enumerate() {
        let mut piece = call.clone();
        piece.as_object_mut().map(|piece| piece.insert("index".to_owned(), json!(index)));
        say(json!({"tool_calls": [piece]}), Value::Null);
    }
    say(json!({}), choice.get("finish_reason").cloned().unwrap_or(Value::Null));
    if let Some(usage) = whole.get("usage").filter(|_| wants_usage) {
        let mut last = chunk(json!([]));
        last.as_object_mut().map(|last| last.insert("usage".to_owned(), usage.clone()));
        written += &sse::data(&last);
    }
    written + "data: [DONE]\n\n"
}
