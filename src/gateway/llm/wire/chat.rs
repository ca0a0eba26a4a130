//! Requests of OpenAI's chat completions as a conversation.

use super::answer::Told;
use super::call::of_chat_message;
use super::conversation::{Conversation, Item, Kind, check};
use super::forms::chat::{MESSAGES, REQUEST};
use super::shape::{Found, Shape};
use super::{array, array_mut, is_true, said, text_of, tools};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Result<Conversation, String> {
    if !body.get("messages").is_some_and(Value::is_array) {
        return Err("`messages` is not an array".to_owned());
    }
    let mut unseen = check(REQUEST, body)?;
    if body.get("n").and_then(Value::as_u64).is_some_and(|n| n != 1) {
        unseen.push("another number of choices than one (`n`)".to_owned());
    }
    Ok(Conversation {
        model: said(body, "/model").ok_or("`model` is missing")?,
        streams: is_true(body, "stream"),
        wants_usage: body
            .pointer("/stream_options/include_usage")
            .and_then(Value::as_bool)
            .unwrap_or_default(),
        items: items(body),
        tools: tools::of_chat(body),
        unseen,
        user: said(body, "/user").or_else(|| said(body, "/safety_identifier")),
        named: said(body, "/metadata/celador_task"),
        previous: None,
        is_kept: false,
    })
}

/// What was said.
pub(super) fn items(body: &Value) -> Vec<Item> {
    array(body, "messages").iter().enumerate().map(|(at, message)| item(at, message)).collect()
}

fn item(at: usize, message: &Value) -> Item {
    let holder = format!("/messages/{at}/content");
    let kind = match text_of(message, "role") {
        "system" | "developer" => Kind::System,
        "assistant" => Kind::Assistant(of_chat_message(message)),
        "tool" => Kind::result(text_of(message, "tool_call_id"), false),
        // what no table knows is refused, or observed as what a user says
        _ => Kind::User,
    };
    let mut found = Found::default();
    Shape::Kinds(&MESSAGES).look(message, &mut format!("/messages/{at}"), &mut found);
    Item { kind, texts: found.texts, holder }
}

pub(super) fn append(body: &mut Value, whole: &Value) {
    if let (Some(messages), Some(message)) =
        (array_mut(body, "messages"), whole.pointer("/choices/0/message"))
    {
        let mut message = message.clone();
        if let Some(members) = message.as_object_mut() {
            members.entry("role").or_insert_with(|| json!("assistant"));
        }
        messages.push(message);
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

pub(super) fn insert(body: &mut Value, beside: &str, after: usize, told: &[Told]) {
    let Some(messages) = array_mut(body, "messages") else { return };
    let has = |message: &&(usize, &Value)| {
        array(message.1, "tool_calls").iter().any(|call| text_of(call, "id") == beside)
    };
    let all: Vec<(usize, &Value)> = messages.iter().enumerate().collect();
    let Some(at) = all.iter().filter(has).nth(after).map(|(at, _)| *at) else { return };
    if let Some(calls) = messages.get_mut(at).and_then(|message| array_mut(message, "tool_calls")) {
        calls.extend(told.iter().map(|told| told.call.for_chat()));
    }
    let behind = at.saturating_add(1);
    let results =
        messages.get(behind..).unwrap_or_default().iter().take_while(|it| text_of(it, "role") == "tool");
    let behind = behind.saturating_add(results.count());
    messages.splice(behind..behind, told.iter().map(result));
}
