//! Maps: a host's own record, a stored JSON object, constants, or one that was computed.

use super::json::JsonRef;
use super::live::LiveRecord;
use super::{Text, Value};
use crate::types::At;
use indexmap::{Equivalent, IndexMap};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Entries of a computed map, in the order in which they were written.
pub type Entries<'a> = IndexMap<Key<'a>, Value<'a>>;

/// A map of values.
#[derive(Clone, Debug)]
pub enum Map<'a> {
    /// A part of a host's structs, seen as a record.
    Live {
        /// The structs.
        of: &'a dyn LiveRecord,
        /// Which part.
        at: At,
    },
    /// A JSON object.
    Json(JsonRef<'a>),
    /// Entries that outlive the evaluation.
    Entries(&'a Entries<'a>),
    /// Entries that were computed.
    Shared(Arc<Entries<'a>>),
}

/// A key of a map. An `int` and a `uint` of one number are one key, as CEL's equality has it.
///
/// ```
/// use celador_cel::{Entries, Key, Value};
///
/// let key = Key::from_value(&Value::from("total")).expect("texts may be keys");
/// let entries: Entries<'_> = [(key, Value::from(42))].into_iter().collect();
/// let Value::Map(map) = Value::map(entries) else { panic!("it is a map") };
/// assert_eq!(map.len(), 1);
/// assert!(Key::from_value(&Value::Null).is_none());
/// ```
#[derive(Clone, Debug)]
pub enum Key<'a> {
    /// `true: …`
    Bool(bool),
    /// `1: …`
    Int(i64),
    /// `1u: …`
    UInt(u64),
    /// `'a': …`
    String(Text<'a>),
}

/// The first number that is no `int`, as a double.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

impl<'a> Key<'a> {
    /// The key for a value in a map literal; `None` if values of this kind cannot be keys.
    #[must_use]
    pub fn from_value(value: &Value<'a>) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(Self::Bool(*value)),
            Value::Int(value) => Some(Self::Int(*value)),
            Value::UInt(value) => Some(Self::UInt(*value)),
            Value::String(text) => Some(Self::String(text.clone())),
            _ => None,
        }
    }

    /// The key that a value looks up: as in a literal, and a double looks up the whole number that it is exactly. `None` for a value
    /// that no key equals.
    #[must_use]
    pub fn lookup(value: &Value<'a>) -> Option<Self> {
        match value {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the bounds are tested first, and the value is whole"
            )]
            Value::Double(value) if value.fract() == 0.0 && (-TWO_TO_63..TWO_TO_63).contains(value) => {
                Some(Self::Int(*value as i64))
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the bounds are tested first, and the value is whole"
            )]
            Value::Double(value) if value.fract() == 0.0 && (TWO_TO_63..2.0 * TWO_TO_63).contains(value) => {
                Some(Self::UInt(*value as u64))
            }
            other => Self::from_value(other),
        }
    }

    /// The key as a value.
    #[must_use]
    pub fn value(&self) -> Value<'a> {
        match self {
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::UInt(value) => Value::UInt(*value),
            Self::String(text) => Value::String(text.clone()),
        }
    }

    /// The same key, with its text copied.
    #[must_use]
    pub fn to_static(&self) -> Key<'static> {
        match self {
            Self::Bool(value) => Key::Bool(*value),
            Self::Int(value) => Key::Int(*value),
            Self::UInt(value) => Key::UInt(*value),
            Self::String(text) => Key::String(text.to_static()),
        }
    }

    /// The number, signed, if it is one that fits.
    fn number(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::UInt(value) => i64::try_from(*value).ok(),
            _ => None,
        }
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::String(a), Self::String(b)) => **a == **b,
            (Self::UInt(a), Self::UInt(b)) => a == b,
            _ => self.number().is_some() && self.number() == other.number(),
        }
    }
}

impl Eq for Key<'_> {}

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Bool(value) => (0_u8, value).hash(state),
            Self::String(text) => (1_u8, &**text).hash(state),
            Self::Int(_) | Self::UInt(_) => match (self.number(), self) {
                (Some(number), _) => (2_u8, number).hash(state),
                (None, Self::UInt(number)) => (3_u8, number).hash(state),
                (None, _) => 4_u8.hash(state),
            },
        }
    }
}

/// A key that is looked up; it need not live as long as the map's own.
struct Probe<'k, 'b>(&'k Key<'b>);

impl Hash for Probe<'_, '_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Equivalent<Key<'_>> for Probe<'_, '_> {
    fn equivalent(&self, key: &Key<'_>) -> bool {
        self.0 == key
    }
}

impl<'a> Map<'a> {
    /// Bytes that an entry of a computed map takes: key, value, and its places in the order and in the table.
    pub const ENTRY_BYTES: usize = size_of::<(Key<'_>, Value<'_>)>().saturating_add(size_of::<[usize; 2]>());

    /// Bytes that a computed map of this many entries takes, its own part included.
    #[must_use]
    pub const fn bytes(entries: usize) -> usize {
        entries.saturating_add(2).saturating_mul(Self::ENTRY_BYTES)
    }

    /// The number of entries.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Live { of, at } => of.shape(*at).key_count(),
            Self::Json(object) => object.len(),
            Self::Entries(entries) => entries.len(),
            Self::Shared(entries) => entries.len(),
        }
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value under a text key. Does not allocate; at worst logarithmic in the entries.
    #[must_use]
    pub fn get_str(&self, key: &str) -> Option<Value<'a>> {
        match self {
            Self::Live { of, at } => of.field(*at, of.shape(*at).slot(key)?).map(Value::from),
            Self::Json(object) => object.get(key).map(JsonRef::value),
            Self::Entries(_) | Self::Shared(_) => self.get(&Key::String(Text::Borrowed(key))),
        }
    }

    /// The value under a key.
    #[must_use]
    pub fn get(&self, key: &Key<'_>) -> Option<Value<'a>> {
        match self {
            Self::Entries(entries) => entries.get(&Probe(key)).map(Value::borrowed),
            Self::Shared(entries) => entries.get(&Probe(key)).cloned(),
            Self::Live { .. } | Self::Json(_) => match key {
                Key::String(text) => self.get_str(text),
                _ => None,
            },
        }
    }

    /// The entry at a position, in the map's order.
    #[must_use]
    pub fn entry(&self, index: usize) -> Option<(Key<'a>, Value<'a>)> {
        match self {
            Self::Live { of, at } => {
                let name = of.shape(*at).key(index)?;
                Some((Key::String(Text::Borrowed(name)), of.field(*at, index)?.into()))
            }
            Self::Json(object) => {
                let (key, value) = object.entry(index)?;
                Some((Key::String(Text::Borrowed(key)), value.value()))
            }
            Self::Entries(entries) => {
                let (key, value) = entries.get_index(index)?;
                Some((borrowed_key(key), value.borrowed()))
            }
            Self::Shared(entries) => {
                let (key, value) = entries.get_index(index)?;
                Some((key.clone(), value.clone()))
            }
        }
    }

    /// The key at a position, without its value.
    #[must_use]
    pub fn key(&self, index: usize) -> Option<Key<'a>> {
        match self {
            Self::Live { of, at } => {
                let name = of.shape(*at).key(index)?;
                Some(Key::String(Text::Borrowed(name)))
            }
            Self::Json(object) => object.entry(index).map(|(key, _)| Key::String(Text::Borrowed(key))),
            Self::Entries(entries) => entries.get_index(index).map(|(key, _)| borrowed_key(key)),
            Self::Shared(entries) => entries.get_index(index).map(|(key, _)| key.clone()),
        }
    }

    /// All entries in the map's order.
    pub fn iter(&self) -> impl Iterator<Item = (Key<'a>, Value<'a>)> + '_ {
        (0..self.len()).map_while(|index| self.entry(index))
    }
}

fn borrowed_key<'a>(key: &'a Key<'a>) -> Key<'a> {
    match key {
        Key::String(text) => Key::String(Text::Borrowed(text)),
        other => other.clone(),
    }
}
