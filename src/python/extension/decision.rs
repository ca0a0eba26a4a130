//! Decisions as frozen values.
//!
//! In: what an operation came to. Out: attributes that are converted when somebody asks for them, so that a decision of which only the verdict
//! is looked at costs no more than that.

use crate::giving;
use crate::parts::{Credential, Finding, Limit, Obligation, ObservedStep, Origin, Step};
use crate::raising::long_door;
use crate::review::Review;
use celador::task::{DecidedKind, Request, VerdictKind};
use celador_embed::{Decided, ReviewFilter, Several, Task};
use pyo3::PyClass;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

/// The answer to one operation.
#[pyclass(frozen, module = "celador")]
pub(crate) struct Decision {
    pub(crate) decided: Decided,
    /// Whose reviews are asked for.
    task: Arc<Task>,
}

impl Decision {
    pub(crate) fn new(decided: Decided, task: &Arc<Task>) -> Self {
        Self { decided, task: task.clone() }
    }
}

/// Decisions, each as a value of Python.
fn decisions<'py>(py: Python<'py>, all: &[Decided], task: &Arc<Task>) -> PyResult<Bound<'py, PyTuple>> {
    let all = all.iter().map(|decided| Py::new(py, Decision::new(decided.clone(), task)));
    PyTuple::new(py, all.collect::<PyResult<Vec<_>>>()?)
}

fn tuple<'py, T>(py: Python<'py>, all: impl Iterator<Item = T>) -> PyResult<Bound<'py, PyTuple>>
where
    T: PyClass + Into<PyClassInitializer<T>>,
{
    PyTuple::new(py, all.map(|one| Py::new(py, one)).collect::<PyResult<Vec<_>>>()?)
}

#[pymethods]
impl Decision {
    #[getter]
    fn verdict(&self) -> &'static str {
        self.decided.decision.verdict.kind().as_str()
    }

    #[getter]
    fn allowed(&self) -> bool {
        self.decided.is_allowed()
    }

    #[getter]
    fn pending(&self) -> bool {
        self.decided.is_pending()
    }

    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.decided
            .arguments()
            .map_or_else(|| Ok(PyDict::new(py).into_any()), |found| giving::json(py, found))
    }

    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::optional(py, self.decided.decision.verdict.value())
    }

    #[getter]
    fn text(&self) -> Option<String> {
        self.decided.decision.text()
    }

    #[getter]
    fn message(&self) -> Option<&str> {
        self.decided.decision.verdict.message()
    }

    #[getter]
    fn user_message(&self) -> Option<&str> {
        self.decided.decision.verdict.user_message()
    }

    #[getter]
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.decided.decision.notes)
    }

    #[getter]
    fn held_by<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.decided.decision.verdict.held_by().iter().map(|question| question.0))
    }

    #[getter]
    fn reason(&self) -> Option<&str> {
        self.decided.decision.verdict.reason()
    }

    #[getter]
    fn call(&self) -> Option<&str> {
        self.decided.call().map(|call| call.as_str())
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.decided.kind.as_str()
    }

    #[getter]
    fn function(&self) -> Option<&str> {
        self.decided.function.as_deref()
    }

    #[getter]
    fn waits_for<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.decided.decision.verdict.waits_for().iter().map(|call| call.as_str()))
    }

    #[getter]
    fn because(&self) -> Vec<(String, Origin)> {
        let reasons = self.decided.decision.verdict.because().iter();
        reasons.map(|reason| (reason.call.to_string(), Origin(reason.reads.clone()))).collect()
    }

    #[getter]
    fn question(&self) -> Option<u32> {
        self.decided.decision.verdict.question().map(|question| question.0)
    }

    #[getter]
    fn asks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.decided.asks)
    }

    #[getter]
    fn reviewer(&self) -> Option<&str> {
        self.decided.decision.verdict.reviewer()
    }

    #[getter]
    fn review(&self, py: Python<'_>) -> PyResult<Option<Review>> {
        let Some(question) = self.decided.decision.verdict.question() else { return Ok(None) };
        let is_review = matches!(self.decided.asks, Some(Request::Review { .. }) | None);
        if self.decided.decision.verdict.kind() != VerdictKind::Suspend || !is_review {
            return Ok(None);
        }
        let reviews = long_door(py, || self.task.reviews(&ReviewFilter::default()))?;
        let review = reviews.into_iter().find(|review| review.question == question);
        Ok(review.map(|review| Review::new(review, Task::clone(&self.task))))
    }

    #[getter]
    fn limit(&self) -> Option<Limit> {
        self.decided.decision.verdict.limit().cloned().map(Limit)
    }

    #[getter]
    fn switch<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.decided.decision.verdict.switch())
    }

    #[getter]
    fn decided<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let all = self.decided.decision.decided.iter().cloned().map(Decided::of_call);
        decisions(py, &all.collect::<Vec<_>>(), &self.task)
    }

    #[getter]
    fn decided_by(&self) -> Option<Origin> {
        self.decided.decision.decided_by.clone().map(Origin)
    }

    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        tuple(py, self.decided.decision.trace.iter().cloned().map(Step))
    }

    #[getter]
    fn observed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        tuple(py, self.decided.decision.observed.iter().cloned().map(ObservedStep))
    }

    #[getter]
    fn enforced<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.decided.decision.enforced)
    }

    #[getter]
    #[expect(clippy::cast_precision_loss, reason = "a delay of 2^53 milliseconds is 285,000 years")]
    fn delay(&self) -> Option<f64> {
        let millis = self.decided.decision.verdict.terms()?.delay_ms?;
        Some(millis as f64 / 1000.0)
    }

    #[getter]
    fn obligations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let terms = self.decided.decision.verdict.terms().into_iter();
        tuple(py, terms.flat_map(|terms| terms.obligations.iter().cloned().map(Obligation)))
    }

    #[getter]
    fn credentials<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let terms = self.decided.decision.verdict.terms().into_iter();
        tuple(py, terms.flat_map(|terms| terms.credentials.iter().cloned().map(Credential)))
    }

    #[getter]
    fn exposes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::optional(py, self.decided.decision.verdict.exposes())
    }

    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        tuple(py, self.decided.decision.findings.iter().cloned().map(Finding))
    }

    #[getter]
    fn cost(&self) -> u64 {
        self.decided.decision.cost
    }

    #[getter]
    fn secret<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.decided.decision.secret)
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.decided)
    }

    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.decided).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn __bool__(&self) -> bool {
        self.decided.is_allowed()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().decided == self.decided)
    }

    fn __repr__(&self) -> String {
        let mut shown = format!("<Decision {}", self.verdict());
        if self.decided.kind != DecidedKind::Call {
            shown += &format!(" of {}", self.kind());
        }
        if let Some(function) = self.function() {
            shown += &format!(" {function}");
        }
        if let Some(call) = self.call() {
            shown += &format!(" call={call:?}");
        }
        if let Some(rule) = &self.decided.decision.decided_by {
            shown += &format!(" by {}:{}", rule.file, rule.line);
        }
        shown + ">"
    }
}

/// What a turn of the model came to.
#[pyclass(frozen, module = "celador")]
pub(crate) struct Turn {
    came: Several,
    task: Arc<Task>,
}

impl Turn {
    pub(crate) fn new(came: Several, task: &Arc<Task>) -> Self {
        Self { came, task: task.clone() }
    }
}

#[pymethods]
impl Turn {
    #[getter]
    fn limits(&self) -> Option<Decision> {
        self.came.limits.as_ref().map(|limits| Decision::new(limits.clone(), &self.task))
    }

    #[getter]
    fn calls<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        decisions(py, &self.came.calls, &self.task)
    }

    #[getter]
    fn decided<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        decisions(py, &self.came.decided, &self.task)
    }

    fn __bool__(&self) -> bool {
        self.came.limits.as_ref().is_some_and(Decided::is_allowed)
    }

    fn __repr__(&self) -> String {
        let verdicts: Vec<&str> =
            self.came.calls.iter().map(|call| call.decision.verdict.kind().as_str()).collect();
        format!("<Turn [{}]>", verdicts.join(", "))
    }
}

/// What the results of several calls came to.
#[pyclass(frozen, module = "celador")]
pub(crate) struct Results {
    came: Several,
    task: Arc<Task>,
}

impl Results {
    pub(crate) fn new(came: Several, task: &Arc<Task>) -> Self {
        Self { came, task: task.clone() }
    }
}

#[pymethods]
impl Results {
    #[getter]
    fn calls<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        decisions(py, &self.came.calls, &self.task)
    }

    #[getter]
    fn decided<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        decisions(py, &self.came.decided, &self.task)
    }

    fn __repr__(&self) -> String {
        let verdicts: Vec<&str> =
            self.came.calls.iter().map(|call| call.decision.verdict.kind().as_str()).collect();
        format!("<Results [{}]>", verdicts.join(", "))
    }
}
