//! The tables of contexts, and every statement on them.
//!
//! In: rows to write, ids to look for. Out: rows as the types of the rules. Nothing here decides: what may be done was asked
//! before. Each statement costs what it gives or changes, by an index, but a list looks at all contexts of its caller; it
//! touches no message. What cannot be read back is [`StoreError::Corrupt`], with the id of the context.

use super::context::{Context, Details};
use super::history::{Artifact, Message, TaskRecord};
use super::lifecycle::{A2aTaskState, ContextStatus};
use super::list::{ListQuery, Page, SortBy, SortOrder};
use super::messages;
use super::window::Window;
use crate::{Row, Sql, SqlValue, StoreError};
use celador::cel::Timestamp;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// How many rows are named in one statement: Postgres and SQLite bound the parameters of one.
const BATCH: usize = 200;

/// The columns of a context, in the order in which `read_context` reads them.
const CONTEXT: &str = "id, owner, created_at, updated_at, status, parent, details";

/// A context that nobody changed yet.
const INSERT: &str =
    "INSERT INTO context (id, owner, created_at, updated_at, status, parent, details, changes)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 0)";

/// A task without what was said in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// Its place in the order of creation of all tasks.
    pub(super) number: i64,
    /// How far it is.
    pub(super) state: A2aTaskState,
}

/// What a task has many of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Message,
    Artifact,
}

/// The context, and nobody else changes it before this transaction ends: every change comes through here first.
pub(super) fn take(sql: &mut Sql<'_>, id: &str) -> Result<Option<Context>, StoreError> {
    let statement = format!("UPDATE context SET changes = changes + 1 WHERE id = $1 RETURNING {CONTEXT}");
    sql.query_one(&statement, &[id.into()])?.as_ref().map(read_context).transpose()
}

/// The context, for reading.
pub(super) fn context(sql: &mut Sql<'_>, id: &str) -> Result<Option<Context>, StoreError> {
    let statement = format!("SELECT {CONTEXT} FROM context WHERE id = $1");
    sql.query_one(&statement, &[id.into()])?.as_ref().map(read_context).transpose()
}

/// The contexts of the caller, or of all where there is no caller, that pass what the query asks of columns; in no order.
pub(super) fn contexts(
    sql: &mut Sql<'_>,
    caller: Option<&str>,
    query: &ListQuery,
) -> Result<Vec<Context>, StoreError> {
    let (matching, values) = matching(caller, query);
    let rows = sql.query(&format!("SELECT {CONTEXT} FROM context {matching}"), &values)?;
    rows.iter().map(read_context).collect()
}

/// The page of a query that asks for nothing but what columns hold (B4 to B6).
pub(super) fn page(
    sql: &mut Sql<'_>,
    caller: Option<&str>,
    query: &ListQuery,
) -> Result<Page<Context>, StoreError> {
    let (matching, mut values) = matching(caller, query);
    let count = sql.query_one(&format!("SELECT count(*) FROM context {matching}"), &values)?;
    let total = count.ok_or(StoreError::NotFound)?.count(0)?;
    let key = if query.sort_by == SortBy::UpdatedAt { "updated_at" } else { "created_at" };
    let direction = if query.sort_order == SortOrder::Ascending { "" } else { "DESC" };
    let limit = values.len().saturating_add(1);
    let offset = values.len().saturating_add(2);
    let statement = format!(
        "SELECT {CONTEXT} FROM context {matching} ORDER BY rtrim({key}, 'Z') {direction}, id \
         LIMIT ${limit} OFFSET ${offset}"
    );
    values.extend([bounded(query.limit).into(), bounded(Some(query.offset)).into()]);
    let rows = sql.query(&statement, &values)?;
    let items = rows.iter().map(read_context).collect::<Result<_, _>>()?;
    Ok(query.numbered(items, usize::try_from(total).unwrap_or(usize::MAX)))
}

/// The condition on the columns of a context, and its parameters. Times are texts of UTC: without the `Z` behind the last
/// of their digits they are in the order of their bytes.
fn matching<'q>(caller: Option<&'q str>, query: &ListQuery) -> (String, Vec<SqlValue<'q>>) {
    let time = |time: Timestamp| time.to_string().trim_end_matches('Z').to_owned().into();
    let asked: [(&str, Option<SqlValue<'q>>); 4] = [
        ("owner =", caller.map(Into::into)),
        ("status =", query.status.map(|status| status.name().into())),
        ("rtrim(created_at, 'Z') >=", query.created_after.map(time)),
        ("rtrim(created_at, 'Z') <=", query.created_before.map(time)),
    ];
    let (mut condition, mut values) = (String::new(), Vec::new());
    for (test, value) in asked {
        let Some(value) = value else { continue };
        values.push(value);
        let word = if condition.is_empty() { "WHERE" } else { " AND" };
        condition.push_str(&format!("{word} {test} ${}", values.len()));
    }
    (condition, values)
}

/// The context of this id as [`take`] gives it, or this one if there is none; whether it is new. One statement, so that
/// servers that make the same context at once make it once.
pub(super) fn take_or_make(sql: &mut Sql<'_>, context: &Context) -> Result<(Context, bool), StoreError> {
    let statement = format!(
        "{INSERT} ON CONFLICT (id) DO UPDATE SET changes = context.changes + 1 RETURNING {CONTEXT}, changes"
    );
    let row = sql.query_one(&statement, &columns(context)?)?.ok_or(StoreError::NotFound)?;
    Ok((read_context(&row)?, row.int(7)? == 0))
}

/// Writes a context that is not there; whether it was not.
pub(super) fn make(sql: &mut Sql<'_>, context: &Context) -> Result<bool, StoreError> {
    let made = sql.execute(&format!("{INSERT} ON CONFLICT (id) DO NOTHING"), &columns(context)?)?;
    Ok(made == 1)
}

/// Writes what may change of a context that was taken.
pub(super) fn put(sql: &mut Sql<'_>, context: &Context) -> Result<(), StoreError> {
    let values = [
        context.id.as_str().into(),
        context.updated_at.to_string().into(),
        context.status.name().into(),
        context.parent.as_deref().into(),
        details(context)?,
    ];
    sql.execute(
        "UPDATE context SET updated_at = $2, status = $3, parent = $4, details = $5 WHERE id = $1",
        &values,
    )?;
    Ok(())
}

/// Removes a context; its tasks and all that they hold go with it.
pub(super) fn remove(sql: &mut Sql<'_>, id: &str) -> Result<(), StoreError> {
    sql.execute("DELETE FROM context WHERE id = $1", &[id.into()])?;
    Ok(())
}

/// The ids behind one with the times of their last changes, at most so many.
pub(super) fn ages(sql: &mut Sql<'_>, after: &str, limit: usize) -> Result<Vec<[String; 2]>, StoreError> {
    let statement = "SELECT id, updated_at FROM context WHERE id > $1 ORDER BY id LIMIT $2";
    let rows = sql.query(statement, &[after.into(), (limit as u64).into()])?;
    rows.iter().map(|row| Ok([row.text(0)?.to_owned(), row.text(1)?.to_owned()])).collect()
}

/// Removes a context that has not changed since a time, as [`remove`] does; whether it was there.
pub(super) fn remove_unchanged(sql: &mut Sql<'_>, [id, at]: &[String; 2]) -> Result<bool, StoreError> {
    let statement = "DELETE FROM context WHERE id = $1 AND updated_at = $2";
    Ok(sql.execute(statement, &[id.into(), at.into()])? > 0)
}

/// A task of a context.
pub(super) fn task(sql: &mut Sql<'_>, context: &str, id: &str) -> Result<Option<Task>, StoreError> {
    let statement = "SELECT number, state FROM context_task WHERE context = $1 AND id = $2";
    let Some(row) = sql.query_one(statement, &[context.into(), id.into()])? else { return Ok(None) };
    Ok(Some(Task { number: row.int(0)?, state: read_state(row.text(1)?, context)? }))
}

/// Where the caller has a task of this id: in the context `wanted`, if it is there, or in the first other one.
pub(super) fn context_of_own_task(
    sql: &mut Sql<'_>,
    caller: Option<&str>,
    id: &str,
    wanted: Option<&str>,
) -> Result<Option<String>, StoreError> {
    const FOUND: &str =
        "SELECT context.id FROM context_task JOIN context ON context.id = context_task.context
         WHERE context_task.id = $1 AND";
    let rows = match caller {
        Some(caller) => {
            sql.query(&format!("{FOUND} context.owner = $2 ORDER BY number"), &[id.into(), caller.into()])?
        }
        None => sql.query(&format!("{FOUND} context.owner IS NULL ORDER BY number"), &[id.into()])?,
    };
    let found = rows.iter().map(|row| row.text(0)).collect::<Result<Vec<_>, _>>()?;
    let there = found.iter().find(|context| Some(**context) == wanted).or(found.first());
    Ok(there.map(|context| (*context).to_owned()))
}

/// The contexts in which the caller may see a task of this id.
pub(super) fn contexts_of_task(
    sql: &mut Sql<'_>,
    caller: Option<&str>,
    id: &str,
) -> Result<Vec<String>, StoreError> {
    let rows = match caller {
        Some(caller) => sql.query(
            "SELECT context.id FROM context_task JOIN context ON context.id = context_task.context
             WHERE context_task.id = $1 AND context.owner = $2",
            &[id.into(), caller.into()],
        )?,
        None => sql.query("SELECT context FROM context_task WHERE id = $1", &[id.into()])?,
    };
    rows.iter().map(|row| row.text(0).map(str::to_owned)).collect()
}

/// The states of a context's tasks.
pub(super) fn states(sql: &mut Sql<'_>, context: &str) -> Result<Vec<A2aTaskState>, StoreError> {
    let rows = sql.query("SELECT state FROM context_task WHERE context = $1", &[context.into()])?;
    rows.iter().map(|row| read_state(row.text(0)?, context)).collect()
}

/// The ids of the tasks of these contexts, by context, oldest first.
pub(super) fn task_ids(
    sql: &mut Sql<'_>,
    contexts: &[&str],
) -> Result<HashMap<String, Vec<String>>, StoreError> {
    let mut found: HashMap<String, Vec<String>> = HashMap::new();
    for batch in contexts.chunks(BATCH) {
        let values: Vec<SqlValue<'_>> = batch.iter().map(|id| (*id).into()).collect();
        let statement = format!(
            "SELECT context, id FROM context_task WHERE context IN ({}) ORDER BY number",
            places(values.len())
        );
        for row in sql.query(&statement, &values)? {
            found.entry(row.text(0)?.to_owned()).or_default().push(row.text(1)?.to_owned());
        }
    }
    Ok(found)
}

/// Writes a new task of a context that was taken, as the newest of all; its number.
pub(super) fn new_task(
    sql: &mut Sql<'_>,
    context: &str,
    id: &str,
    state: A2aTaskState,
) -> Result<i64, StoreError> {
    let last = sql.query_one(
        "INSERT INTO context_count (name, last) VALUES ('task', 1)
         ON CONFLICT (name) DO UPDATE SET last = context_count.last + 1 RETURNING last",
        &[],
    )?;
    let number =
        last.ok_or_else(|| StoreError::Corrupt(messages::damaged("the count of tasks", context)))?.int(0)?;
    sql.execute(
        "INSERT INTO context_task (number, context, id, state, status_message, messages, artifacts)
         VALUES ($1, $2, $3, $4, NULL, 0, 0)",
        &[number.into(), context.into(), id.into(), state.name().into()],
    )?;
    sql.execute("UPDATE context SET newest_task = $2 WHERE id = $1", &[context.into(), number.into()])?;
    Ok(number)
}

/// Writes how far a task is, and the message in its status.
pub(super) fn put_state(
    sql: &mut Sql<'_>,
    task: i64,
    state: A2aTaskState,
    message: Option<&RawValue>,
) -> Result<(), StoreError> {
    sql.execute(
        "UPDATE context_task SET state = $2, status_message = $3 WHERE number = $1",
        &[task.into(), state.name().into(), message.map(RawValue::get).into()],
    )?;
    Ok(())
}

/// Writes more of what a task has many of, after what is there.
pub(super) fn append<'b>(
    sql: &mut Sql<'_>,
    part: Part,
    task: i64,
    bodies: impl IntoIterator<Item = &'b RawValue>,
) -> Result<(), StoreError> {
    let (count, insert) = match part {
        Part::Message => (
            "UPDATE context_task SET messages = messages + 1 WHERE number = $1 RETURNING messages",
            "INSERT INTO context_message (task, number, body) VALUES ($1, $2, $3)",
        ),
        Part::Artifact => (
            "UPDATE context_task SET artifacts = artifacts + 1 WHERE number = $1 RETURNING artifacts",
            "INSERT INTO context_artifact (task, number, body) VALUES ($1, $2, $3)",
        ),
    };
    for body in bodies {
        let number = sql.query_one(count, &[task.into()])?.ok_or(StoreError::NotFound)?.int(0)?;
        sql.execute(insert, &[task.into(), number.into(), body.get().into()])?;
    }
    Ok(())
}

/// The tasks of a context in a window, newest first, with all that they hold (A1).
pub(super) fn window(
    sql: &mut Sql<'_>,
    context: &str,
    window: Window,
) -> Result<Vec<TaskRecord>, StoreError> {
    let rows = sql.query(
        "SELECT number, id, state, status_message FROM context_task WHERE context = $1
         ORDER BY number DESC LIMIT $2 OFFSET $3",
        &[context.into(), bounded(window.length).into(), bounded(Some(window.offset)).into()],
    )?;
    let numbers = rows.iter().map(|row| row.int(0)).collect::<Result<Vec<_>, _>>()?;
    let mut histories = bodies(sql, Part::Message, &numbers, context)?;
    let mut artifacts = bodies(sql, Part::Artifact, &numbers, context)?;
    rows.iter()
        .zip(numbers)
        .map(|(row, number)| {
            let status = row.optional_text(3)?.map(|body| json(body, "a status message", context));
            let history = histories.remove(&number).unwrap_or_default();
            Ok(TaskRecord {
                id: row.text(1)?.to_owned(),
                state: read_state(row.text(2)?, context)?,
                history: history.into_iter().map(Message::stored).collect(),
                status_message: status.transpose()?.map(Message::stored),
                artifacts: artifacts
                    .remove(&number)
                    .unwrap_or_default()
                    .into_iter()
                    .map(Artifact::stored)
                    .collect(),
            })
        })
        .collect()
}

/// The ids of contexts with tasks, the one with the newest task first (G1).
pub(super) fn recent(
    sql: &mut Sql<'_>,
    caller: Option<&str>,
    window: Window,
) -> Result<Vec<String>, StoreError> {
    let page: [SqlValue<'_>; 2] = [bounded(window.length).into(), bounded(Some(window.offset)).into()];
    let [limit, offset] = page;
    let rows = match caller {
        Some(caller) => sql.query(
            "SELECT id FROM context WHERE newest_task IS NOT NULL AND owner = $3
             ORDER BY newest_task DESC LIMIT $1 OFFSET $2",
            &[limit, offset, caller.into()],
        )?,
        None => sql.query(
            "SELECT id FROM context WHERE newest_task IS NOT NULL ORDER BY newest_task DESC LIMIT $1 OFFSET $2",
            &[limit, offset],
        )?,
    };
    rows.iter().map(|row| row.text(0).map(str::to_owned)).collect()
}

/// What these tasks have many of, by task, in stored order.
fn bodies(
    sql: &mut Sql<'_>,
    part: Part,
    tasks: &[i64],
    context: &str,
) -> Result<HashMap<i64, Vec<Box<RawValue>>>, StoreError> {
    let (table, what) = match part {
        Part::Message => ("context_message", "a message"),
        Part::Artifact => ("context_artifact", "an artifact"),
    };
    let mut found: HashMap<i64, Vec<Box<RawValue>>> = HashMap::new();
    for batch in tasks.chunks(BATCH) {
        let values: Vec<SqlValue<'_>> = batch.iter().map(|task| (*task).into()).collect();
        let places = places(values.len());
        let statement =
            format!("SELECT task, body FROM {table} WHERE task IN ({places}) ORDER BY task, number");
        for row in sql.query(&statement, &values)? {
            found.entry(row.int(0)?).or_default().push(json(row.text(1)?, what, context)?);
        }
    }
    Ok(found)
}

/// `$1, $2, …`
fn places(count: usize) -> String {
    (1..=count).map(|place| format!("${place}")).collect::<Vec<_>>().join(", ")
}

/// A limit or an offset of a statement: half of what fits, so that their sum does, and more than there is of anything.
fn bounded(number: Option<u128>) -> i64 {
    const MOST: i64 = i64::MAX / 2;
    number.and_then(|number| i64::try_from(number).ok()).map_or(MOST, |number| number.min(MOST))
}

fn columns(context: &Context) -> Result<[SqlValue<'_>; 7], StoreError> {
    Ok([
        context.id.as_str().into(),
        context.owner.as_deref().into(),
        context.created_at.to_string().into(),
        context.updated_at.to_string().into(),
        context.status.name().into(),
        context.parent.as_deref().into(),
        details(context)?,
    ])
}

fn details(context: &Context) -> Result<SqlValue<'static>, StoreError> {
    let text = serde_json::to_string(&context.details);
    text.map(Into::into).map_err(|_| StoreError::Corrupt(messages::damaged("the description", &context.id)))
}

fn read_context(row: &Row) -> Result<Context, StoreError> {
    let id = row.text(0)?.to_owned();
    let damaged = |what: &str| StoreError::Corrupt(messages::damaged(what, &id));
    let created_at = row.text(2)?.parse().map_err(|_| damaged("the time of creation"))?;
    let updated_at = row.text(3)?.parse().map_err(|_| damaged("the time of the last change"))?;
    let status = ContextStatus::from_name(row.text(4)?).ok_or_else(|| damaged("the status"))?;
    let details: Details = serde_json::from_str(row.text(6)?).map_err(|_| damaged("the description"))?;
    let owner = row.optional_text(1)?.map(str::to_owned);
    let parent = row.optional_text(5)?.map(str::to_owned);
    Ok(Context { id, owner, created_at, updated_at, status, parent, details })
}

fn read_state(name: &str, context: &str) -> Result<A2aTaskState, StoreError> {
    A2aTaskState::from_name(name)
        .ok_or_else(|| StoreError::Corrupt(messages::damaged("the state of a task", context)))
}

fn json(body: &str, what: &str, context: &str) -> Result<Box<RawValue>, StoreError> {
    serde_json::from_str(body).map_err(|_| StoreError::Corrupt(messages::damaged(what, context)))
}
