//! JSON documents as CEL values, and CEL values as JSON documents (`CEL-41`).
//!
//! In: a place in a document. Out: the CEL value there, borrowed. Or in: a value that an expression gave. Out: a document of
//! its own, measured before it is built and refused where it would be too large or too deep.

use super::json::{Builder, Json, JsonRef, Members, Room, SMALL, Tag, Word};
use super::list::List;
use super::map::{Key, Map};
use super::{Text, Value};
use crate::fault::{ErrorCode, Fault};
use crate::limits::EvalLimits;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

impl<'a> JsonRef<'a> {
    /// The value as one that holds all it needs. Linear in it.
    #[must_use]
    pub fn to_static(self) -> Value<'static> {
        if self.is_array() {
            return Value::list(self.items().map(Self::to_static).collect());
        }
        if self.is_object() {
            let key = |name: &str| Key::String(Text::Shared(name.into()));
            return Value::map(self.entries().map(|(name, value)| (key(name), value.to_static())).collect());
        }
        self.value().to_static().unwrap_or(Value::Null)
    }

    /// The CEL value, borrowed.
    #[must_use]
    pub fn value(self) -> Value<'a> {
        match self.word.tag() {
            Tag::Null => Value::Null,
            Tag::False => Value::Bool(false),
            Tag::True => Value::Bool(true),
            Tag::Small | Tag::Int => self.as_int().map_or(Value::Null, Value::Int),
            Tag::Double => self.as_double().map_or(Value::Null, Value::Double),
            Tag::String => Value::text(self.text_of(self.word)),
            Tag::Array => Value::List(List::Json(self)),
            Tag::Object => Value::Map(Map::Json(self)),
            Tag::Shortened => Value::Shortened,
        }
    }

    /// Puts the CEL value in the place of another: objects and arrays, of which lists mostly are, without a step in
    /// between.
    #[inline]
    pub(crate) fn show(self, place: &mut Value<'a>) {
        match self.word.tag() {
            Tag::Array => *place = Value::List(List::Json(self)),
            Tag::Object => *place = Value::Map(Map::Json(self)),
            _ => *place = self.value(),
        }
    }
}

impl Json {
    /// The whole document as a CEL value.
    #[inline]
    #[must_use]
    pub fn value(&self) -> Value<'_> {
        self.root().value()
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
}

impl PartialEq for Json {
    /// Equality as CEL has it: `1` equals `1.0`, and the order of keys does not count. What is left of a value that was
    /// shortened equals what is left of the same value, and a value that was dropped equals another one.
    fn eq(&self, other: &Self) -> bool {
        if self.is_shortened() || other.is_shortened() {
            return self.is_shortened() == other.is_shortened() && self.shortened() == other.shortened();
        }
        self.value().equals(&other.value())
    }
}

impl From<Text<'_>> for Json {
    fn from(text: Text<'_>) -> Self {
        Self::string(&text)
    }
}

impl Room {
    /// Makes room for a value inside so many others. Texts that have to be written out first (times, bytes, keys that are
    /// none) are guessed.
    pub(super) fn add(&mut self, value: &Value<'_>, depth: usize) -> Result<(), Fault> {
        let inner = depth.saturating_add(1);
        match value {
            Value::String(text) => self.take(0, text.len()),
            Value::Bytes(bytes) => self.take(0, bytes.len()),
            Value::Int(value) if value.unsigned_abs() < SMALL => Ok(()),
            Value::Int(_) | Value::UInt(_) | Value::Double(_) => self.take(1, 0),
            Value::List(_) | Value::Map(_) if depth >= self.max_depth => Err(Fault::budget("max_json_depth")),
            Value::List(list) => list.iter().try_for_each(|item| {
                self.take(1, 0)?;
                self.add(&item, inner)
            }),
            Value::Map(map) => map.iter().try_for_each(|(key, value)| {
                let key = match &key {
                    Key::String(key) => key.len(),
                    _ => 0,
                };
                self.take(2, key)?;
                self.add(&value, inner)
            }),
            _ => Ok(()),
        }
    }
}

impl Builder {
    pub(super) fn value(&mut self, value: &Value<'_>) -> Result<Word, Fault> {
        Ok(match value {
            Value::Null => Word::new(Tag::Null, 0, 0),
            Value::Bool(value) => Self::bool(*value),
            Value::Int(value) => self.int(*value),
            Value::UInt(value) => self.unsigned(*value),
            Value::Double(value) if value.is_finite() => self.double(*value),
            Value::String(text) => self.string(text),
            Value::Bytes(bytes) => self.string(&BASE64.encode(&**bytes)),
            Value::Timestamp(time) => self.string(&time.to_string()),
            Value::Duration(duration) => self.string(&duration.to_string()),
            Value::List(list) => {
                let items = list.iter().map(|item| self.value(&item)).collect::<Result<Vec<_>, _>>()?;
                self.array(&items)
            }
            Value::Map(map) => {
                let members = map.iter().map(|(key, value)| {
                    let key = match key {
                        Key::String(text) => self.key(&text),
                        Key::Bool(value) => self.string(if value { "true" } else { "false" }),
                        Key::Int(value) => self.string(&value.to_string()),
                        Key::UInt(value) => self.string(&value.to_string()),
                    };
                    Ok::<_, Fault>((key, self.value(&value)?))
                });
                let members = members.collect::<Result<Members, _>>()?;
                self.object(members)
            }
            Value::Shortened => return Err(ErrorCode::ValueShortened.into()),
            Value::Double(_) | Value::Optional(_) | Value::Type(_) | Value::Opaque(_) => {
                return Err(ErrorCode::NotJson.into());
            }
        })
    }
}
