//! The requests and answers of the interfaces that models have, as one conversation.
//!
//! In: a body as a client of OpenAI or Anthropic sends it, an answer as the model's API gives it, whole or in events. Out: who said
//! what, which calls are asked for, and where each text stands, so that what a policy changes is changed in the body itself. What no
//! policy speaks of stays as it came, to the member: reasoning, images, options that are not known here. No IO, no state.

mod chat;
mod messages;
mod responses;
pub(crate) mod sse;

use serde_json::{Map, Value, json};

/// An interface of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    /// OpenAI's `POST /v1/chat/completions`, which most other makers speak too.
    Chat,
    /// OpenAI's `POST /v1/responses`.
    Responses,
    /// Anthropic's `POST /v1/messages`.
    Messages,
}

/// A request as a conversation.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// The name of the model.
    pub(crate) model: String,
    /// Whether the answer is to come in events.
    pub(crate) streams: bool,
    /// Whether the client has asked for the usage at the end of a stream (chat completions only).
    pub(crate) wants_usage: bool,
    /// What was said, in order.
    pub(crate) items: Vec<Item>,
    /// The tools of the client that the model is offered.
    pub(crate) tools: Vec<Tool>,
    /// What the request asks for that the proxy cannot hold to policies: words for people.
    pub(crate) unseen: Vec<String>,
    /// The user, as the client names them.
    pub(crate) user: Option<String>,
    /// The conversation, if the client names it in the body.
    pub(crate) named: Option<String>,
    /// The answer that this request goes on from, if the API keeps answers.
    pub(crate) previous: Option<String>,
    /// Whether the API keeps the conversation, and the request has what is new of it alone.
    pub(crate) is_kept: bool,
}

/// One thing that was said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) kind: Kind,
    /// Its texts, each with the JSON pointer to where it stands in the body.
    pub(crate) texts: Vec<Text>,
    /// The pointer to the value that has all of its content.
    pub(crate) holder: String,
}

/// A text and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    pub(crate) at: String,
    pub(crate) text: String,
}

/// Who said it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// The application: instructions.
    System,
    User,
    /// The model, with the calls that it asks for.
    Assistant(Vec<ModelCall>),
    /// The client, with what a call came to.
    Result {
        call: String,
        failed: bool,
    },
}

/// A call that the model asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelCall {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The arguments, if what the model wrote is an object of JSON.
    pub(crate) arguments: Option<Map<String, Value>>,
}

/// A tool as the client offers it to the model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) schema: Value,
}

/// What the model has answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    /// All of its text.
    pub(crate) text: String,
    pub(crate) calls: Vec<ModelCall>,
    /// Why it stopped, in the words of its interface.
    pub(crate) finish: Option<String>,
    pub(crate) usage: Usage,
    /// Calls of kinds that the proxy does not know: words for people.
    pub(crate) unseen: Vec<String>,
}

/// Tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) prompt: u64,
    pub(crate) completion: u64,
}

/// A call with what the model is told that it came to, without the client.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) call: ModelCall,
    pub(crate) text: String,
    pub(crate) failed: bool,
}

/// How much of an answer a client has been sent that is sent in events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Whether the answer was begun.
    pub(crate) begun: bool,
    /// Bytes of text, blocks or items, as the interface counts.
    pub(crate) units: usize,
    /// The number of the last event, where they have numbers.
    pub(crate) sequence: u64,
}

/// What is to become of an event of the model's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It has nothing that is decided: the client may have it as it is.
    Pass,
    /// It begins a call or ends the answer: from here on everything is held until it is decided.
    Hold,
}

/// Puts an answer together that comes in events.
#[derive(Debug)]
pub(crate) struct Assembler {
    api: Api,
    whole: Value,
    holds: bool,
    sent: Sent,
    complete: bool,
}

impl Api {
    /// The path of its requests.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Responses => "/responses",
            Self::Messages => "/messages",
        }
    }

    /// Reads a request.
    ///
    /// # Errors
    /// What the body lacks, or has in another form than the interface.
    pub(crate) fn read(self, body: &Value) -> Result<Conversation, String> {
        match self {
            Self::Chat => chat::read(body),
            Self::Responses => responses::read(body),
            Self::Messages => messages::read(body),
        }
    }

    /// Reads a whole answer.
    pub(crate) fn answer(self, whole: &Value) -> Answer {
        match self {
            Self::Chat => chat::answer(whole),
            Self::Responses => responses::answer(whole),
            Self::Messages => messages::answer(whole),
        }
    }

    /// Leaves in an answer the calls that the client is to carry out, with their arguments, and adds those that are not in it. With
    /// a text, that is all the text there is, and whatever else the model said goes.
    pub(crate) fn dress(self, whole: &mut Value, text: Option<&str>, calls: &[ModelCall]) {
        match self {
            Self::Chat => chat::dress(whole, text, calls),
            Self::Responses => responses::dress(whole, text, calls),
            Self::Messages => messages::dress(whole, text, calls),
        }
    }

    /// An answer that no model gave.
    pub(crate) fn made(self, id: &str, model: &str, at: u64, text: &str) -> Value {
        match self {
            Self::Chat => chat::made(id, model, at, text),
            Self::Responses => responses::made(id, model, at, text),
            Self::Messages => messages::made(id, model, text),
        }
    }

    /// Puts an answer behind a request, as a client does that goes on with the conversation.
    pub(crate) fn append(self, body: &mut Value, whole: &Value) {
        match self {
            Self::Chat => chat::append(body, whole),
            Self::Responses => responses::append(body, whole),
            Self::Messages => messages::append(body, whole),
        }
    }

    /// Puts what calls came to at the end of a request.
    pub(crate) fn tell(self, body: &mut Value, told: &[Told]) {
        match self {
            Self::Chat => chat::tell(body, told),
            Self::Responses => responses::tell(body, told),
            Self::Messages => messages::tell(body, told),
        }
    }

    /// Puts calls beside another one of the same turn, with what they came to, where the client does not know of them.
    pub(crate) fn insert(self, body: &mut Value, beside: &str, told: &[Told]) {
        match self {
            Self::Chat => chat::insert(body, beside, told),
            Self::Responses => responses::insert(body, beside, told),
            Self::Messages => messages::insert(body, beside, told),
        }
    }

    /// An answer as it was, without its text and its calls: what an API wants to see again ahead of the calls of an answer.
    pub(crate) fn frame(self, whole: &Value, id: &str, at: u64) -> Value {
        let mut frame = self.made(id, text_of(whole, "model"), at, "");
        if self == Self::Messages {
            let thought = array(whole, "content").iter();
            let thought =
                thought.filter(|block| is_type(block, "thinking") || is_type(block, "redacted_thinking"));
            let thought: Vec<Value> = thought.cloned().collect();
            frame.as_object_mut().map(|frame| frame.insert("content".to_owned(), thought.into()));
        }
        frame
    }

    /// The items that an answer adds to a conversation, as its client sends them back.
    pub(crate) fn items(self, whole: &Value) -> Vec<Item> {
        let mut body = json!({"model": "", "messages": [], "input": []});
        self.append(&mut body, whole);
        self.read(&body).map(|conversation| conversation.items).unwrap_or_default()
    }

    /// Puts another answer behind one of which the client has been sent the beginning.
    pub(crate) fn join(self, first: &mut Value, next: Value) {
        match self {
            Self::Chat => chat::join(first, next),
            Self::Responses => responses::join(first, next),
            Self::Messages => messages::join(first, next),
        }
    }

    /// The events of an answer, less what the client has been sent of it.
    pub(crate) fn events(self, whole: &Value, sent: Sent, wants_usage: bool) -> String {
        match self {
            Self::Chat => chat::events(whole, sent, wants_usage),
            Self::Responses => responses::events(whole, sent),
            Self::Messages => messages::events(whole, sent),
        }
    }

    /// The tools that the model is offered, by name, less those that a test does not keep.
    pub(crate) fn keep_tools(self, body: &mut Value, keep: impl Fn(&str) -> bool) {
        let named = |tool: &Value| {
            let of = if self == Self::Chat { tool.get("function") } else { Some(tool) };
            of.and_then(|it| it.get("name")).and_then(Value::as_str).map(str::to_owned)
        };
        if let Some(Value::Array(tools)) = body.get_mut("tools") {
            tools.retain(|tool| named(tool).is_none_or(|name| keep(&name)));
            if tools.is_empty() {
                let body = body.as_object_mut();
                body.map(|body| {
                    ["tools", "tool_choice", "parallel_tool_calls"].map(|key| body.shift_remove(key))
                });
            }
        }
    }

    /// An error in the form of the interface.
    pub(crate) fn error(self, status: u16, message: &str) -> Value {
        let kind = match status {
            400 | 413 | 415 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            _ => "api_error",
        };
        match self {
            Self::Messages => json!({"type": "error", "error": {"type": kind, "message": message}}),
            Self::Chat | Self::Responses => {
                json!({"error": {"message": message, "type": kind, "param": null, "code": "celador"}})
            }
        }
    }

    /// An error as an event, for a client that was sent the beginning of an answer.
    pub(crate) fn error_event(self, message: &str) -> String {
        let error = self.error(500, message);
        match self {
            Self::Chat => sse::data(&error),
            Self::Messages => sse::event("error", &error),
            Self::Responses => sse::event(
                "error",
                &json!({"type": "error", "code": "celador", "message": message, "param": null, "sequence_number": 0}),
            ),
        }
    }
}

impl Assembler {
    pub(crate) fn new(api: Api) -> Self {
        Self { api, whole: Value::Null, holds: false, sent: Sent::default(), complete: false }
    }

    /// Takes an event in, and says whether the client may have it now. Once one is held, so are all that follow.
    pub(crate) fn take(&mut self, event: &Value) -> Fate {
        let (whole, sent) = (&mut self.whole, &mut self.sent);
        let before = *sent;
        let (fate, complete) = match self.api {
            Api::Chat => chat::take(whole, event, sent),
            Api::Responses => responses::take(whole, event, sent),
            Api::Messages => messages::take(whole, event, sent),
        };
        self.complete |= complete;
        self.holds |= fate == Fate::Hold;
        if self.holds {
            self.sent = before;
            return Fate::Hold;
        }
        Fate::Pass
    }

    /// The whole answer, and how much of it the client has been sent if it was sent what passed; nothing of an answer that broke off.
    pub(crate) fn finish(self) -> Option<(Value, Sent)> {
        let settled = match self.api {
            Api::Chat | Api::Responses => self.whole,
            Api::Messages => messages::settle(self.whole),
        };
        self.complete.then_some((settled, self.sent))
    }
}

impl Item {
    /// All of its text.
    pub(crate) fn text(&self) -> String {
        let texts: Vec<&str> = self.texts.iter().map(|text| &*text.text).collect();
        texts.join("\n")
    }
}

impl ModelCall {
    /// A call whose arguments are a text of JSON. A text that is empty is that of a call without arguments, as models write it.
    fn of_text(id: &str, name: &str, arguments: &str) -> Self {
        let read =
            if arguments.trim().is_empty() { Some(Map::new()) } else { serde_json::from_str(arguments).ok() };
        Self { id: id.to_owned(), name: name.to_owned(), arguments: read }
    }

    /// Its arguments as a text of JSON.
    fn text(&self) -> String {
        self.arguments.as_ref().map_or_else(String::new, |arguments| json!(arguments).to_string())
    }
}

/// Puts a text at a place of a body.
pub(crate) fn put(body: &mut Value, at: &str, text: &str) {
    if let Some(place) = body.pointer_mut(at) {
        *place = Value::String(text.to_owned());
    }
}

/// Puts one text in the place of everything that an item has, images and all; results of calls that stand beside it stay.
pub(crate) fn put_alone(body: &mut Value, item: &Item, text: &str) {
    let Some((above, key)) = item.holder.rsplit_once('/') else { return };
    let Some(holder) = body.pointer_mut(above).and_then(Value::as_object_mut) else { return };
    let holder = holder.entry(key).or_insert(Value::Null);
    let Value::Array(parts) = holder else {
        *holder = Value::String(text.to_owned());
        return;
    };
    let kind = if item.holder.starts_with("/input") { "input_text" } else { "text" };
    parts.retain(|part| is_type(part, "tool_result"));
    parts.push(json!({"type": kind, "text": text}));
}

fn is_type(value: &Value, kind: &str) -> bool {
    value.get("type").and_then(Value::as_str) == Some(kind)
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn count(value: Option<&Value>, key: &str) -> u64 {
    value.and_then(|value| value.get(key)).and_then(Value::as_u64).unwrap_or_default()
}

fn array<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The array under a key, made if it is not there.
fn array_mut<'v>(value: &'v mut Value, key: &str) -> Option<&'v mut Vec<Value>> {
    let members = value.as_object_mut()?;
    let place = members.entry(key).or_insert_with(|| json!([]));
    if place.is_null() {
        *place = json!([]);
    }
    place.as_array_mut()
}

/// The texts of content that is a text, or a list of parts of which those of some types are.
fn texts(content: Option<&Value>, at: &str, types: &[&str]) -> Vec<Text> {
    match content {
        Some(Value::String(text)) => vec![Text { at: at.to_owned(), text: text.clone() }],
        Some(Value::Array(parts)) => {
            let read = |(place, part): (usize, &Value)| {
                let text = part.get("text").and_then(Value::as_str);
                let text = text.filter(|_| types.contains(&text_of(part, "type")))?;
                Some(Text { at: format!("{at}/{place}/text"), text: text.to_owned() })
            };
            parts.iter().enumerate().filter_map(read).collect()
        }
        _ => Vec::new(),
    }
}

/// The model that a request names.
fn model(body: &Value) -> Result<String, String> {
    body.get("model")
        .and_then(Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| "`model` is missing".to_owned())
}

fn is_true(body: &Value, key: &str) -> bool {
    body.get(key).and_then(Value::as_bool).unwrap_or_default()
}

/// Adds the numbers of one usage to those of another, member by member.
fn add_usage(into: &mut Value, other: &Value) {
    match (into, other) {
        (Value::Object(into), Value::Object(other)) => {
            for (key, value) in other {
                match into.get_mut(key) {
                    Some(place) => add_usage(place, value),
                    None => {
                        into.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (into @ Value::Number(_), Value::Number(other)) => {
            if let (Some(left), Some(right)) = (into.as_u64(), other.as_u64()) {
                *into = json!(left.saturating_add(right));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
