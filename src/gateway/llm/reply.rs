//! What the client is told over the wire, while its request is still under way.
//!
//! In: an answer whole, or pieces of it. Out: a response, whose body may go on. Who has hung up is told nothing, and everything goes on as
//! if they had not: the model has answered, and the task knows it.

use super::asking::Obstacle;
use super::messages;
use super::upstream::answered;
use super::wire::{Api, json};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use serde_json::Value;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::{mpsc, oneshot};

/// The task that a request was judged in.
const TASK: HeaderName = HeaderName::from_static("x-celador-task");
/// Why an answer is the proxy's own.
const VERDICT: HeaderName = HeaderName::from_static("x-celador-verdict");

/// Pieces that wait for a client to read them. One that reads slowly slows the model's API down, and nothing else.
const MAX_PIECES: usize = 64;

/// Whoever waits for a response.
pub(super) struct Teller {
    head: Option<oneshot::Sender<Response<Body>>>,
    pieces: Option<mpsc::Sender<Bytes>>,
    /// Headers of the model's API that the client gets.
    kept: HeaderMap,
}

impl Teller {
    pub(super) fn new(head: oneshot::Sender<Response<Body>>) -> Self {
        Self { head: Some(head), pieces: None, kept: HeaderMap::new() }
    }

    /// Keeps what the API of the model says beside its answer, such as the id of the request and how many more it takes.
    pub(super) fn keep(&mut self, headers: &HeaderMap) {
        self.kept = answered(headers);
    }

    /// Gives a whole answer.
    pub(super) async fn whole(&mut self, task: &str, verdict: Option<&str>, whole: &Value) {
        let mut headers = self.headers(task, verdict);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.answer(StatusCode::OK, headers, Body::from(whole.to_string()));
    }

    /// Gives an error of the API: in the members that errors have, or one in its place.
    pub(super) async fn pass(
        &mut self,
        api: Api,
        task: &str,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) {
        let read = json::read(body).ok().and_then(|body| api.upstream_error(&body));
        let error =
            read.unwrap_or_else(|| api.error(status.as_u16(), &messages::upstream_status(status.as_u16())));
        if self.pieces.is_some() {
            // what was begun cannot have another status; the error stands in the body
            self.say(api.error_event(&error)).await;
            self.pieces = None;
            return;
        }
        let mut kept = answered(headers);
        kept.extend(self.headers(task, None));
        kept.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.answer(status, kept, Body::from(error.to_string()));
    }

    /// Gives events, of which there are no more.
    pub(super) async fn events(&mut self, task: &str, verdict: Option<&str>, events: String) {
        self.begin(task, verdict);
        self.say(events).await;
        self.pieces = None;
    }

    /// Gives an event, behind which others come.
    pub(super) async fn piece(&mut self, task: &str, event: String) {
        self.begin(task, None);
        self.say(event).await;
    }

    /// Says what stands in the way.
    pub(super) async fn fail(&mut self, api: Api, obstacle: &Obstacle) {
        if self.pieces.is_some() {
            let error = obstacle.upstream.clone().unwrap_or_else(|| api.error(500, &obstacle.message));
            self.say(api.error_event(&error)).await;
            self.pieces = None;
            return;
        }
        self.answer_error(api, obstacle);
    }

    fn answer_error(&mut self, api: Api, obstacle: &Obstacle) {
        if let Some(head) = self.head.take() {
            let _ = head.send(error(api, obstacle));
        }
    }

    fn begin(&mut self, task: &str, verdict: Option<&str>) {
        if self.pieces.is_some() {
            return;
        }
        let (pieces, read) = mpsc::channel(MAX_PIECES);
        self.pieces = Some(pieces);
        let mut headers = self.headers(task, verdict);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        self.answer(StatusCode::OK, headers, Body::new(Pieces(read)));
    }

    async fn say(&mut self, text: String) {
        if let Some(pieces) = &self.pieces {
            let _ = pieces.send(Bytes::from(text)).await;
        }
    }

    fn headers(&self, task: &str, verdict: Option<&str>) -> HeaderMap {
        let mut headers = self.kept.clone();
        for (name, value) in [(TASK, Some(task)), (VERDICT, verdict)] {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        headers
    }

    fn answer(&mut self, status: StatusCode, headers: HeaderMap, body: Body) {
        if let Some(head) = self.head.take() {
            let mut response = Response::new(body);
            *response.status_mut() = status;
            *response.headers_mut() = headers;
            // nobody waits for it any more
            let _ = head.send(response);
        }
    }
}

/// A response that says what stands in the way.
pub(super) fn error(api: Api, obstacle: &Obstacle) -> Response<Body> {
    let body = obstacle.upstream.clone().unwrap_or_else(|| api.error(obstacle.status, &obstacle.message));
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() =
        StatusCode::from_u16(obstacle.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A body that goes on as long as somebody sends pieces.
struct Pieces(mpsc::Receiver<Bytes>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}
