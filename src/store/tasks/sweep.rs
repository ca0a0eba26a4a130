//! Rows that are over their age, a page at a time: answers under idempotency keys, tombstones, counters.
//!
//! In: where a page begins, an age, the time. Out: how many rows went, and where the next page begins. Each page is read in one
//! transaction and its rows go in another, each only if it is still the one that was read: so nobody is kept waiting for long,
//! and of two servers that sweep at once each row is counted by one.

use super::retention::Age;
use super::task_records::Tombstone;
use super::tombstones::TOMBSTONE;
use crate::counters::{COUNTER, CounterRow};
use crate::{Database, SqlValue, StoreError};
use celador::cel::Timestamp;

/// The result of sweeping a page.
///
/// ```
/// use celador::{Engine, EngineLimits, StartTask, Timestamp, User};
/// use celador_store::{
///     Age, Database, Location, Once, Owner, StoreError, StoreLimits, StoredTasks, SweptPage, sweep_answers,
/// };
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let limits = StoreLimits::default();
/// # let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
///
/// for (id, key) in [("t-1", "key-1"), ("t-2", "key-2"), ("t-3", "key-3")] {
///     let task = engine.start(StartTask::new(id, "shop", "clerk", User::default(), now))?;
///     let once = Once { key: key.into(), request: "digest".into(), answer: id.into() };
///     tasks.create(&Owner::caller("desk"), &task, now, Some(once))?;
/// }
///
/// // all answers that are older than a day, two rows a page
/// fn sweep(database: &Database, now: Timestamp, age: Age) -> Result<u64, StoreError> {
///     let (mut after, mut gone) = ([(); 3].map(|()| String::new()), 0);
///     loop {
///         let page: SweptPage<_> = sweep_answers(database, (age, now), &after, 2)?;
///         gone += page.gone;
///         let Some(last) = page.last else { return Ok(gone) };
///         after = last;
///     }
/// }
/// let day: Age = "1d".parse()?;
/// assert_eq!(sweep(tasks.database(), now, day)?, 0);
/// assert_eq!(sweep(tasks.database(), "2026-06-03T12:00:00Z".parse()?, day)?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweptPage<K> {
    /// How many rows went.
    pub gone: u64,
    /// The key of the last row that was looked at; nothing behind the last page.
    pub last: Option<K>,
}

/// Takes away the answers under idempotency keys of one page that are over an age.
///
/// # Errors
/// Those of the database.
///
/// # Cost
/// Linear in the page.
pub fn sweep_answers(
    database: &Database,
    (age, now): (Age, Timestamp),
    [owner, task, key]: &[String; 3],
    page: usize,
) -> Result<SweptPage<[String; 3]>, StoreError> {
    let statement = "SELECT owner, task, key, at FROM task_answer \
                     WHERE owner > $1 OR (owner = $1 AND (task > $2 OR (task = $2 AND key > $3))) \
                     ORDER BY owner, task, key LIMIT $4";
    let values = [owner.into(), task.into(), key.into(), (page as u64).into()];
    let rows = database.read(|sql| sql.query(statement, &values))?;
    let (mut last, mut old) = (None, Vec::new());
    for row in &rows {
        let [owner, task, key, at] = [row.text(0)?, row.text(1)?, row.text(2)?, row.text(3)?];
        if age.is_over(at, now) {
            old.push([owner, task, key, at].map(SqlValue::from));
        }
        last = Some([owner, task, key].map(str::to_owned));
    }
    let delete = "DELETE FROM task_answer WHERE owner = $1 AND task = $2 AND key = $3 AND at = $4";
    Ok(SweptPage { gone: delete_each(database, delete, &old)?, last })
}

/// Takes away the tombstones of one page that are over an age, each with its line if no log has taken that over.
///
/// # Errors
/// [`StoreError::Corrupt`], and those of the database.
///
/// # Cost
/// Linear in the page.
pub fn sweep_tombstones(
    database: &Database,
    (age, now): (Age, Timestamp),
    [owner, id]: &[String; 2],
    page: usize,
) -> Result<SweptPage<[String; 2]>, StoreError> {
    let statement = format!(
        "SELECT {TOMBSTONE} FROM task_tombstone WHERE owner > $1 OR (owner = $1 AND id > $2) \
         ORDER BY owner, id LIMIT $3"
    );
    let values = [owner.into(), id.into(), (page as u64).into()];
    let rows = database.read(|sql| sql.query(&statement, &values))?;
    let (mut last, mut old) = (None, Vec::new());
    for row in &rows {
        let Tombstone { owner, id, purged_at, .. } = Tombstone::read(row)?;
        if age.is_over(&purged_at, now) {
            old.push([owner.as_str().to_owned(), id.clone(), purged_at].map(SqlValue::from));
        }
        last = Some([owner.as_str().to_owned(), id]);
    }
    let delete = "DELETE FROM task_tombstone WHERE owner = $1 AND id = $2 AND purged_at = $3";
    let gone = delete_each(database, delete, &old)?;
    if gone > 0 {
        let keys: Vec<[SqlValue<'_>; 2]> =
            old.iter().map(|[owner, id, _]| [owner.clone(), id.clone()]).collect();
        let delete = "DELETE FROM decision_line WHERE owner = $1 AND task = $2 AND log = ''";
        delete_each(database, delete, &keys)?;
    }
    Ok(SweptPage { gone, last })
}

/// Takes away the counters of one page of which nothing counts any more, a day after that. They go by their windows and not by a
/// rule of retention: one that goes earlier would let more be spent.
///
/// # Errors
/// [`StoreError::Corrupt`], and those of the database.
///
/// # Cost
/// Linear in the page.
pub fn sweep_counters(
    database: &Database,
    now: Timestamp,
    [owner, policy, name, key]: &[String; 4],
    page: usize,
) -> Result<SweptPage<[String; 4]>, StoreError> {
    let statement = format!(
        "SELECT {COUNTER} FROM counter WHERE (owner, policy, name, key) > ($1, $2, $3, $4) \
         ORDER BY owner, policy, name, key LIMIT $5"
    );
    let values = [owner.into(), policy.into(), name.into(), key.into(), (page as u64).into()];
    let rows = database.read(|sql| sql.query(&statement, &values))?;
    let now = i64::try_from(now.nanos().div_euclid(1_000_000)).unwrap_or_default();
    let (mut last, mut old) = (None, Vec::new());
    for row in &rows {
        let CounterRow { owner, counter, over_at, .. } = CounterRow::read(row)?;
        let key = [&*owner, counter.policy(), counter.name(), counter.key()].map(str::to_owned);
        if over_at.is_some_and(|over_at| over_at <= now) {
            let [owner, policy, name, key] = key.clone();
            old.push([owner, policy, name, key, row.text(9)?.to_owned()].map(SqlValue::from));
        }
        last = Some(key);
    }
    // one that has changed since has another digest
    let delete =
        "DELETE FROM counter WHERE owner = $1 AND policy = $2 AND name = $3 AND key = $4 AND digest = $5";
    Ok(SweptPage { gone: delete_each(database, delete, &old)?, last })
}

/// Runs a statement for each of these keys in one transaction; how many rows went.
fn delete_each<const N: usize>(
    database: &Database,
    statement: &str,
    keys: &[[SqlValue<'_>; N]],
) -> Result<u64, StoreError> {
    if keys.is_empty() {
        return Ok(0);
    }
    database.write_rows(|sql| {
        let mut gone = 0_u64;
        for key in keys {
            gone = gone.saturating_add(sql.execute(statement, key)?);
        }
        Ok(gone)
    })
}
