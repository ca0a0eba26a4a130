//! JSON texts that every reader reads as the same value.
//!
//! In: a JSON text of another program. Out: its value, or why there is none. A text whose value depends on who reads it is refused: an object
//! with a duplicate key (some readers take the first member, some the last), a lone surrogate, and an integer that does not fit into 64
//! bits (some readers round it). So the value that was judged is the value that the next reader takes from the encoding of it.

use crate::messages;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::fmt;
use thiserror::Error;

/// Why a text has no value that all readers agree on. It names kinds and places, never the content.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotStrict {
    /// The text is not JSON, or nests deeper than 128 levels, or a number in it is beyond the range of a double, or a string in it holds a lone surrogate.
    #[error("not JSON at line {line}, column {column}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
    },
    /// Two members of one object have the same key.
    #[error("a duplicate key at line {line}, column {column}")]
    DuplicateKey {
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
    },
    /// An integer is smaller than `i64::MIN` or larger than `u64::MAX`.
    #[error("an integer of more than 64 bits at byte {offset}")]
    WideInteger {
        /// Where it begins, in bytes from 0.
        offset: usize,
    },
}

/// Decodes a JSON text of bytes. Members keep their order. Costs two passes over the text.
///
/// # Errors
/// [`NotStrict`], which names the place.
///
/// ```
/// use celador_server::strict_json::{self, NotStrict};
///
/// let value = strict_json::from_slice(br#"{"amount": 9007199254740993}"#)?;
/// assert_eq!(value["amount"], 9_007_199_254_740_993_u64);
/// let twice = strict_json::from_slice(br#"{"amount": 1, "amount": 2}"#);
/// assert!(matches!(twice, Err(NotStrict::DuplicateKey { line: 1, .. })));
/// # Ok::<(), NotStrict>(())
/// ```
pub fn from_slice(text: &[u8]) -> Result<Value, NotStrict> {
    let Plain(value) = serde_json::from_slice(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        if error.is_data() {
            NotStrict::DuplicateKey { line, column }
        } else {
            NotStrict::Syntax { line, column }
        }
    })?;
    match wide_integer(text) {
        Some(offset) => Err(NotStrict::WideInteger { offset }),
        None => Ok(value),
    }
}

/// Decodes a JSON text; as [`from_slice`].
///
/// # Errors
/// [`NotStrict`], which names the place.
pub fn from_str(text: &str) -> Result<Value, NotStrict> {
    from_slice(text.as_bytes())
}

/// Where the first integer stands that neither `i64` nor `u64` holds. The text is valid JSON.
fn wide_integer(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = end_of_string(text, at),
            b'-' | b'0'..=b'9' => {
                let rest = text.get(at..).unwrap_or_default();
                let is_part = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let length = rest.iter().take_while(|byte| is_part(byte)).count().max(1);
                let literal =
                    rest.get(..length).and_then(|it| std::str::from_utf8(it).ok()).unwrap_or_default();
                let is_integer = !literal.contains(['.', 'e', 'E']);
                if is_integer && literal.parse::<i64>().is_err() && literal.parse::<u64>().is_err() {
                    return Some(at);
                }
                at = at.saturating_add(length);
            }
            _ => at = at.saturating_add(1),
        }
    }
    None
}

/// The place behind the string that begins at `start`.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start.saturating_add(1);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at.saturating_add(1),
            b'\\' => at = at.saturating_add(2),
            _ => at = at.saturating_add(1),
        }
    }
    at
}

/// A JSON value in which no key stands twice. For types that hold one as a part.
#[derive(Debug)]
pub(crate) struct Plain(pub(crate) Value);

impl<'de> Deserialize<'de> for Plain {
    /// Recurses as deep as the value, which `serde_json` bounds.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Plain;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E>(self) -> Result<Plain, E> {
                Ok(Plain(Value::Null))
            }

            fn visit_bool<E>(self, value: bool) -> Result<Plain, E> {
                Ok(Plain(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Plain, E> {
                Ok(Plain(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Plain, E> {
                Ok(Plain(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Plain, E> {
                Ok(Plain(value.into()))
            }

            fn visit_str<E>(self, value: &str) -> Result<Plain, E> {
                Ok(Plain(value.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Plain, A::Error> {
                let mut read = Vec::new();
                while let Some(Plain(item)) = items.next_element()? {
                    read.push(item);
                }
                Ok(Plain(Value::Array(read)))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Plain, A::Error> {
                let mut read = Map::new();
                while let Some((name, Plain(value))) = members.next_entry()? {
                    if read.insert(name, value).is_some() {
                        return Err(A::Error::custom(messages::DUPLICATE_KEY));
                    }
                }
                Ok(Plain(Value::Object(read)))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::{NotStrict, from_str};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn a_text_with_one_value_is_read() {
        let rows: &[(&str, Value)] = &[
            ("null", Value::Null),
            (
                " [1, -0.5, 1e3, \"a\\\"1234567890123456789012345\"] ",
                json!([1, -0.5, 1e3, "a\"1234567890123456789012345"]),
            ),
            ("18446744073709551615", json!(u64::MAX)),
            ("-9223372036854775808", json!(i64::MIN)),
            (r#"{"a": {"a": 1}, "b": {"a": 2}}"#, json!({ "a": { "a": 1 }, "b": { "a": 2 } })),
            (r#""\ud83d\ude00""#, json!("\u{1f600}")),
        ];
        for (text, value) in rows {
            assert_eq!(from_str(text).as_ref(), Ok(value), "{text}");
        }
    }

    #[test]
    fn a_text_that_readers_disagree_on_is_refused() {
        let syntax = |column| NotStrict::Syntax { line: 1, column };
        let duplicate = |column| NotStrict::DuplicateKey { line: 1, column };
        let rows = [
            ("", NotStrict::Syntax { line: 1, column: 0 }),
            ("{} {}", syntax(4)),
            ("1e400", syntax(5)),
            ("NaN", syntax(1)),
            (r#""\ud83d""#, syntax(8)),
            (r#"{"a": 1, "a": 1}"#, duplicate(12)),
            (r#"{"a": 1, "\u0061": 2}"#, duplicate(17)),
            (r#"[{"b": {"a": [], "a": []}}]"#, duplicate(20)),
            ("18446744073709551616", NotStrict::WideInteger { offset: 0 }),
            ("[1, -9223372036854775809]", NotStrict::WideInteger { offset: 4 }),
        ];
        for (text, expected) in rows {
            let found = from_str(text).unwrap_err();
            // where the parser stops is its own affair; which kind it is, is not
            assert_eq!(std::mem::discriminant(&found), std::mem::discriminant(&expected), "{text}: {found}");
        }
    }

    proptest! {
        /// What is read and encoded again is read as the same value.
        #[test]
        fn the_encoding_of_a_value_has_that_value(text in r#"[\[\]{}",:0-9a\\ue.\-]{0,24}"#) {
            if let Ok(value) = from_str(&text) {
                prop_assert_eq!(from_str(&value.to_string()), Ok(value));
            }
        }
    }
}
