//! Removing the oldest files of a log by their age.
//!
//! In: a log that is being written, and a time. Out: closed files whose lines are all older are gone, and a line says which
//! line the log begins with since: it is on the disk before the first file goes. What is left follows what was removed, as its
//! digests say, and verifies. The file that grows always stays.

use super::Flaw;
use super::error::{LogError, failed};
use super::folder::{LogFile, files};
use super::read::Recorded;
use super::writer::DecisionLog;
use celador::cel::Timestamp;
use serde::Serialize;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};

/// Why and when files are removed.
///
/// ```
/// use celador_store::decision_log::{DecisionLog, Intact, LogSettings, Notice, Removal, verify};
/// use celador::Timestamp;
/// # let folder = std::env::temp_dir().join(format!("celador-removal-{}", std::process::id()));
///
/// let (may, june): (Timestamp, Timestamp) = ("2026-05-01T12:00:00Z".parse()?, "2026-06-01T12:00:00Z".parse()?);
/// // so small a bound gives each line a file of its own
/// let log = DecisionLog::open(LogSettings { max_file_bytes: 1, ..LogSettings::new(&folder) }, may)?;
/// for at in [may, may, june] {
///     log.note(&Notice::new(at, "switch_on"))?;
/// }
///
/// let removal = Removal { at: june, before: june, who: "rule", reason: "log-files=30d" };
/// assert_eq!(log.remove_before(&removal)?, 2);
/// // what is left verifies, and one of its lines says that the others were removed by a rule
/// let Intact { files, first, said, last, head } = verify(&folder, None)?;
/// assert_eq!((files, first, said), (2, 3, true));
/// assert_eq!((last, head), log.head());
/// # drop(log);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Removal<'r> {
    /// When.
    pub at: Timestamp,
    /// Lines that are older than this may go.
    pub before: Timestamp,
    /// The operator or the rule that asked for it.
    pub who: &'r str,
    /// Why.
    pub reason: &'r str,
}

/// The line that says it.
#[derive(Serialize)]
struct Removed<'r> {
    at: String,
    who: &'r str,
    operation: &'static str,
    begins: u64,
    count: u64,
    reason: &'r str,
}

impl DecisionLog {
    /// Removes the closed files whose lines are all older than a time, and returns their number.
    ///
    /// # Errors
    /// Those of the system, and [`LogError::Broken`] for a line that is not an entry. The remaining files still verify.
    ///
    /// # Cost
    /// Linear in the files that go, and in the old lines of the next.
    pub fn remove_before(&self, removal: &Removal<'_>) -> Result<usize, LogError> {
        let found = files(self.folder()).map_err(failed("read", self.folder()))?;
        let mut old = 0_usize;
        // the last one grows
        for file in found.iter().take(found.len().saturating_sub(1)) {
            if !are_before(file, removal.before)? {
                break;
            }
            old = old.saturating_add(1);
        }
        let Some(first) = found.get(old).filter(|_| old > 0) else { return Ok(0) };
        self.record(&Removed {
            at: removal.at.to_string(),
            who: removal.who,
            operation: "remove_files",
            begins: first.first,
            count: old as u64,
            reason: removal.reason,
        })?;
        self.sync()?;
        for LogFile { path, .. } in found.iter().take(old) {
            fs::remove_file(path).map_err(failed("remove", path))?;
        }
        Ok(old)
    }
}

/// Whether all lines of a file say times before this one: one that was written late says when its decision was made, so the last
/// line alone would not do. A line without a time says nothing, and a file without a line is no old one.
fn are_before(file: &LogFile, before: Timestamp) -> Result<bool, LogError> {
    let LogFile { path, .. } = file;
    let lines = BufReader::new(File::open(path).map_err(failed("read", path))?).lines();
    let mut are_before = false;
    for (line, text) in (1_u64..).zip(lines) {
        let text = text.map_err(failed("read", path))?;
        let broken = |_| LogError::Broken { path: path.clone(), line, flaw: Flaw::NotAnEntry };
        let recorded: Recorded = serde_json::from_str(&text).map_err(broken)?;
        let at: Option<Timestamp> = recorded.at.parse().ok();
        are_before = at.is_none_or(|at| at < before);
        if !are_before {
            break;
        }
    }
    Ok(are_before)
}
