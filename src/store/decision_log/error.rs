//! Why a log cannot be written.

use super::chain::Flaw;
use super::messages;
use std::io;
use std::path::{Path, PathBuf};

/// Why a log cannot be written.
///
/// ```
/// use celador_store::decision_log::{DecisionLog, LogError, LogSettings, SyncMode};
/// # let folder = std::env::temp_dir().join(format!("celador-in-use-{}", std::process::id()));
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
///
/// // every line is on the disk before a decision goes out
/// let settings = LogSettings { sync: SyncMode::Always, ..LogSettings::new(&folder) };
/// let log = DecisionLog::open(settings.clone(), now)?;
///
/// // one process writes a folder: a second one would break the chain
/// match DecisionLog::open(settings, now) {
///     Err(LogError::InUse(used)) => assert_eq!(used, log.folder()),
///     other => panic!("{other:?}"),
/// }
/// # drop(log);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The system refuses: no rights, a full disk.
    #[error("{what}: {reason}")]
    Io {
        /// The action that failed, with the path.
        what: String,
        /// The error of the system.
        reason: io::Error,
    },
    /// Another process has it open.
    #[error("{}", messages::in_use(.0))]
    InUse(PathBuf),
    /// Its last line is not one that can be followed.
    #[error("{}: {flaw}", messages::broken(.path, *.line))]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line in it, from 1.
        line: u64,
        /// The flaw.
        flaw: Flaw,
    },
    /// The file that grows was removed, replaced or cut: a line that is written to it is seen by nobody, or follows nothing.
    #[error("{}", messages::gone(.0))]
    Gone(PathBuf),
    /// A sync failed for all who wrote at the same time; their lines are not in the log.
    #[error("{}", messages::lost())]
    Lost,
    /// An entry that is no JSON object.
    #[error("the entry cannot be written as JSON")]
    Entry,
}

/// What was tried with a path, for the system's reason.
pub(super) fn failed(what: &str, path: &Path) -> impl FnOnce(io::Error) -> LogError {
    let what = messages::cannot(what, path);
    move |reason| LogError::Io { what, reason }
}
