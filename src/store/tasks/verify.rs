//! The test of a whole store: every digest, every chain, and the database's own pages.
//!
//! In: a database. Out: how much is there, or the first place where something is not what was written. It reads in pages,
//! each in a transaction of its own, so that nobody waits for it.

use super::owner::Owner;
use super::rows::{EVENT, TASK, TaskRow, altered, answer_digest, read_events, snapshot_digest};
use super::task_policies::{POLICY, TaskPolicy};
use super::task_records::{StoredEvent, Tombstone, Verified};
use super::tombstones::{TABLES, TOMBSTONE};
use super::{labels, reviews, switches, task_policies};
use crate::counters::{verify_holds, verify_page};
use crate::{Database, Row, SqlValue, StoreError, StoreLimits, messages};
use celador::task::{QuestionId, SavedTask, TaskChange};
use std::collections::BTreeSet;

/// Tests everything, in pages of so many rows.
pub(super) fn all(database: &Database, limits: &StoreLimits, page: u64) -> Result<Verified, StoreError> {
    database.check()?;
    let mut verified = Verified::default();
    let statement = format!(
        "SELECT {TASK} FROM task WHERE owner > $1 OR (owner = $1 AND id > $2) ORDER BY owner, id LIMIT $3"
    );
    let mut last = (String::new(), String::new());
    loop {
        let values = [(&last.0).into(), (&last.1).into(), page.into()];
        let rows = database.read(|sql| sql.query(&statement, &values))?;
        let Some(end) = rows.last() else { break };
        last = (end.text(0)?.to_owned(), end.text(1)?.to_owned());
        for row in &rows {
            let row = TaskRow::read(row)?;
            let events = task(database, &row, page)?;
            let owner = Owner::caller(&row.owner);
            database.read(|sql| labels::verify(sql, &owner, &row.facts.id, limits))?;
            verified.events = verified.events.saturating_add(events);
            verified.tasks = verified.tasks.saturating_add(1);
        }
    }
    verified.answers = answers(database, page)?;
    verified.tombstones = tombstones(database, page)?;
    database.read(|sql| switches::all(sql).map(drop))?;
    policies(database, page)?;
    verified.reviews = all_reviews(database, page)?;
    verified.counters = all_counters(database, page)?;
    Ok(verified)
}

/// Tests what is said of the policies of tasks, and the manifests that they are made of.
fn policies(database: &Database, page: u64) -> Result<(), StoreError> {
    let statement = format!(
        "SELECT {POLICY} FROM task_policy WHERE owner > $1 OR (owner = $1 AND task > $2) \
         ORDER BY owner, task LIMIT $3"
    );
    let mut last = (String::new(), String::new());
    loop {
        let values = [(&last.0).into(), (&last.1).into(), page.into()];
        let rows = database.read(|sql| sql.query(&statement, &values))?;
        let Some(end) = rows.last() else { break };
        last = (end.text(0)?.to_owned(), end.text(1)?.to_owned());
        rows.iter().try_for_each(|row| TaskPolicy::read(row).map(drop))?;
    }
    let names = database.read(|sql| sql.query("SELECT digest FROM manifest_set ORDER BY digest", &[]))?;
    for name in &names {
        let name = name.text(0)?;
        // one that has gone meanwhile has no task
        if let Some(set) = database.read(|sql| task_policies::set(sql, name))? {
            set.files()?;
        }
    }
    Ok(())
}

/// Tests the reviews; how many there are.
fn all_reviews(database: &Database, page: u64) -> Result<u64, StoreError> {
    let (mut count, mut last) = (0_u64, String::new());
    while let Some((id, read)) = database.read(|sql| reviews::verify_page(sql, &last, page))? {
        (count, last) = (count.saturating_add(read), id);
    }
    Ok(count)
}

/// Tests the counters, and what calls hold of them; how many counters there are.
fn all_counters(database: &Database, page: u64) -> Result<u64, StoreError> {
    let (mut count, mut last) = (0_u64, [(); 4].map(|()| String::new()));
    while let Some((key, read)) = database.read(|sql| verify_page(sql, &last, page))? {
        (count, last) = (count.saturating_add(read), key);
    }
    let mut last = [(); 6].map(|()| String::new());
    while let Some(key) = database.read(|sql| verify_holds(sql, &last, page))? {
        last = key;
    }
    Ok(count)
}

/// Tests the tombstones, and that nothing else is left of their tasks.
fn tombstones(database: &Database, page: u64) -> Result<u64, StoreError> {
    let statement = format!(
        "SELECT {TOMBSTONE} FROM task_tombstone WHERE owner > $1 OR (owner = $1 AND id > $2) \
         ORDER BY owner, id LIMIT $3"
    );
    let mut count = 0_u64;
    let mut last = (String::new(), String::new());
    loop {
        let values = [(&last.0).into(), (&last.1).into(), page.into()];
        let rows = database.read(|sql| sql.query(&statement, &values))?;
        if rows.is_empty() {
            return Ok(count);
        }
        for row in &rows {
            let Tombstone { owner, id, .. } = Tombstone::read(row)?;
            let key: [SqlValue<'_>; 2] = [owner.as_str().into(), (&id).into()];
            let left = database.read(|sql| {
                for (table, task) in TABLES {
                    let statement = format!("SELECT 1 FROM {table} WHERE owner = $1 AND {task} = $2 LIMIT 1");
                    if sql.query_one(&statement, &key)?.is_some() {
                        return Ok(true);
                    }
                }
                Ok(false)
            })?;
            if left {
                return Err(StoreError::Corrupt(messages::left_over(&id)));
            }
            last = (owner.as_str().to_owned(), id);
            count = count.saturating_add(1);
        }
    }
}

/// Tests the events and the snapshot of a task up to the version that its row says, and that each review is there which these have
/// asked for; how many events there are.
fn task(database: &Database, row: &TaskRow, page: u64) -> Result<u64, StoreError> {
    let (owner, id) = (Owner::caller(&row.owner), &*row.facts.id);
    let statement = "SELECT version, saved, chain, digest FROM task_snapshot WHERE owner = $1 AND task = $2";
    let snapshot = database.read(|sql| sql.query_one(statement, &[(&row.owner).into(), id.into()]))?;
    let snapshot = snapshot.as_ref().map(|found| snapshot_place(found, row)).transpose()?;
    let statement = format!(
        "SELECT {EVENT} FROM task_event WHERE owner = $1 AND task = $2 AND version > $3 AND version <= $4 \
         ORDER BY version LIMIT $5"
    );
    let (mut version, mut chain) = (0, String::new());
    let mut asked = BTreeSet::new();
    while version < row.version {
        let values = [(&row.owner).into(), id.into(), version.into(), row.version.into(), page.into()];
        let rows = database.read(|sql| sql.query(&statement, &values))?;
        let read = read_events(&owner, id, (version, chain), &rows)?;
        if read.events.is_empty() {
            return Err(altered(id, version.saturating_add(1)));
        }
        let at_snapshot = snapshot.as_ref().and_then(|(at, chain)| {
            let event = rows.iter().find(|event| event.count(0) == Ok(*at))?;
            Some(event.text(5) == Ok(chain))
        });
        if at_snapshot == Some(false) {
            return Err(altered(id, snapshot.map_or(0, |(at, _)| at)));
        }
        for event in &read.events {
            asked.extend(asked_with(id, event)?);
        }
        (version, chain) = (read.version, read.chain);
    }
    if chain != row.chain {
        return Err(altered(id, version));
    }
    database.read(|sql| reviews::verify_asked(sql, &owner, id, &asked))?;
    Ok(version)
}

/// The reviews that were open behind an event.
fn asked_with(task: &str, event: &StoredEvent) -> Result<Vec<QuestionId>, StoreError> {
    let StoredEvent { version, change, .. } = event;
    // most events leave nobody asked, and their changes need not be read: what is asked stands in them under this word
    if !change.contains("\"review\"") {
        return Ok(Vec::new());
    }
    let altered = |_| altered(task, *version);
    Ok(if *version == 1 {
        serde_json::from_str::<SavedTask>(change).map_err(altered)?.open_reviews().collect()
    } else {
        serde_json::from_str::<TaskChange>(change).map_err(altered)?.open_reviews().collect()
    })
}

/// Where a snapshot is, and the chain that it says is there.
fn snapshot_place(found: &Row, task: &TaskRow) -> Result<(u64, String), StoreError> {
    let (version, saved, chain) = (found.count(0)?, found.text(1)?, found.text(2)?);
    if found.text(3)? != snapshot_digest(&task.owner, &task.facts.id, version, saved, chain) {
        return Err(altered(&task.facts.id, version));
    }
    Ok((version, chain.to_owned()))
}

fn answers(database: &Database, page: u64) -> Result<u64, StoreError> {
    let statement = "SELECT owner, task, key, request, answer, digest FROM task_answer \
                     WHERE owner > $1 OR (owner = $1 AND (task > $2 OR (task = $2 AND key > $3))) \
                     ORDER BY owner, task, key LIMIT $4";
    let mut count = 0_u64;
    let mut last = [(); 3].map(|()| String::new());
    loop {
        let [owner, task, key] = &last;
        let values = [owner.into(), task.into(), key.into(), page.into()];
        let rows = database.read(|sql| sql.query(statement, &values))?;
        for row in &rows {
            let [owner, task, key, request, answer] =
                [row.text(0)?, row.text(1)?, row.text(2)?, row.text(3)?, row.text(4)?];
            if row.text(5)? != answer_digest(owner, task, key, request, answer) {
                return Err(StoreError::Corrupt(messages::altered_answer(task)));
            }
            last = [owner, task, key].map(str::to_owned);
        }
        if rows.is_empty() {
            return Ok(count);
        }
        count = count.saturating_add(rows.len() as u64);
    }
}
