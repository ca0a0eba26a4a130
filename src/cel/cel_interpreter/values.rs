//! Values of the crate `cel` as values of this one, and the other way.
//!
//! Either way a value is gone through once, level by level, and is refused where it gets too deep or too large: the lists and
//! maps of that crate share their parts, so a small value can name one list a million times over. What comes out owns what it
//! holds. Kinds that only one side has are an error that names the kind and none of the data.

use crate::fault::Fault;
use crate::limits::EvalLimits;
use crate::types::Kind;
use crate::value::{Blob, Duration, Entries, Json, Key, Map, Text, Timestamp, Value};
use cel::common::types::{
    CelBool, CelBytes, CelDouble, CelDuration, CelInt, CelList, CelMap, CelMapKey, CelNull, CelOptional,
    CelString, CelTimestamp, CelUInt,
};
use cel::common::value::Val;
use cel::objects::OptionalValue;
use chrono::{DateTime, FixedOffset, TimeDelta};
use std::fmt;
use std::sync::Arc;

const NANOS: i128 = 1_000_000_000;

/// Why a value has no counterpart in the other crate, and where in it.
///
/// The text of the error has no data of the value: in its places `[2]` is an element of a list, `[*]` an entry of a map, whose
/// key is left out, and `?` what an optional holds. [`ConversionError::place`] has the keys, too.
///
/// ```
/// use celador_cel::cel_interpreter::{ConversionError, ConversionProblem, ValueStep};
/// use celador_cel::{EvalLimits, Value};
/// use std::sync::Arc;
///
/// let function = cel::Value::Function(Arc::new("rank".into()), None);
/// let list = cel::Value::List(Arc::new(vec![cel::Value::Int(1), function]));
/// let error: ConversionError = Value::try_from_cel(&list, &EvalLimits::default()).unwrap_err();
/// assert_eq!(error.problem(), ConversionProblem::NoCounterpart("function"));
/// assert!(error.place().eq([&ValueStep::Index(1)]));
/// assert_eq!(error.to_string(), "a value of the kind `function` has no counterpart, at `[1]`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}{}", Shown(place))]
pub struct ConversionError {
    problem: ConversionProblem,
    /// The innermost step first, as the error grows on its way out.
    place: Vec<ValueStep>,
}

/// What is wrong with a part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConversionProblem {
    /// The other crate has no values of this kind: functions, structs and opaque values over there; types, addresses of
    /// networks and shortened values here.
    #[error("a value of the kind `{0}` has no counterpart")]
    NoCounterpart(&'static str),
    /// A timestamp outside of the years 1 to 9999, or a duration of more than 10,000 years.
    #[error("a value of the kind `{0}` is out of range")]
    OutOfRange(Kind),
    /// A map has the keys `1` and `1u`, which are one key here.
    #[error("a map has an `int` and a `uint` of one number as keys")]
    SameKey,
    /// The value is nested deeper than `max_json_depth`, or takes more than `max_json_bytes`.
    #[error("`{0}` {1} exceeded")]
    Exceeded(&'static str, usize),
}

/// A step from a value to one of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueStep {
    /// To the element of a list, counted from 0.
    Index(usize),
    /// To the value of an entry of a map.
    Entry(Key<'static>),
    /// To what an optional holds.
    Content,
}

/// The end of the text of an error: its place, if that is not the whole value, without keys, which are data.
struct Shown<'s>(&'s [ValueStep]);

/// The steps that the text of an error has at most: a value that is too deep would fill the line.
const SHOWN_STEPS: usize = 8;

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        f.write_str(", at `")?;
        for step in self.0.iter().rev().take(SHOWN_STEPS) {
            match step {
                ValueStep::Index(place) => write!(f, "[{place}]")?,
                ValueStep::Entry(_) => f.write_str("[*]")?,
                ValueStep::Content => f.write_str("?")?,
            }
        }
        f.write_str(if self.0.len() > SHOWN_STEPS { "…`" } else { "`" })
    }
}

impl Value<'_> {
    /// The same value, of what a host of the crate `cel` holds. A map has its entries in the order of their keys, since it has
    /// none over there; a timestamp keeps the instant and loses its offset from UTC.
    ///
    /// # Errors
    /// A function, a struct or an opaque value other than an optional; a time out of range; a map with `1` and `1u` as keys; a
    /// value that is nested deeper than `max_json_depth` or takes more than `max_json_bytes` here.
    ///
    /// # Cost
    /// Linear in the value, parts that it shares counted as often as they are named.
    pub fn try_from_cel(value: &cel::Value, limits: &EvalLimits) -> Result<Value<'static>, ConversionError> {
        Conversion::new(limits).of_foreign(value)
    }

    /// The same value for a host of the crate `cel`. Lists and records of a host's own are copied.
    ///
    /// # Errors
    /// A type, an address of a network or a shortened value; one that is nested deeper than `max_json_depth` or takes more than
    /// `max_json_bytes`.
    ///
    /// # Cost
    /// As [`Value::try_from_cel`].
    pub fn try_to_cel(&self, limits: &EvalLimits) -> Result<cel::Value, ConversionError> {
        Conversion::new(limits).as_foreign(self)
    }
}

impl Json {
    /// The document that a value of the crate `cel` is as JSON, as [`Json::from_value_within`] writes it: keys become text,
    /// bytes base64, times RFC 3339.
    ///
    /// # Errors
    /// As [`Value::try_from_cel`], and a value that JSON has no form for: an optional, or a double that is not finite.
    pub fn try_from_cel(value: &cel::Value, limits: &EvalLimits) -> Result<Self, ConversionError> {
        let value = Value::try_from_cel(value, limits)?;
        Self::from_value_within(&value, limits).map_err(|fault| match fault.bound {
            Some(name) => Conversion::new(limits).exceeded(name),
            None => no_json(&value)
                .unwrap_or_else(|| ConversionProblem::NoCounterpart(value.kind().name()).into()),
        })
    }
}

/// The first part that JSON has no form for.
fn no_json(value: &Value<'_>) -> Option<ConversionError> {
    match value {
        Value::List(list) => list
            .iter()
            .enumerate()
            .find_map(|(place, item)| Some(no_json(&item)?.within(ValueStep::Index(place)))),
        Value::Map(map) => map
            .iter()
            .find_map(|(key, value)| Some(no_json(&value)?.within(ValueStep::Entry(key.to_static())))),
        Value::Double(value) if value.is_finite() => None,
        Value::Double(_) | Value::Optional(_) => {
            Some(ConversionProblem::NoCounterpart(value.kind().name()).into())
        }
        _ => None,
    }
}

impl From<ConversionProblem> for ConversionError {
    fn from(problem: ConversionProblem) -> Self {
        Self { problem, place: Vec::new() }
    }
}

impl ConversionError {
    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> ConversionProblem {
        self.problem
    }

    /// The steps from the whole value to the part that is wrong, the outermost first; empty if it is the whole value, or if the
    /// whole is too large as JSON. Keys are data of the value.
    pub fn place(&self) -> impl ExactSizeIterator<Item = &ValueStep> {
        self.place.iter().rev()
    }

    /// The error of a part as one of the value that it is a part of.
    fn within(mut self, step: ValueStep) -> Self {
        self.place.push(step);
        self
    }

    /// The error as one of an evaluation, for a call whose arguments or result it concerns.
    pub(super) fn fault(&self, otherwise: Fault) -> Fault {
        match self.problem {
            ConversionProblem::Exceeded(name, _) => Fault::budget(name),
            _ => otherwise,
        }
    }
}

/// A conversion under way: what it may still take.
pub(super) struct Conversion<'l> {
    limits: &'l EvalLimits,
    /// The bytes of the parts so far, of whichever side is larger.
    pub(super) bytes: usize,
}

impl<'l> Conversion<'l> {
    pub(super) fn new(limits: &'l EvalLimits) -> Self {
        Self { limits, bytes: 0 }
    }

    fn exceeded(&self, name: &'static str) -> ConversionError {
        let value = self.limits.get(name).and_then(|value| usize::try_from(value).ok());
        ConversionProblem::Exceeded(name, value.unwrap_or(usize::MAX)).into()
    }

    fn take(&mut self, bytes: usize) -> Result<(), ConversionError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.limits.max_json_bytes { Err(self.exceeded("max_json_bytes")) } else { Ok(()) }
    }

    /// The levels that may stand below one that has so many itself.
    fn below(&self, levels: usize) -> Result<usize, ConversionError> {
        levels.checked_sub(1).ok_or_else(|| self.exceeded("max_json_depth"))
    }

    /// A value of this crate.
    pub(super) fn of_foreign<F: Foreign + ?Sized>(
        &mut self,
        value: &F,
    ) -> Result<Value<'static>, ConversionError> {
        self.ours(value, self.limits.max_json_depth)
    }

    /// A value of the crate `cel`.
    pub(super) fn as_foreign(&mut self, value: &Value<'_>) -> Result<cel::Value, ConversionError> {
        self.theirs(value, self.limits.max_json_depth)
    }

    fn ours<F: Foreign + ?Sized>(
        &mut self,
        value: &F,
        levels: usize,
    ) -> Result<Value<'static>, ConversionError> {
        self.take(size_of::<Value<'_>>())?;
        Ok(match value.seen()? {
            Seen::Null => Value::Null,
            Seen::Bool(value) => Value::Bool(value),
            Seen::Int(value) => Value::Int(value),
            Seen::UInt(value) => Value::UInt(value),
            Seen::Double(value) => Value::Double(value),
            Seen::String(text) => {
                self.take(text.len())?;
                Value::owned_text(text)
            }
            Seen::Bytes(bytes) => {
                self.take(bytes.len())?;
                Value::Bytes(Blob::Shared(bytes.into()))
            }
            Seen::Timestamp(time) => Value::Timestamp(timestamp(time)?),
            Seen::Duration(length) => Value::Duration(duration(length)?),
            Seen::Optional(None) => Value::Optional(None),
            Seen::Optional(Some(value)) => {
                let below = self.below(levels)?;
                let value = self.ours(value, below).map_err(|error| error.within(ValueStep::Content))?;
                Value::Optional(Some(Arc::new(value)))
            }
            Seen::List(items) => {
                let below = self.below(levels)?;
                let items = items.into_iter().enumerate().map(|(place, item)| {
                    self.ours(item, below).map_err(|error| error.within(ValueStep::Index(place)))
                });
                Value::list(items.collect::<Result<_, _>>()?)
            }
            Seen::Map(mut entries) => {
                let below = self.below(levels)?;
                entries.sort_by(|(a, _), (b, _)| rank(a).cmp(&rank(b)));
                let mut map = Entries::with_capacity(entries.len());
                for (key, value) in entries {
                    self.take(Map::ENTRY_BYTES.saturating_add(text_of(&key).len()))?;
                    let key = key.to_static();
                    let value = match self.ours(value, below) {
                        Ok(value) => value,
                        Err(error) => return Err(error.within(ValueStep::Entry(key))),
                    };
                    if map.insert(key, value).is_some() {
                        return Err(ConversionProblem::SameKey.into());
                    }
                }
                Value::map(map)
            }
        })
    }

    fn theirs(&mut self, value: &Value<'_>, levels: usize) -> Result<cel::Value, ConversionError> {
        self.take(size_of::<Value<'_>>())?;
        Ok(match value {
            Value::Null => cel::Value::Null,
            Value::Bool(value) => cel::Value::Bool(*value),
            Value::Int(value) => cel::Value::Int(*value),
            Value::UInt(value) => cel::Value::UInt(*value),
            Value::Double(value) => cel::Value::Float(*value),
            Value::String(text) => {
                self.take(text.len())?;
                cel::Value::String(Arc::new(text.to_string()))
            }
            Value::Bytes(bytes) => {
                self.take(bytes.len())?;
                cel::Value::Bytes(Arc::new(bytes.to_vec()))
            }
            Value::Timestamp(time) => {
                let (seconds, nanos) = split(time.nanos());
                let time = DateTime::from_timestamp(seconds, nanos);
                let time = time.ok_or(ConversionProblem::OutOfRange(Kind::Timestamp))?;
                cel::Value::Timestamp(time.fixed_offset())
            }
            Value::Duration(length) => {
                let (seconds, nanos) = split(length.nanos());
                let length = TimeDelta::new(seconds, nanos);
                cel::Value::Duration(length.ok_or(ConversionProblem::OutOfRange(Kind::Duration))?)
            }
            Value::Optional(value) => {
                let value = match value {
                    None => OptionalValue::none(),
                    Some(value) => {
                        let below = self.below(levels)?;
                        let value =
                            self.theirs(value, below).map_err(|error| error.within(ValueStep::Content))?;
                        OptionalValue::of(value)
                    }
                };
                cel::Value::Opaque(Arc::new(value))
            }
            Value::List(list) => {
                let below = self.below(levels)?;
                let items = list.iter().enumerate().map(|(place, item)| {
                    self.theirs(&item, below).map_err(|error| error.within(ValueStep::Index(place)))
                });
                cel::Value::List(Arc::new(items.collect::<Result<_, _>>()?))
            }
            Value::Map(map) => {
                let below = self.below(levels)?;
                let entries = map.iter().map(|(key, value)| {
                    self.take(Map::ENTRY_BYTES.saturating_add(text_of(&key).len()))?;
                    let value = match self.theirs(&value, below) {
                        Ok(value) => value,
                        Err(error) => return Err(error.within(ValueStep::Entry(key.to_static()))),
                    };
                    let key = match key {
                        Key::Bool(key) => cel::objects::Key::Bool(key),
                        Key::Int(key) => cel::objects::Key::Int(key),
                        Key::UInt(key) => cel::objects::Key::Uint(key),
                        Key::String(key) => cel::objects::Key::String(Arc::new(key.to_string())),
                    };
                    Ok((key, value))
                });
                let entries = entries.collect::<Result<_, ConversionError>>()?;
                cel::Value::Map(cel::objects::Map { map: Arc::new(entries) })
            }
            Value::Type(_) | Value::Opaque(_) | Value::Shortened => {
                return Err(ConversionProblem::NoCounterpart(value.kind().name()).into());
            }
        })
    }
}

/// One level of a value of the crate `cel`.
pub(super) enum Seen<'s, F: ?Sized> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    String(&'s str),
    Bytes(&'s [u8]),
    Timestamp(&'s DateTime<FixedOffset>),
    Duration(&'s TimeDelta),
    Optional(Option<&'s F>),
    List(Vec<&'s F>),
    Map(Vec<(Key<'s>, &'s F)>),
}

/// The two forms in which that crate has values: `Value`, which hosts hold, and `dyn Val`, which contexts hold and functions give.
pub(super) trait Foreign {
    fn seen(&self) -> Result<Seen<'_, Self>, ConversionProblem>;
}

impl Foreign for cel::Value {
    fn seen(&self) -> Result<Seen<'_, Self>, ConversionProblem> {
        Ok(match self {
            Self::Null => Seen::Null,
            Self::Bool(value) => Seen::Bool(*value),
            Self::Int(value) => Seen::Int(*value),
            Self::UInt(value) => Seen::UInt(*value),
            Self::Float(value) => Seen::Double(*value),
            Self::String(text) => Seen::String(text),
            Self::Bytes(bytes) => Seen::Bytes(bytes),
            Self::Timestamp(time) => Seen::Timestamp(time),
            Self::Duration(length) => Seen::Duration(length),
            Self::List(items) => Seen::List(items.iter().collect()),
            Self::Map(map) => {
                let key = |key| match key {
                    &cel::objects::Key::Bool(key) => Key::Bool(key),
                    &cel::objects::Key::Int(key) => Key::Int(key),
                    &cel::objects::Key::Uint(key) => Key::UInt(key),
                    cel::objects::Key::String(key) => Key::String(Text::Borrowed(key)),
                };
                Seen::Map(map.map.iter().map(|(name, value)| (key(name), value)).collect())
            }
            Self::Opaque(value) => match value.downcast_ref::<OptionalValue>() {
                Some(optional) => Seen::Optional(optional.value()),
                None => return Err(ConversionProblem::NoCounterpart("opaque")),
            },
            Self::Function(..) => return Err(ConversionProblem::NoCounterpart("function")),
            Self::Struct(_) => return Err(ConversionProblem::NoCounterpart("struct")),
        })
    }
}

impl<'v> Foreign for dyn Val + 'v {
    fn seen(&self) -> Result<Seen<'_, Self>, ConversionProblem> {
        if let Some(value) = self.downcast_ref::<CelBool>() {
            return Ok(Seen::Bool(*value.inner()));
        }
        if let Some(value) = self.downcast_ref::<CelInt>() {
            return Ok(Seen::Int(*value.inner()));
        }
        if let Some(value) = self.downcast_ref::<CelUInt>() {
            return Ok(Seen::UInt(*value.inner()));
        }
        if let Some(value) = self.downcast_ref::<CelDouble>() {
            return Ok(Seen::Double(*value.inner()));
        }
        if let Some(text) = self.downcast_ref::<CelString<'_>>() {
            return Ok(Seen::String(text.inner()));
        }
        if let Some(bytes) = self.downcast_ref::<CelBytes<'_>>() {
            return Ok(Seen::Bytes(bytes.inner()));
        }
        if self.downcast_ref::<CelNull>().is_some() {
            return Ok(Seen::Null);
        }
        if let Some(time) = self.downcast_ref::<CelTimestamp>() {
            return Ok(Seen::Timestamp(time.inner()));
        }
        if let Some(length) = self.downcast_ref::<CelDuration>() {
            return Ok(Seen::Duration(length.inner()));
        }
        if let Some(list) = self.downcast_ref::<CelList<'v>>() {
            return Ok(Seen::List(list.inner().iter().map(|item| &**item).collect()));
        }
        if let Some(map) = self.downcast_ref::<CelMap<'v>>() {
            return Ok(Seen::Map(map.inner().iter().map(|(name, value)| (key_of(name), &**value)).collect()));
        }
        if let Some(optional) = self.downcast_ref::<CelOptional<'v>>() {
            return Ok(Seen::Optional(optional.option()));
        }
        // types are texts or nothing outside of that crate's interpreter, and a host's own values are known to it alone
        Err(ConversionProblem::NoCounterpart(match self.get_type().kind() {
            cel::common::types::Kind::Type => "type",
            cel::common::types::Kind::Struct => "struct",
            _ => "opaque",
        }))
    }
}

fn key_of<'k>(key: &'k CelMapKey<'_>) -> Key<'k> {
    match key {
        CelMapKey::Bool(key) => Key::Bool(*key.inner()),
        CelMapKey::Int(key) => Key::Int(*key.inner()),
        CelMapKey::UInt(key) => Key::UInt(*key.inner()),
        CelMapKey::String(key) => Key::String(Text::Borrowed(key.inner())),
    }
}

/// What keys are put in order by: kind, number, text.
fn rank<'k>(key: &'k Key<'_>) -> (u8, i128, &'k str) {
    match key {
        Key::Bool(key) => (0, i128::from(*key), ""),
        Key::Int(key) => (1, i128::from(*key), ""),
        Key::UInt(key) => (1, i128::from(*key), ""),
        Key::String(key) => (2, 0, key),
    }
}

fn text_of<'k>(key: &'k Key<'_>) -> &'k str {
    rank(key).2
}

fn timestamp(time: &DateTime<FixedOffset>) -> Result<Timestamp, ConversionProblem> {
    let nanos = i128::from(time.timestamp()).saturating_mul(NANOS);
    let nanos = nanos.saturating_add(i128::from(time.timestamp_subsec_nanos()));
    Timestamp::from_nanos(nanos).map_err(|_| ConversionProblem::OutOfRange(Kind::Timestamp))
}

fn duration(length: &TimeDelta) -> Result<Duration, ConversionProblem> {
    let nanos = i128::from(length.num_seconds()).saturating_mul(NANOS);
    let nanos = nanos.saturating_add(i128::from(length.subsec_nanos()));
    Duration::from_nanos(nanos).map_err(|_| ConversionProblem::OutOfRange(Kind::Duration))
}

/// Whole seconds, rounded down, and the nanoseconds over them. Both fit for every time and length that this crate has; what
/// would not is out of range over there, too.
fn split(nanos: i128) -> (i64, u32) {
    let seconds = i64::try_from(nanos.div_euclid(NANOS)).unwrap_or(i64::MAX);
    (seconds, u32::try_from(nanos.rem_euclid(NANOS)).unwrap_or(u32::MAX))
}
