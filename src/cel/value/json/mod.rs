//! JSON as it is stored: one text and one run of words, evaluated as it lies.
//!
//! A document keeps all its strings in one text and every value in one 64-bit word, the elements of an array and the
//! entries of an object side by side. So reading never allocates, an element is found in constant time, a key by
//! comparing lengths first, and a document costs little more than its JSON text. Documents never change; clones share.

mod build;
mod parts;
mod read;
mod reference;
mod shortened;
mod word;
mod write;

pub use parts::{Keys, Part};
pub use read::JsonError;
pub use reference::{Guess, JsonRef};
pub use shortened::Shortened;

use super::{Text, Value};
use crate::fault::Fault;
use crate::limits::EvalLimits;
use build::{Builder, Room};
use triomphe::Arc;
use word::{Tag, Word};

/// A JSON value that owns what it holds.
#[derive(Clone)]
pub struct Json(Arc<Document>);

struct Document {
    words: Box<[u64]>,
    text: Box<str>,
    root: Word,
}

impl Json {
    /// Whether both are one document, shared by its clones. Equal documents that were made apart are not.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// `null`.
    #[must_use]
    pub fn null() -> Self {
        Builder::default().finish(Word::new(Tag::Null, 0, 0))
    }

    /// The value that an expression gave, as JSON (`CEL-41`): keys become text, bytes base64, times RFC 3339.
    ///
    /// A small expression can name one list a million times over, so the document may take no more than `max_json_bytes`.
    ///
    /// # Errors
    /// `not_json` for a type, an optional, or a double that is not finite; `budget_exceeded`.
    pub fn from_value(value: &Value<'_>, limits: &EvalLimits) -> Result<Self, Fault> {
        Self::written(value, Room::new(limits.max_json_bytes, usize::MAX))
    }

    /// The same for a value that will be stored, and must be read back some day: no deeper than `max_json_depth` either.
    ///
    /// # Errors
    /// As [`Json::from_value`], and `budget_exceeded` for a value that is nested deeper.
    pub fn from_value_within(value: &Value<'_>, limits: &EvalLimits) -> Result<Self, Fault> {
        Self::written(value, Room::new(limits.max_json_bytes, limits.max_json_depth))
    }

    /// The same for a value that a host made and knows the size of: without a bound.
    ///
    /// # Errors
    /// `not_json`.
    pub fn from_host(value: &Value<'_>) -> Result<Self, Fault> {
        Self::written(value, Room::new(usize::MAX, usize::MAX))
    }

    fn written(value: &Value<'_>, mut room: Room) -> Result<Self, Fault> {
        room.add(value, 0)?;
        let mut builder = Builder::with_room(&room);
        let root = builder.value(value)?;
        Ok(builder.finish(root))
    }

    /// An object of these members, in their order.
    pub fn object<'k>(members: impl IntoIterator<Item = (&'k str, Self)>) -> Self {
        let mut builder = Builder::default();
        let members = members.into_iter().map(|(key, value)| {
            let key = builder.key(key);
            (key, builder.copy(value.root()))
        });
        let members = members.collect();
        let root = builder.object(members);
        builder.finish(root)
    }

    /// A string.
    #[must_use]
    pub fn string(text: &str) -> Self {
        let mut builder = Builder::default();
        let root = builder.string(text);
        builder.finish(root)
    }

    /// The whole document.
    #[must_use]
    pub fn root(&self) -> JsonRef<'_> {
        JsonRef { document: &self.0, word: self.0.root }
    }

    /// The whole document as a CEL value.
    #[inline]
    #[must_use]
    pub fn value(&self) -> Value<'_> {
        self.root().value()
    }

    /// The bytes that the document holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        size_of::<Document>()
            .saturating_add(self.0.words.len().saturating_mul(size_of::<u64>()))
            .saturating_add(self.0.text.len())
    }
}

impl PartialEq for Json {
    /// Equality as CEL has it: `1` equals `1.0`, and the order of keys does not count. What is left of a value that was
    /// shortened equals what is left of the same value.
    fn eq(&self, other: &Self) -> bool {
        match (self.shortened(), other.shortened()) {
            (None, None) => self.value().equals(&other.value()),
            (one, other) => one == other,
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}

impl From<Text<'_>> for Json {
    fn from(text: Text<'_>) -> Self {
        Self::string(&text)
    }
}
