//! From an HTTP request to a route's answer: who asks, how much, how long, and what is told of it.
//!
//! In: a request whose path and method are a route's. Out: a response, always: an answer, or a problem with a status. Before
//! a route's function runs, its caller is known and allowed, its body is within its bound, and there is room for it. What
//! has begun goes on to its end even if nobody waits any more, so that nothing is half done.

use super::identity::Caller;
use super::messages;
use super::network::connection::{Connection, Exchange, Sent, Stage};
use super::operations::pending::{Pauses, wait_of};
use super::problem::{Kind, Problem};
use super::protocols;
use super::request::{Answer, JSON, Request};
use super::reviews::review_stream::{self, Listener};
use super::room::{Room, Taken};
use super::route::{Access, Body, Route, Work};
use super::service::Service;
use super::shares::Holder;
use super::task_request::{OnceKey, TaskRequest};
use axum::body::{Bytes, HttpBody, to_bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use celador_service::{OperationAnswer, PROBLEM_JSON};
use celador_store::conversation;
use std::net::{IpAddr, Ipv4Addr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};
use tracing::{Instrument, info, info_span};

/// The entry of all routes.
#[derive(Clone)]
pub(super) struct Gate {
    service: Arc<Service>,
    room: Arc<Room>,
}

/// Names of headers that have no constant.
const REQUEST_ID: &str = "x-request-id";
const IDEMPOTENCY_KEY: &str = "idempotency-key";
const LAST_EVENT_ID: &str = "last-event-id";
const UNBUFFERED: &str = "x-accel-buffering";

/// The one way to say who one is.
const BEARER: &str = "Bearer";

/// The seconds after which who was sent away may come again.
const RETRY_AFTER: &str = "1";

impl Gate {
    /// The network address from which a request comes; that of a request within the process is not known.
    fn address(&self, parts: &Parts) -> Option<IpAddr> {
        let connection = parts.extensions.get::<Arc<Connection>>()?;
        self.service.proxies.address(connection.address, &parts.headers)
    }

    pub(super) fn new(service: Arc<Service>) -> Self {
        let room = Arc::new(Room::new(service.settings.limits));
        Self { service, room }
    }

    /// Answers a request of a route.
    pub(super) async fn serve(
        self,
        route: Arc<Route>,
        ids: [String; 2],
        request: axum::extract::Request,
    ) -> Response {
        let (parts, body) = request.into_parts();
        let request_id = request_id(&parts.headers);
        if route.work == Work::Stream {
            return self.stream(&route, &parts, &request_id).await;
        }
        let span = info_span!("request", id = %request_id, operation = route.operation);
        let begun = Instant::now();
        let mut body = Some(body);
        let exchange = exchange(&parts);
        let answered =
            self.answer(&route, ids, &parts, &mut body, exchange.as_ref()).instrument(span.clone()).await;
        let (status, refused) = match &answered {
            Ok(answer) => (answer.status, ""),
            Err(problem) => (problem.kind.status(), problem.kind.word()),
        };
        let took = begun.elapsed();
        self.service.metrics.request(route.operation, status, took);
        span.in_scope(|| {
            let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            info!(status, problem = refused, micros, "answered");
        });
        at(exchange.as_ref(), Stage::Body);
        let rest = match body {
            // whoever waits to be told to send the body is not told so
            Some(_) if parts.headers.contains_key(header::EXPECT) => None,
            Some(body) => drained(body).await,
            None => Some(Bytes::new()),
        };
        let response = match answered {
            Ok(answer) => respond(answer, exchange),
            // JSON-RPC wants its id back, if it has come by now
            Err(problem) if route.takes == Body::Raw && problem.kind == Kind::Unauthenticated => {
                let nobody = protocols::nobody(rest.as_deref().unwrap_or_default());
                with_advice(respond(nobody, exchange), &problem)
            }
            Err(problem) if route.takes == Body::Raw => refuse_rpc(&problem, exchange),
            Err(problem) => refuse(&problem, &request_id, exchange),
        };
        self.marked(if rest.is_some() { response } else { last(response) }, &parts.headers, &request_id)
    }

    /// Opens a stream for a request of a route that is answered by one.
    async fn stream(&self, route: &Route, parts: &Parts, request_id: &str) -> Response {
        let exchange = exchange(parts);
        let opened = self.listener(route, parts, exchange.as_ref());
        let (status, response) = match opened {
            Ok(listener) => match review_stream::open(&self.service, listener, exchange).await {
                Ok(body) => {
                    let mut response = Response::new(body);
                    let headers = response.headers_mut();
                    let media_type = HeaderValue::from_static(review_stream::EVENT_STREAM);
                    headers.insert(header::CONTENT_TYPE, media_type);
                    // whoever stands in between must not gather what is to be told at once
                    headers.insert(HeaderName::from_static(UNBUFFERED), HeaderValue::from_static("no"));
                    (StatusCode::OK.as_u16(), response)
                }
                Err(problem) => (problem.kind.status(), refuse(&problem, request_id, None)),
            },
            Err(problem) => (problem.kind.status(), refuse(&problem, request_id, exchange)),
        };
        self.service.metrics.request(route.operation, status, Duration::ZERO);
        self.marked(response, &parts.headers, request_id)
    }

    /// Who listens to a stream, if they may.
    fn listener(
        &self,
        route: &Route,
        parts: &Parts,
        exchange: Option<&Exchange>,
    ) -> Result<Listener, Problem> {
        let caller = self.caller(route, parts, exchange)?;
        let seen = parts.headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()?.parse().ok());
        let (gate, access, headers) = (self.clone(), route.access, parts.headers.clone());
        let again = Box::new(move || gate.admit(access, &headers).ok());
        Ok(Listener { holder: holder(&caller, parts), caller, again, seen })
    }

    /// Answers a request for a path or method that no route has.
    pub(super) fn nowhere(&self, kind: Kind, request: axum::extract::Request) -> Response {
        let (parts, _) = request.into_parts();
        let (request_id, exchange) = (request_id(&parts.headers), exchange(&parts));
        let response = self.service.origins.preflight(&parts).unwrap_or_else(|| {
            let problem = self.service.origins.admit(&parts).err().unwrap_or_else(|| kind.into());
            refuse(&problem, &request_id, exchange)
        });
        self.marked(response, &parts.headers, &request_id)
    }

    /// What every response says: its request, that nobody on the way may keep it, and which pages may see it.
    fn marked(&self, mut response: Response, asked: &HeaderMap, request_id: &str) -> Response {
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Ok(id) = HeaderValue::from_str(request_id) {
            headers.insert(HeaderName::from_static(REQUEST_ID), id);
        }
        self.service.origins.mark(asked, headers);
        response
    }

    async fn answer(
        &self,
        route: &Arc<Route>,
        ids: [String; 2],
        parts: &Parts,
        body: &mut Option<axum::body::Body>,
        exchange: Option<&Exchange>,
    ) -> Result<Answer, Problem> {
        let limits = &self.service.settings.limits;
        let caller = self.caller(route, parts, exchange)?;
        let holder = holder(&caller, parts);
        let time = Duration::from_millis(limits.max_request_ms);
        let begun = Instant::now();
        at(exchange, Stage::Body);
        let body = timeout(time, self.body(route.takes, &parts.headers, body, &holder, exchange));
        let Taken { bytes, held } = body.await.unwrap_or_else(|_| Err(Kind::SlowRequest.into()))?;
        at(exchange, Stage::Work);
        let entered = self.room.enter(route.work, bytes.len(), &holder);
        let entered = timeout(time.saturating_sub(begun.elapsed()), entered);
        let held = (held, entered.await.unwrap_or_else(|_| Err(Kind::Overloaded.into()))?);
        let [id, part] = ids;
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let wait = if route.waits { wait_of(&query, limits.max_pending_ms)? } else { None };
        let of_call = wait.map(|wait| (wait, caller.clone(), id.clone()));
        let request = Request {
            caller,
            target: format!("{} {}", parts.method, parts.uri.path()),
            id,
            part,
            query,
            body: bytes,
            key: key(&parts.headers, limits.max_idempotency_key_bytes)?,
            headers: texts(&parts.headers),
            address: self.address(parts),
        };
        if route.work == Work::None {
            return route.action.run(&self.service, &request);
        }
        let left = time.saturating_sub(begun.elapsed());
        let answer = match route.work {
            Work::Step if self.service.steps_at_once => {
                // what it holds it needs no longer, whatever it waits for afterwards
                let _held = held;
                done_by(&self.service, |service| route.action.run(service, &request))?
            }
            _ => {
                let action = route.action;
                self.work(move |service| action.run(service, &request), held, left).await?
            }
        };
        match of_call {
            Some(of_call) => Ok(self.until_decided(answer, of_call, &holder).await),
            None => Ok(answer),
        }
    }

    /// Has something done on a thread of its own, with what the request holds.
    async fn work<H: Send + 'static, T: Send + 'static>(
        &self,
        work: impl FnOnce(&Service) -> Result<T, Problem> + Send + 'static,
        held: H,
        time: Duration,
    ) -> Result<T, Problem> {
        let (service, span) = (self.service.clone(), tracing::Span::current());
        let work = tokio::task::spawn_blocking(move || {
            let _held = held;
            let _span = span.enter();
            done_by(&service, work)
        });
        match timeout(time, work).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Kind::Internal.into()),
            Err(_) => {
                let most = self.service.settings.limits.max_request_ms;
                Err(Problem::new(Kind::TimedOut, messages::request_over(most)))
            }
        }
    }

    /// Waits until the calls are decided that an answer leaves pending, or the server stops. Meanwhile the request holds nothing; it looks
    /// at them from time to time, in its turn. An answer that cannot be looked for any more is the last one that was true.
    async fn until_decided(
        &self,
        mut answer: Answer,
        (wait, caller, task): (Duration, Caller, String),
        holder: &Holder,
    ) -> Answer {
        let mut pauses = Pauses::new(wait);
        let time = Duration::from_millis(self.service.settings.limits.max_request_ms);
        let Ok(mut told) = serde_json::from_slice::<OperationAnswer<'static>>(&answer.body) else {
            return answer;
        };
        if !told.is_pending() {
            return answer;
        }
        while told.is_pending() {
            let Some(pause) = pauses.next() else { break };
            let stops = tokio::select! {
                () = sleep(pause) => false,
                () = self.service.tasks.feed.closed() => true,
            };
            let held = match self.room.enter(Work::Step, 0, holder).await {
                Ok(held) => held,
                Err(_) if stops => break,
                // a server with much to do is asked again later
                Err(_) => continue,
            };
            let request = TaskRequest::new(caller.clone(), &task);
            let before = told.clone();
            let look = move |service: &Service| service.standing_now(&request, &before);
            match self.work(look, held, time).await {
                Ok(present) => told = present,
                Err(_) => break,
            }
            if stops {
                break;
            }
        }
        if let Ok(present) = Answer::json(answer.status, &told) {
            answer.body = present.body;
        }
        answer
    }

    /// The caller of a route, if the headers are small enough, the page that asks is no other site's, and they may. Who is known
    /// keeps the connection longer.
    fn caller(&self, route: &Route, parts: &Parts, exchange: Option<&Exchange>) -> Result<Caller, Problem> {
        let most = self.service.settings.limits.max_header_bytes;
        if header_bytes(parts) > most {
            return Err(Problem::new(Kind::HeaderTooLarge, messages::header_over(most)));
        }
        self.service.origins.admit(parts)?;
        let caller = self.admit(route.access, &parts.headers)?;
        if let Some(exchange) = exchange.filter(|_| caller.identity.is_some()) {
            exchange.is_known();
        }
        Ok(caller)
    }

    /// The caller, if they may.
    fn admit(&self, access: Access, headers: &HeaderMap) -> Result<Caller, Problem> {
        if access == Access::Public {
            return Ok(Caller::anybody());
        }
        let header = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
        let caller = self.service.authority.caller(header, self.service.now()).map_err(|refused| {
            info!(why = refused.as_str(), "nobody is known to ask");
            Problem::from(Kind::Unauthenticated)
        })?;
        match access {
            Access::Needs(scope) if !caller.may(scope) => Err(Problem::lacking(scope)),
            _ => Ok(caller),
        }
    }

    async fn body(
        &self,
        takes: Body,
        headers: &HeaderMap,
        body: &mut Option<axum::body::Body>,
        holder: &Holder,
        exchange: Option<&Exchange>,
    ) -> Result<Taken, Problem> {
        // JSON-RPC has a word of its own for no body at all
        let is_none = takes == Body::Raw
            && !headers.contains_key(header::CONTENT_TYPE)
            && body.as_ref().is_some_and(HttpBody::is_end_stream);
        if takes != Body::None && !is_none && !is_json(headers) {
            return Err(Problem::new(Kind::NotJson, messages::media_type()));
        }
        let most = if takes == Body::None { 0 } else { self.service.settings.limits.max_body_bytes };
        let too_large = || Problem::new(Kind::TooLarge, messages::body_over(most));
        let said =
            headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if said.is_some_and(|said| said > most as u64) {
            return Err(too_large());
        }
        let body = body.take().unwrap_or_default();
        let said = said.and_then(|said| said.try_into().ok());
        self.room.read(body, most, said, holder, exchange).await
    }
}

/// Has something done on this thread. A panic in it is the caller's answer, and nobody else's end.
pub(super) fn done_by<T>(
    service: &Service,
    work: impl FnOnce(&Service) -> Result<T, Problem>,
) -> Result<T, Problem> {
    service.metrics.in_flight.inc();
    let done = catch_unwind(AssertUnwindSafe(|| work(service)));
    service.metrics.in_flight.dec();
    done.unwrap_or_else(|_| Err(Kind::Internal.into()))
}

/// Who shares of the server are for.
fn holder(caller: &Caller, parts: &Parts) -> Holder {
    let peer = || parts.extensions.get::<Arc<Connection>>().map(|connection| connection.peer);
    match &caller.identity {
        Some(identity) => Holder::Identity(identity.clone()),
        // every request comes over a connection
        None => Holder::Peer(peer().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))),
    }
}

/// The length of a header as HTTP/1.1 writes it, with one blank where any number may stand; an address with a host, as
/// HTTP/2 has it, counts as the line that HTTP/1.1 has for it.
fn header_bytes(parts: &Parts) -> usize {
    let line = |parts: &[&str]| parts.iter().map(|part| part.len()).fold(2, usize::saturating_add);
    let address = parts.uri.path_and_query().map_or("", |address| address.as_str());
    let host = parts.uri.authority().map_or(0, |host| line(&["host: ", host.as_str()]));
    let fields =
        parts.headers.iter().map(|(name, value)| line(&[name.as_str(), ": "]).saturating_add(value.len()));
    let first = line(&[parts.method.as_str(), " ", address, " HTTP/1.1"]);
    fields.fold(line(&[]), usize::saturating_add).saturating_add(first).saturating_add(host)
}

/// The rest of a body that nobody wants, if it could be read: a client that is still sending may not see its answer
/// otherwise. A long one is not worth it.
async fn drained(body: axum::body::Body) -> Option<Bytes> {
    timeout(Duration::from_millis(500), to_bytes(body, 65_536)).await.ok()?.ok()
}

/// The last response of its connection.
fn last(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(JSON)
}

fn key(headers: &HeaderMap, most: usize) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| values.next().is_none() && OnceKey::is_valid(text, most));
    let text = text.ok_or_else(|| Problem::new(Kind::BadRequest, messages::bad_key(most)))?;
    Ok(Some(text.to_owned()))
}

fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    headers.iter().filter(|(name, _)| **name != header::AUTHORIZATION).filter_map(text).collect()
}

/// The id that the client gave, if it can stand in a log; one of ours otherwise.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let given = given.filter(|id| {
        (1..=64).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    });
    given.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned)
}

/// The request among those of its connection.
fn exchange(parts: &Parts) -> Option<Exchange> {
    parts.extensions.get::<Arc<Connection>>().map(Connection::request)
}

fn at(exchange: Option<&Exchange>, stage: Stage) {
    if let Some(exchange) = exchange {
        exchange.at(stage);
    }
}

fn respond(answer: Answer, exchange: Option<Exchange>) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = match exchange {
        Some(exchange) => Bytes::from_owner(Sent::new(answer.body, exchange)),
        None => answer.body.into(),
    };
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(answer.media_type));
    for (name, value) in answer.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    response
}

fn refuse(problem: &Problem, request_id: &str, exchange: Option<Exchange>) -> Response {
    let body = problem.to_json(&format!("urn:celador:request:{request_id}"));
    let answer =
        Answer { status: problem.kind.status(), media_type: PROBLEM_JSON, body, headers: Vec::new() };
    with_advice(respond(answer, exchange), problem)
}

/// The same for JSON-RPC: the status says what HTTP needs, the code what its clients look at (PROTOCOLS 4.5).
fn refuse_rpc(problem: &Problem, exchange: Option<Exchange>) -> Response {
    let (code, message) = match problem.kind {
        Kind::TooLarge
        | Kind::HeaderTooLarge
        | Kind::BadRequest
        | Kind::NotJson
        | Kind::ForeignHost
        | Kind::ForeignOrigin => (-32600, "Invalid Request"),
        _ => (-32603, "Internal error"),
    };
    let answer = Answer {
        status: problem.kind.status(),
        media_type: JSON,
        body: serde_json::to_vec(&conversation::error(code, message)).unwrap_or_default(),
        headers: Vec::new(),
    };
    with_advice(respond(answer, exchange), problem)
}

fn with_advice(mut response: Response, problem: &Problem) -> Response {
    let headers = response.headers_mut();
    if problem.kind == Kind::Unauthenticated {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(BEARER));
    }
    if problem.kind.is_passing() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER));
    }
    response
}
