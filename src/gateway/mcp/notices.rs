//! Log lines that a session writes once for each thing that they name.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use tracing::warn;

/// The most different lines of one session.
const MAX_LINES: usize = 1_024;

/// The lines that a session has written.
#[derive(Default)]
pub(super) struct Notices {
    written: Mutex<HashSet<String>>,
}

impl Notices {
    /// Writes a line about a named part of a message, unless the session has written it.
    pub(super) fn warn(&self, message: &'static str, name: &str) {
        let name: String = name.chars().take(200).collect();
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.len() < MAX_LINES && written.insert(format!("{message} {name}")) {
            warn!(name, "{message}");
        }
    }
}
