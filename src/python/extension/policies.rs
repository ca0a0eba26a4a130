//! The classes `Policies` and `Agent`.

use crate::parts::Diagnostic;
use crate::raising::{door, long_door};
use crate::review::Review;
use crate::task::Task;
use crate::wishes;
use celador::Parent;
use celador_embed::{Agent as Loaded, Policies as Set, ReviewFilter, TaskWish};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::BTreeMap;

/// Manifests and policies that were loaded, or the server that has them.
#[pyclass(frozen, module = "celador")]
pub(crate) struct Policies(pub(crate) Set);

#[pymethods]
impl Policies {
    #[pyo3(signature = (name=None, *, tools=None))]
    fn agent(&self, py: Python<'_>, name: Option<&str>, tools: Option<&Bound<'_, PyAny>>) -> PyResult<Agent> {
        let tools = wishes::tools(tools)?;
        door(py, || self.0.agent(name, tools)).map(Agent)
    }

    #[getter]
    fn agents<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.agents())
    }

    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let warnings = self.0.warnings().iter().cloned().map(|flaw| Py::new(py, Diagnostic::from(flaw)));
        PyTuple::new(py, warnings.collect::<PyResult<Vec<_>>>()?)
    }

    fn __repr__(&self) -> String {
        format!("<Policies of {}>", self.0.agents().join(", "))
    }
}

/// An agent under its policies.
#[pyclass(frozen, module = "celador")]
pub(crate) struct Agent(pub(crate) Loaded);

#[pymethods]
impl Agent {
    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }

    #[getter]
    fn place(&self) -> &'static str {
        self.0.place().word()
    }

    #[expect(clippy::too_many_arguments, reason = "each is a keyword of its own in Python")]
    #[pyo3(signature = (id=None, user=None, *, store=None, server=None, token=None, model=None, metadata=None, tools=None, parent=None))]
    fn task(
        &self,
        py: Python<'_>,
        id: Option<String>,
        user: Option<&Bound<'_, PyAny>>,
        store: Option<&Bound<'_, PyAny>>,
        server: Option<String>,
        token: Option<String>,
        model: Option<String>,
        metadata: Option<BTreeMap<String, String>>,
        tools: Option<&Bound<'_, PyAny>>,
        parent: Option<(String, String)>,
    ) -> PyResult<Task> {
        let parent = parent.map(|(task, call)| Parent { task, call: Some(call.into()), ..Parent::default() });
        let wish = TaskWish {
            id,
            user: wishes::user(user)?,
            model,
            metadata: metadata.unwrap_or_default(),
            tools: wishes::tools(tools)?,
            parent,
            place: wishes::place(store, server, token)?,
        };
        long_door(py, || self.0.task(wish)).map(Task::from)
    }

    #[pyo3(signature = (*, state="open", reviewer=None))]
    fn reviews(&self, py: Python<'_>, state: &str, reviewer: Option<String>) -> PyResult<Vec<Review>> {
        let state = door(py, || wishes::review_state(state))?;
        let filter = ReviewFilter { state, reviewer, task: None };
        long_door(py, || {
            let reviews = self.0.reviews(&filter)?;
            let with_task = |review| {
                let task = self.0.task_of(&review)?;
                Ok(Review::new(review, task))
            };
            reviews.into_iter().map(with_task).collect()
        })
    }

    fn __repr__(&self) -> String {
        format!("<Agent {} with tasks in {}>", self.0.name(), self.0.place().word())
    }
}
