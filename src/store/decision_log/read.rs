//! Reading a log line by line, each held against its digest and against the line before.
//!
//! In: a folder, and who wants the lines. Out: what there is, or the first line that is not as it was written. It takes the
//! memory of the longest line.

use super::broken::{Broken, VerifyError};
use super::chain::{self, Link};
use super::error::{LogError, failed};
use super::folder::{LogFile, files};
use super::{Digest, Flaw};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

/// The extent of a log that was read: its files, its first and its last line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// How many files.
    pub files: usize,
    /// The number of the first line.
    pub first: u64,
    /// The number and the digest of the last line.
    pub last: Option<(u64, Digest)>,
}

/// The parts of a line that are needed to find its decision in a store.
///
/// ```
/// use celador_store::decision_log::{DecisionLog, LogSettings, Notice, Read, Recorded, read};
/// # let folder = std::env::temp_dir().join(format!("celador-read-{}", std::process::id()));
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
///
/// let log = DecisionLog::open(LogSettings::new(&folder), now)?;
/// log.note(&Notice { who: Some("kim"), ..Notice::new(now, "switch_on") })?;
/// log.note(&Notice { who: Some("kim"), task: Some("t-1"), count: Some(4), ..Notice::new(now, "purge") })?;
///
/// // who purged which task, while the log is being written
/// let mut purges = Vec::new();
/// let each = |line: Recorded, _digest| {
///     if line.operation == "purge" {
///         purges.push((line.number, line.task, line.who));
///     }
/// };
/// let Read { files, first, last } = read(&folder, true, each)?;
/// assert_eq!(purges, [(2, "t-1".to_owned(), Some("kim".to_owned()))]);
/// assert_eq!((files, first, last), (1, 1, Some(log.head())));
/// # drop(log);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Recorded {
    /// Its number.
    pub number: u64,
    /// When the decision was made: RFC 3339.
    #[serde(default)]
    pub at: String,
    /// The caller.
    #[serde(default)]
    pub who: Option<String>,
    /// The task; empty in lines about something else.
    #[serde(default)]
    pub task: String,
    /// The owner of the task.
    #[serde(default)]
    pub owner: Option<String>,
    /// The number of the event in its task; `None` for decisions that changed nothing.
    #[serde(default)]
    pub version: Option<u64>,
    /// The digest of the event.
    #[serde(default)]
    pub event: Option<String>,
    /// The operation.
    #[serde(default)]
    pub operation: String,
    /// The verdict.
    #[serde(default)]
    pub verdict: Option<String>,
    /// Whether it was written when a gap was closed.
    #[serde(default)]
    pub late: bool,
    /// Whether it says that an answer was given once more.
    #[serde(default)]
    pub replayed: bool,
    /// Of a line that says that older files were removed: the line that the log begins with since.
    #[serde(default)]
    pub begins: Option<u64>,
}

/// Reads the log of a folder and hands each line on, in order. An end without a line break is a flaw, unless
/// `may_grow`: then a process that writes just now may be in the middle of it.
///
/// # Errors
/// [`VerifyError::Broken`] and [`VerifyError::Unreadable`].
///
/// # Cost
/// Linear in the log.
pub fn read(folder: &Path, may_grow: bool, each: impl FnMut(Recorded, Digest)) -> Result<Read, VerifyError> {
    read_as(folder, may_grow, each)
}

/// The same with a type of the caller's own in place of [`Recorded`], for other parts of each line.
///
/// # Errors
/// As [`read`]; a line that is none of these is not an entry.
pub fn read_as<L: DeserializeOwned>(
    folder: &Path,
    may_grow: bool,
    mut each: impl FnMut(L, Digest),
) -> Result<Read, VerifyError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |reason: io::Error| VerifyError::Unreadable { path, reason }
    };
    let found = files(folder).map_err(unreadable(folder))?;
    let mut chain: Option<Link> = None;
    let mut read = Read { files: found.len(), ..Read::default() };
    for (position, LogFile { first: named, path }) in found.iter().enumerate() {
        let mut lines = BufReader::new(File::open(path).map_err(unreadable(path))?);
        let mut text = Vec::new();
        let mut line = 0_u64;
        while lines.read_until(b'\n', &mut text).map_err(unreadable(path))? > 0 {
            line = line.saturating_add(1);
            let broken = |flaw| Broken { path: path.clone(), line, flaw };
            let Some(whole) = text.strip_suffix(b"\n") else {
                if may_grow && position.saturating_add(1) == found.len() {
                    break;
                }
                return Err(broken(Flaw::CutOff).into());
            };
            let opened = chain::open(whole).map_err(broken)?;
            if line == 1 && opened.link.number != *named {
                return Err(broken(Flaw::Misnamed(*named)).into());
            }
            let before = chain.unwrap_or_else(|| {
                read.first = opened.link.number;
                // the first line of all follows nothing; the first that is left follows what was removed
                if read.first == 1 { Link::START } else { opened.before() }
            });
            let link = opened.follows(before).map_err(broken)?;
            let recorded = serde_json::from_slice(whole).map_err(|_| broken(Flaw::NotAnEntry))?;
            each(recorded, link.digest);
            chain = Some(link);
            text.clear();
        }
    }
    read.last = chain.map(|link| (link.number, link.digest));
    Ok(read)
}

/// Reads a log from its newest file back to its oldest, each file from its beginning, until somebody has seen enough.
/// Lines are not held against one another: whoever writes the log on has looked at its end.
///
/// # Errors
/// [`LogError::Io`], and [`LogError::Broken`] for a line that is not an entry.
///
/// # Cost
/// Linear in the bytes that are read.
pub fn read_back(folder: &Path, mut each: impl FnMut(&Recorded) -> bool) -> Result<(), LogError> {
    for LogFile { path, .. } in files(folder).map_err(failed("read", folder))?.iter().rev() {
        let lines = BufReader::new(File::open(path).map_err(failed("read", path))?).lines();
        let mut goes_on = true;
        for (line, text) in (1_u64..).zip(lines) {
            let text = text.map_err(failed("read", path))?;
            let broken = |_| LogError::Broken { path: path.clone(), line, flaw: Flaw::NotAnEntry };
            goes_on = each(&serde_json::from_str(&text).map_err(broken)?);
        }
        if !goes_on {
            break;
        }
    }
    Ok(())
}
