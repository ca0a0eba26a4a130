//! Answers of OpenAI's responses in events: each item is added and done under its position, every event has a number, and the last one
//! has the whole answer.

use super::answer::{Fault, hold};
use super::assembly::{Assembly, Sent};
use super::call::is_call;
use super::forms::responses_answer::{EVENTS, ITEMS};
use super::shape::Shape;
use super::{Api, array, array_mut, is_type, sse, text_of};
use serde_json::{Value, json};

/// Takes in an event. One of a kind that no table has is not looked at.
pub(super) fn take(assembly: &mut Assembly, mut event: Value) -> Result<(), Fault> {
    if !assembly.knows(&EVENTS, &event) {
        return Ok(());
    }
    assembly.gone.extend(hold(&Shape::Kinds(&EVENTS), &mut event, assembly.lax)?);
    let kind = text_of(&event, "type").to_owned();
    match &*kind {
        "error" => {
            let wrapped = json!({"error": event});
            let error =
                Api::Responses.upstream_error(&event).or_else(|| Api::Responses.upstream_error(&wrapped));
            Err(Fault::Upstream(error.unwrap_or_else(|| Api::Responses.error(500, "an error"))))
        }
        "response.created" | "response.in_progress" | "response.queued" => {
            let response = event.get("response").cloned().unwrap_or_default();
            if assembly.whole.is_null() {
                // what is in it already comes again, or at the end
                assembly.whole = response;
                assembly.whole.as_object_mut().map(|whole| whole.insert("output".to_owned(), json!([])));
            }
            Ok(())
        }
        "response.completed" | "response.incomplete" | "response.failed" => {
            let mut response = event.get("response").cloned().unwrap_or_default();
            let come = array(&assembly.whole, "output").to_vec();
            if let Some(output) = array_mut(&mut response, "output") {
                // what has come in pieces stands as it came: the client may have had it
                let behind = output.split_off(come.len().min(output.len()));
                *output = come.into_iter().chain(behind).collect();
            }
            assembly.whole = response;
            assembly.complete = true;
            Ok(())
        }
        _ if assembly.whole.is_null() => {
            Err(Fault::Broken(format!("`{kind}` comes ahead of `response.created`")))
        }
        "response.output_item.added" | "response.output_item.done" => {
            take_item(assembly, &event, kind.ends_with(".done"))
        }
        _ => {
            take_piece(assembly, &kind, &event);
            Ok(())
        }
    }
}

/// The place of the item that an event is about.
fn place(assembly: &Assembly, event: &Value, id: &str) -> Option<usize> {
    let index = event.get("output_index").and_then(Value::as_u64);
    match index {
        Some(_) => assembly.indexes.iter().rposition(|known| *known == index),
        None => array(&assembly.whole, "output").iter().rposition(|item| text_of(item, "id") == id),
    }
}

fn take_item(assembly: &mut Assembly, event: &Value, is_done: bool) -> Result<(), Fault> {
    let item = event.get("item").cloned().unwrap_or_default();
    let at = place(assembly, event, text_of(&item, "id"));
    let contradicts = || Fault::Broken("an item ends otherwise than it came".to_owned());
    let index = event.get("output_index").and_then(Value::as_u64);
    let Some(output) = array_mut(&mut assembly.whole, "output") else { return Ok(()) };
    match at {
        None => {
            output.push(item);
            assembly.indexes.push(index);
            assembly.done.push(is_done);
        }
        Some(_) if !is_done => return Err(Fault::Broken("two items have one position".to_owned())),
        Some(at) => {
            let (Some(known), Some(done)) = (output.get_mut(at), assembly.done.get_mut(at)) else {
                return Ok(());
            };
            if *done || !goes_on(known, &item) {
                return Err(contradicts());
            }
            *known = item;
            *done = true;
        }
    }
    Ok(())
}

/// Whether an item says all that has come of it, and goes on from there: the client may have had that.
fn goes_on(come: &Value, item: &Value) -> bool {
    let lists = ["content", "summary"].iter().all(|key| {
        let (come, item) = (array(come, key), array(item, key));
        let parts = come.iter().zip(item).all(|(come, item)| {
            come.get("type") == item.get("type")
                && ["text", "refusal"].iter().all(|key| text_of(item, key).starts_with(text_of(come, key)))
        });
        come.len() <= item.len() && parts
    });
    come.get("type") == item.get("type") && lists
}

/// Puts a piece behind what has come of its item.
fn take_piece(assembly: &mut Assembly, kind: &str, event: &Value) {
    let Some(at) = place(assembly, event, text_of(event, "item_id")) else { return };
    if assembly.done.get(at).copied().unwrap_or(true) {
        return;
    }
    let Some(item) = assembly.whole.pointer_mut(&format!("/output/{at}")) else { return };
    let number = |key: &str| event.get(key).and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
    let piece = text_of(event, "delta");
    match kind {
        "response.content_part.added" => add(item, "content", number("content_index"), event.get("part")),
        "response.reasoning_summary_part.added" => {
            add(item, "summary", number("summary_index"), event.get("part"))
        }
        "response.content_part.done" => {
            let part = number("content_index").and_then(|at| item.get_mut("content")?.get_mut(at));
            if let (Some(part), Some(whole)) = (part, event.get("part"))
                && goes_on(&json!({"content": [&*part]}), &json!({"content": [whole]}))
            {
                *part = whole.clone();
            }
        }
        "response.output_text.delta" => {
            push(item, "content", number("content_index"), "text", piece, "output_text");
            let logprobs = array(event, "logprobs");
            let part = number("content_index").and_then(|at| item.get_mut("content")?.get_mut(at));
            if let Some(list) =
                part.filter(|_| !logprobs.is_empty()).and_then(|part| array_mut(part, "logprobs"))
            {
                list.extend(logprobs.iter().cloned());
            }
        }
        "response.output_text.annotation.added" => {
            let part = number("content_index").and_then(|at| item.get_mut("content")?.get_mut(at));
            if let (Some(list), Some(annotation)) =
                (part.and_then(|part| array_mut(part, "annotations")), event.get("annotation"))
            {
                list.push(annotation.clone());
            }
        }
        "response.refusal.delta" => {
            push(item, "content", number("content_index"), "refusal", piece, "refusal")
        }
        "response.reasoning_text.delta" => {
            push(item, "content", number("content_index"), "text", piece, "reasoning_text");
        }
        "response.reasoning_summary_text.delta" => {
            push(item, "summary", number("summary_index"), "text", piece, "summary_text");
        }
        "response.function_call_arguments.delta" => extend(item, "arguments", piece),
        "response.custom_tool_call_input.delta" => extend(item, "input", piece),
        _ => {}
    }
}

/// Adds the next part of an item.
fn add(item: &mut Value, list: &str, at: Option<usize>, part: Option<&Value>) {
    if let (Some(parts), Some(part)) = (array_mut(item, list), part)
        && at.is_none_or(|at| at == parts.len())
    {
        parts.push(part.clone());
    }
}

/// Puts a piece behind the text of a part, which it may begin.
fn push(item: &mut Value, list: &str, at: Option<usize>, key: &str, piece: &str, kind: &str) {
    let Some(parts) = array_mut(item, list) else { return };
    let at = at.unwrap_or_else(|| parts.len().saturating_sub(1));
    if at == parts.len() {
        parts.push(json!({"type": kind, key: ""}));
    }
    if let Some(part) =
        parts.get_mut(at).filter(|part| is_type(part, kind) || kind == "output_text" && is_type(part, "text"))
    {
        extend(part, key, piece);
    }
}

fn extend(object: &mut Value, key: &str, piece: &str) {
    let Some(members) = object.as_object_mut() else { return };
    match members.get_mut(key) {
        Some(Value::String(text)) => text.push_str(piece),
        _ => drop(members.insert(key.to_owned(), json!(piece))),
    }
}

/// What is new of the items ahead of the first call.
pub(super) fn more(assembly: &Assembly, sent: &mut Sent) -> String {
    if assembly.whole.is_null() || assembly.complete {
        return String::new();
    }
    let mut writer = Writer::begun(&assembly.whole, sent);
    writer.items(&assembly.whole, &|at| assembly.done.get(at).copied().unwrap_or_default(), false);
    writer.text
}

/// The rest of an answer.
pub(super) fn end(whole: &Value, sent: &mut Sent) -> String {
    let mut writer = Writer::begun(whole, sent);
    writer.items(whole, &|_| true, true);
    writer.text += &writer.sent.unjudged();
    let last = match text_of(whole, "status") {
        "incomplete" => "response.incomplete",
        "failed" => "response.failed",
        _ => "response.completed",
    };
    writer.say(last, json!({"response": whole}));
    writer.text
}

/// Events with their numbers.
struct Writer<'w> {
    text: String,
    sent: &'w mut Sent,
}

impl<'w> Writer<'w> {
    /// The events with which an answer begins, unless they were sent.
    fn begun(whole: &Value, sent: &'w mut Sent) -> Self {
        let begun = std::mem::replace(&mut sent.begun, true);
        let mut writer = Self { text: String::new(), sent };
        if !begun {
            let mut response = whole.clone();
            if let Some(response) = response.as_object_mut() {
                response.insert("output".to_owned(), json!([]));
                response.insert("status".to_owned(), json!("in_progress"));
                response.insert("usage".to_owned(), Value::Null);
            }
            writer.say("response.created", json!({"response": response}));
            writer.say("response.in_progress", json!({"response": response}));
        }
        writer
    }

    fn say(&mut self, kind: &str, mut members: Value) {
        if let Some(members) = members.as_object_mut() {
            members.insert("type".to_owned(), json!(kind));
            members.insert("sequence_number".to_owned(), json!(self.sent.sequence));
        }
        self.sent.sequence = self.sent.sequence.saturating_add(1);
        self.text += &sse::event(kind, &members);
    }

    /// The items that were not sent. Calls, and items of kinds that no table has, are sent with `all` alone.
    fn items(&mut self, whole: &Value, done: &dyn Fn(usize) -> bool, all: bool) {
        while let Some(item) = array(whole, "output").get(self.sent.units) {
            let is_known = item.as_object().is_some_and(|item| ITEMS.row(item).is_some());
            let is_done = done(self.sent.units);
            if !all && (is_call(item) || !is_known) {
                break;
            }
            if !std::mem::replace(&mut self.sent.open, true) {
                let begun = emptied(item);
                self.say(
                    "response.output_item.added",
                    json!({"output_index": self.sent.units, "item": begun}),
                );
            }
            self.parts(item, is_done);
            if !is_done {
                break;
            }
            let index = self.sent.units;
            self.say("response.output_item.done", json!({"output_index": index, "item": item}));
            self.sent.next_unit();
        }
    }

    /// What is new of an item that is begun.
    fn parts(&mut self, item: &Value, is_done: bool) {
        let id = item.get("id").cloned().unwrap_or_default();
        let at = json!({"item_id": id, "output_index": self.sent.units});
        if is_type(item, "tool_search_call") || is_type(item, "tool_search_output") {
            return;
        }
        if is_call(item) {
            let (kind, key) = match is_type(item, "custom_tool_call") {
                true => ("response.custom_tool_call_input", "input"),
                false => ("response.function_call_arguments", "arguments"),
            };
            let text = text_of(item, key);
            self.say(&format!("{kind}.delta"), with(&at, json!({"delta": text})));
            let mut done = json!({key: text});
            if let (Some(done), "arguments") = (done.as_object_mut(), key) {
                done.insert("name".to_owned(), item.get("name").cloned().unwrap_or_default());
            }
            self.say(&format!("{kind}.done"), with(&at, done));
            return;
        }
        let (list, index) = match is_type(item, "message") {
            true => ("content", "content_index"),
            // what the model has thought: its content comes whole with the item, as its summary is what clients show
            false if array(item, "summary").is_empty() => ("content", "content_index"),
            false => ("summary", "summary_index"),
        };
        let parts = array(item, list);
        while let Some(part) = parts.get(self.sent.part) {
            let is_whole = is_done || parts.len() > self.sent.part.saturating_add(1);
            self.part(&with(&at, json!({index: self.sent.part})), part, list, is_whole);
            if !is_whole {
                break;
            }
            self.sent.part = self.sent.part.saturating_add(1);
            (self.sent.part_open, self.sent.bytes, self.sent.marks) = (false, [0; 4], 0);
        }
    }

    /// What is new of a part.
    fn part(&mut self, at: &Value, part: &Value, list: &str, is_whole: bool) {
        let (frame, kind, key) = match text_of(part, "type") {
            _ if list == "summary" => {
                ("response.reasoning_summary_part", "response.reasoning_summary_text", "text")
            }
            "reasoning_text" => ("response.content_part", "response.reasoning_text", "text"),
            "refusal" => ("response.content_part", "response.refusal", "refusal"),
            _ => ("response.content_part", "response.output_text", "text"),
        };
        let logprobs = |tokens: &[Value]| match kind {
            "response.output_text" => json!({"logprobs": tokens}),
            _ => json!({}),
        };
        if !std::mem::replace(&mut self.sent.part_open, true) {
            let mut begun = part.clone();
            if let Some(begun) = begun.as_object_mut() {
                begun.insert(key.to_owned(), json!(""));
                for list in ["annotations", "logprobs"] {
                    begun.get_mut(list).into_iter().for_each(|list| *list = json!([]));
                }
            }
            self.say(&format!("{frame}.added"), with(at, json!({"part": begun})));
        }
        let text = text_of(part, key);
        let [bytes, tokens, ..] = self.sent.bytes;
        if let Some(rest) = text.get(bytes..).filter(|rest| !rest.is_empty()) {
            let new = array(part, "logprobs").get(tokens..).unwrap_or_default();
            self.sent.bytes = [text.len(), tokens.saturating_add(new.len()), 0, 0];
            self.say(&format!("{kind}.delta"), with(&with(at, json!({"delta": rest})), logprobs(new)));
        }
        for annotation in array(part, "annotations").iter().skip(self.sent.marks) {
            let members = json!({"annotation_index": self.sent.marks, "annotation": annotation});
            self.say("response.output_text.annotation.added", with(at, members));
            self.sent.marks = self.sent.marks.saturating_add(1);
        }
        if is_whole {
            let members = with(&json!({key: text}), logprobs(array(part, "logprobs")));
            self.say(&format!("{kind}.done"), with(at, members));
            self.say(&format!("{frame}.done"), with(at, json!({"part": part})));
        }
    }
}

/// An item as it begins.
fn emptied(item: &Value) -> Value {
    let mut begun = item.clone();
    if let Some(begun) = begun.as_object_mut() {
        let is_object = begun.get("arguments").is_some_and(Value::is_object);
        let arguments = if is_object { json!({}) } else { json!("") };
        let empty = [
            ("content", json!([])),
            ("summary", json!([])),
            ("arguments", arguments),
            ("input", json!("")),
            ("status", json!("in_progress")),
        ];
        for (key, empty) in empty {
            begun
                .get_mut(key)
                .filter(|place| !place.is_null())
                .into_iter()
                .for_each(|place| *place = empty.clone());
        }
    }
    begun
}

/// The members of both.
fn with(at: &Value, members: Value) -> Value {
    let mut all = at.as_object().cloned().unwrap_or_default();
    if let Value::Object(members) = members {
        all.extend(members);
    }
    Value::Object(all)
}
