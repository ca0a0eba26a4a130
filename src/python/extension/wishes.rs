//! The arguments of functions: sources, places, people, tools, calls and results.
//!
//! In: what a program writes. Out: what `celador-embed` takes, or a `TypeError` or `ValueError` that says what was expected.

use crate::taking;
use celador::task::{Call, CallId, CallResult, CallStatus, ReviewState, User};
use celador::{Amount, BroughtTool, HashKey};
use celador_embed::{Error, Person, Place, Source};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use std::path::PathBuf;
use std::time::Duration;

/// Paths, and texts by their names.
pub(crate) fn sources<'py>(given: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<Vec<Source>> {
    let mut sources = Vec::new();
    for source in given {
        if let Ok(texts) = source.cast::<PyMapping>() {
            for (name, text) in texts
                .items()?
                .iter()
                .map(|item| item.extract::<(String, String)>())
                .collect::<PyResult<Vec<_>>>()?
            {
                sources.push(Source::text(name, text));
            }
        } else if let Ok(path) = source.extract::<PathBuf>() {
            sources.push(Source::Path(path));
        } else {
            let kind = taking::kind(&source);
            return Err(PyTypeError::new_err(format!(
                "expected a path, or a mapping of names to texts, found `{kind}`"
            )));
        }
    }
    Ok(sources)
}

/// One source, or several in a list.
pub(crate) fn one_or_more(given: &Bound<'_, PyAny>) -> PyResult<Vec<Source>> {
    let is_one = given.is_instance_of::<PyString>()
        || given.is_instance_of::<PyDict>()
        || !(given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>());
    if is_one {
        return sources(std::iter::once(given.clone()));
    }
    sources(given.try_iter()?.collect::<PyResult<Vec<_>>>()?.into_iter())
}

/// Where tasks are kept; nothing if neither is named.
pub(crate) fn place(
    store: Option<&Bound<'_, PyAny>>,
    server: Option<String>,
    token: Option<String>,
) -> PyResult<Option<Place>> {
    match (store, server, token) {
        (Some(_), Some(_), _) => Err(PyValueError::new_err("expected `store` or `server`, and not both")),
        (_, None, Some(_)) => Err(PyValueError::new_err("a `token` is for a `server`")),
        (Some(store), None, None) => {
            let store: PathBuf = store.extract()?;
            let store = store.into_os_string().into_string();
            let text = store.map_err(|_| PyValueError::new_err("the path of a store is valid Unicode"))?;
            Ok(Some(if text == "memory" { Place::Memory } else { Place::Store(text) }))
        }
        (None, Some(address), token) => Ok(Some(Place::Server { address, token })),
        (None, None, None) => Ok(None),
    }
}

/// What policies hash with: bytes, or a text as UTF-8.
pub(crate) fn hash_key(given: &Bound<'_, PyAny>) -> PyResult<HashKey> {
    let key = match given.extract::<&[u8]>() {
        Ok(bytes) => HashKey::new(bytes),
        Err(_) => HashKey::new(given.extract::<String>()?.as_bytes()),
    };
    key.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Tools, as MCP lists them.
pub(crate) fn tools(given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<BroughtTool>> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(Vec::new()) };
    given.try_iter()?.map(|tool| taking::read(&tool?)).collect()
}

/// For whom a task runs: an id, or a mapping with `id`.
pub(crate) fn user(given: Option<&Bound<'_, PyAny>>) -> PyResult<User> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(User::default()) };
    match given.cast::<PyString>() {
        Ok(id) => Ok(User { id: id.to_str()?.to_owned(), ..User::default() }),
        Err(_) => taking::read(given),
    }
}

/// Who answers a review: an id or e-mail address, or a mapping with `id`, `email`, `groups`.
pub(crate) fn person(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Person>> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Told {
        id: String,
        #[serde(default)]
        email: Option<String>,
        #[serde(default)]
        groups: Vec<String>,
    }

    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(None) };
    if let Ok(name) = given.cast::<PyString>() {
        let id = name.to_str()?.to_owned();
        let email = Some(id.clone()).filter(|id| id.contains('@'));
        return Ok(Some(Person { id, email, groups: Vec::new() }));
    }
    let Told { id, email, groups } = taking::read(given)?;
    Ok(Some(Person { id, email, groups }))
}

/// A call: `(id, function, arguments)`, or a mapping with `function`, `arguments` and `id`.
pub(crate) fn call(given: &Bound<'_, PyAny>) -> PyResult<Call> {
    if let Ok(parts) = given.cast::<PyTuple>() {
        let (id, function, arguments) = parts.extract::<(Option<String>, String, Bound<'_, PyAny>)>()?;
        return one_call(function, Some(&arguments), id);
    }
    let members = mapping(given, "a call is a tuple (id, function, arguments) or a mapping")?;
    let function = members.get_item("function")?.extract()?;
    let arguments = member(members, "arguments")?;
    let id = member(members, "id")?.map(|id| id.extract::<Option<String>>()).transpose()?.flatten();
    one_call(function, arguments.as_ref(), id)
}

pub(crate) fn one_call(
    function: String,
    arguments: Option<&Bound<'_, PyAny>>,
    id: Option<String>,
) -> PyResult<Call> {
    let call = Call::new(function, taking::object(arguments)?);
    Ok(match id {
        Some(id) => call.with_id(id),
        None => call,
    })
}

/// A result: `(call, output)`, or a mapping with `call`, `output` and `status`.
pub(crate) fn report(given: &Bound<'_, PyAny>) -> PyResult<(CallId, CallResult)> {
    if let Ok(parts) = given.cast::<PyTuple>() {
        let (call, output) = parts.extract::<(String, Bound<'_, PyAny>)>()?;
        return Ok((call.into(), result(&output, "successful")?));
    }
    let members = mapping(given, "a result is a tuple (call, output) or a mapping")?;
    let call: String = members.get_item("call")?.extract()?;
    let output = member(members, "output")?.unwrap_or_else(|| given.py().None().into_bound(given.py()));
    let status = member(members, "status")?.map(|status| status.extract::<String>()).transpose()?;
    Ok((call.into(), result(&output, status.as_deref().unwrap_or("successful"))?))
}

pub(crate) fn result(output: &Bound<'_, PyAny>, status: &str) -> PyResult<CallResult> {
    let output = taking::json(output)?;
    let status = match status {
        "successful" => CallStatus::Successful,
        "errored" => CallStatus::Errored,
        "unrecoverable" => CallStatus::Unrecoverable,
        _ => {
            return Err(PyValueError::new_err(
                "expected `successful`, `errored` or `unrecoverable` as the status",
            ));
        }
    };
    Ok(CallResult { status, ..CallResult::successful(output) })
}

fn mapping<'a, 'py>(given: &'a Bound<'py, PyAny>, expected: &str) -> PyResult<&'a Bound<'py, PyMapping>> {
    given
        .cast::<PyMapping>()
        .map_err(|_| PyTypeError::new_err(format!("{expected}, found `{}`", taking::kind(given))))
}

fn member<'py>(members: &Bound<'py, PyMapping>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    if members.contains(name)? { members.get_item(name).map(Some) } else { Ok(None) }
}

/// What a turn cost: a number, or a decimal as text.
pub(crate) fn cost(given: Option<&Bound<'_, PyAny>>) -> PyResult<Amount> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(Amount::default()) };
    let refused = |error: celador::AmountError| PyValueError::new_err(format!("`cost`: {error}"));
    if let Ok(number) = given.cast::<PyInt>() {
        return Amount::from_int(number.extract()?).map_err(refused);
    }
    if let Ok(number) = given.cast::<PyFloat>() {
        return Amount::from_double(number.extract()?).map_err(refused);
    }
    given.str()?.to_str()?.parse().map_err(refused)
}

/// Seconds to wait.
pub(crate) fn wait(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let duration = seconds.map(Duration::try_from_secs_f64).transpose();
    duration.map_err(|_| PyValueError::new_err("`wait` is a number of seconds that is not negative"))
}

/// The state of reviews that are wanted; all for `all`.
pub(crate) fn review_state(word: &str) -> Result<Option<ReviewState>, Error> {
    if word == "all" {
        return Ok(None);
    }
    let state = serde_json::from_value(word.into());
    state.map(Some).map_err(|_| {
        let words = ReviewState::WORDS.join("`, `");
        Error::misuse("bad_request", format!("expected `all` or the state of a review, one of `{words}`"))
    })
}
