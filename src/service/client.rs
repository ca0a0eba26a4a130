//! Requests to other servers: one connection each, over TLS or over loopback.
//!
//! In: an address, a token, a method, a path, a body. Out: status and body, within bounds of time and size. A name that vouches for
//! itself only by being asked for is not trusted: what leaves this machine goes over TLS, to a server for which the system's
//! certificates vouch (`SSL_CERT_FILE` names others). No redirection is followed, so nothing is sent where nobody said.

use crate::messages;
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderName, HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Who sends requests to one server.
///
/// ```
/// use celador_server::{Parts, Server, Settings, system_clock};
/// use celador_service::{Client, ClientError, ClientReply};
/// use celador_store::{Database, Location};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
///
/// let mut settings = Settings::new(vec!["examples/first-policy".into()]);
/// settings.address.set_port(0);
/// let database = Database::open(&Location::Memory, &settings.limits.store)?;
/// let server = Server::start(settings, Parts { clock: system_clock()?, database, log: None })?;
///
/// let client = Client::new(&format!("http://{}", server.address()), None)?;
/// let ClientReply { status, body } = client.send("GET", "/healthz", None)?;
/// assert_eq!((status, &*body), (200, &br#"{"status":"ok"}"#[..]));
///
/// // a token, or whatever else, would be read by whoever stands on the way
/// assert!(matches!(Client::new("http://celador.example", None), Err(ClientError::Insecure)));
/// server.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Client {
    host: String,
    port: u16,
    /// The `Host` of requests.
    authority: HeaderValue,
    /// What stands before every path; without a slash at its end.
    prefix: String,
    /// The query of the address; of a client that sends to the address itself.
    whole: PathAndQuery,
    tls: Option<TlsConnector>,
    bearer: Option<HeaderValue>,
    patience: Duration,
}

/// An answer, whatever its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientReply {
    /// The HTTP status.
    pub status: u16,
    /// The body, as it came.
    pub body: Vec<u8>,
}

/// Why there is no answer. Nobody knows then whether the request was carried out, unless it was never sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// An address that is none of a server.
    #[error("{}", messages::no_server_address())]
    Address,
    /// An address without TLS beyond loopback.
    #[error("{}", messages::insecure_address())]
    Insecure,
    /// A token with characters that no header has, or a path that is none.
    #[error("{}", messages::no_header_text())]
    Text,
    /// The server cannot be reached.
    #[error("the server cannot be reached: {0}")]
    Unreachable(io::Error),
    /// The connection broke, or what came is not HTTP.
    #[error("the answer broke off: {0}")]
    Broken(String),
    /// The answer is larger than is taken.
    #[error("the answer is larger than {MAX_REPLY_BYTES} bytes")]
    TooLarge,
    /// There was no answer in time.
    #[error("there was no answer in time")]
    TimedOut,
}

/// The largest body of an answer. That of a list of reviews is bounded by the server's own pages.
const MAX_REPLY_BYTES: usize = 67_108_864;

/// How long an answer may take, from the first look for the server's address.
const PATIENCE: Duration = Duration::from_secs(60);

impl Client {
    /// A client of the server at an address, such as `https://celador.example/` or `http://127.0.0.1:8717`, with a bearer token.
    ///
    /// # Errors
    /// [`ClientError::Address`], [`ClientError::Insecure`], [`ClientError::Text`].
    pub fn new(address: &str, token: Option<&str>) -> Result<Self, ClientError> {
        let uri: Uri = address.parse().map_err(|_| ClientError::Address)?;
        let authority = uri.authority().ok_or(ClientError::Address)?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() || authority.as_str().contains('@') {
            return Err(ClientError::Address);
        }
        let is_tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(ClientError::Address),
        };
        if !is_tls && !is_loopback(&host) {
            return Err(ClientError::Insecure);
        }
        let bearer = token.map(|token| {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
        Ok(Self {
            host,
            port: authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 }),
            authority: HeaderValue::from_str(authority.as_str()).map_err(|_| ClientError::Address)?,
            prefix: uri.path().trim_end_matches('/').to_owned(),
            whole: uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/")),
            tls: is_tls.then(connector).transpose()?,
            bearer: bearer.map(|bearer| bearer.ok_or(ClientError::Text)).transpose()?,
            patience: PATIENCE,
        })
    }

    /// The same with another bound of time for each request.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Sends a request below the address and waits for the whole answer. A body is JSON.
    ///
    /// # Errors
    /// [`ClientError`], but for what [`Client::new`] refuses.
    pub fn send(&self, method: &str, path: &str, body: Option<&[u8]>) -> Result<ClientReply, ClientError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(ClientError::Unreachable)?;
        runtime.block_on(self.answer(method, path, &[], body))
    }

    /// As [`Client::send`], with further headers, for asynchronous callers. They run on tokio, with sockets and timers.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn answer(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<ClientReply, ClientError> {
        self.exchange(self.request_below(method, path, headers, body)?).await
    }

    /// A request below the address, in words.
    pub(crate) fn request_below(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| ClientError::Text)?;
        let header = |(name, value): &(&str, &str)| Some((name.parse().ok()?, value.parse().ok()?));
        let headers: Option<Vec<_>> = headers.iter().map(header).collect();
        self.request(method, self.below(path)?, &headers.ok_or(ClientError::Text)?, body)
    }

    /// Posts JSON to the address itself, with these headers.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn post(
        &self,
        headers: &[(HeaderName, HeaderValue)],
        body: &[u8],
    ) -> Result<ClientReply, ClientError> {
        self.exchange(self.request(Method::POST, self.whole.clone(), headers, Some(body))?).await
    }

    /// A path below the address.
    fn below(&self, path: &str) -> Result<PathAndQuery, ClientError> {
        format!("{}{path}", self.prefix).parse().map_err(|_| ClientError::Text)
    }

    /// How long an answer may take.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// A request with what all requests of this client have.
    fn request(
        &self,
        method: Method,
        path: PathAndQuery,
        headers: &[(HeaderName, HeaderValue)],
        body: Option<&[u8]>,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut request = Request::builder().method(method).uri(Uri::from(path));
        request = request.header(header::HOST, &self.authority).header(header::ACCEPT, "application/json");
        request = request.header(header::USER_AGENT, concat!("celador/", env!("CARGO_PKG_VERSION")));
        if let Some(bearer) = &self.bearer {
            request = request.header(header::AUTHORIZATION, bearer);
        }
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let body = Full::new(Bytes::copy_from_slice(body.unwrap_or_default()));
        request.body(body).map_err(|_| ClientError::Text)
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<ClientReply, ClientError> {
        let answer = async {
            let (sender, connection) = self.connect().await?;
            converse(sender, connection, request).await
        };
        timeout(self.patience, answer).await.unwrap_or(Err(ClientError::TimedOut))
    }

    /// A connection, and what reads and writes for it.
    pub(crate) async fn connect(&self) -> Result<(SendRequest<Full<Bytes>>, Connection), ClientError> {
        let broken = |error: hyper::Error| ClientError::Broken(error.to_string());
        let socket = TcpStream::connect((&*self.host, self.port)).await.map_err(ClientError::Unreachable)?;
        // requests are short, and none waits for more of itself
        socket.set_nodelay(true).map_err(ClientError::Unreachable)?;
        Ok(match &self.tls {
            None => {
                let (sender, connection) = http1::handshake(TokioIo::new(socket)).await.map_err(broken)?;
                (sender, Box::pin(connection))
            }
            Some(tls) => {
                let name = ServerName::try_from(self.host.clone()).map_err(|_| ClientError::Address)?;
                let stream = tls.connect(name, socket).await.map_err(ClientError::Unreachable)?;
                let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
                (sender, Box::pin(connection))
            }
        })
    }

    /// The whole answer.
    pub(crate) async fn reply(response: Response<Incoming>) -> Result<ClientReply, ClientError> {
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), MAX_REPLY_BYTES).collect().await;
        let body = body.map_err(|error| match error.downcast::<hyper::Error>() {
            Ok(error) => ClientError::Broken(error.to_string()),
            Err(_) => ClientError::TooLarge,
        })?;
        Ok(ClientReply { status, body: body.to_bytes().to_vec() })
    }
}

/// What reads and writes for a connection: it ends with it.
pub(crate) type Connection = Pin<Box<dyn Future<Output = Result<(), hyper::Error>> + Send>>;

/// One request and its answer.
async fn converse(
    mut sender: SendRequest<Full<Bytes>>,
    mut connection: Connection,
    request: Request<Full<Bytes>>,
) -> Result<ClientReply, ClientError> {
    let broken = |error: hyper::Error| ClientError::Broken(error.to_string());
    let answer = async move { Client::reply(sender.send_request(request).await.map_err(broken)?).await };
    // the connection does the reading and writing; it ends when the answer is there and the sender is gone
    tokio::pin!(answer);
    tokio::select! {
        biased;
        answer = &mut answer => answer,
        ended = &mut connection => match ended {
            Ok(()) => answer.await,
            Err(error) => Err(broken(error)),
        },
    }
}

/// Whether a host is this machine by name or by number. Numbers in other forms (`127.1`, `0x7f000001`) are not.
///
/// ```
/// use celador_service::is_loopback;
///
/// assert!(is_loopback("localhost") && is_loopback("127.0.0.2") && is_loopback("::1"));
/// assert!(!is_loopback("localhost.example") && !is_loopback("127.1"));
/// ```
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

/// TLS with the roots of the system.
fn connector() -> Result<TlsConnector, ClientError> {
    let mut roots = RootCertStore::empty();
    // those that cannot be read or parsed vouch for nobody
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| ClientError::Broken(error.to_string()))?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::{Client, ClientError};

    #[test]
    fn requests_leave_the_machine_over_tls_only() {
        for address in [
            "http://127.0.0.1:1",
            "http://[::1]:1/a",
            "http://localhost",
            "https://celador.example",
            "https://celador.example:8443/below/",
        ] {
            assert!(Client::new(address, Some("token")).is_ok(), "{address}");
        }
        for address in ["http://celador.example", "http://10.0.0.1", "http://localhost.example"] {
            assert!(matches!(Client::new(address, None), Err(ClientError::Insecure)), "{address}");
        }
        for address in ["", "celador.example", "ftp://localhost", "https://ann:secret@celador.example", "/v1"]
        {
            assert!(matches!(Client::new(address, None), Err(ClientError::Address)), "{address}");
        }
        assert!(matches!(Client::new("http://localhost", Some("a\nb")), Err(ClientError::Text)));
    }
}
