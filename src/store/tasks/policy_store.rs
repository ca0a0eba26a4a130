//! The policies of stored tasks: the door of [`task_policies`](super::task_policies).

use super::StoredTasks;
use super::owner::Owner;
use super::rows::{TASK, TaskRow};
use super::task_policies::{ManifestSet, TaskPolicy, forget_sets, policies_of, set};
use crate::StoreError;
use std::collections::BTreeMap;

impl StoredTasks {
    /// The manifests with a digest; nothing if no task is under them.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if they are damaged, and those of the database.
    ///
    /// # Cost
    /// Linear in the manifests, at most `max_kept_manifests_bytes`.
    pub fn manifests(&self, digest: &str) -> Result<Option<ManifestSet>, StoreError> {
        self.database().read(|sql| set(sql, digest))
    }

    /// Whether the manifests with a digest are kept, because a task is under them. They are not read.
    ///
    /// # Errors
    /// Those of the database.
    ///
    /// # Cost
    /// A row by its key.
    pub fn keeps_manifests(&self, digest: &str) -> Result<bool, StoreError> {
        let statement = "SELECT digest FROM manifest_set WHERE digest = $1";
        self.database().read(|sql| Ok(sql.query_one(statement, &[digest.into()])?.is_some()))
    }

    /// What is known of the policies of some tasks of an owner, by the ids of the tasks.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], and those of the database.
    ///
    /// # Cost
    /// A row for each of these tasks.
    pub fn policies(
        &self,
        owner: &Owner,
        tasks: &[&str],
    ) -> Result<BTreeMap<String, TaskPolicy>, StoreError> {
        self.database().read(|sql| policies_of(sql, owner.as_str(), tasks))
    }

    /// The tasks of an agent that take steps, of all callers, behind one, by owner and id, at most so many and at most
    /// `max_page`.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], and those of the database.
    ///
    /// # Cost
    /// It looks at the rows of all tasks.
    pub fn tasks_of_agent(
        &self,
        (namespace, agent): (&str, &str),
        after: Option<&(Owner, String)>,
        limit: usize,
    ) -> Result<Vec<(Owner, String)>, StoreError> {
        let (owner, id) = after.map_or(("", ""), |(owner, id)| (owner.as_str(), id));
        let statement = format!(
            "SELECT {TASK} FROM task WHERE namespace = $1 AND agent = $2 AND state IN ('active', 'suspended') \
             AND (owner > $3 OR (owner = $3 AND id > $4)) ORDER BY owner, id LIMIT $5"
        );
        let values = [namespace.into(), agent.into(), owner.into(), id.into(), self.page(limit)];
        let rows = self.database().read(|sql| sql.query(&statement, &values))?;
        let found = |row| TaskRow::read(row).map(|row| (Owner::caller(&row.owner), row.facts.id));
        rows.iter().map(found).collect()
    }

    /// Takes sets of manifests away that no task is under any more. What cannot be done now is done when the next task
    /// leaves a set.
    pub(super) fn forget_sets(&self) {
        let _ = self.database().write_rows(forget_sets);
    }
}
