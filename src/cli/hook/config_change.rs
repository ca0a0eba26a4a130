//! Changes of the settings of Claude Code while a session runs: whether they leave it the hooks that it has.
//!
//! In: the event `ConfigChange`, the call of this process, and the files of settings as they are now. Out: the answer, which refuses the change if an event of the session
//! would no longer be asked about in the same way. Claude Code takes changed settings up at once, so an agent that writes them would be without rules from its
//! next call on. A file stays as it was written: the next session begins with that.

use super::settings::{EVENTS, calls, turns_all_off};
use serde::Deserialize;
use serde_json::{Value, json};
use std::env::var_os;
use std::fs;
use std::path::{Path, PathBuf};

/// The members of an event that this is about.
#[derive(Deserialize)]
struct ConfigChange {
    hook_event_name: String,
    /// Where the session is.
    #[serde(default)]
    cwd: PathBuf,
    /// What has changed, such as `project_settings` or `skills`.
    #[serde(default)]
    source: String,
    /// The file that has changed.
    #[serde(default)]
    file_path: Option<PathBuf>,
}

/// Settings that an administrator manages, on each system.
const MANAGED: [&str; 3] = [
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
    "C:\\Program Files\\ClaudeCode\\managed-settings.json",
];

/// The answer to a change of settings; nothing if the event is another one. `hook` gives what settings have that call this process.
pub(super) fn answer(event: &[u8], hook: impl Fn() -> Value) -> Option<Value> {
    let change: ConfigChange = serde_json::from_slice(event).ok()?;
    if change.hook_event_name != "ConfigChange" {
        return None;
    }
    let settings: Vec<Value> = change.files().iter().filter_map(|path| settings_in(path)).collect();
    let lost = if settings.iter().any(turns_all_off) {
        Some("`disableAllHooks` takes all hooks out of it".to_owned())
    } else {
        let hook = hook();
        let is_lost = |event: &&str| !settings.iter().any(|settings| calls(settings, event, &hook));
        let lost = EVENTS.iter().map(|(event, _)| *event).find(is_lost);
        lost.map(|event| format!("`{event}` would no longer be asked about as it is now"))
    };
    Some(match lost {
        Some(lost) => json!({
            "decision": "block",
            "reason": format!("A session keeps the hooks of Celador that it began with, and {lost}."),
        }),
        None => json!({}),
    })
}

impl ConfigChange {
    /// Every file whose hooks a session has, as far as they lie where Claude Code looks for them by itself.
    fn files(self) -> Vec<PathBuf> {
        let project = var_os("CLAUDE_PROJECT_DIR").map_or(self.cwd, PathBuf::from).join(".claude");
        let home =
            ["HOME", "USERPROFILE"].iter().find_map(var_os).map(|home| Path::new(&home).join(".claude"));
        let of_user = var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from).or(home);
        let mut files = vec![project.join("settings.json"), project.join("settings.local.json")];
        files.extend(of_user.map(|folder| folder.join("settings.json")));
        // what is no file of settings has no hooks, whatever stands in it
        files.extend(self.file_path.filter(|_| self.source.ends_with("_settings")));
        files.extend(MANAGED.map(PathBuf::from));
        files
    }
}

/// What a file says; nothing if it is not there, or is no settings.
fn settings_in(path: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}
