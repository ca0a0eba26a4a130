//! A request as a conversation: who said what, in which order, with which tools.

use super::call::ModelCall;
use super::is_type;
use super::shape::{Found, Members, Shape};
use super::text::Text;
use serde_json::{Value, json};

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
    /// What the request asks for or has that the proxy cannot hold to policies: words for people.
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
        /// The id of the call on the wire.
        call: String,
        /// The id of the call in the task.
        key: String,
        failed: bool,
    },
}

/// A tool as the client offers it to the model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) schema: Value,
}

impl Kind {
    /// The result of a call.
    pub(super) fn result(call: &str, failed: bool) -> Self {
        Self::Result { call: call.to_owned(), key: call.to_owned(), failed }
    }
}

impl Item {
    /// What somebody said under a pointer, in the form that a table has for it.
    pub(super) fn new(kind: Kind, shape: &Shape, body: &Value, holder: String) -> Self {
        Self { kind, texts: shape.texts(body.pointer(&holder), &holder), holder }
    }

    /// What is said in it, without what stands beside that: titles of what is cited, names of files. Clients send an answer back without.
    pub(crate) fn spoken(&self) -> String {
        let said = self.texts.iter().filter(|text| text.at == self.holder || text.at.ends_with("/text"));
        let said: Vec<&str> = said.map(|text| &*text.text).collect();
        said.join("\n")
    }

    /// Takes the arguments of a call of it out of a request.
    pub(crate) fn empty_arguments(&self, body: &mut Value, call: &str) {
        let holder = self.holder.strip_suffix("/content").and_then(|holder| body.pointer_mut(holder));
        if let Some(holder) = holder {
            ModelCall::empty_arguments(holder, call);
        }
    }

    /// All of its text.
    pub(crate) fn text(&self) -> String {
        let texts: Vec<&str> = self.texts.iter().map(|text| &*text.text).collect();
        texts.join("\n")
    }
}

/// Holds a request to its table. Says what the table does not know.
///
/// # Errors
/// A member whose value has another type.
pub(super) fn check(table: Members, body: &Value) -> Result<Vec<String>, String> {
    let mut found = Found::default();
    Shape::Object(table).look(body, &mut String::new(), &mut found);
    match found.misfits.first() {
        Some(place) => Err(format!("{place} has a value of another type than the API takes")),
        None => Ok(found.unseen),
    }
}

/// The member that has the tools which a search has found: the content of its item, in which no text can stand.
pub(super) const TOOLS: &str = "tools";

/// Puts one text in the place of everything that an item has, images and all; results of calls that stand beside it stay.
pub(crate) fn put_alone(body: &mut Value, item: &Item, text: &str) {
    let Some((above, key)) = item.holder.rsplit_once('/') else { return };
    let Some(holder) = body.pointer_mut(above).and_then(Value::as_object_mut) else { return };
    let is_assistant = holder.get("role").is_some_and(|role| role == "assistant");
    if is_assistant {
        // what a model says in other members than its content
        holder.retain(|key, _| !["refusal", "annotations", "audio"].contains(&key.as_str()));
    }
    let holder = holder.entry(key).or_insert(Value::Null);
    if key == TOOLS {
        *holder = json!([]);
        return;
    }
    let Value::Array(parts) = holder else {
        *holder = Value::String(text.to_owned());
        return;
    };
    let kind = match item.holder.starts_with("/input") {
        true if is_assistant => "output_text",
        true => "input_text",
        false => "text",
    };
    parts.retain(|part| ["tool_result", "tool_use"].iter().any(|kind| is_type(part, kind)));
    let said = json!({"type": kind, "text": text});
    // an answer's text is ahead of its calls
    let at = if is_assistant { 0 } else { parts.len() };
    parts.insert(at, said);
}
