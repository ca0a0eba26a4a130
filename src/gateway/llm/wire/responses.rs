//! OpenAI's responses.
//!
//! A request has `input`: a text, or items, of which calls and their results are some; an answer has items as `output`. In a stream
//! each item is added and done under its position, every event has a number, and the last one has the whole answer.

use super::{
    Answer, Conversation, Fate, Item, Kind, ModelCall, Sent, Text, Told, Tool, Usage, add_usage, array,
    array_mut, count, is_true, is_type, model, sse, text_of, texts,
};
use serde_json::{Value, json};

/// Items of an answer that are neither a call nor carried out by anybody.
const SAID: [&str; 2] = ["message", "reasoning"];

pub(super) fn read(body: &Value) -> Result<Conversation, String> {
    let mut unseen = Vec::new();
    if is_true(body, "background") {
        unseen.push("an answer in the background (`background`)".to_owned());
    }
    if body.get("prompt").is_some_and(|prompt| !prompt.is_null()) {
        unseen.push("a stored prompt (`prompt`), whose tools and texts are not in the request".to_owned());
    }
    let mut tools = Vec::new();
    for tool in array(body, "tools") {
        if is_type(tool, "function") {
            tools.push(Tool {
                name: text_of(tool, "name").to_owned(),
                description: tool.get("description").and_then(Value::as_str).map(str::to_owned),
                schema: tool
                    .get("parameters")
                    .filter(|it| !it.is_null())
                    .cloned()
                    .unwrap_or_else(|| json!({"type": "object"})),
            });
        } else {
            unseen.push(format!("a tool of type `{}`", text_of(tool, "type")));
        }
    }
    let instructions = texts(body.get("instructions"), "/instructions", &[]);
    let mut items =
        vec![Item { kind: Kind::System, texts: instructions, holder: "/instructions".to_owned() }];
    match body.get("input") {
        Some(Value::String(text)) => items.push(Item {
            kind: Kind::User,
            texts: vec![Text { at: "/input".to_owned(), text: text.clone() }],
            holder: "/input".to_owned(),
        }),
        Some(Value::Array(input)) => {
            let read = input.iter().enumerate().map(|(at, it)| item(at, it));
            items.extend(read.collect::<Result<Vec<_>, String>>()?.into_iter().flatten());
        }
        _ => {}
    }
    let text =
        |at: &str| body.pointer(at).and_then(Value::as_str).filter(|it| !it.is_empty()).map(str::to_owned);
    Ok(Conversation {
        // the model of a stored prompt, or the one that the vendor takes
        model: model(body).unwrap_or_default(),
        streams: is_true(body, "stream"),
        wants_usage: true,
        items,
        tools,
        unseen,
        user: text("/user").or_else(|| text("/safety_identifier")),
        named: text("/metadata/celador_task")
            .or_else(|| text("/conversation"))
            .or_else(|| text("/conversation/id")),
        previous: text("/previous_response_id"),
        is_kept: body.get("conversation").is_some_and(|it| !it.is_null()),
    })
}

fn item(at: usize, item: &Value) -> Result<Option<Item>, String> {
    let said = ["input_text", "output_text", "text"];
    let kind = match item.get("type").and_then(Value::as_str).unwrap_or("message") {
        "message" => {
            let holder = format!("/input/{at}/content");
            let kind = match text_of(item, "role") {
                "system" | "developer" => Kind::System,
                "user" => Kind::User,
                "assistant" => Kind::Assistant(Vec::new()),
                _ => return Err(format!("`input[{at}].role` is none that is known")),
            };
            return Ok(Some(Item { kind, texts: texts(item.get("content"), &holder, &said), holder }));
        }
        "function_call" => Kind::Assistant(vec![call(item)]),
        "function_call_output" => Kind::Result { call: text_of(item, "call_id").to_owned(), failed: false },
        _ => return Ok(None),
    };
    let holder = format!("/input/{at}/output");
    Ok(Some(Item { kind, texts: texts(item.get("output"), &holder, &said), holder }))
}

fn call(item: &Value) -> ModelCall {
    ModelCall::of_text(text_of(item, "call_id"), text_of(item, "name"), text_of(item, "arguments"))
}

fn written(call: &ModelCall) -> Value {
    json!({
        "type": "function_call", "id": format!("fc_{}", call.id), "call_id": call.id, "name": call.name,
        "arguments": call.text(), "status": "completed"
    })
}

pub(super) fn answer(whole: &Value) -> Answer {
    let output = array(whole, "output");
    let messages = output.iter().filter(|it| is_type(it, "message"));
    let parts = messages.flat_map(|it| array(it, "content")).filter(|it| is_type(it, "output_text"));
    let texts: Vec<&str> = parts.map(|it| text_of(it, "text")).collect();
    let usage = whole.get("usage");
    let unseen = output.iter().map(|it| text_of(it, "type"));
    let unseen = unseen.filter(|kind| *kind != "function_call" && !SAID.contains(kind));
    Answer {
        text: texts.concat(),
        calls: output.iter().filter(|it| is_type(it, "function_call")).map(call).collect(),
        finish: whole.get("status").and_then(Value::as_str).map(str::to_owned),
        usage: Usage { prompt: count(usage, "input_tokens"), completion: count(usage, "output_tokens") },
        unseen: unseen.map(|kind| format!("an item of type `{kind}`")).collect(),
    }
}

pub(super) fn dress(whole: &mut Value, text: Option<&str>, calls: &[ModelCall]) {
    let id = text_of(whole, "id").to_owned();
    let Some(output) = array_mut(whole, "output") else { return };
    if let Some(text) = text {
        output.retain(|item| is_type(item, "function_call"));
        output.insert(0, said(&id, text));
    }
    let mut left: Vec<&ModelCall> = calls.iter().collect();
    output.retain_mut(|item| {
        if !is_type(item, "function_call") {
            return true;
        }
        let Some(at) = left.iter().position(|call| call.id == text_of(item, "call_id")) else { return false };
        let call = left.remove(at);
        item.as_object_mut().map(|item| item.insert("arguments".to_owned(), json!(call.text())));
        true
    });
    output.extend(left.into_iter().map(written));
    // a convenience of some servers; what it says is in the items
    whole.as_object_mut().map(|members| members.shift_remove("output_text"));
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
    json!({"type": "function_call_output", "call_id": told.call.id, "output": told.text})
}

pub(super) fn tell(body: &mut Value, told: &[Told]) {
    if let Some(input) = input(body) {
        input.extend(told.iter().map(result));
    }
}

/// The call stands in the input, or in an answer that the API has kept: then its output alone is in the input.
pub(super) fn insert(body: &mut Value, beside: &str, told: &[Told]) {
    let Some(input) = input(body) else { return };
    let find = |input: &[Value], kind: &str| {
        input.iter().position(|item| is_type(item, kind) && text_of(item, "call_id") == beside)
    };
    if let Some(at) = find(input, "function_call").map(|at| at.saturating_add(1)) {
        input.splice(at..at, told.iter().map(|told| written(&told.call)));
    }
    if let Some(at) = find(input, "function_call_output").map(|at| at.saturating_add(1)) {
        input.splice(at..at, told.iter().map(result));
    }
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

/// Takes in an event. An item that is a call is held from its beginning, and so is the end of the answer.
pub(super) fn take(whole: &mut Value, event: &Value, sent: &mut Sent) -> (Fate, bool) {
    sent.sequence = count(Some(event), "sequence_number");
    match text_of(event, "type") {
        "response.created" | "response.in_progress" | "response.queued" => {
            *whole = event.get("response").cloned().unwrap_or_default();
            sent.begun = true;
            (Fate::Pass, false)
        }
        "response.output_item.added" => {
            let item = event.get("item").unwrap_or(&Value::Null);
            if !SAID.contains(&text_of(item, "type")) {
                return (Fate::Hold, false);
            }
            sent.units = sent.units.saturating_add(1);
            (Fate::Pass, false)
        }
        "response.completed" | "response.incomplete" | "response.failed" => {
            *whole = event.get("response").cloned().unwrap_or_default();
            (Fate::Hold, true)
        }
        _ => (Fate::Pass, false),
    }
}

pub(super) fn events(whole: &Value, sent: Sent) -> String {
    let mut writer = Writer { text: String::new(), sequence: sent.sequence };
    if sent.begun {
        writer.sequence = writer.sequence.saturating_add(1);
    } else {
        let mut response = whole.clone();
        if let Some(response) = response.as_object_mut() {
            response.insert("output".to_owned(), json!([]));
            response.insert("status".to_owned(), json!("in_progress"));
            response.insert("usage".to_owned(), Value::Null);
        }
        writer.say("response.created", json!({"response": response}));
        writer.say("response.in_progress", json!({"response": response}));
    }
    for (index, item) in array(whole, "output").iter().enumerate().skip(sent.units) {
        writer.item(index, item);
    }
    let last = match text_of(whole, "status") {
        "incomplete" => "response.incomplete",
        "failed" => "response.failed",
        _ => "response.completed",
    };
    writer.say(last, json!({"response": whole}));
    writer.text
}

/// Events with their numbers.
struct Writer {
    text: String,
    sequence: u64,
}

impl Writer {
    fn say(&mut self, kind: &str, mut members: Value) {
        if let Some(members) = members.as_object_mut() {
            members.insert("type".to_owned(), json!(kind));
            members.insert("sequence_number".to_owned(), json!(self.sequence));
        }
        self.sequence = self.sequence.saturating_add(1);
        self.text += &sse::event(kind, &members);
    }

    fn item(&mut self, index: usize, item: &Value) {
        let id = item.get("id").cloned().unwrap_or_default();
        let mut begun = item.clone();
        if let Some(begun) = begun.as_object_mut() {
            for (key, empty) in
                [("content", json!([])), ("arguments", json!("")), ("status", json!("in_progress"))]
            {
                if let Some(place) = begun.get_mut(key) {
                    *place = empty;
                }
            }
        }
        self.say("response.output_item.added", json!({"output_index": index, "item": begun}));
        if is_type(item, "function_call") {
            let at = json!({"item_id": id, "output_index": index});
            let arguments = text_of(item, "arguments");
            self.say("response.function_call_arguments.delta", with(&at, json!({"delta": arguments})));
            let done = json!({"arguments": arguments, "name": item.get("name")});
            self.say("response.function_call_arguments.done", with(&at, done));
        }
        if is_type(item, "message") {
            for (place, part) in array(item, "content").iter().enumerate() {
                let at = json!({"item_id": id, "output_index": index, "content_index": place});
                self.part(&at, part);
            }
        }
        self.say("response.output_item.done", json!({"output_index": index, "item": item}));
    }

    fn part(&mut self, at: &Value, part: &Value) {
        let mut begun = part.clone();
        if let Some(text) = begun.get_mut("text") {
            *text = json!("");
        }
        self.say("response.content_part.added", with(at, json!({"part": begun})));
        if is_type(part, "output_text") {
            let text = text_of(part, "text");
            let empty = json!([]);
            let logprobs = part.get("logprobs").unwrap_or(&empty);
            self.say("response.output_text.delta", with(at, json!({"delta": text, "logprobs": logprobs})));
            self.say("response.output_text.done", with(at, json!({"text": text, "logprobs": logprobs})));
        }
        self.say("response.content_part.done", with(at, json!({"part": part})));
    }
}

/// The members of both.
fn with(at: &Value, members: Value) -> Value {
    let mut all = at.as_object().cloned().unwrap_or_default();
    if let Value::Object(members) = members {
        all.extend(members);
    }
    Value::Object(all)
}
