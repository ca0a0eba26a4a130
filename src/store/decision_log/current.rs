//! The file of a log that grows: lines behind its end, and the way back to the last one that is whole.
//!
//! In: entries. Out: lines with the system, not yet synced. What a failed write or a crash left behind is cut off first.

use super::chain::{self, Link};
use super::error::{LogError, failed};
use super::folder::{LogFile, files, path_of};
use crate::same_file::leads_to;
use celador::cel::Timestamp;
use serde::Serialize;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// The file that grows.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// The bytes of its whole lines.
    pub(super) bytes: u64,
    /// Whether a failed write may have left something behind these.
    pub(super) soiled: bool,
    pub(super) link: Link,
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

impl Current {
    /// The newest file that holds a line, without what a crash left behind it.
    pub(super) fn of(folder: &Path, now: Timestamp) -> Result<Self, LogError> {
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
    pub(super) fn begin(folder: &Path, link: Link) -> Result<Self, LogError> {
        let path = path_of(folder, link.next_number());
        let file = for_the_operator_alone().open(&path).map_err(failed("create", &path))?;
        // the name is as durable as what will be in it
        #[cfg(unix)]
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("sync", folder))?;
        Ok(Self { file, path, bytes: 0, soiled: false, link, synced: Mark { link, bytes: 0 }, era: 0 })
    }

    /// Whether the file is still the one at its path, and holds what was written to it.
    pub(super) fn is_in_place(&self) -> Result<(), LogError> {
        let here = self.file.metadata().map_err(failed("read", &self.path))?;
        let is_whole = here.len() >= self.bytes;
        if is_whole && leads_to(&self.path, &here) { Ok(()) } else { Err(LogError::Gone(self.path.clone())) }
    }

    pub(super) fn append<T: Serialize>(&mut self, entry: &T) -> Result<u64, LogError> {
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
pub(super) fn for_the_operator_alone() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
