//! The manifests that are served, and how they are replaced while tasks run.
//!
//! In: paths, at the start and whenever their files change. Out: one engine, whose policies are swapped as a whole. A set
//! with an error never replaces one without: what was served before is served on, and the problem is there to be read until
//! a good set comes.

use super::error::ServeError;
use super::problem::{Kind, Problem};
use crate::cel::Timestamp;
use crate::diagnostic::Diagnostic;
use crate::digest::Digest;
use crate::engine::Engine;
use crate::limits::EvalLimits;
use crate::manifest::load::{File, LoadError, Stamp, stamps};
use crate::manifest::{Catalog, load};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The manifests of a server.
pub(super) struct Manifests {
    paths: Vec<PathBuf>,
    limits: EvalLimits,
    engine: Arc<Engine>,
    state: Mutex<State>,
}

struct State {
    /// What the files were like when they were last read, well or badly.
    stamps: Vec<Stamp>,
    serving: Serving,
    problem: Option<Setback>,
}

/// What is served.
#[derive(Clone, Serialize)]
pub(super) struct Serving {
    /// SHA-256 over names and texts of the files.
    pub(super) digest: String,
    loaded_at: String,
    files: Vec<String>,
    agents: Vec<Agent>,
}

#[derive(Clone, Serialize)]
struct Agent {
    namespace: String,
    name: String,
}

/// A set that did not come to be served.
#[derive(Clone, Serialize)]
pub(super) struct Setback {
    since: String,
    /// Why nothing could be read, if so.
    message: Option<String>,
    findings: Vec<serde_json::Value>,
}

/// What is served, and what would be if it had no errors.
#[derive(Serialize)]
pub(super) struct Status {
    pub(super) serving: Serving,
    pub(super) problem: Option<Setback>,
}

impl Manifests {
    /// The manifests at these paths.
    ///
    /// # Errors
    /// Paths that cannot be read, manifests with errors.
    pub(super) fn open(paths: &[PathBuf], limits: EvalLimits, now: Timestamp) -> Result<Self, ServeError> {
        let stamps = stamps(paths)?;
        let (files, catalog, mut findings) = read(paths, &limits)?;
        let (engine, compiled) = Engine::from_catalog(&catalog, limits);
        findings.extend(compiled);
        if findings.iter().any(Diagnostic::is_error) {
            findings.retain(Diagnostic::is_error);
            return Err(ServeError::Invalid(findings));
        }
        let state = State { stamps, serving: Serving::of(&files, &catalog, now), problem: None };
        Ok(Self { paths: paths.to_vec(), limits, engine: Arc::new(engine), state: Mutex::new(state) })
    }

    /// The engine of what is served.
    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// What is served, and what is wrong with what is not.
    pub(super) fn status(&self) -> Status {
        let state = self.state();
        Status { serving: state.serving.clone(), problem: state.problem.clone() }
    }

    /// Reads the manifests again if a file has come, gone, or changed its length or time.
    pub(super) fn poll(&self, now: Timestamp) -> Option<Result<String, Problem>> {
        let found = stamps(&self.paths).unwrap_or_default();
        if self.state().stamps == found {
            return None;
        }
        Some(self.reload(now))
    }

    /// Reads the manifests again and serves them if they have no error.
    ///
    /// # Errors
    /// What is wrong with them; what was served before is served on.
    pub(super) fn reload(&self, now: Timestamp) -> Result<String, Problem> {
        // held to the end: two reloads at once must not end with the older set
        let mut state = self.state();
        state.stamps = stamps(&self.paths).unwrap_or_default();
        match self.replace(now) {
            Ok(serving) => {
                state.serving = serving;
                state.problem = None;
                Ok(state.serving.digest.clone())
            }
            Err(setback) => {
                let problem = match &setback.message {
                    Some(message) => Problem::new(Kind::InvalidManifests, message.clone()),
                    None => Problem::from(Kind::InvalidManifests),
                };
                let problem = problem.with_findings(setback.findings.clone());
                state.problem = Some(setback);
                Err(problem)
            }
        }
    }

    fn replace(&self, now: Timestamp) -> Result<Serving, Setback> {
        let setback = |message, findings: &[Diagnostic]| {
            let errors = findings.iter().filter(|finding| finding.is_error());
            Setback { since: now.to_string(), message, findings: errors.map(Diagnostic::to_json).collect() }
        };
        let read = read(&self.paths, &self.limits);
        let (files, catalog, mut findings) = read.map_err(|error| setback(Some(error.to_string()), &[]))?;
        // tried apart first: an error that stops no agent by itself must not be served either
        let (_, compiled) = Engine::from_catalog(&catalog, self.limits);
        findings.extend(compiled);
        if findings.iter().any(Diagnostic::is_error) {
            return Err(setback(None, &findings));
        }
        self.engine.replace(&catalog).map_err(|findings| setback(None, &findings))?;
        Ok(Serving::of(&files, &catalog, now))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // a poisoned state is whole: each of its members is set at once
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(paths: &[PathBuf], limits: &EvalLimits) -> Result<(Vec<File>, Catalog, Vec<Diagnostic>), LoadError> {
    let (files, mut findings) = load(paths, limits)?;
    let (catalog, read) = Catalog::parse(&files, limits);
    findings.extend(read);
    Ok((files, catalog, findings))
}

impl Serving {
    fn of(files: &[File], catalog: &Catalog, now: Timestamp) -> Self {
        let texts = files.iter().flat_map(|file| [file.source.name(), file.source.text()]);
        let digest = Digest::of_parts(texts);
        let mut agents: Vec<(String, String)> = catalog
            .agents()
            .iter()
            .map(|resolved| (resolved.agent.namespace.text.to_string(), resolved.agent.name.text.to_string()))
            .collect();
        agents.sort();
        Self {
            digest: digest.to_string(),
            loaded_at: now.to_string(),
            files: files.iter().map(|file| file.source.name().to_owned()).collect(),
            agents: agents.into_iter().map(|(namespace, name)| Agent { namespace, name }).collect(),
        }
    }
}
