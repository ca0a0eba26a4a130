//! The schema of a store and how it came about: numbered texts, each run once, in one transaction.
//!
//! In: a connection. Out: the same with the schema of this release, or a refusal: of a store that a later release wrote,
//! and of one whose definitions are not those that were made. One text serves both databases: `TEXT` and `BIGINT` are all
//! there is, and for Postgres a `TEXT` column is one that is ordered by its bytes, as SQLite has it.
//! A text that was released never changes; what must differ is the next number.

use super::access::{Access, Failure};
use super::connection::Connection;
use crate::row_digest::digest;
use crate::{StoreError, messages};

/// One step from a schema to the next.
struct Migration {
    name: &'static str,
    statements: &'static str,
}

/// All steps; the number of each is its position, from 1.
const MIGRATIONS: &[Migration] = &[Migration { name: "first", statements: include_str!("0001-first.sql") }];

/// What a file of SQLite holds after all of them: the name and the text of each definition, in the order of the names. A test makes
/// them from the steps. A store that is opened is compared with this text, so that no second one is made each time.
const DEFINITIONS: &str = include_str!("definitions.sql");

/// Where it stands which of them were taken.
const TAKEN: &str = "CREATE TABLE celador_schema (
    number BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    digest TEXT NOT NULL
)";

/// The version of the schema that this release writes.
pub(super) fn known() -> u64 {
    MIGRATIONS.len() as u64
}

/// Brings a database up to date, and looks whether it is as it was made.
pub(super) fn run(connection: &mut Connection) -> Result<(), Failure> {
    while step(connection)? {}
    let found = connection.definitions()?;
    if found.is_empty() {
        return Ok(());
    }
    let is_there =
        |name: &str, text: &str| found.iter().any(|row| row.text(0) == Ok(name) && row.text(1) == Ok(text));
    match definitions().find(|(name, text)| !is_there(name, text)) {
        Some((name, _)) => Err(StoreError::Corrupt(messages::altered_schema(name)).into()),
        None => Ok(()),
    }
}

/// Names and texts of [`DEFINITIONS`].
fn definitions() -> impl Iterator<Item = (&'static str, &'static str)> {
    let parts = DEFINITIONS.split(NAME).skip(1);
    parts.filter_map(|part| part.split_once('\n')).map(|(name, text)| (name, text.trim_end_matches(END)))
}

/// What stands ahead of a name, and behind a text.
const NAME: &str = "-- definition of ";
const END: &str = ";\n";

/// Takes the next step; whether there was one.
fn step(connection: &mut Connection) -> Result<bool, Failure> {
    connection.begin(Access::WriteRows)?;
    let stepped = next(connection).and_then(|stepped| connection.commit().map(|()| stepped));
    if stepped.is_err() {
        connection.roll_back();
    }
    stepped
}

fn next(connection: &mut Connection) -> Result<bool, Failure> {
    connection.lock_schema()?;
    let taken = if connection.has_table("celador_schema")? {
        connection.query("SELECT name, digest FROM celador_schema ORDER BY number", &[])?
    } else {
        connection.define(&in_dialect(connection, TAKEN))?;
        Vec::new()
    };
    if taken.len() > MIGRATIONS.len() {
        return Err(StoreError::NewerVersion { found: taken.len() as u64, known: known() }.into());
    }
    for (row, migration) in taken.iter().zip(MIGRATIONS) {
        if (row.text(0)?, row.text(1)?) != (migration.name, &*digest(&[migration.statements])) {
            return Err(StoreError::Corrupt(messages::altered_schema(migration.name)).into());
        }
    }
    let Some(migration) = MIGRATIONS.get(taken.len()) else { return Ok(false) };
    connection.define(&in_dialect(connection, migration.statements))?;
    let number = (taken.len() as u64).saturating_add(1);
    let digest = digest(&[migration.statements]);
    connection.execute(
        "INSERT INTO celador_schema (number, name, digest) VALUES ($1, $2, $3)",
        &[number.into(), migration.name.into(), digest.into()],
    )?;
    Ok(true)
}

fn in_dialect(connection: &Connection, statements: &str) -> String {
    match connection {
        Connection::Sqlite(_) => statements.to_owned(),
        Connection::Postgres(_) => statements.replace(" TEXT", " TEXT COLLATE \"C\""),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sqlite::SqliteConnection;
    use super::{Connection, DEFINITIONS, END, NAME, definitions, step};
    use std::fmt::Write as _;

    /// The text is what the steps make. With `UPDATE_EXPECT=1` it is written anew.
    #[test]
    fn the_steps_make_the_definitions() {
        let mut made = Connection::Sqlite(
            SqliteConnection::in_memory().unwrap_or_else(|failure| panic!("{}", failure.error)),
        );
        while step(&mut made).unwrap_or_else(|failure| panic!("{}", failure.error)) {}
        let rows = made.definitions().unwrap_or_else(|failure| panic!("{}", failure.error));
        let mut text = String::new();
        for row in &rows {
            write!(text, "{NAME}{}\n{}{END}", row.text(0).unwrap(), row.text(1).unwrap()).unwrap();
        }
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/database/migrations/definitions.sql");
            std::fs::write(path, &text).unwrap();
            return;
        }
        assert_eq!(text, DEFINITIONS);
        let read: Vec<_> = definitions().collect();
        let expected: Vec<_> = rows.iter().map(|row| (row.text(0).unwrap(), row.text(1).unwrap())).collect();
        assert_eq!(read, expected);
        assert!(read.len() > 20);
    }
}
