//! Finds the case files among paths, and reads the manifests that a case names.
//!
//! In: files and folders. Out: a case, or what is wrong with it, for each one that their files hold. A file that somebody named
//! must be of cases; in a folder, what has neither `call` nor `expect` nor `cases` nor a name with `steps` or `story` is something else and left alone. A file of a
//! folder that is no YAML might have been a case, so it counts as one that cannot be read: no test is lost in silence.

use super::case::{Case, Manifests};
use super::case_file::read;
use super::messages;
use super::report::{Loaded, Report};
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::manifest::given::Files;
use crate::manifest::load::{File, FileOrigin, LoadError};
use crate::manifest::node::Node;
use crate::manifest::{Catalog, Document, yaml};
use std::path::{Path, PathBuf};

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
    let (files, unreadable) = files.load(paths, limits)?;
    let unreadable = unreadable.into_iter().map(|finding| {
        let source = finding.place.source.clone();
        Err(Report::of_broken(&source, vec![finding]))
    });
    let cases = files.iter().filter(|file| is_case(file, limits)).flat_map(|file| read(&file.source, limits));
    Ok(unreadable.chain(cases).collect())
}

fn is_case(file: &File, limits: &EngineLimits) -> bool {
    let mut findings = Vec::new();
    let documents = yaml::parse(&file.source, limits, &mut findings);
    let has = |node: &Node, key| node.get(key).is_some();
    let told = |node: &Node| has(node, "name") && (has(node, "steps") || has(node, "story"));
    let one = |node: &Node| has(node, "call") || has(node, "expect") || told(node);
    let several = |node: &Node| {
        let cases = node.get("cases").and_then(Node::as_mapping).unwrap_or_default();
        has(node, "manifest") || cases.iter().any(|case| one(&case.value) || has(&case.value, "story"))
    };
    let case = |node: &Node| !has(node, "kind") && (one(node) || has(node, "cases") && several(node));
    file.origin == FileOrigin::Named
        || documents.iter().any(|document| case(&document.node))
        || documents.is_empty() && !findings.is_empty()
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
