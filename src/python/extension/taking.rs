//! Python's values as documents of the engine.
//!
//! In: `None`, `bool`, `int`, `float`, `str`, lists, tuples and mappings of texts. Out: a document, read where the values lie, within the
//! engine's bounds of depth and size, which also end whatever contains itself. A whole number beyond 64 bits becomes a double, as JSON text of it
//! would. What JSON cannot say is refused by its type, and nothing of the data stands in the message.

use celador::cel::{EvalLimits, Json};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::fmt;

/// A value as a document.
pub(crate) fn json(value: &Bound<'_, PyAny>) -> PyResult<Json> {
    Json::take(Given(value), &EvalLimits::default()).map_err(PyErr::from)
}

/// A mapping as an object; without one the empty object.
pub(crate) fn object(value: Option<&Bound<'_, PyAny>>) -> PyResult<Json> {
    let Some(value) = value.filter(|value| !value.is_none()) else { return Ok(Json::object([])) };
    let json = json(value)?;
    if json.root().is_object() {
        Ok(json)
    } else {
        Err(PyTypeError::new_err(format!("expected a mapping, found `{}`", kind(value))))
    }
}

/// A value as what serde reads out of it, for arguments with a shape of their own.
pub(crate) fn read<T: serde::de::DeserializeOwned>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    let json = json(value)?;
    let value = serde_json::to_value(&json).map_err(|_| PyValueError::new_err("the value is no document"))?;
    serde_json::from_value(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The name of a value's type.
pub(crate) fn kind(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

/// Why a value is no document.
#[derive(Debug)]
enum Refused {
    /// It is of a type that JSON does not have.
    Kind(String),
    /// Its type is right, and JSON cannot say it all the same, or a bound is exceeded.
    Value(String),
    /// Python itself has failed.
    Raised(PyErr),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(text) | Self::Value(text) => f.write_str(text),
            Self::Raised(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Refused {}

impl Error for Refused {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Value(message.to_string())
    }
}

impl From<Refused> for PyErr {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Kind(text) => PyTypeError::new_err(text),
            Refused::Value(text) => PyValueError::new_err(text),
            Refused::Raised(error) => error,
        }
    }
}

/// A value that is read.
struct Given<'a, 'py>(&'a Bound<'py, PyAny>);

impl<'de> Deserializer<'de> for Given<'_, '_> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        let value = self.0;
        if let Ok(text) = value.cast::<PyString>() {
            return visitor.visit_str(text_of(text)?);
        }
        if value.is_none() {
            return visitor.visit_unit();
        }
        // a bool is an int, too
        if let Ok(value) = value.cast::<PyBool>() {
            return visitor.visit_bool(value.is_true());
        }
        if let Ok(number) = value.cast::<PyInt>() {
            return match number.extract::<i64>() {
                Ok(number) => visitor.visit_i64(number),
                Err(_) => visitor.visit_f64(finite(number)?),
            };
        }
        if let Ok(number) = value.cast::<PyFloat>() {
            return visitor.visit_f64(finite(number)?);
        }
        if let Ok(members) = value.cast::<PyDict>() {
            return visitor.visit_map(Members { left: members.iter(), value: None });
        }
        if let Ok(items) = value.cast::<PyList>() {
            return visitor.visit_seq(Items(items.iter()));
        }
        if let Ok(items) = value.cast::<PyTuple>() {
            return visitor.visit_seq(Items(items.iter()));
        }
        if let Ok(mapping) = value.cast::<PyMapping>() {
            let members = PyDict::new(value.py());
            members.update(mapping).map_err(Refused::Raised)?;
            return visitor.visit_map(Members { left: members.iter(), value: None });
        }
        Err(Refused::Kind(format!(
            "expected a value of JSON (None, bool, int, float, str, list, tuple or a mapping), found `{}`",
            kind(value)
        )))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

fn text_of<'a>(text: &'a Bound<'_, PyString>) -> Result<&'a str, Refused> {
    text.to_str()
        .map_err(|_| Refused::Value("a text has half of a surrogate pair, which no JSON has".to_owned()))
}

fn finite(number: &Bound<'_, PyAny>) -> Result<f64, Refused> {
    let number = number.extract::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| {
        Refused::Value("a number is not finite, or too large for one, and no JSON has it".to_owned())
    })
}

/// The elements of a list or tuple.
struct Items<I>(I);

impl<'de, 'py, I: Iterator<Item = Bound<'py, PyAny>>> SeqAccess<'de> for Items<I> {
    type Error = Refused;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Refused> {
        self.0.next().map(|item| seed.deserialize(Given(&item))).transpose()
    }
}

/// The members of a dictionary.
struct Members<'py, I> {
    left: I,
    value: Option<Bound<'py, PyAny>>,
}

impl<'de, 'py, I: Iterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)>> MapAccess<'de>
    for Members<'py, I>
{
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Refused> {
        let Some((key, value)) = self.left.next() else { return Ok(None) };
        self.value = Some(value);
        let Ok(key) = key.cast::<PyString>() else {
            return Err(Refused::Kind(format!(
                "expected the keys of a mapping to be texts, found `{}`",
                kind(&key)
            )));
        };
        seed.deserialize(Key(text_of(key)?)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Refused> {
        let value = self.value.take().ok_or_else(|| Refused::custom("a key has no value"))?;
        seed.deserialize(Given(&value))
    }
}

/// A key, which is no longer there once it was read.
struct Key<'a>(&'a str);

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_str(self.0)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}
