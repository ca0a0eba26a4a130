//! Values of Celador as plain data: of the same shape for every way in which a value may be stored, compared exactly.

use celador::cel::{Activation, Blob, Duration, Env, Json, Key, Program, Stop, Text, Timestamp, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A value by its type and content.
#[derive(Clone, Debug, PartialEq)]
pub enum Plain {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    /// All NaNs are one.
    Double(u64),
    String(String),
    Bytes(Vec<u8>),
    /// Nanoseconds.
    Timestamp(i128),
    /// Nanoseconds.
    Duration(i128),
    List(Vec<Self>),
    /// The order of entries does not count.
    Map(BTreeMap<PlainKey, Self>),
    Optional(Option<Box<Self>>),
    /// A type or a library's own value, as it is shown.
    Other(String),
}

/// A key by its type and content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlainKey {
    Bool(bool),
    Int(i64),
    UInt(u64),
    String(String),
}

impl Plain {
    pub fn double(value: f64) -> Self {
        Self::Double(if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() })
    }
}

impl From<&Key<'_>> for PlainKey {
    fn from(key: &Key<'_>) -> Self {
        match key {
            Key::Bool(key) => Self::Bool(*key),
            Key::Int(key) => Self::Int(*key),
            Key::UInt(key) => Self::UInt(*key),
            Key::String(key) => Self::String(key.to_string()),
        }
    }
}

impl From<&Value<'_>> for Plain {
    fn from(value: &Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::UInt(value) => Self::UInt(*value),
            Value::Double(value) => Self::double(*value),
            Value::String(text) => Self::String(text.to_string()),
            Value::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
            Value::Timestamp(time) => Self::Timestamp(time.nanos()),
            Value::Duration(duration) => Self::Duration(duration.nanos()),
            Value::List(list) => Self::List(list.iter().map(|item| Self::from(&item)).collect()),
            Value::Map(map) => Self::Map(
                map.iter().map(|(name, value)| (PlainKey::from(&name), Self::from(&value))).collect(),
            ),
            Value::Optional(value) => {
                Self::Optional(value.as_deref().map(|value| Box::new(Self::from(value))))
            }
            Value::Type(_) | Value::Opaque(_) | Value::Shortened => Self::Other(format!("{value:?}")),
        }
    }
}

impl Plain {
    /// The type's name, as the list of differences has it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::UInt(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Timestamp(_) => "timestamp",
            Self::Duration(_) => "duration",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional",
            Self::Other(_) => "type",
        }
    }

    /// The value again.
    pub fn to_value(&self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::UInt(value) => Value::UInt(*value),
            Self::Double(bits) => Value::Double(f64::from_bits(*bits)),
            Self::String(text) => Value::owned_text(text.as_str()),
            Self::Bytes(bytes) => Value::Bytes(Blob::Shared(bytes.as_slice().into())),
            Self::Timestamp(nanos) => Value::Timestamp(Timestamp::from_nanos(*nanos).unwrap()),
            Self::Duration(nanos) => Value::Duration(Duration::from_nanos(*nanos).unwrap()),
            Self::List(items) => Value::list(items.iter().map(Self::to_value).collect()),
            Self::Map(entries) => {
                let key = |key: &PlainKey| match key {
                    PlainKey::Bool(key) => Key::Bool(*key),
                    PlainKey::Int(key) => Key::Int(*key),
                    PlainKey::UInt(key) => Key::UInt(*key),
                    PlainKey::String(key) => Key::String(Text::Shared(key.as_str().into())),
                };
                Value::map(entries.iter().map(|(name, value)| (key(name), value.to_value())).collect())
            }
            Self::Optional(value) => Value::Optional(value.as_ref().map(|value| Arc::new(value.to_value()))),
            Self::Other(shown) => panic!("{shown} is not plain data"),
        }
    }
}

/// What came of an evaluation: a value, or the code of an error.
pub type Outcome = Result<Plain, &'static str>;

/// Runs a program. Says what it cost.
pub fn run<'a>(program: &'a Program, activation: &Activation<'a>) -> (Outcome, u64) {
    let (result, cost) = program.run_metered(activation, None);
    let outcome = match result {
        Ok(value) => Ok(Plain::from(&value)),
        Err(Stop::Failed(error)) => Err(error.code.as_str()),
        Err(Stop::Asked) => unreachable!("no host"),
    };
    (outcome, cost)
}

/// Runs a program over the members of a JSON object, each the variable of its name. Says what it cost.
pub fn run_over(env: &Env, program: &Program, data: &Json) -> (Outcome, u64) {
    let members = data.root().entries();
    run(
        program,
        &members.fold(Activation::new(env), |activation, (name, value)| {
            activation.with(env, name, value.value())
        }),
    )
}
