//! Documents of the engine as Python's values: each time new ones, so that to change them changes nothing else.

use celador::cel::Kind;
use celador::cel::{Json, JsonRef, Value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;

/// A document.
pub(crate) fn json<'py>(py: Python<'py>, json: &Json) -> PyResult<Bound<'py, PyAny>> {
    value(py, json.root())
}

/// The same, or `None`.
pub(crate) fn optional<'py>(py: Python<'py>, found: Option<&Json>) -> PyResult<Bound<'py, PyAny>> {
    found.map_or_else(|| Ok(py.None().into_bound(py)), |found| json(py, found))
}

/// Whatever can be written as JSON.
pub(crate) fn written<'py>(py: Python<'py>, shown: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let shown =
        serde_json::to_value(shown).map_err(|_| PyValueError::new_err("the value cannot be written"))?;
    json(py, &Json::from(&shown))
}

fn value<'py>(py: Python<'py>, value_of: JsonRef<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value_of.kind() {
        Kind::List => {
            let items: Vec<Bound<'py, PyAny>> =
                value_of.items().map(|item| value(py, item)).collect::<PyResult<_>>()?;
            PyList::new(py, items)?.into_any()
        }
        Kind::Map => {
            let members = PyDict::new(py);
            for (key, item) in value_of.entries() {
                members.set_item(key, value(py, item)?)?;
            }
            members.into_any()
        }
        _ => match value_of.value() {
            Value::Bool(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
            Value::Int(number) => number.into_pyobject(py)?.into_any(),
            Value::Double(number) => number.into_pyobject(py)?.into_any(),
            Value::String(text) => (*text).into_pyobject(py)?.into_any(),
            // what was not kept whole has no value to be shown
            _ => py.None().into_bound(py),
        },
    })
}
