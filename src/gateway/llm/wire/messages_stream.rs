//! Answers of Anthropic's messages in events: each block is begun, continued and ended under its position, and what the message has
//! besides comes first and last.

use super::answer::{Fault, hold};
use super::assembly::{Assembly, Sent};
use super::forms::messages_answer::{BLOCKS, EVENTS};
use super::shape::{Shape, short};
use super::{Api, array, array_mut, json as texts, sse, text_of};
use serde_json::{Map, Value, json};

/// Where the arguments of a call are collected while they come in pieces.
const PIECES: &str = "input pieces";

/// Takes in an event. One of a kind that no table has is not looked at.
pub(super) fn take(assembly: &mut Assembly, mut event: Value) -> Result<(), Fault> {
    if !assembly.knows(&EVENTS, &event) {
        return Ok(());
    }
    assembly.gone.extend(hold(&Shape::Kinds(&EVENTS), &mut event, assembly.lax)?);
    let kind = text_of(&event, "type").to_owned();
    match &*kind {
        "error" => {
            let error = Api::Messages.upstream_error(&event);
            return Err(Fault::Upstream(error.unwrap_or_else(|| Api::Messages.error(500, "an error"))));
        }
        "ping" => {
            assembly.pinged = true;
            return Ok(());
        }
        "message_start" => {
            if !assembly.whole.is_null() {
                return Err(Fault::Broken("a message that has begun begins again".to_owned()));
            }
            assembly.whole = event.get("message").cloned().unwrap_or_default();
            let begun = array(&assembly.whole, "content").len();
            assembly.indexes = (0..begun).map(|at| u64::try_from(at).ok()).collect();
            assembly.done = vec![true; begun];
            return Ok(());
        }
        _ if assembly.whole.is_null() => {
            return Err(Fault::Broken(format!("`{kind}` comes ahead of `message_start`")));
        }
        _ => {}
    }
    let index = event.get("index").and_then(Value::as_u64);
    let at = match index {
        Some(_) => assembly.indexes.iter().rposition(|known| *known == index),
        None => assembly.indexes.len().checked_sub(1),
    };
    match &*kind {
        "content_block_start" => {
            if index.is_some() && at.is_some() {
                return Err(Fault::Broken("two blocks have one position".to_owned()));
            }
            let blocks = array_mut(&mut assembly.whole, "content");
            blocks
                .into_iter()
                .for_each(|blocks| blocks.push(event.get("content_block").cloned().unwrap_or_default()));
            assembly.indexes.push(index);
            assembly.done.push(false);
        }
        "content_block_delta" | "content_block_stop" => {
            let nowhere = || Fault::Broken(format!("`{kind}` belongs to no block"));
            let at = at.ok_or_else(nowhere)?;
            let block = array_mut(&mut assembly.whole, "content").and_then(|blocks| blocks.get_mut(at));
            let block = block.and_then(Value::as_object_mut).ok_or_else(nowhere)?;
            let done = assembly.done.get_mut(at).ok_or_else(nowhere)?;
            if kind == "content_block_stop" {
                *done = true;
                settle(block);
            } else if *done {
                return Err(Fault::Broken("a block that has ended goes on".to_owned()));
            } else if let Some(unknown) = take_piece(block, event.get("delta").unwrap_or(&Value::Null)) {
                assembly.gone.push(unknown);
                assembly.keep_unjudged(&event);
            }
        }
        "message_delta" => take_end(&mut assembly.whole, &event),
        "message_stop" => {
            let blocks = array_mut(&mut assembly.whole, "content");
            blocks.into_iter().flatten().filter_map(Value::as_object_mut).for_each(settle);
            assembly.complete = true;
        }
        _ => {}
    }
    Ok(())
}

fn take_end(whole: &mut Value, event: &Value) {
    let Some(members) = whole.as_object_mut() else { return };
    for (key, value) in event.get("delta").and_then(Value::as_object).into_iter().flatten() {
        members.insert(key.clone(), value.clone());
    }
    if let Some(edits) = event.get("context_management").filter(|it| !it.is_null()) {
        members.insert("context_management".to_owned(), edits.clone());
    }
    let usage = members.entry("usage").or_insert_with(|| json!({})).as_object_mut();
    if let (Some(usage), Some(Value::Object(new))) = (usage, event.get("usage")) {
        let said = new.iter().filter(|(_, value)| !value.is_null());
        usage.extend(said.map(|(key, value)| (key.clone(), value.clone())));
    }
}

/// Puts a piece of a block behind what has come of it. What it is, if it is unknown or belongs to another kind of block.
fn take_piece(block: &mut Map<String, Value>, delta: &Value) -> Option<String> {
    let kind = text_of(delta, "type");
    let of = block.get("type").and_then(Value::as_str).unwrap_or_default();
    let (key, piece) = match (kind, of) {
        ("text_delta", "text") => ("text", text_of(delta, "text")),
        ("thinking_delta", "thinking") => ("thinking", text_of(delta, "thinking")),
        ("signature_delta", "thinking") => ("signature", text_of(delta, "signature")),
        ("input_json_delta", of) if !["text", "thinking"].contains(&of) => {
            (PIECES, text_of(delta, "partial_json"))
        }
        ("citations_delta", "text") => {
            let place = block.entry("citations").or_insert_with(|| json!([]));
            if place.is_null() {
                *place = json!([]);
            }
            if let (Some(list), Some(citation)) = (place.as_array_mut(), delta.get("citation")) {
                list.push(citation.clone());
            }
            return None;
        }
        _ => return Some(format!("`{}` of a block of type `{}`", short(kind), short(of))),
    };
    match block.get_mut(key) {
        Some(Value::String(text)) => text.push_str(piece),
        _ => drop(block.insert(key.to_owned(), json!(piece))),
    }
    None
}

/// Reads the arguments whose pieces have come. Those that are no JSON stay a text, which are no arguments.
fn settle(block: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = block.shift_remove(PIECES)
        && !text.is_empty()
    {
        let input = texts::read(text.as_bytes()).unwrap_or(Value::String(text));
        block.insert("input".to_owned(), input);
    }
}

/// What is new of the blocks ahead of the first call.
pub(super) fn more(assembly: &Assembly, sent: &mut Sent, pinged: bool) -> String {
    if assembly.whole.is_null() {
        return String::new();
    }
    let done = |at: usize| assembly.done.get(at).copied().unwrap_or_default();
    let text = written(&assembly.whole, sent, &done, false);
    if pinged { text + &sse::event("ping", &json!({"type": "ping"})) } else { text }
}

/// The rest of an answer.
pub(super) fn end(whole: &Value, sent: &mut Sent) -> String {
    let mut text = written(whole, sent, &|_| true, true) + &sent.unjudged();
    let mut delta =
        json!({"stop_reason": whole.get("stop_reason"), "stop_sequence": whole.get("stop_sequence")});
    if let (Some(details), Some(delta)) =
        (whole.get("stop_details").filter(|it| !it.is_null()), delta.as_object_mut())
    {
        delta.insert("stop_details".to_owned(), details.clone());
    }
    let usage = whole.get("usage").cloned().unwrap_or_else(|| json!({"output_tokens": 0}));
    let mut last = json!({"type": "message_delta", "delta": delta, "usage": usage});
    if let (Some(edits), Some(last)) = (whole.get("context_management"), last.as_object_mut()) {
        last.insert("context_management".to_owned(), edits.clone());
    }
    text += &sse::event("message_delta", &last);
    text + &sse::event("message_stop", &json!({"type": "message_stop"}))
}

/// The events of the blocks that were not sent. Calls, and blocks of kinds that no table has, are sent with `all` alone.
fn written(whole: &Value, sent: &mut Sent, done: &dyn Fn(usize) -> bool, all: bool) -> String {
    let mut text = String::new();
    if !std::mem::replace(&mut sent.begun, true) {
        let mut message = whole.clone();
        if let Some(message) = message.as_object_mut() {
            message.insert("content".to_owned(), json!([]));
            message.insert("stop_reason".to_owned(), Value::Null);
            message.shift_remove("stop_details");
        }
        text += &sse::event("message_start", &json!({"type": "message_start", "message": message}));
    }
    while let Some(block) = array(whole, "content").get(sent.units) {
        let kind = text_of(block, "type");
        let is_known = block.as_object().is_some_and(|block| BLOCKS.row(block).is_some());
        if !all && (kind == "tool_use" || !is_known) {
            break;
        }
        let is_done = done(sent.units);
        let index = sent.units;
        if !is_done && !["text", "thinking"].contains(&kind) {
            break;
        }
        if !std::mem::replace(&mut sent.open, true) {
            let start =
                json!({"type": "content_block_start", "index": index, "content_block": emptied(block)});
            text += &sse::event("content_block_start", &start);
        }
        for delta in deltas(block, sent, is_done) {
            let delta = json!({"type": "content_block_delta", "index": index, "delta": delta});
            text += &sse::event("content_block_delta", &delta);
        }
        if !is_done {
            break;
        }
        text += &sse::event("content_block_stop", &json!({"type": "content_block_stop", "index": index}));
        sent.next_unit();
    }
    text
}

/// A block as it begins.
fn emptied(block: &Value) -> Value {
    let mut empty = block.clone();
    let Some(members) = empty.as_object_mut() else { return empty };
    match text_of(block, "type") {
        "text" => {
            members.insert("text".to_owned(), json!(""));
            if members.get("citations").is_some_and(Value::is_array) {
                members.insert("citations".to_owned(), json!([]));
            }
        }
        "thinking" => {
            members.insert("thinking".to_owned(), json!(""));
            members.insert("signature".to_owned(), json!(""));
        }
        "tool_use" => drop(members.insert("input".to_owned(), json!({}))),
        _ => {}
    }
    empty
}

/// What is new of a block.
fn deltas(block: &Value, sent: &mut Sent, is_done: bool) -> Vec<Value> {
    let mut deltas = Vec::new();
    let mut piece = |key: &str, kind: &str, bytes: &mut usize| {
        if let Some(rest) = text_of(block, key).get(*bytes..).filter(|rest| !rest.is_empty()) {
            *bytes = bytes.saturating_add(rest.len());
            deltas.push(json!({"type": kind, key: rest}));
        }
    };
    let [bytes, signature, ..] = &mut sent.bytes;
    match text_of(block, "type") {
        "text" => {
            piece("text", "text_delta", bytes);
            let new = array(block, "citations").get(sent.marks..).unwrap_or_default();
            sent.marks = sent.marks.saturating_add(new.len());
            deltas
                .extend(new.iter().map(|citation| json!({"type": "citations_delta", "citation": citation})));
        }
        "thinking" => {
            piece("thinking", "thinking_delta", bytes);
            if is_done {
                piece("signature", "signature_delta", signature);
            }
        }
        "tool_use" => {
            let input = block.get("input").cloned().unwrap_or_default().to_string();
            deltas.push(json!({"type": "input_json_delta", "partial_json": input}));
        }
        _ => {}
    }
    deltas
}
