//! Objects put together of values that lie elsewhere: in go the keys and the values, out comes one document, and nothing
//! in between is built.
//!
//! Whoever packs one object after the other with the same keys, such as the arguments of a function, packs those once
//! ([`Keys`]). The documents are like any others.

use super::Value;
use super::json::{Builder, Json, JsonRef, Members, Room, SORTED_FROM, Word};
use crate::fault::Fault;
use crate::limits::EvalLimits;
use crate::types::Kind;

/// A value that goes into a document.
#[derive(Clone, Copy, Debug)]
pub enum Part<'p> {
    /// From another document.
    Json(JsonRef<'p>),
    /// From anywhere else.
    Value(&'p Value<'p>),
}

/// The keys of objects of one kind, in their order.
///
/// ```
/// use celador_cel::{EvalLimits, Json, Keys, Part, Value};
///
/// let limits = EvalLimits::default();
/// // a function has the same parameters in each call, so their names are packed once
/// let keys = Keys::new(["customer", "amount"]).ok_or("the names differ")?;
///
/// // one argument is bound by the host, one comes out of the document that the model sent
/// let sent = Json::parse(r#"{"amount": 40, "customer": "u-8"}"#, &limits)?;
/// let bound = Value::from("u-7");
/// let amount = sent.root().get("amount").ok_or("the model names an amount")?;
/// let arguments = keys.object([Part::Value(&bound), Part::Json(amount)].into_iter(), &limits)?;
/// assert_eq!(arguments.to_string(), r#"{"customer":"u-7","amount":40}"#);
/// assert!(Keys::new(["amount", "amount"]).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

    /// Whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The object with all of these keys and these values, one for each.
    ///
    /// # Errors
    /// As [`Json::from_members`].
    pub fn object<'p>(
        &self,
        values: impl Iterator<Item = Part<'p>> + Clone,
        limits: &EvalLimits,
    ) -> Result<Json, Fault> {
        let mut room = room(limits);
        room.take(self.words.len().saturating_mul(2), self.text.len())?;
        values.clone().try_for_each(|value| value.make_room(&mut room))?;
        let mut builder = Builder::with_room(&room);
        builder.text.push_str(&self.text);
        let mut entries = Members::new();
        for (key, value) in self.words.iter().zip(values) {
            entries.push((*key, value.pack(&mut builder)?));
        }
        let root = builder.entries(&entries);
        Ok(builder.finish(root))
    }
}

impl Json {
    /// An object of these members, in their order; of equal keys the last wins.
    ///
    /// # Errors
    /// As [`Json::from_value_within`], for `max_json_depth`.
    pub fn from_members(members: &[(&str, Part<'_>)], limits: &EvalLimits) -> Result<Self, Fault> {
        let mut room = room(limits);
        for (key, value) in members {
            room.take(2, key.len())?;
            value.make_room(&mut room)?;
        }
        let mut builder = Builder::with_room(&room);
        let mut entries = Members::new();
        for (key, value) in members {
            let key = builder.key(key);
            entries.push((key, value.pack(&mut builder)?));
        }
        let root = builder.object(entries);
        Ok(builder.finish(root))
    }
}

impl Part<'_> {
    /// The kind of the value.
    #[inline]
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Json(value) => value.kind(),
            Self::Value(value) => value.kind(),
        }
    }

    #[inline]
    fn make_room(&self, room: &mut Room) -> Result<(), Fault> {
        match self {
            Self::Json(value) => room.add_json(*value, 1),
            Self::Value(value) => room.add(value, 1),
        }
    }

    #[inline]
    fn pack(&self, builder: &mut Builder) -> Result<Word, Fault> {
        match self {
            Self::Json(value) => Ok(builder.copy(*value)),
            Self::Value(value) => builder.value(value),
        }
    }
}

/// What whoever puts parts together knows the size of, but not the depth.
fn room(limits: &EvalLimits) -> Room {
    Room::new(usize::MAX, limits.max_json_depth)
}
