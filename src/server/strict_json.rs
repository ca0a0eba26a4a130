//! JSON texts that every reader reads as the same value.
//!
//! In: a JSON text of another program. Out: its value, or why there is none. A text whose value depends on who reads it is refused: an object
//! with a duplicate key (some readers take the first member, some the last), a lone surrogate, and an integer that does not fit into 64
//! bits (some readers round it). So the value that was judged is the value that the next reader takes from the encoding of it.

use crate::messages;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::borrow::Cow;
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

/// Decodes a JSON text as [`from_slice`] does, with U+FFFD for each lone surrogate: a text that was cut in the middle of a character stays
/// readable, and every reader of its encoding reads the same.
///
/// # Errors
/// [`NotStrict`], for everything else.
///
/// ```
/// use celador_server::strict_json;
///
/// assert_eq!(strict_json::from_slice_lossy(br#"{"text": "cut \ud83d"}"#)?, serde_json::json!({"text": "cut \u{fffd}"}));
/// assert!(strict_json::from_slice_lossy(br#"{"a": "\ud83d", "a": 1}"#).is_err());
/// # Ok::<(), strict_json::NotStrict>(())
/// ```
pub fn from_slice_lossy(text: &[u8]) -> Result<Value, NotStrict> {
    from_slice(&replace_lone_surrogates(text))
}

/// The JSON text with the escape of U+FFFD in the place of each escape of a lone surrogate. Linear; copies only a text that has such an
/// escape.
#[must_use]
pub fn replace_lone_surrogates(text: &[u8]) -> Cow<'_, [u8]> {
    let mut text = Cow::Borrowed(text);
    let mut at = 0_usize;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at = at.saturating_add(found);
        let next = at.saturating_add(ESCAPE);
        at = match (code_unit(&text, at), code_unit(&text, next)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => next.saturating_add(ESCAPE),
            (Some(0xd800..=0xdfff), _) => {
                if let Some(escape) = text.to_mut().get_mut(at..next) {
                    escape.copy_from_slice(b"\\ufffd");
                }
                next
            }
            (Some(_), _) => next,
            // an escape of another form, such as that of the backslash
            (None, _) => at.saturating_add(2),
        };
    }
    text
}

/// The length of an escape `\uXXXX`.
const ESCAPE: usize = 6;

/// The code unit of UTF-16 that an escape at a place stands for.
fn code_unit(text: &[u8], at: usize) -> Option<u32> {
    let digits = text.get(at..at.checked_add(ESCAPE)?)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0_u32, |unit, digit| Some((unit << 4) | char::from(*digit).to_digit(16)?))
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
    use super::{NotStrict, from_slice_lossy, from_str, replace_lone_surrogates};
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::borrow::Cow;

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

    #[test]
    fn a_lone_surrogate_becomes_a_replacement_character() {
        for (text, expected) in [
            (r#""a""#, r#""a""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\ude00\ud83d\ude00\uD83Dx""#, r#""\ufffd\ud83d\ude00\ufffdx""#),
            (r#""\ud83d\ud83d\ude00x""#, r#""\ufffd\ud83d\ude00x""#),
            (r#""\uD83D\\uDE00""#, r#""\ufffd\\uDE00""#),
            (r#""\\ud83d \n\u0041""#, r#""\\ud83d \n\u0041""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#""\u0041\n\ud8""#, r#""\u0041\n\ud8""#),
            (r#""\ud83d\n\udE00""#, r#""\ufffd\n\ufffd""#),
            (r"\", r"\"),
            ("\"\\", "\"\\"),
        ] {
            let replaced = replace_lone_surrogates(text.as_bytes());
            assert_eq!(String::from_utf8_lossy(&replaced), expected, "{text}");
            assert_eq!(matches!(replaced, Cow::Borrowed(_)), text == expected, "{text}");
        }
        for (text, expected) in [
            (r#"{"a":"x\uD83D"}"#, "x\u{FFFD}"),
            (r#"{"a":"\udE00x"}"#, "\u{FFFD}x"),
            (r#"{"a":"\uD83D\uD83D\uDE00"}"#, "\u{FFFD}\u{1F600}"),
            (r#"{"a":"\\uD83D"}"#, "\\uD83D"),
            (r#"{"a":"\uD83D\\uDE00"}"#, "\u{FFFD}\\uDE00"),
        ] {
            assert_eq!(from_slice_lossy(text.as_bytes()), Ok(json!({ "a": expected })), "{text}");
        }
        for text in
            [r#"{"a":1,"a":"\uD83D"}"#, r#"{"a":"\uD83"#, "{\"a\":\"\\", r#"{"a":18446744073709551616}"#]
        {
            assert!(from_slice_lossy(text.as_bytes()).is_err(), "{text}");
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
