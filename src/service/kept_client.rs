//! A client that keeps its connections: for a program that asks one server again and again.
//!
//! In: the address and token of a server; then requests. Out: status and body, as of [`Client`], whose rules hold. A request goes over a connection
//! that rests, or else over a new one. The server may have closed one that rests: a request of which nothing was sent goes over a new
//! connection, and no other request is sent twice.

use crate::client::{Client, ClientError, ClientReply, Connection};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::time::timeout;

/// Connections that rest and are kept. More than these a burst of requests opens and closes again.
const MAX_RESTING: usize = 32;

/// A client that keeps its connections. It runs on tokio, with sockets and timers, and on one runtime only: that has its connections.
///
/// ```
/// use celador_server::{Parts, Server, Settings, system_clock};
/// use celador_service::{Client, ClientReply, KeptClient};
/// use celador_store::{Database, Location};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
///
/// let mut settings = Settings::new(vec!["examples/first-policy".into()]);
/// settings.address.set_port(0);
/// let database = Database::open(&Location::Memory, &settings.limits.store)?;
/// let server = Server::start(settings, Parts { clock: system_clock()?, database, log: None })?;
///
/// let client = KeptClient::new(Client::new(&format!("http://{}", server.address()), None)?);
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// let send = |path| runtime.block_on(client.answer("GET", path, &[], None));
/// for _ in 0..3 {
///     let ClientReply { status, body } = send("/healthz")?;
///     assert_eq!((status, &*body), (200, &br#"{"status":"ok"}"#[..]));
/// }
/// // one connection was enough
/// let figures = String::from_utf8(send("/metrics")?.body)?;
/// assert!(figures.contains("celador_connections 1"), "{figures}");
/// server.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct KeptClient {
    client: Client,
    resting: Mutex<Vec<SendRequest<Full<Bytes>>>>,
}

impl KeptClient {
    /// The same client, with connections that are kept. Nothing is sent yet.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, resting: Mutex::default() }
    }

    /// Sends a request below the address and waits for the whole answer. A body is JSON.
    ///
    /// # Errors
    /// [`ClientError`], but for what [`Client::new`] refuses.
    pub async fn answer(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<ClientReply, ClientError> {
        let request = self.client.request_below(method, path, headers, body)?;
        let exchanged = timeout(self.client.patience(), self.exchange(request));
        exchanged.await.unwrap_or(Err(ClientError::TimedOut))
    }

    async fn exchange(&self, mut request: Request<Full<Bytes>>) -> Result<ClientReply, ClientError> {
        let broken = |error: hyper::Error| ClientError::Broken(error.to_string());
        while let Some(mut sender) = self.rested() {
            match sender.try_send_request(request).await {
                Ok(response) => return self.finish(sender, response).await,
                Err(mut error) => match error.take_message() {
                    // it was closed meanwhile, and nothing went out
                    Some(unsent) => request = unsent,
                    None => return Err(broken(error.into_error())),
                },
            }
        }
        let (mut sender, connection) = self.client.connect().await?;
        drive(connection);
        let response = sender.send_request(request).await.map_err(broken)?;
        self.finish(sender, response).await
    }

    /// The whole answer; the connection rests if it goes on.
    async fn finish(
        &self,
        sender: SendRequest<Full<Bytes>>,
        response: Response<Incoming>,
    ) -> Result<ClientReply, ClientError> {
        let reply = Client::reply(response).await?;
        let mut resting = self.resting();
        if !sender.is_closed() && resting.len() < MAX_RESTING {
            resting.push(sender);
        }
        Ok(reply)
    }

    /// The connection that has rested for the shortest time, of those that are open.
    fn rested(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut resting = self.resting();
        resting.retain(|sender| !sender.is_closed());
        resting.pop()
    }

    fn resting(&self) -> MutexGuard<'_, Vec<SendRequest<Full<Bytes>>>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads and writes for a connection until it ends.
fn drive(connection: Connection) {
    tokio::spawn(connection);
}
