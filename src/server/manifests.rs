//! The manifests that are served, and how they are replaced while tasks run.
//!
//! In: paths, at the start and whenever their files change. Out: one engine, whose policies are swapped as a whole. A set
//! with an error never replaces one without: what was served before is served on, and the problem is there to be read until
//! a good set comes.

use super::digest_list;
use super::error::ServeError;
use super::problem::{Kind, Problem};
use super::settings::Settings;
use celador::cel::Timestamp;
use celador::diagnostic::{Diagnostic, Standing};
use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::load::{File, LoadError, Stamp, stamps};
use celador::manifest::mode::Mode;
use celador::manifest::{Catalog, load};
use celador_service::Findings;
use celador_store::ManifestSet;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tracing::{info, warn};

/// The manifests that [`Settings`] name, as they were found: read, and not compiled yet.
///
/// ```
/// use celador_server::{ReadManifests, Settings};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
///
/// ReadManifests::of(&Settings::new(vec!["examples/first-policy".into()]))?;
/// assert!(ReadManifests::of(&Settings::new(vec!["examples/no-such-folder".into()])).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ReadManifests {
    /// What the files were like ahead of the reading: what is written in between differs at the next look.
    stamps: Vec<Stamp>,
    files: Vec<File>,
    catalog: Catalog,
    findings: Vec<Diagnostic>,
}

impl ReadManifests {
    /// Reads them. Linear in their texts.
    ///
    /// # Errors
    /// [`ServeError`] for paths that cannot be read. What is wrong with a manifest is said when they are compiled.
    pub fn of(settings: &Settings) -> Result<Self, ServeError> {
        let stamps = stamps_of(&settings.policies, settings.manifest_digests.as_ref());
        let read = read(&settings.policies, &settings.texts, &settings.limits.store.engine);
        let (files, catalog, findings) = read?;
        let catalog = catalog.with_host_functions(settings.functions.clone());
        let catalog = match &settings.hash_key {
            Some(key) => catalog.with_hash_key(key.clone()),
            None => catalog,
        };
        Ok(Self { stamps, files, catalog, findings })
    }
}

/// The manifests of a server.
pub(super) struct Manifests {
    paths: Vec<PathBuf>,
    /// Held as texts: they are the same at every look.
    texts: Vec<File>,
    mode: Mode,
    limits: EngineLimits,
    served: RwLock<Arc<Served>>,
    /// The file of digests that the publisher writes last, if there is to be one.
    digests: Option<PathBuf>,
    state: Mutex<State>,
}

/// A set of manifests that is or was served: its text, and what was made of it. One never changes.
pub(super) struct Served {
    pub(super) engine: Engine,
    pub(super) set: Arc<ManifestSet>,
}

struct State {
    /// What the files were like when they were last read, well or badly.
    stamps: Vec<Stamp>,
    /// What they were like at the last look, if they had changed: taken only if the next look sees the same.
    seen: Option<Look>,
    serving: Serving,
    problem: Option<Setback>,
}

/// Files at one moment: sizes, times, and the digest of what is in them.
#[derive(Clone, PartialEq, Eq)]
struct Look {
    stamps: Vec<Stamp>,
    digest: Option<String>,
}

/// An agent by its names.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct AgentName {
    /// Its namespace.
    pub(super) namespace: String,
    /// Its name.
    pub(super) name: String,
}

/// The manifests that are served.
#[derive(Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Serving {
    /// The SHA-256 over names and texts of the files: 64 hexadecimal digits.
    pub(super) digest: String,
    /// The time when they were loaded: RFC 3339.
    loaded_at: String,
    /// The names of the files.
    files: Vec<String>,
    /// The agents, in the order of their names.
    agents: Vec<AgentName>,
    /// Whether nothing is stopped, and decisions tell what would have been.
    observe: bool,
    /// The warnings that may lose a rule and that comments in the files allow, each with its reason.
    pub(super) allowed: Vec<Diagnostic>,
}

/// The reason why manifests that were written since are not served.
#[derive(Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Setback {
    /// The time when it was found: RFC 3339.
    since: String,
    /// The reason why nothing could be read; null if the manifests could be read and have errors.
    message: Option<String>,
    /// The errors, and the warnings that are refused.
    pub(super) findings: Vec<Diagnostic>,
}

/// The manifests that are served, and the reason why others are not.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Manifests"))]
pub(super) struct Status {
    /// The manifests that are served.
    pub(super) serving: Serving,
    /// The reason why files that were written since are not served; null if there are no such files.
    pub(super) problem: Option<Setback>,
}

impl Manifests {
    /// The manifests that were read for these settings, compiled. `is_kept` says of the digest of a set whether the store keeps it.
    ///
    /// # Errors
    /// Manifests with errors, and such as are not those that the publisher names.
    pub(super) fn open(
        settings: &Settings,
        read: ReadManifests,
        is_kept: impl FnOnce(&str) -> bool,
        now: Timestamp,
    ) -> Result<Self, ServeError> {
        let (paths, texts) = (settings.policies.clone(), settings.texts.clone());
        let (digests, limits) = (settings.manifest_digests.clone(), settings.limits.store.engine);
        let mode = if settings.observe { Mode::Observe } else { Mode::Enforce };
        let ReadManifests { stamps, files, catalog, mut findings } = read;
        if let Some(path) = &digests {
            digest_list::check(path, &files).map_err(|what| ServeError::file(path, what))?;
        }
        let set = Arc::new(ManifestSet::of(&files));
        let (engine, compiled) = match mode {
            _ if !settings.analyse_kept && is_kept(set.digest()) => {
                Engine::kept_from_catalog(&catalog, mode, limits)
            }
            Mode::Enforce => Engine::from_catalog(&catalog, limits),
            Mode::Observe => Engine::observing_from_catalog(&catalog, limits),
        };
        findings.extend(compiled);
        tell(&findings);
        if let Some(key) = &settings.hash_key {
            info!(id = key.id(), "policies hash with a key");
        }
        if mode == Mode::Observe {
            warn!("nothing is stopped: decisions tell what would have been");
        }
        if findings.iter().any(Diagnostic::is_refused) {
            findings.retain(Diagnostic::is_refused);
            return Err(ServeError::Invalid(findings));
        }
        let serving = Serving::of(&files, &set, &catalog, mode, &findings, now);
        let state = State { stamps, seen: None, serving, problem: None };
        let served = RwLock::new(Arc::new(Served { engine, set }));
        Ok(Self { paths, texts, mode, limits, served, digests, state: Mutex::new(state) })
    }

    /// What is served now.
    pub(super) fn served(&self) -> Arc<Served> {
        // a poisoned lock still holds a whole set: writers only ever swap one pointer
        self.served.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is served, and what is wrong with what is not.
    pub(super) fn status(&self) -> Status {
        let state = self.state();
        Status { serving: state.serving.clone(), problem: state.problem.clone() }
    }

    /// Looks at the files, and serves what has changed once it has come to rest: two looks, one after the other, have to
    /// see the same sizes, times and digests. A file that somebody is writing is so left alone until they are done.
    pub(super) fn poll(&self, now: Timestamp) -> Option<Result<String, Problem>> {
        let stamps = self.stamps();
        let mut state = self.state();
        if state.stamps == stamps {
            state.seen = None;
            return None;
        }
        let look = Look { digest: self.content(), stamps };
        if state.seen.as_ref() != Some(&look) {
            state.seen = Some(look);
            return None;
        }
        state.seen = None;
        drop(state);
        Some(self.reload(now))
    }

    fn stamps(&self) -> Vec<Stamp> {
        stamps_of(&self.paths, self.digests.as_ref())
    }

    /// The digest of all files; none if they cannot be read.
    fn content(&self) -> Option<String> {
        let (mut files, _) = load(&self.paths, &self.limits).ok()?;
        files.extend_from_slice(&self.texts);
        Some(ManifestSet::of(&files).digest().to_owned())
    }

    /// Reads the manifests again and serves them if they have no error. Where they say what is served already, that is served on, as it is.
    ///
    /// # Errors
    /// What is wrong with them; what was served before is served on.
    pub(super) fn reload(&self, now: Timestamp) -> Result<String, Problem> {
        // held to the end: two reloads at once must not end with the older set
        let mut state = self.state();
        state.stamps = self.stamps();
        match self.replace(now) {
            Ok(replaced) => {
                if let Some(serving) = replaced {
                    state.serving = serving;
                }
                state.problem = None;
                Ok(state.serving.digest.clone())
            }
            Err(setback) => {
                let problem = match &setback.message {
                    Some(message) => Problem::new(Kind::InvalidManifests, message.clone()),
                    None => Problem::from(Kind::InvalidManifests),
                };
                let problem = problem.with_findings(Findings::Manifests(setback.findings.clone()));
                state.problem = Some(setback);
                Err(problem)
            }
        }
    }

    /// Serves what the files hold, unless they hold what is served.
    fn replace(&self, now: Timestamp) -> Result<Option<Serving>, Setback> {
        let setback = |message, findings: &[Diagnostic]| {
            let refused = findings.iter().filter(|finding| finding.is_refused());
            Setback { since: now.to_string(), message, findings: refused.cloned().collect() }
        };
        let read = read(&self.paths, &self.texts, &self.limits);
        let (files, catalog, mut findings) = read.map_err(|error| setback(Some(error.to_string()), &[]))?;
        if let Some(path) = &self.digests {
            let checked = digest_list::check(path, &files);
            checked.map_err(|what| setback(Some(format!("`{}`: {what}", path.display())), &[]))?;
        }
        let set = Arc::new(ManifestSet::of(&files));
        if set.digest() == self.served().set.digest() {
            return Ok(None);
        }
        // made beside what is served: an error that stops no agent by itself must not be served either
        let (engine, compiled) = self.served().engine.successor(&catalog);
        findings.extend(compiled);
        tell(&findings);
        if findings.iter().any(Diagnostic::is_refused) || !engine.is_whole() {
            return Err(setback(None, &findings));
        }
        let serving = Serving::of(&files, &set, &catalog, self.mode, &findings, now);
        *self.served.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Served { engine, set });
        Ok(Some(serving))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // a poisoned state is whole: each of its members is set at once
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The stamps of the manifests, and of the file of digests. What cannot be looked at has none.
fn stamps_of(paths: &[PathBuf], digests: Option<&PathBuf>) -> Vec<Stamp> {
    let mut found = stamps(paths).unwrap_or_default();
    found.extend(stamps(digests.as_slice()).unwrap_or_default());
    found
}

/// Says in the log what keeps manifests from being served, and what comments let by.
fn tell(findings: &[Diagnostic]) {
    for finding in findings {
        let (code, path, message) = (finding.code, &finding.path, &finding.message);
        let at = finding.place.to_string();
        if finding.is_refused() {
            warn!(code, at, path, message, "a finding keeps the manifests from being served");
        } else if let Standing::Allowed(reason) = &finding.standing {
            warn!(code, at, path, message, reason = &**reason, "a finding is allowed by a comment");
        }
    }
}

fn read(
    paths: &[PathBuf],
    texts: &[File],
    limits: &EngineLimits,
) -> Result<(Vec<File>, Catalog, Vec<Diagnostic>), LoadError> {
    let (mut files, mut findings) = load(paths, limits)?;
    files.extend_from_slice(texts);
    let (catalog, read) = Catalog::parse(&files, limits);
    findings.extend(read);
    Ok((files, catalog, findings))
}

impl Serving {
    fn of(
        files: &[File],
        set: &ManifestSet,
        catalog: &Catalog,
        mode: Mode,
        findings: &[Diagnostic],
        now: Timestamp,
    ) -> Self {
        let mut agents: Vec<(String, String)> = catalog
            .agents()
            .iter()
            .map(|resolved| (resolved.agent.namespace.text.to_string(), resolved.agent.name.text.to_string()))
            .collect();
        agents.sort();
        let is_allowed = |finding: &&Diagnostic| matches!(finding.standing, Standing::Allowed(_));
        Self {
            digest: set.digest().to_owned(),
            loaded_at: now.to_string(),
            files: files.iter().map(|file| file.source.name().to_owned()).collect(),
            agents: agents.into_iter().map(|(namespace, name)| AgentName { namespace, name }).collect(),
            observe: mode == Mode::Observe,
            allowed: findings.iter().filter(is_allowed).cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Manifests, ReadManifests, ServeError, Settings};
    use celador::cel::Timestamp;
    use std::fs;
    use std::sync::Arc;

    fn opened(
        settings: &Settings,
        is_kept: impl FnOnce(&str) -> bool,
        now: Timestamp,
    ) -> Result<Manifests, ServeError> {
        Manifests::open(settings, ReadManifests::of(settings)?, is_kept, now)
    }

    fn text(prompt: &str) -> String {
        format!(
            "kind: commonagents.info/v1beta2/agent\nnamespace: n\nname: a\ndescription: d\nprompt: {prompt}\n"
        )
    }

    /// A file that is written between two looks is left alone, whatever it holds; one that rests is served.
    #[test]
    fn a_file_is_served_when_two_looks_agree() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("a.yaml");
        let now = Timestamp::from_nanos(0)?;
        fs::write(&file, text("First."))?;
        let paths = [folder.path().to_owned()];
        let manifests = opened(&Settings::new(paths.to_vec()), |_| false, now)?;
        let digest = || manifests.status().serving.digest;
        let first = digest();
        assert!(manifests.poll(now).is_none());
        for prompt in ["S", "Se", "Sec", "Second"] {
            fs::write(&file, text(prompt))?;
            assert!(manifests.poll(now).is_none(), "it was written since the last look");
        }
        assert_eq!(digest(), first);
        assert!(manifests.poll(now).is_some_and(|served| served.is_ok()));
        assert_ne!(digest(), first);
        assert!(manifests.poll(now).is_none());
        Ok(())
    }

    /// A file that is written after it was read for the first time, and before it is served, is read again.
    #[test]
    fn a_file_that_changes_during_the_start_is_not_missed() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("a.yaml");
        let now = Timestamp::from_nanos(0)?;
        fs::write(&file, text("First."))?;
        let settings = Settings { analyse_kept: false, ..Settings::new(vec![folder.path().to_owned()]) };
        // the store is asked for the digest between the reading and the serving
        let manifests = opened(&settings, |_| fs::write(&file, text("Second, longer.")).is_err(), now)?;
        let first = manifests.status().serving.digest;
        assert!(manifests.poll(now).is_none());
        assert!(manifests.poll(now).is_some_and(|served| served.is_ok()));
        assert_ne!(manifests.status().serving.digest, first);
        Ok(())
    }

    /// Files that are read anew and say the same leave what is served as it is, and end the problem that others have made.
    #[test]
    fn what_is_served_stays_where_the_files_say_the_same() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("a.yaml");
        fs::write(&file, text("p"))?;
        let manifests =
            opened(&Settings::new(vec![folder.path().to_owned()]), |_| false, Timestamp::from_nanos(0)?)?;
        let first = manifests.served();
        let later = Timestamp::from_nanos(1_000_000_000)?;
        fs::write(&file, "kind: nothing\n")?;
        assert!(manifests.reload(later).is_err() && manifests.status().problem.is_some());
        fs::write(&file, text("p"))?;
        assert!(manifests.reload(later).is_ok() && manifests.status().problem.is_none());
        assert!(Arc::ptr_eq(&first, &manifests.served()));
        fs::write(&file, text("q"))?;
        assert!(manifests.reload(later).is_ok() && !Arc::ptr_eq(&first, &manifests.served()));
        Ok(())
    }

    /// A rule that no input breaks is refused, unless the store keeps the set and whoever opens it relies on that.
    #[test]
    fn clauses_are_decided_before_a_first_task() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let text = "kind: commonagents.info/v1beta2/agent\nnamespace: n\nname: a\ndescription: d\nprompt: p\n\
                    guardrails: {before: [{assert: \"!context.user.id.startsWith('ab') || context.user.id.startsWith('a')\"}]}\n";
        fs::write(folder.path().join("a.yaml"), text)?;
        let now = Timestamp::from_nanos(0)?;
        for (analyse_kept, is_kept) in [(true, true), (true, false), (false, true), (false, false)] {
            let settings = Settings { analyse_kept, ..Settings::new(vec![folder.path().to_owned()]) };
            let opened = opened(&settings, |_| is_kept, now);
            assert_eq!(opened.is_ok(), is_kept && !analyse_kept, "{analyse_kept}, {is_kept}");
        }
        Ok(())
    }
}
