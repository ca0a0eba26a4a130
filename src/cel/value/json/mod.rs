//! JSON as it is stored: one text and one run of words, evaluated as it lies.
//!
//! A document keeps all its strings in one text and every value in one 64-bit word, the elements of an array and the
//! entries of an object side by side. So reading never allocates, an element is found in constant time, a key by
//! comparing lengths first, and a document costs little more than its JSON text. Documents never change; clones share.
//! What they are as CEL values is said above, in `json_value`.

mod build;
mod read;
mod reference;
mod shortened;
mod word;
mod write;

pub use read::JsonError;
pub(crate) use reference::Guess;
pub use reference::JsonRef;
pub use shortened::Shortened;

pub(super) use build::{Builder, Members, Room};
pub(super) use word::{SMALL, SORTED_FROM, Tag, Word};

use triomphe::Arc;

/// An owned JSON value. A clone shares the document.
///
/// ```
/// use celador_cel::{EvalLimits, Json};
///
/// let order = Json::parse(r#"{"total": 42, "lines": [{"price": 20}]}"#, &EvalLimits::default())?;
/// let total = order.root().get("total").and_then(|total| total.as_int());
/// assert_eq!(total, Some(42));
///
/// // written down again in the order in which it came
/// assert_eq!(order.to_string(), r#"{"total":42,"lines":[{"price":20}]}"#);
/// let pair = Json::object([("order", order), ("note", Json::string("paid"))]);
/// assert_eq!(pair.root().get("note").and_then(|note| note.as_str()), Some("paid"));
/// # Ok::<(), celador_cel::JsonError>(())
/// ```
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

    /// The bytes that the document holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        size_of::<Document>()
            .saturating_add(self.0.words.len().saturating_mul(size_of::<u64>()))
            .saturating_add(self.0.text.len())
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}
