//! Server-sent events, as the HTML standard defines them: decoded from the pieces of a body, and encoded.
//!
//! A line ends with LF, CR or CRLF. An event over the limit of a message ends the stream.

use super::super::link::MAX_MESSAGE_BYTES;
use std::time::Duration;

/// The media type of a stream of events.
pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// Longest wait that a server may ask of a client that connects again.
const MAX_RETRY: Duration = Duration::from_secs(30);

/// Decoder of a stream of events.
#[derive(Debug, Default)]
pub(super) struct EventDecoder {
    line: Vec<u8>,
    data: Vec<u8>,
    name: Vec<u8>,
    after_cr: bool,
    after_first_line: bool,
    /// The id of the last event, with which a stream is resumed.
    pub(super) last_id: Option<String>,
    /// The wait before the stream is resumed, if the server asks for one.
    pub(super) retry: Option<Duration>,
}

/// An event is longer than a message may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventTooLong;

impl EventDecoder {
    /// Begins anew with the next body, and keeps what resuming the stream needs.
    pub(super) fn restart(&mut self) {
        *self = Self { last_id: self.last_id.take(), retry: self.retry, ..Self::default() };
    }

    /// Decodes one piece of the stream, and returns the data of the messages that end in it.
    ///
    /// # Errors
    /// An event over the limit.
    pub(super) fn feed(&mut self, piece: &[u8]) -> Result<Vec<Vec<u8>>, EventTooLong> {
        let mut messages = Vec::new();
        for byte in piece {
            let is_second_half = self.after_cr && *byte == b'\n';
            self.after_cr = *byte == b'\r';
            match byte {
                _ if is_second_half => {}
                b'\n' | b'\r' => messages.extend(self.end_line()),
                _ if self.line.len().saturating_add(self.data.len()) >= MAX_MESSAGE_BYTES => {
                    return Err(EventTooLong);
                }
                _ => self.line.push(*byte),
            }
        }
        Ok(messages)
    }

    /// Ends a line; returns the data of a message if the line ends one.
    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        let line =
            if self.after_first_line { &*line } else { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line) };
        self.after_first_line = true;
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            let mut data = std::mem::take(&mut self.data);
            // each line of data adds an end of line, and the last one does not count
            data.pop();
            return (!data.is_empty() && (name.is_empty() || name == b"message")).then_some(data);
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => line.split_at_checked(at).unwrap_or_default(),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => self.name = value.to_vec(),
            b"id" if !value.contains(&0) => {
                self.last_id = std::str::from_utf8(value).ok().filter(|id| !id.is_empty()).map(str::to_owned);
            }
            b"retry" => {
                let millis = std::str::from_utf8(value).ok().and_then(|it| it.parse().ok());
                self.retry = millis.map(|it| Duration::from_millis(it).min(MAX_RETRY)).or(self.retry);
            }
            _ => {}
        }
        None
    }
}

/// Encodes an event with a message, whose JSON has no line ends.
pub(super) fn encode_event(id: Option<&str>, message: &str) -> String {
    match id {
        Some(id) => format!("event: message\nid: {id}\ndata: {message}\n\n"),
        None => format!("event: message\ndata: {message}\n\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::{EventDecoder, EventTooLong, MAX_MESSAGE_BYTES, encode_event};

    #[test]
    fn events_are_decoded_however_the_stream_is_cut_and_lines_end() {
        let lines = "\u{feff}data: one\n\n: comment\n\nevent: message\nid: 7\ndata:{\ndata: }\n\nevent: other\ndata: no\n\nretry: 5\ndata\n\ndata: two\n\ndata: cut";
        for end in ["\n", "\r", "\r\n"] {
            let stream = lines.replace('\n', end);
            for size in 1..stream.len() {
                let mut decoder = EventDecoder::default();
                let pieces = stream.as_bytes().chunks(size);
                let found: Vec<_> = pieces.flat_map(|piece| decoder.feed(piece).unwrap()).collect();
                assert_eq!(found, [&b"one"[..], b"{\n}", b"two"], "{end:?} {size}");
                assert_eq!(decoder.last_id.as_deref(), Some("7"));
                assert_eq!(decoder.retry.map(|it| it.as_millis()), Some(5));
            }
        }
    }

    #[test]
    fn an_event_over_the_limit_is_refused() {
        let mut decoder = EventDecoder::default();
        let line = [b"data: ".as_slice(), &vec![b'x'; MAX_MESSAGE_BYTES / 2], b"\n"].concat();
        assert_eq!(decoder.feed(&line), Ok(Vec::new()));
        assert_eq!(decoder.feed(&line), Err(EventTooLong));
    }

    #[test]
    fn an_encoded_event_is_decoded_again() {
        let mut decoder = EventDecoder::default();
        let event = encode_event(Some("1/2"), "{\"a\":\"\\n\"}");
        assert_eq!(decoder.feed(event.as_bytes()).unwrap(), [b"{\"a\":\"\\n\"}".to_vec()]);
        assert_eq!(decoder.last_id.as_deref(), Some("1/2"));
    }
}
