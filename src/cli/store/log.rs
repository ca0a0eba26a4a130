//! The decision log of a command that changes tasks: its own, or that of the first server that looks.

use super::Failure;
use celador::cel::Timestamp;
use celador_store::decision_log::{DecisionLog, LogSettings, SyncMode};
use celador_store::{Database, write_waiting};
use std::path::PathBuf;

/// The log that an argument names.
pub(crate) struct Log(Option<DecisionLog>);

impl Log {
    /// Opens it before anything is done: no server may have it open.
    pub(crate) fn open(folder: Option<PathBuf>, now: Timestamp) -> Result<Self, Failure> {
        let settings = |folder| LogSettings { sync: SyncMode::Always, ..LogSettings::new(folder) };
        let log = folder.map(|folder| DecisionLog::open(settings(folder), now)).transpose();
        log.map(Self).map_err(|error| Failure::Unusable(error.to_string()))
    }

    /// Writes the lines of what was done, which wait in the store.
    pub(crate) fn write(&self, database: &Database) -> Result<(), Failure> {
        let Some(log) = &self.0 else { return Ok(()) };
        while write_waiting(database, log).map_err(|error| Failure::Unusable(error.to_string()))? > 0 {}
        Ok(())
    }
}
