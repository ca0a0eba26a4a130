//! Group commit: those who wrote lines at the same time share one sync of the disk.
//!
//! In: a log in which a line was just written. Out: the line is on the disk, or an error, and then the line is not in the
//! log. After a sync that failed nobody knows what the disk has, so every line behind the last good sync is taken out again
//! and told to whoever wrote it: written anew, it is as good as any.

use super::current::Current;
use super::error::{LogError, failed};
use std::sync::{Mutex, PoisonError};

/// A line that was written and perhaps not synced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) number: u64,
    /// How often lines had been taken out again before it was written.
    pub(super) era: u64,
}

/// The turns of syncing: who holds it syncs for everybody who wrote before.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<()>);

impl Turns {
    /// Waits until a line is on the disk.
    pub(super) fn flush(&self, current: &Mutex<Current>, written: Written) -> Result<(), LogError> {
        let _turn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = || current.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, mark, path) = {
            let current = lock();
            if current.era != written.era {
                return Err(LogError::Lost);
            }
            if current.synced.link.number >= written.number {
                return Ok(());
            }
            let file = current.file.try_clone().map_err(failed("sync", &current.path))?;
            (file, current.mark(), current.path.clone())
        };
        // others write meanwhile, into the same file or the next
        match file.sync_data() {
            Ok(()) => {
                let mut current = lock();
                if current.synced.link.number < mark.link.number {
                    current.synced = mark;
                }
                Ok(())
            }
            Err(reason) => {
                lock().take_back();
                Err(failed("sync", &path)(reason))
            }
        }
    }
}
