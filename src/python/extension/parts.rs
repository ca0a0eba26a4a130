//! What decisions and findings consist of, as frozen values.
//!
//! In: plain data of the engine. Out: classes with read-only attributes; `to_dict` gives the names and values of the HTTP API.

use crate::giving;
use celador::task::{self, LimitReached};
use celador_embed::Flaw;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A value of another type is none of these, so it is shown as what it is: the class, and what tells it from others.
macro_rules! part {
    ($(#[doc = $doc:literal])+ $name:ident($inner:ty), $($shown:ident),+) => {
        $(#[doc = $doc])+
        #[pyclass(frozen, module = "celador", eq)]
        #[derive(Clone, PartialEq)]
        pub(crate) struct $name(pub(crate) $inner);

        impl $name {
            fn shown(&self) -> String {
                let parts = [$(format!(concat!(stringify!($shown), "={:?}"), self.$shown())),+];
                format!(concat!("<", stringify!($name), " {}>"), parts.join(" "))
            }
        }
    };
}

part! {
    /// A place in a manifest or policy.
    Origin(task::Origin), file, line, path
}

#[pymethods]
impl Origin {
    #[getter]
    fn file(&self) -> &str {
        &self.0.file
    }

    #[getter]
    fn line(&self) -> usize {
        self.0.line
    }

    #[getter]
    fn column(&self) -> usize {
        self.0.column
    }

    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    #[getter]
    fn policy(&self) -> Option<String> {
        self.0.policy.as_ref().map(ToString::to_string)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    #[getter]
    fn severity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.0.policy.as_ref().and_then(|step| step.severity))
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.0)
    }

    fn __repr__(&self) -> String {
        self.shown()
    }
}

part! {
    /// A step that was evaluated.
    Step(task::TraceEntry), name, outcome
}

#[pymethods]
impl Step {
    #[getter]
    fn name(&self) -> String {
        self.0.called()
    }

    #[getter]
    fn action<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.0.action)
    }

    #[getter]
    fn outcome(&self) -> &'static str {
        self.0.outcome.as_str()
    }

    #[getter]
    fn policy(&self) -> Option<String> {
        self.0.policy.as_ref().map(ToString::to_string)
    }

    #[getter]
    fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    #[getter]
    fn set<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.set.iter().map(|name| &**name))
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.0)
    }

    fn __repr__(&self) -> String {
        self.shown()
    }
}

part! {
    /// A step under `mode: observe`: what it would have done.
    ObservedStep(task::ObservedStep), name, outcome
}

#[pymethods]
impl ObservedStep {
    #[getter]
    fn name(&self) -> String {
        self.0.called()
    }

    #[getter]
    fn action<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.0.action)
    }

    #[getter]
    fn outcome(&self) -> &'static str {
        self.0.outcome.as_str()
    }

    #[getter]
    fn verdict(&self) -> Option<&'static str> {
        self.0.verdict.map(|verdict| verdict.as_str())
    }

    #[getter]
    fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    #[getter]
    fn origin(&self) -> Origin {
        Origin(self.0.origin.clone())
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.0)
    }

    fn __repr__(&self) -> String {
        self.shown()
    }
}

part! {
    /// Something that the host does for a call beside carrying it out.
    Obligation(task::Obligation), id, policy
}

#[pymethods]
impl Obligation {
    #[getter]
    fn id(&self) -> &str {
        &self.0.id
    }

    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::json(py, &self.0.values)
    }

    #[getter]
    fn policy(&self) -> Option<String> {
        self.0.policy.as_ref().map(ToString::to_string)
    }

    fn __repr__(&self) -> String {
        self.shown()
    }
}

part! {
    /// A credential that the host gets for a call.
    Credential(task::Credential), audience, policy
}

#[pymethods]
impl Credential {
    #[getter]
    fn audience(&self) -> &str {
        &self.0.audience
    }

    #[getter]
    fn scopes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.scopes)
    }

    #[getter]
    fn policy(&self) -> Option<String> {
        self.0.policy.as_ref().map(ToString::to_string)
    }

    fn __repr__(&self) -> String {
        self.shown()
    }
}

part! {
    /// A limit that was reached.
    Limit(LimitReached), which, bound, value
}

#[pymethods]
impl Limit {
    #[getter]
    fn which(&self) -> &str {
        &self.0.which
    }

    #[getter]
    fn bound(&self) -> String {
        self.0.bound.to_string()
    }

    #[getter]
    fn value(&self) -> String {
        self.0.value.to_string()
    }

    #[getter]
    fn policy(&self) -> Option<&str> {
        self.0.policy.as_deref()
    }

    fn __repr__(&self) -> String {
        self.shown()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }
}

part! {
    /// Something that failed or was ignored while a decision was made.
    Finding(task::Finding), code, message
}

#[pymethods]
impl Finding {
    #[getter]
    fn code(&self) -> &str {
        &self.0.code
    }

    #[getter]
    fn message(&self) -> &str {
        &self.0.message
    }

    #[getter]
    fn origin(&self) -> Option<Origin> {
        self.0.origin.clone().map(Origin)
    }

    fn __repr__(&self) -> String {
        self.shown()
    }
}

part! {
    /// What is wrong with a text that a person wrote.
    Diagnostic(Flaw), code, file, line
}

impl From<Flaw> for Diagnostic {
    fn from(flaw: Flaw) -> Self {
        Self(flaw)
    }
}

#[pymethods]
impl Diagnostic {
    #[getter]
    fn severity(&self) -> &'static str {
        if self.0.is_error { "error" } else { "warning" }
    }

    #[getter]
    fn code(&self) -> &str {
        &self.0.code
    }

    #[getter]
    fn message(&self) -> &str {
        &self.0.message
    }

    #[getter]
    fn file(&self) -> &str {
        &self.0.file
    }

    #[getter]
    fn line(&self) -> usize {
        self.0.line
    }

    #[getter]
    fn column(&self) -> usize {
        self.0.column
    }

    #[getter]
    fn rule(&self) -> Option<&str> {
        self.0.rule.as_deref()
    }

    #[getter]
    fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    #[getter]
    fn end_line(&self) -> usize {
        self.0.end_line
    }

    #[getter]
    fn end_column(&self) -> usize {
        self.0.end_column
    }

    #[getter]
    fn label(&self) -> &str {
        &self.0.label
    }

    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    #[getter]
    fn docs(&self) -> Option<&str> {
        self.0.docs.as_deref()
    }

    #[getter]
    fn allowed(&self) -> Option<&str> {
        self.0.allowed.as_deref()
    }

    #[getter]
    fn refused(&self) -> bool {
        self.0.is_refused
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.0.to_json())
    }

    fn __repr__(&self) -> String {
        self.shown()
    }

    fn __str__(&self) -> &str {
        &self.0.shown
    }
}
