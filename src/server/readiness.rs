//! Whether decisions can be taken, and if not, why: what `/readyz` answers.
//!
//! In: the parts of a service. Out: a list of reasons, each with a code that never changes and a sentence. A reason that
//! blocks makes the server not ready; the others are told and stop nothing. A part that has something to say pushes a
//! reason in [`reasons`]. Whether log and store can be written is tried by writing, and an answer of that is kept for a
//! moment: everybody may ask, and each try costs a sync of the disk.

use super::auth::Standing;
use super::messages;
use super::service::Service;
use serde::Serialize;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an answer holds that says that all can be written.
const GOOD_FOR: Duration = Duration::from_secs(1);

/// How long an answer holds that says that something cannot: who has made room wants to be taken back soon.
const BAD_FOR: Duration = Duration::from_millis(200);

/// What `/readyz` answers.
#[derive(Serialize)]
pub(super) struct Readiness {
    status: &'static str,
    store: &'static str,
    /// Files of tokens and keys.
    authentication: &'static str,
    /// The digest of the manifests that are served.
    manifests: String,
    /// Files were written that cannot be served.
    stale: bool,
    /// How many findings keep those files from being served.
    refused: usize,
    /// How many findings in what is served may lose a rule, and are allowed by comments.
    allowed: usize,
    reasons: Vec<Reason>,
}

/// Something that is wrong, or soon will be.
#[derive(Clone, Serialize)]
pub(super) struct Reason {
    /// A word for programs.
    pub(super) code: &'static str,
    /// Whether the server takes no decision because of it.
    pub(super) blocks: bool,
    /// A sentence for people, without data of a task.
    pub(super) detail: String,
}

impl Reason {
    /// A reason for which nothing is decided.
    pub(super) fn blocking(code: &'static str, detail: impl Into<String>) -> Self {
        Self { code, blocks: true, detail: detail.into() }
    }

    /// A reason that stops nothing.
    pub(super) fn told(code: &'static str, detail: impl Into<String>) -> Self {
        Self { code, blocks: false, detail: detail.into() }
    }
}

impl Readiness {
    /// How things are now.
    pub(super) fn of(service: &Service) -> Self {
        let manifests = service.manifests.status();
        let reasons = reasons(service);
        let blocked = reasons.iter().any(|reason| reason.blocks);
        let store = reasons.iter().any(|reason| reason.code.starts_with("store-"));
        Self {
            status: if blocked { "not_ready" } else { "ready" },
            store: if store { "unavailable" } else { "ok" },
            authentication: service.authority.standing().as_str(),
            stale: manifests.problem.is_some(),
            refused: manifests.problem.map_or(0, |problem| problem.findings.len()),
            allowed: manifests.serving.allowed.len(),
            manifests: manifests.serving.digest,
            reasons,
        }
    }

    /// The status of HTTP: 200, or 503 if no decision can be taken.
    pub(super) fn status(&self) -> u16 {
        if self.reasons.iter().any(|reason| reason.blocks) { 503 } else { 200 }
    }
}

/// Everything that is to be told.
fn reasons(service: &Service) -> Vec<Reason> {
    let mut reasons = Vec::new();
    match service.tasks.ping() {
        Ok(()) => reasons.extend(service.writing.reasons(|| written(service))),
        Err(_) => reasons.push(Reason::blocking("store-unavailable", messages::store_unavailable())),
    }
    match service.authority.standing() {
        Standing::Closed => {
            reasons.push(Reason::blocking("authentication-closed", messages::authentication_closed()));
        }
        Standing::Kept => {
            reasons.push(Reason::told("authentication-stale", messages::authentication_stale()));
        }
        Standing::NotRequired | Standing::Read => {}
    }
    if service.manifests.status().problem.is_some() {
        reasons.push(Reason::told("manifests-refused", messages::manifests_refused()));
    }
    reasons.extend(service.sweeper.reason());
    reasons
}

/// Tries to write.
fn written(service: &Service) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if let Err(error) = service.tasks.probe() {
        reasons.push(Reason::blocking("store-unwritable", messages::store_unwritable(&error)));
    }
    reasons.extend(service.tasks.recorder().unwritable());
    reasons
}

/// What came of writing, kept for a moment.
#[derive(Default)]
pub(super) struct Writing(Mutex<Option<Known>>);

struct Known {
    at: Instant,
    reasons: Vec<Reason>,
}

impl Writing {
    /// What came of it lately, or of trying now.
    fn reasons(&self, write: impl FnOnce() -> Vec<Reason>) -> Vec<Reason> {
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
    pub(super) fn failed(&self) {
        // one who tries just now learns it anyway
        if let Ok(mut known) = self.0.try_lock() {
            *known = None;
        }
    }
}
