//! Requests of Anthropic's messages as a conversation: blocks, in which results of calls stand beside what the user says.

use super::answer::Told;
use super::call::ModelCall;
use super::conversation::{Conversation, Item, Kind, check};
use super::forms::messages::{PROSE, REQUEST};
use super::{array, array_mut, is_true, is_type, said, text_of, tools};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Result<Conversation, String> {
    if !body.get("messages").is_some_and(Value::is_array) {
        return Err("`messages` is not an array".to_owned());
    }
    let mut unseen = check(REQUEST, body)?;
    if body.get("mcp_servers").is_some() {
        unseen.push("`mcp_servers`, which Anthropic calls by itself".to_owned());
    }
    Ok(Conversation {
        model: said(body, "/model").ok_or("`model` is missing")?,
        streams: is_true(body, "stream"),
        wants_usage: true,
        items: items(body),
        tools: tools::of_messages(body),
        unseen,
        user: said(body, "/metadata/user_id"),
        named: None,
        previous: said(body, "/thread/previous_message_id"),
        is_kept: false,
    })
}

/// What was said: the instructions first.
pub(super) fn items(body: &Value) -> Vec<Item> {
    let mut items = vec![Item::new(Kind::System, &PROSE, body, "/system".to_owned())];
    for (at, message) in array(body, "messages").iter().enumerate() {
        read_message(body, at, message, &mut items);
    }
    items
}

fn read_message(body: &Value, at: usize, message: &Value, items: &mut Vec<Item>) {
    let holder = format!("/messages/{at}/content");
    let blocks = array(message, "content");
    let kind = match text_of(message, "role") {
        "system" => Kind::System,
        "assistant" => {
            let calls = blocks.iter().filter(|it| is_type(it, "tool_use"));
            Kind::Assistant(calls.map(ModelCall::of_block).collect())
        }
        _ => Kind::User,
    };
    // results stand anywhere, and only users have them; what another role says is its text
    let is_result = |block: &Value| kind == Kind::User && is_type(block, "tool_result");
    for (place, block) in blocks.iter().enumerate().filter(|(_, block)| is_result(block)) {
        let kind = Kind::result(text_of(block, "tool_use_id"), is_true(block, "is_error"));
        items.push(Item::new(kind, &PROSE, body, format!("{holder}/{place}/content")));
    }
    if !blocks.is_empty() && blocks.iter().all(is_result) {
        return;
    }
    let mut item = Item::new(kind.clone(), &PROSE, body, holder);
    item.texts.retain(|text| {
        let place = text.at.strip_prefix(&*item.holder).and_then(|rest| rest.split('/').nth(1));
        let place = place.and_then(|place| place.parse::<usize>().ok());
        !place.and_then(|place| blocks.get(place)).is_some_and(is_result)
    });
    items.push(item);
}

pub(super) fn append(body: &mut Value, whole: &Value) {
    let mut content = whole.get("content").cloned().unwrap_or_else(|| json!([]));
    for block in content.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        // arguments that are no object cannot be said in a request
        if block.get("input").is_some_and(Value::is_string) {
            block.insert("input".to_owned(), json!({}));
        }
    }
    if let Some(messages) = array_mut(body, "messages") {
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

/// The call stands in the messages, or in an answer that the API has kept: then its result alone is in the messages.
pub(super) fn insert(body: &mut Value, beside: &str, after: usize, told: &[Told]) {
    let Some(messages) = array_mut(body, "messages") else { return };
    let has = |message: &Value, kind: &str, key: &str| {
        array(message, "content").iter().any(|block| is_type(block, kind) && text_of(block, key) == beside)
    };
    let find = |messages: &[Value], kind: &str, key: &str| {
        messages.iter().enumerate().filter(|(_, it)| has(it, kind, key)).nth(after).map(|(at, _)| at)
    };
    let results = told.iter().map(result);
    let behind = match find(messages, "tool_use", "id") {
        Some(at) => {
            if let Some(blocks) = messages.get_mut(at).and_then(|message| array_mut(message, "content")) {
                blocks.extend(told.iter().map(|told| told.call.for_block()));
            }
            at.saturating_add(1)
        }
        None => match find(messages, "tool_result", "tool_use_id") {
            Some(at) => at,
            None => return,
        },
    };
    match messages.get_mut(behind).and_then(|message| message.get_mut("content")) {
        Some(Value::Array(blocks)) => {
            let place = blocks.iter().take_while(|block| is_type(block, "tool_result")).count();
            blocks.splice(place..place, results);
        }
        _ => messages.insert(behind, json!({"role": "user", "content": results.collect::<Vec<_>>()})),
    }
}

/// What the vendor has not been sent, where it keeps the conversation.
pub(super) fn unsent(body: &Value) -> (Option<String>, Vec<Value>) {
    if body.get("thread").is_none_or(Value::is_null) {
        return (None, Vec::new());
    }
    (said(body, "/thread/previous_message_id"), array(body, "messages").to_vec())
}

pub(super) fn put_unsent(body: &mut Value, previous: Option<&str>, ahead: Vec<Value>) {
    if let Some(messages) = array_mut(body, "messages") {
        messages.splice(0..0, ahead);
    }
    let thread = match previous {
        Some(previous) => json!({"type": "continue", "previous_message_id": previous}),
        None => json!({"type": "create"}),
    };
    body.as_object_mut().map(|body| body.insert("thread".to_owned(), thread));
}

pub(super) fn unsent_of(whole: &Value, has_calls: bool) -> Vec<Value> {
    let blocks = array(whole, "content").iter().filter(|block| !(has_calls && is_type(block, "tool_use")));
    let blocks: Vec<&Value> = blocks.collect();
    if blocks.is_empty() { Vec::new() } else { vec![json!({"role": "assistant", "content": blocks})] }
}
