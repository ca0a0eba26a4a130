//! Manifests and policies as a program gives them: paths to be read, and texts that it has.
//!
//! In: sources. Out: an engine whose agents may all run, or what is refused; for a checker every finding. Reading paths is the only IO,
//! and it is that of [`celador::manifest::load`](mod@celador::manifest::load).

use crate::{Error, Flaw};
use celador::diagnostic::Diagnostic;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin, load};
use celador::manifest::mode::Mode;
use celador::source::Source as Text;
use celador::{Engine, EngineLimits};
use std::path::PathBuf;

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
}

impl From<&str> for Source {
    /// A path.
    fn from(path: &str) -> Self {
        Self::Path(path.into())
    }
}

/// Sources that were read and linked.
pub(crate) struct Sources {
    #[cfg(feature = "stores")]
    pub(crate) files: Vec<File>,
    pub(crate) catalog: Catalog,
    pub(crate) engine: Engine,
    pub(crate) findings: Vec<Diagnostic>,
}

impl Sources {
    /// Reads, links and compiles; what is wrong with the texts is among the findings.
    pub(crate) fn read(sources: &[Source], mode: Mode, limits: EngineLimits) -> Result<Self, Error> {
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
        let (mut files, mut findings) =
            if paths.is_empty() { Default::default() } else { load(&paths, &limits)? };
        files.append(&mut texts);
        let (catalog, read) = Catalog::parse(&files, &limits);
        findings.extend(read);
        let (engine, compiled) = match mode {
            Mode::Enforce => Engine::from_catalog(&catalog, limits),
            Mode::Observe => Engine::observing_from_catalog(&catalog, limits),
        };
        findings.extend(compiled);
        Ok(Self {
            #[cfg(feature = "stores")]
            files,
            catalog,
            engine,
            findings,
        })
    }

    /// The same if each agent may run.
    pub(crate) fn open(sources: &[Source], mode: Mode, limits: EngineLimits) -> Result<Self, Error> {
        let mut read = Self::read(sources, mode, limits)?;
        if read.findings.iter().any(Diagnostic::is_refused) || !read.engine.is_whole() {
            read.findings.retain(Diagnostic::is_refused);
            return Err(Error::refused(read.findings));
        }
        Ok(read)
    }
}

/// Every problem of manifests and policies, those included for which nothing is refused.
///
/// # Errors
/// A path that cannot be read.
pub fn check(sources: &[Source]) -> Result<Vec<Flaw>, Error> {
    Ok(Sources::read(sources, Mode::Enforce, EngineLimits::default())?
        .findings
        .iter()
        .map(Flaw::of)
        .collect())
}
