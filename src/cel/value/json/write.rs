//! JSON that goes out: a document through serde, or as compact text.
//!
//! Keys keep their order, and a whole number never becomes a double on the way.

use super::{Json, JsonRef};
use crate::fault::ErrorCode;
use crate::value::Value;
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};
use std::fmt;

impl Serialize for JsonRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value() {
            Value::Bool(value) => serializer.serialize_bool(value),
            Value::Int(value) => serializer.serialize_i64(value),
            Value::Double(value) => serializer.serialize_f64(value),
            Value::String(text) => serializer.serialize_str(&text),
            Value::List(_) => {
                let mut array = serializer.serialize_seq(Some(self.len()))?;
                self.items().try_for_each(|item| array.serialize_element(&item))?;
                array.end()
            }
            Value::Map(_) => {
                let mut object = serializer.serialize_map(Some(self.len()))?;
                self.entries().try_for_each(|(key, value)| object.serialize_entry(key, &value))?;
                object.end()
            }
            Value::Shortened => Err(S::Error::custom(ErrorCode::ValueShortened.describe())),
            _ => serializer.serialize_unit(),
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.root().serialize(serializer)
    }
}

impl fmt::Display for JsonRef<'_> {
    /// Compact JSON text; of a value that was shortened, what is known of it in angle brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(shortened) = self.shortened() {
            // for people: no JSON, so that no program takes it for what the value was
            return write!(f, "<{shortened}>");
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
