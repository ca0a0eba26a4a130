//! The keys of objects of one kind, packed once: in go the names, and for each object its values; out come documents.
//!
//! Whoever packs one object after the other with the same keys, such as the arguments of a function, so packs no more than
//! the values. The documents are like any others.

use super::Json;
use super::build::{Builder, Members, Room};
use super::word::{SORTED_FROM, Word};
use crate::cel::fault::Fault;
use crate::cel::value::Value;
use crate::limits::EvalLimits;

/// The keys of objects of one kind, in their order.
#[derive(Clone, Debug)]
pub struct Keys {
    text: Box<str>,
    words: Box<[Word]>,
}

impl Keys {
    /// Packs keys. Nothing if one of them stands there twice, or if they are so many that each object needs an order.
    #[must_use]
    pub fn new<'k>(keys: impl IntoIterator<Item = &'k str>) -> Option<Self> {
        let mut builder = Builder::default();
        let members: Members = keys.into_iter().map(|key| (builder.string(key), Word::default())).collect();
        let few = members.len() < SORTED_FROM && !builder.has_key_twice(&members);
        few.then(|| Self { text: builder.text.into(), words: members.iter().map(|(key, _)| *key).collect() })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The object with all of these keys and these values, one for each, in one document: nothing in between is built.
    ///
    /// # Errors
    /// As [`Json::from_members`].
    pub fn object<'v>(&self, values: impl Iterator<Item = &'v Value<'v>> + Clone) -> Result<Json, Fault> {
        let mut room = Room::new(usize::MAX, EvalLimits::default().max_json_depth);
        room.take(self.words.len().saturating_mul(2), self.text.len())?;
        for value in values.clone() {
            room.add(value, 1)?;
        }
        let mut builder = Builder::with_room(&room);
        builder.text.push_str(&self.text);
        let mut entries = Members::new();
        for (key, value) in self.words.iter().zip(values) {
            entries.push((*key, builder.value(value)?));
        }
        let root = builder.entries(&entries);
        Ok(builder.finish(root))
    }
}
