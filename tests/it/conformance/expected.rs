//! Values and types as the suite writes them, against ours.

use super::suite::items;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use celador::cel::{Blob, Entries, Key, Type, Value};
use serde_json::Value as Json;
use std::sync::Arc;

/// What must come out of a test.
pub(super) enum Expected<'t> {
    /// This value, of this type.
    Value(&'t Json),
    /// Any error; that a name is unknown only if the test is about that.
    Error {
        /// Whether it is.
        unknown_name: bool,
    },
}

/// Whether a value is the one that the suite writes, type and all.
pub(super) fn same_value(found: &Value<'_>, expected: &Json) -> bool {
    value(expected).is_some_and(|expected| same(found, &expected))
}

fn same(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Double(a), Value::Double(b)) if a.is_nan() => b.is_nan(),
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(&a, &b))
        }
        (Value::Map(a), Value::Map(b)) => {
            let found = |(key, value): (Key<'_>, Value<'_>)| {
                b.iter()
                    .any(|(other, expected)| same(&key.value(), &other.value()) && same(&value, &expected))
            };
            a.len() == b.len() && a.iter().all(found)
        }
        (a, b) => a.kind() == b.kind() && a.equals(b),
    }
}

/// A value of the suite; nothing for messages and enums.
pub(super) fn value(json: &Json) -> Option<Value<'static>> {
    let (kind, json) = json.as_object()?.iter().next()?;
    let text = || json.as_str();
    Some(match kind.as_str() {
        "nullValue" => Value::Null,
        "boolValue" => Value::Bool(json.as_bool()?),
        "int64Value" => Value::Int(text()?.parse().ok()?),
        "uint64Value" => Value::UInt(text()?.parse().ok()?),
        "doubleValue" => Value::Double(match text() {
            Some("Infinity") => f64::INFINITY,
            Some("-Infinity") => f64::NEG_INFINITY,
            Some(_) => f64::NAN,
            None => json.as_f64()?,
        }),
        "stringValue" => Value::owned_text(text()?),
        "bytesValue" => Value::Bytes(Blob::Shared(BASE64.decode(text()?).ok()?.into())),
        "typeValue" => Value::Type(celador::cel::TypeName(text()?.into())),
        "listValue" => Value::list(items(&json["values"]).iter().map(value).collect::<Option<_>>()?),
        "mapValue" => {
            let entries = items(&json["entries"]).iter();
            let entries = entries
                .map(|entry| Some((Key::from_value(&value(&entry["key"])?)?, value(&entry["value"])?)));
            Value::map(entries.collect::<Option<Entries<'static>>>()?)
        }
        "objectValue" => match json["@type"].as_str()? {
            "type.googleapis.com/google.protobuf.Timestamp" => {
                Value::Timestamp(json["value"].as_str()?.parse().ok()?)
            }
            "type.googleapis.com/google.protobuf.Duration" => {
                Value::Duration(json["value"].as_str()?.parse().ok()?)
            }
            _ => return None,
        },
        _ => return None,
    })
}

/// A type of the suite; nothing for messages and wrappers.
pub(super) fn type_of(json: &Json) -> Option<Type> {
    let (kind, json) = json.as_object()?.iter().next()?;
    let inner = |json: &Json| if json.is_null() { Some(Type::Dyn) } else { type_of(json) };
    Some(match (kind.as_str(), json.as_str()) {
        ("dyn", _) => Type::Dyn,
        ("null", _) => Type::Null,
        ("primitive", Some("BOOL")) => Type::Bool,
        ("primitive", Some("INT64")) => Type::Int,
        ("primitive", Some("UINT64")) => Type::UInt,
        ("primitive", Some("DOUBLE")) => Type::Double,
        ("primitive", Some("STRING")) => Type::String,
        ("primitive", Some("BYTES")) => Type::Bytes,
        ("wellKnown", Some("TIMESTAMP")) | ("messageType", Some("google.protobuf.Timestamp")) => {
            Type::Timestamp
        }
        ("wellKnown", Some("DURATION")) | ("messageType", Some("google.protobuf.Duration")) => Type::Duration,
        ("typeParam", Some(name)) => Type::Param(name.into()),
        ("listType", _) => Type::list(inner(&json["elemType"])?),
        ("mapType", _) => Type::map(inner(&json["keyType"])?, inner(&json["valueType"])?),
        ("type", _) => Type::TypeOf(Arc::new(inner(json)?)),
        ("abstractType", _) if json["name"] == "optional_type" => {
            Type::optional(inner(&json["parameterTypes"][0])?)
        }
        ("abstractType", _) => {
            let parameters = items(&json["parameterTypes"]).iter().map(inner);
            Type::opaque(json["name"].as_str()?, parameters.collect::<Option<Vec<_>>>()?)
        }
        _ => return None,
    })
}
