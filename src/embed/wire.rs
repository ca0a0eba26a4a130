//! Steps as requests of the HTTP API, and its answers as what they came to.
//!
//! In: a step; later an answer or a problem. Out: the last part of an address and a body; later decisions, or the error that the problem is.
//! Nothing is sent here.

use crate::decided::{Decided, Several, Stepped};
use crate::{Error, ErrorKind, Flaw};
use celador::task::{CallId, DecidedCall, DecidedKind, Decision, Operation, Request};
use celador_server::ClientError;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::fmt::Write as _;
use std::time::Duration;

/// The address of a task.
pub(crate) fn path_of(task: &str) -> String {
    format!("/v1/tasks/{}", segment(task))
}

/// A text as a part of an address.
pub(crate) fn segment(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            written.push(char::from(byte));
        } else {
            let _ = write!(written, "%{byte:02X}");
        }
    }
    written
}

pub(crate) fn wait_query(wait: Duration) -> String {
    format!("?wait_ms={}", wait.as_millis())
}

/// An operation as a request: the last part of its address, its body, and whether it may wait.
pub(crate) fn told(operation: &Operation) -> Result<(String, Value, bool), Error> {
    let Value::Object(members) = value(operation)? else { return Err(unreadable()) };
    let Some((name, body)) = members.into_iter().next() else { return Err(unreadable()) };
    let may_wait = matches!(
        operation,
        Operation::Input(_)
            | Operation::Output(_)
            | Operation::Turn(_)
            | Operation::Before(_)
            | Operation::Invoke(_)
            | Operation::Event(_)
            | Operation::Results { .. }
            | Operation::Resume { .. }
    );
    Ok((name.replace('_', "-"), body, may_wait))
}

fn value(body: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(body).map_err(|_| unreadable())
}

/// What a step came to, out of its answer.
pub(crate) fn stepped(answer: &[u8], kind: DecidedKind, function: Option<String>) -> Result<Stepped, Error> {
    #[derive(Deserialize)]
    struct Told {
        decided: Option<Value>,
        asks: Option<Request>,
        decision: Option<Decision>,
        limits: Option<Decision>,
        calls: Option<Vec<ToldCall>>,
    }

    #[derive(Deserialize)]
    struct ToldCall {
        id: CallId,
        #[serde(default)]
        kind: DecidedKind,
        #[serde(default)]
        function: String,
        #[serde(flatten)]
        decision: Decision,
        asks: Option<Request>,
    }

    let called = |told: ToldCall| {
        let ToldCall { id, kind, function, decision, asks } = told;
        Decided { asks, ..Decided::of_call(DecidedCall { call: id, kind, function, decision }) }
    };
    let Told { decided, asks, decision, limits, calls } = read(answer)?;
    if let Some(calls) = calls {
        let decided: Vec<ToldCall> =
            decided.map_or(Ok(Vec::new()), serde_json::from_value).map_err(|_| unreadable())?;
        return Ok(Stepped::Several(Several {
            limits: limits.map(|limits| Decided::of(DecidedKind::Call, None, limits)),
            calls: calls.into_iter().map(called).collect(),
            decided: decided.into_iter().map(called).collect(),
        }));
    }
    if let Some(asks) = asks {
        let decision = decision.ok_or_else(unreadable)?;
        return Ok(Stepped::One(Decided { asks: Some(asks), ..Decided::of(kind, function, decision) }));
    }
    let decision: Decision =
        serde_json::from_value(decided.ok_or_else(unreadable)?).map_err(|_| unreadable())?;
    Ok(Stepped::One(Decided::of(kind, function, decision)))
}

pub(crate) fn written(body: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(body).map_err(|_| unreadable())
}

pub(crate) fn read<T: DeserializeOwned>(answer: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(answer).map_err(|_| unreadable())
}

/// What came is not what the API answers: something else listens at the address, or a release that is too far from this one.
pub(crate) fn unreadable() -> Error {
    Error::new(ErrorKind::Store, "unreadable_answer", "the answer is not one of this release's API")
}

pub(crate) fn no_answer(error: ClientError) -> Error {
    let (kind, code) = match error {
        ClientError::Address | ClientError::Insecure | ClientError::Text => {
            (ErrorKind::Misuse, "bad_address")
        }
        ClientError::TimedOut => (ErrorKind::Store, "timed_out"),
        _ => (ErrorKind::Store, "unreachable"),
    };
    Error::new(kind, code, error.to_string())
}

/// What a server says when it does not do what was asked; `about` is the expression that it is about, if it is about one.
pub(crate) fn problem(status: u16, body: &[u8], about: &str) -> Error {
    #[derive(Deserialize)]
    struct Problem {
        r#type: String,
        title: String,
        detail: Option<String>,
        #[serde(default)]
        findings: Vec<Value>,
    }

    let told = |finding| Some(Flaw::told(serde_json::from_value(finding).ok()?, about));
    let Ok(Problem { r#type, title, detail, findings }) = serde_json::from_slice(body) else {
        return Error::new(
            ErrorKind::Store,
            "unreadable_answer",
            format!("the answer has status {status} and is no problem of the API"),
        );
    };
    let code = r#type.rsplit(':').next().unwrap_or_default().replace('-', "_");
    let kind = match (status, &*code) {
        (_, "internal") => ErrorKind::Internal,
        (_, "slow_request" | "contended") | (500.., _) => ErrorKind::Store,
        _ => ErrorKind::Misuse,
    };
    let flaws: Vec<Flaw> = findings.into_iter().filter(|_| !about.is_empty()).filter_map(told).collect();
    if !flaws.is_empty() {
        return Error::flawed(flaws);
    }
    let message = match detail {
        Some(detail) => format!("{title}: {detail}"),
        None => title,
    };
    Error::new(kind, code, message)
}
