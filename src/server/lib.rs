//! The server: decisions over HTTP for runtimes in any language, and the protocols of conversation contexts.
//!
//! In: [`Settings`], a clock and a store. Out: a [`Server`] that answers until it is stopped. A request passes the gate (who
//! asks, how much, how long), then the one function of its route, which runs on a thread of its own, decides, waits until
//! the decision is durable, and answers. Nothing of a task stands in a log, a figure, a trace or a problem.
//!
//! ```
//! use celador_server::{Parts, Server, Settings, system_clock};
//! use celador_store::{Database, Location};
//! use std::io::{Read as _, Write as _};
//! # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
//!
//! let mut settings = Settings::new(vec!["policies/support-desk".into()]);
//! settings.address.set_port(0); // one that is free
//! let database = Database::open(&Location::Memory, &settings.limits.store)?;
//! let server = Server::start(settings, Parts { clock: system_clock()?, database, log: None })?;
//!
//! let mut connection = std::net::TcpStream::connect(server.address())?;
//! let task = r#"{"namespace": "support", "agent": "support-desk", "user": {"id": "u-7"}}"#;
//! write!(
//!     connection,
//!     "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{task}",
//!     task.len()
//! )?;
//! let mut answer = String::new();
//! connection.read_to_string(&mut answer)?;
//! assert!(answer.starts_with("HTTP/1.1 201 Created"), "{answer}");
//! server.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file or folder | what |
//! |---|---|
//! | `route`, `routes` | what a route is; the table of them, each row's function |
//! | `operations` | what the routes do, each with the bodies that it alone has: steps and turns of tasks, lists, switches, counters, policies of tasks, expressions that are tried out |
//! | `tasks` | the tasks of all callers: in memory, in the store behind them, in the decision log |
//! | `hooks` | hooks of agents that people run, as operations on the task of a session |
//! | `reviews` | what people are asked, and what they answer: over HTTP, on the page, in the stream, by webhooks |
//! | `network` | sockets: how many connections, how long each, TLS; hosts and web pages that requests may come from |
//! | `telemetry` | logs, figures, spans, and the words for what went wrong |
//! | `openapi` | the document that describes the routes, which a test stores as `openapi.json` (feature `schema`) |
//! | `protocols` | JSON-RPC of conversation contexts, the agent card |
//! | `agent_contexts` | the context store of Aletheia agents |
//! | `gate` | bounds, statuses, and who goes in |
//! | `room`, `shares` | whose turn it is: places, evaluations, bytes of bodies |
//! | `auth`, `identity` | tokens in, callers out |
//! | `request`, `query` | a request that was let in, its body and its query as types |
//! | `task_request` | what a task needs of a request, however it came |
//! | `in_process`, `task_backend` | the tasks of a program by one trait: in its process without a network, or on a server |
//! | `problem`, `messages` | everything that is said when it is not done |
//! | `manifests`, `digest_list` | what is served, and how it is replaced when its files have come to rest |
//! | `sweeper` | retention: what is too old goes |
//! | `readiness` | what `/readyz` answers; log and store are tried by writing |
//! | `strict_json`, `traffic` | for components between two programs: JSON that all readers read alike, and what is done with each form of message |
//! | `service`, `settings`, `limits`, `clock` | what all requests share; what an operator sets; the bounds; the time |

mod agent_contexts;
mod auth;
mod clock;
mod digest_list;
mod error;
mod gate;
mod hooks;
mod identity;
mod in_process;
mod limits;
mod manifests;
mod messages;
mod network;
#[cfg(feature = "schema")]
mod openapi;
mod operations;
mod problem;
mod protocols;
mod query;
mod readiness;
mod request;
mod reviews;
mod room;
mod route;
mod routes;
mod service;
mod settings;
mod shares;
mod stopping;
pub mod strict_json;
mod sweeper;
mod task_backend;
mod task_request;
mod tasks;
mod telemetry;
pub mod traffic;
mod upkeep;

pub use clock::{Clock, system_clock};
pub use error::ServeError;
pub use hooks::{
    EVENTS as HOOK_EVENTS, FORMS as HOOK_FORMS, HookDesk, HookEvent, HookRegistration, UnknownEvent,
    refusal as hook_refusal, stranger as hook_stranger,
};
pub use in_process::InProcess;
pub use limits::ServerLimits;
pub use manifests::ReadManifests;
pub use network::beside::{listen_beside, serve_beside};
pub use service::Parts;
pub use settings::{
    Authentication, DEFAULT_ADDRESS, Jwt, LiveTasks, ReviewWebhook, Settings, Tls, Unreadable,
};
pub use task_backend::TaskBackend;
pub use telemetry::{LogFormat, Sending, Telemetry};

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use gate::Gate;
use network::listen;
use operations::pending;
use problem::Kind;
use reviews::review_webhook::{self, Webhook};
use route::Route;
use service::Service;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::info;

/// The signals of the process, which a server takes before it runs.
///
/// ```
/// use celador_server::{Parts, Server, Settings, system_clock};
/// use celador_store::{Database, Location};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
///
/// let mut settings = Settings::new(vec!["policies/support-desk".into()]);
/// settings.address.set_port(0); // one that is free
/// let database = Database::open(&Location::Memory, &settings.limits.store)?;
/// let server = Server::start(settings, Parts { clock: system_clock()?, database, log: None })?;
///
/// let signals = server.take_signals()?;
/// println!("serving {}", server.address()); // whoever reads this may send a signal
/// let id = std::process::id().to_string();
/// std::process::Command::new("kill").args(["-TERM", &id]).status()?;
/// server.run(signals); // until that arrives
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

/// A running server. Dropping it cuts off requests that are under way; [`Server::stop`] lets them finish.
pub struct Server {
    address: SocketAddr,
    service: Arc<Service>,
    runtime: Runtime,
    stop: watch::Sender<bool>,
    listening: JoinHandle<()>,
    /// What sends webhooks, if anything does.
    sending: Option<JoinHandle<()>>,
    grace: Duration,
}

impl Server {
    /// Starts a server: reads manifests and keys, listens.
    ///
    /// # Errors
    /// [`ServeError`]; nothing runs then.
    pub fn start(settings: Settings, parts: Parts) -> Result<Self, ServeError> {
        let (address, limits) = (settings.address, settings.limits);
        let tls = settings.tls.as_ref().map(listen::tls).transpose()?;
        let webhook = settings.review_webhook.as_ref().map(Webhook::open).transpose()?;
        let runtime = Builder::new_multi_thread()
            .enable_all()
            .thread_name("celador")
            .event_interval(EVENT_INTERVAL)
            .max_blocking_threads(most_threads(&limits))
            .build()?;
        // sockets belong to a runtime
        let listener = runtime
            .block_on(async { listen::bind(address) })
            .map_err(|reason| ServeError::Address { address, reason })?;
        let address = listener.local_addr()?;
        let manifests = ReadManifests::of(&settings)?;
        let service = Arc::new(Service::open(settings, manifests, parts, address)?);
        let (stop, stopped) = watch::channel(false);
        upkeep::keep_up(runtime.handle(), &service, &stopped);
        let sending = webhook.map(|webhook| {
            runtime.spawn(review_webhook::deliver(service.clone(), Arc::new(webhook), stopped.clone()))
        });
        let (router, metrics) = (router(&service), service.metrics.clone());
        let listening = runtime.spawn(listen::listen(listener, router, tls, metrics, limits, stopped));
        info!(%address, "listening");
        let grace = Duration::from_millis(limits.max_shutdown_ms);
        Ok(Self { address, service, runtime, stop, listening, sending, grace })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Looks at once at the files of manifests, tokens and keys, as it otherwise does every [`Settings::watch`]: twice, a
    /// moment apart, as files are taken only when two looks agree.
    pub fn refresh(&self) {
        self.service.refresh();
        std::thread::sleep(Duration::from_millis(50));
        self.service.refresh();
    }

    /// Does at once the work that is otherwise done every [`Settings::sweep_every`], removing rows that are over their age; and the work of
    /// every ten seconds, writing lines that other processes left for any decision log, denying reviews that have expired, refusing calls that have waited too long. Returns when it is done.
    pub fn sweep(&self) {
        self.service.tidy();
        reviews::expire(&self.service, &|| *self.stop.borrow());
        pending::refuse_overdue(&self.service, &|| *self.stop.borrow());
        self.service.sweep(&|| *self.stop.borrow());
    }

    /// Takes the signals of the process from now on, for [`Server::run`]. A signal that comes between the two is kept for it; one
    /// that came before would have ended the process, so whoever tells others that the server is there does this first.
    ///
    /// # Errors
    /// A system without signals.
    pub fn take_signals(&self) -> Result<Signals, ServeError> {
        // signals belong to the runtime in which they are taken
        let _inside = self.runtime.enter();
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Serves until the process is asked to end (SIGTERM, SIGINT), then stops. SIGHUP loads the manifests anew.
    pub fn run(self, mut signals: Signals) {
        self.runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = signals.terminate.recv() => break info!("asked to end by SIGTERM"),
                    _ = signals.interrupt.recv() => break info!("asked to end by SIGINT"),
                    _ = signals.hangup.recv() => {
                        let service = self.service.clone();
                        // one that panics is as one that found nothing
                        let _ = tokio::task::spawn_blocking(move || service.reload()).await;
                    }
                }
            }
        });
        self.stop();
    }

    /// Accepts no new connections, finishes the requests under way, at most for `max_shutdown_ms`, and ends.
    pub fn stop(self) {
        let begun = Instant::now();
        // the receiver is gone only if listening has ended already
        let _ = self.stop.send(true);
        self.service.tasks.feed.close();
        let _ = self.runtime.block_on(self.listening);
        if let Some(sending) = self.sending {
            // it leaves its place to the next process, if the store lets it in time
            let left = self.grace.saturating_sub(begun.elapsed());
            let _ = self.runtime.block_on(async { timeout(left, sending).await });
        }
        // steps whose client has gone are finished too, in the time that is left
        self.runtime.shutdown_timeout(self.grace.saturating_sub(begun.elapsed()));
        info!("stopped");
    }
}

/// The OpenAPI document of the server, made of its routes and types. `/openapi.json` answers the text of it that was stored in the
/// sources, so this is for whoever stores it (feature `schema`).
///
/// # Errors
/// An operation that the document does not describe, or a type that a request and an answer write differently.
#[cfg(feature = "schema")]
pub fn openapi() -> Result<serde_json::Value, String> {
    openapi::document(&routes::routes())
}

/// Tasks that a thread goes on with before it looks at the sockets again. Parts of large bodies take long for a task: by
/// tokio's own 61 of them a request that has just come would not be noticed for milliseconds.
const EVENT_INTERVAL: u32 = 4;

/// One thread for each request that may be at work, those for probes, and some for looking at files.
fn most_threads(limits: &ServerLimits) -> usize {
    limits.max_requests_in_flight.min(MOST_THREADS).saturating_add(room::PROBES).saturating_add(8)
}

/// Threads that a runtime can count.
const MOST_THREADS: usize = u32::MAX as usize;

/// The router of the table.
fn router(service: &Arc<Service>) -> Router {
    let gate = Gate::new(service.clone());
    let mut router = Router::new();
    for route in routes::routes().into_iter().chain(reviews::review_page::routes()) {
        let Ok(method) = MethodFilter::try_from(route.method.clone()) else { continue };
        router = router.route(route.path, on(method, entry(&gate, route)));
    }
    let nowhere = |kind: Kind| {
        let gate = gate.clone();
        move |request: Request| async move { gate.nowhere(kind, request) }
    };
    router.fallback(nowhere(Kind::UnknownPath)).method_not_allowed_fallback(nowhere(Kind::WrongMethod))
}

/// A response that is on its way.
type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// The parts of a path; nothing for one that is no text.
type Parameters = Result<RawPathParams, RawPathParamsRejection>;

/// A route as axum wants it.
fn entry(
    gate: &Gate,
    route: Route,
) -> impl Fn(Parameters, Request) -> Answering + Clone + Send + Sync + 'static {
    let (gate, route) = (gate.clone(), Arc::new(route));
    move |parameters, request| {
        let (gate, route) = (gate.clone(), route.clone());
        let Ok(parameters) = parameters else {
            return Box::pin(async move { gate.nowhere(Kind::UnknownPath, request) });
        };
        let mut ids = parameters.iter().map(|(_, id)| id.to_owned());
        let ids = [ids.next().unwrap_or_default(), ids.next().unwrap_or_default()];
        Box::pin(gate.serve(route, ids, request))
    }
}
