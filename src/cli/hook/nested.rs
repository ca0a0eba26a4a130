//! Nested sessions: `claude -p` in a command line of a session.
//!
//! In: the event of a session, and the environment of its process. Out: the session that has started it. Claude Code gives a nested session an id of its own and does not say where it comes from. So the hook of
//! `SessionStart` sets a variable for the command lines of its session, which a nested session inherits. A command line that unsets it starts a session of its own.

use serde::Deserialize;
use std::env::{var, var_os};
use std::fs::OpenOptions;
use std::io::Write as _;

/// The variable with the session in which a command line runs.
const SESSION: &str = "CELADOR_SESSION";

/// The variable with the file from which Claude Code reads variables for command lines, at the start of a session.
const FILE: &str = "CLAUDE_ENV_FILE";

#[derive(Deserialize)]
struct SessionEvent {
    hook_event_name: String,
    session_id: String,
}

/// The session that has started the one of an event; at its start, the session makes itself known to the ones that it starts.
pub(super) fn parent(event: &[u8]) -> Option<String> {
    let SessionEvent { hook_event_name, session_id } = serde_json::from_slice(event).ok()?;
    if hook_event_name == "SessionStart" && is_id(&session_id) {
        export(&session_id);
    }
    var(SESSION).ok().filter(|parent| is_id(parent) && *parent != session_id)
}

/// Whether an id needs no quotes in a shell.
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// A file that cannot be written leaves nested sessions without a parent, which docs/hooks.md says of other ways as well.
fn export(session: &str) {
    let Some(path) = var_os(FILE) else { return };
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path) {
        let _ = writeln!(file, "export {SESSION}={session}");
    }
}
