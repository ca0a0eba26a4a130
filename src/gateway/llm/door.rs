//! The address where clients come in, and what each address of theirs means.
//!
//! In: connections. Out: responses. Which address is judged and which carries no conversation is in the table of `routes`; any other one is
//! refused, as calls of tools could pass there that no policy sees: answers that the API keeps, batches, assistants, realtime.
//! Browsers are kept out as by `celador serve`: a page must not use the key of an agent here. Connections have the bounds of the server's.

use super::asking::Obstacle;
use super::bodies;
use super::exchange::answer;
use super::memory::Memory;
use super::messages;
use super::reply::{Teller, error};
use super::request::{Asked, Said};
use super::routes::{find, is_plain};
use super::upstream::{Upstream, answered, is_loopback, whole};
use super::wire::{Api, json};
use super::{LlmSettings, Maker, Proxy};
use crate::unjudged::tell_of_unjudged;
use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, header};
use celador_server::TaskBackend;
use celador_server::{ServerLimits, listen_beside, serve_beside};
use celador_service::ClientError;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::warn;

/// The largest body of a request: conversations carry images.
const MAX_BODY_BYTES: usize = 67_108_864;

/// How long a connection may ask for nothing, or take for the header of a request: clients keep connections for some seconds between two
/// requests, and a newcomer takes the place of one that is silent.
const MAX_SILENCE_MS: u64 = 30_000;

/// How long the body of a request may take.
const MAX_BODY: Duration = Duration::from_secs(120);

/// Why a proxy does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LlmProxyError {
    /// The address of the model's API cannot be asked.
    #[error("the address of the model's API: {0}")]
    Upstream(ClientError),
    /// The proxy would listen beyond loopback, where it would serve whoever comes.
    #[error("the proxy knows no callers, so it listens on loopback only")]
    Beyond,
    /// The address to listen at cannot be had.
    #[error("cannot listen at {0}: {1}")]
    Address(SocketAddr, io::Error),
}

/// A proxy that listens.
pub struct LlmProxy {
    proxy: Arc<Proxy>,
    listener: TcpListener,
    address: SocketAddr,
}

impl LlmProxy {
    /// Listens, within a runtime of tokio. Nothing is answered until [`LlmProxy::serve`].
    ///
    /// # Errors
    /// [`LlmProxyError`].
    pub fn bind(desk: TaskBackend, settings: LlmSettings) -> Result<Self, LlmProxyError> {
        if !settings.listen.ip().is_loopback() {
            return Err(LlmProxyError::Beyond);
        }
        let base = upstream_of(settings.maker, &settings.upstream);
        let upstream = Upstream::new(&base, &settings.forward_headers, settings.is_lax())
            .map_err(LlmProxyError::Upstream)?;
        let taken = |error| LlmProxyError::Address(settings.listen, error);
        let listener = listen_beside(settings.listen).map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let proxy = Arc::new(Proxy { desk, upstream, memory: Memory::new(), settings });
        Ok(Self { proxy, listener, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the signal comes, and finishes what was begun.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let Self { proxy, listener, .. } = self;
        let limits = ServerLimits { max_header_ms: MAX_SILENCE_MS, ..proxy.settings.limits };
        let receive = move |request| receive(proxy.clone(), request);
        serve_beside(listener, limits, stop, receive).await;
    }
}

/// Where the paths of the model's API begin. Anthropic's own clients take the address ahead of `/v1`, so both are right.
fn upstream_of(maker: Maker, address: &str) -> String {
    let address = address.trim_end_matches('/');
    let is_bare = address.split_once("://").is_some_and(|(_, rest)| !rest.contains('/'));
    match maker {
        Maker::Anthropic if !address.ends_with("/v1") => format!("{address}/v1"),
        Maker::OpenAi if is_bare => {
            warn!(address, "{}", messages::bare_upstream());
            address.to_owned()
        }
        _ => address.to_owned(),
    }
}

async fn receive(proxy: Arc<Proxy>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let found = find(proxy.settings.maker, &parts.method, parts.uri.path(), parts.uri.query());
    // errors of an address that carries no conversation have the maker's form as well
    let form = found.as_ref().and_then(|(route, _)| route.api).unwrap_or(match proxy.settings.maker {
        Maker::OpenAi => Api::Chat,
        Maker::Anthropic => Api::Messages,
    });
    let address = found.map(|(route, address)| (route.api, address));
    match serve(proxy, parts, address, body).await {
        Ok(response) => response,
        Err(obstacle) => error(form, &obstacle),
    }
}

async fn serve(
    proxy: Arc<Proxy>,
    parts: Parts,
    found: Option<(Option<Api>, String)>,
    body: Body,
) -> Result<Response<Body>, Obstacle> {
    check_origin(&parts.headers)?;
    name_headers(&proxy, &parts.headers);
    let path = parts.uri.path();
    let Some((api, address)) = found else {
        if !proxy.settings.allow_other {
            return Err(refuse(403, messages::other_endpoint()));
        }
        if !is_plain(path) {
            return Err(refuse(403, messages::crooked_path()));
        }
        warn!(path, "{}", messages::unjudged_address());
        tell_of_unjudged(&proxy.desk, &format!("proxy: address {path}"), 1).await;
        let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let path = super::routes::behind_version(path);
        let body = read(&parts.headers, body).await?;
        return pass_on(&proxy, &parts, &format!("{path}{query}"), body).await;
    };
    let body = read(&parts.headers, body).await?;
    let Some(api) = api else {
        return pass(&proxy, &parts, &address, &body).await;
    };
    let (head, told) = oneshot::channel();
    let said = said(&parts.headers);
    let asked = Asked { api, address, headers: parts.headers, body, said };
    // on a task of its own: who hangs up does not undo what the model has answered
    tokio::spawn(answer(proxy, asked, Teller::new(head)));
    told.await.map_err(|_| refuse(500, messages::broken_answer()))
}

/// Names headers that are in no list, once.
fn name_headers(proxy: &Proxy, headers: &HeaderMap) {
    let what = proxy.memory.unnamed(proxy.upstream.unknown(headers));
    if !what.is_empty() {
        warn!(?what, "{}", if proxy.is_lax() { messages::unjudged() } else { messages::header_left_out() });
    }
}

fn refuse(status: u16, message: &str) -> Obstacle {
    Obstacle::new(status, message)
}

fn said(headers: &HeaderMap) -> Said {
    let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok()).filter(|it| !it.is_empty());
    Said {
        task: text("x-celador-task").map(str::to_owned),
        user: text("x-celador-user").map(str::to_owned),
        again: text("x-stainless-retry-count").is_some_and(|count| count != "0"),
    }
}

/// Keeps pages of browsers out. Programs that are no browsers say no origin, and reach the proxy under a name of loopback.
fn check_origin(headers: &HeaderMap) -> Result<(), Obstacle> {
    let refuse = |message: &str| Obstacle::new(403, message);
    if headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site") {
        return Err(refuse(messages::foreign_page()));
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    if is_loopback(name) { Ok(()) } else { Err(refuse(messages::foreign_host())) }
}

/// The body of a request, decoded.
async fn read(headers: &HeaderMap, body: Body) -> Result<Bytes, Obstacle> {
    let coding = bodies::coding(headers).ok_or_else(|| refuse(415, messages::encoded_body()))?;
    let body = match timeout(MAX_BODY, Limited::new(body, MAX_BODY_BYTES).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return Err(refuse(413, &messages::too_large(MAX_BODY_BYTES)));
        }
        Ok(Err(_)) => return Err(refuse(400, messages::cut_off())),
        Err(_) => return Err(refuse(408, messages::cut_off())),
    };
    bodies::decoded(coding, body, MAX_BODY_BYTES).await
}

/// Passes a request on that carries no conversation, and the answer too. Both are written anew from what was read.
async fn pass(proxy: &Proxy, parts: &Parts, address: &str, body: &Bytes) -> Result<Response<Body>, Obstacle> {
    let body = match parts.method {
        Method::GET => Bytes::new(),
        _ => {
            let body = json::read(body).ok().filter(serde_json::Value::is_object);
            body.ok_or_else(|| refuse(400, messages::not_json()))?.to_string().into()
        }
    };
    let (head, body) =
        proxy.upstream.send(parts.method.clone(), address, &parts.headers, body).await?.into_parts();
    let read = json::read(&whole(body).await?);
    let body = read.map_err(|_| refuse(502, &messages::broken(messages::not_json())))?;
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = head.status;
    *response.headers_mut() = answered(&head.headers);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Passes on what the proxy does not know, as it is told to.
async fn pass_on(
    proxy: &Proxy,
    parts: &Parts,
    address: &str,
    body: Bytes,
) -> Result<Response<Body>, Obstacle> {
    let response = proxy.upstream.send(parts.method.clone(), address, &parts.headers, body).await?;
    let (head, body) = response.into_parts();
    let mut response = Response::new(Body::new(body));
    *response.status_mut() = head.status;
    *response.headers_mut() = answered(&head.headers);
    if let Some(kind) = head.headers.get(header::CONTENT_TYPE) {
        response.headers_mut().insert(header::CONTENT_TYPE, kind.clone());
    }
    Ok(response)
}
