//! Streamable HTTP on both sides of the guard: clients of `--listen`, and a server of `--url`.
//!
//! Two revisions are spoken side by side. Up to 2025-11-25 a client begins a session with `initialize`. From 2026-07-28 each request stands for
//! itself: it names its revision, and headers repeat parts of it. The client's choice decides for the server as well, so nothing is
//! translated between the two.
//!
//! Everything is decoded into one message, and encoded from what the guard has decided.
//!
//! | file | content |
//! |---|---|
//! | `listener`, `admission` | requests of clients, and the checks before their bodies are read |
//! | `sessions`, `client_session`, `message_stream` | the sessions of a listener, the requests of one, the messages for one stream |
//! | `endpoint`, `server_link` | the server at an address, and one session with it |
//! | `headers` | headers that repeat parts of a request |
//! | `authorization` | tokens and challenges of OAuth on their way through |
//! | `events`, `wire`, `messages` | server-sent events, messages in bodies, texts |

mod admission;
mod authorization;
mod client_session;
mod endpoint;
mod events;
mod headers;
mod listener;
mod message_stream;
mod messages;
mod server_link;
mod sessions;
#[cfg(test)]
pub(super) mod tests;
mod wire;

pub(super) use authorization::Credentials;
pub(super) use endpoint::Endpoint;
pub(super) use listener::listen;

use super::link::Link;
use celador::digest::Digest;
use celador_server::traffic::{Form, Treatment};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use std::pin::Pin;
use std::sync::Arc;

/// Function that runs the guard between a client and the server until the session is over.
pub(super) type Open = dyn Fn(Link, Arc<Credentials>) -> Running + Send + Sync;
/// A session that runs until it is over.
pub(super) type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The caller of a request: the digest of its `Authorization`, as the guard itself checks no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Caller(Option<Digest>);

impl Caller {
    fn of(headers: &HeaderMap) -> Self {
        let values: Vec<_> = headers.get_all(AUTHORIZATION).iter().collect();
        Self((!values.is_empty()).then(|| Digest::of_parts(values)))
    }
}

/// Forms of HTTP that the guard knows. The methods of the messages in bodies are in the table of the guard itself.
pub const HTTP_FORMS: &[Form] = &[
    row("POST with one message", "client", Treatment::Judged, "decoded strictly, then as over pipes"),
    row("POST with a batch", "client", Treatment::Refused, "400"),
    row("POST of another content type", "client", Treatment::Refused, "415"),
    row(
        "GET",
        "client",
        Treatment::Passed,
        "opens or resumes a stream of judged messages; needs the id of a session",
    ),
    row("DELETE", "client", Treatment::Passed, "ends the session"),
    row("other methods", "client", Treatment::Refused, "405"),
    row(
        "Mcp-Method, Mcp-Name, Mcp-Param-…",
        "client",
        Treatment::Judged,
        "refused where they disagree with the body; written anew from the decided arguments",
    ),
    row(
        "Authorization",
        "client",
        Treatment::Passed,
        "to the server of `--url` alone, unless `--header-file` has one",
    ),
    row(
        "Mcp-Session-Id, Last-Event-ID",
        "client",
        Treatment::Passed,
        "select a session and a stream of the guard; the server gets its own",
    ),
    row(
        "Origin, Host, Sec-Fetch-Site",
        "client",
        Treatment::Judged,
        "403 for other hosts and for pages of other sites",
    ),
    row("other headers", "client", Treatment::Dropped, "the server does not get them"),
    row(
        "application/json with one response",
        "server",
        Treatment::Judged,
        "only for the request of that POST",
    ),
    row(
        "text/event-stream",
        "server",
        Treatment::Judged,
        "each event is one message; a response only for the request of that POST",
    ),
    row("other content types, batches", "server", Treatment::Dropped, "the request fails"),
    row("redirects", "server", Treatment::Dropped, "the request fails"),
    row(
        "401, 403 insufficient_scope",
        "server",
        Treatment::Passed,
        "`WWW-Authenticate` in its known parameters, with the address of the guard for its metadata",
    ),
    row(
        "oauth-protected-resource",
        "server",
        Treatment::Passed,
        "the metadata of RFC 9728 in its known members, with the address of the guard as `resource`",
    ),
    row("other headers", "server", Treatment::Dropped, "the client does not get them"),
];

const fn row(name: &'static str, from: &'static str, treatment: Treatment, note: &'static str) -> Form {
    Form { name, from, treatment, note }
}
