//! One connection to a database, SQLite or Postgres: the only place that tells the two apart.
//!
//! In: the beginning and the end of a transaction, and statements with `$1` for their parameters. Out: rows, or a
//! [`Failure`] that says whether the transaction may be tried again and whether the connection is still good.

use super::access::{Access, Failure};
use super::postgresql::PostgresConnection;
use super::sqlite::SqliteConnection;
use super::{Row, SqlValue};

/// A connection.
pub(super) enum Connection {
    Sqlite(SqliteConnection),
    Postgres(Box<PostgresConnection>),
}

impl Connection {
    pub(super) fn begin(&mut self, access: Access) -> Result<(), Failure> {
        match self {
            Self::Sqlite(connection) => connection.begin(access),
            Self::Postgres(connection) => connection.begin(access),
        }
    }

    /// Makes all that was written durable. The error [`StoreError::Uncertain`](crate::StoreError::Uncertain) leaves open whether that happened.
    pub(super) fn commit(&mut self) -> Result<(), Failure> {
        match self {
            Self::Sqlite(connection) => connection.commit(),
            Self::Postgres(connection) => connection.commit(),
        }
    }

    /// Takes back what was written; whether the connection is good for another transaction.
    pub(super) fn roll_back(&mut self) -> bool {
        match self {
            Self::Sqlite(connection) => connection.roll_back(),
            Self::Postgres(connection) => connection.roll_back(),
        }
    }

    /// The rows that a statement changed.
    pub(super) fn execute(&mut self, statement: &str, values: &[SqlValue<'_>]) -> Result<u64, Failure> {
        match self {
            Self::Sqlite(connection) => connection.execute(statement, values),
            Self::Postgres(connection) => connection.execute(statement, values),
        }
    }

    /// The rows that a statement gives.
    pub(super) fn query(&mut self, statement: &str, values: &[SqlValue<'_>]) -> Result<Vec<Row>, Failure> {
        match self {
            Self::Sqlite(connection) => connection.query(statement, values),
            Self::Postgres(connection) => connection.query(statement, values),
        }
    }

    /// Several statements without parameters, of a migration.
    pub(super) fn define(&mut self, statements: &str) -> Result<(), Failure> {
        match self {
            Self::Sqlite(connection) => connection.define(statements),
            Self::Postgres(connection) => connection.define(statements),
        }
    }

    /// Keeps every other process from changing the schema until the transaction ends.
    pub(super) fn lock_schema(&mut self) -> Result<(), Failure> {
        match self {
            // its writing transactions come one after the other
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(connection) => connection.lock_schema(),
        }
    }

    /// Whether a table is there.
    pub(super) fn has_table(&mut self, name: &str) -> Result<bool, Failure> {
        let statement = match self {
            Self::Sqlite(_) => "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = $1",
            Self::Postgres(_) => "SELECT count(*) FROM pg_class WHERE oid = to_regclass($1)",
        };
        let rows = self.query(statement, &[name.into()])?;
        Ok(rows.first().is_some_and(|row| row.int(0) != Ok(0)))
    }

    /// The definitions of all tables and indexes by name, as the database keeps them; none where it keeps no texts.
    pub(super) fn definitions(&mut self) -> Result<Vec<Row>, Failure> {
        match self {
            Self::Sqlite(_) => self.query(
                "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name",
                &[],
            ),
            Self::Postgres(_) => Ok(Vec::new()),
        }
    }

    /// The database's own check of its pages and indexes. Linear in all that is stored.
    pub(super) fn check(&mut self) -> Result<bool, Failure> {
        match self {
            Self::Sqlite(connection) => connection.check(),
            // it has checksums of its pages if its cluster was made with them
            Self::Postgres(_) => Ok(true),
        }
    }
}
