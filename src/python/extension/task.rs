//! The class `Task`: each method is one operation, from Python's values to a decision.

use crate::decision::{Decision, Results, Turn};
use crate::parts::Diagnostic;
use crate::raising::{door, long_door, raised};
use crate::review::Review;
use crate::{giving, taking, wishes};
use celador::cel::Json;
use celador::task::{Answer, CallId, ModelCall, Next, Operation, QuestionId, Ran, ReportedCall, Usage};
use celador_embed::{Error, ReviewFilter, Several, Stepped, Task as Kept, ToExplain, Tryout};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

/// One running task.
#[pyclass(frozen, module = "celador")]
pub(crate) struct Task(pub(crate) Arc<Kept>);

static GUARD: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// The part of the package that runs tools itself, and is written in Python.
fn guard_module(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    Ok(GUARD.get_or_try_init(py, || py.import("celador._guard").map(Bound::unbind))?.bind(py))
}

impl From<Kept> for Task {
    fn from(task: Kept) -> Self {
        Self(Arc::new(task))
    }
}

impl Task {
    fn step(&self, py: Python<'_>, step: Operation, wait: Option<Duration>) -> PyResult<Stepped> {
        // microseconds are over before another thread would have begun
        if wait.is_none() && self.0.is_at_once() {
            door(py, || self.0.step(step, None))
        } else {
            long_door(py, || self.0.step(step, wait))
        }
    }

    fn one(&self, py: Python<'_>, step: Operation, wait: Option<Duration>) -> PyResult<Decision> {
        match self.step(py, step, wait)? {
            Stepped::One(decided) => Ok(Decision::new(decided, &self.0)),
            Stepped::Several(_) => Err(raised(py, Error::internal("one operation has come to several"))),
        }
    }

    fn several(&self, py: Python<'_>, step: Operation, wait: Option<Duration>) -> PyResult<Several> {
        match self.step(py, step, wait)? {
            Stepped::Several(several) => Ok(several),
            Stepped::One(_) => Err(raised(py, Error::internal("several operations have come to one"))),
        }
    }
}

#[pymethods]
impl Task {
    #[getter]
    fn id(&self) -> &str {
        self.0.id()
    }

    #[getter]
    fn agent(&self) -> &str {
        self.0.agent()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| *self.0 == *other.get().0)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    #[getter]
    fn place(&self) -> &'static str {
        self.0.place()
    }

    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<String> {
        long_door(py, || self.0.state())
    }

    #[getter]
    fn left_out<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, self.0.left_out())
    }

    #[pyo3(signature = (message, /, **data))]
    fn input(
        &self,
        py: Python<'_>,
        message: &Bound<'_, PyAny>,
        data: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Decision> {
        let message = match data {
            None => taking::json(message)?,
            Some(data) => {
                let whole = PyDict::new(py);
                whole.update(data.as_mapping())?;
                whole.set_item("message", message)?;
                taking::json(&whole)?
            }
        };
        self.one(py, Operation::Input(as_message(message)), None)
    }

    #[pyo3(signature = (next="model_turn"))]
    fn limits(&self, py: Python<'_>, next: &str) -> PyResult<Decision> {
        let next = match next {
            "model_turn" => Next::ModelTurn,
            "capability" => Next::Capability,
            "other" => Next::Other,
            _ => return Err(PyValueError::new_err("expected `model_turn`, `capability` or `other`")),
        };
        self.one(py, Operation::Limits { next }, None)
    }

    #[pyo3(signature = (calls=None, *, prompt_tokens=0, completion_tokens=0, cost=None, wait=None))]
    fn turn(
        &self,
        py: Python<'_>,
        calls: Option<&Bound<'_, PyAny>>,
        prompt_tokens: u64,
        completion_tokens: u64,
        cost: Option<&Bound<'_, PyAny>>,
        wait: Option<f64>,
    ) -> PyResult<Turn> {
        let calls = match calls {
            None => Vec::new(),
            Some(calls) => calls.try_iter()?.map(|call| wishes::call(&call?)).collect::<PyResult<_>>()?,
        };
        let usage = Usage { prompt_tokens, completion_tokens, cost: wishes::cost(cost)? };
        let step = Operation::Turn(celador::Turn { usage, calls });
        Ok(Turn::new(self.several(py, step, wishes::wait(wait)?)?, &self.0))
    }

    #[pyo3(signature = (function, arguments=None, *, id=None, wait=None))]
    fn before(
        &self,
        py: Python<'_>,
        function: String,
        arguments: Option<&Bound<'_, PyAny>>,
        id: Option<String>,
        wait: Option<f64>,
    ) -> PyResult<Decision> {
        let call = wishes::one_call(function, arguments, id)?;
        self.one(py, Operation::Before(call), wishes::wait(wait)?)
    }

    #[pyo3(signature = (call, output=None, *, status="successful"))]
    fn after(
        &self,
        py: Python<'_>,
        call: String,
        output: Option<&Bound<'_, PyAny>>,
        status: &str,
    ) -> PyResult<Decision> {
        let none = py.None().into_bound(py);
        let result = wishes::result(output.unwrap_or(&none), status)?;
        self.one(py, Operation::After(ReportedCall { call: call.into(), result }), None)
    }

    #[pyo3(signature = (results, *, wait=None))]
    fn results(&self, py: Python<'_>, results: &Bound<'_, PyAny>, wait: Option<f64>) -> PyResult<Results> {
        let reported = |result: PyResult<Bound<'_, PyAny>>| {
            let (call, result) = wishes::report(&result?)?;
            Ok(ReportedCall { call, result })
        };
        let results = results.try_iter()?.map(reported).collect::<PyResult<_>>()?;
        Ok(Results::new(self.several(py, Operation::Results { results }, wishes::wait(wait)?)?, &self.0))
    }

    fn claim(&self, py: Python<'_>, call: String, claimant: String) -> PyResult<Decision> {
        self.one(py, Operation::Claim { call: call.into(), claimant }, None)
    }

    fn release(&self, py: Python<'_>, call: String, claimant: String) -> PyResult<Decision> {
        self.one(py, Operation::Release { call: call.into(), claimant }, None)
    }

    #[pyo3(signature = (call, *, ran=None))]
    fn withdraw(&self, py: Python<'_>, call: String, ran: Option<&Bound<'_, PyAny>>) -> PyResult<Decision> {
        let ran = match ran {
            None => Ran::Never,
            Some(ran) if ran.extract::<bool>().is_ok_and(|ran| !ran) => Ran::Never,
            Some(ran) if ran.extract::<String>().is_ok_and(|ran| ran == "unknown") => Ran::Unknown,
            Some(_) => return Err(PyValueError::new_err("expected `ran` to be False or \"unknown\"")),
        };
        self.one(py, Operation::Withdraw { call: call.into(), ran }, None)
    }

    #[pyo3(signature = (call, *, wait=None))]
    fn standing(&self, py: Python<'_>, call: String, wait: Option<f64>) -> PyResult<Decision> {
        let (call, wait) = (CallId::from(call), wishes::wait(wait)?);
        let decided = long_door(py, || self.0.standing(&call, wait))?;
        Ok(Decision::new(decided, &self.0))
    }

    #[pyo3(signature = (answer, *, question=None, wait=None))]
    fn resume(
        &self,
        py: Python<'_>,
        answer: &Bound<'_, PyAny>,
        question: Option<u32>,
        wait: Option<f64>,
    ) -> PyResult<Decision> {
        let answer: Answer = match answer.extract::<bool>() {
            Ok(approved) => Answer::Review(approved.into()),
            Err(_) if is_review(answer)? => Answer::Review(taking::read(answer)?),
            Err(_) => taking::read(answer)?,
        };
        let question = question.map(QuestionId);
        self.one(py, Operation::Resume { question, answer }, wishes::wait(wait)?)
    }

    #[pyo3(signature = (message, /, *, wait=None))]
    fn output(&self, py: Python<'_>, message: &Bound<'_, PyAny>, wait: Option<f64>) -> PyResult<Decision> {
        let message = as_message(taking::json(message)?);
        self.one(py, Operation::Output(message), wishes::wait(wait)?)
    }

    #[pyo3(signature = (request, *, id=None, estimate=None))]
    fn model_before(
        &self,
        py: Python<'_>,
        request: &Bound<'_, PyAny>,
        id: Option<String>,
        estimate: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decision> {
        let estimate = estimate.map(taking::read).transpose()?;
        let call = ModelCall { estimate, ..ModelCall::new(taking::object(Some(request))?) };
        let call = match id {
            Some(id) => call.with_id(id),
            None => call,
        };
        self.one(py, Operation::ModelBefore(call), None)
    }

    fn model_after(&self, py: Python<'_>, call: String, answer: &Bound<'_, PyAny>) -> PyResult<Decision> {
        let answer = taking::object(Some(answer))?;
        self.one(py, Operation::ModelAfter { call: call.into(), answer }, None)
    }

    #[pyo3(signature = (function, arguments=None, *, id=None, wait=None))]
    fn invoke(
        &self,
        py: Python<'_>,
        function: String,
        arguments: Option<&Bound<'_, PyAny>>,
        id: Option<String>,
        wait: Option<f64>,
    ) -> PyResult<Decision> {
        let call = wishes::one_call(function, arguments, id)?;
        self.one(py, Operation::Invoke(call), wishes::wait(wait)?)
    }

    fn execute(&self, py: Python<'_>, call: String) -> PyResult<Decision> {
        self.one(py, Operation::Execute { call: call.into() }, None)
    }

    fn script(&self, py: Python<'_>, source: String) -> PyResult<Decision> {
        self.one(py, Operation::Script { source }, None)
    }

    fn interrupt(&self, py: Python<'_>) -> PyResult<Decision> {
        self.one(py, Operation::Interrupt {}, None)
    }

    fn end(&self, py: Python<'_>, reason: String) -> PyResult<Decision> {
        self.one(py, Operation::End { reason }, None)
    }

    #[pyo3(signature = (reason=None))]
    fn purge(&self, py: Python<'_>, reason: Option<String>) -> PyResult<()> {
        long_door(py, || self.0.purge(reason.as_deref()))
    }

    #[pyo3(signature = (function, arguments=None, *, id=None))]
    fn call<'py>(
        slf: &Bound<'py, Self>,
        function: String,
        arguments: Option<Bound<'py, PyAny>>,
        id: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guard_module(slf.py())?.getattr("Call")?.call1((slf, function, arguments, id))
    }

    #[pyo3(signature = (function=None, /, *, name=None))]
    fn guard<'py>(
        slf: &Bound<'py, Self>,
        function: Option<Bound<'py, PyAny>>,
        name: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guard_module(slf.py())?.getattr("guard_of")?.call1((slf, function, name))
    }

    #[pyo3(signature = (*, state="open"))]
    fn reviews(&self, py: Python<'_>, state: &str) -> PyResult<Vec<Review>> {
        let state = door(py, || wishes::review_state(state))?;
        let filter = ReviewFilter { state, ..ReviewFilter::default() };
        let reviews = long_door(py, || self.0.reviews(&filter))?;
        Ok(reviews.into_iter().map(|review| Review::new(review, Kept::clone(&self.0))).collect())
    }

    fn offers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let offers = long_door(py, || self.0.offers())?;
        giving::written(py, &offers)
    }

    #[pyo3(signature = (*paths))]
    fn context<'py>(&self, py: Python<'py>, paths: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        let context = long_door(py, || self.0.context(&paths))?;
        giving::json(py, &context)
    }

    #[pyo3(signature = (expression, *, scope="before", input=None, output=None))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        expression: String,
        scope: &str,
        input: Option<&Bound<'_, PyAny>>,
        output: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let tryout = Tryout {
            scope: scope.to_owned(),
            expression,
            input: input.map(taking::json).transpose()?,
            output: output.map(taking::json).transpose()?,
        };
        let value = long_door(py, || self.0.evaluate(&tryout))?;
        giving::json(py, &value)
    }

    #[pyo3(signature = (expression, *, scope="before"))]
    fn check(&self, py: Python<'_>, expression: &str, scope: &str) -> PyResult<Vec<Diagnostic>> {
        let flaws = long_door(py, || self.0.check(scope, expression))?;
        Ok(flaws.into_iter().map(Diagnostic::from).collect())
    }

    #[pyo3(signature = (function=None, arguments=None, *, version=None))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        function: Option<String>,
        arguments: Option<&Bound<'_, PyAny>>,
        version: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let what = match (function, arguments, version) {
            (Some(function), arguments, None) => {
                ToExplain::Call(wishes::one_call(function, arguments, None)?)
            }
            (None, None, Some(version)) => ToExplain::Event(version),
            _ => {
                let expected = "expected a function with its arguments, or the `version` of an event";
                return Err(PyTypeError::new_err(expected));
            }
        };
        let explained = long_door(py, || self.0.explain(&what).map(Json::from))?;
        giving::json(py, &explained)
    }

    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let events = long_door(py, || self.0.events())?;
        giving::written(py, &events)
    }

    fn save(&self, py: Python<'_>) -> PyResult<String> {
        long_door(py, || self.0.save())
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        guard_module(slf.py())?.getattr("_enter")?.call1((slf,))?;
        Ok(slf.clone())
    }

    #[pyo3(signature = (*_ending))]
    fn __exit__(slf: &Bound<'_, Self>, _ending: &Bound<'_, PyAny>) -> PyResult<()> {
        guard_module(slf.py())?.getattr("_exit")?.call1((slf,)).map(drop)
    }

    fn __aenter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        guard_module(slf.py())?.getattr("_enter_soon")?.call1((slf,))
    }

    #[pyo3(signature = (*_ending))]
    fn __aexit__<'py>(slf: &Bound<'py, Self>, _ending: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        guard_module(slf.py())?.getattr("_exit_soon")?.call1((slf,))
    }

    fn __repr__(&self) -> String {
        format!("<Task {:?} of {} in {}>", self.0.id(), self.0.agent(), self.0.place())
    }
}

/// A message that a caller has written as a list of parts alone.
fn as_message(given: Json) -> Json {
    if given.root().is_array() { Json::object([("message", given)]) } else { given }
}

/// Whether an answer is that to a review, as `{"answer": "edit", …}`.
fn is_review(answer: &Bound<'_, PyAny>) -> PyResult<bool> {
    match answer.cast::<PyDict>() {
        Ok(members) => members.contains(PyString::new(answer.py(), "answer")),
        Err(_) => Ok(false),
    }
}
