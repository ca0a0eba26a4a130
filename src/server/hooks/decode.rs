//! Decoding of an event: lone surrogates become U+FFFD, and events of other agents are recognised.
//!
//! In: the bytes of an event. Out: an [`Event`], or the sentence that says why there is none. Claude Code itself turns a lone surrogate into U+FFFD wherever it writes text,
//! so rules see what tools and the model get.

use super::event::Event;
use super::events::{Kind, kind_of};
use super::messages;
use crate::problem::Problem;
use crate::request::read_json;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::borrow::Cow;

/// Members by which an event is told from those of other agents.
#[derive(Deserialize)]
struct Marks {
    #[serde(default)]
    hook_event_name: Option<String>,
    #[serde(default)]
    turn_id: Option<IgnoredAny>,
    #[serde(default)]
    timestamp: Option<IgnoredAny>,
    #[serde(default)]
    transcript_path: Option<IgnoredAny>,
    #[serde(default, rename = "sessionId")]
    session_id: Option<IgnoredAny>,
    #[serde(default, rename = "toolName")]
    tool_name: Option<IgnoredAny>,
}

/// Event that deltas of the screen carry a `turn_id` in.
const MESSAGE_DISPLAY: &str = "MessageDisplay";

/// Why no rule could judge this event, whatever else it holds: Celador does not know the event, cannot answer it, or another agent has sent it.
///
/// ```
/// let event = br#"{"session_id": "s", "hook_event_name": "PreThought"}"#;
/// assert!(celador_server::hook_stranger(event).is_some_and(|why| why.contains("`PreThought`")));
/// let event = br#"{"session_id": "s", "hook_event_name": "PreToolUse", "tool_use_id": "t"}"#;
/// assert_eq!(celador_server::hook_stranger(event), None);
/// ```
#[must_use]
pub fn stranger(event: &[u8]) -> Option<String> {
    let Marks { hook_event_name, turn_id, timestamp, transcript_path, session_id, tool_name } =
        serde_json::from_slice(&mended(event)).ok()?;
    let name = hook_event_name.as_deref().unwrap_or_default();
    let foreign = if session_id.is_some() || tool_name.is_some() {
        Some(("GitHub Copilot CLI", "`sessionId`, `toolName`"))
    } else if turn_id.is_some() && name != MESSAGE_DISPLAY {
        Some(("Codex", "`turn_id`"))
    } else if timestamp.is_some() && transcript_path.is_none() {
        Some(("GitHub Copilot CLI or Gemini CLI", "`timestamp`"))
    } else {
        None
    };
    if let Some((agent, mark)) = foreign {
        return Some(messages::foreign_event(agent, mark));
    }
    match hook_event_name.as_deref().map(kind_of)? {
        Kind::Unknown => Some(messages::unknown_event(name)),
        Kind::Unsupported => Some(messages::unsupported_event(name)),
        _ => None,
    }
}

/// An event.
pub(super) fn event(body: &[u8], max_depth: usize) -> Result<Event, Problem> {
    read_json(&mended(body), max_depth)
}

/// The same JSON text with the escape of U+FFFD in the place of each escape of half a character, and without a byte order mark. Linear.
pub(super) fn mended(body: &[u8]) -> Cow<'_, [u8]> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    if memchr::memmem::find(body, b"\\u").is_none() {
        return Cow::Borrowed(body);
    }
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (before, escape) = rest.split_at(at);
        out.extend_from_slice(before);
        let taken = match code_unit(escape) {
            Some(0xd800..=0xdbff) => match escape.get(6..).and_then(code_unit) {
                Some(0xdc00..=0xdfff) => Taken::Whole(12),
                _ => Taken::Half,
            },
            Some(0xdc00..=0xdfff) => Taken::Half,
            Some(_) => Taken::Whole(6),
            None => Taken::Whole(2),
        };
        let length = match taken {
            Taken::Whole(length) => {
                out.extend_from_slice(escape.get(..length).unwrap_or(escape));
                length
            }
            Taken::Half => {
                out.extend_from_slice(b"\\ufffd");
                6
            }
        };
        rest = escape.get(length..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

/// What an escape comes to.
enum Taken {
    /// So many bytes as they are.
    Whole(usize),
    /// Half a character.
    Half,
}

/// The code unit of an escape `\uXXXX` at the start of a text.
fn code_unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0_u32, |unit, digit| Some((unit << 4) | char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::{mended, stranger};

    #[test]
    fn half_a_character_becomes_a_replacement() {
        for (text, expected) in [
            (r#""a""#, r#""a""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\ud83d\ud83d\ude00x""#, r#""\ufffd\ud83d\ude00x""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#""\u0041\n\ud8""#, r#""\u0041\n\ud8""#),
            (r#""\ud83d\n\udE00""#, r#""\ufffd\n\ufffd""#),
            ("\u{feff}{}", "{}"),
            (r"\", r"\"),
        ] {
            assert_eq!(String::from_utf8_lossy(&mended(text.as_bytes())), expected, "{text}");
        }
    }

    #[test]
    fn events_of_others_are_named() {
        for (event, named) in [
            (r#"{"hook_event_name":"PreToolUse","session_id":"s","turn_id":"1","tool_use_id":"t"}"#, "Codex"),
            (
                r#"{"hook_event_name":"PreToolUse","session_id":"s","timestamp":"1","tool_name":"Bash"}"#,
                "Copilot",
            ),
            (r#"{"sessionId":"s","toolName":"bash","toolArgs":{}}"#, "Copilot"),
            (r#"{"hook_event_name":"BeforeTool","session_id":"s","timestamp":"1"}"#, "Gemini"),
            (r#"{"hook_event_name":"pretooluse","session_id":"s"}"#, "`pretooluse`"),
            (r#"{"hook_event_name":"","session_id":"s"}"#, "``"),
            (r#"{"hook_event_name":"WorktreeCreate","session_id":"s"}"#, "`WorktreeCreate`"),
        ] {
            assert!(stranger(event.as_bytes()).is_some_and(|why| why.contains(named)), "{event}");
        }
        for event in [
            r#"{"hook_event_name":"MessageDisplay","session_id":"s","turn_id":"1"}"#,
            r#"{"hook_event_name":"Notification","session_id":"s"}"#,
            r#"{"hook_event_name":"PreToolUse","session_id":"s","transcript_path":"/t","timestamp":"1"}"#,
            "{}",
            "[",
        ] {
            assert_eq!(stranger(event.as_bytes()), None, "{event}");
        }
    }
}
