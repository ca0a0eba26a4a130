//! The address where clients come in, and what each address of theirs means.
//!
//! In: connections. Out: responses. Requests that carry a conversation are judged; those of the list below carry none and pass as they are;
//! any other address is refused, as calls of tools could pass there that no policy sees: answers that the API keeps, batches,
//! assistants, realtime. Browsers are kept out as by `celador serve`: a page must not use the key of whoever runs an agent here.

use super::asking::Obstacle;
use super::exchange::answer;
use super::memory::Memory;
use super::messages;
use super::reply::{Teller, error};
use super::request::{Asked, Said};
use super::upstream::{Upstream, is_loopback, passed};
use super::wire::Api;
use super::{LlmSettings, Maker, Proxy};
use crate::Desk;
use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Request, Response, header};
use celador_server::ClientError;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

/// The largest body of a request: conversations carry images.
const MAX_BODY_BYTES: usize = 67_108_864;

/// How long the header of a request may take, and its body.
const MAX_HEADER: Duration = Duration::from_secs(30);
const MAX_BODY: Duration = Duration::from_secs(120);

/// Connections at a time.
const MAX_CONNECTIONS: usize = 1_024;

/// How long what is under way may take once the proxy is to stop.
const GRACE: Duration = Duration::from_secs(20);

/// Addresses that carry no conversation, by how they begin: lists of models, and vectors, verdicts and counts of tokens of a text.
const PASSED: [(Method, &str); 5] = [
    (Method::GET, "/models"),
    (Method::POST, "/embeddings"),
    (Method::POST, "/moderations"),
    (Method::POST, "/messages/count_tokens"),
    (Method::POST, "/responses/input_tokens"),
];

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
    pub async fn bind(desk: Desk, settings: LlmSettings) -> Result<Self, LlmProxyError> {
        if !settings.listen.ip().is_loopback() {
            return Err(LlmProxyError::Beyond);
        }
        let upstream = Upstream::new(&settings.upstream).map_err(LlmProxyError::Upstream)?;
        let taken = |error| LlmProxyError::Address(settings.listen, error);
        let listener = TcpListener::bind(settings.listen).await.map_err(taken)?;
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
        let graceful = GracefulShutdown::new();
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        tokio::pin!(stop);
        loop {
            let next = async {
                let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
                Ok::<_, io::Error>((listener.accept().await?.0, place))
            };
            let accepted = tokio::select! {
                accepted = next => accepted,
                () = &mut stop => break,
            };
            let Ok((socket, place)) = accepted else {
                // out of file descriptors, as a rule
                sleep(Duration::from_millis(10)).await;
                continue;
            };
            // pieces of an answer must not wait for more
            let _ = socket.set_nodelay(true);
            let proxy = proxy.clone();
            let service = service_fn(move |request| {
                let proxy = proxy.clone();
                async move { Ok::<_, Infallible>(receive(proxy, request).await) }
            });
            let mut builder = Builder::new(TokioExecutor::new());
            builder.http1().timer(TokioTimer::new()).header_read_timeout(MAX_HEADER);
            let connection = builder.serve_connection(TokioIo::new(socket), service).into_owned();
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                // one that ends early has nobody to be told
                let _ = connection.await;
                drop(place);
            });
        }
        let _ = timeout(GRACE, graceful.shutdown()).await;
    }
}

async fn receive(proxy: Arc<Proxy>, request: Request<Incoming>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let path = path.strip_prefix("/v1").filter(|rest| rest.starts_with('/')).unwrap_or(path).to_owned();
    let api = api_of(proxy.settings.maker, &path);
    // errors of an address that carries no conversation have the maker's form as well
    let form = api.unwrap_or(match proxy.settings.maker {
        Maker::OpenAi => Api::Chat,
        Maker::Anthropic => Api::Messages,
    });
    match serve(proxy, parts, path, api, body).await {
        Ok(response) => response,
        Err(obstacle) => error(form, &obstacle),
    }
}

async fn serve(
    proxy: Arc<Proxy>,
    parts: Parts,
    path: String,
    api: Option<Api>,
    body: Incoming,
) -> Result<Response<Body>, Obstacle> {
    check_origin(&parts.headers)?;
    let refuse = |status, message: &str| Obstacle { status, message: message.to_owned() };
    let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let is_judged = api.filter(|_| parts.method == Method::POST);
    let passes = PASSED.iter().any(|(method, prefix)| {
        let rest = path.strip_prefix(prefix);
        *method == parts.method && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    if is_judged.is_none() && !passes && !proxy.settings.allow_other {
        return Err(refuse(403, messages::other_endpoint()));
    }
    if parts.headers.get(header::CONTENT_ENCODING).is_some_and(|it| it != "identity") {
        return Err(refuse(415, messages::encoded_body()));
    }
    let body = read(body).await?;
    let Some(api) = is_judged else {
        return pass(&proxy, &parts, &format!("{path}{query}"), body).await;
    };
    let (head, told) = oneshot::channel();
    let said = said(&parts.headers);
    let asked = Asked { api, query, headers: parts.headers, body, said };
    // on a task of its own: who hangs up does not undo what the model has answered
    tokio::spawn(answer(proxy, asked, Teller::new(head)));
    told.await.map_err(|_| refuse(500, messages::broken_answer()))
}

/// The interface that an address belongs to.
fn api_of(maker: Maker, path: &str) -> Option<Api> {
    let of = match maker {
        Maker::OpenAi => &[Api::Chat, Api::Responses][..],
        Maker::Anthropic => &[Api::Messages],
    };
    of.iter().copied().find(|api| api.path() == path)
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
    let refuse = |message: &str| Obstacle { status: 403, message: message.to_owned() };
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

async fn read(body: Incoming) -> Result<Bytes, Obstacle> {
    let refuse = |status, message: &str| Obstacle { status, message: message.to_owned() };
    match timeout(MAX_BODY, Limited::new(body, MAX_BODY_BYTES).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(refuse(413, &messages::too_large(MAX_BODY_BYTES)))
        }
        Ok(Err(_)) => Err(refuse(400, messages::cut_off())),
        Err(_) => Err(refuse(408, messages::cut_off())),
    }
}

/// Passes a request on as it is, and the answer too.
async fn pass(proxy: &Proxy, parts: &Parts, path: &str, body: Bytes) -> Result<Response<Body>, Obstacle> {
    let response = proxy.upstream.send(parts.method.clone(), path, &parts.headers, body).await?;
    let (head, body) = response.into_parts();
    let mut response = Response::new(Body::new(body));
    *response.status_mut() = head.status;
    *response.headers_mut() =
        passed(&head.headers).map(|(name, value)| (name.clone(), value.clone())).collect();
    Ok(response)
}
