//! Changes of the settings of Claude Code while a session runs.
//!
//! In: the events `SessionStart` and `ConfigChange`, and the files of settings. Out: the state of the settings at the start, written beside the store, and the answer to a change, which is refused unless Claude Code would go on
//! with the same hooks, environment and programs. Claude Code takes changed settings over at once, and drops a file that does not fit its schema with all its hooks. A file stays as it was written: the next session begins with it.

use super::settings_state::SettingsState;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The members of an event that this is about.
#[derive(Deserialize)]
struct SessionEvent {
    hook_event_name: String,
    session_id: String,
    /// The folder of the session.
    #[serde(default)]
    cwd: PathBuf,
    /// The reason of a start, or what has changed, such as `project_settings` or `skills`.
    #[serde(default)]
    source: String,
    /// The file that has changed.
    #[serde(default)]
    file_path: Option<PathBuf>,
}

/// The name of an event, whatever else it holds.
#[derive(Deserialize)]
struct EventName {
    hook_event_name: String,
}

/// What is to be done about an event as far as settings go.
pub(super) enum Settled {
    /// It is about something else.
    Other,
    /// The answer to a change.
    Answer(Value),
    /// The start of a session whose settings cannot be written down.
    Failed(String),
}

/// Writes down the settings of a session that starts, and judges a change of them. `data` is the folder of the store.
pub(super) fn settle(event: &[u8], data: &Path) -> Settled {
    let Ok(EventName { hook_event_name }) = serde_json::from_slice(event) else { return Settled::Other };
    let is_change = hook_event_name == "ConfigChange";
    if !is_change && hook_event_name != "SessionStart" {
        return Settled::Other;
    }
    match serde_json::from_slice::<SessionEvent>(event) {
        Ok(event) if is_change => {
            Settled::Answer(event.change(data).map_or_else(|| json!({}), |why| blocked(&why)))
        }
        Ok(event) => event.start(data).map_or(Settled::Other, Settled::Failed),
        Err(_) if is_change => Settled::Answer(blocked("the event of the change cannot be read")),
        // the server says what is wrong with it
        Err(_) => Settled::Other,
    }
}

/// A change that is not taken over.
pub(super) fn blocked(why: &str) -> Value {
    json!({
        "decision": "block",
        "reason": format!("A session keeps the settings that it began with: {why}. Start a new session to use the change."),
    })
}

impl SessionEvent {
    /// The reason for which the settings at the start could not be written down.
    fn start(&self, data: &Path) -> Option<String> {
        let path = self.state_path(data);
        // the process of the session has read its settings before: these may have changed since
        let is_new = match &*self.source {
            "startup" => true,
            "resume" | "fork" => !path.exists(),
            _ => false,
        };
        if !is_new {
            return None;
        }
        let state = match SettingsState::read(&self.cwd, None) {
            Ok(state) => state,
            Err(why) => return Some(why),
        };
        state.save(&path).err().map(|error| format!("`{}` cannot be written: {error}", path.display()))
    }

    /// The reason for which a change is not taken over.
    fn change(&self, data: &Path) -> Option<String> {
        debug_assert_eq!(self.hook_event_name, "ConfigChange");
        let path = self.state_path(data);
        let Ok(before) = SettingsState::load(&path) else {
            return Some("what they were then is not known".to_owned());
        };
        let named = self.file_path.as_deref().filter(|_| self.source.ends_with("_settings"));
        match SettingsState::read(&self.cwd, named) {
            Ok(after) => before.refusal(&after),
            Err(why) => Some(why),
        }
    }

    /// The file with the settings at the start, under the process of the session: `/clear` changes the id of a session, and no settings.
    fn state_path(&self, data: &Path) -> PathBuf {
        let process = std::env::var("CLAUDE_PID")
            .ok()
            .filter(|pid| !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit()));
        let name =
            process.unwrap_or_else(|| celador::digest::Digest::of(self.session_id.as_bytes()).to_string());
        data.join("settings-at-start").join(format!("{name}.json"))
    }
}
