//! State of the settings of a session: every file that Claude Code reads them from, at the start of the session and after a change.
//!
//! In: the files. Out: digests of their members, which are written beside the store when a session starts, and the difference that a change makes. Values of members are not stored, as they can hold keys,
//! apart from rules of permission, which are compared by what they allow.

use super::super::files::replace;
use super::permissions::widened;
use super::settings_members::{is_free, is_free_as};
use celador::digest::Digest;
use celador_server::strict_json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::env::var_os;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Every file of settings of a session.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SettingsState {
    files: BTreeMap<PathBuf, FileState>,
}

/// One file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FileState {
    /// A file that Claude Code takes over as settings.
    Members(Members),
    /// A file that is no settings, by the digest of its bytes and the reason.
    Unreadable { digest: String, why: String },
}

/// The members of a file.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Members {
    /// Digests of the members that decide something, by name.
    fixed: BTreeMap<String, String>,
    /// Names of the members that only a session with another value would show, and whether their values fit.
    free: BTreeMap<String, bool>,
    permissions: Option<Value>,
}

/// The member with rules of permission.
const PERMISSIONS: &str = "permissions";

/// Files that an administrator manages, and folders of such files, on each system.
const MANAGED: [&str; 6] = [
    "/etc/claude-code/managed-settings.json",
    "/etc/claude-code/managed-settings.d",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.d",
    "C:\\Program Files\\ClaudeCode\\managed-settings.json",
    "C:\\Program Files\\ClaudeCode\\managed-settings.d",
];

impl SettingsState {
    /// The present state: the files of the project, the user and the administrator, and one that the event names. An error names what cannot be read.
    pub(super) fn read(cwd: &Path, named: Option<&Path>) -> Result<Self, String> {
        let project =
            var_os("CLAUDE_PROJECT_DIR").map_or_else(|| cwd.to_owned(), PathBuf::from).join(".claude");
        let home =
            ["HOME", "USERPROFILE"].iter().find_map(var_os).map(|home| Path::new(&home).join(".claude"));
        let of_user = var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from).or(home);
        let mut paths = vec![project.join("settings.json"), project.join("settings.local.json")];
        paths.extend(
            of_user
                .iter()
                .flat_map(|folder| ["settings.json", "settings.local.json"].map(|name| folder.join(name))),
        );
        paths.extend(named.map(Path::to_owned));
        for managed in MANAGED.map(PathBuf::from) {
            match fs::read_dir(&managed) {
                Ok(entries) => paths.extend(entries.filter_map(|entry| Some(entry.ok()?.path()))),
                Err(_) => paths.push(managed),
            }
        }
        let mut files = BTreeMap::new();
        for path in paths {
            match fs::read(&path) {
                Ok(bytes) => {
                    files.insert(path, FileState::of(&bytes));
                }
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(error) => return Err(format!("`{}` cannot be read: {error}", path.display())),
            }
        }
        Ok(Self { files })
    }

    /// The state that was written under a path.
    pub(super) fn load(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    }

    pub(super) fn save(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        replace(path, &serde_json::to_string(self)?)
    }

    /// The reason for which a session does not take over the state `after`; nothing if hooks, environment and programs stay as they are, and nothing more is permitted.
    pub(super) fn refusal(&self, after: &Self) -> Option<String> {
        // a file that is not there is one without members
        let empty = FileState::Members(Members::default());
        let paths = self.files.keys().chain(after.files.keys());
        paths.into_iter().find_map(|path| {
            let before = self.files.get(path).unwrap_or(&empty);
            let after = after.files.get(path).unwrap_or(&empty);
            before.refusal(after).map(|why| format!("{why}, in `{}`", path.display()))
        })
    }
}

impl FileState {
    fn of(bytes: &[u8]) -> Self {
        let unreadable = |why: String| Self::Unreadable { digest: Digest::of(bytes).to_string(), why };
        match strict_json::from_slice(bytes) {
            Ok(Value::Object(members)) => {
                let mut state = Members::default();
                for (name, value) in members {
                    if name == PERMISSIONS {
                        state.permissions = Some(value);
                    } else if is_free(&name) {
                        let fits = is_free_as(&name, &value);
                        state.free.insert(name, fits);
                    } else {
                        state.fixed.insert(name, Digest::of(value.to_string().as_bytes()).to_string());
                    }
                }
                Self::Members(state)
            }
            Ok(_) => unreadable("it is not an object".to_owned()),
            Err(error) => unreadable(error.to_string()),
        }
    }

    fn refusal(&self, after: &Self) -> Option<String> {
        if self == after {
            return None;
        }
        let (before, after) = match (self, after) {
            (Self::Members(before), Self::Members(after)) => (before, after),
            (_, Self::Unreadable { why, .. }) => {
                return Some(format!("Claude Code would drop the file with its hooks ({why})"));
            }
            (Self::Unreadable { .. }, _) => {
                return Some("the file was no settings when the session began, and is now".to_owned());
            }
        };
        let names = before.fixed.keys().chain(after.fixed.keys());
        let changed = names.into_iter().find(|name| before.fixed.get(*name) != after.fixed.get(*name));
        if let Some(name) = changed {
            return Some(format!("`{name}` may not change while a session runs"));
        }
        if let Some((name, _)) = after.free.iter().find(|(_, fits)| !**fits) {
            return Some(format!(
                "`{name}` has a value that Claude Code may not know, and then drops the file with its hooks"
            ));
        }
        widened(before.permissions.as_ref(), after.permissions.as_ref())
    }
}
