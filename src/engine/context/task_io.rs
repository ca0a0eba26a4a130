//! One entry of `context.input` or `context.output`: a message and, beside it, parameters or exposed values.
//!
//! In comes JSON in any of the forms that the specification allows for a message (`CTX-17`, `GR-11`), out comes a list
//! of content parts and an object of further keys. The number of characters is counted here, once, because `size()` of
//! a message asks for it again and again (`CEL-42`).

use super::messages;
use crate::cel::{Json, JsonRef, Kind};

/// A message with further keys: the agent's parameters on an input (`CTX-14`), `exposes` on an output (`CTX-16`).
#[derive(Clone, Debug, PartialEq)]
pub struct TaskIo {
    message: Json,
    extra: Json,
    characters: usize,
}

/// Why a value is no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskIoError {
    /// `{'message': 1}`: neither text nor a list of parts
    #[error("{}", messages::not_a_message(*.0))]
    NotAMessage(Kind),
    /// `{'message': ['text']}`: a part that is no object
    #[error("{}", messages::not_a_part(*.0))]
    NotAPart(Kind),
    /// `[{'message': []}]`: a part with neither `text` nor `mimeType`, or one of them no text
    #[error("{}", messages::no_content())]
    NoContent,
    /// `{'ticket': 1}`: an entry without a message
    #[error("{}", messages::no_message())]
    NoMessage,
}

impl TaskIo {
    /// An entry with a message of one text part (`CTX-17`) and no further keys.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let part = serde_json::json!([{ "mimeType": "text/plain", "text": text }]);
        Self { message: part.into(), extra: Json::object([]), characters: text.chars().count() }
    }

    /// An entry with this message, text or a list of parts, and no further keys. Linear in the message.
    ///
    /// # Errors
    /// A value that is neither, or a part that is no object.
    pub fn new(message: JsonRef<'_>) -> Result<Self, TaskIoError> {
        if let Some(text) = message.as_str() {
            return Ok(Self::text(text));
        }
        if !message.is_array() {
            return Err(TaskIoError::NotAMessage(message.value().kind()));
        }
        if let Some(part) = message.items().find(|part| !part.is_object()) {
            return Err(TaskIoError::NotAPart(part.value().kind()));
        }
        let characters = texts(message).map(|text| text.chars().count()).fold(0, usize::saturating_add);
        Ok(Self { message: message.to_json(), extra: Json::object([]), characters })
    }

    /// The entry that a whole object `{message, …}` describes; all keys but `message` are further keys.
    ///
    /// # Errors
    /// An object without a message, or with a message of a wrong shape.
    pub fn from_entry(entry: JsonRef<'_>) -> Result<Self, TaskIoError> {
        let message = entry.get("message").ok_or(TaskIoError::NoMessage)?;
        Ok(Self::new(message)?.with_extra(entry))
    }

    /// The entry that a whole object `{message, …}` describes, or one with this message alone. Linear in the message.
    ///
    /// # Errors
    /// Those of [`TaskIo::from_entry`] for an object, and those of [`TaskIo::new`] for another value.
    pub fn of(entry: JsonRef<'_>) -> Result<Self, TaskIoError> {
        if entry.is_object() { Self::from_entry(entry) } else { Self::new(entry) }
    }

    /// The same message with these further keys instead; a key `message` among them is left out.
    #[must_use]
    pub fn with_extra(mut self, extra: JsonRef<'_>) -> Self {
        let others = extra.entries().filter(|&(key, _)| key != "message");
        self.extra = Json::object(others.map(|(key, value)| (key, value.to_json())));
        self
    }

    /// The entry that a guardrail's transform makes of this one (`GR-11`, `GR-12`): text becomes the message, a list
    /// of parts the message, an object with `message` the whole entry.
    ///
    /// # Errors
    /// A value in another form, also a list whose elements are no content parts: `pii.redact(output)` is a list of the whole entry, and taken for a
    /// message it would be one without a text.
    pub fn transformed(&self, by: JsonRef<'_>) -> Result<Self, TaskIoError> {
        let entry = match by.is_object() {
            true => Self::from_entry(by)?,
            false => Self { extra: self.extra.clone(), ..Self::new(by)? },
        };
        if entry.message().items().all(is_part) { Ok(entry) } else { Err(TaskIoError::NoContent) }
    }

    /// The content parts.
    #[must_use]
    pub fn message(&self) -> JsonRef<'_> {
        self.message.root()
    }

    /// The further keys, an object.
    #[must_use]
    pub fn extra(&self) -> JsonRef<'_> {
        self.extra.root()
    }

    /// The number of characters of the text parts, as `size()` gives it for the message (`CEL-42`).
    #[must_use]
    pub fn characters(&self) -> usize {
        self.characters
    }

    /// The text parts, one after the other.
    #[must_use]
    pub fn message_text(&self) -> String {
        texts(self.message()).collect()
    }

    /// The whole entry as JSON: `message`, then the further keys. Linear in the entry.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let message = std::iter::once(("message", self.message.clone()));
        Json::object(message.chain(self.extra().entries().map(|(key, value)| (key, value.to_json()))))
    }

    /// Whether this is the very same entry, or a copy of it that shares its documents.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.message.is_same(&other.message) && self.extra.is_same(&other.extra)
    }

    /// What the entry adds to [`TaskContext::bytes`](super::TaskContext::bytes), or a little less.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.heap_bytes()
    }

    /// The bytes on the heap, as if nothing of it were shared.
    pub(super) fn heap_bytes(&self) -> usize {
        self.message.heap_bytes().saturating_add(self.extra.heap_bytes())
    }
}

/// Whether an object is a content part: it has a text or says what it is.
fn is_part(part: JsonRef<'_>) -> bool {
    let members = ["text", "mimeType"].map(|name| part.get(name));
    let mut present = members.into_iter().flatten().peekable();
    present.peek().is_some() && present.all(|member| member.as_str().is_some())
}

fn texts(message: JsonRef<'_>) -> impl Iterator<Item = &str> {
    message.items().filter_map(|part| part.get("text")?.as_str())
}
