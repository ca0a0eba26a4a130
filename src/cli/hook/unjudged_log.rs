//! Unjudged events of hooks that observe: a decision log beside the store of the sessions, which `celador report --store` reads.
//!
//! A hook is a process that ends with its event, and several run side by side. So the log is open for one line only.

use super::super::store::unjudged_folder;
use celador::cel::Timestamp;
use celador_store::Location;
use celador_store::decision_log::{DecisionLog, LogError, LogSettings, Notice};
use std::thread::sleep;
use std::time::Duration;

/// Attempts to open a log that another hook writes.
const TRIES: u32 = 100;
/// Time between two attempts.
const TRY_EVERY: Duration = Duration::from_millis(10);

/// Counts an unjudged event. Nothing is counted for a store that is no file.
pub(super) fn note(store: &Location, form: &str, now: Timestamp) -> Result<(), LogError> {
    let Some(folder) = unjudged_folder(store) else { return Ok(()) };
    let mut log = DecisionLog::open(LogSettings::new(&folder), now);
    for _ in 1..TRIES {
        let Err(LogError::InUse(_)) = log else { break };
        sleep(TRY_EVERY);
        log = DecisionLog::open(LogSettings::new(&folder), now);
    }
    let log = log?;
    log.note(&Notice { subject: Some(form), count: Some(1), ..Notice::new(now, Notice::UNJUDGED) })?;
    Ok(())
}
