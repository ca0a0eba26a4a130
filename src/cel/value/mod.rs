//! CEL values, borrowed wherever something already holds them.
//!
//! A value lives no longer than what it was read from: the task's own structs (through [`LiveRecord`] and
//! [`LiveList`]), a stored [`Json`] document, or the constants of a program. Only what an expression computes is owned.
//! So nothing is converted before an expression runs, and reading a field costs no allocation.

mod arithmetic;
mod convert;
mod duration_text;
mod fold;
mod index;
mod json;
mod json_parts;
mod json_value;
mod list;
mod live;
mod map;
mod opaque;
mod order;
#[cfg(test)]
mod tests;
mod time;
mod total;
mod zone;

pub use duration_text::DurationError;
pub(crate) use fold::{FoldId, FoldKey, Kept};
pub use fold::{Folds, GrowingEnd, Growth};
pub(crate) use index::Index;
pub(crate) use json::Guess;
pub use json::{Json, JsonError, JsonRef, Shortened};
pub use json_parts::{Keys, Part};
pub use list::List;
pub use live::{LiveList, LiveRecord, Repeated, TimeOrder, View};
pub use map::{Entries, Key, Map};
pub(crate) use opaque::read_address;
pub use opaque::{Cidr, Opaque};
pub(crate) use time::CalendarField;
pub use time::{Duration, Timestamp};
pub(crate) use total::Total;
pub(crate) use zone::{ZONES, nearest_zone};

use super::types::{At, Kind};
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A CEL value. Clones in constant time.
///
/// ```
/// use celador_cel::{Kind, Value};
///
/// let list = Value::list(vec![Value::from(1), Value::from("two"), Value::Null]);
/// assert_eq!(list.kind(), Kind::List);
/// let Value::List(list) = list else { panic!("it is a list") };
/// assert_eq!(list.size(), 3);
/// ```
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// `1`
    Int(i64),
    /// `1u`
    UInt(u64),
    /// `1.0`
    Double(f64),
    /// `'text'`
    String(Text<'a>),
    /// `b'bytes'`
    Bytes(Blob<'a>),
    /// `timestamp('2026-05-20T03:45:00Z')`
    Timestamp(Timestamp),
    /// `duration('1h30m')`
    Duration(Duration),
    /// `[1, 2]`
    List(List<'a>),
    /// `{'a': 1}`, and every record
    Map(Map<'a>),
    /// `optional.of(1)`
    Optional(Option<Arc<Value<'a>>>),
    /// `type(1)`, `int`
    Type(TypeName),
    /// `ip('10.0.0.1')`: a value of a library's own
    Opaque(Opaque),
    /// A value that its host did not keep whole. It may stand in a list; reading it fails with `value_shortened`.
    Shortened,
}

/// A type as a value. Types of CEL's own are told apart by their kind, others by their name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeName(pub Arc<str>);

/// Text that is borrowed or shared.
#[derive(Clone)]
pub enum Text<'a> {
    /// Held by something that outlives the evaluation.
    Borrowed(&'a str),
    /// A point in time as a host writes it, RFC 3339. It is ordered as the time that it is ([`Value::order`]); in all else
    /// it is a text like any other.
    Time(&'a str),
    /// Computed.
    Shared(Arc<str>),
}

/// Bytes that are borrowed or shared.
///
/// ```
/// use celador_cel::{Activation, Blob, EXTENSIONS, Env, EnvBuilder, Program, STANDARD, Type, TypeName, Value};
///
/// let scope = Env::builder().variable("upload", Type::Bytes);
/// let env = STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library).build();
///
/// // the bytes stay where they are
/// let upload = b"GIF89a".to_vec();
/// let activation = Activation::new(&env).with(&env, "upload", Value::Bytes(Blob::Borrowed(&upload)));
/// let program = Program::compile(&env, "size(upload) < 1000 ? upload : b''").unwrap();
/// let Ok(Value::Bytes(bytes)) = program.run(&activation, None) else { panic!("it gives bytes") };
/// assert_eq!(&*bytes, b"GIF89a");
///
/// // a type is a value, too
/// let program = Program::compile(&env, "type(upload)").unwrap();
/// let Ok(Value::Type(TypeName(name))) = program.run(&activation, None) else { panic!("it gives a type") };
/// assert_eq!(&*name, "bytes");
/// ```
#[derive(Clone)]
pub enum Blob<'a> {
    /// Held by something that outlives the evaluation.
    Borrowed(&'a [u8]),
    /// Computed.
    Shared(Arc<[u8]>),
}

impl<'a> Value<'a> {
    /// Text that lives long enough to be borrowed.
    #[must_use]
    pub fn text(text: &'a str) -> Self {
        Self::String(Text::Borrowed(text))
    }

    /// A point in time as a text, RFC 3339, that is ordered as a time.
    #[must_use]
    pub fn time_text(text: &'a str) -> Self {
        Self::String(Text::Time(text))
    }

    /// Text that was computed.
    #[must_use]
    pub fn owned_text(text: impl Into<Arc<str>>) -> Self {
        Self::String(Text::Shared(text.into()))
    }

    /// A list that was computed.
    #[must_use]
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(List::Shared(Arc::new(items)))
    }

    /// A map that was computed.
    #[must_use]
    pub fn map(entries: Entries<'a>) -> Self {
        Self::Map(Map::Shared(Arc::new(entries)))
    }

    /// A view of a host's record.
    #[must_use]
    pub fn record(of: &'a dyn LiveRecord, at: At) -> Self {
        Self::Map(Map::Live { of, at })
    }

    /// A view of a host's list.
    #[must_use]
    pub fn view(of: &'a dyn LiveList, at: At) -> Self {
        Self::List(List::Live { of, at })
    }

    /// The kind of the value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) => Kind::Int,
            Self::UInt(_) => Kind::UInt,
            Self::Double(_) => Kind::Double,
            Self::String(_) => Kind::String,
            Self::Bytes(_) => Kind::Bytes,
            Self::Timestamp(_) => Kind::Timestamp,
            Self::Duration(_) => Kind::Duration,
            Self::List(_) => Kind::List,
            Self::Map(_) => Kind::Map,
            Self::Optional(_) => Kind::Optional,
            Self::Type(_) => Kind::Type,
            Self::Opaque(value) => value.kind(),
            Self::Shortened => Kind::Shortened,
        }
    }

    /// The same value, borrowed from this one, as constants of programs are read. Never allocates or counts.
    #[must_use]
    pub fn borrowed(&'a self) -> Self {
        match self {
            Self::String(Text::Time(text)) => Self::String(Text::Time(text)),
            Self::String(text) => Self::String(Text::Borrowed(text)),
            Self::Bytes(bytes) => Self::Bytes(Blob::Borrowed(bytes)),
            Self::List(List::Shared(items)) => Self::List(List::Slice(items)),
            Self::Map(Map::Shared(entries)) => Self::Map(Map::Entries(entries)),
            other => other.clone(),
        }
    }

    /// The same value, holding all it needs; nothing for a value with parts of a host or a JSON document in it.
    #[must_use]
    pub fn to_static(&self) -> Option<Value<'static>> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::UInt(value) => Value::UInt(*value),
            Self::Double(value) => Value::Double(*value),
            Self::String(text) => Value::String(text.to_static()),
            Self::Bytes(Blob::Shared(bytes)) => Value::Bytes(Blob::Shared(bytes.clone())),
            Self::Bytes(Blob::Borrowed(bytes)) => Value::Bytes(Blob::Shared((*bytes).into())),
            Self::Timestamp(time) => Value::Timestamp(*time),
            Self::Duration(duration) => Value::Duration(*duration),
            Self::Type(name) => Value::Type(name.clone()),
            Self::Opaque(value) => Value::Opaque(value.clone()),
            Self::Shortened => Value::Shortened,
            Self::Optional(None) => Value::Optional(None),
            Self::Optional(Some(value)) => Value::Optional(Some(Arc::new(value.to_static()?))),
            Self::List(list @ (List::Slice(_) | List::Shared(_))) => {
                Value::list(list.iter().map(|item| item.to_static()).collect::<Option<_>>()?)
            }
            Self::Map(map @ (Map::Entries(_) | Map::Shared(_))) => {
                let entries = map.iter().map(|(key, value)| Some((key.to_static(), value.to_static()?)));
                Value::map(entries.collect::<Option<_>>()?)
            }
            Self::List(_) | Self::Map(_) => return None,
        })
    }

    /// An estimate of the bytes that a computed value holds; borrowed parts do not count.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::String(Text::Shared(text)) => text.len(),
            Self::Bytes(Blob::Shared(bytes)) => bytes.len(),
            Self::Opaque(value) => value.bytes(),
            Self::Optional(Some(value)) => size_of::<Self>().saturating_add(value.heap_bytes()),
            Self::List(List::Shared(items)) => {
                items.iter().map(Self::heap_bytes).fold(List::bytes(items.len()), usize::saturating_add)
            }
            Self::Map(Map::Shared(entries)) => {
                let held = entries.iter().map(|(key, value)| {
                    value.heap_bytes().saturating_add(match key {
                        Key::String(Text::Shared(text)) => text.len(),
                        _ => 0,
                    })
                });
                held.fold(Map::bytes(entries.len()), usize::saturating_add)
            }
            _ => 0,
        }
    }

    /// The truth of a final result (`CEL-14`): false, null, zero, NaN and everything empty are falsy, all else truthy. An optional is as its value.
    /// Operators never ask this; `!`, `&&`, `||` and `?:` keep to `bool`.
    #[must_use]
    pub fn is_truthy(&self) -> bool {
        match self {
            // nobody gets to ask: reading it fails before
            Self::Null | Self::Shortened => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::UInt(value) => *value != 0,
            Self::Double(value) => *value != 0.0 && !value.is_nan(),
            Self::String(text) => !text.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Map(map) => !map.is_empty(),
            Self::Optional(value) => value.as_ref().is_some_and(|value| value.is_truthy()),
            Self::Timestamp(_) | Self::Duration(_) | Self::Type(_) | Self::Opaque(_) => true,
        }
    }

    /// The text, if it is some.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

impl<'a> Text<'a> {
    /// The number of characters. Linear in the text.
    #[must_use]
    pub fn count(&self) -> usize {
        self.chars().count()
    }

    /// The order of two texts: by their characters, or as times if one of them is a time and the other says one, too.
    #[inline]
    #[must_use]
    pub fn order(&self, other: &Text<'_>) -> Ordering {
        let as_times = match (self, other) {
            (Self::Time(_), _) | (_, Text::Time(_)) => time::order_of_texts(self, other),
            _ => None,
        };
        as_times.unwrap_or_else(|| (**self).cmp(&**other))
    }

    /// The same text, copied.
    #[must_use]
    pub fn to_static(&self) -> Text<'static> {
        match self {
            Self::Borrowed(text) | Self::Time(text) => Text::Shared((*text).into()),
            Self::Shared(text) => Text::Shared(text.clone()),
        }
    }

    /// The text for as long as it was borrowed, if it was.
    #[must_use]
    pub fn as_borrowed(&self) -> Option<&'a str> {
        match self {
            Self::Borrowed(text) | Self::Time(text) => Some(text),
            Self::Shared(_) => None,
        }
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) | Self::Time(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl Deref for Blob<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Debug for Blob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::text(text)
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

/// Whether two runs of bytes of one length are the same. Most keys and states are short: two words that may overlap settle them
/// sooner than a call of the C library.
#[inline(always)]
pub(crate) fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    #[inline(always)]
    fn ends<const N: usize>(a: &[u8], b: &[u8]) -> Option<[[u8; N]; 4]> {
        Some([*a.first_chunk()?, *b.first_chunk()?, *a.last_chunk()?, *b.last_chunk()?])
    }
    match a.len() {
        4..=7 => ends(a, b)
            .map(|ends| ends.map(u32::from_ne_bytes))
            .is_some_and(|[a, b, c, d]| (a ^ b) | (c ^ d) == 0),
        8..=16 => ends(a, b)
            .map(|ends| ends.map(u64::from_ne_bytes))
            .is_some_and(|[a, b, c, d]| (a ^ b) | (c ^ d) == 0),
        _ => a == b,
    }
}
