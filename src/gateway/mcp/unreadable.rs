//! Lines that are no JSON of a message: the id that they would have had.
//!
//! A call must not hang because its answer cannot be read, so the id is searched in the bytes, without decoding the rest: invalid UTF-8, half
//! a surrogate pair, `NaN` or a line over the limit.

use super::message::valid_id;
use serde_json::Value;

/// The longest id that is found in an unreadable line.
const MAX_ID_BYTES: usize = 256;
/// The longest name of a member that is told apart from others.
const MAX_NAME_BYTES: usize = 16;

/// Members of the outermost object of a text, found byte by byte. A text of several parts is fed in order.
#[derive(Debug, Default)]
pub(super) struct Outline {
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// The token at the first level that is being read.
    token: Vec<u8>,
    /// The name of the member whose value is read.
    name: Option<Vec<u8>>,
    pub(super) id: Option<Value>,
    /// Whether it has a method.
    pub(super) has_method: bool,
    /// Whether it has a result or an error.
    pub(super) has_outcome: bool,
}

impl Outline {
    /// The outline of a whole text.
    pub(super) fn read(text: &[u8]) -> Self {
        let mut outline = Self::default();
        outline.feed(text);
        outline
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.take(*byte));
    }

    fn take(&mut self, byte: u8) {
        if self.in_text {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_text = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.depth = self.depth.saturating_add(1);
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_member();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                let name = std::mem::take(&mut self.token);
                match &*name {
                    b"\"method\"" => self.has_method = true,
                    b"\"result\"" | b"\"error\"" => self.has_outcome = true,
                    _ => {}
                }
                self.name = Some(name);
            }
            b',' if self.depth == 1 => self.end_member(),
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        let most = if self.name.is_some() { MAX_ID_BYTES } else { MAX_NAME_BYTES };
        let is_part = self.in_text || !byte.is_ascii_whitespace();
        if self.depth == 1 && is_part && self.token.len() <= most {
            self.token.push(byte);
        }
    }

    fn end_member(&mut self) {
        let value = std::mem::take(&mut self.token);
        let name = self.name.take();
        if name.as_deref() == Some(b"\"id\"") && self.id.is_none() {
            self.id = serde_json::from_slice::<Value>(&value).ok().as_ref().and_then(valid_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Outline;
    use serde_json::{Value, json};

    #[test]
    fn the_id_of_an_unreadable_line_is_found() {
        let cases: [(&[u8], Value, bool, bool); 9] = [
            (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"a\":NaN}}", json!(7), false, true),
            (b"{\"result\":{\"id\":9,\"t\":\"\\\"}\"},\"id\": \"a b\" }", json!("a b"), false, true),
            (b"{\"id\":1,\"method\":\"m\",\"params\":{\"x\":\"\xff\"}}", json!(1), true, false),
            (b"{\"x\":[{\"id\":2}],\"error\":1e999,\"id\":3.0}", json!(3), false, true),
            (b"{\"id\":{\"id\":4}}", Value::Null, false, false),
            (b"{\"id\":null,\"result\":{}}", Value::Null, false, true),
            (b"[{\"id\":4}]", Value::Null, false, false),
            (b"not json", Value::Null, false, false),
            (b"{\"id\":5", Value::Null, false, false),
        ];
        for (line, id, has_method, has_outcome) in cases {
            let outline = Outline::read(line);
            let shown = String::from_utf8_lossy(line);
            assert_eq!(outline.id.unwrap_or_default(), id, "{shown}");
            assert_eq!((outline.has_method, outline.has_outcome), (has_method, has_outcome), "{shown}");
        }
    }
}
