//! The lines that decision logs must hold, kept beside the decisions that they are about.
//!
//! In: with a step, a purge or a turn of a switch, its line and the log that is to have it, in the same transaction. Out: the
//! lines of a log, so that it can be brought up to date after whatever kept it from being written. The newest lines stay here
//! for a while after the log has them, so that a log which lost its end is made whole again, too. A line of somebody who
//! writes no log of their own waits for the first log that takes it over.

use crate::decision_log::{DecisionLog, LogError};
use crate::{Database, Row, Sql, SqlValue, StoreError};
use celador::cel::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Stands for the id of a log in lines that any log may take.
const ANY: &str = "";

/// Lines that are taken over at a time.
const PAGE: usize = 1_000;

/// A line that is to be in a log.
///
/// ```
/// use celador::{Call, Engine, EngineLimits, StartTask, User};
/// use celador_store::decision_log::{DecisionLog, LogSettings};
/// use celador_store::{
///     Compared, Database, DueLine, KeptLine, Location, LogBehind, NewEvent, OperationKind, Owner, StoreLimits,
///     StoredTasks, Terms, compare, forget, lines_from,
/// };
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let limits = StoreLimits::default();
/// # let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
/// # let folder = std::env::temp_dir().join(format!("celador-due-{}", std::process::id()));
///
/// let log = DecisionLog::open(LogSettings::new(&folder), now)?;
/// let owner = Owner::caller("desk");
/// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// let head = tasks.create(&owner, &task, now, None)?;
/// let before = task.mark();
/// let call = Call::new("payout", serde_json::json!({"amount": 2_000}).into());
/// let decision = task.before(&call, now)?.outcome().into_decision();
///
/// // the decision and the line that the log is owed are stored in one transaction
/// let line = serde_json::json!({
///     "at": now.to_string(), "task": "t-1", "owner": "desk", "version": 2, "operation": "before", "verdict": "block",
/// });
/// let due = DueLine { log: log.id().to_owned(), number: 1, line: line.to_string() };
/// let operation = OperationKind::Before;
/// let step = NewEvent { operation, at: now, task: &task, before: &before, decision: Some(&decision), once: None };
/// tasks.append_under(&head, &step, Terms { due: Some(due), ..Terms::default() })?;
///
/// // the process died before it wrote the line: the next one does
/// fn catch_up(database: &Database, log: &DecisionLog) -> Result<u64, LogBehind> {
///     let lines: Vec<KeptLine> = lines_from(database, log.id(), 1, 1_000)?;
///     for line in &lines {
///         log.record(&line.late()?)?;
///     }
///     log.sync()?;
///     let written: Vec<u64> = lines.iter().map(|line| line.number).collect();
///     forget(database, log.id(), &written)?;
///     Ok(written.len() as u64)
/// }
/// assert_eq!(catch_up(tasks.database(), &log)?, 1);
/// let compared = compare(tasks.database(), &[folder.clone()], |difference| panic!("{difference:?}"))?;
/// assert_eq!(compared, Compared { lines: 1, decisions: 1, late: 1, apart: 0 });
/// # drop(log);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueLine {
    /// The id of the log.
    pub log: String,
    /// Its number among the lines that are due to this log, in the order in which they were due; not that of the log.
    pub number: u64,
    /// The line as a JSON object, without the digest of its event.
    pub line: String,
}

/// Why a log is not up to date.
#[derive(Debug, thiserror::Error)]
pub enum LogBehind {
    /// The log cannot be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A line that was due, with the decision that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptLine {
    /// Its number among those that were due to its log.
    pub number: u64,
    /// The owner of the task.
    pub owner: String,
    /// The task.
    pub task: String,
    /// The number of the event.
    pub version: u64,
    /// The line as a JSON object.
    pub line: String,
    /// The digest of the event; `None` if the task was purged since.
    pub event: Option<String>,
}

impl KeptLine {
    /// Whether it says a time before this one.
    #[must_use]
    pub fn is_before(&self, time: Timestamp) -> bool {
        #[derive(Deserialize)]
        struct Read {
            at: String,
        }
        let at = serde_json::from_str(&self.line).ok().and_then(|Read { at }| at.parse::<Timestamp>().ok());
        at.is_some_and(|at| at < time)
    }

    /// The line as it is written late: with the digest of its event, and the mark.
    ///
    /// # Errors
    /// [`LogError::Entry`] for a line that is no JSON object.
    pub fn late(&self) -> Result<Box<RawValue>, LogError> {
        let members = self.line.trim_end().strip_suffix('}').unwrap_or("{\"task\":\"\"");
        let event = self.event.as_ref().map(|event| format!(",\"event\":\"{event}\"")).unwrap_or_default();
        RawValue::from_string(format!("{members}{event},\"late\":true}}")).map_err(|_| LogError::Entry)
    }
}

const COLUMNS: &str = "SELECT l.number, l.owner, l.task, l.version, l.line, e.chain FROM decision_line l \
    LEFT JOIN task_event e ON e.owner = l.owner AND e.task = l.task AND e.version = l.version";

impl DueLine {
    /// A line of somebody who writes no log: the first server or command that looks, and has a log, writes it.
    #[must_use]
    pub fn for_any_log(line: String) -> Self {
        // 63 bits by chance, as numbers are stored with a sign
        let (number, _) = uuid::Uuid::new_v4().as_u64_pair();
        Self { log: ANY.to_owned(), number: number >> 1, line }
    }

    /// Puts it beside its decision.
    pub(super) fn put(
        &self,
        sql: &mut Sql<'_>,
        owner: &str,
        task: &str,
        version: u64,
    ) -> Result<(), StoreError> {
        let values: [SqlValue<'_>; 6] = [
            (&self.log).into(),
            self.number.into(),
            owner.into(),
            task.into(),
            version.into(),
            (&self.line).into(),
        ];
        sql.execute(
            "INSERT INTO decision_line (log, number, owner, task, version, line) VALUES ($1, $2, $3, $4, $5, $6)",
            &values,
        )?;
        Ok(())
    }
}

/// The lines of a log from a number on, in their order, at most so many.
///
/// # Errors
/// Those of the database.
pub fn lines_from(
    database: &Database,
    log: &str,
    number: u64,
    most: usize,
) -> Result<Vec<KeptLine>, StoreError> {
    let statement = format!("{COLUMNS} WHERE l.log = $1 AND l.number >= $2 ORDER BY l.number LIMIT $3");
    let values = [log.into(), number.into(), (most as u64).into()];
    let rows = database.read(|sql| sql.query(&statement, &values))?;
    rows.iter().map(kept).collect()
}

/// Lets go of lines that their log has on disk.
///
/// # Errors
/// Those of the database.
pub fn forget(database: &Database, log: &str, numbers: &[u64]) -> Result<(), StoreError> {
    database.write_rows(|sql| {
        for number in numbers {
            let values = [log.into(), (*number).into()];
            sql.execute("DELETE FROM decision_line WHERE log = $1 AND number = $2", &values)?;
        }
        Ok(())
    })
}

/// Makes lines that any log may take those of one log; the numbers that they have there. Of two logs that come at once, one
/// gets each line.
///
/// # Errors
/// Those of the database.
pub fn take_over(
    database: &Database,
    log: &str,
    mut next: impl FnMut() -> u64,
) -> Result<Vec<u64>, StoreError> {
    let statement = "SELECT number FROM decision_line WHERE log = $1 ORDER BY number LIMIT $2";
    let waiting = database.read(|sql| sql.query(statement, &[ANY.into(), (PAGE as u64).into()]))?;
    let mut taken = Vec::new();
    for row in waiting {
        let number = next();
        let values = [log.into(), number.into(), ANY.into(), row.count(0)?.into()];
        let statement = "UPDATE decision_line SET log = $1, number = $2 WHERE log = $3 AND number = $4";
        match database.write_rows(|sql| sql.execute(statement, &values)) {
            Ok(0) => {}
            // whoever writes the line looks whether it is there
            Ok(_) | Err(StoreError::Uncertain) => taken.push(number),
            Err(error) => return Err(error),
        }
    }
    Ok(taken)
}

/// Writes lines that any log may take into this one, a thousand at most, and waits until they are on the disk; how many there
/// were. It is for processes that write a log and take no decisions. If it stops half way, the next server that writes this log goes on.
///
/// # Errors
/// Those of the store and of the log.
pub fn write_waiting(database: &Database, log: &DecisionLog) -> Result<usize, LogBehind> {
    let statement = "SELECT number FROM decision_line WHERE log = $1 ORDER BY number DESC LIMIT 1";
    let last = database.read(|sql| sql.query_one(statement, &[log.id().into()]))?;
    let mut last = last.map_or(Ok(0), |row| row.count(0))?;
    let taken = take_over(database, log.id(), || {
        last = last.saturating_add(1);
        last
    })?;
    for number in &taken {
        let lines = lines_from(database, log.id(), *number, 1)?;
        for line in lines.iter().filter(|line| line.number == *number) {
            log.record(&line.late()?)?;
        }
    }
    log.sync()?;
    forget(database, log.id(), &taken)?;
    Ok(taken.len())
}

/// The numbers of the lines of a log that are about the decisions of tasks that were purged since.
///
/// # Errors
/// Those of the database.
pub fn lines_of_purged(database: &Database, log: &str) -> Result<Vec<u64>, StoreError> {
    // the line of the purge itself comes after all of the task's, and stays as long as any other
    let statement = "SELECT l.number FROM decision_line l \
         JOIN task_tombstone t ON t.owner = l.owner AND t.id = l.task AND l.version <= t.events \
         WHERE l.log = $1 ORDER BY l.number";
    let rows = database.read(|sql| sql.query(statement, &[log.into()]))?;
    rows.iter().map(|row| row.count(0)).collect()
}

/// Takes out of the lines of a task what somebody said, before the task is purged: a line that its log does not have yet is
/// written without it. What the log needs stays: who, when, what was asked and answered; and the digest of the event is put
/// in, which cannot be looked up any more.
pub(super) fn reduce(sql: &mut Sql<'_>, owner: &str, task: &str) -> Result<(), StoreError> {
    let statement = "SELECT l.log, l.number, l.line, e.chain FROM decision_line l \
         LEFT JOIN task_event e ON e.owner = l.owner AND e.task = l.task AND e.version = l.version \
         WHERE l.owner = $1 AND l.task = $2";
    for row in sql.query(statement, &[owner.into(), task.into()])? {
        let Ok(Value::Object(mut members)) = serde_json::from_str(row.text(2)?) else { continue };
        members.shift_remove("reason");
        members.shift_remove("content");
        if let Some(event) = row.optional_text(3)? {
            members.insert("event".to_owned(), event.into());
        }
        let line = Value::Object(members).to_string();
        let values = [row.text(0)?.into(), row.count(1)?.into(), (&line).into()];
        sql.execute("UPDATE decision_line SET line = $3 WHERE log = $1 AND number = $2", &values)?;
    }
    Ok(())
}

/// Puts the lines of turns of switches beside them, and remembers up to which turn this log has been told of them. Those of
/// turns that it was told of before are left out; the numbers of the others.
///
/// # Errors
/// Those of the database.
pub fn put_turns(database: &Database, log: &str, turns: &[(u64, DueLine)]) -> Result<Vec<u64>, StoreError> {
    database.write_rows(|sql| {
        let told = turns_told(sql, log)?;
        let mut put = Vec::new();
        for (turn, due) in turns.iter().filter(|(turn, _)| *turn > told) {
            due.put(sql, "", "", *turn)?;
            put.push(due.number);
        }
        let last = turns.iter().map(|(turn, _)| *turn).fold(told, u64::max);
        sql.execute(
            "INSERT INTO decision_log (log, turns) VALUES ($1, $2) \
             ON CONFLICT (log) DO UPDATE SET turns = excluded.turns",
            &[log.into(), last.into()],
        )?;
        Ok(put)
    })
}

/// The number of the last turn of a switch of which a log was told.
fn turns_told(sql: &mut Sql<'_>, log: &str) -> Result<u64, StoreError> {
    let found = sql.query_one("SELECT turns FROM decision_log WHERE log = $1", &[log.into()])?;
    found.map_or(Ok(0), |row| row.count(0))
}

fn kept(row: &Row) -> Result<KeptLine, StoreError> {
    Ok(KeptLine {
        number: row.count(0)?,
        owner: row.text(1)?.to_owned(),
        task: row.text(2)?.to_owned(),
        version: row.count(3)?,
        line: row.text(4)?.to_owned(),
        event: row.optional_text(5)?.map(str::to_owned),
    })
}
