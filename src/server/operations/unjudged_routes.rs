//! Traffic that a gateway has forwarded although no rule saw it.
//!
//! In: the name of what was forwarded, and how often. Out: a line of the decision log, which `celador report` counts. Nothing is decided, and no task is
//! changed.

use crate::identity::Caller;
use crate::messages;
use crate::problem::{Kind, Problem};
use crate::request::{Answer, Request};
use crate::service::Service;
use celador_store::decision_log::Notice;
use serde::{Deserialize, Serialize};

/// Traffic that was forwarded unjudged.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Unjudged {
    /// The component that forwarded it and the name of the form, such as `mcp: method x/y`: at most `max_reason_bytes`. It holds no content.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub(crate) form: String,
    /// How often.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub(crate) count: u64,
}

/// What became of a report of unjudged traffic.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct UnjudgedNoted {
    /// Whether it is in a decision log; `false` if the server keeps none.
    noted: bool,
}

/// `POST /v1/unjudged`
pub(crate) fn note(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let unjudged = request.read(&service.settings.limits.store.engine)?;
    Answer::json(200, &UnjudgedNoted { noted: noted(service, &request.caller, &unjudged)? })
}

/// Writes a report of unjudged traffic down. Whether it is in a decision log.
pub(crate) fn noted(
    service: &Service,
    caller: &Caller,
    Unjudged { form, count }: &Unjudged,
) -> Result<bool, Problem> {
    let most = service.settings.limits.store.engine.max_reason_bytes;
    if form.trim().is_empty() || form.len() > most || *count == 0 {
        return Err(Problem::new(Kind::BadRequest, messages::bad_form(most)));
    }
    let (who, at) = (caller.identity.as_deref(), service.now());
    let notice =
        Notice { who, subject: Some(form), count: Some(*count), ..Notice::new(at, Notice::UNJUDGED) };
    service.tasks.note(&notice)
}
