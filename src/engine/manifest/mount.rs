//! The workspace mount (MNT): where the files of agents lie.
//!
//! In: a mapping with `name`, `path_prefixes` and one backend. Out: a [`Mount`]. Reading and writing files is the
//! host's affair.

use super::agent::MountScope;
use super::messages;
use super::node::Node;
use super::reader::{Path, Reader};
use super::shape::{Name, Required, Text, mapping};
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

mapping! {
    /// Where the files of agents lie.
    #[rules = { "oneOf": [{ "required": ["gcs"] }, { "required": ["s3"] }] }]
    pub(super) MountKeys as "mount" = "a mount" {
        /// The name of the mount.
        name: Required<Name>,
        /// The folder of each scope: a template of `{namespace}`, `{agent}` and `{task}`.
        path_prefixes: PrefixKeys,
        /// Google Cloud Storage.
        gcs: GcsKeys,
        /// Amazon S3.
        s3: S3Keys,
    }

    PrefixKeys = "`path_prefixes`" {
        /// The folder of the scope `workspace`.
        workspace: Text,
        /// The folder of the scope `agent`.
        agent: Text,
        /// The folder of the scope `task`.
        task: Text,
    }

    GcsKeys = "`gcs`" {
        /// The bucket.
        bucket: Required<Name>,
        /// The service account.
        sa: Text,
    }

    S3Keys = "`s3`" {
        /// The bucket.
        bucket: Required<Name>,
        /// The profile of the credentials.
        profile: Text,
        /// The region of the bucket.
        region: Text,
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
    let fields = reader.fields::<MountKeys>(&document.node, path)?;
    let name = fields.name().text_or_empty("MNT-01", reader);
    let mut prefixes = [None, None, None];
    if let Some(fields) = fields.path_prefixes().fields(reader) {
        let keys = [fields.workspace(), fields.agent(), fields.task()];
        prefixes = keys.map(|scope| scope.text(reader));
        fields.warn_of_others(&[], reader);
    }
    let [workspace_prefix, agent_prefix, task_prefix] = prefixes;
    let (gcs, s3) = (fields.gcs(), fields.s3());
    let found = [(MountBackend::Gcs, gcs.get()), (MountBackend::S3, s3.get())];
    let found = found.into_iter().filter_map(|(backend, field)| Some((backend, field?))).collect::<Vec<_>>();
    let mut bucket = None;
    if let Some(gcs) = gcs.fields(reader) {
        bucket = Some(gcs.bucket().text_or_empty("MNT-04", reader));
        gcs.sa().text(reader);
        gcs.warn_of_others(&[], reader);
    }
    if let Some(s3) = s3.fields(reader) {
        bucket = Some(s3.bucket().text_or_empty("MNT-04", reader));
        s3.profile().text(reader);
        s3.region().text(reader);
        s3.warn_of_others(&[], reader);
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
    fields.warn_of_others(&[], reader);
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
