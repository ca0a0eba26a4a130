//! What a model has answered, whichever the interface: a text, calls, tokens; or why it is no answer.

use super::call::{ModelCall, complete_ids, is_call};
use super::forms::{chat_answer as chat, messages_answer as messages, responses_answer as responses};
use super::shape::{Found, Shape};
use super::{Api, is_type, text_of};
use serde_json::{Value, json};

/// What the model has answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    /// All of its text, wherever it stands: what it said, refused and recorded, and the titles of what it cites.
    pub(crate) text: String,
    pub(crate) calls: Vec<ModelCall>,
    /// Why it stopped, in the words of its interface.
    pub(crate) finish: Option<String>,
    pub(crate) usage: Usage,
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

/// Why what an API gave is no answer for the client.
#[derive(Debug, PartialEq)]
pub(crate) enum Fault {
    /// It is no answer of the interface: why.
    Broken(String),
    /// It has what no table knows.
    Unseen(Vec<String>),
    /// The API says itself that it has failed, in the midst of an answer: its error, in the form of the interface.
    Upstream(Value),
}

/// Holds a value to a shape. Members that it does not have go, and are named; with `lax` they and unknown kinds stay, and are named.
pub(super) fn hold(shape: &Shape, value: &mut Value, lax: bool) -> Result<Vec<String>, Fault> {
    let mut gone = Vec::new();
    if !lax {
        shape.prune(value, &mut String::new(), &mut gone);
    }
    let mut found = Found::default();
    shape.look(value, &mut String::new(), &mut found);
    if let Some(place) = found.misfits.first() {
        return Err(Fault::Broken(format!("{place} has a value of another type than the API gives")));
    }
    if !found.unseen.is_empty() && !lax {
        return Err(Fault::Unseen(found.unseen));
    }
    gone.extend(found.unseen);
    Ok(gone)
}

/// Holds a whole answer to the table of its interface.
pub(super) fn decode(
    api: Api,
    whole: &mut Value,
    lax: bool,
    made: impl FnMut() -> String,
) -> Result<Vec<String>, Fault> {
    if let Some(error) =
        whole.get("error").filter(|error| error.is_object()).and_then(|_| api.upstream_error(whole))
    {
        // an error under the status of an answer; responses say theirs as a member of one
        if api != Api::Responses || whole.get("output").is_none() {
            return Err(Fault::Upstream(error));
        }
    }
    let (table, root) = match api {
        Api::Chat => (chat::ANSWER, "choices"),
        Api::Responses => (responses::ANSWER, "output"),
        Api::Messages => (messages::ANSWER, "content"),
    };
    if !whole.get(root).is_some_and(Value::is_array) {
        return Err(Fault::Broken(format!("`{root}` is missing")));
    }
    let mut gone = Vec::new();
    if api == Api::Chat {
        gone.extend(one_choice(whole, lax)?);
    }
    gone.extend(hold(&Shape::Object(table), whole, lax)?);
    match api {
        Api::Chat => {
            let message = whole.pointer_mut("/choices/0/message");
            if let Some(message) = message {
                join_parts(message);
                let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
                complete_ids(calls.into_iter().flatten(), "id", made);
            }
        }
        Api::Responses => {
            let items = whole.get_mut("output").and_then(Value::as_array_mut).into_iter().flatten();
            complete_ids(items.filter(|item| is_call(item)), "call_id", made);
        }
        Api::Messages => {
            let blocks = whole.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten();
            complete_ids(blocks.filter(|block| is_type(block, "tool_use")), "id", made);
        }
    }
    Ok(gone)
}

/// Leaves the one choice that was asked for.
fn one_choice(whole: &mut Value, lax: bool) -> Result<Option<String>, Fault> {
    let Some(Value::Array(choices)) = whole.get_mut("choices") else { return Ok(None) };
    let count = choices.len();
    let is_first =
        |choice: &Value| choice.get("index").and_then(Value::as_u64).is_none_or(|index| index == 0);
    let at = choices.iter().position(is_first).unwrap_or_default();
    if !choices.get(at).and_then(|choice| choice.get("message")).is_some_and(Value::is_object) {
        return Err(Fault::Broken("`choices[0].message` is missing".to_owned()));
    }
    choices.swap(0, at);
    if lax {
        return Ok(None);
    }
    choices.truncate(1);
    if let Some(choice) = choices.first_mut().and_then(Value::as_object_mut) {
        choice.insert("index".to_owned(), json!(0));
    }
    Ok((count > 1).then(|| format!("{} choices that nobody asked for", count.saturating_sub(1))))
}

/// One text of content that comes in parts.
pub(super) fn join_parts(message: &mut Value) {
    let Some(Value::Array(parts)) = message.get("content") else { return };
    let text: String =
        parts.iter().map(|part| [text_of(part, "text"), text_of(part, "refusal")].concat()).collect();
    message.as_object_mut().map(|message| message.insert("content".to_owned(), json!(text)));
}

/// The text that is said, with all other texts behind it.
pub(super) fn all_text(said: &str, whole: &Value, table: &Shape, is_said: impl Fn(&str) -> bool) -> String {
    let mut text = said.to_owned();
    for other in table.texts(Some(whole), "").iter().filter(|it| !is_said(&it.at) && !it.text.is_empty()) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&other.text);
    }
    text
}
