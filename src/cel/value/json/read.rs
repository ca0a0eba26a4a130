//! JSON that comes in, as text or through serde: out comes a document, or why there is none.
//!
//! Numbers without fraction and exponent that fit in 64 bits are `int`, all others `double`. What is nested deeper than
//! it may is refused where it gets too deep; a refusal has line and column and none of the data.

use super::Json;
use super::build::{Builder, Members};
use super::word::{MAX_LENGTH, Tag, Word};
use crate::limits::EvalLimits;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::io::{self, Write};

/// Why a text is no acceptable JSON.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct JsonError {
    message: String,
}

impl Json {
    /// Takes over a document that `serde_json` has read. Linear in it.
    ///
    /// # Errors
    /// A document that is nested deeper than `max_json_depth`, or would be longer than `max_json_bytes` as text. The message has
    /// none of the data.
    pub fn try_from_value(value: &serde_json::Value, limits: &EvalLimits) -> Result<Self, JsonError> {
        let exceeded = |name: &str, bound: usize| JsonError { message: format!("`{name}` {bound} exceeded") };
        if !is_within(value, limits.max_json_depth) {
            return Err(exceeded("max_json_depth", limits.max_json_depth));
        }
        let room = Countdown(limits.max_json_bytes);
        if serde_json::to_writer(room, value).is_err() {
            return Err(exceeded("max_json_bytes", limits.max_json_bytes));
        }
        let mut builder = Builder::default();
        let root = builder.foreign(value);
        Ok(builder.finish(root))
    }

    /// Takes over a value of whoever serde reads values of, such as the objects of another language. Numbers are as of
    /// [`Json::parse`].
    ///
    /// # Errors
    /// Those of the deserializer; a value that is nested deeper than `max_json_depth`, or whose document would be larger than
    /// `max_json_bytes`. The message has none of the data.
    ///
    /// ```
    /// use celador_cel::{EvalLimits, Json};
    ///
    /// let limits = EvalLimits { max_json_depth: 2, ..EvalLimits::default() };
    /// let read = |text: &str| Json::take(&mut serde_json::Deserializer::from_str(text), &limits);
    /// assert_eq!(read("[[1]]")?.to_string(), "[[1]]");
    /// assert!(read("[[[1]]]").is_err_and(|error| error.to_string().contains("`max_json_depth` 2 exceeded")));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn take<'de, D: Deserializer<'de>>(deserializer: D, limits: &EvalLimits) -> Result<Self, D::Error> {
        let mut builder = Builder::default();
        let seed =
            Seed { max_bytes: limits.max_json_bytes, ..Seed::new(&mut builder, limits.max_json_depth) };
        let root = seed.deserialize(deserializer)?;
        Ok(builder.finish(root))
    }

    /// Reads JSON text. Numbers without fraction and exponent that fit in 64 bits are `int`, all others `double`
    /// (`CEL-40`); of equal keys the last wins, as elsewhere.
    ///
    /// # Errors
    /// Text that is no JSON, is longer than `max_json_bytes`, or is nested deeper than `max_json_depth`; the message
    /// has line and column and none of the data.
    pub fn parse(text: &str, limits: &EvalLimits) -> Result<Self, JsonError> {
        if text.len() > limits.max_json_bytes {
            return Err(JsonError {
                message: format!("`max_json_bytes` {} exceeded", limits.max_json_bytes),
            });
        }
        let mut builder = Builder::default();
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let seed = Seed::new(&mut builder, limits.max_json_depth);
        let root = seed.deserialize(&mut deserializer).and_then(|root| deserializer.end().map(|()| root));
        match root {
            Ok(root) => Ok(builder.finish(root)),
            Err(error) => Err(JsonError { message: error.to_string() }),
        }
    }
}

/// Whether a document has no more levels than these. It recurses no deeper than they are.
fn is_within(value: &serde_json::Value, levels: usize) -> bool {
    let below = levels.checked_sub(1);
    match value {
        serde_json::Value::Array(items) => {
            below.is_some_and(|below| items.iter().all(|item| is_within(item, below)))
        }
        serde_json::Value::Object(members) => {
            below.is_some_and(|below| members.values().all(|member| is_within(member, below)))
        }
        _ => true,
    }
}

/// So many bytes may be written, and are forgotten.
struct Countdown(usize);

impl Write for Countdown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::WriteZero)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads one value into a builder, no deeper than it may.
struct Seed<'b> {
    builder: &'b mut Builder,
    /// Levels below this one.
    depth: usize,
    max_depth: usize,
    /// What the document may come to.
    max_bytes: usize,
}

impl<'b> Seed<'b> {
    fn new(builder: &'b mut Builder, max_depth: usize) -> Self {
        Self { builder, depth: max_depth, max_depth, max_bytes: usize::MAX }
    }

    /// Refuses a document that has become larger than it may.
    fn fits<E: serde::de::Error>(&self) -> Result<(), E> {
        if self.builder.bytes() > self.max_bytes {
            return Err(E::custom(format_args!("`max_json_bytes` {} exceeded", self.max_bytes)));
        }
        Ok(())
    }

    fn inner<E: serde::de::Error>(&mut self) -> Result<Seed<'_>, E> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Seed { builder: self.builder, depth, ..*self }),
            None => Err(E::custom(format_args!("`max_json_depth` {} exceeded", self.max_depth))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Word;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Word, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Word;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Word, E> {
        Ok(Word::new(Tag::Null, 0, 0))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Word, E> {
        Ok(Builder::bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Word, E> {
        Ok(self.builder.int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Word, E> {
        Ok(self.builder.unsigned(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Word, E> {
        Ok(self.builder.double(value))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Word, E> {
        if text.len() > MAX_LENGTH || self.builder.text.len() > MAX_LENGTH {
            return Err(E::custom("text is too long for one document"));
        }
        let word = self.builder.string(text);
        self.fits()?;
        Ok(word)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut array: A) -> Result<Word, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = array.next_element_seed(self.inner()?)? {
            items.push(item);
        }
        let array = self.builder.array(&items);
        self.fits()?;
        Ok(array)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut object: A) -> Result<Word, A::Error> {
        let mut members = Members::new();
        while let Some(key) = object.next_key_seed(self.inner()?)? {
            if key.tag() != Tag::String {
                return Err(A::Error::custom("a key is not text"));
            }
            let key = self.builder.shared(key);
            members.push((key, object.next_value_seed(self.inner()?)?));
        }
        let object = self.builder.object(members);
        self.fits()?;
        Ok(object)
    }
}

impl<'de> serde::Deserialize<'de> for Json {
    /// For documents that were written by this library, such as a stored task: what came in within a host's bounds is read
    /// back whatever they are. So the only bound on depth is that of the deserializer, which is 128 levels for `serde_json`.
    /// What comes from outside is read by [`Json::parse`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut builder = Builder::default();
        let root = Seed::new(&mut builder, usize::MAX).deserialize(deserializer)?;
        Ok(builder.finish(root))
    }
}

impl From<&serde_json::Value> for Json {
    /// For a document that the caller has made and knows the size of: without a bound. What comes from outside goes through
    /// [`Json::try_from_value`].
    fn from(value: &serde_json::Value) -> Self {
        let mut builder = Builder::default();
        let root = builder.foreign(value);
        builder.finish(root)
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Self::from(&value)
    }
}

impl Builder {
    fn foreign(&mut self, value: &serde_json::Value) -> Word {
        match value {
            serde_json::Value::Null => Word::new(Tag::Null, 0, 0),
            serde_json::Value::Bool(value) => Self::bool(*value),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(value), _) => self.int(value),
                (None, value) => self.double(value.unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => self.string(text),
            serde_json::Value::Array(items) => {
                let items: Vec<Word> = items.iter().map(|item| self.foreign(item)).collect();
                self.array(&items)
            }
            serde_json::Value::Object(members) => {
                let members = members.iter().map(|(key, value)| {
                    let key = self.key(key);
                    (key, self.foreign(value))
                });
                let members = members.collect();
                self.object(members)
            }
        }
    }
}
