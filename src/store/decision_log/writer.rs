//! Appending to the log: one line a decision, in files of a bounded size, after a crash as before it.
//!
//! In: entries, from any thread. Out: lines, each with the system before [`DecisionLog::record`] returns, or an error and no
//! trace of the line. One process writes a folder. What a crash cut off is removed when the log is opened again, and the
//! next line says so; a last line that was changed is not written after.

use super::current::{Current, for_the_operator_alone};
use super::error::{LogError, failed};
use super::flush::{Turns, Written};
use super::notice::Notice;
use celador::cel::Timestamp;
use celador::digest::Digest;
use serde::Serialize;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The file that is written to see whether the disk takes one.
const PROBE: &str = "probe";

/// Its length in bytes: some lines.
const PROBE_BYTES: usize = 8_192;

/// Where and how a log is written.
#[derive(Clone, Debug)]
pub struct LogSettings {
    /// The folder; made if it is not there.
    pub folder: PathBuf,
    /// A file that is longer, in bytes, gets a successor.
    pub max_file_bytes: u64,
    /// When lines are on the disk.
    pub sync: SyncMode,
}

/// When lines are on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// When the system puts them there: they outlive the process, not a power cut.
    #[default]
    System,
    /// Before [`DecisionLog::record`] returns; those who write at the same time share a sync.
    Always,
}

impl LogSettings {
    /// A log in a folder: files of 64 MiB. Old ones go with [`DecisionLog::remove_before`] alone, which leaves a line.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), max_file_bytes: 64 << 20, sync: SyncMode::System }
    }
}

/// A log that is being written.
///
/// ```
/// use celador_store::decision_log::{DecisionLog, LogSettings, Notice, verify};
/// # let folder = std::env::temp_dir().join(format!("celador-log-{}", std::process::id()));
/// # let folder = &*folder;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
///
/// let log = DecisionLog::open(LogSettings::new(folder), now)?;
/// let line = log.record(&Notice { who: Some("kim"), task: Some("t-1"), ..Notice::new(now, "purge") })?;
/// log.sync()?;
/// let intact = verify(folder, None)?;
/// assert_eq!(intact.last, line);
/// # drop(log);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DecisionLog {
    settings: LogSettings,
    /// Held as long as the log is open.
    _held: Held,
    current: Mutex<Current>,
    turns: Turns,
    /// The id of this log.
    id: String,
}

/// The lock of a folder, which keeps every other log out.
///
/// It is given back by name, because to close the file is not enough: a process that this one has just begun holds the same
/// file until it runs its own program, and the lock with it.
#[derive(Debug)]
struct Held(File);

impl Held {
    fn of(folder: &Path) -> Result<Self, LogError> {
        let path = folder.join("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(failed("open", &path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self(lock)),
            Err(TryLockError::WouldBlock) => Err(LogError::InUse(folder.to_owned())),
            Err(TryLockError::Error(reason)) => Err(failed("lock", &path)(reason)),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // what the system does not unlock here it unlocks when the file is closed
        let _ = self.0.unlock();
    }
}

impl DecisionLog {
    /// Opens the log of a folder, or begins one.
    ///
    /// # Errors
    /// [`LogError::InUse`], [`LogError::Broken`] if its last whole line was changed, and those of the system.
    ///
    /// # Cost
    /// Linear in the newest file.
    pub fn open(settings: LogSettings, now: Timestamp) -> Result<Self, LogError> {
        let folder = &settings.folder;
        fs::create_dir_all(folder).map_err(failed("create", folder))?;
        let held = Held::of(folder)?;
        let id = identity(folder, now)?;
        let current = Current::of(folder, now)?;
        let (current, turns) = (Mutex::new(current), Turns::default());
        Ok(Self { settings, _held: held, current, turns, id })
    }

    /// The id of this log, different from that of every other. It is made together with the folder and kept in its file `id`.
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
        if self.settings.sync == SyncMode::Always {
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

    /// Puts all lines that were written so far on the disk.
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
