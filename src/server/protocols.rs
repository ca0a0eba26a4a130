//! The context protocols of A2A agents over HTTP: JSON-RPC at `POST /`, and the agent card.
//!
//! In: a body as it came, its caller, the headers that ask for extensions. Out: what `conversation` answers, with the status
//! and headers that HTTP wants beside it (PROTOCOLS 3, 4.5, 5.6). Nothing of the protocols is decided here.

use super::identity::Scope;
use super::problem::Problem;
use super::request::{Answer, JSON, Request};
use super::service::Service;
use axum::http::HeaderName;
use celador_store::conversation;
use celador_store::conversation::{Card, EXTENSION_HEADERS, activated};

/// `POST /`.
pub(super) fn rpc(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let needed = conversation::needed_scope(&request.body).map(|scope| match scope {
        conversation::TokenScope::Read => Scope::AgentRead,
        conversation::TokenScope::Write => Scope::AgentWrite,
    });
    if needed.is_some_and(|scope| !request.caller.may(scope)) {
        return Ok(refused(403, conversation::forbidden(&request.body)));
    }
    let (conversations, settings) = (&service.conversations, &service.settings.conversation);
    let caller = request.caller.identity.as_deref();
    let body = conversation::answer(conversations, settings, caller, &request.body, service.now());
    let answer = Answer { status: 200, media_type: JSON, body, headers: Vec::new() };
    Ok(EXTENSION_HEADERS.into_iter().fold(answer, |answer, name| {
        let asked = request.headers.iter().filter(|(given, _)| given.eq_ignore_ascii_case(name));
        let activated = activated(asked.map(|(_, value)| &**value));
        match (activated, HeaderName::from_bytes(name.as_bytes())) {
            (Some(uris), Ok(name)) => answer.with_header(name, uris),
            _ => answer,
        }
    }))
}

/// Answers a caller without an identity; the request's id comes back.
pub(super) fn nobody(body: &[u8]) -> Answer {
    refused(401, conversation::unauthenticated(body))
}

fn refused(status: u16, body: Vec<u8>) -> Answer {
    Answer { status, media_type: JSON, body, headers: Vec::new() }
}

/// `GET /.well-known/agent-card.json`. The address is the configured one and never what a request said, which would let
/// whoever asks, or a cache on the way, send others elsewhere.
pub(super) fn card(service: &Service, _: &Request) -> Result<Answer, Problem> {
    let scheme = if service.settings.tls.is_some() { "https" } else { "http" };
    let here = match service.address {
        any if any.ip().is_unspecified() => format!("{scheme}://localhost:{}/", any.port()),
        one => format!("{scheme}://{one}/"),
    };
    let card = Card {
        name: "Celador",
        description: "Decisions for AI agents, and their conversation contexts",
        version: env!("CARGO_PKG_VERSION"),
        url: service.settings.public_url.as_deref().unwrap_or(&here),
    };
    Answer::json(200, &card.document())
}
