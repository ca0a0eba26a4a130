//! Files that a host brings along by name, where there is no file system: in a browser, in an archive, in a test.
//!
//! In: names and texts. Out: what [`load`](mod@super::load) would read if they lay on a disk under these names: the same files in the
//! same order, the same findings, the same errors. Nothing is read from anywhere.

use super::load::{Extension, File, FileOrigin, LoadError, load, other_case, too_large};
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::source::Source;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Where files are read from.
///
/// ```
/// use celador::EngineLimits;
/// use celador::manifest::given::{Files, GivenFiles};
/// use celador::scenario::{Runner, Summary, cases_among};
///
/// let agent = "kind: commonagents.info/v1beta2/agent\nnamespace: shop\nname: clerk\ndescription: A clerk.\nprompt: Be careful.\n";
/// let case = "name: valid\nmanifest: {files: [../agent.yaml], agent: clerk}\ncall: {op: validate}\nexpect: {decision: valid}\n";
/// let files = Files::Given(GivenFiles::new([("agent.yaml", agent), ("cases/valid.yaml", case)]));
/// let (mut runner, mut summary) = (Runner::among(files.clone(), EngineLimits::default()), Summary::default());
/// for case in cases_among(&files, &["cases"], &EngineLimits::default())? {
///     summary.add(&case.map_or_else(|broken| broken, |case| runner.run(&case)));
/// }
/// assert_eq!(summary.passed, 1);
/// # Ok::<(), celador::manifest::load::LoadError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub enum Files {
    /// The disk.
    #[default]
    System,
    /// What a host has brought along.
    Given(GivenFiles),
}

impl Files {
    /// The files at these paths, each path's in sorted order, every file once; and findings about those that cannot be used.
    ///
    /// # Errors
    /// [`LoadError`] for the first path that cannot be read, and for a folder without YAML files.
    pub fn load<P: AsRef<Path>>(
        &self,
        paths: &[P],
        limits: &EngineLimits,
    ) -> Result<(Vec<File>, Vec<Diagnostic>), LoadError> {
        match self {
            Self::System => load(paths, limits),
            Self::Given(given) => given.load(paths, limits),
        }
    }
}

/// Files by their paths. A path that begins others is their folder.
///
/// ```
/// use celador::EngineLimits;
/// use celador::manifest::given::GivenFiles;
///
/// let files = GivenFiles::new([("shop/clerk.yaml", "kind: …"), ("shop/notes.txt", "…"), ("desk.yaml", "kind: …")]);
/// let (found, _) = files.load(&["shop"], &EngineLimits::default())?;
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].source.name(), "shop/clerk.yaml");
/// assert!(files.load(&["bank"], &EngineLimits::default()).is_err());
/// # Ok::<(), celador::manifest::load::LoadError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct GivenFiles(BTreeMap<PathBuf, Arc<str>>);

impl GivenFiles {
    /// These files. Of two under one path the later one counts.
    pub fn new<N: AsRef<Path>, T: Into<Arc<str>>>(files: impl IntoIterator<Item = (N, T)>) -> Self {
        Self(files.into_iter().map(|(name, text)| (plain(name.as_ref()), text.into())).collect())
    }

    /// As [`Files::load`].
    ///
    /// # Errors
    /// As [`Files::load`].
    pub fn load<P: AsRef<Path>>(
        &self,
        paths: &[P],
        limits: &EngineLimits,
    ) -> Result<(Vec<File>, Vec<Diagnostic>), LoadError> {
        let (mut files, mut findings, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        for path in paths {
            let path = plain(path.as_ref());
            let (origin, found) = match self.0.get_key_value(&path) {
                Some(file) => (FileOrigin::Named, vec![file]),
                None => (FileOrigin::Found, self.yaml_files(&path)?),
            };
            for (path, text) in found {
                if !seen.insert(path.as_path()) {
                    continue;
                }
                let name = path.display().to_string();
                if origin == FileOrigin::Found && Extension::of(path) == Some(Extension::OtherCase) {
                    findings.push(other_case(name));
                } else if text.len() > limits.max_manifest_bytes {
                    findings.push(too_large(name, limits));
                } else {
                    files.push(File { source: Source::new(name, &**text), origin });
                }
            }
        }
        Ok((files, findings))
    }

    /// The YAML files below a folder, but for those whose name, or a folder of theirs, begins with a dot.
    fn yaml_files(&self, folder: &Path) -> Result<Vec<(&PathBuf, &Arc<str>)>, LoadError> {
        let mut is_there = folder.as_os_str().is_empty();
        let mut files = Vec::new();
        for (path, text) in &self.0 {
            let Ok(below) = path.strip_prefix(folder) else { continue };
            is_there = true;
            let hidden = below.components().any(|part| part.as_os_str().to_string_lossy().starts_with('.'));
            if Extension::of(path).is_some() && !hidden {
                files.push((path, text));
            }
        }
        let path = folder.display().to_string();
        match (is_there, files.is_empty()) {
            (false, _) => Err(LoadError::Unreadable { path, reason: io::ErrorKind::NotFound.into() }),
            (true, true) => Err(LoadError::EmptyFolder { path }),
            (true, false) => Ok(files),
        }
    }
}

/// A path without `.`, and without a folder that `..` leaves again: `cases/../agent.yaml` is `agent.yaml`.
#[must_use]
pub fn plain(path: &Path) -> PathBuf {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.iter().collect()
}
