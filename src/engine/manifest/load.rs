//! Reads manifest files and folders: the only place under `manifest` that does IO.
//!
//! In: paths. Out: the texts of the files, each path's in sorted order, every file once; a file that is no text or too
//! long is a finding. Folders are searched to any depth for `*.yaml` and `*.yml`; names that begin with a dot are left
//! alone. A file whose extension is `YAML` in other letters is an error, and a link that leads nowhere cannot be
//! read: both may hold rules. Nothing is read into memory past `max_manifest_bytes`. It looks into no file.

use super::messages;
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::source::{Place, Source, Span};
use std::collections::{HashSet, VecDeque};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file that was read.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path and text.
    pub source: Source,
    /// How it came to be read.
    pub origin: FileOrigin,
}

/// How a file came to be read: it decides what is expected of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOrigin {
    /// Somebody named it: it must hold manifests.
    Named,
    /// It lay in a folder: it may hold something else.
    Found,
}

/// Paths that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A path that does not exist or may not be read.
    #[error("cannot read `{path}`: {reason}")]
    Unreadable {
        /// The path.
        path: String,
        /// What the system says.
        reason: io::Error,
    },
    /// A path that is neither a file nor a folder.
    #[error("`{path}` is neither a file nor a folder")]
    Special {
        /// The path.
        path: String,
    },
    /// A folder without a single YAML file.
    #[error("the folder `{path}` holds no `*.yaml` and no `*.yml`")]
    EmptyFolder {
        /// The path.
        path: String,
    },
}

/// The files at the given paths, and findings about those that cannot be used.
///
/// # Errors
/// [`LoadError`] for the first path that cannot be read, and for a folder without YAML files.
pub fn load<P: AsRef<Path>>(
    paths: &[P],
    limits: &EngineLimits,
) -> Result<(Vec<File>, Vec<Diagnostic>), LoadError> {
    let mut files = Vec::new();
    let mut findings = Vec::new();
    let mut seen = HashSet::new();
    for path in paths {
        let path = path.as_ref();
        let kind = fs::metadata(path).map_err(|reason| unreadable(path, reason))?;
        let (origin, found) = if kind.is_dir() {
            (FileOrigin::Found, yaml_files(path)?)
        } else if kind.is_file() {
            (FileOrigin::Named, vec![path.to_owned()])
        } else {
            return Err(LoadError::Special { path: path.display().to_string() });
        };
        for path in found {
            let identity = path.canonicalize().map_err(|reason| unreadable(&path, reason))?;
            if !seen.insert(identity) {
                continue;
            }
            if origin == FileOrigin::Found && Extension::of(&path) == Some(Extension::OtherCase) {
                findings.push(other_case(path.display().to_string()));
                continue;
            }
            match read(&path, limits)? {
                Ok(source) => files.push(File { source, origin }),
                Err(finding) => findings.push(*finding),
            }
        }
    }
    Ok((files, findings))
}

/// The extension of a YAML file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extension {
    /// `yaml` or `yml`.
    Yaml,
    /// The same with capital letters.
    OtherCase,
}

impl Extension {
    /// The extension of a path; `None` unless it is one of YAML.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        if extension == "yaml" || extension == "yml" {
            return Some(Self::Yaml);
        }
        let is_yaml = extension.eq_ignore_ascii_case("yaml") || extension.eq_ignore_ascii_case("yml");
        is_yaml.then_some(Self::OtherCase)
    }
}

/// What a file was like when it was looked at: enough to see that it was written since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    path: PathBuf,
    written: Option<SystemTime>,
    bytes: u64,
}

/// The stamps of the files that [`load`] would read now. Looks into none.
///
/// # Errors
/// As [`load`].
pub fn stamps<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Stamp>, LoadError> {
    let mut stamps = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let kind = fs::metadata(path).map_err(|reason| unreadable(path, reason))?;
        let found = if kind.is_dir() { yaml_files(path)? } else { vec![path.to_owned()] };
        for path in found {
            // of a link that leads nowhere, the link
            let data = fs::metadata(&path).or_else(|_| fs::symlink_metadata(&path));
            let data = data.map_err(|reason| unreadable(&path, reason))?;
            stamps.push(Stamp { path, written: data.modified().ok(), bytes: data.len() });
        }
    }
    Ok(stamps)
}

/// The folder in which npm keeps the packages of others, whose YAML files are no work of this project. It is searched where a path names it.
const PACKAGES: &str = "node_modules";

/// The YAML files of a folder, sorted by path, but for hidden ones and those of npm packages. Links to folders are followed, behind all other folders, so that a file
/// is named by a path without links if it has one; no folder is searched twice.
fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let mut files = Vec::new();
    let mut folders = VecDeque::from([folder.to_owned()]);
    let mut searched = HashSet::new();
    while let Some(folder) = folders.pop_front() {
        let identity = folder.canonicalize().map_err(|reason| unreadable(&folder, reason))?;
        if !searched.insert(identity) {
            continue;
        }
        let entries = fs::read_dir(&folder).map_err(|reason| unreadable(&folder, reason))?;
        for entry in entries {
            let entry = entry.map_err(|reason| unreadable(&folder, reason))?;
            let path = entry.path();
            let name = entry.file_name();
            if name.to_string_lossy().starts_with('.') || name == PACKAGES {
                continue;
            }
            let kind = entry.file_type().map_err(|reason| unreadable(&path, reason))?;
            let target =
                if kind.is_symlink() { fs::metadata(&path).map_or(kind, |to| to.file_type()) } else { kind };
            // a link that leads nowhere counts as a file that cannot be read
            if target.is_dir() && kind.is_symlink() {
                folders.push_back(path);
            } else if target.is_dir() {
                folders.push_front(path);
            } else if Extension::of(&path).is_some() && (target.is_file() || target.is_symlink()) {
                files.push(path);
            }
        }
    }
    if files.is_empty() {
        return Err(LoadError::EmptyFolder { path: folder.display().to_string() });
    }
    files.sort();
    Ok(files)
}

/// The text of a file, or what keeps it from being one.
fn read(path: &Path, limits: &EngineLimits) -> Result<Result<Source, Box<Diagnostic>>, LoadError> {
    let name = path.display().to_string();
    let most = u64::try_from(limits.max_manifest_bytes).unwrap_or(u64::MAX).saturating_add(1);
    let bytes = fs::File::open(path).and_then(|file| {
        // read at once, unless it grows meanwhile
        let length = file.metadata()?.len().min(most);
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    let bytes = bytes.map_err(|reason| unreadable(path, reason))?;
    if bytes.len() > limits.max_manifest_bytes {
        return Ok(Err(Box::new(too_large(name, limits))));
    }
    Ok(text(&name, bytes))
}

/// The finding about a file that is longer than the bound.
pub(super) fn too_large(name: String, limits: &EngineLimits) -> Diagnostic {
    messages::manifest_too_large(start(name), "max_manifest_bytes", limits.max_manifest_bytes)
}

/// The finding about a file of a folder whose extension has capital letters.
pub(super) fn other_case(name: String) -> Diagnostic {
    messages::extension_case(start(name))
}

/// The place of a file whose text was not read.
fn start(name: String) -> Place {
    Place::new(&Source::new(name, ""), Span::new(0, 0))
}

/// A source of bytes that should be UTF-8.
fn text(name: &str, bytes: Vec<u8>) -> Result<Source, Box<Diagnostic>> {
    String::from_utf8(bytes).map(|text| Source::new(name, text)).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let source = Source::new(name, String::from_utf8_lossy(error.as_bytes()));
        let replacement = char::REPLACEMENT_CHARACTER.len_utf8();
        let place = Place::new(&source, Span::new(at, at.saturating_add(replacement)));
        Box::new(messages::not_utf8(place, at))
    })
}

fn unreadable(path: &Path, reason: io::Error) -> LoadError {
    LoadError::Unreadable { path: path.display().to_string(), reason }
}
