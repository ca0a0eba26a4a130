//! Errors as exceptions of the package.
//!
//! In: an error of `celador-embed`, or a panic. Out: the exception of `celador._errors` that says whose mistake it is. A panic would cross as an
//! exception that no `except Exception` sees; here it is an `InternalError` like any other, and nothing was decided.

use crate::parts::Diagnostic;
use celador_embed::{Error, ErrorKind, refuse_within_function};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};
use std::panic::{AssertUnwindSafe, catch_unwind};

static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    let module = ERRORS.get_or_try_init(py, || py.import("celador._errors").map(Bound::unbind))?;
    Ok(module.bind(py).getattr(name)?.cast_into::<PyType>()?)
}

/// An error as its exception.
pub(crate) fn raised(py: Python<'_>, error: Error) -> PyErr {
    exception(py, error).unwrap_or_else(|failed| failed)
}

fn exception(py: Python<'_>, error: Error) -> PyResult<PyErr> {
    let Error { kind, code, message, flaws } = error;
    let made = match kind {
        ErrorKind::Load => {
            let diagnostics = flaws.into_iter().map(|flaw| Py::new(py, Diagnostic::from(flaw)));
            let diagnostics = PyTuple::new(py, diagnostics.collect::<PyResult<Vec<_>>>()?)?;
            class(py, "LoadError")?.call1((message, code, diagnostics))?
        }
        ErrorKind::Misuse => class(py, "MisuseError")?.call1((message, code))?,
        ErrorKind::Store => class(py, "StoreError")?.call1((message, code))?,
        ErrorKind::Internal => class(py, "InternalError")?.call1((message, code))?,
    };
    Ok(PyErr::from_value(made))
}

/// What a function comes to that may fail or, by a mistake of ours, panic. It keeps the interpreter, so it should be short.
pub(crate) fn door<T>(py: Python<'_>, function: impl FnOnce() -> Result<T, Error>) -> PyResult<T> {
    match caught(function) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(raised(py, error)),
        Err(panicked) => Err(raised(py, panicked)),
    }
}

/// The same for what may take long: meanwhile other threads of Python run.
pub(crate) fn long_door<T: Send>(
    py: Python<'_>,
    function: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    match py.detach(|| caught(function)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(raised(py, error)),
        Err(panicked) => Err(raised(py, panicked)),
    }
}

/// What a panic says may hold data, so it goes to standard error, where Rust has told it already, and not into the exception.
fn caught<T>(function: impl FnOnce() -> T) -> Result<T, Error> {
    refuse_within_function()?;
    catch_unwind(AssertUnwindSafe(function))
        .map_err(|_| Error::internal("the engine has made a mistake: nothing was decided"))
}
