//! The requests and answers of the interfaces that models have, as one conversation.
//!
//! In: a body as a client of OpenAI or Anthropic sends it, an answer as the model's API gives it, whole or in events. Out: who said
//! what, which calls are asked for, and where each text stands, so that what a policy changes is changed in the body itself. What a
//! body may have is in the tables of `forms`; what they do not list goes on in no direction. No IO, no state.
//!
//! | file or folder | what |
//! |---|---|
//! | `shape`, `forms` | tables of all members and kinds, and how a value is held to one |
//! | `json`, `text`, `call` | JSON, one text of a message, one call of the model |
//! | `chat`, `responses`, `messages` | a request of each interface as a conversation, and what is put into it |
//! | `chat_answer`, `responses_answer`, `messages_answer` | an answer, whole |
//! | `chat_stream`, `responses_stream`, `messages_stream` | an answer in events: read, and written from what was read |
//! | `assembler`, `assembly` | an answer that comes in events, whichever the interface, and what has come and gone on of it |
//! | `sse` | events on the wire |
//! | `probe` | what holds of every input |

mod answer;
mod assembler;
mod assembly;
mod call;
mod chat;
mod chat_answer;
mod chat_stream;
mod conversation;
mod forms;
pub(crate) mod json;
mod messages;
mod messages_answer;
mod messages_stream;
pub(super) mod probe;
mod responses;
mod responses_answer;
mod responses_stream;
mod shape;
pub(crate) mod sse;
mod text;
mod tools;

pub(crate) use answer::{Answer, Fault, Told};
pub(crate) use assembler::Assembler;
pub(crate) use assembly::Sent;
pub(crate) use call::{ModelCall, said_by};
use celador_server::traffic::Form;
pub(crate) use conversation::{Conversation, Item, Kind, put_alone};
use serde_json::{Value, json};

/// One row for each kind of message, block, item and tool that the proxies know.
pub(super) fn forms() -> Vec<Form> {
    forms::forms()
}

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

impl Api {
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

    /// Holds a whole answer to its table: what is not in it goes, and is named. With `lax`, kinds that no table has stay.
    ///
    /// # Errors
    /// [`Fault`].
    pub(crate) fn decode(
        self,
        whole: &mut Value,
        lax: bool,
        made: impl FnMut() -> String,
    ) -> Result<Vec<String>, Fault> {
        answer::decode(self, whole, lax, made)
    }

    /// Reads a whole answer.
    pub(crate) fn answer(self, whole: &Value) -> Answer {
        match self {
            Self::Chat => chat_answer::answer(whole),
            Self::Responses => responses_answer::answer(whole),
            Self::Messages => messages_answer::answer(whole),
        }
    }

    /// Leaves in an answer the calls that the client is to carry out, with their arguments, and adds those that are not in it. With
    /// a text, that is all the text there is, and whatever else the model said goes.
    pub(crate) fn dress(self, whole: &mut Value, text: Option<&str>, calls: &[ModelCall]) {
        match self {
            Self::Chat => chat_answer::dress(whole, text, calls),
            Self::Responses => responses_answer::dress(whole, text, calls),
            Self::Messages => messages_answer::dress(whole, text, calls),
        }
    }

    /// An answer that no model gave.
    pub(crate) fn made(self, id: &str, model: &str, at: u64, text: &str) -> Value {
        match self {
            Self::Chat => chat_answer::made(id, model, at, text),
            Self::Responses => responses_answer::made(id, model, at, text),
            Self::Messages => messages_answer::made(id, model, text),
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

    /// Puts calls beside another one of the same turn, with what they came to, where the client does not know of them. The other one is
    /// the call of an id that comes after so many of the same id.
    pub(crate) fn insert(self, body: &mut Value, beside: &str, after: usize, told: &[Told]) {
        match self {
            Self::Chat => chat::insert(body, beside, after, told),
            Self::Responses => responses::insert(body, beside, after, told),
            Self::Messages => messages::insert(body, beside, after, told),
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
        let mut body = json!({"messages": [], "input": []});
        self.append(&mut body, whole);
        match self {
            Self::Chat => chat::items(&body),
            Self::Responses => responses::items(&body),
            Self::Messages => messages::items(&body),
        }
    }

    /// Puts another answer behind one of which the client has been sent the beginning.
    pub(crate) fn join(self, first: &mut Value, next: Value) {
        match self {
            Self::Chat => chat_answer::join(first, next),
            Self::Responses => responses_answer::join(first, next),
            Self::Messages => messages_answer::join(first, next),
        }
    }

    /// The events of an answer, less what the client has been sent of it.
    pub(crate) fn events(self, whole: &Value, mut sent: Sent, wants_usage: bool) -> String {
        match self {
            Self::Chat => chat_stream::end(whole, &mut sent, wants_usage),
            Self::Responses => responses_stream::end(whole, &mut sent),
            Self::Messages => messages_stream::end(whole, &mut sent),
        }
    }

    /// Takes the tools out of a request that a test does not keep, wherever it has them, and says which.
    pub(crate) fn keep_tools(self, body: &mut Value, keep: impl Fn(&str) -> bool) -> Vec<String> {
        tools::keep(self, body, &keep)
    }

    /// Takes the tools out of a request that the vendor runs, and a choice of one of them.
    pub(crate) fn drop_hosted(self, body: &mut Value) -> Vec<String> {
        tools::drop_hosted(self, body)
    }

    /// What a request has that the vendor has not been sent: the answer that it goes on from, and what was said behind it.
    pub(crate) fn unsent(self, body: &Value) -> (Option<String>, Vec<Value>) {
        match self {
            Self::Chat => (None, Vec::new()),
            Self::Responses => responses::unsent(body),
            Self::Messages => messages::unsent(body),
        }
    }

    /// Has a request go on from another answer, or from none, with this ahead of what is said in it.
    pub(crate) fn put_unsent(self, body: &mut Value, previous: Option<&str>, ahead: Vec<Value>) {
        match self {
            Self::Chat => {}
            Self::Responses => responses::put_unsent(body, previous, ahead),
            Self::Messages => messages::put_unsent(body, previous, ahead),
        }
    }

    /// What an answer adds to what the vendor has not been sent; less its calls, if the vendor has them.
    pub(crate) fn unsent_of(self, whole: &Value, has_calls: bool) -> Vec<Value> {
        match self {
            Self::Chat => Vec::new(),
            Self::Responses => responses::unsent_of(whole, has_calls),
            Self::Messages => messages::unsent_of(whole, has_calls),
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
            529 => "overloaded_error",
            _ => "api_error",
        };
        match self {
            Self::Messages => json!({"type": "error", "error": {"type": kind, "message": message}}),
            Self::Chat | Self::Responses => {
                json!({"error": {"message": message, "type": kind, "param": null, "code": "celador"}})
            }
        }
    }

    /// An error of the model's API, in its known members. Nothing of one that has another form.
    pub(crate) fn upstream_error(self, body: &Value) -> Option<Value> {
        let error = body.get("error")?;
        if let Value::String(message) = error {
            return Some(self.error(500, message));
        }
        let message = error.get("message")?.as_str()?;
        let word = |key: &str| error.get(key).filter(|it| it.is_string() || it.is_number()).cloned();
        Some(match self {
            Self::Messages => {
                let mut written =
                    json!({"type": "error", "error": {"type": word("type"), "message": message}});
                if let (Some(id), Some(written)) =
                    (body.get("request_id").filter(|it| it.is_string()), written.as_object_mut())
                {
                    written.insert("request_id".to_owned(), id.clone());
                }
                written
            }
            Self::Chat | Self::Responses => json!({"error": {
                "message": message, "type": word("type"), "param": word("param"), "code": word("code")
            }}),
        })
    }

    /// An error as an event, for a client that was sent the beginning of an answer.
    pub(crate) fn error_event(self, error: &Value) -> String {
        match self {
            Self::Chat => sse::data(error),
            Self::Messages => sse::event("error", error),
            Self::Responses => {
                let error = error.get("error").unwrap_or(&Value::Null);
                sse::event(
                    "error",
                    &json!({
                        "type": "error", "code": error.get("code"), "message": error.get("message"),
                        "param": error.get("param"), "sequence_number": 0
                    }),
                )
            }
        }
    }
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

fn is_true(body: &Value, key: &str) -> bool {
    body.get(key).and_then(Value::as_bool).unwrap_or_default()
}

/// A text that somebody has written under a pointer.
fn said(body: &Value, at: &str) -> Option<String> {
    body.pointer(at).and_then(Value::as_str).filter(|it| !it.is_empty()).map(str::to_owned)
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
mod form_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tool_tests;
