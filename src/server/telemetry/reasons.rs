//! Reasons why decisions cannot be taken, or soon may not be.
//!
//! In: a code that never changes, whether it stops the server, a sentence. Out: a [`Reason`]. Whether log and store can be written
//! is tried by writing, and what came of that is kept for a moment ([`Writing`]): everybody may ask, and each try costs a
//! sync of the disk.

use serde::Serialize;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an answer holds that says that all can be written.
const GOOD_FOR: Duration = Duration::from_secs(1);

/// How long an answer holds that says that something cannot: who has made room wants to be taken back soon.
const BAD_FOR: Duration = Duration::from_millis(200);

/// Something that is wrong with the server, or soon will be.
#[derive(Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ReadinessReason"))]
pub(crate) struct Reason {
    /// A word for programs, such as `store-unwritable`; more words may come.
    pub(crate) code: &'static str,
    /// Whether the server takes no decision because of it; then the status is 503.
    pub(crate) blocks: bool,
    /// A sentence for people, without data of a task.
    pub(crate) detail: String,
}

impl Reason {
    /// A reason for which nothing is decided.
    pub(crate) fn blocking(code: &'static str, detail: impl Into<String>) -> Self {
        Self { code, blocks: true, detail: detail.into() }
    }

    /// A reason that stops nothing.
    pub(crate) fn told(code: &'static str, detail: impl Into<String>) -> Self {
        Self { code, blocks: false, detail: detail.into() }
    }
}

/// What came of writing, kept for a moment.
#[derive(Default)]
pub(crate) struct Writing(Mutex<Option<Known>>);

struct Known {
    at: Instant,
    reasons: Vec<Reason>,
}

impl Writing {
    /// What came of it lately, or of trying now.
    pub(crate) fn reasons(&self, write: impl FnOnce() -> Vec<Reason>) -> Vec<Reason> {
        // who comes while somebody tries waits for their answer
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = known
            .as_ref()
            .filter(|known| known.at.elapsed() < if known.reasons.is_empty() { GOOD_FOR } else { BAD_FOR });
        match fresh {
            Some(known) => known.reasons.clone(),
            None => known.insert(Known { reasons: write(), at: Instant::now() }).reasons.clone(),
        }
    }

    /// Something could not be written just now: what is known does not hold any more.
    pub(crate) fn failed(&self) {
        // one who tries just now learns it anyway
        if let Ok(mut known) = self.0.try_lock() {
            *known = None;
        }
    }
}
