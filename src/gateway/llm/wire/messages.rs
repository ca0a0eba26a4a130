//! Anthropic's messages.
//!
//! A request has `messages` of blocks, in which results of calls stand beside what the user says; an answer is one message. In a
//! stream each block is begun, continued and ended under its position, and what the message has besides comes first and last.

use super::{
    Answer, Conversation, Fate, Item, Kind, ModelCall, Sent, Told, Tool, Usage, add_usage, array, array_mut,
    count, is_true, is_type, model, sse, text_of, texts,
};
use serde_json::{Map, Value, json};

/// The types of tools that Anthropic defines and the client carries out: they are calls like any other, with arguments that the client
/// knows. All other types run at Anthropic.
const OF_THE_CLIENT: [&str; 5] = ["custom", "bash_", "text_editor_", "computer_", "memory_"];

pub(super) fn read(body: &Value) -> Result<Conversation, String> {
    let messages = body.get("messages").and_then(Value::as_array).ok_or("`messages` is not an array")?;
    let mut unseen = Vec::new();
    if body.get("mcp_servers").and_then(Value::as_array).is_some_and(|servers| !servers.is_empty()) {
        unseen.push("`mcp_servers`, which Anthropic calls by itself".to_owned());
    }
    let mut tools = Vec::new();
    for tool in array(body, "tools") {
        let kind = text_of(tool, "type");
        if kind.is_empty() || OF_THE_CLIENT.iter().any(|prefix| kind.starts_with(prefix)) {
            tools.push(Tool {
                name: text_of(tool, "name").to_owned(),
                description: tool.get("description").and_then(Value::as_str).map(str::to_owned),
                schema: tool.get("input_schema").cloned().unwrap_or_else(|| json!({"type": "object"})),
            });
        } else {
            unseen.push(format!("a tool of type `{kind}`, which Anthropic runs"));
        }
    }
    let system = texts(body.get("system"), "/system", &["text"]);
    let mut items = vec![Item { kind: Kind::System, texts: system, holder: "/system".to_owned() }];
    for (at, message) in messages.iter().enumerate() {
        read_message(at, message, &mut items)?;
    }
    let text =
        |at: &str| body.pointer(at).and_then(Value::as_str).filter(|it| !it.is_empty()).map(str::to_owned);
    Ok(Conversation {
        model: model(body)?,
        streams: is_true(body, "stream"),
        wants_usage: true,
        items,
        tools,
        unseen,
        user: text("/metadata/user_id"),
        named: None,
        previous: None,
        is_kept: false,
    })
}

fn read_message(at: usize, message: &Value, items: &mut Vec<Item>) -> Result<(), String> {
    let holder = format!("/messages/{at}/content");
    let content = message.get("content");
    let blocks = content.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let kind = match text_of(message, "role") {
        "system" => Kind::System,
        "assistant" => {
            Kind::Assistant(blocks.iter().filter(|it| is_type(it, "tool_use")).map(call).collect())
        }
        "user" => {
            for (place, block) in blocks.iter().enumerate().filter(|(_, block)| is_type(block, "tool_result"))
            {
                let holder = format!("{holder}/{place}/content");
                let kind = Kind::Result {
                    call: text_of(block, "tool_use_id").to_owned(),
                    failed: is_true(block, "is_error"),
                };
                items.push(Item { kind, texts: texts(block.get("content"), &holder, &["text"]), holder });
            }
            if !blocks.is_empty() && blocks.iter().all(|block| is_type(block, "tool_result")) {
                return Ok(());
            }
            Kind::User
        }
        _ => return Err(format!("`messages[{at}].role` is none that is known")),
    };
    items.push(Item { kind, texts: texts(content, &holder, &["text"]), holder });
    Ok(())
}

fn call(block: &Value) -> ModelCall {
    let arguments = block.get("input").and_then(Value::as_object).cloned();
    ModelCall { id: text_of(block, "id").to_owned(), name: text_of(block, "name").to_owned(), arguments }
}

fn written(call: &ModelCall) -> Value {
    let input = call.arguments.clone().unwrap_or_default();
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
}

pub(super) fn answer(whole: &Value) -> Answer {
    let blocks = array(whole, "content");
    let texts: Vec<&str> =
        blocks.iter().filter(|it| is_type(it, "text")).map(|it| text_of(it, "text")).collect();
    let usage = whole.get("usage");
    let prompt = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    Answer {
        text: texts.concat(),
        calls: blocks.iter().filter(|it| is_type(it, "tool_use")).map(call).collect(),
        finish: whole.get("stop_reason").and_then(Value::as_str).map(str::to_owned),
        usage: Usage {
            prompt: prompt.iter().fold(0, |sum, key| count(usage, key).saturating_add(sum)),
            completion: count(usage, "output_tokens"),
        },
        unseen: Vec::new(),
    }
}

pub(super) fn dress(whole: &mut Value, text: Option<&str>, calls: &[ModelCall]) {
    let Some(members) = whole.as_object_mut() else { return };
    let decides = members.get("stop_reason").is_none_or(|it| it == "tool_use" || it == "end_turn");
    if decides || text.is_some() || !calls.is_empty() {
        let stopped = if calls.is_empty() { "end_turn" } else { "tool_use" };
        members.insert("stop_reason".to_owned(), json!(stopped));
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
    blocks.extend(left.into_iter().map(written));
}

pub(super) fn made(id: &str, model: &str, text: &str) -> Value {
    let content = if text.is_empty() { json!([]) } else { json!([{"type": "text", "text": text}]) };
    json!({
        "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 0, "output_tokens": 0}
    })
}

pub(super) fn append(body: &mut Value, whole: &Value) {
    if let (Some(messages), Some(content)) = (array_mut(body, "messages"), whole.get("content")) {
        messages.push(json!({"role": "assistant", "content": content}));
    }
}

fn result(told: &Told) -> Value {
    json!({"type": "tool_result", "tool_use_id": told.call.id, "content": told.text, "is_error": told.failed})
}

pub(super) fn tell(body: &mut Value, told: &[Told]) {
    if let Some(messages) = array_mut(body, "messages") {
        messages.push(json!({"role": "user", "content": told.iter().map(result).collect::<Vec<_>>()}));
    }
}

pub(super) fn insert(body: &mut Value, beside: &str, told: &[Told]) {
    let Some(messages) = array_mut(body, "messages") else { return };
    let has = |message: &Value| {
        let mut blocks = array(message, "content").iter().filter(|block| is_type(block, "tool_use"));
        blocks.any(|block| text_of(block, "id") == beside)
    };
    let Some(at) = messages.iter().position(has) else { return };
    if let Some(blocks) = messages.get_mut(at).and_then(|message| array_mut(message, "content")) {
        blocks.extend(told.iter().map(|told| written(&told.call)));
    }
    let results = told.iter().map(result);
    let behind = at.saturating_add(1);
    match messages.get_mut(behind).and_then(|message| message.get_mut("content")) {
        Some(Value::Array(blocks)) => {
            let place = blocks.iter().take_while(|block| is_type(block, "tool_result")).count();
            blocks.splice(place..place, results);
        }
        _ => messages.insert(behind, json!({"role": "user", "content": results.collect::<Vec<_>>()})),
    }
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

/// Where the arguments of a call are collected while they come in pieces.
const PIECES: &str = "input pieces";

/// Takes in an event. The beginning of a call is held, and so is what the message has besides, at its end.
pub(super) fn take(whole: &mut Value, event: &Value, sent: &mut Sent) -> (Fate, bool) {
    let at = usize::try_from(count(Some(event), "index")).unwrap_or(usize::MAX);
    match text_of(event, "type") {
        "message_start" => {
            *whole = event.get("message").cloned().unwrap_or_default();
            sent.begun = true;
            (Fate::Pass, false)
        }
        "content_block_start" => {
            let block = event.get("content_block").cloned().unwrap_or_default();
            let is_call = is_type(&block, "tool_use");
            if let Some(blocks) = array_mut(whole, "content") {
                blocks.push(block);
                sent.units = blocks.len();
            }
            (if is_call { Fate::Hold } else { Fate::Pass }, false)
        }
        "content_block_delta" => {
            let block =
                whole.get_mut("content").and_then(|blocks| blocks.get_mut(at)).and_then(Value::as_object_mut);
            if let (Some(block), Some(delta)) = (block, event.get("delta")) {
                take_piece(block, delta);
            }
            (Fate::Pass, false)
        }
        "message_delta" => {
            if let Some(members) = whole.as_object_mut() {
                for (key, value) in event.get("delta").and_then(Value::as_object).into_iter().flatten() {
                    members.insert(key.clone(), value.clone());
                }
                let usage = members.entry("usage").or_insert_with(|| json!({})).as_object_mut();
                if let (Some(usage), Some(Value::Object(new))) = (usage, event.get("usage")) {
                    let said = new.iter().filter(|(_, value)| !value.is_null());
                    usage.extend(said.map(|(key, value)| (key.clone(), value.clone())));
                }
            }
            (Fate::Hold, false)
        }
        "message_stop" => (Fate::Hold, true),
        _ => (Fate::Pass, false),
    }
}

fn take_piece(block: &mut Map<String, Value>, delta: &Value) {
    let (key, piece) = match text_of(delta, "type") {
        "text_delta" => ("text", text_of(delta, "text")),
        "thinking_delta" => ("thinking", text_of(delta, "thinking")),
        "signature_delta" => ("signature", text_of(delta, "signature")),
        "input_json_delta" => (PIECES, text_of(delta, "partial_json")),
        "citations_delta" => {
            let place = block.entry("citations").or_insert_with(|| json!([]));
            if place.is_null() {
                *place = json!([]);
            }
            if let (Some(list), Some(citation)) = (place.as_array_mut(), delta.get("citation")) {
                list.push(citation.clone());
            }
            return;
        }
        _ => return,
    };
    match block.get_mut(key) {
        Some(Value::String(text)) => text.push_str(piece),
        _ => drop(block.insert(key.to_owned(), json!(piece))),
    }
}

/// Reads the arguments whose pieces have come. Those that are no JSON stay a text, which are no arguments.
pub(super) fn settle(mut whole: Value) -> Value {
    for block in whole.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(block) = block.as_object_mut()
            && let Some(Value::String(text)) = block.shift_remove(PIECES)
            && !text.is_empty()
        {
            let input = serde_json::from_str(&text).unwrap_or(Value::String(text));
            block.insert("input".to_owned(), input);
        }
    }
    whole
}

pub(super) fn events(whole: &Value, sent: Sent) -> String {
    let mut written = String::new();
    if !sent.begun {
        let mut message = whole.clone();
        if let Some(message) = message.as_object_mut() {
            message.insert("content".to_owned(), json!([]));
            message.insert("stop_reason".to_owned(), Value::Null);
        }
        written += &sse::event("message_start", &json!({"type": "message_start", "message": message}));
    }
    for (index, block) in array(whole, "content").iter().enumerate().skip(sent.units) {
        written += &block_events(index, block);
    }
    let delta = json!({"stop_reason": whole.get("stop_reason"), "stop_sequence": whole.get("stop_sequence")});
    let usage = whole.get("usage").cloned().unwrap_or_else(|| json!({"output_tokens": 0}));
    written +=
        &sse::event("message_delta", &json!({"type": "message_delta", "delta": delta, "usage": usage}));
    written + &sse::event("message_stop", &json!({"type": "message_stop"}))
}

fn block_events(index: usize, block: &Value) -> String {
    let mut empty = block.clone();
    let mut deltas = Vec::new();
    if let Some(members) = empty.as_object_mut() {
        match text_of(block, "type") {
            "text" => {
                members.insert("text".to_owned(), json!(""));
                deltas.push(json!({"type": "text_delta", "text": block.get("text")}));
                if let Some(Value::Array(citations)) = members.get_mut("citations").map(Value::take) {
                    members.insert("citations".to_owned(), json!([]));
                    let delta = |citation| json!({"type": "citations_delta", "citation": citation});
                    deltas.extend(citations.into_iter().map(delta));
                }
            }
            "thinking" => {
                for (key, kind) in [("thinking", "thinking_delta"), ("signature", "signature_delta")] {
                    members.insert(key.to_owned(), json!(""));
                    let piece = json!({"type": kind, key: block.get(key)});
                    deltas.extend(block.get(key).is_some().then_some(piece));
                }
            }
            "tool_use" => {
                members.insert("input".to_owned(), json!({}));
                let input = block.get("input").cloned().unwrap_or_default().to_string();
                deltas.push(json!({"type": "input_json_delta", "partial_json": input}));
            }
            _ => {}
        }
    }
    let start = json!({"type": "content_block_start", "index": index, "content_block": empty});
    let mut written = sse::event("content_block_start", &start);
    for delta in deltas {
        let delta = json!({"type": "content_block_delta", "index": index, "delta": delta});
        written += &sse::event("content_block_delta", &delta);
    }
    written + &sse::event("content_block_stop", &json!({"type": "content_block_stop", "index": index}))
}
