//! Reviews as frozen values, with the answers to them.

use crate::raising::{door, long_door};
use crate::{giving, taking, wishes};
use celador::cel::Json;
use celador::task::ReviewWord;
use celador_embed::{Person, Review as Asked, ReviewReply, Task};
use pyo3::prelude::*;

/// What a policy asks a person.
#[pyclass(frozen, module = "celador")]
pub(crate) struct Review {
    review: Asked,
    task: Task,
}

impl Review {
    pub(crate) fn new(review: Asked, task: Task) -> Self {
        Self { review, task }
    }

    fn answer(&self, py: Python<'_>, reply: ReviewReply, by: Option<Person>) -> PyResult<Self> {
        let (review, _) = if self.task.is_at_once() {
            door(py, || self.task.answer(&self.review, reply, by))
        } else {
            long_door(py, || self.task.answer(&self.review, reply, by))
        }?;
        Ok(Self { review, task: self.task.clone() })
    }
}

fn reply(word: ReviewWord, note: Option<String>) -> ReviewReply {
    ReviewReply { note, ..ReviewReply::new(word) }
}

#[pymethods]
impl Review {
    #[getter]
    fn id(&self) -> &str {
        &self.review.id
    }

    #[getter]
    fn task(&self) -> &str {
        &self.review.task
    }

    #[getter]
    fn question(&self) -> u32 {
        self.review.question.0
    }

    #[getter]
    fn state(&self) -> &'static str {
        self.review.state.as_str()
    }

    #[getter]
    fn reviewer(&self) -> &str {
        &self.review.reviewer
    }

    #[getter]
    fn call(&self) -> Option<&str> {
        self.review.call.as_ref().map(|call| call.as_str())
    }

    #[getter]
    fn function(&self) -> Option<&str> {
        self.review.function.as_deref()
    }

    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::optional(py, self.review.arguments.as_ref())
    }

    #[getter]
    fn text(&self) -> Option<&str> {
        self.review.text.as_deref()
    }

    #[getter]
    fn rule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.review.rule)
    }

    #[getter]
    fn asked_at(&self) -> &str {
        &self.review.asked_at
    }

    #[getter]
    fn expires_at(&self) -> Option<&str> {
        self.review.expires_at.as_deref()
    }

    #[getter]
    fn digest(&self) -> &str {
        &self.review.digest
    }

    #[getter]
    fn answered<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.review.answered)
    }

    #[pyo3(signature = (*, note=None, by=None))]
    fn approve(&self, py: Python<'_>, note: Option<String>, by: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        self.answer(py, reply(ReviewWord::Approve, note), wishes::person(by)?)
    }

    #[pyo3(signature = (*, note=None, by=None))]
    fn deny(&self, py: Python<'_>, note: Option<String>, by: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        self.answer(py, reply(ReviewWord::Deny, note), wishes::person(by)?)
    }

    #[pyo3(signature = (arguments, *, note=None, by=None))]
    fn edit(
        &self,
        py: Python<'_>,
        arguments: &Bound<'_, PyAny>,
        note: Option<String>,
        by: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let arguments = Some(taking::object(Some(arguments))?);
        self.answer(py, ReviewReply { arguments, ..reply(ReviewWord::Edit, note) }, wishes::person(by)?)
    }

    #[pyo3(signature = (result, *, note=None, by=None))]
    fn respond(
        &self,
        py: Python<'_>,
        result: &Bound<'_, PyAny>,
        note: Option<String>,
        by: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let result: Option<Json> = Some(taking::json(result)?);
        self.answer(py, ReviewReply { result, ..reply(ReviewWord::Respond, note) }, wishes::person(by)?)
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.review)
    }

    fn __repr__(&self) -> String {
        let function = self.review.function.as_deref().unwrap_or("a message");
        format!("<Review {} of {function} by {}>", self.review.state, self.review.reviewer)
    }
}
