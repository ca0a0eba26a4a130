//! Finds the case files among paths, and reads the manifests that a case names.
//!
//! In: files and folders. Out: a case, or what is wrong with it, for each one that their files hold. A named file must be of
//! cases. In a folder, [`Role`] tells which documents are; manifests and recorded tasks are left alone. What may have been a
//! case counts as one that is broken: a file that is no YAML, a document that is nearly a case or a manifest, and a folder
//! without a case. So no test is lost in silence. A document of another program is a warning.

use super::case::{Case, Manifests};
use super::case_file::read;
use super::messages;
use super::report::{Loaded, Report};
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::lint::Allowances;
use crate::manifest::comments::comments;
use crate::manifest::given::{Files, plain};
use crate::manifest::load::{File, FileOrigin, LoadError};
use crate::manifest::role::{Role, empty_file};
use crate::manifest::{Catalog, Document, yaml};
use std::path::{Path, PathBuf};

/// The cases among some files, and what else lies there.
#[derive(Debug, Default)]
pub struct FoundCases {
    /// The cases of each path in the order of their names, those that cannot be read included.
    pub cases: Vec<Loaded>,
    /// Documents of folders that no command reads.
    pub warnings: Vec<Diagnostic>,
}

/// The cases of files and folders, each path's in the order of their names.
///
/// # Errors
/// [`LoadError`] for the first path that cannot be read, and for a folder without YAML files.
pub fn load_cases<P: AsRef<Path>>(paths: &[P], limits: &EngineLimits) -> Result<Vec<Loaded>, LoadError> {
    cases_among(&Files::System, paths, limits)
}

/// The same among files that need not lie on a disk.
///
/// # Errors
/// As [`load_cases`].
pub fn cases_among<P: AsRef<Path>>(
    files: &Files,
    paths: &[P],
    limits: &EngineLimits,
) -> Result<Vec<Loaded>, LoadError> {
    find_cases(files, paths, limits).map(|found| found.cases)
}

/// The same with the documents that no command reads.
///
/// # Errors
/// As [`load_cases`].
pub fn find_cases<P: AsRef<Path>>(
    files: &Files,
    paths: &[P],
    limits: &EngineLimits,
) -> Result<FoundCases, LoadError> {
    let mut found = FoundCases::default();
    let (files, unreadable) = files.load(paths, limits)?;
    found.cases.extend(unreadable.into_iter().map(|finding| {
        let source = finding.place.source.clone();
        Err(Report::of_broken(&source, vec![finding]))
    }));
    for file in &files {
        found.add(file, limits);
    }
    for path in paths {
        let folder = plain(path.as_ref());
        let is_within = |loaded: &Loaded| {
            let file = match loaded {
                Ok(case) => case.name.place.source.name(),
                Err(report) => &report.file,
            };
            plain(Path::new(file)).starts_with(&folder)
        };
        if !found.cases.iter().any(is_within) {
            let path = path.as_ref().display().to_string();
            found.cases.push(Err(Report::of_lost(&path, messages::folder_without_cases)));
        }
    }
    Ok(found)
}

impl FoundCases {
    /// Adds what a file holds.
    fn add(&mut self, file: &File, limits: &EngineLimits) {
        let mut findings = Vec::new();
        let documents = yaml::parse(&file.source, limits, &mut findings);
        let roles: Vec<Role<'_>> = documents.iter().map(|document| Role::of(&document.node)).collect();
        let is_unreadable = findings.iter().any(Diagnostic::is_error);
        let is_of_cases = roles.iter().any(|role| matches!(role, Role::Cases));
        if file.origin == FileOrigin::Named || is_of_cases {
            self.cases.extend(read(&file.source, limits));
            return;
        }
        if documents.is_empty() && !is_unreadable {
            findings.push(empty_file(&file.source));
        }
        let others = documents.iter().zip(&roles);
        findings.extend(others.filter_map(|(document, role)| role.finding(&document.node)));
        Allowances::new(comments(&file.source, limits)).judge(&mut findings);
        findings.retain(|finding| !finding.is_allowed());
        let is_doubtful = !findings.is_empty() && roles.iter().any(|role| matches!(role, Role::Doubtful(_)));
        if is_doubtful || findings.iter().any(Diagnostic::is_refused) {
            self.cases.push(Err(Report::of_broken(&file.source, findings)));
        } else {
            self.warnings.extend(findings);
        }
    }
}

impl Case {
    /// The files and folders of its manifests, relative like its own path; empty if it brings its manifests along.
    #[must_use]
    pub fn manifest_paths(&self) -> Vec<PathBuf> {
        let Manifests::Files { paths, .. } = &self.manifests else { return Vec::new() };
        let folder = Path::new(self.name.place.source.name()).parent().unwrap_or(Path::new(""));
        paths.iter().map(|path| folder.join(&*path.text)).collect()
    }

    /// Its manifests, linked, with the findings about them. Those that it names are read from these files.
    ///
    /// # Errors
    /// [`LoadError`] for a file or folder that cannot be read.
    pub fn catalog(
        &self,
        files: &Files,
        limits: &EngineLimits,
    ) -> Result<(Catalog, Vec<Diagnostic>), LoadError> {
        match &self.manifests {
            Manifests::Inline(nodes) => {
                let mut findings = Vec::new();
                let documents = nodes.iter().filter_map(|(path, node)| {
                    let document = yaml::YamlDocument { node: node.clone(), sound: true };
                    let read = Document::read(&document, path, limits, &mut findings)?;
                    // the agent alone has no prefix
                    if path.is_empty() && !matches!(read, Document::Agent(_)) {
                        let kind = node.get("kind").map_or(&node.place, |kind| &kind.place);
                        findings.push(messages::not_an_agent(kind, &read.title()));
                    }
                    Some(read)
                });
                let documents = documents.collect();
                let catalog = Catalog::link(documents, limits, &mut findings);
                Ok((catalog, findings))
            }
            Manifests::Files { .. } => {
                let (files, mut findings) = files.load(&self.manifest_paths(), limits)?;
                let (catalog, more) = Catalog::parse(&files, limits);
                findings.extend(more);
                Ok((catalog, findings))
            }
            Manifests::None => Ok((Catalog::default(), Vec::new())),
        }
    }
}
