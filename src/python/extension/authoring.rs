//! What authors ask of manifests, policies, cases and recordings: how much is decided, what differs, what holds, why, and what would be decided otherwise.

use crate::host::host;
use crate::raising::long_door;
use crate::{giving, taking, wishes};
use celador::cel::Json;
use celador::manifest::given::Files;
use celador_embed as embed;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::path::PathBuf;

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(analysis, module)?)?;
    module.add_function(wrap_pyfunction!(diff, module)?)?;
    module.add_function(wrap_pyfunction!(prove, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(fmt, module)?)?;
    module.add_function(wrap_pyfunction!(replay, module)?)?;
    module.add_function(wrap_pyfunction!(replay_lines, module)?)?;
    module.add_function(wrap_pyfunction!(add_replays, module)?)
}

/// What a function of `celador-embed` answers, while other threads of Python run.
fn answered<'py>(
    py: Python<'py>,
    ask: impl FnOnce() -> Result<serde_json::Value, embed::Error> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let answer = long_door(py, || ask().map(Json::from))?;
    giving::json(py, &answer)
}

#[pyfunction]
#[pyo3(signature = (*manifests))]
fn analysis<'py>(py: Python<'py>, manifests: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    let sources = wishes::sources(manifests.iter())?;
    answered(py, || embed::analysis(&sources))
}

#[pyfunction]
fn diff<'py>(
    py: Python<'py>,
    old: &Bound<'py, PyAny>,
    new: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (old, new) = (wishes::one_or_more(old)?, wishes::one_or_more(new)?);
    answered(py, || embed::diff(&old, &new))
}

#[pyfunction]
#[pyo3(signature = (policies, invariants, *, depth=None, operations=None, seconds=None))]
fn prove<'py>(
    py: Python<'py>,
    policies: &Bound<'py, PyAny>,
    invariants: &Bound<'py, PyAny>,
    depth: Option<usize>,
    operations: Option<usize>,
    seconds: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let policies = wishes::one_or_more(policies)?;
    let invariants = wishes::one_or_more(invariants)?;
    let [invariants] = &*invariants else {
        return Err(PyValueError::new_err("expected one file of invariants, or one text under its name"));
    };
    let defaults = embed::ProveWishes::default();
    let wishes = embed::ProveWishes {
        depth: depth.unwrap_or(defaults.depth),
        operations: operations.unwrap_or(defaults.operations),
        seconds: seconds.unwrap_or(defaults.seconds),
    };
    answered(py, || embed::prove(&policies, invariants, &wishes, &embed::system_clock()))
}

#[pyfunction]
#[pyo3(signature = (subject, *, manifests=None, case=None, step=None))]
fn explain<'py>(
    py: Python<'py>,
    subject: PathBuf,
    manifests: Option<&Bound<'py, PyAny>>,
    case: Option<String>,
    step: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let manifests = manifests.map(wishes::one_or_more).transpose()?.unwrap_or_default();
    let step = step.map(|step| Ok::<_, PyErr>(step.str()?.to_str()?.to_owned())).transpose()?;
    let wishes = embed::ExplainWishes { manifests, case, step };
    answered(py, || embed::explain(&Files::System, &subject, &wishes))
}

#[pyfunction]
fn fmt(py: Python<'_>, text: &str) -> PyResult<String> {
    long_door(py, || Ok(embed::fmt(text)))
}

#[pyfunction]
#[pyo3(signature = (*recorded, policies, against=None, hash_key=None, functions=None))]
fn replay<'py>(
    py: Python<'py>,
    recorded: Vec<PathBuf>,
    policies: &Bound<'py, PyAny>,
    against: Option<&Bound<'py, PyAny>>,
    hash_key: Option<&Bound<'py, PyAny>>,
    functions: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (policies, against) = (wishes::one_or_more(policies)?, against.map(wishes::one_or_more).transpose()?);
    let host = host(hash_key, functions)?;
    answered(py, || {
        let mut replaying = embed::Replaying::open(&policies, &against.unwrap_or_default(), &host)?;
        for path in &recorded {
            replaying.file(path)?;
        }
        Ok(replaying.tally())
    })
}

#[pyfunction]
#[pyo3(signature = (lines, *, policies, against=None, hash_key=None, functions=None))]
fn replay_lines<'py>(
    py: Python<'py>,
    lines: &Bound<'py, PyAny>,
    policies: &Bound<'py, PyAny>,
    against: Option<&Bound<'py, PyAny>>,
    hash_key: Option<&Bound<'py, PyAny>>,
    functions: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (policies, against) = (wishes::one_or_more(policies)?, against.map(wishes::one_or_more).transpose()?);
    let (host, against) = (host(hash_key, functions)?, against.unwrap_or_default());
    let mut replaying = long_door(py, || embed::Replaying::open(&policies, &against, &host))?;
    let mut lines = lines.try_iter()?;
    loop {
        // some at a time, as an iterator may have more than memory, and other threads want to run meanwhile
        let chunk: Vec<Bound<'_, PyAny>> = lines.by_ref().take(LINES).collect::<PyResult<_>>()?;
        if chunk.is_empty() {
            break;
        }
        let texts = chunk.iter().map(line_of).collect::<PyResult<Vec<Vec<u8>>>>()?;
        replaying = long_door(py, move || {
            for text in &texts {
                replaying.line(text)?;
            }
            Ok(replaying)
        })?;
    }
    giving::json(py, &Json::from(replaying.tally()))
}

/// How many lines are taken out of an iterator at once.
const LINES: usize = 1_000;

/// A line as Python has it: text or bytes.
fn line_of(line: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match line.cast::<PyString>() {
        Ok(text) => Ok(text.to_str()?.as_bytes().to_vec()),
        Err(_) => Ok(line.extract::<Vec<u8>>()?),
    }
}

#[pyfunction]
fn add_replays<'py>(py: Python<'py>, tallies: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let texts = tallies.try_iter()?.map(|tally| Ok(taking::json(&tally?)?.to_string()));
    let texts = texts.collect::<PyResult<Vec<String>>>()?;
    answered(py, || embed::add_tallies(texts.iter().map(String::as_str)))
}
