//! Answers of OpenAI's chat completions in events: each chunk has what is new of the message, the text in pieces, calls by their id or
//! position with their arguments in pieces.

use super::answer::{Fault, hold, join_parts};
use super::assembly::{Assembly, Sent};
use super::forms::chat_answer::CHUNK;
use super::{Api, array, array_mut, sse, text_of};
use serde_json::{Map, Value, json};

/// Members of a message that come in pieces, in the order in which they are written.
const PIECES: [&str; 4] = ["reasoning_content", "reasoning", "content", "refusal"];

/// Members of a chunk that are those of the answer.
const COMMON: [&str; 6] = ["id", "created", "model", "system_fingerprint", "service_tier", "usage"];

/// Takes in a chunk.
pub(super) fn take(assembly: &mut Assembly, mut chunk: Value) -> Result<(), Fault> {
    if let Some(error) = Api::Chat.upstream_error(&chunk) {
        return Err(Fault::Upstream(error));
    }
    if !chunk.is_object() {
        return Err(Fault::Broken("a chunk is no object".to_owned()));
    }
    let mut unknown = hold(&CHUNK, &mut chunk, assembly.lax)?;
    if array(&chunk, "choices").iter().any(|choice| !is_first(choice)) {
        unknown.push("a choice that nobody asked for".to_owned());
    }
    if !unknown.is_empty() && assembly.lax {
        assembly.unjudged.push(unjudged(&chunk));
    }
    assembly.gone.extend(unknown);
    if assembly.whole.is_null() {
        assembly.whole = json!({"object": "chat.completion"});
    }
    let Some(whole) = assembly.whole.as_object_mut() else { return Ok(()) };
    for key in COMMON {
        if let Some(value) = chunk.get(key).filter(|value| !value.is_null()) {
            whole.insert(key.to_owned(), value.clone());
        }
    }
    let Some(choice) = array(&chunk, "choices").iter().find(|choice| is_first(choice)) else {
        return Ok(());
    };
    let own = whole.entry("choices").or_insert_with(
        || json!([{"index": 0, "message": {"role": "assistant", "content": null}, "finish_reason": null}]),
    );
    let Some(own) = own.get_mut(0).and_then(Value::as_object_mut) else { return Ok(()) };
    if let Some(finish) = choice.get("finish_reason").filter(|it| !it.is_null()) {
        own.insert("finish_reason".to_owned(), finish.clone());
        assembly.complete = true;
    }
    if let Some(logprobs) = choice.get("logprobs").and_then(Value::as_object) {
        let kept = own.entry("logprobs").or_insert_with(|| json!({}));
        for (key, value) in logprobs {
            if let (Some(kept), Some(value)) = (array_mut(kept, key), value.as_array()) {
                kept.extend(value.iter().cloned());
            }
        }
    }
    let mut delta = choice.get("delta").cloned().unwrap_or_default();
    join_parts(&mut delta);
    if let (Some(message), Value::Object(delta)) =
        (own.get_mut("message").and_then(Value::as_object_mut), delta)
    {
        take_delta(message, delta, &mut assembly.indexes);
    }
    Ok(())
}

/// Whether a choice is the one that was asked for.
fn is_first(choice: &Value) -> bool {
    choice.get("index").and_then(Value::as_u64).is_none_or(|index| index == 0)
}

/// What nobody judges of a chunk, as a chunk of its own: members that no table has, and other choices.
fn unjudged(chunk: &Value) -> Value {
    let mut known = chunk.clone();
    CHUNK.prune(&mut known, &mut String::new(), &mut Vec::new());
    if let Some(choices) = known.get_mut("choices").and_then(Value::as_array_mut) {
        // nothing of another choice is known
        choices.iter_mut().filter(|choice| !is_first(choice)).for_each(|choice| *choice = json!({}));
    }
    let mut rest = beyond(chunk, &known);
    let Some(members) = rest.as_object_mut() else { return rest };
    for key in ["id", "object", "created", "model"] {
        if let Some(value) = chunk.get(key) {
            members.insert(key.to_owned(), value.clone());
        }
    }
    let choices = members.entry("choices").or_insert_with(|| json!([]));
    if let Some(choices) = choices.as_array_mut() {
        choices.retain(|choice| choice.as_object().is_some_and(|choice| !choice.is_empty()));
        for choice in choices.iter_mut().filter_map(Value::as_object_mut) {
            choice.entry("index").or_insert_with(|| json!(0));
            choice.entry("delta").or_insert_with(|| json!({}));
            choice.entry("finish_reason").or_insert(Value::Null);
        }
    }
    rest
}

/// What a value has beyond another one, which is the same with members left out.
fn beyond(value: &Value, known: &Value) -> Value {
    match (value, known) {
        (Value::Object(value), Value::Object(known)) => {
            let members = value.iter().filter_map(|(key, value)| match known.get(key) {
                None => Some((key.clone(), value.clone())),
                Some(known) if known == value => None,
                Some(known) => Some((key.clone(), beyond(value, known))),
            });
            Value::Object(members.collect())
        }
        (Value::Array(values), Value::Array(known)) => {
            values.iter().zip(known).map(|(value, known)| beyond(value, known)).collect()
        }
        _ => Value::Null,
    }
}

fn take_delta(message: &mut Map<String, Value>, delta: Map<String, Value>, indexes: &mut Vec<Option<u64>>) {
    for (key, value) in delta {
        match (key.as_str(), value) {
            ("role", _) | (_, Value::Null) => {}
            ("tool_calls", Value::Array(pieces)) => {
                pieces.iter().for_each(|piece| take_call(message, piece, indexes));
            }
            ("annotations", Value::Array(new)) => {
                if let Some(list) = message.entry("annotations").or_insert_with(|| json!([])).as_array_mut() {
                    list.extend(new);
                }
            }
            ("audio", Value::Object(new)) => {
                let audio = message.entry("audio").or_insert_with(|| json!({}));
                for (key, value) in new {
                    append(audio, &key, value);
                }
            }
            (_, Value::String(piece)) => match message.get_mut(&key) {
                Some(Value::String(text)) => text.push_str(&piece),
                _ => drop(message.insert(key, json!(piece))),
            },
            _ => {}
        }
    }
}

/// Puts a piece behind the text of a member; anything else is the member's value.
fn append(object: &mut Value, key: &str, value: Value) {
    let Some(members) = object.as_object_mut() else { return };
    match (members.get_mut(key), value) {
        (Some(Value::String(text)), Value::String(piece)) if key != "id" => text.push_str(&piece),
        (_, Value::Null) => {}
        (_, value) => drop(members.insert(key.to_owned(), value)),
    }
}

/// A piece of a call. A new id begins a call; what has no id goes on with the last call of its position, or with the last one of all.
fn take_call(message: &mut Map<String, Value>, piece: &Value, indexes: &mut Vec<Option<u64>>) {
    let calls = message.entry("tool_calls").or_insert_with(|| json!([]));
    let Some(calls) = calls.as_array_mut() else { return };
    let (id, index) = (text_of(piece, "id"), piece.get("index").and_then(Value::as_u64));
    let kind = if piece.get("custom").is_some() { "custom" } else { "function" };
    let part = piece.get(kind).unwrap_or(&Value::Null);
    let at_index = || match index {
        Some(_) => indexes.iter().rposition(|known| *known == index),
        None => calls.len().checked_sub(1),
    };
    let known = if id.is_empty() {
        at_index().filter(|at| !is_another(calls.get(*at), text_of(part, "name")))
    } else {
        calls.iter().position(|call| text_of(call, "id") == id).or_else(|| {
            // the id may come behind the name
            at_index().filter(|at| calls.get(*at).is_some_and(|call| text_of(call, "id").is_empty()))
        })
    };
    let at = known.unwrap_or_else(|| {
        let text = if kind == "custom" { "input" } else { "arguments" };
        calls.push(json!({"id": "", "type": kind, kind: {"name": "", text: ""}}));
        indexes.push(index);
        calls.len().saturating_sub(1)
    });
    let Some(call) = calls.get_mut(at).and_then(Value::as_object_mut) else { return };
    if !id.is_empty() {
        call.insert("id".to_owned(), json!(id));
    }
    let Some(own) = call.get_mut(kind) else { return };
    if let (Some(name), Some(own)) = (part.get("name").filter(|it| it.is_string()), own.as_object_mut())
        && name != ""
    {
        own.insert("name".to_owned(), name.clone());
    }
    for key in ["arguments", "input"] {
        if let Some(value) = part.get(key) {
            // an object is all of the arguments
            append(own, key, if value.is_object() { json!(value.to_string()) } else { value.clone() });
        }
    }
}

/// Whether a piece without an id begins another call than this one: it has a name, and this one has a name and all of its arguments.
fn is_another(call: Option<&Value>, name: &str) -> bool {
    let function = call.and_then(|call| call.get("function")).unwrap_or(&Value::Null);
    let has_all = super::json::read(text_of(function, "arguments").as_bytes()).is_ok();
    !name.is_empty()
        && !text_of(function, "name").is_empty()
        && (has_all || name != text_of(function, "name"))
}

/// What is new of the text of an answer that comes. From the first call on nothing is: it is decided first.
pub(super) fn more(whole: &Value, sent: &mut Sent) -> String {
    let Some(message) = whole.pointer("/choices/0/message") else { return String::new() };
    let mut writer = Writer::begun(whole, sent);
    if array(message, "tool_calls").is_empty() {
        writer.pieces(message, sent);
    }
    writer.text
}

/// The rest of an answer.
pub(super) fn end(whole: &Value, sent: &mut Sent, wants_usage: bool) -> String {
    let choice = whole.pointer("/choices/0").unwrap_or(&Value::Null);
    let message = choice.get("message").unwrap_or(&Value::Null);
    let mut writer = Writer::begun(whole, sent);
    writer.pieces(message, sent);
    for key in ["annotations", "audio"] {
        if let Some(value) = message.get(key).filter(|value| !value.is_null()) {
            writer.say(json!({key: value}), None, Value::Null);
        }
    }
    for (index, call) in array(message, "tool_calls").iter().enumerate() {
        let mut piece = call.clone();
        piece.as_object_mut().map(|piece| piece.insert("index".to_owned(), json!(index)));
        writer.say(json!({"tool_calls": [piece]}), None, Value::Null);
    }
    writer.text += &sent.unjudged();
    writer.say(json!({}), None, choice.get("finish_reason").cloned().unwrap_or(Value::Null));
    if let Some(usage) = whole.get("usage").filter(|_| wants_usage) {
        let mut last = writer.chunk(json!([]));
        last.as_object_mut().map(|last| last.insert("usage".to_owned(), usage.clone()));
        writer.text += &sse::data(&last);
    }
    writer.text + "data: [DONE]\n\n"
}

/// Chunks of one answer.
struct Writer<'w> {
    whole: &'w Value,
    text: String,
}

impl<'w> Writer<'w> {
    /// The chunk with which an answer begins, unless it was sent.
    fn begun(whole: &'w Value, sent: &mut Sent) -> Self {
        let mut writer = Self { whole, text: String::new() };
        if !std::mem::replace(&mut sent.begun, true) {
            writer.say(json!({"role": "assistant", "content": ""}), None, Value::Null);
        }
        writer
    }

    fn chunk(&self, choices: Value) -> Value {
        let mut chunk = json!({"id": self.whole.get("id"), "object": "chat.completion.chunk"});
        for key in ["created", "model", "system_fingerprint", "service_tier"] {
            if let (Some(value), Some(chunk)) = (self.whole.get(key), chunk.as_object_mut()) {
                chunk.insert(key.to_owned(), value.clone());
            }
        }
        chunk.as_object_mut().map(|chunk| chunk.insert("choices".to_owned(), choices));
        chunk
    }

    fn say(&mut self, delta: Value, logprobs: Option<Value>, finish: Value) {
        let mut choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        if let (Some(logprobs), Some(choice)) = (logprobs, choice.as_object_mut()) {
            choice.insert("logprobs".to_owned(), logprobs);
        }
        let chunk = self.chunk(json!([choice]));
        self.text += &sse::data(&chunk);
    }

    /// What is new of the members that come in pieces, with what is new of their tokens.
    fn pieces(&mut self, message: &Value, sent: &mut Sent) {
        for (key, bytes) in PIECES.iter().zip(&mut sent.bytes) {
            let Some(rest) = text_of(message, key).get(*bytes..).filter(|rest| !rest.is_empty()) else {
                continue;
            };
            *bytes = bytes.saturating_add(rest.len());
            let logprobs = self.whole.pointer("/choices/0/logprobs").map_or(&[][..], |it| array(it, key));
            let new = logprobs.get(sent.marks..).filter(|_| *key == "content").unwrap_or_default();
            sent.marks = sent.marks.saturating_add(new.len());
            let new = (!new.is_empty()).then(|| json!({"content": new, "refusal": null}));
            self.say(json!({*key: rest}), new, Value::Null);
        }
    }
}
