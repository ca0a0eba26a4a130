//! The tasks of all callers, for whoever sees to the whole store: an operator, or a rule of retention.
//!
//! In: where a page begins. Out: what the rows of tasks say, each held against its digest. Nothing of what was said or done.

use super::StoredTasks;
use super::owner::Owner;
use super::rows::{TASK, summary};
use super::task_records::TaskSummary;
use crate::StoreError;

impl StoredTasks {
    /// The tasks behind one, by owner and id, at most so many.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], and those of the database.
    ///
    /// # Cost
    /// One row a task, in one reading transaction for each page.
    pub fn all(
        &self,
        after: Option<(&Owner, &str)>,
        limit: usize,
    ) -> Result<Vec<(Owner, TaskSummary)>, StoreError> {
        let (owner, id) = after.map_or(("", ""), |(owner, id)| (owner.as_str(), id));
        let statement = format!(
            "SELECT {TASK} FROM task WHERE owner > $1 OR (owner = $1 AND id > $2) ORDER BY owner, id LIMIT $3"
        );
        let values = [owner.into(), id.into(), (limit as u64).into()];
        let rows = self.database().read(|sql| sql.query(&statement, &values))?;
        rows.iter().map(summary).collect()
    }

    /// The summary of a task, from its row.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Purged`], [`StoreError::Corrupt`], and those of the database.
    pub fn summary(&self, owner: &Owner, id: &str) -> Result<TaskSummary, StoreError> {
        let statement = format!("SELECT {TASK} FROM task WHERE owner = $1 AND id = $2");
        self.database().read(|sql| match sql.query_one(&statement, &[owner.as_str().into(), id.into()])? {
            Some(row) => Ok(summary(&row)?.1),
            None => Err(super::tombstones::missing(sql, owner.as_str(), id)),
        })
    }

    /// Everybody who has a task of this id, or had one that was purged.
    ///
    /// # Errors
    /// Those of the database.
    ///
    /// # Cost
    /// It looks at all tasks, as ids are found by owner.
    pub fn owners_of(&self, id: &str) -> Result<Vec<Owner>, StoreError> {
        let statement =
            "SELECT owner FROM task WHERE id = $1 UNION SELECT owner FROM task_tombstone WHERE id = $1";
        let rows = self.database().read(|sql| sql.query(statement, &[id.into()]))?;
        rows.iter().map(|row| Ok(Owner::caller(row.text(0)?))).collect()
    }
}
