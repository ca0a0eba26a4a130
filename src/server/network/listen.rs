//! Connections: accepted within a bound, spoken to in HTTP/1.1 or HTTP/2, with TLS or without, until the server stops.
//!
//! In: a socket, a router, a signal. Out: nothing until the signal; then no connection is accepted any more, and what was
//! begun is finished within `max_shutdown_ms`. How long a connection may be at what, its own file says.

use super::connection::Connection;
use super::connections::{Connections, Place};
use super::stream::Stream;
use crate::error::ServeError;
use crate::limits::ServerLimits;
use crate::messages;
use crate::settings::Tls;
use crate::stopping::told;
use crate::telemetry::metrics::Metrics;
use axum::Router;
use axum::http::Request;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tower_service::Service;
use tracing::{debug, warn};

/// The acceptor of a certificate and its key.
///
/// # Errors
/// Files that cannot be read, hold something else, or do not go together.
pub(crate) fn tls(files: &Tls) -> Result<TlsAcceptor, ServeError> {
    let read = |path| std::fs::read(path).map_err(|error| ServeError::unreadable(path, &error));
    let (chain, key) = (read(&files.certificates)?, read(&files.key)?);
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&chain).filter_map(Result::ok).collect();
    if chain.is_empty() {
        return Err(ServeError::file(&files.certificates, messages::no_certificate()));
    }
    let key = PrivateKeyDer::from_pem_slice(&key)
        .map_err(|_| ServeError::file(&files.key, messages::no_private_key()))?;
    let unfit = |error: tokio_rustls::rustls::Error| {
        ServeError::file(&files.certificates, messages::certificate_and_key(&error.to_string()))
    };
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unfit)?;
    let mut config = config.with_no_client_auth().with_single_cert(chain, key).map_err(unfit)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// What all connections share.
#[derive(Clone)]
struct Door {
    router: Router,
    tls: Option<TlsAcceptor>,
    metrics: Arc<Metrics>,
    http: Arc<Builder<TokioExecutor>>,
}

/// Connections that the system holds until they are accepted: more than come while one is accepted, and few enough that who
/// comes last is not kept waiting.
const BACKLOG: u32 = 4_096;

/// What the system holds of an answer for a client that does not read it, in bytes for each connection. By itself it would
/// take megabytes, which a crowd that reads nothing would have this server make.
const UNREAD: u32 = 131_072;

/// Listens at an address.
///
/// # Errors
/// An address that is in use, or not one of this machine.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    // each accepted connection has it from here
    socket.set_send_buffer_size(UNREAD)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts connections until the signal comes; then finishes what was begun.
pub(crate) async fn listen(
    listener: TcpListener,
    router: Router,
    tls: Option<TlsAcceptor>,
    metrics: Arc<Metrics>,
    limits: ServerLimits,
    mut stop: watch::Receiver<bool>,
) {
    let http = Arc::new(builder(&limits));
    let connections = Connections::new(limits.max_client_connections, metrics.clone());
    let door = Door { router, tls, metrics, http };
    let graceful = GracefulShutdown::new();
    loop {
        let next = async {
            let (socket, address) = listener.accept().await?;
            Ok((socket, connections.enter(Connection::new(address.ip(), &limits)).await))
        };
        tokio::select! {
            accepted = next => match accepted {
                Ok((socket, place)) => {
                    tokio::spawn(door.clone().open(socket, place, graceful.watcher()));
                }
                Err::<_, io::Error>(error) => {
                    // out of file descriptors, as a rule
                    warn!(%error, "a connection cannot be accepted");
                    connections.make_room();
                    sleep(Duration::from_millis(10)).await;
                }
            },
            () = told(&mut stop) => break,
        }
    }
    drop(listener);
    if timeout(Duration::from_millis(limits.max_shutdown_ms), graceful.shutdown()).await.is_err() {
        warn!("`max_shutdown_ms` {} exceeded; connections were cut off", limits.max_shutdown_ms);
    }
}

/// What is read of a header beyond its bound, so that who is a little over it is told so by the gate. It is as much as hyper
/// wants for itself.
const SLACK: usize = 8_192;

fn builder(limits: &ServerLimits) -> Builder<TokioExecutor> {
    let most = limits.max_header_bytes.saturating_add(SLACK);
    let patience = Duration::from_millis(limits.max_header_ms);
    let mut builder = Builder::new(TokioExecutor::new());
    // the time of a header is the connection's to bound: HTTP would begin to count with its first byte
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(most);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(u32::try_from(limits.max_requests_in_flight).unwrap_or(u32::MAX))
        .max_header_list_size(u32::try_from(most).unwrap_or(u32::MAX))
        .keep_alive_interval(patience)
        .keep_alive_timeout(patience);
    builder
}

impl Door {
    /// One connection, to its end.
    async fn open(self, socket: TcpStream, place: Place, watcher: Watcher) {
        // small answers must not wait for more
        let _ = socket.set_nodelay(true);
        let connection = &place.connection;
        let stream = Stream::new(socket, connection.clone());
        let talk = async {
            match &self.tls {
                None => self.speak(stream, connection, watcher).await,
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => self.speak(stream, connection, watcher).await,
                    Err(error) => debug!(%error, "no TLS could be agreed on"),
                },
            }
        };
        if let Some(end) = connection.watch(talk, &self.metrics).await {
            debug!(why = end.as_str(), "a connection was ended");
        }
    }

    async fn speak<S>(&self, stream: S, connection: &Arc<Connection>, watcher: Watcher)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let asked = Asked { router: self.router.clone(), connection: connection.clone() };
        let service = TowerToHyperService::new(asked);
        let connection = self.http.serve_connection(TokioIo::new(stream), service).into_owned();
        if let Err(error) = watcher.watch(connection).await {
            debug!(%error, "a connection ended early");
        }
    }
}

/// The router for the requests of one connection, which they take with them.
#[derive(Clone)]
struct Asked {
    router: Router,
    connection: Arc<Connection>,
}

impl<B> Service<Request<B>> for Asked
where
    Router: Service<Request<B>>,
{
    type Response = <Router as Service<Request<B>>>::Response;
    type Error = <Router as Service<Request<B>>>::Error;
    type Future = <Router as Service<Request<B>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.router.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        request.extensions_mut().insert(self.connection.clone());
        self.router.call(request)
    }
}
