//! Whether decisions can be taken, and if not, why: what `/readyz` answers.
//!
//! In: the parts of a service. Out: a list of reasons. A reason that blocks makes the server not ready; the others are told and
//! stop nothing. A part that has something to say pushes a reason in [`reasons`].

use super::auth::Standing;
use super::messages;
use super::service::Service;
use super::telemetry::reasons::Reason;
use serde::Serialize;

/// Whether decisions can be taken.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Readiness {
    /// Whether decisions can be taken.
    status: Ready,
    /// Whether the store answers and can be written.
    store: StoreState,
    /// The state of the files of tokens and keys.
    authentication: Standing,
    /// The digest of the manifests that are served.
    manifests: String,
    /// Whether files were written since that cannot be served.
    stale: bool,
    /// The number of findings that keep those files from being served.
    refused: usize,
    /// The number of findings in the manifests that are served which may lose a rule and are allowed by comments; `/v1/manifests`
    /// lists them.
    allowed: usize,
    /// Everything that is wrong; empty if all is well.
    reasons: Vec<Reason>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
enum Ready {
    Ready,
    NotReady,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
enum StoreState {
    Ok,
    Unavailable,
}

impl Readiness {
    /// How things are now.
    pub(super) fn of(service: &Service) -> Self {
        let manifests = service.manifests.status();
        let reasons = reasons(service);
        let blocked = reasons.iter().any(|reason| reason.blocks);
        let store = reasons.iter().any(|reason| reason.code.starts_with("store-"));
        Self {
            status: if blocked { Ready::NotReady } else { Ready::Ready },
            store: if store { StoreState::Unavailable } else { StoreState::Ok },
            authentication: service.authority.standing(),
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
        Ok(()) => reasons.extend(service.tasks.writing.reasons(|| written(service))),
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
