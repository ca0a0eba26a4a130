//! Messages of `celador hook`.

use celador_server::strict_json::NotStrict;
use std::fmt::Display;
use std::path::Path;

pub(super) use super::super::messages::{cannot_create, cannot_read, cannot_write, not_utf8};

pub(super) const NO_PROGRAM: &str = "nobody says how this program is started, so no hook can start it";

pub(super) fn no_agent_settings(path: &Path, text: &str, error: &NotStrict) -> String {
    let start = text.trim_start();
    let why = if text.starts_with('\u{feff}') {
        ": it begins with a byte order mark".to_owned()
    } else if start.starts_with("//") || start.starts_with("/*") {
        ": settings have no comments".to_owned()
    } else {
        format!(" ({error})")
    };
    format!("`{}` is left as it is, as Claude Code would not read it as JSON{why}", path.display())
}

pub(super) fn no_hooks_are_called(path: &Path, member: &str) -> String {
    format!("`{member}` in `{}` keeps Claude Code from calling these hooks", path.display())
}

pub(super) fn unknown_claude(program: &str, first: &dyn Display) -> String {
    format!(
        "`{program} --version` names no version, so it was not checked; a hook that fails refuses since Claude Code {first}"
    )
}

pub(super) fn old_claude(program: &str, found: &dyn Display, first: &dyn Display) -> String {
    format!(
        "`{program}` is Claude Code {found}, which lets an event go on where its hook fails; {first} is the first version that refuses it"
    )
}

pub(super) fn new_claude(program: &str, found: &dyn Display, tried: &dyn Display) -> String {
    format!(
        "`{program}` is Claude Code {found}; the hooks were tried with {tried}, and events that it does not have are refused by name"
    )
}

pub(super) fn event_too_large(most: usize) -> String {
    format!("the event is larger than {most} bytes")
}

pub(super) fn no_decision_within(seconds: u64) -> String {
    format!("no decision within {seconds} seconds")
}

pub(super) const NO_DECISION: &str = "the decision broke off";

pub(super) fn unjudged(why: &str) -> String {
    format!("unjudged: {why}")
}

pub(super) fn not_counted(why: &str) -> String {
    format!("the unjudged event is not counted: {why}")
}

pub(super) fn no_answer_of_a_server(status: u16) -> String {
    format!("the server has answered with status {status} and no problem")
}

pub(super) fn not_as_settings_are(path: &Path, member: &str) -> String {
    format!("`{}` is left as it is: {member} is not what settings of Claude Code have there", path.display())
}

pub(super) fn settings_written(path: &Path) -> String {
    format!("wrote `{}`", path.display())
}

pub(super) fn settings_as_they_are(path: &Path) -> String {
    format!("`{}` is so already", path.display())
}
