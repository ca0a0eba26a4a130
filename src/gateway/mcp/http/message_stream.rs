//! The messages of one stream of events, in their order, for a reader that may come late or come again.
//!
//! A reader that attaches displaces the one before, whose connection may be broken without notice.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Messages that a stream keeps; for one more, the oldest is dropped.
const MAX_MESSAGES: usize = 512;
/// Bytes that a stream keeps, beyond its newest message.
const MAX_BYTES: usize = 33_554_432;

/// A stream of messages.
pub(super) struct MessageStream {
    pub(super) number: u64,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    messages: VecDeque<StreamMessage>,
    bytes: usize,
    last: u64,
    is_complete: bool,
    /// The number of the reader that is attached, and whether it still reads.
    reader: u64,
    is_read: bool,
}

/// An encoded message and its position in the stream.
#[derive(Clone)]
pub(super) struct StreamMessage {
    pub(super) position: u64,
    pub(super) text: Arc<str>,
    /// Whether it is the response with which the stream ends.
    pub(super) is_last: bool,
}

impl MessageStream {
    pub(super) fn new(number: u64) -> Arc<Self> {
        Arc::new(Self { number, state: Mutex::default(), changed: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a message. Nothing is appended to a complete stream.
    pub(super) fn push(&self, text: String, is_last: bool) {
        let mut state = self.state();
        if state.is_complete {
            return;
        }
        state.is_complete = is_last;
        state.last = state.last.saturating_add(1);
        state.bytes = state.bytes.saturating_add(text.len());
        let message = StreamMessage { position: state.last, text: text.into(), is_last };
        state.messages.push_back(message);
        while state.messages.len() > 1 && (state.messages.len() > MAX_MESSAGES || state.bytes > MAX_BYTES) {
            if let Some(dropped) = state.messages.pop_front() {
                state.bytes = state.bytes.saturating_sub(dropped.text.len());
            }
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Ends the stream without a response.
    pub(super) fn end(&self) {
        self.state().is_complete = true;
        self.changed.notify_waiters();
    }

    /// Whether a reader is attached.
    pub(super) fn is_read(&self) -> bool {
        self.state().is_read
    }

    /// Bytes that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// Attaches a reader that has seen everything up to a position.
    pub(super) fn attach(self: &Arc<Self>, seen: u64) -> StreamReader {
        let mut state = self.state();
        state.reader = state.reader.wrapping_add(1);
        state.is_read = true;
        let number = state.reader;
        drop(state);
        self.changed.notify_waiters();
        StreamReader { stream: self.clone(), number, seen }
    }
}

/// The one who reads a stream.
pub(super) struct StreamReader {
    stream: Arc<MessageStream>,
    number: u64,
    seen: u64,
}

impl StreamReader {
    pub(super) fn number_of_stream(&self) -> u64 {
        self.stream.number
    }

    /// The next message; nothing at the end of the stream, or once another reader is attached.
    pub(super) async fn next(&mut self) -> Option<StreamMessage> {
        let stream = self.stream.clone();
        loop {
            let changed = stream.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let state = stream.state();
                if state.reader != self.number {
                    return None;
                }
                if let Some(message) = state.messages.iter().find(|it| it.position > self.seen) {
                    self.seen = message.position;
                    return Some(message.clone());
                }
                if state.is_complete {
                    return None;
                }
            }
            changed.await;
        }
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        let mut state = self.stream.state();
        if state.reader == self.number {
            state.is_read = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_MESSAGES, MessageStream};

    #[tokio::test]
    async fn a_stream_is_read_in_order_and_again_from_a_position() {
        let stream = MessageStream::new(1);
        stream.push("a".to_owned(), false);
        let mut reader = stream.attach(0);
        assert_eq!(&*reader.next().await.unwrap().text, "a");
        stream.push("b".to_owned(), true);
        stream.push("after the response".to_owned(), false);
        let mut again = stream.attach(0);
        assert!(reader.next().await.is_none(), "a reader that comes again displaces the one before");
        assert_eq!(&*again.next().await.unwrap().text, "a");
        let last = again.next().await.unwrap();
        assert_eq!((&*last.text, last.is_last), ("b", true));
        assert!(again.next().await.is_none());
        drop(again);
        assert!(!stream.is_read());
    }

    #[tokio::test]
    async fn the_oldest_messages_are_dropped_beyond_the_limit() {
        let stream = MessageStream::new(1);
        for number in 0..MAX_MESSAGES + 2 {
            stream.push(number.to_string(), false);
        }
        assert_eq!(&*stream.attach(0).next().await.unwrap().text, "2");
    }
}
