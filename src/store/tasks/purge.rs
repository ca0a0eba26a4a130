//! Purging a task on somebody's word: the door of [`tombstones`](super::tombstones).

use super::StoredTasks;
use super::decision_lines::DueLine;
use super::owner::Owner;
use super::task_records::{Purge, Tombstone};
use super::tombstones::{check_reason, take_away};
use crate::StoreError;

impl StoredTasks {
    /// As [`StoredTasks::purge`]. If a version is expected, a task that has taken another step stays. What `due` answers is
    /// stored with the purge: it is given what a decision log is to say of it, perhaps several times.
    ///
    /// # Errors
    /// Those of [`StoredTasks::purge`], and [`StoreError::Conflict`].
    pub fn purge_due(
        &self,
        owner: &Owner,
        id: &str,
        purge: &Purge<'_>,
        expected: Option<u64>,
        mut due: impl FnMut(String) -> Option<DueLine>,
    ) -> Result<Tombstone, StoreError> {
        check_reason(purge.reason, self.limits().engine.max_reason_bytes)?;
        let purged =
            self.database().write_rows(|sql| take_away(sql, owner, id, purge, expected, &mut due))?;
        self.forget_sets();
        Ok(purged)
    }
}
