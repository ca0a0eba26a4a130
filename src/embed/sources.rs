//! Manifests and policies as a program gives them: paths to be read, and texts that it has.
//!
//! In: sources. Out: an engine whose agents may all run, or what is refused; for a checker every finding. Reading paths is the only IO,
//! and it is that of [`celador::manifest::load`](mod@celador::manifest::load).

use crate::{Error, Flaw, Host};
use celador::diagnostic::{Diagnostic, in_order};
use celador::manifest::Catalog;
use celador::manifest::given::Files;
use celador::manifest::load::{File, FileOrigin, load};
use celador::manifest::mode::Mode;
use celador::source::Source as Text;
use celador::{Engine, EngineLimits};
use std::path::{Path, PathBuf};

/// Where manifests and policies come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file, or a folder to be searched.
    Path(PathBuf),
    /// A text under a name, which stands in diagnostics as that of a file would.
    Text {
        /// The name.
        name: String,
        /// The text: YAML.
        text: String,
    },
}

impl Source {
    /// A text under a name.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text { name: name.into(), text: text.into() }
    }

    /// Its path, or its name.
    #[cfg(feature = "authoring")]
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Text { name, .. } => name.clone(),
        }
    }
}

impl From<&str> for Source {
    /// A path.
    fn from(path: &str) -> Self {
        Self::Path(path.into())
    }
}

/// The purpose for which policies are loaded.
#[derive(Clone, Copy)]
pub(crate) enum Purpose<'h> {
    /// It is only found out what they do: they hash with the key of verification, and know functions of the host by their declarations.
    Verifying,
    /// They decide, with what the host gives them.
    Deciding(&'h Host),
}

impl Purpose<'_> {
    fn of(self, catalog: Catalog) -> Catalog {
        match self {
            Self::Verifying => catalog.for_verification(),
            Self::Deciding(host) => host.of(catalog),
        }
    }
}

/// Sources that were read and linked.
pub(crate) struct Sources {
    /// What was read, for whoever compiles it once more: stores, proofs.
    #[cfg(any(feature = "stores", feature = "authoring"))]
    pub(crate) files: Vec<File>,
    pub(crate) catalog: Catalog,
    pub(crate) engine: Engine,
    pub(crate) findings: Vec<Diagnostic>,
}

impl Sources {
    /// Reads, links and compiles; what is wrong with the texts is among the findings.
    pub(crate) fn read(
        sources: &[Source],
        mode: Mode,
        purpose: Purpose<'_>,
        limits: EngineLimits,
    ) -> Result<Self, Error> {
        let mut paths = Vec::new();
        let mut texts = Vec::new();
        for source in sources {
            match source {
                Source::Path(path) => paths.push(path),
                Source::Text { name, text } => {
                    texts.push(File {
                        source: Text::new(name.clone(), text.clone()),
                        origin: FileOrigin::Named,
                    });
                }
            }
        }
        let (mut files, findings) =
            if paths.is_empty() { Default::default() } else { load(&paths, &limits)? };
        files.append(&mut texts);
        Ok(Self::of((files, findings), mode, purpose, limits))
    }

    /// The same of files that were read, with what was found while they were.
    pub(crate) fn of(
        (files, mut findings): (Vec<File>, Vec<Diagnostic>),
        mode: Mode,
        purpose: Purpose<'_>,
        limits: EngineLimits,
    ) -> Self {
        let (catalog, read) = Catalog::parse(&files, &limits);
        let catalog = purpose.of(catalog);
        findings.extend(read);
        let (engine, compiled) = match mode {
            Mode::Enforce => Engine::from_catalog(&catalog, limits),
            Mode::Observe => Engine::observing_from_catalog(&catalog, limits),
        };
        findings.extend(compiled);
        Self {
            #[cfg(any(feature = "stores", feature = "authoring"))]
            files,
            catalog,
            engine,
            findings,
        }
    }

    /// The same if each agent may run.
    pub(crate) fn open(
        sources: &[Source],
        mode: Mode,
        purpose: Purpose<'_>,
        limits: EngineLimits,
    ) -> Result<Self, Error> {
        Self::read(sources, mode, purpose, limits)?.whole()
    }

    /// The same, if each agent may run.
    pub(crate) fn whole(mut self) -> Result<Self, Error> {
        if self.findings.iter().any(Diagnostic::is_refused) || !self.engine.is_whole() {
            self.findings.retain(Diagnostic::is_refused);
            return Err(Error::refused(self.findings));
        }
        Ok(self)
    }
}

/// Every problem of manifests and policies, those included for which nothing is refused, of each file in the order of their places.
///
/// # Errors
/// A path that cannot be read.
pub fn check(sources: &[Source]) -> Result<Vec<Flaw>, Error> {
    let limits = EngineLimits::default();
    let mut findings = Sources::read(sources, Mode::Enforce, Purpose::Verifying, limits)?.findings;
    in_order(&mut findings);
    Ok(findings.iter().map(Flaw::of).collect())
}

/// How many clauses of manifests and policies are decided: `clauses`, `decided`, `contradicted`, and each of `unknown` with its place.
///
/// # Errors
/// A path that cannot be read.
#[cfg(feature = "authoring")]
pub fn analysis(sources: &[Source]) -> Result<serde_json::Value, Error> {
    let limits = EngineLimits::default();
    let analysis = Sources::read(sources, Mode::Enforce, Purpose::Verifying, limits)?.engine.analysis();
    let mut told = analysis.counts();
    if let Some(members) = told.as_object_mut() {
        members.insert("unknown".to_owned(), analysis.unknown_clauses().collect());
    }
    Ok(told)
}

/// The one file of a path, or a text.
#[cfg(feature = "authoring")]
pub(crate) fn one_text(source: &Source) -> Result<Text, Error> {
    match source {
        Source::Path(path) => one_file(&Files::System, path),
        Source::Text { name, text } => Ok(Text::new(name.clone(), text.clone())),
    }
}

/// The one file of a path, on the disk or among texts.
pub(crate) fn one_file(files: &Files, path: &Path) -> Result<Text, Error> {
    let (mut found, findings) = files.load(&[path], &EngineLimits::default())?;
    if !findings.is_empty() {
        return Err(Error::refused(findings));
    }
    match (found.pop(), found.is_empty()) {
        (Some(file), true) => Ok(file.source),
        _ => Err(Error::misuse("bad_request", "expected one file, and found a folder of several")),
    }
}
