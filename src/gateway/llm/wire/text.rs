//! One text of a message, and the place where it stands.
//!
//! In: a string of a body, or the bytes of a file in it. Out: the text that rules read; and back, what they make of it, in the form in
//! which it stood.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// A text and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    /// The JSON pointer to the string.
    pub(crate) at: String,
    pub(crate) text: String,
    /// What stands before the text in base64, if that is how it stands there.
    head: Option<String>,
}

impl Text {
    /// A text that stands there as it is.
    pub(crate) fn plain(at: &str, text: &str) -> Self {
        Self { at: at.to_owned(), text: text.to_owned(), head: None }
    }

    /// The text of a file that is text, whatever type it is said to be. Other files are none.
    pub(crate) fn of_data(at: &str, data: &str) -> Option<Self> {
        let (head, coded) = match data.split_once(',') {
            Some((head, coded)) if head.starts_with("data:") => (format!("{head},"), coded),
            _ => (String::new(), data),
        };
        if !head.is_empty() && !head.to_ascii_lowercase().ends_with(";base64,") {
            // a URL with the text itself in it
            return Some(Self::plain(at, data));
        }
        let coded: String = coded.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
        let Ok(bytes) = STANDARD.decode(&coded) else {
            // not base64 here may be base64 for a reader who is less strict, or a text
            return Some(Self::plain(at, data));
        };
        let text = String::from_utf8(bytes).ok()?;
        Some(Self { at: at.to_owned(), text, head: Some(head) })
    }

    /// Puts another text in its place.
    pub(crate) fn put(&self, body: &mut Value, text: &str) {
        if let Some(place) = body.pointer_mut(&self.at) {
            *place = Value::String(match &self.head {
                None => text.to_owned(),
                Some(head) => format!("{head}{}", STANDARD.encode(text)),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Text;
    use serde_json::json;

    #[test]
    fn files_that_are_text_are_read_and_written() {
        for (data, text, now) in [
            ("YWJj", Some("abc"), "eHl6"),
            ("data:text/plain;base64,YWJj", Some("abc"), "data:text/plain;base64,eHl6"),
            ("data:application/pdf;base64,YWJj", Some("abc"), "data:application/pdf;base64,eHl6"),
            ("YW\nJj", Some("abc"), "eHl6"),
            ("data:text/plain,abc", Some("data:text/plain,abc"), "xyz"),
            ("not base64!", Some("not base64!"), "xyz"),
            ("/9j/4AAQ", None, ""),
        ] {
            let read = Text::of_data("/a", data);
            assert_eq!(read.as_ref().map(|it| &*it.text), text, "{data}");
            let mut body = json!({"a": data});
            if let Some(read) = read {
                read.put(&mut body, "xyz");
                assert_eq!(body["a"], now, "{data}");
            }
        }
    }
}
