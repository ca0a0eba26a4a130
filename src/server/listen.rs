//! Connections: accepted within a bound, spoken to in HTTP/1.1 or HTTP/2, with TLS or without, until the server stops.
//!
//! In: a socket, a router, a signal. Out: nothing until the signal; then no connection is accepted any more, and what was
//! begun is finished within `max_shutdown_ms`. A client that is slow to say what it wants is left after `max_header_ms`.

use super::error::ServeError;
use super::messages;
use super::metrics::Metrics;
use super::settings::Tls;
use crate::limits::ServerLimits;
use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tracing::{debug, warn};

/// The acceptor of a certificate and its key.
///
/// # Errors
/// Files that cannot be read, hold something else, or do not go together.
pub(super) fn tls(files: &Tls) -> Result<TlsAcceptor, ServeError> {
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
    patience: Duration,
}

/// Accepts connections until the signal comes; then finishes what was begun.
pub(super) async fn listen(
    listener: TcpListener,
    router: Router,
    tls: Option<TlsAcceptor>,
    metrics: Arc<Metrics>,
    limits: ServerLimits,
    mut stop: watch::Receiver<bool>,
) {
    let patience = Duration::from_millis(limits.max_header_ms);
    let http = Arc::new(builder(&limits, patience));
    let door = Door { router, tls, metrics, http, patience };
    let graceful = GracefulShutdown::new();
    let places = super::places(limits.max_client_connections);
    loop {
        let next = async {
            let place = places.clone().acquire_owned().await;
            (listener.accept().await, place)
        };
        tokio::select! {
            (accepted, place) = next => match (accepted, place) {
                (Ok((stream, _)), Ok(place)) => {
                    tokio::spawn(door.clone().open(stream, place, graceful.watcher()));
                }
                (Err(error), _) => {
                    // out of file descriptors, as a rule: others may close theirs
                    warn!(%error, "a connection cannot be accepted");
                    sleep(Duration::from_millis(50)).await;
                }
                (_, Err(_)) => return,
            },
            () = super::told(&mut stop) => break,
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

fn builder(limits: &ServerLimits, patience: Duration) -> Builder<TokioExecutor> {
    let most = limits.max_header_bytes.saturating_add(SLACK);
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(most);
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
    async fn open(self, stream: TcpStream, place: OwnedSemaphorePermit, watcher: Watcher) {
        self.metrics.connections.inc();
        // small answers must not wait for more
        let _ = stream.set_nodelay(true);
        match self.tls.clone() {
            None => self.speak(stream, watcher).await,
            Some(tls) => match timeout(self.patience, tls.accept(stream)).await {
                Ok(Ok(stream)) => self.speak(stream, watcher).await,
                Ok(Err(error)) => debug!(%error, "no TLS could be agreed on"),
                Err(_) => debug!("a client did not say what it wants"),
            },
        }
        self.metrics.connections.dec();
        drop(place);
    }

    async fn speak<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(&self, stream: S, watcher: Watcher) {
        let service = TowerToHyperService::new(self.router.clone());
        let connection = self.http.serve_connection(TokioIo::new(stream), service).into_owned();
        if let Err(error) = watcher.watch(connection).await {
            debug!(%error, "a connection ended early");
        }
    }
}
