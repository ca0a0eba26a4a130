//! JSON that goes out: a document through serde, or as compact text.
//!
//! Keys keep their order, and a whole number never becomes a double on the way.

use super::word::Tag;
use super::{Json, JsonRef};
use crate::fault::ErrorCode;
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};
use std::fmt;

impl Serialize for JsonRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.word.tag() {
            Tag::Null => serializer.serialize_unit(),
            Tag::False => serializer.serialize_bool(false),
            Tag::True => serializer.serialize_bool(true),
            Tag::Small | Tag::Int => match self.as_int() {
                Some(value) => serializer.serialize_i64(value),
                None => serializer.serialize_unit(),
            },
            Tag::Double => match self.as_double() {
                Some(value) => serializer.serialize_f64(value),
                None => serializer.serialize_unit(),
            },
            Tag::String => serializer.serialize_str(self.text_of(self.word)),
            Tag::Array => {
                let mut array = serializer.serialize_seq(Some(self.len()))?;
                self.items().try_for_each(|item| array.serialize_element(&item))?;
                array.end()
            }
            Tag::Object => {
                let mut object = serializer.serialize_map(Some(self.len()))?;
                self.entries().try_for_each(|(key, value)| object.serialize_entry(key, &value))?;
                object.end()
            }
            Tag::Shortened => Err(S::Error::custom(ErrorCode::ValueShortened.describe())),
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.root().serialize(serializer)
    }
}

/// Any value. A shortened one cannot be written and is not said.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Json {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({})
    }
}

impl fmt::Display for JsonRef<'_> {
    /// Compact JSON text; of a value that was shortened or dropped, what is known of it in angle brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(shortened) = self.shortened() {
            // for people: no JSON, so that no program takes it for what the value was
            return write!(f, "<{shortened}>");
        }
        if self.is_dropped() {
            return f.write_str("<a value that was not kept>");
        }
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root().fmt(f)
    }
}

impl fmt::Debug for JsonRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
