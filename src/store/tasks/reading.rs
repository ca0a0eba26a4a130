//! One task out of its rows: as it stands, its events, and the answers to requests on it.
//!
//! In: a transaction and the names of a task. Out: the task, put together from the last snapshot and the events after it.
//! Everything that is read is tested against its digest before anything is made of it.

use super::owner::Owner;
use super::reviews::open_of;
use super::rows::{EVENT, Events, TASK, TaskRow, altered, answer_digest, read_events, snapshot_digest};
use super::task_policies::policy_of;
use super::task_records::{LoadedTask, Once, StoredEvent, TaskHead};
use super::tombstones;
use crate::counters::holds_of;
use crate::{Sql, SqlValue, StoreError, StoreLimits, messages};
use celador::task::SavedTask;
use std::sync::Arc;

/// The task after its last step.
pub(super) fn stored_task(
    sql: &mut Sql<'_>,
    owner: &Owner,
    id: &str,
    limits: &StoreLimits,
) -> Result<LoadedTask, StoreError> {
    let row = task_row(sql, owner, id)?;
    let snapshot = snapshot(sql, owner, id)?;
    let (mut version, mut chain, mut saved) = match snapshot {
        Some((version, chain, saved)) => (version, chain, Some(saved)),
        None => (0, String::new(), None),
    };
    let begun = version;
    while version < row.version {
        // a page at a time, so that opening a task takes no more than the task and a page
        let page = page_of_events(sql, owner, id, (version, chain), (limits.max_page.max(1), limits))?;
        if page.events.is_empty() {
            return Err(altered(id, version.saturating_add(1)));
        }
        (version, chain) = (page.version, page.chain);
        saved = Some(put_together(id, saved, &page.events)?);
    }
    let replayed = version.saturating_sub(begun);
    let saved = saved.filter(|_| (version, &chain) == (row.version, &row.chain));
    let saved = saved.ok_or_else(|| altered(id, version.saturating_add(1)))?;
    if saved.agent() != (&row.facts.namespace, &row.facts.agent) || saved.id() != id {
        return Err(StoreError::Corrupt(messages::altered_task(id)));
    }
    let fingerprint = saved.fingerprint();
    let policy = policy_of(sql, owner.as_str(), id)?.filter(|it| it.is(&fingerprint));
    let (owner, facts, policy) = (owner.clone(), Arc::new(row.facts), policy.map(Arc::new));
    let reviews = Arc::new(open_of(sql, &owner, id)?);
    let holds = holds_of(sql, owner.as_str(), id)?.into();
    let head = TaskHead { owner, facts, version, chain, fingerprint, policy, reviews, holds };
    Ok(LoadedTask { saved, head, replayed })
}

/// The events of a task after this number, at most so many.
pub(super) fn stored_events(
    sql: &mut Sql<'_>,
    owner: &Owner,
    id: &str,
    after: u64,
    most: (usize, &StoreLimits),
) -> Result<Vec<StoredEvent>, StoreError> {
    task_row(sql, owner, id)?;
    let key: [SqlValue<'_>; 3] = [owner.as_str().into(), id.into(), after.into()];
    let statement = "SELECT chain FROM task_event WHERE owner = $1 AND task = $2 AND version = $3";
    let chain = match sql.query_one(statement, &key)? {
        Some(row) => row.text(0)?.to_owned(),
        None => String::new(),
    };
    Ok(page_of_events(sql, owner, id, (after, chain), most)?.events)
}

/// The answer to a request on a task, or under an empty id to a request that created one.
pub(super) fn stored_answer(
    sql: &mut Sql<'_>,
    owner: &Owner,
    task: &str,
    key: &str,
) -> Result<Option<Once>, StoreError> {
    let owner = owner.as_str();
    let statement =
        "SELECT request, answer, digest FROM task_answer WHERE owner = $1 AND task = $2 AND key = $3";
    let Some(row) = sql.query_one(statement, &[owner.into(), task.into(), key.into()])? else {
        return Ok(None);
    };
    let (request, answer) = (row.text(0)?.to_owned(), row.text(1)?.to_owned());
    if row.text(2)? != answer_digest(owner, task, key, &request, &answer) {
        return Err(StoreError::Corrupt(messages::altered_answer(task)));
    }
    Ok(Some(Once { key: key.to_owned(), request, answer }))
}

/// The row of a task.
///
/// # Errors
/// [`StoreError::NotFound`], also for another owner's, and [`StoreError::Purged`] if it was there once.
pub(super) fn task_row(sql: &mut Sql<'_>, owner: &Owner, id: &str) -> Result<TaskRow, StoreError> {
    let statement = format!("SELECT {TASK} FROM task WHERE owner = $1 AND id = $2");
    let row = sql.query_one(&statement, &[owner.as_str().into(), id.into()])?;
    match row {
        Some(row) => TaskRow::read(&row),
        None => Err(tombstones::missing(sql, owner.as_str(), id)),
    }
}

/// The events after a version with this digest: at most so many, as many as `max_page_bytes` allows, and one at least.
fn page_of_events(
    sql: &mut Sql<'_>,
    owner: &Owner,
    id: &str,
    after: (u64, String),
    (most, limits): (usize, &StoreLimits),
) -> Result<Events, StoreError> {
    let key: [SqlValue<'_>; 3] = [owner.as_str().into(), id.into(), after.0.into()];
    // lengths in bytes stand in front of the values; for one in characters the database would read every value
    let statement = "SELECT CAST(COALESCE(OCTET_LENGTH(decision), 0) + OCTET_LENGTH(change) AS BIGINT) \
                     FROM task_event \
                     WHERE owner = $1 AND task = $2 AND version > $3 ORDER BY version LIMIT $4";
    let lengths = sql.query(statement, &[&key[..], &[(most as u64).into()]].concat())?;
    let (mut bytes, mut count) = (0_u64, 0_u64);
    for length in &lengths {
        bytes = bytes.saturating_add(length.count(0)?);
        if count > 0 && bytes > limits.max_page_bytes as u64 {
            break;
        }
        count = count.saturating_add(1);
    }
    let statement = format!(
        "SELECT {EVENT} FROM task_event WHERE owner = $1 AND task = $2 AND version > $3 \
         ORDER BY version LIMIT $4"
    );
    let rows = sql.query(&statement, &[&key[..], &[count.into()]].concat())?;
    read_events(owner, id, after, &rows)
}

/// The version, the chain there, and the task, if there is a snapshot.
fn snapshot(
    sql: &mut Sql<'_>,
    owner: &Owner,
    id: &str,
) -> Result<Option<(u64, String, SavedTask)>, StoreError> {
    let statement = "SELECT version, saved, chain, digest FROM task_snapshot WHERE owner = $1 AND task = $2";
    let Some(row) = sql.query_one(statement, &[owner.as_str().into(), id.into()])? else { return Ok(None) };
    let (version, saved, chain) = (row.count(0)?, row.text(1)?, row.text(2)?);
    if row.text(3)? != snapshot_digest(owner.as_str(), id, version, saved, chain) {
        return Err(altered(id, version));
    }
    let saved_task = serde_json::from_str(saved).map_err(|_| altered(id, version))?;
    Ok(Some((version, chain.to_owned(), saved_task)))
}

/// A snapshot with the events after it; without one, the first event has the task as it began.
fn put_together(
    id: &str,
    snapshot: Option<SavedTask>,
    events: &[StoredEvent],
) -> Result<SavedTask, StoreError> {
    let (first, rest) = match snapshot {
        Some(saved) => (Some(saved), events),
        None => match events.split_first() {
            Some((first, rest)) => (serde_json::from_str(&first.change).ok(), rest),
            None => (None, events),
        },
    };
    let mut saved = first.ok_or_else(|| altered(id, 1))?;
    for event in rest {
        let change = serde_json::from_str(&event.change).map_err(|_| altered(id, event.version))?;
        saved = saved.apply(change).map_err(|_| altered(id, event.version))?;
    }
    Ok(saved)
}
