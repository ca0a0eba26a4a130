//! The workspace mount (MNT): where the files of agents lie.
//!
//! In: a mapping with `name`, `path_prefixes` and one backend. Out: a [`Mount`]. Reading and writing files is the
//! host's affair.

use super::agent::MountScope;
use super::messages;
use super::node::Node;
use super::reader::{Path, Reader};
use super::yaml::YamlDocument;
use crate::diagnostic::Diagnostic;
use crate::source::{Embedded, Place};

/// A workspace mount.
#[derive(Clone, Debug)]
pub struct Mount {
    /// Where the document stands.
    pub place: Place,
    /// The path of the document: empty, or `mount` in a case file.
    pub path: String,
    /// Whether nothing in this document is an error.
    pub sound: bool,
    /// Its name.
    pub name: Embedded,
    /// The prefix of the scope `workspace`, a template of `{namespace}`, `{agent}`, `{task}` (MNT-03).
    pub workspace_prefix: Option<Embedded>,
    /// The prefix of the scope `agent`.
    pub agent_prefix: Option<Embedded>,
    /// The prefix of the scope `task`.
    pub task_prefix: Option<Embedded>,
    /// What stores the files: `gcs` or `s3`.
    pub backend: MountBackend,
    /// The bucket.
    pub bucket: Embedded,
}

impl Mount {
    /// The prefix template of a scope (MNT-02); none for the scope `none`.
    #[must_use]
    pub fn prefix(&self, scope: MountScope) -> Option<&Embedded> {
        match scope {
            MountScope::None => None,
            MountScope::Task => self.task_prefix.as_ref(),
            MountScope::Agent => self.agent_prefix.as_ref(),
            MountScope::Workspace => self.workspace_prefix.as_ref(),
        }
    }
}

/// What stores the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountBackend {
    /// Google Cloud Storage.
    Gcs,
    /// Amazon S3 (MNT-10).
    S3,
}

impl MountBackend {
    /// The name, as `mount.backend` shows it (MNT-04).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gcs => "gcs",
            Self::S3 => "s3",
        }
    }
}

impl Mount {
    /// Reads the mapping of one document; none if it is no mapping.
    pub fn read(document: &YamlDocument, path: &str, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        let mut reader = Reader::default();
        let mount = read(document, &Path::document(path), &mut reader);
        findings.extend(reader.into_findings());
        mount
    }

    /// Whether a document without `kind` is meant as a mount.
    #[must_use]
    pub fn is_meant(node: &Node) -> bool {
        ["path_prefixes", "gcs", "s3"].iter().any(|key| node.get(key).is_some())
    }
}

fn read(document: &YamlDocument, path: &Path, reader: &mut Reader) -> Option<Mount> {
    let mut fields = reader.fields(&document.node, path)?;
    let name = fields.name("name", "MNT-01", reader);
    let mut prefixes = [None, None, None];
    if let Some(field) = fields.get("path_prefixes")
        && let Some(mut fields) = reader.fields(field.node, &field.path)
    {
        prefixes = ["workspace", "agent", "task"].map(|scope| fields.text(scope, reader));
        fields.warn_of_others("`path_prefixes`", &[], reader);
    }
    let [workspace_prefix, agent_prefix, task_prefix] = prefixes;
    let found = [("gcs", MountBackend::Gcs), ("s3", MountBackend::S3)]
        .into_iter()
        .filter_map(|(key, backend)| Some((backend, fields.get(key)?)))
        .collect::<Vec<_>>();
    let mut bucket = None;
    for (backend, field) in &found {
        let Some(mut block) = reader.fields(field.node, &field.path) else { continue };
        bucket = Some(block.name("bucket", "MNT-04", reader));
        let known: &[&'static str] = match backend {
            MountBackend::Gcs => &["sa"],
            MountBackend::S3 => &["profile", "region"],
        };
        for key in known {
            block.text(key, reader);
        }
        block.warn_of_others(&format!("`{}`", backend.name()), &[], reader);
    }
    let backend = match found.as_slice() {
        [(backend, _)] => *backend,
        _ => {
            let names = found.iter().map(|(backend, _)| backend.name()).collect::<Vec<_>>();
            let place = found.get(1).map_or(fields.place, |(_, field)| &field.key.place);
            reader.report(path, messages::mount_backends(place, &names));
            MountBackend::Gcs
        }
    };
    let place = fields.place.clone();
    fields.warn_of_others("a mount", &[], reader);
    Some(Mount {
        bucket: bucket.unwrap_or_else(|| Embedded::new("", place.clone(), [])),
        place,
        path: path.to_string(),
        sound: document.sound && !reader.has_errors(),
        name,
        workspace_prefix,
        agent_prefix,
        task_prefix,
        backend,
    })
}
