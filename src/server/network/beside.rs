//! Listeners that stand beside the server, such as the gateways', with the same bounds on connections.
//!
//! In: a socket that listens, a function that answers a request, a signal. Out: nothing until the signal, then what was begun is
//! finished. A connection that asks for nothing, sends a header or a body by halves, or does not read its answer is ended or makes
//! room for another one, as those of the server do.

use super::connection::{Connection, Exchange, Stage};
use super::listen;
use crate::limits::ServerLimits;
use crate::telemetry::metrics::Metrics;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{Method, header};
use axum::response::Response;
use http_body::{Frame, SizeHint};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Listens at an address, within a runtime of tokio. Nothing is answered until [`serve_beside`].
///
/// # Errors
/// An address that is in use, or not one of this machine.
pub fn listen_beside(address: SocketAddr) -> io::Result<TcpListener> {
    listen::bind(address)
}

/// Answers requests until the signal comes, and finishes what was begun.
pub async fn serve_beside<F, R>(
    listener: TcpListener,
    limits: ServerLimits,
    stop: impl Future<Output = ()>,
    answer: F,
) where
    F: Fn(Request) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Response> + Send + 'static,
{
    let router = Router::new().fallback(move |request: Request| served(answer.clone(), request));
    let (told, stopped) = watch::channel(false);
    let serving = listen::listen(listener, router, None, Arc::new(Metrics::new()), limits, stopped);
    tokio::pin!(serving, stop);
    tokio::select! {
        () = &mut serving => return,
        () = &mut stop => {}
    }
    told.send_replace(true);
    serving.await;
}

/// Answers one request, and tells its connection what it is at meanwhile.
async fn served<F, R>(answer: F, mut request: Request) -> Response
where
    F: Fn(Request) -> R,
    R: Future<Output = Response>,
{
    let exchange = request.extensions_mut().remove::<Arc<Connection>>().map(|it| Arc::new(it.request()));
    let listens = *request.method() == Method::GET;
    if let Some(exchange) = &exchange {
        exchange.at(Stage::Body);
    }
    let held = exchange.clone();
    let request = request.map(|body| Body::new(Held { body, exchange: held, then: Some(Stage::Work) }));
    let response = answer(request).await;
    if let Some(exchange) = &exchange {
        let media_type = response.headers().get(header::CONTENT_TYPE);
        let streams = media_type.is_some_and(|it| it.as_bytes().starts_with(b"text/event-stream"));
        // a stream that was asked for by itself goes on for ever, and its client comes again
        exchange.at(if listens && streams { Stage::Stream } else { Stage::Work });
    }
    response.map(|body| Body::new(Held { body, exchange, then: None }))
}

/// A body with the request that it belongs to.
struct Held {
    body: Body,
    exchange: Option<Arc<Exchange>>,
    /// What the request is at once the body has come whole, or is not wanted.
    then: Option<Stage>,
}

impl Held {
    fn end(&mut self) {
        if let (Some(exchange), Some(stage)) = (self.exchange.take(), self.then) {
            exchange.at(stage);
        }
    }
}

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.end();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.end();
    }
}
