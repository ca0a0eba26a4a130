//! Purging a task: all of its rows go, a tombstone stays.
//!
//! In: whose task, on whose word and why. Out: the tombstone, which holds nothing that was said or done in the task. It is
//! one transaction, so nobody ever sees half of a task. The line that a decision log is to have of it is stored in the same
//! transaction. A tombstone is digested like every other row.

use super::decision_lines::{DueLine, reduce};
use super::owner::Owner;
use super::rows::{TASK, TaskRow};
use super::task_records::{Facts, Purge, Tombstone};
use crate::counters::spend_all;
use crate::decision_log::Notice;
use crate::row_digest::digest;
use crate::{Row, Sql, SqlValue, StoreError, messages};
use celador::cel::Timestamp;

/// The columns of `task_tombstone`, in the order in which [`Tombstone::read`] takes them.
pub(super) const TOMBSTONE: &str = "owner, id, namespace, agent, state, started_at, changed_at, events, chain, \
     purged_at, purged_by, reason, digest";

/// Every table that holds rows of a task, with its columns of the owner and of the task. The task's own row goes last: the
/// others refer to it.
pub(super) const TABLES: [(&str, &str); 8] = [
    ("counter_hold", "task"),
    ("task_label", "task"),
    ("task_event", "task"),
    ("task_snapshot", "task"),
    ("task_answer", "task"),
    ("task_policy", "task"),
    ("review", "task"),
    ("task", "id"),
];

impl Tombstone {
    /// What a decision log says of the purge, whose time is told once more. Its version is the one behind the last event.
    #[must_use]
    pub fn notice(&self, at: Timestamp) -> Notice<'_> {
        Notice {
            who: Some(&*self.purged_by).filter(|who| !who.is_empty()),
            task: Some(&self.id),
            owner: Some(self.owner.as_str()),
            version: Some(self.events.saturating_add(1)),
            count: Some(self.events),
            reason: Some(&self.reason),
            ..Notice::new(at, "purge")
        }
    }

    fn digest(&self) -> String {
        let events = self.events.to_string();
        digest(&[
            self.owner.as_str(),
            &self.id,
            &self.namespace,
            &self.agent,
            &self.state,
            &self.started_at,
            &self.changed_at,
            &events,
            &self.chain,
            &self.purged_at,
            &self.purged_by,
            &self.reason,
        ])
    }

    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let text = |column| row.text(column).map(str::to_owned);
        let read = Self {
            owner: Owner::caller(row.text(0)?),
            id: text(1)?,
            namespace: text(2)?,
            agent: text(3)?,
            state: text(4)?,
            started_at: text(5)?,
            changed_at: text(6)?,
            events: row.count(7)?,
            chain: text(8)?,
            purged_at: text(9)?,
            purged_by: text(10)?,
            reason: text(11)?,
        };
        if row.text(12)? != read.digest() {
            return Err(StoreError::Corrupt(messages::altered_tombstone(&read.id)));
        }
        Ok(read)
    }
}

/// The tombstone of a task, if there is one.
pub(super) fn tombstone(sql: &mut Sql<'_>, owner: &str, id: &str) -> Result<Option<Tombstone>, StoreError> {
    let statement = format!("SELECT {TOMBSTONE} FROM task_tombstone WHERE owner = $1 AND id = $2");
    sql.query_one(&statement, &[owner.into(), id.into()])?.as_ref().map(Tombstone::read).transpose()
}

/// Why a task is not there: it was purged, or it never was.
pub(super) fn missing(sql: &mut Sql<'_>, owner: &str, id: &str) -> StoreError {
    match tombstone(sql, owner, id) {
        Ok(Some(_)) => StoreError::Purged,
        Ok(None) => StoreError::NotFound,
        Err(error) => error,
    }
}

/// Whether a reason says something, and no more than is allowed.
pub(super) fn check_reason(reason: &str, most: usize) -> Result<(), StoreError> {
    let sound = !reason.trim().is_empty() && reason.len() <= most;
    if sound { Ok(()) } else { Err(StoreError::NotStorable(messages::BAD_REASON)) }
}

/// Takes a task away. The first statement takes the task's row, which every writer of the task has to take too: so there
/// is one who waits, and a task that is busy cannot put its purge off for ever. If a version is expected, a task that has
/// taken another step stays. The line for a decision log is handed on as JSON.
pub(super) fn take_away(
    sql: &mut Sql<'_>,
    owner: &Owner,
    id: &str,
    purge: &Purge<'_>,
    expected: Option<u64>,
    due: &mut dyn FnMut(String) -> Option<DueLine>,
) -> Result<Tombstone, StoreError> {
    let key: [SqlValue<'_>; 2] = [owner.as_str().into(), id.into()];
    sql.execute("UPDATE task SET digest = digest WHERE owner = $1 AND id = $2", &key)?;
    let statement = format!("SELECT {TASK} FROM task WHERE owner = $1 AND id = $2");
    let Some(row) = sql.query_one(&statement, &key)? else {
        return Err(missing(sql, owner.as_str(), id));
    };
    let TaskRow {
        facts: Facts { id, namespace, agent, started_at }, state, changed_at, version, chain, ..
    } = TaskRow::read(&row)?;
    if let Some(expected) = expected.filter(|expected| *expected != version) {
        return Err(StoreError::Conflict { expected, found: version });
    }
    reduce(sql, owner.as_str(), &id)?;
    // nobody will tell any more what became of its calls
    spend_all(sql, owner.as_str(), &id, purge.at)?;
    let tombstone = Tombstone {
        owner: owner.clone(),
        id,
        namespace,
        agent,
        state,
        started_at,
        changed_at,
        events: version,
        chain,
        purged_at: purge.at.to_string(),
        purged_by: purge.who.to_owned(),
        reason: purge.reason.to_owned(),
    };
    for (table, task) in TABLES {
        sql.execute(&format!("DELETE FROM {table} WHERE owner = $1 AND {task} = $2"), &key)?;
    }
    let line = serde_json::to_string(&tombstone.notice(purge.at)).unwrap_or_default();
    if let Some(due) = due(line) {
        due.put(sql, owner.as_str(), &tombstone.id, version.saturating_add(1))?;
    }
    let digest = tombstone.digest();
    let Tombstone { namespace, agent, state, started_at, changed_at, .. } = &tombstone;
    let Tombstone { events, chain, purged_at, purged_by, reason, .. } = &tombstone;
    let facts = [namespace.into(), agent.into(), state.into(), started_at.into(), changed_at.into()];
    let end = [
        (*events).into(),
        chain.into(),
        purged_at.into(),
        purged_by.into(),
        reason.into(),
        SqlValue::from(&digest),
    ];
    sql.execute(
        &format!(
            "INSERT INTO task_tombstone ({TOMBSTONE}) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
        ),
        &[&key[..], &facts, &end].concat(),
    )?;
    Ok(tombstone)
}
