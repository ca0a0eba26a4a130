//! Why a log is not intact, or cannot be read.

use super::chain::Flaw;
use super::messages;
use celador::digest::Digest;
use std::io;
use std::path::PathBuf;

/// The first line that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {flaw}", messages::broken(.path, *.line))]
pub struct Broken {
    /// The file.
    pub path: PathBuf,
    /// The line in it, from 1.
    pub line: u64,
    /// The flaw of the line.
    pub flaw: Flaw,
}

/// Why a log is not intact, or cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// A line is not as it was written.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// No line has the digest that was noted.
    #[error("{}", messages::not_there(&.0.to_string()))]
    Missing(Digest),
    /// There is no log.
    #[error("{}", messages::empty(.0))]
    Empty(PathBuf),
    /// The system refuses.
    #[error("{}: {reason}", messages::cannot("read", .path))]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        reason: io::Error,
    },
}

impl VerifyError {
    /// Whether the log was read and is not as it was written.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        matches!(self, Self::Broken(_) | Self::Missing(_))
    }
}
