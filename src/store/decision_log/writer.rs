//! Appending to the log: one line a decision, in files of a bounded size, after a crash as before it.
//!
//! In: entries, from any thread. Out: lines, each with the system before [`DecisionLog::record`] returns, or an error and no
//! trace of the line. One process writes a folder. What a crash cut off is removed when the log is opened again, and the
//! next line says so; a last line that was changed is not written after.

use super::chain::{self, Flaw, Link};
use super::flush::{Turns, Written};
use super::folder::{LogFile, files, path_of};
use super::messages;
use super::notice::Notice;
use crate::same_file::leads_to;
use celador::cel::Timestamp;
use celador::digest::Digest;
use serde::Serialize;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The file that is written to see whether the disk takes one.
const PROBE: &str = "probe";

/// Its length in bytes: some lines.
const PROBE_BYTES: usize = 8_192;

/// Where and how a log is written.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder; made if it is not there.
    pub folder: PathBuf,
    /// A file that is longer, in bytes, gets a successor.
    pub max_file_bytes: u64,
    /// When lines are on the disk.
    pub sync: Sync,
}

/// When lines are on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// When the system puts them there: they outlive the process, not a power cut.
    #[default]
    System,
    /// Before [`DecisionLog::record`] returns; those who write at the same time share a sync.
    Always,
}

impl Settings {
    /// A log in a folder: files of 64 MiB. Old ones go with [`DecisionLog::remove_before`] alone, which leaves a line.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), max_file_bytes: 64 << 20, sync: Sync::System }
    }
}

/// Why a log cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The system refuses: no rights, a full disk.
    #[error("{what}: {reason}")]
    Io {
        /// What was tried, with the path.
        what: String,
        /// What the system says.
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
        /// What is wrong.
        flaw: Flaw,
    },
    /// The file that grows was removed, replaced or cut: a line that is written to it is seen by nobody, or follows nothing.
    #[error("{}", messages::gone(.0))]
    Gone(PathBuf),
    /// A sync failed for all who wrote at the same time; none of their lines is in the log.
    #[error("{}", messages::lost())]
    Lost,
    /// An entry that is no JSON object.
    #[error("the entry cannot be written as JSON")]
    Entry,
}

/// A log that is being written.
#[derive(Debug)]
pub struct DecisionLog {
    settings: Settings,
    /// Held as long as the log is open.
    _lock: File,
    current: Mutex<Current>,
    turns: Turns,
    /// What tells it from other logs.
    id: String,
}

/// The file that grows.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// The bytes of its whole lines.
    bytes: u64,
    /// Whether a failed write may have left something behind these.
    soiled: bool,
    link: Link,
    /// Up to where it is on the disk; what is behind may be.
    pub(super) synced: Mark,
    /// How often lines were taken out again.
    pub(super) era: u64,
}

/// A place in the file that grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) link: Link,
    bytes: u64,
}

/// What is said of a line that a crash cut off.
#[derive(Serialize)]
struct Recovered {
    at: String,
    operation: &'static str,
    dropped_bytes: u64,
}

impl DecisionLog {
    /// Opens the log of a folder, or begins one.
    ///
    /// # Errors
    /// [`LogError::InUse`], [`LogError::Broken`] if its last whole line was changed, and those of the system.
    ///
    /// # Cost
    /// Linear in the newest file.
    pub fn open(settings: Settings, now: Timestamp) -> Result<Self, LogError> {
        let folder = &settings.folder;
        fs::create_dir_all(folder).map_err(failed("create", folder))?;
        let path = folder.join("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(failed("open", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LogError::InUse(folder.clone())),
            Err(TryLockError::Error(reason)) => return Err(failed("lock", &path)(reason)),
        }
        let id = identity(folder, now)?;
        let current = Current::of(folder, now)?;
        let (current, turns) = (Mutex::new(current), Turns::default());
        Ok(Self { settings, _lock: lock, current, turns, id })
    }

    /// What tells it from other logs: made once, when the folder is, and kept in its file `id`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.settings.folder
    }

    /// Writes a line, and says its number.
    ///
    /// # Errors
    /// Those of the system. The log is then as it was, and the next line can be tried. [`LogError::Gone`] if what was written
    /// before is not in its place any more. [`LogError::Lost`] if the sync of somebody else failed, who wrote at the same time.
    pub fn record(&self, entry: &impl Serialize) -> Result<u64, LogError> {
        let written = {
            // a thread that panicked left whole lines, or soiled the end, and that is known
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            current.is_in_place()?;
            if current.bytes >= self.settings.max_file_bytes {
                self.rotate(&mut current)?;
            }
            let number = current.append(entry)?;
            Written { number, era: current.era }
        };
        if self.settings.sync == Sync::Always {
            self.turns.flush(&self.current, written)?;
        }
        Ok(written.number)
    }

    /// Writes a line of something that is no decision, and says its number.
    ///
    /// # Errors
    /// As [`DecisionLog::record`].
    pub fn note(&self, notice: &Notice<'_>) -> Result<u64, LogError> {
        self.record(notice)
    }

    /// Puts on the disk what was written so far.
    ///
    /// # Errors
    /// Those of the system.
    pub fn sync(&self) -> Result<(), LogError> {
        let written = {
            let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            Written { number: current.link.number, era: current.era }
        };
        self.turns.flush(&self.current, written)
    }

    /// Tries whether a line could be written now: by writing and syncing a file beside the log, which is removed again, and
    /// by looking whether the file that grows is still the one in the folder. The log stays as it is.
    ///
    /// # Errors
    /// Those of the system, and [`LogError::Gone`].
    pub fn probe(&self) -> Result<(), LogError> {
        let path = self.settings.folder.join(PROBE);
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(&[b'-'; PROBE_BYTES])?;
            file.sync_data()
        });
        // what is left of it is written over by the next
        let _ = fs::remove_file(&path);
        written.map_err(failed("write", &path))?;
        self.current.lock().unwrap_or_else(PoisonError::into_inner).is_in_place()
    }

    /// The number and the digest of the last line: kept elsewhere, it shows that nothing was cut off since.
    #[must_use]
    pub fn head(&self) -> (u64, Digest) {
        let link = self.current.lock().unwrap_or_else(PoisonError::into_inner).link;
        (link.number, link.digest)
    }

    fn rotate(&self, current: &mut Current) -> Result<(), LogError> {
        let folder = &self.settings.folder;
        // a file that is left is whole on the disk: no later sync reaches it
        current.file.sync_data().map_err(failed("sync", &current.path))?;
        let era = current.era;
        *current = Current { era, ..Current::begin(folder, current.link)? };
        Ok(())
    }
}

impl Current {
    /// The newest file that holds a line, without what a crash left behind it.
    fn of(folder: &Path, now: Timestamp) -> Result<Self, LogError> {
        let mut dropped = 0_u64;
        let mut found = files(folder).map_err(failed("read", folder))?;
        while let Some(LogFile { path, .. }) = found.pop() {
            let (last, whole, length) = end_of(&path)?;
            dropped = dropped.saturating_add(length.saturating_sub(whole));
            let Some(link) = last else {
                // nothing in it was ever whole
                fs::remove_file(&path).map_err(failed("remove", &path))?;
                continue;
            };
            let file = OpenOptions::new().write(true).open(&path).map_err(failed("open", &path))?;
            let synced = Mark { link, bytes: whole };
            let mut current = Self { file, path, bytes: whole, soiled: dropped > 0, link, synced, era: 0 };
            current.clean()?;
            current.confess(dropped, now)?;
            return Ok(current);
        }
        let mut current = Self::begin(folder, Link::START)?;
        current.confess(dropped, now)?;
        Ok(current)
    }

    /// A new file, for the line that follows.
    fn begin(folder: &Path, link: Link) -> Result<Self, LogError> {
        let path = path_of(folder, link.next_number());
        let file = for_the_operator_alone().open(&path).map_err(failed("create", &path))?;
        // the name is as durable as what will be in it
        #[cfg(unix)]
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("sync", folder))?;
        Ok(Self { file, path, bytes: 0, soiled: false, link, synced: Mark { link, bytes: 0 }, era: 0 })
    }

    /// Whether the file is still the one at its path, and holds what was written to it.
    fn is_in_place(&self) -> Result<(), LogError> {
        let here = self.file.metadata().map_err(failed("read", &self.path))?;
        let is_whole = here.len() >= self.bytes;
        if is_whole && leads_to(&self.path, &here) { Ok(()) } else { Err(LogError::Gone(self.path.clone())) }
    }

    fn append<T: Serialize>(&mut self, entry: &T) -> Result<u64, LogError> {
        self.clean()?;
        let (line, link) = chain::seal(self.link, entry).map_err(|_| LogError::Entry)?;
        if let Err(reason) = self.file.write_all(&line) {
            self.soiled = true;
            // if that fails too, the next line tries again
            let _ = self.clean();
            return Err(failed("write", &self.path)(reason));
        }
        self.bytes = self.bytes.saturating_add(line.len() as u64);
        self.link = link;
        Ok(link.number)
    }

    /// Where it ends now.
    pub(super) fn mark(&self) -> Mark {
        Mark { link: self.link, bytes: self.bytes }
    }

    /// Takes out every line behind the last good sync.
    pub(super) fn take_back(&mut self) {
        let Mark { link, bytes } = self.synced;
        (self.link, self.bytes, self.soiled) = (link, bytes, true);
        self.era = self.era.saturating_add(1);
        // if that fails, the next line tries again
        let _ = self.clean();
    }

    /// Brings the file to the end of its last whole line.
    fn clean(&mut self) -> Result<(), LogError> {
        if self.soiled {
            self.file.set_len(self.bytes).map_err(failed("shorten", &self.path))?;
        }
        self.file.seek(SeekFrom::Start(self.bytes)).map_err(failed("write", &self.path))?;
        self.soiled = false;
        Ok(())
    }

    /// Says of what was cut off that it was.
    fn confess(&mut self, dropped_bytes: u64, now: Timestamp) -> Result<(), LogError> {
        if dropped_bytes == 0 {
            return Ok(());
        }
        let entry = Recovered { at: now.to_string(), operation: "recovered", dropped_bytes };
        self.append(&entry)?;
        self.file.sync_data().map_err(failed("sync", &self.path))?;
        self.synced = self.mark();
        Ok(())
    }
}

/// The last whole line of a file, the bytes up to its end, and the bytes there are.
fn end_of(path: &Path) -> Result<(Option<Link>, u64, u64), LogError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(failed("read", path))?;
    let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
        return Ok((None, 0, bytes.len() as u64));
    };
    let whole = bytes.get(..end).unwrap_or_default();
    let line = whole.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let last = chain::open(line).map_err(|flaw| {
        let before = whole.iter().filter(|byte| **byte == b'\n').count() as u64;
        LogError::Broken { path: path.to_owned(), line: before.saturating_add(1), flaw }
    })?;
    Ok((Some(last.link), (end as u64).saturating_add(1), bytes.len() as u64))
}

/// How a new file of the log is made: who decided what is for the operator alone.
fn for_the_operator_alone() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The id of the log of a folder; made if there is none.
fn identity(folder: &Path, now: Timestamp) -> Result<String, LogError> {
    let path = folder.join("id");
    match fs::read_to_string(&path) {
        Ok(id) if id.trim().parse::<Digest>().is_ok() => return Ok(id.trim().to_owned()),
        // one that was cut off in the middle of being made was used by nobody
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(reason) => return Err(failed("read", &path)(reason)),
    }
    let process = std::process::id().to_string();
    let parts = [folder.display().to_string(), now.to_string(), process];
    let id = Digest::of_parts(parts.iter().map(String::as_str)).to_string();
    let written = for_the_operator_alone().open(&path).and_then(|mut file| {
        file.write_all(id.as_bytes())?;
        file.sync_data()
    });
    written.map_err(failed("write", &path))?;
    Ok(id)
}

pub(super) fn failed(what: &str, path: &Path) -> impl FnOnce(io::Error) -> LogError {
    let what = messages::cannot(what, path);
    move |reason| LogError::Io { what, reason }
}
