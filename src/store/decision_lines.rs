//! The lines that decision logs must hold, kept beside the decisions that they are about.
//!
//! In: with a step, the line of its decision and the log that is to have it, in the same transaction. Out: the lines of a
//! log, so that it can be brought up to date after whatever kept it from being written. The newest lines stay here for a
//! while after the log has them, so that a log which lost its end is made whole again, too.

use super::{Database, Row, Sql, SqlValue, StoreError};

/// A line that is to be in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueLine {
    /// The id of the log.
    pub log: String,
    /// Its number among the lines that are due to this log, in the order in which they were due; not that of the log.
    pub number: u64,
    /// The line as a JSON object, without the digest of its event.
    pub line: String,
}

/// A line that was due, with the decision that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptLine {
    /// Its number among those that were due to its log.
    pub number: u64,
    /// Whose task it is.
    pub owner: String,
    /// The task.
    pub task: String,
    /// The number of the event.
    pub version: u64,
    /// The line as a JSON object.
    pub line: String,
    /// The digest of the event; none if the task was purged since.
    pub event: Option<String>,
}

const COLUMNS: &str = "SELECT l.number, l.owner, l.task, l.version, l.line, e.chain FROM decision_line l \
    LEFT JOIN task_event e ON e.owner = l.owner AND e.task = l.task AND e.version = l.version";

impl DueLine {
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
