//! Requests of OpenAI's responses as a conversation: `input` is a text, or items, of which calls and their results are some.

use super::answer::Told;
use super::call::{CallKind, ModelCall, is_call, is_of_vendor, is_output};
use super::conversation::{Conversation, Item, Kind, TOOLS, check};
use super::forms::NUMBERS;
use super::forms::responses::{CONTENT, REQUEST};
use super::shape::{Shape, short};
use super::{array, array_mut, is_true, is_type, said, text_of, tools};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Result<Conversation, String> {
    let mut unseen = check(REQUEST, body)?;
    if is_true(body, "background") {
        unseen.push("an answer in the background (`background`)".to_owned());
    }
    if body.get("prompt").is_some_and(|prompt| !prompt.is_null()) {
        unseen.push("a stored prompt (`prompt`), whose tools and texts are not in the request".to_owned());
    }
    let messages = array(body, "input")
        .iter()
        .filter(|item| text_of(item, "type").is_empty() || is_type(item, "message"));
    let roles = messages.map(|item| text_of(item, "role"));
    let unknown = roles.filter(|role| !["system", "developer", "user", "assistant"].contains(role));
    unseen.extend(unknown.map(|role| format!("a message of role `{}`", short(role))));
    let searches =
        array(body, "input").iter().filter(|it| is_type(it, "tool_search_call") && is_of_vendor(it));
    // nobody is asked about these, so no sentence fits
    let is_path = |it: &Value| Shape::Map(&NUMBERS).holds(it.get("arguments").unwrap_or(&json!({})));
    if !searches.into_iter().all(is_path) {
        unseen.push("a search for tools by OpenAI with other arguments than paths".to_owned());
    }
    Ok(Conversation {
        // the model of a stored prompt, or the one that the vendor takes
        model: said(body, "/model").unwrap_or_default(),
        streams: is_true(body, "stream"),
        wants_usage: true,
        items: items(body),
        tools: tools::of_responses(body),
        unseen,
        user: said(body, "/user").or_else(|| said(body, "/safety_identifier")),
        named: said(body, "/metadata/celador_task")
            .or_else(|| said(body, "/conversation"))
            .or_else(|| said(body, "/conversation/id")),
        previous: said(body, "/previous_response_id"),
        is_kept: body.get("conversation").is_some_and(|it| !it.is_null()),
    })
}

/// What was said: the instructions first.
pub(super) fn items(body: &Value) -> Vec<Item> {
    let mut items = vec![Item::new(Kind::System, &Shape::Text, body, "/instructions".to_owned())];
    match body.get("input") {
        Some(Value::String(_)) => items.push(Item::new(Kind::User, &Shape::Text, body, "/input".to_owned())),
        Some(Value::Array(input)) => {
            items.extend(input.iter().enumerate().filter_map(|(at, it)| item(body, at, it)));
        }
        _ => {}
    }
    items
}

fn item(body: &Value, at: usize, item: &Value) -> Option<Item> {
    let kind = match item.get("type").and_then(Value::as_str).unwrap_or("message") {
        "message" => {
            let kind = match text_of(item, "role") {
                "system" | "developer" => Kind::System,
                "assistant" => Kind::Assistant(Vec::new()),
                _ => Kind::User,
            };
            return Some(Item::new(kind, &CONTENT, body, format!("/input/{at}/content")));
        }
        _ if is_call(item) => Kind::Assistant(vec![ModelCall::of_item(item)]),
        _ if is_output(item) => Kind::result(text_of(item, "call_id"), false),
        _ => return None,
    };
    Some(match kind {
        Kind::Assistant(_) => Item { kind, texts: Vec::new(), holder: format!("/input/{at}/content") },
        // its tools are held to the rules as those of the request
        kind if is_type(item, "tool_search_output") => {
            Item { kind, texts: Vec::new(), holder: format!("/input/{at}/{TOOLS}") }
        }
        kind => Item::new(kind, &CONTENT, body, format!("/input/{at}/output")),
    })
}

/// The input of a request as a list, to which something may be added.
fn input(body: &mut Value) -> Option<&mut Vec<Value>> {
    if let Some(input) = body.get_mut("input")
        && let Value::String(text) = input
    {
        *input = json!([{"role": "user", "content": text}]);
    }
    array_mut(body, "input")
}

pub(super) fn append(body: &mut Value, whole: &Value) {
    if let Some(input) = input(body) {
        input.extend(array(whole, "output").iter().cloned());
    }
}

fn result(told: &Told) -> Value {
    let kind = match told.call.kind {
        CallKind::Custom => "custom_tool_call_output",
        CallKind::Function => "function_call_output",
        // it has no place for a text: nothing is found
        CallKind::Search => {
            return json!({
                "type": "tool_search_output", "call_id": told.call.id, "execution": "client",
                "status": "completed", TOOLS: []
            });
        }
    };
    json!({"type": kind, "call_id": told.call.id, "output": told.text})
}

pub(super) fn tell(body: &mut Value, told: &[Told]) {
    if let Some(input) = input(body) {
        input.extend(told.iter().map(result));
    }
}

/// The call stands in the input, or in an answer that the API has kept: then its output alone is in the input.
pub(super) fn insert(body: &mut Value, beside: &str, after: usize, told: &[Told]) {
    let Some(input) = input(body) else { return };
    let find = |input: &[Value], is: fn(&Value) -> bool| {
        let is_it = |item: &Value| is(item) && text_of(item, "call_id") == beside;
        let found = input.iter().enumerate().filter(|(_, item)| is_it(item)).nth(after);
        found.map(|(at, _)| at.saturating_add(1))
    };
    if let Some(at) = find(input, is_call) {
        input.splice(at..at, told.iter().map(|told| told.call.for_item()));
    }
    if let Some(at) = find(input, is_output) {
        input.splice(at..at, told.iter().map(result));
    }
}

/// What the vendor has not been sent.
pub(super) fn unsent(body: &Value) -> (Option<String>, Vec<Value>) {
    let input = match body.get("input") {
        Some(Value::Array(input)) => input.clone(),
        Some(Value::String(text)) => vec![json!({"role": "user", "content": text})],
        _ => Vec::new(),
    };
    (said(body, "/previous_response_id"), input)
}

pub(super) fn put_unsent(body: &mut Value, previous: Option<&str>, ahead: Vec<Value>) {
    if let Some(input) = input(body) {
        input.splice(0..0, ahead);
    }
    if let Some(body) = body.as_object_mut() {
        match previous {
            Some(previous) => body.insert("previous_response_id".to_owned(), json!(previous)),
            None => body.shift_remove("previous_response_id"),
        };
    }
}

pub(super) fn unsent_of(whole: &Value, has_calls: bool) -> Vec<Value> {
    let is_news = |item: &&Value| !(has_calls && is_call(item));
    array(whole, "output").iter().filter(is_news).cloned().collect()
}
