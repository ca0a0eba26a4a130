//! Server-sent events: read from bytes as they come, and written.
//!
//! In: pieces of a stream, cut anywhere. Out: the data of each event, with the bytes that it came as. An event that is longer than
//! its bound is refused, so a stream without end of line takes no memory without end.

use serde_json::Value;

/// The largest event that is read.
const MAX_EVENT_BYTES: usize = 16_777_216;

/// What has come of a stream and is no whole event yet.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pending: Vec<u8>,
    /// Where to look for the end of the event: what lies ahead was looked at.
    looked: usize,
}

/// An event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// As it came, with the empty line at its end.
    pub(crate) raw: String,
    /// The lines of its `data`, joined.
    pub(crate) data: String,
}

impl Events {
    /// Takes in a piece of the stream.
    ///
    /// # Errors
    /// An event that is too long.
    pub(crate) fn take(&mut self, piece: &[u8]) -> Result<(), TooLong> {
        self.pending.extend_from_slice(piece);
        if self.pending.len() > MAX_EVENT_BYTES { Err(TooLong) } else { Ok(()) }
    }

    /// The next whole event.
    pub(crate) fn next(&mut self) -> Option<Event> {
        let end = self.end()?;
        let rest = self.pending.split_off(end);
        let raw = String::from_utf8_lossy(&std::mem::replace(&mut self.pending, rest)).into_owned();
        self.looked = 0;
        let value = |line: &str| {
            let value = line.strip_prefix("data:")?;
            Some(value.strip_prefix(' ').unwrap_or(value).to_owned())
        };
        let lines: Vec<String> = raw.lines().filter_map(value).collect();
        Some(Event { data: lines.join("\n"), raw })
    }

    /// Where the first event ends: behind the first empty line.
    fn end(&mut self) -> Option<usize> {
        let from = self.looked.saturating_sub(3);
        let rest = self.pending.get(from..)?;
        let mut at = from;
        for line in rest.split_inclusive(|byte| *byte == b'\n') {
            at = at.saturating_add(line.len());
            let behind = self.pending.get(at..).unwrap_or_default();
            if !line.ends_with(b"\n") {
                break;
            }
            if behind.starts_with(b"\n") {
                return Some(at.saturating_add(1));
            }
            if behind.starts_with(b"\r\n") {
                return Some(at.saturating_add(2));
            }
        }
        self.looked = self.pending.len();
        None
    }
}

/// An event is longer than is taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// An event without a name.
pub(crate) fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// An event with a name.
pub(crate) fn event(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

#[cfg(test)]
mod tests {
    use super::Events;

    #[test]
    fn events_come_whole_wherever_the_stream_is_cut() {
        let stream = "event: a\ndata: {\"x\": 1}\n\n: hello\n\ndata: one\r\ndata: two\r\n\r\ndata:last\n\n";
        let expected = ["{\"x\": 1}", "", "one\ntwo", "last"];
        for size in 1..stream.len() {
            let (mut events, mut found, mut raw) = (Events::default(), Vec::new(), String::new());
            for piece in stream.as_bytes().chunks(size) {
                assert_eq!(events.take(piece), Ok(()));
                while let Some(event) = events.next() {
                    found.push(event.data);
                    raw.push_str(&event.raw);
                }
            }
            assert_eq!((found, &*raw), (expected.map(str::to_owned).to_vec(), stream), "pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut events = Events::default();
        let piece = vec![b'a'; 1 << 20];
        assert!((0..15).all(|_| events.take(&piece).is_ok() && events.next().is_none()));
        assert!((0..2).any(|_| events.take(&piece).is_err()));
    }
}
