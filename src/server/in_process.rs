//! The same decisions without a network: requests of the API that are answered in this process.
//!
//! In: a method, a path, a body, as over HTTP. Out: the status and the body that a server would send. So bindings, hooks and
//! proxies have one meaning whether they decide themselves or ask a server: what differs is who carries the request.

use super::error::ServeError;
use super::gate::VouchedFor;
use super::identity;
use super::manifests::ReadManifests;
use super::network::client::{ClientError, ClientReply};
use super::request::JSON;
use super::service::{Parts, Service};
use super::settings::Settings;
use super::{EVENT_INTERVAL, most_threads, router, upkeep};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, Uri, header};
use celador_store::Location;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tower_service::Service as _;

/// Answers requests of the API in this process. It has no address and opens no socket. Callers need no token: whoever
/// has this value may do everything that a server without tokens lets its callers do.
///
/// Settings that are about the network (address, TLS, origins, authentication, webhooks) have no meaning here.
/// Dropping it cuts off requests that are under way on other threads.
///
/// ```
/// use celador_server::{ClientReply, InProcess, Parts, Settings, system_clock};
/// use celador_store::{Database, Location};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
///
/// let settings = Settings::new(vec!["examples/first-policy".into()]);
/// let database = Database::open(&Location::Memory, &settings.limits.store)?;
/// let desk = InProcess::open(settings, Parts { clock: system_clock()?, database, log: None })?;
///
/// let task = br#"{"id": "t-1", "namespace": "shop", "agent": "clerk", "user": {"id": "u-7"}}"#;
/// assert_eq!(desk.send("POST", "/v1/tasks", &[], Some(task))?.status, 201);
/// let call = br#"{"function": "payout", "arguments": {"amount": 40}}"#;
/// let ClientReply { status, body } = desk.send("POST", "/v1/tasks/t-1/before", &[], Some(call))?;
/// assert_eq!(status, 200);
/// assert!(String::from_utf8(body)?.contains(r#""verdict":"allow""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct InProcess {
    router: Router,
    service: Arc<Service>,
    stop: watch::Sender<bool>,
    /// Ended on a thread of its own, as who drops this may be a task of another runtime.
    runtime: Option<Runtime>,
}

impl InProcess {
    /// Reads the manifests that the settings name. Nothing is done beside requests until [`keep_up`](Self::keep_up): a process that
    /// answers one request and ends leaves the rest to others of the same store.
    ///
    /// # Errors
    /// [`ServeError`], but for those of a network.
    pub fn open(settings: Settings, parts: Parts) -> Result<Self, ServeError> {
        let steps_at_once = *parts.database.location() == Location::Memory;
        let manifests = ReadManifests::of(&settings)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .event_interval(EVENT_INTERVAL)
            .enable_all()
            .thread_name("celador")
            .max_blocking_threads(most_threads(&settings.limits))
            .build()?;
        let address = settings.address;
        let service = Service { steps_at_once, ..Service::open(settings, manifests, parts, address)? };
        let service = Arc::new(service);
        let (stop, _) = watch::channel(false);
        Ok(Self { router: router(&service), service, stop, runtime: Some(runtime) })
    }

    /// From now on does beside requests what a server does: looks at the files of manifests, denies reviews that have expired,
    /// refuses calls that have waited too long, removes what is over its age. To be called once.
    pub fn keep_up(&self) {
        if let Some(runtime) = &self.runtime {
            upkeep::keep_up(runtime.handle(), &self.service, &self.stop.subscribe());
        }
    }

    /// Answers one request. A body is JSON; a path may have a query. May be called from many threads, and not from a task of an
    /// asynchronous runtime, which it would stop: [`answer`](Self::answer) is for those.
    ///
    /// # Errors
    /// [`ClientError::Text`] for what is no method, path or header, [`ClientError::TooLarge`] for an answer without end, as that of a
    /// stream of reviews.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<ClientReply, ClientError> {
        match &self.runtime {
            Some(runtime) => {
                runtime.block_on(answer(self.router.clone(), request(method, path, headers, body)?))
            }
            None => Err(ClientError::Broken(String::new())),
        }
    }

    /// As [`send`](Self::send), for somebody whom this process knows: it vouches for them as a server's tokens do. Reviews are theirs to
    /// answer if they are addressed to them, and say who answered. The tasks are those of [`send`](Self::send).
    ///
    /// # Errors
    /// As [`send`](Self::send).
    ///
    /// ```
    /// use celador_server::{InProcess, Parts, Person, Settings, system_clock};
    /// use celador_store::{Database, Location};
    /// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
    ///
    /// let settings = Settings::new(vec!["examples/first-policy".into()]);
    /// let database = Database::open(&Location::Memory, &settings.limits.store)?;
    /// let desk = InProcess::open(settings, Parts { clock: system_clock()?, database, log: None })?;
    /// let task = br#"{"id": "t-1", "namespace": "shop", "agent": "clerk", "user": {"id": "u-7"}}"#;
    /// desk.send("POST", "/v1/tasks", &[], Some(task))?;
    /// let call = br#"{"function": "payout", "arguments": {"amount": 250}}"#;
    /// desk.send("POST", "/v1/tasks/t-1/before", &[], Some(call))?;
    ///
    /// let listed = String::from_utf8(desk.send("GET", "/v1/reviews", &[], None)?.body)?;
    /// let id = listed.split('"').find(|part| part.starts_with("rv_")).ok_or("250 needs a review")?;
    /// let answer = |person: &Person| {
    ///     desk.send_as(person, "POST", &format!("/v1/reviews/{id}"), Some(br#"{"answer": "approve"}"#))
    /// };
    /// assert_eq!(answer(&Person { id: "u-8".into(), ..Person::default() })?.status, 403);
    /// let lead = Person { id: "u-9".into(), email: Some("lead@example.com".into()), groups: Vec::new() };
    /// assert_eq!(answer(&lead)?.status, 200);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn send_as(
        &self,
        person: &Person,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
    ) -> Result<ClientReply, ClientError> {
        let mut request = request(method, path, &[], body)?;
        request.extensions_mut().insert(VouchedFor(identity::Person {
            subject: person.id.clone(),
            is_named: true,
            email: person.email.clone(),
            groups: person.groups.clone(),
            ..identity::Person::default()
        }));
        match &self.runtime {
            Some(runtime) => runtime.block_on(answer(self.router.clone(), request)),
            None => Err(ClientError::Broken(String::new())),
        }
    }

    /// As [`send`](Self::send), for asynchronous callers, under any runtime.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn answer(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<ClientReply, ClientError> {
        let request = request(method, path, headers, body)?;
        let Some(runtime) = &self.runtime else { return Err(ClientError::Broken(String::new())) };
        let mut answering = pin!(answer(self.router.clone(), request));
        // timers and threads are this runtime's, whatever polls
        poll_fn(|context| {
            let _within = runtime.enter();
            answering.as_mut().poll(context)
        })
        .await
    }
}

/// Somebody who answers reviews, as a program knows them that has the server inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// Their id, by which policies may address them.
    pub id: String,
    /// Their e-mail address.
    pub email: Option<String>,
    /// The groups that they are in.
    pub groups: Vec<String>,
}

impl Drop for InProcess {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        self.service.tasks.feed.close();
        let Some(runtime) = self.runtime.take() else { return };
        // a connection to Postgres blocks where it is closed, so the last handle must not go within a runtime: neither this one, whose
        // tasks have handles, nor that of whoever drops this
        let last = (self.router.clone(), self.service.clone());
        let close = move || {
            runtime.shutdown_timeout(CLOSING);
            drop(last);
        };
        // without a thread they stay open until the process ends
        drop(std::thread::Builder::new().name("celador".into()).spawn(close));
    }
}

/// How long requests on other threads may take that were under way when their service was dropped.
const CLOSING: Duration = Duration::from_secs(5);

/// The largest body of an answer, as of those that come over a network.
const MAX_REPLY_BYTES: usize = 67_108_864;

/// A request of this process to itself.
fn request(
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&[u8]>,
) -> Result<Request<Body>, ClientError> {
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| ClientError::Text)?;
    let path: Uri = path.parse().map_err(|_| ClientError::Text)?;
    let mut request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
    if body.is_some() {
        request = request.header(header::CONTENT_TYPE, JSON);
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_vec()));
    request.body(body).map_err(|_| ClientError::Text)
}

async fn answer(mut router: Router, request: Request<Body>) -> Result<ClientReply, ClientError> {
    let Ok(response) = router.call(request).await;
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), MAX_REPLY_BYTES).await.map_err(|_| ClientError::TooLarge)?;
    Ok(ClientReply { status, body: body.to_vec() })
}
