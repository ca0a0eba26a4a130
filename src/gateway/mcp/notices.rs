//! Log lines that a session writes once for each thing that they name, and the count of what it forwards unjudged.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};
use tracing::warn;

/// The most different lines of one session, and the most forms that are counted at once.
const MAX_LINES: usize = 1_024;
/// The form of all that finds no room.
const OTHER_FORMS: &str = "mcp: other";

/// The lines that a session has written, and what it has forwarded unjudged since that was told.
#[derive(Default)]
pub(super) struct Notices {
    written: Mutex<HashSet<String>>,
    unjudged: Mutex<BTreeMap<String, u64>>,
}

impl Notices {
    /// Writes a line about a named part of a message, unless the session has written it.
    pub(super) fn warn(&self, message: &'static str, name: &str) {
        let name = short(name);
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.len() < MAX_LINES && written.insert(format!("{message} {name}")) {
            warn!(name, "{message}");
        }
    }

    /// The same about what is forwarded although no rule sees it. Each is counted. `kind` is what it is: a method, a member, a message.
    pub(super) fn unjudged(&self, message: &'static str, kind: &str, name: &str) {
        self.warn(message, name);
        let form = format!("mcp: {kind} {}", short(name));
        let mut unjudged = self.unjudged.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = unjudged.len() < MAX_LINES || unjudged.contains_key(&form);
        let count = unjudged.entry(if has_room { form } else { OTHER_FORMS.to_owned() }).or_default();
        *count = count.saturating_add(1);
    }

    /// What was forwarded unjudged since this was asked before.
    pub(super) fn take_unjudged(&self) -> BTreeMap<String, u64> {
        std::mem::take(&mut *self.unjudged.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn short(name: &str) -> String {
    name.chars().take(200).collect()
}
