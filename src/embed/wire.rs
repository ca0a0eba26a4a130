//! Answers of a service as what they came to.
//!
//! In: an answer or a problem. Out: decisions, or the error that the problem is. Nothing is sent here.

use crate::decided::{Decided, Several, Stepped};
use crate::{Error, ErrorKind, Flaw};
use celador::task::{DecidedCall, DecidedKind};
use celador_service::{
    CallProgress, CameTo, ClientError, OperationAnswer, ProblemDetails, ServiceError, SeveralCalls,
};
use serde_json::Value;

/// What a step came to, out of its answer.
pub(crate) fn stepped(
    answer: OperationAnswer<'static>,
    kind: DecidedKind,
    function: Option<String>,
) -> Result<Stepped, Error> {
    let called = |told: CallProgress<'static>| {
        let CallProgress { id, kind, function, decision, asks } = told;
        let (call, function, decision) = (id.into_owned(), function.into_owned(), decision.into_owned());
        Decided { asks, ..Decided::of_call(DecidedCall { call, kind, function, decision }) }
    };
    match answer {
        OperationAnswer::Several(SeveralCalls { limits, calls, decided, .. }) => {
            Ok(Stepped::Several(Several {
                limits: limits.map(|limits| Decided::of(DecidedKind::Call, None, limits)),
                calls: calls.into_iter().map(called).collect(),
                decided: decided.into_iter().map(called).collect(),
            }))
        }
        OperationAnswer::One(progress) => match progress.came_to {
            CameTo::Decided { decided } => {
                Ok(Stepped::One(Decided::of(kind, function, decided.into_owned())))
            }
            CameTo::Asks { asks, decision, .. } => {
                let decision = decision.ok_or_else(unreadable)?.into_owned();
                let asks = Some(asks.into_owned());
                Ok(Stepped::One(Decided { asks, ..Decided::of(kind, function, decision) }))
            }
        },
    }
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

/// Why a service did not do what was asked; `about` is the expression that it is about, if it is about one.
pub(crate) fn not_done(error: ServiceError, about: &str) -> Error {
    match error {
        ServiceError::Problem(details) => problem(&details, about),
        ServiceError::NoAnswer(error) => no_answer(error),
    }
}

/// The error for a problem of the service.
pub(crate) fn problem(details: &ProblemDetails, about: &str) -> Error {
    let told = |finding: &Value| Some(Flaw::told(serde_json::from_value(finding.clone()).ok()?, about));
    let ProblemDetails { title, status, detail, findings, .. } = details;
    if details.word().is_empty() {
        return Error::new(
            ErrorKind::Store,
            "unreadable_answer",
            format!("the answer has status {status} and is no problem of the API"),
        );
    }
    let code = details.word().replace('-', "_");
    let kind = match (status, &*code) {
        (_, "internal") => ErrorKind::Internal,
        (_, "slow_request" | "contended") | (500.., _) => ErrorKind::Store,
        _ => ErrorKind::Misuse,
    };
    let findings = findings.iter().filter_map(Value::as_array).flatten();
    let flaws: Vec<Flaw> = findings.filter(|_| !about.is_empty()).filter_map(told).collect();
    if !flaws.is_empty() {
        return Error::flawed(flaws);
    }
    let message = match detail {
        Some(detail) => format!("{title}: {detail}"),
        None => title.clone(),
    };
    Error::new(kind, code, message)
}
