//! Rows of a store that somebody else wrote: a reader is told what was written before, or refused.
//!
//! An input that begins with `{` is a stored task, and each line after the first a change of it, as if whoever wrote them had
//! made the digests fit. Any other input writes over one column of one row: a byte each for the column, the row and how.

use super::DESK;
use celador::limits::EngineLimits;
use celador::scenario::{Replay, Script};
use celador::source::Source;
use celador::task::{SavedTask, TaskChange};
use celador_store::{
    Database, Location, NewEvent, OperationKind, Owner, SqlValue, StoreError, StoreLimits, StoredTasks,
};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Reads the bytes as a stored task, or writes them over a row of a store and reads the store.
pub fn stored(data: &[u8]) {
    if data.starts_with(b"{") { forged(data) } else { overwritten(data) }
}

fn forged(data: &[u8]) {
    let mut lines = data.split(|&byte| byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let Ok(mut saved) = serde_json::from_slice::<SavedTask>(first) else { return };
    for line in lines {
        let Ok(change) = serde_json::from_slice::<TaskChange>(line) else { return };
        let Ok(changed) = saved.apply(change) else { return };
        saved = changed;
    }
    let Ok(mut task) = DESK.engine.restore(saved) else { return };
    let again = DESK.engine.restore(task.save()).expect("what was restored can be restored");
    assert_eq!(again.state(), task.state());
    let _ = task.context_json();
    let _ = task.interrupt(DESK.task.context().started_at());
}

/// A store, and everything that it says while it is whole.
struct Kept {
    database: Database,
    store: StoredTasks,
    columns: Vec<Column>,
    told: Told,
}

/// Who owns a task of the store, and the recorded task that it is.
const OWNERS: [(&str, &str); 2] = [
    ("desk", include_str!("../policies/support-desk/task.yaml")),
    ("coder", include_str!("../policies/coding-agent/task.yaml")),
];

/// A column of a table of tasks.
struct Column {
    table: String,
    name: String,
}

/// What a store says of its tasks: a line for each thing that a reader may ask for.
type Told = Vec<String>;

static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(|| {
    let database = Database::open(&Location::Memory, &StoreLimits::default()).expect("a store opens");
    // few steps to a snapshot, so that there is one
    let limits = StoreLimits { max_events_to_replay: 4, ..StoreLimits::default() };
    let store = StoredTasks::new(database.clone(), &limits);
    for (owner, recorded) in OWNERS {
        fill(&store, owner, recorded);
    }
    let columns = database.read(columns).expect("a schema can be read");
    let told = told(&store).expect("what was just written is read");
    Mutex::new(Kept { database, store, columns, told })
});

/// Stores a recorded task step by step.
fn fill(store: &StoredTasks, owner: &str, recorded: &str) {
    let script =
        Script::read(&Source::new("seed.yaml", recorded), &EngineLimits::default()).expect("it is a script");
    let mut replay = Replay::start(&script, &DESK.engine, &DESK.catalog).expect("its agent is there");
    let at = replay.task().context().started_at();
    let mut head =
        store.create(&Owner::caller(owner), replay.task(), at, None).expect("the store takes a task");
    for step in &script.steps {
        let before = replay.task().mark();
        let mut events = Vec::new();
        replay.step(step, &[], &mut events).expect("it is a step");
        let decision = events.last().map(|event| &event.decision);
        let (operation, task) = (OperationKind::Input, replay.task());
        let step = NewEvent { operation, at, task, before: &before, decision, once: None };
        head = store.append(&head, &step).expect("the store takes a step");
    }
}

fn columns(sql: &mut celador_store::Sql<'_>) -> Result<Vec<Column>, StoreError> {
    let statement = "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c \
                     WHERE t.type = 'table' AND t.name LIKE 'task%' ORDER BY 1, 2";
    let column = |row: &celador_store::Row| {
        Ok(Column { table: row.text(0)?.to_owned(), name: row.text(1)?.to_owned() })
    };
    sql.query(statement, &[])?.iter().map(column).collect()
}

fn told(store: &StoredTasks) -> Result<Told, StoreError> {
    let mut told = Vec::new();
    for owner in OWNERS.map(|(owner, _)| Owner::caller(owner)) {
        for row in store.tasks(&owner, None, 100)? {
            told.push(format!("{row:?}"));
            told.push(serde_json::to_string(&store.load(&owner, &row.id)?.saved).unwrap_or_default());
            told.extend(store.events(&owner, &row.id, 0, 100)?.iter().map(|event| format!("{event:?}")));
        }
    }
    Ok(told)
}

fn overwritten(data: &[u8]) {
    let Some((&[column, row, how], text)) = data.split_first_chunk::<3>() else { return };
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let Kept { database, store, columns, told: before } = &*kept;
    let Some(Column { table, name }) = columns.get(usize::from(column) % columns.len()) else { return };
    let text = String::from_utf8_lossy(text).replace('\0', "");
    let text = text.as_str();
    let row = u64::from(row % 16);
    // a copy of the row goes back when the store has been read
    let statements = [
        format!("CREATE TEMP TABLE kept_row AS SELECT rowid AS row, * FROM {table} LIMIT 1 OFFSET {row}"),
        match how % 3 {
            0 => format!("UPDATE {table} SET {name} = $1 WHERE rowid = (SELECT row FROM kept_row)"),
            1 => format!("UPDATE {table} SET {name} = {name} || $1 WHERE rowid = (SELECT row FROM kept_row)"),
            _ => format!(
                "UPDATE {table} SET {name} = {name} + length($1) WHERE rowid = (SELECT row FROM kept_row)"
            ),
        },
    ];
    let value: [SqlValue<'_>; 1] = [text.into()];
    let wrote = database.write(|sql| {
        sql.execute(&statements[0], &[])?;
        sql.execute(&statements[1], &value)
    });
    if wrote.is_err() {
        // the database itself refused, and nothing is there
        return;
    }
    match told(store) {
        Ok(now) => assert_eq!(&now, before, "{table}.{name} was written over, and something else was read"),
        Err(error) => assert!(
            matches!(error, StoreError::Corrupt(_) | StoreError::NotFound),
            "{table}.{name} was written over: {error:?}"
        ),
    }
    let back = format!(
        "UPDATE {table} SET {name} = (SELECT {name} FROM kept_row) WHERE rowid = (SELECT row FROM kept_row)"
    );
    let undone = database.write(|sql| {
        sql.execute(&back, &[])?;
        sql.execute("DROP TABLE kept_row", &[])
    });
    undone.expect("a row can be put back");
}
