//! `GET /v1/reviews/stream`: reviews as server-sent events, when they are asked and whenever their state changes.
//!
//! In: a caller who listens, and the number of the last event that they had. Out: the reviews behind it that they see, each as it is
//! now, and a comment now and then. A listener holds no thread: they wait for the feed, and read the store in turn. They hold one
//! event in memory at most, as the next is only read when the client has taken it. The token is looked at again ahead of everything
//! that is sent, so that one that was withdrawn hears nothing more.

use crate::identity::Caller;
use crate::messages;
use crate::network::connection::{Exchange, Stage};
use crate::problem::{Kind, Problem};
use crate::service::Service;
use crate::shares::Holder;
use crate::tasks::owner;
use crate::tasks::review_feed::{Count, Listening};
use axum::body::{Body, Bytes, HttpBody};
use celador_store::{ReviewFilter, ReviewRow, ReviewViewer};
use http_body::Frame;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep_until};

/// The media type of streams of events.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// Silence after which a comment is sent, so that whoever stands in between keeps the connection.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// What a stream begins with: how long a client waits before it asks again.
const BEGINNING: &str = "retry: 2000\n\n";

const COMMENT: &str = ":\n\n";

/// Reviews that are read at a time.
const PAGE: usize = 20;

/// Who listens, and how they are known again.
pub(crate) struct Listener {
    pub(crate) caller: Caller,
    pub(crate) holder: Holder,
    /// What finds the caller again, while they may listen.
    pub(crate) again: Box<dyn Fn() -> Option<Caller> + Send + Sync>,
    /// The number of the last event that they had.
    pub(crate) seen: Option<u64>,
}

/// The body of a stream, which ends when its last part is taken or its client goes.
struct Stream {
    parts: Receiver<Bytes>,
    _count: Count<Holder>,
    _exchange: Option<Exchange>,
}

impl HttpBody for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.parts.poll_recv(context).map(|part| part.map(|part| Ok(Frame::data(part))))
    }
}

/// Opens a stream.
///
/// # Errors
/// Too many streams are open; the store does not answer.
pub(crate) async fn open(
    service: &Arc<Service>,
    listener: Listener,
    exchange: Option<Exchange>,
) -> Result<Body, Problem> {
    let bound = service.settings.limits.max_review_streams;
    let count = service.streams.take(listener.holder.clone());
    let count = count
        .ok_or_else(|| Problem::new(Kind::Overloaded, messages::reached("max_review_streams", bound)))?;
    // listened first: what changes from now on is heard of
    let listening = service.tasks.feed.listen();
    let store = service.clone();
    let last = tokio::task::spawn_blocking(move || store.tasks.store.last_review_change()).await;
    let last = last.map_err(|_| Problem::from(Kind::Internal))?;
    let last = last.map_err(|error| service.tasks.problem(&error))?;
    let seen = listener.seen.map_or(last, |seen| seen.min(last));
    // whoever comes again is behind by what they have not seen
    service.tasks.feed.tell(last);
    let (send, parts) = channel(1);
    tokio::spawn(tell(service.clone(), listener, listening, seen, send));
    if let Some(exchange) = &exchange {
        exchange.at(Stage::Stream);
    }
    Ok(Body::new(Stream { parts, _count: count, _exchange: exchange }))
}

/// Sends what there is to send, until the client goes, may not listen any more, or the server stops.
async fn tell(
    service: Arc<Service>,
    listener: Listener,
    mut listening: Listening,
    mut seen: u64,
    send: Sender<Bytes>,
) {
    if send.send(Bytes::from_static(BEGINNING.as_bytes())).await.is_err() {
        return;
    }
    let mut silence = Instant::now();
    loop {
        let comment = silence.checked_add(HEARTBEAT).unwrap_or(silence);
        let last = tokio::select! {
            last = listening.behind(seen) => last,
            () = sleep_until(comment) => Some(seen),
            () = send.closed() => None,
        };
        let (Some(last), Some(caller)) = (last, (listener.again)()) else { return };
        if caller.identity != listener.caller.identity {
            return;
        }
        let text = if last > seen {
            let Some((text, upto)) = read(&service, caller, seen, last).await else { return };
            seen = upto;
            text
        } else {
            COMMENT.to_owned()
        };
        if !text.is_empty() {
            silence = Instant::now();
            if send.send(text.into()).await.is_err() {
                return;
            }
        }
    }
}

/// The events behind a number, and the number up to which nothing is left to be told; nothing if the store does not answer: the
/// client comes again and says how far it was.
async fn read(service: &Arc<Service>, caller: Caller, seen: u64, last: u64) -> Option<(String, u64)> {
    let _turn = service.tasks.feed.turn().await?;
    let reading = service.clone();
    let found = tokio::task::spawn_blocking(move || {
        let (owner, names) = (owner(&caller), super::names_of(&caller));
        let seen_by = names.as_ref().map(|names| ReviewViewer { owner: &owner, names });
        let filter = ReviewFilter { seen_by, ..ReviewFilter::default() };
        reading.tasks.store.reviews_changed(&filter, seen, PAGE)
    });
    let (rows, is_cut) = found.await.ok()?.map_err(|error| service.tasks.problem(&error)).ok()?;
    let told = rows.last().map_or(seen, |row| row.changed);
    let upto = if is_cut { told } else { told.max(last) };
    Some((rows.iter().map(event).collect(), upto))
}

/// A review as an event. JSON has no line breaks of its own, so it is one line.
fn event(row: &ReviewRow) -> String {
    let mut text = String::new();
    let review = serde_json::to_string(&row.review).unwrap_or_default();
    // writing into a text does not fail
    let _ = write!(text, "id: {}\nevent: review\ndata: {review}\n\n", row.changed);
    text
}
