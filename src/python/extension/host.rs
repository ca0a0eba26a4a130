//! Functions of the program that policies call: callables of Python as functions of an engine's host.
//!
//! In: a mapping of names to callables. Out: the host of `celador-embed`. A call takes the interpreter, whatever thread it is made on, and gives the value of the callable if that is JSON. An exception, something to
//! be awaited and any other value fail the call; what is told of it has no data. The type of an exception is told to the logger `celador`, never its text.

use crate::{giving, taking, wishes};
use celador::cel::{HostError, HostRefusal, Json};
use celador_embed::Host;
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyTuple};

/// The key and the functions of the program, for its policies.
pub(crate) fn host(
    hash_key: Option<&Bound<'_, PyAny>>,
    functions: Option<&Bound<'_, PyAny>>,
) -> PyResult<Host> {
    let host = Host::default().with_hash_key(hash_key.map(wishes::hash_key).transpose()?);
    let Some(functions) = functions.filter(|functions| !functions.is_none()) else { return Ok(host) };
    let named = functions.cast::<PyMapping>().map_err(|_| {
        let found = taking::kind(functions);
        PyTypeError::new_err(format!(
            "expected `functions` as a mapping of names to functions, found `{found}`"
        ))
    })?;
    named.items()?.iter().try_fold(host, |host, item| {
        let (name, function): (String, Bound<'_, PyAny>) = item.extract()?;
        refuse_what_cannot_answer(&name, &function)?;
        let (function, called) = (function.unbind(), name.clone());
        Ok(host.with_function(&name, move |arguments| call(&called, &function, arguments)))
    })
}

/// Refuses an object that cannot be called, and a coroutine function, before any policy is loaded.
fn refuse_what_cannot_answer(name: &str, function: &Bound<'_, PyAny>) -> PyResult<()> {
    if !function.is_callable() {
        let found = taking::kind(function);
        return Err(PyTypeError::new_err(format!("expected a function as `{name}`, found `{found}`")));
    }
    let is_coroutine = function.py().import("inspect")?.getattr("iscoroutinefunction")?.call1((function,))?;
    if is_coroutine.is_truthy()? {
        let message = format!(
            "expected a function as `{name}` that gives its value at once, found a coroutine function"
        );
        return Err(PyTypeError::new_err(message));
    }
    Ok(())
}

fn call(name: &str, function: &Py<PyAny>, arguments: &[Json]) -> Result<Json, HostError> {
    let called = Python::try_attach(|py| {
        let given = arguments.iter().map(|argument| giving::json(py, argument));
        let given = given.collect::<PyResult<Vec<_>>>().and_then(|given| PyTuple::new(py, given));
        let value = given.and_then(|given| function.bind(py).call1(given));
        let value = value.map_err(|error| raised(py, name, &error))?;
        if is_awaitable(&value) {
            return Err(HostRefusal("its function gives something to be awaited"));
        }
        taking::json(&value).map_err(|_| HostRefusal("its value is not JSON"))
    });
    Ok(called.unwrap_or(Err(HostRefusal("the interpreter has ended")))?)
}

/// Whether a value has to be awaited. A coroutine is closed, as nobody will await it.
fn is_awaitable(value: &Bound<'_, PyAny>) -> bool {
    let is_awaitable = value.hasattr("__await__").unwrap_or(true);
    if is_awaitable && value.hasattr("cr_code").unwrap_or(false) {
        // what is raised while it is closed is its own
        let _ = value.call_method0("close");
    }
    is_awaitable
}

/// The refusal of a call that has raised an exception. A `KeyboardInterrupt` is raised again after the decision, where the program can handle it.
fn raised(py: Python<'_>, name: &str, error: &PyErr) -> HostRefusal {
    let tell = || {
        let kind = error.get_type(py).qualname()?;
        let logger = py.import("logging")?.getattr("getLogger")?.call1(("celador",))?;
        logger.call_method1("warning", ("the function `%s` of the host has raised `%s`", name, kind))?;
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            py.import("_thread")?.getattr("interrupt_main")?.call0()?;
        }
        Ok::<_, PyErr>(())
    };
    // a logger that fails changes nothing of the decision
    let _ = tell();
    HostRefusal("its function has raised an exception")
}
