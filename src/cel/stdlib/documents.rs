//! The library of documents: JSON that stands in a text, and all texts of a value as one.
//!
//! `json.parse` reads JSON as everything else that comes in is read (`value/json`), but for a key that stands twice in an
//! object: programs disagree which of the two counts, so a guard that took either could be shown the other one.

use super::no_overload;
use crate::fault::{ErrorCode, Fault};
use crate::function::{Code, Function};
use crate::meter::Meter;
use crate::value::{Entries, Key, List, Map, Text, Value};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

pub(super) static DOCUMENTS: &[Function] = &[
    Function {
        name: "json.parse",
        doc: "the value that a text says as JSON: numbers without fraction and exponent that fit in 64 bits are `int`, all \
              others `double`; a key that stands twice in one object is an error",
        cost: "1, twice the length of the text, 4 for each element of a list and 7 for each entry of a map",
        overloads: &[("json_parse_string", "json.parse(string) -> dyn")],
        examples: &[
            (r#"json.parse('{"to": ["a", "b"], "n": 1}').to"#, "['a', 'b']"),
            ("json.parse('[1, 1.0, null, true]')", "[1, 1.0, null, true]"),
            (r#"json.parse(r'"\u0072m"')"#, "'rm'"),
            ("json.parse('9223372036854775808')", "9223372036854775808.0"),
            (r#"json.parse('{"a": 1, "a": 2}')"#, "error: duplicate_key"),
            ("json.parse('{} {}')", "error: invalid_argument"),
            ("json.parse('NaN')", "error: invalid_argument"),
            ("json.parse('')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(text)] => parse(meter, text),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "text",
        doc: "all that a value says, as one text to look for words in: each key, text, number and truth value inside of it, \
              a line each, as `string` writes it and without quotes or escapes; a word that is split over two of them is \
              not found",
        cost: "1, the length of the text, and 1 for each part",
        overloads: &[("any_to_text", "text(A) -> string")],
        examples: &[
            ("text({'to': ['a', 'b'], 'n': 1.5})", r"'to\na\nb\nn\n1.5'"),
            (r#"text({'note': 'say "by\tpass"'}).contains('by\tpass')"#, "true"),
            ("text('one')", "'one'"),
            ("text([4111111111111111])", "'4111111111111111'"),
            ("text([null, true, []])", r"'null\ntrue'"),
            (r"text([b'\xff'])", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| match args {
            [text @ Value::String(_)] => Ok((*text).clone()),
            [value] => {
                let mut lines = String::new();
                write(meter, &mut lines, value)?;
                lines.pop();
                Ok(Value::owned_text(lines))
            }
            _ => no_overload(args),
        }),
    },
];

/// Writes the lines of a value, each with its end. It recurses as deep as the value is nested.
fn write(meter: &mut Meter<'_>, lines: &mut String, value: &Value<'_>) -> Result<(), Fault> {
    meter.charge(1)?;
    match value {
        Value::List(list) => list.iter().try_for_each(|item| write(meter, lines, &item)),
        Value::Map(map) => map.iter().try_for_each(|(key, value)| {
            write(meter, lines, &key.value())?;
            write(meter, lines, &value)
        }),
        Value::Optional(inner) => inner.as_deref().map_or(Ok(()), |inner| write(meter, lines, inner)),
        value => {
            let line = match value {
                Value::Null => Value::text("null"),
                Value::Type(name) => Value::String(Text::Shared(name.0.clone())),
                value => value.to_text(meter)?,
            };
            let line = line.as_str().unwrap_or_default();
            meter.charge_built(line.len().saturating_add(1))?;
            lines.push_str(line);
            lines.push('\n');
            Ok(())
        }
    }
}

fn parse(meter: &mut Meter<'_>, text: &str) -> Result<Value<'static>, Fault> {
    meter.charge_text(text.len())?;
    let limits = meter.limits();
    if text.len() > limits.max_json_bytes {
        return Err(Fault::budget("max_json_bytes"));
    }
    // all texts of the document together are no longer
    meter.charge_built(text.len())?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let mut fault = None;
    let reader = Reader { meter, fault: &mut fault, depth: limits.max_json_depth };
    let value = reader.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|_| fault.unwrap_or_else(|| Fault::refused("a text that is one JSON value")))
}

/// Reads one value, no deeper than it may, and pays for each part before it is kept.
struct Reader<'r, 'l> {
    meter: &'r mut Meter<'l>,
    /// The reason to stop, where it is other than the text itself.
    fault: &'r mut Option<Fault>,
    /// Levels below this one.
    depth: usize,
}

impl<'l> Reader<'_, 'l> {
    fn fail<E: Error>(&mut self, fault: Fault) -> E {
        *self.fault = Some(fault);
        E::custom(fault.code)
    }

    /// Reads a value inside of this one.
    fn inner<E: Error>(&mut self) -> Result<Reader<'_, 'l>, E> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Reader { meter: self.meter, fault: self.fault, depth }),
            None => Err(self.fail(Fault::budget("max_json_depth"))),
        }
    }

    fn pay<E: Error>(&mut self, paid: impl FnOnce(&mut Meter<'l>) -> Result<(), Fault>) -> Result<(), E> {
        paid(self.meter).map_err(|fault| self.fail(fault))
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_, '_> {
    type Value = Value<'static>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_, '_> {
    type Value = Value<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "the nearest double is meant, as for all large numbers"
        )]
        Ok(i64::try_from(value).map_or(Value::Double(value as f64), Value::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Value::Double(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Value::owned_text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = array.next_element_seed(self.inner()?)? {
            self.pay(|meter| List::charge(meter, 1))?;
            items.push(item);
        }
        Ok(Value::list(items))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut entries = Entries::new();
        while let Some(key) = object.next_key::<String>()? {
            self.pay(|meter| meter.charge_built(Map::ENTRY_BYTES))?;
            let value = object.next_value_seed(self.inner()?)?;
            if entries.insert(Key::String(Text::Shared(key.into())), value).is_some() {
                return Err(self.fail(ErrorCode::DuplicateKey.into()));
            }
        }
        Ok(Value::map(entries))
    }
}
