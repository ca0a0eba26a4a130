//! The functions of the module: what is loaded, checked, tested and evaluated, and the command.

use crate::host::host;
use crate::parts::Diagnostic;
use crate::policies::{Agent, Policies};
use crate::raising::long_door;
use crate::task::Task;
use crate::{giving, taking, wishes};
use celador::cel::Json;
use celador::manifest::given::Files;
use celador_cli::Launcher;
use celador_embed as embed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(load, module)?)?;
    module.add_function(wrap_pyfunction!(agent_for, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(test, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(restore, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)
}

#[expect(clippy::too_many_arguments, reason = "each is a keyword of its own in Python")]
#[pyfunction]
#[pyo3(signature = (*manifests, store=None, server=None, token=None, observe=false, hash_key=None, functions=None))]
fn load(
    py: Python<'_>,
    manifests: &Bound<'_, PyTuple>,
    store: Option<&Bound<'_, PyAny>>,
    server: Option<String>,
    token: Option<String>,
    observe: bool,
    hash_key: Option<&Bound<'_, PyAny>>,
    functions: Option<&Bound<'_, PyAny>>,
) -> PyResult<Policies> {
    let sources = wishes::sources(manifests.iter())?;
    let place = wishes::place(store, server, token)?.unwrap_or_default();
    let (host, clock) = (host(hash_key, functions)?, embed::system_clock());
    long_door(py, || embed::Policies::load_for(host, &sources, mode(observe), place, clock)).map(Policies)
}

#[expect(clippy::too_many_arguments, reason = "each is a keyword of its own in Python")]
#[pyfunction]
#[pyo3(signature = (tools, policies=None, *, name=None, store=None, server=None, token=None, observe=false, hash_key=None, functions=None))]
fn agent_for(
    py: Python<'_>,
    tools: &Bound<'_, PyAny>,
    policies: Option<&Bound<'_, PyAny>>,
    name: Option<&str>,
    store: Option<&Bound<'_, PyAny>>,
    server: Option<String>,
    token: Option<String>,
    observe: bool,
    hash_key: Option<&Bound<'_, PyAny>>,
    functions: Option<&Bound<'_, PyAny>>,
) -> PyResult<Agent> {
    let tools = wishes::tools(Some(tools))?;
    let sources = policies.map(wishes::one_or_more).transpose()?.unwrap_or_default();
    let place = wishes::place(store, server, token)?.unwrap_or_default();
    let (host, clock) = (host(hash_key, functions)?, embed::system_clock());
    let of = (name, tools);
    long_door(py, || embed::Policies::agent_of_host(host, of, &sources, mode(observe), place, clock))
        .map(Agent)
}

fn mode(observe: bool) -> embed::Mode {
    if observe { embed::Mode::Observe } else { embed::Mode::Enforce }
}

#[pyfunction]
#[pyo3(signature = (*manifests))]
fn check(py: Python<'_>, manifests: &Bound<'_, PyTuple>) -> PyResult<Vec<Diagnostic>> {
    let sources = wishes::sources(manifests.iter())?;
    let flaws = long_door(py, || embed::check(&sources))?;
    Ok(flaws.into_iter().map(Diagnostic::from).collect())
}

#[pyfunction]
#[pyo3(signature = (*paths, coverage=false, explain=false, mutate=false))]
fn test(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    coverage: bool,
    explain: bool,
    mutate: bool,
) -> PyResult<TestReport> {
    let wishes = embed::CaseWishes { coverage, explain, mutate };
    long_door(py, || embed::run_cases(&paths, wishes)).map(TestReport)
}

#[pyfunction]
#[pyo3(signature = (expression, case=None, /, **variables))]
fn evaluate<'py>(
    py: Python<'py>,
    expression: &str,
    case: Option<PathBuf>,
    variables: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let variables: Vec<(String, Json)> = match variables {
        None => Vec::new(),
        Some(variables) => {
            let read = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
                Ok((name.extract::<String>()?, taking::json(&value)?))
            };
            variables.iter().map(read).collect::<PyResult<_>>()?
        }
    };
    let value = match case {
        None => long_door(py, || embed::evaluate(expression, &variables))?,
        Some(_) if !variables.is_empty() => {
            return Err(PyTypeError::new_err("expected a case or variables, and not both"));
        }
        Some(case) => long_door(py, || embed::evaluate_on_case(expression, &Files::System, &case, None))?,
    };
    giving::json(py, &value)
}

#[pyfunction]
fn restore(py: Python<'_>, policies: &Bound<'_, Policies>, saved: &str) -> PyResult<Task> {
    let policies = &policies.get().0;
    long_door(py, || policies.restore(saved)).map(Task::from)
}

/// The command, with the arguments of the process unless others are given.
#[pyfunction]
#[pyo3(signature = (arguments=None))]
fn main(py: Python<'_>, arguments: Option<Vec<OsString>>) -> PyResult<i32> {
    let sys = py.import("sys")?;
    let arguments = match arguments {
        Some(arguments) => std::iter::once(OsString::from("celador")).chain(arguments).collect(),
        None => sys.getattr("argv")?.extract::<Vec<OsString>>()?,
    };
    // none where Python is part of another program
    let python = sys.getattr("executable")?.extract::<Option<PathBuf>>()?;
    let python = python.filter(|path| !path.as_os_str().is_empty());
    let launcher = python.map(|path| Launcher::new(path, ["-m", "celador"].map(Into::into).into()));
    long_door(py, || Ok(celador_cli::run_by(launcher, arguments).into()))
}

/// What a case came to.
#[pyclass(frozen, module = "celador", eq)]
#[derive(Clone, PartialEq)]
pub(crate) struct CaseResult(embed::CaseResult);

#[pymethods]
impl CaseResult {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn about(&self) -> &str {
        &self.0.about
    }

    #[getter]
    fn file(&self) -> &str {
        &self.0.file
    }

    #[getter]
    fn passed(&self) -> bool {
        self.0.failure.is_none()
    }

    #[getter]
    fn outcome(&self) -> &'static str {
        self.0.outcome
    }

    #[getter]
    fn failure(&self) -> Option<&str> {
        self.0.failure.as_deref()
    }

    #[getter]
    fn explained<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.0.explained)
    }

    fn __repr__(&self) -> String {
        format!("<CaseResult {} {}>", self.0.outcome, self.0.name)
    }
}

/// What cases came to.
#[pyclass(frozen, module = "celador")]
pub(crate) struct TestReport(embed::Tested);

#[pymethods]
impl TestReport {
    #[getter]
    fn results<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let results = self.0.results.iter().cloned().map(|result| Py::new(py, CaseResult(result)));
        PyTuple::new(py, results.collect::<PyResult<Vec<_>>>()?)
    }

    #[getter]
    fn passed(&self) -> usize {
        self.0.count("passed")
    }

    #[getter]
    fn failed(&self) -> usize {
        self.0.count("failed")
    }

    #[getter]
    fn broken(&self) -> usize {
        self.0.count("broken")
    }

    #[getter]
    fn warnings(&self) -> Vec<Diagnostic> {
        self.0.warnings.iter().cloned().map(Diagnostic::from).collect()
    }

    #[getter]
    fn coverage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.0.coverage)
    }

    #[getter]
    fn mutation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        giving::written(py, &self.0.mutation)
    }

    fn __bool__(&self) -> bool {
        !self.0.results.is_empty() && self.passed() == self.0.results.len()
    }

    fn __str__(&self) -> String {
        let failures: String = self.0.results.iter().filter_map(|result| result.failure.as_deref()).collect();
        format!("{failures}{}", self.0.summary())
    }

    fn __repr__(&self) -> String {
        format!("<TestReport {}>", self.0.summary())
    }
}
