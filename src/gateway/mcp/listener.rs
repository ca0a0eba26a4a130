//! A guard that listens: each session of streamable HTTP is one of its own.
//!
//! In: an address of this machine. Out: sessions, begun by `initialize`, each with a link to its client. The SDK keeps the sessions and their
//! streams; it would also serve them, by a handler of its own types, so it is given one that waits, while the messages go to us.
//! Clients of protocols without sessions are told which ones are spoken here.

use super::error::McpError;
use super::link::Link;
use super::over_http::link;
use http::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rmcp::model::{ClientJsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService, Transport};
use rmcp::{RoleServer, ServerHandler};
use std::borrow::Cow;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

/// Where the sessions are, at the address that it listens at.
const PATH: &str = "/mcp";
/// A session of which nothing is heard for so long is over.
const IDLE: Duration = Duration::from_secs(3_600);
/// Sessions at a time: each may be a process.
const MAX_SESSIONS: usize = 256;

/// What begins a session with a client.
pub(super) type Open = dyn Fn(Link) -> Running + Send + Sync;
/// A session that runs until it is over.
pub(super) type Running = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// Listens until the process ends. Who may connect is everybody on this machine, and no page of a browser.
pub(super) async fn listen(
    address: SocketAddr,
    open: Arc<Open>,
    listening: impl FnOnce(SocketAddr),
) -> Result<(), McpError> {
    let fail = |reason: String| McpError::Listen { address: address.to_string(), reason };
    if !address.ip().is_loopback() {
        return Err(fail(super::messages::NOT_LOOPBACK.to_owned()));
    }
    let listener = TcpListener::bind(address).await.map_err(|error| fail(error.to_string()))?;
    let bound = listener.local_addr().map_err(|error| fail(error.to_string()))?;
    info!(address = %bound, "listening");
    listening(bound);
    let mut local = LocalSessionManager::default();
    local.session_config.keep_alive = Some(IDLE);
    let sessions = Arc::new(Sessions { local, open });
    let config = StreamableHttpServerConfig::default().enforce_origin_validation();
    let service = StreamableHttpService::new(|| Ok(Waiting), sessions, config);
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // the process has no more files: somebody has to close one first
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = socket.set_nodelay(true);
        let service = service.clone();
        let answer = hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
            let mut service = service.clone();
            async move {
                if request.uri().path() == PATH {
                    tower_service::Service::call(&mut service, request).await
                } else {
                    let nothing = http_body_util::BodyExt::boxed(http_body_util::Full::default());
                    let mut response = Response::new(nothing);
                    *response.status_mut() = StatusCode::NOT_FOUND;
                    Ok::<_, Infallible>(response)
                }
            }
        });
        tokio::spawn(async move {
            let serving = auto::Builder::new(TokioExecutor::new());
            let served = serving.serve_connection(TokioIo::new(socket), answer).await;
            if let Err(error) = served {
                debug!(%error, "a connection has broken");
            }
        });
    }
}

/// The sessions of the SDK, whose messages go to sessions of ours.
struct Sessions {
    local: LocalSessionManager,
    open: Arc<Open>,
}

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
enum SessionError {
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
    #[error("too many sessions")]
    TooMany,
}

impl SessionManager for Sessions {
    type Error = SessionError;
    type Transport = Until;

    async fn create_session(&self) -> Result<(SessionId, Until), SessionError> {
        if self.local.sessions.read().await.len() >= MAX_SESSIONS {
            return Err(SessionError::TooMany);
        }
        let (id, transport) = self.local.create_session().await?;
        let over = CancellationToken::new();
        let running = (self.open)(link::<RoleServer, _>(transport));
        let ended = over.clone();
        tokio::spawn(async move {
            running.await;
            ended.cancel();
        });
        Ok((id, Until(over)))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        Ok(self.local.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl futures_util::Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError>
    {
        Ok(self.local.create_stream(id, message).await?)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        Ok(self.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl futures_util::Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError>
    {
        Ok(self.local.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl futures_util::Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError>
    {
        Ok(self.local.resume(id, last_event_id).await?)
    }
}

/// What the SDK serves in the place of a session: nothing comes, until the session is over.
struct Until(CancellationToken);

impl Transport<RoleServer> for Until {
    type Error = Infallible;

    fn send(
        &mut self,
        _: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.0.cancelled().await;
        None
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Answers nothing, as no message comes to it. It says which protocols have sessions.
#[derive(Clone)]
struct Waiting;

impl ServerHandler for Waiting {
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter();
        known.filter(|version| **version <= ProtocolVersion::LATEST_WITH_INITIALIZE).cloned().collect()
    }
}
