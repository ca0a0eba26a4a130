//! Appending to the log: one line a decision, in files of a bounded size, after a crash as before it.
//!
//! In: entries, from any thread. Out: lines, each with the system before [`DecisionLog::record`] returns, or an error and no
//! trace of the line. One process writes a folder. What a crash cut off is removed when the log is opened again, and the
//! next line says so; a last line that was changed is not written after.

use super::chain::{self, Flaw, Link};
use super::entry::Entry;
use super::folder::{LogFile, files, path_of};
use super::messages;
use crate::cel::Timestamp;
use crate::digest::Digest;
use serde::Serialize;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Where and how a log is written.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder; made if it is not there.
    pub folder: PathBuf,
    /// A file that is longer, in bytes, gets a successor.
    pub max_file_bytes: u64,
    /// How many files are kept; the oldest go. Nothing means all.
    pub max_files: Option<usize>,
    /// When lines are on the disk.
    pub sync: Sync,
}

/// When lines are on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// When the system puts them there: they outlive the process, not a power cut.
    #[default]
    System,
    /// Before [`DecisionLog::record`] returns.
    Always,
}

impl Settings {
    /// A log in a folder: files of 64 MiB, all of them kept.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), max_file_bytes: 64 << 20, max_files: None, sync: Sync::System }
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
}

/// The file that grows.
#[derive(Debug)]
struct Current {
    file: File,
    path: PathBuf,
    /// The bytes of its whole lines.
    bytes: u64,
    /// Whether a failed write may have left something behind these.
    soiled: bool,
    link: Link,
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
        let current = Current::of(folder, now)?;
        Ok(Self { settings, _lock: lock, current: Mutex::new(current) })
    }

    /// Writes a line, and says its number.
    ///
    /// # Errors
    /// Those of the system. The log is then as it was, and the next line can be tried.
    pub fn record(&self, entry: &Entry<'_>) -> Result<u64, LogError> {
        // a thread that panicked left whole lines, or soiled the end, and that is known
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.bytes >= self.settings.max_file_bytes {
            self.rotate(&mut current)?;
        }
        current.append(entry, self.settings.sync)
    }

    /// The number and the digest of the last line: kept elsewhere, it shows that nothing was cut off since.
    #[must_use]
    pub fn head(&self) -> (u64, Digest) {
        let link = self.current.lock().unwrap_or_else(PoisonError::into_inner).link;
        (link.number, link.digest)
    }

    fn rotate(&self, current: &mut Current) -> Result<(), LogError> {
        let folder = &self.settings.folder;
        *current = Current::begin(folder, current.link)?;
        let Some(kept) = self.settings.max_files else { return Ok(()) };
        let files = files(folder).map_err(failed("read", folder))?;
        let old = files.len().saturating_sub(kept.max(1));
        for file in files.iter().take(old) {
            fs::remove_file(&file.path).map_err(failed("remove", &file.path))?;
        }
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
            let mut current = Self { file, path, bytes: whole, soiled: dropped > 0, link };
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
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        // who decided what is for the operator alone
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(failed("create", &path))?;
        Ok(Self { file, path, bytes: 0, soiled: false, link })
    }

    fn append<T: Serialize>(&mut self, entry: &T, sync: Sync) -> Result<u64, LogError> {
        self.clean()?;
        let (line, link) = chain::seal(self.link, entry).map_err(|_| LogError::Entry)?;
        if let Err(reason) = self.write(&line, sync) {
            self.soiled = true;
            // if that fails too, the next line tries again
            let _ = self.clean();
            return Err(failed("write", &self.path)(reason));
        }
        self.bytes = self.bytes.saturating_add(line.len() as u64);
        self.link = link;
        Ok(link.number)
    }

    fn write(&mut self, line: &[u8], sync: Sync) -> io::Result<()> {
        self.file.write_all(line)?;
        if sync == Sync::Always {
            self.file.sync_data()?;
        }
        Ok(())
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
        self.append(&entry, Sync::Always).map(|_| ())
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

fn failed(what: &str, path: &Path) -> impl FnOnce(io::Error) -> LogError {
    let what = messages::cannot(what, path);
    move |reason| LogError::Io { what, reason }
}
