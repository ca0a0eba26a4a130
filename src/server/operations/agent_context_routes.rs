//! Which context and task an Aletheia agent is in, over HTTP: the three operations of its context store.
//!
//! In: a key in the query, and what is to be kept under it. Out: what was kept last. The store is the operator's choice, and
//! its keys belong to no caller: agents that open the same Redis or Postgres themselves share them.

use crate::agent_contexts::AgentContexts;
use crate::messages;
use crate::problem::{Kind, Problem};
use crate::request::{Answer, Empty, Request};
use crate::service::Service;
use celador_store::conversation::StoredContext;
use serde::Deserialize;

/// The key of an agent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct KeyQuery {
    /// The key; it may be empty.
    key: String,
}

/// The store and the key of a request; a server without a store has nothing at this address.
fn of<'s>(service: &'s Service, request: &Request) -> Result<(&'s AgentContexts, String), Problem> {
    let contexts = service.agent_contexts.as_ref().ok_or(Kind::UnknownPath)?;
    let KeyQuery { key } = request.query()?;
    storable(&key)?;
    Ok((contexts, key))
}

/// Databases take no text with a NUL.
fn storable(text: &str) -> Result<(), Problem> {
    if text.contains('\0') { Err(Problem::new(Kind::BadRequest, messages::not_storable())) } else { Ok(()) }
}

/// `GET /v1/agent-contexts?key=…`
pub(crate) fn read(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let (contexts, key) = of(service, request)?;
    let found = contexts.run(|store| store.get(&key))?;
    Answer::json(200, &found.ok_or(Kind::UnknownContext)?)
}

/// `PUT /v1/agent-contexts?key=…`
pub(crate) fn write(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let (contexts, key) = of(service, request)?;
    let kept: StoredContext = request.read(&service.settings.limits.store.engine)?;
    [&kept.context_id, &kept.task_id].into_iter().flatten().try_for_each(|id| storable(id))?;
    contexts.run(|store| store.set(&key, &kept))?;
    Answer::json(200, &kept)
}

/// `DELETE /v1/agent-contexts?key=…`
pub(crate) fn delete(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let (contexts, key) = of(service, request)?;
    contexts.run(|store| store.delete(&key))?;
    Answer::json(200, &Empty {})
}
