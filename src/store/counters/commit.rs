//! The changes of the steps of one transaction, made to the rows of counters.
//!
//! In: for each step its changes and what the calls of its task hold, which the version of the task vouches for. Out: rows, or
//! the steps whose counters were reserved since they were read. A row is taken before it is looked at, and stays taken until
//! the transaction ends: what is added to it is added to what is there.

use super::rows::{COUNTER, CounterRow, HOLD, HoldRow, holds_of, key_of};
use crate::{Sql, SqlValue, StoreError, messages};
use celador::Timestamp;
use celador::counter::{
    CounterChanges, CounterConflict, CounterId, CounterState, CounterStates, Hold, Reservation,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What one step does to counters.
#[derive(Debug)]
pub(crate) struct CounterWrite {
    pub(crate) changes: CounterChanges,
    /// What the calls of its task hold before it.
    pub(crate) holds: Arc<[Hold]>,
    pub(crate) at: Timestamp,
}

/// The same with the task that it is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CounterWork<'w> {
    /// The place of its step in the transaction.
    pub(crate) position: usize,
    pub(crate) owner: &'w str,
    pub(crate) task: &'w str,
    pub(crate) write: &'w CounterWrite,
}

/// A counter of an owner.
type Key<'w> = (&'w str, &'w CounterId);

/// The steps whose counters were reserved since they were read, as far as that can be seen before anything is written: such
/// a step is left out of the transaction, which then need not begin anew. Nothing is locked.
///
/// # Cost
/// One row for each counter that a step has read.
pub(crate) fn stale(sql: &mut Sql<'_>, works: &[CounterWork<'_>]) -> Result<BTreeSet<usize>, StoreError> {
    let mut versions: BTreeMap<Key<'_>, u64> = BTreeMap::new();
    let mut stale = BTreeSet::new();
    for CounterWork { position, owner, write: CounterWrite { changes, .. }, .. } in works {
        let mut is_stale = false;
        for read in &changes.read {
            let key = (*owner, &read.counter);
            let version = match versions.get(&key) {
                Some(version) => *version,
                None => version_of(sql, key)?,
            };
            versions.insert(key, version);
            is_stale |= version != read.version;
        }
        if is_stale {
            stale.insert(*position);
            continue;
        }
        for Reservation { counter, .. } in changes.reserved() {
            if let Some(version) = versions.get_mut(&(*owner, counter)) {
                *version = version.saturating_add(1);
            }
        }
    }
    Ok(stale)
}

fn version_of(sql: &mut Sql<'_>, (owner, counter): Key<'_>) -> Result<u64, StoreError> {
    let statement = "SELECT version FROM counter WHERE owner = $1 AND policy = $2 AND name = $3 AND key = $4";
    sql.query_one(statement, &key_of(owner, counter))?.map_or(Ok(0), |row| row.count(0))
}

/// Makes the changes of some steps. Answers the steps that stand in the way, by their places: with any, the transaction is
/// of no use, and is to be begun anew without them.
///
/// # Cost
/// Two statements for each counter that is touched, and one for each hold that begins or ends.
pub(crate) fn put(
    sql: &mut Sql<'_>,
    works: &[CounterWork<'_>],
) -> Result<Vec<(usize, StoreError)>, StoreError> {
    let touched: BTreeSet<Key<'_>> = works
        .iter()
        .flat_map(|work| work.write.changes.touches(&work.write.holds).map(|counter| (work.owner, counter)))
        .collect();
    let Some(at) = works.iter().map(|work| work.write.at).max() else { return Ok(Vec::new()) };
    let mut states: BTreeMap<&str, CounterStates> = BTreeMap::new();
    for (owner, counter) in touched.iter().copied() {
        let state = taken(sql, (owner, counter), at)?;
        states.entry(owner).or_default().0.insert(counter.clone(), state);
    }
    let before = states.clone();
    let mut refused = Vec::new();
    for CounterWork { position, owner, write: CounterWrite { changes, holds, at }, .. } in works {
        let done = states.entry(*owner).or_default().apply(holds, changes, *at);
        refused.extend(done.err().map(|conflict| (*position, refusal(&conflict))));
    }
    if !refused.is_empty() {
        return Ok(refused);
    }
    for (owner, counter) in touched {
        let of = |states: &BTreeMap<&str, CounterStates>| states.get(owner)?.0.get(counter).cloned();
        if let Some(state) = of(&states).filter(|state| of(&before).as_ref() != Some(state)) {
            write_counter(sql, &CounterRow::new(owner, counter, state, at))?;
        }
    }
    works.iter().try_for_each(|work| write_holds(sql, work))?;
    Ok(Vec::new())
}

/// All that the calls of a task hold is spent, because the task goes. Its row has to be taken already.
pub(crate) fn spend_all(sql: &mut Sql<'_>, owner: &str, task: &str, at: Timestamp) -> Result<(), StoreError> {
    let holds: Arc<[Hold]> = holds_of(sql, owner, task)?.into();
    let changes = CounterChanges { all_over: true, ..CounterChanges::default() };
    let write = CounterWrite { changes, holds, at };
    let refused = put(sql, &[CounterWork { position: 0, owner, task, write: &write }])?;
    refused.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
}

fn refusal(conflict: &CounterConflict) -> StoreError {
    match conflict {
        CounterConflict::Moved(_) => StoreError::CountersMoved,
        CounterConflict::Twice(_) => StoreError::NotStorable(messages::HELD_TWICE),
        CounterConflict::Damaged(counter) => StoreError::Corrupt(messages::altered_counter(counter.name())),
    }
}

/// A counter whose row nobody else changes until the transaction ends. One that is not there is made, so that there is a
/// row to take.
fn taken(sql: &mut Sql<'_>, (owner, counter): Key<'_>, at: Timestamp) -> Result<CounterState, StoreError> {
    let statement = format!(
        "INSERT INTO counter ({COUNTER}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT (owner, policy, name, key) DO UPDATE SET digest = counter.digest RETURNING {COUNTER}"
    );
    let empty = CounterRow::new(owner, counter, CounterState::default(), at);
    let row = sql.query_one(&statement, &empty.values())?;
    let altered = || StoreError::Corrupt(messages::altered_counter(counter.name()));
    Ok(CounterRow::read(&row.ok_or_else(altered)?)?.state)
}

pub(super) fn write_counter(sql: &mut Sql<'_>, row: &CounterRow) -> Result<(), StoreError> {
    let statement = "UPDATE counter SET span = $5, version = $6, spent = $7, held = $8, over_at = $9, digest = $10 \
                     WHERE owner = $1 AND policy = $2 AND name = $3 AND key = $4";
    sql.execute(statement, &row.values()).map(drop)
}

/// The holds that a step begins and ends.
fn write_holds(sql: &mut Sql<'_>, work: &CounterWork<'_>) -> Result<(), StoreError> {
    let CounterWork { owner, task, write: CounterWrite { changes, holds, .. }, .. } = work;
    let after = changes.holds_after(holds);
    let row = |hold: &Hold| {
        let (owner, task, hold) = ((*owner).to_owned(), (*task).to_owned(), hold.clone());
        HoldRow { owner, task, hold }
    };
    for hold in holds.iter().filter(|hold| !after.contains(hold)) {
        let row = row(hold);
        let key: Vec<SqlValue<'_>> = row.values().into_iter().take(6).collect();
        sql.execute(
            "DELETE FROM counter_hold WHERE owner = $1 AND task = $2 AND call_id = $3 AND policy = $4 \
             AND name = $5 AND key = $6",
            &key,
        )?;
    }
    for hold in after.iter().filter(|hold| !holds.contains(hold)) {
        let statement = format!("INSERT INTO counter_hold ({HOLD}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)");
        sql.execute(&statement, &row(hold).values())?;
    }
    Ok(())
}
