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

/// A text in which each escape of half a surrogate pair is that of U+FFFD; nothing if there is none.
pub(super) fn whole_surrogates(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let (mut rest, mut is_changed) = (text, false);
    while let Some((first, after)) = rest.split_first() {
        let unit = if *first == b'\\' { unit(rest) } else { None };
        match unit {
            None => {
                // an escaped backslash is no begin of an escape
                let taken = if *first == b'\\' && !after.is_empty() { 2 } else { 1 };
                let (taken, after) = rest.split_at(taken);
                out.extend_from_slice(taken);
                rest = after;
            }
            Some(0xd800..=0xdbff) => {
                let (escape, after) = rest.split_at(6);
                if let Some(0xdc00..=0xdfff) = self::unit(after) {
                    let (low, after) = after.split_at(6);
                    out.extend_from_slice(escape);
                    out.extend_from_slice(low);
                    rest = after;
                } else {
                    out.extend_from_slice(b"\\ufffd");
                    (rest, is_changed) = (after, true);
                }
            }
            Some(0xdc00..=0xdfff) => {
                out.extend_from_slice(b"\\ufffd");
                let (_, after) = rest.split_at(6);
                (rest, is_changed) = (after, true);
            }
            Some(_) => {
                let (escape, after) = rest.split_at(6);
                out.extend_from_slice(escape);
                rest = after;
            }
        }
    }
    is_changed.then_some(out)
}

/// The code unit of an escape `\uXXXX` at the begin of a text.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    let digits = std::str::from_utf8(digits).ok().filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::{Outline, whole_surrogates};
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

    #[test]
    fn half_a_surrogate_pair_is_a_replacement_character() {
        for (text, whole) in [
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\ude00\ud83d\ude00\uD83Dx""#, Some(r#""\ufffd\ud83d\ude00\ufffdx""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\\ud83d \n\u0041""#, None),
            ("\"\\", None),
        ] {
            let changed = whole_surrogates(text.as_bytes());
            assert_eq!(changed.as_deref(), whole.map(str::as_bytes), "{text}");
        }
    }
}
