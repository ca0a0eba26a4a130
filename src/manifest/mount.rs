//! The workspace mount (MNT): where the files of agents lie.
//!
//! In: a mapping with `name`, `path_prefixes` and one backend. Out: a [`Mount`]. Reading and writing files is the
//! host's affair.

use super::agent::MountScope;
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
