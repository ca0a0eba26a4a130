//! Decoding of an event: lone surrogates become U+FFFD, and events of other agents are recognised.
//!
//! In: the bytes of an event. Out: an [`Event`], or the sentence that says why there is none. Claude Code itself turns a lone surrogate into U+FFFD wherever it writes text,
//! so rules see what tools and the model get.

use super::event::Event;
use super::events::{Kind, kind_of};
use super::messages;
use crate::problem::{Kind as ProblemKind, Problem};
use crate::request::read_json;
use crate::strict_json::{self, NotStrict, replace_lone_surrogates};
use celador::detect::is_invisible;
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
/// Characters of an unknown event's name that the count of unjudged traffic keeps.
const MAX_NAME: usize = 64;

/// An event that no rule can judge, whatever else it holds: Celador does not know the event, cannot answer it, or another agent has sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEvent {
    /// The component and the name of the event, such as `hook: event PreThought`, at most `max_reason_bytes`. Unjudged traffic is counted by it.
    pub form: String,
    /// Why it cannot be judged.
    pub reason: String,
}

/// Whether an event is one that no rule can judge.
///
/// ```
/// let event = br#"{"session_id": "s", "hook_event_name": "PreThought"}"#;
/// let celador_server::UnknownEvent { form, reason } = celador_server::hook_stranger(event).unwrap();
/// assert_eq!(form, "hook: event PreThought");
/// assert!(reason.contains("`PreThought`"));
/// let event = br#"{"session_id": "s", "hook_event_name": "PreToolUse", "tool_use_id": "t"}"#;
/// assert_eq!(celador_server::hook_stranger(event), None);
/// ```
#[must_use]
pub fn stranger(event: &[u8]) -> Option<UnknownEvent> {
    let Marks { hook_event_name, turn_id, timestamp, transcript_path, session_id, tool_name } =
        serde_json::from_slice(&repaired(event)).ok()?;
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
        let form = format!("hook: event of {agent}");
        return Some(UnknownEvent { form, reason: messages::foreign_event(agent, mark) });
    }
    let reason = match hook_event_name.as_deref().map(kind_of)? {
        Kind::Unknown => messages::unknown_event(name),
        Kind::Unsupported => messages::unsupported_event(name),
        _ => return None,
    };
    let shown: String =
        name.chars().filter(|letter| !letter.is_control() && !is_invisible(*letter)).take(MAX_NAME).collect();
    Some(UnknownEvent { form: format!("hook: event {shown}"), reason })
}

/// Decodes an event. An object with a duplicate key is refused: the agent could run another value than the one that rules read.
pub(super) fn event(body: &[u8], max_depth: usize) -> Result<Event, Problem> {
    let body = repaired(body);
    match strict_json::from_slice(&body) {
        Err(NotStrict::DuplicateKey { .. }) => Err(ProblemKind::NotJson.into()),
        _ => read_json(&body, max_depth),
    }
}

/// The event without a byte order mark, and with U+FFFD for lone surrogates. Linear.
pub(super) fn repaired(body: &[u8]) -> Cow<'_, [u8]> {
    replace_lone_surrogates(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body))
}

#[cfg(test)]
mod tests {
    use super::{event, repaired, stranger};

    #[test]
    fn an_event_is_read_without_its_byte_order_mark() {
        assert_eq!(repaired("\u{feff}{}".as_bytes()), &b"{}"[..]);
        assert_eq!(repaired(br#""\ud83d""#), &br#""\ufffd""#[..]);
    }

    #[test]
    fn an_event_with_a_duplicate_key_is_refused() {
        let event_of = |input: &str| {
            let text = format!(
                r#"{{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_use_id":"t","tool_input":{input}}}"#
            );
            event(text.as_bytes(), 64)
        };
        assert!(event_of(r#"{"command":"ls","env":{"a":1}}"#).is_ok());
        for input in [r#"{"command":"ls","command":"rm"}"#, r#"{"env":{"a":1,"\u0061":2}}"#] {
            assert!(event_of(input).is_err(), "{input}");
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
            assert!(
                stranger(event.as_bytes()).is_some_and(|unknown| unknown.reason.contains(named)),
                "{event}"
            );
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
