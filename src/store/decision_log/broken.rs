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
///
/// ```
/// use celador_store::decision_log::{Broken, DecisionLog, Digest, Flaw, LogSettings, Notice, VerifyError, verify};
/// # let folder = std::env::temp_dir().join(format!("celador-broken-{}", std::process::id()));
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
///
/// let log = DecisionLog::open(LogSettings::new(&folder), now)?;
/// log.note(&Notice { who: Some("kim"), ..Notice::new(now, "switch_on") })?;
/// log.note(&Notice { who: Some("max"), ..Notice::new(now, "switch_off") })?;
/// drop(log);
///
/// // a digest that somebody noted, and that no line has: the end of the log was cut off, or it is another log
/// let noted = Digest::of(b"the last line of another log");
/// assert!(matches!(verify(&folder, Some(noted)), Err(VerifyError::Missing(digest)) if digest == noted));
///
/// // somebody puts another name into the first line
/// let file = std::fs::read_dir(&folder)?.filter_map(Result::ok).map(|entry| entry.path());
/// let file = file.into_iter().find(|path| path.extension().is_some()).ok_or("the log has a file")?;
/// std::fs::write(&file, std::fs::read_to_string(&file)?.replace("kim", "tom"))?;
/// match verify(&folder, None) {
///     Err(VerifyError::Broken(Broken { path, line, flaw })) => {
///         assert_eq!((path, line, flaw), (file, 1, Flaw::Changed));
///     }
///     other => panic!("{other:?}"),
/// }
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
