//! Server-sent events: read from bytes as they come, and written.
//!
//! In: pieces of a stream, cut anywhere. Out: the data of each event. A line ends with CR, LF or both, as clients read it. An event that
//! is longer than its bound is refused, so a stream without end of line takes no memory without end.

use serde_json::Value;

/// The largest event that is read.
const MAX_EVENT_BYTES: usize = 16_777_216;

/// What has come of a stream and is no whole event yet.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// The line that has begun.
    line: Vec<u8>,
    /// The lines of data of the event that has begun.
    data: Option<String>,
    /// Whether the last byte was a CR, behind which an LF ends no other line.
    is_behind_cr: bool,
    has_begun: bool,
    whole: std::collections::VecDeque<String>,
}

impl Events {
    /// Takes in a piece of the stream.
    ///
    /// # Errors
    /// An event that is too long.
    pub(crate) fn take(&mut self, piece: &[u8]) -> Result<(), TooLong> {
        for byte in piece {
            let is_behind_cr = std::mem::replace(&mut self.is_behind_cr, *byte == b'\r');
            match byte {
                b'\n' if is_behind_cr => {}
                b'\r' | b'\n' => self.end_line(),
                byte => self.line.push(*byte),
            }
        }
        let length = self.line.len().saturating_add(self.data.as_ref().map_or(0, String::len));
        if length > MAX_EVENT_BYTES { Err(TooLong) } else { Ok(()) }
    }

    /// The data of the next whole event.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.whole.pop_front()
    }

    fn end_line(&mut self) {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let mut line = &*text;
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix('\u{FEFF}').unwrap_or(line);
        }
        if line.is_empty() {
            self.whole.extend(self.data.take());
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field != "data" {
            return;
        }
        let value = value.strip_prefix(' ').unwrap_or(value);
        match &mut self.data {
            None => self.data = Some(value.to_owned()),
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
        }
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
        let stream = "\u{FEFF}event: a\ndata: {\"x\": 1}\n\n: hello\n\ndata: one\r\ndata: two\r\n\r\ndata:last\n\ndata: a\rdata: b\r\rdata\n\n";
        let expected = ["{\"x\": 1}", "one\ntwo", "last", "a\nb", ""];
        for size in 1..stream.len() {
            let (mut events, mut found) = (Events::default(), Vec::new());
            for piece in stream.as_bytes().chunks(size) {
                assert_eq!(events.take(piece), Ok(()));
                while let Some(event) = events.next() {
                    found.push(event);
                }
            }
            assert_eq!(found, expected.map(str::to_owned).to_vec(), "pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut events = Events::default();
        let piece = vec![b'a'; 1 << 20];
        assert!((0..15).all(|_| events.take(&piece).is_ok() && events.next().is_none()));
        assert!((0..2).any(|_| events.take(&piece).is_err()));
        let mut events = Events::default();
        let lines = "data: aaaaaaaa\n".repeat(1 << 16);
        assert!((0..40).any(|_| events.take(lines.as_bytes()).is_err()), "nor one of many lines");
    }
}
