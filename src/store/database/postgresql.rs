//! Postgres: one state for many server processes.
//!
//! In: a connection string. Out: a connection whose commits are on disk when they return (`synchronous_commit`), whose
//! statements end in bounded time, and which remembers the statements that it has prepared. Blocking: never to be used
//! on a thread of an asynchronous runtime. Whether it is encrypted, and with whom, is said in the string.

use super::access::{Access, Failure};
use super::{PostgresAddress, PostgresFailure, Row, SqlValue};
use crate::{StoreError, messages};
use postgres::error::SqlState;
use postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use postgres::{Client, Statement};
use std::collections::HashMap;
use std::error::Error;

/// What every session is set to.
const SESSION: &str = "SET synchronous_commit = on; SET statement_timeout = '30s'; SET lock_timeout = '10s'; \
                       SET idle_in_transaction_session_timeout = '60s'; SET client_min_messages = error";

/// Prepared statements that one connection keeps.
const PREPARED: usize = 256;

/// The lock under which the schema changes: `CELA`.
const SCHEMA_LOCK: &str = "SELECT pg_advisory_xact_lock(1128614977)";

/// A connection.
pub(super) struct PostgresConnection {
    client: Client,
    prepared: HashMap<String, Statement>,
    in_transaction: bool,
}

impl PostgresConnection {
    pub(super) fn connect(address: &str) -> Result<Self, Failure> {
        let address = PostgresAddress::parse(address).map_err(StoreError::NotReachable)?;
        let mut client = address.connect().map_err(|refused| match refused {
            PostgresFailure::Files(why) | PostgresFailure::Tls(why) => {
                Failure::of(StoreError::NotReachable(why))
            }
            PostgresFailure::Postgres(error) => failure(error),
        })?;
        client.batch_execute(SESSION).map_err(failure)?;
        Ok(Self { client, prepared: HashMap::new(), in_transaction: false })
    }

    pub(super) fn begin(&mut self, access: Access) -> Result<(), Failure> {
        self.define(match access {
            Access::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Access::Write => "BEGIN ISOLATION LEVEL SERIALIZABLE",
            Access::WriteRows => "BEGIN ISOLATION LEVEL READ COMMITTED",
        })?;
        self.in_transaction = true;
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Result<(), Failure> {
        self.define("COMMIT").map_err(|failed| {
            if failed.closed { Failure { error: StoreError::Uncertain, ..failed } } else { failed }
        })?;
        self.in_transaction = false;
        Ok(())
    }

    pub(super) fn roll_back(&mut self) -> bool {
        self.in_transaction = self.in_transaction && self.client.batch_execute("ROLLBACK").is_err();
        !self.in_transaction && !self.client.is_closed()
    }

    pub(super) fn execute(&mut self, statement: &str, values: &[SqlValue<'_>]) -> Result<u64, Failure> {
        let prepared = self.prepare(statement)?;
        self.client.execute(&prepared, &parameters(values)).map_err(failure)
    }

    pub(super) fn query(&mut self, statement: &str, values: &[SqlValue<'_>]) -> Result<Vec<Row>, Failure> {
        let prepared = self.prepare(statement)?;
        let rows = self.client.query(&prepared, &parameters(values)).map_err(failure)?;
        rows.iter().map(row).collect()
    }

    fn prepare(&mut self, statement: &str) -> Result<Statement, Failure> {
        if let Some(prepared) = self.prepared.get(statement) {
            return Ok(prepared.clone());
        }
        let prepared = self.client.prepare(statement).map_err(failure)?;
        if self.prepared.len() >= PREPARED {
            self.prepared.clear();
        }
        self.prepared.insert(statement.to_owned(), prepared.clone());
        Ok(prepared)
    }

    pub(super) fn define(&mut self, statements: &str) -> Result<(), Failure> {
        self.client.batch_execute(statements).map_err(failure)
    }

    pub(super) fn lock_schema(&mut self) -> Result<(), Failure> {
        self.client.batch_execute(SCHEMA_LOCK).map_err(failure)
    }
}

fn parameters<'p>(values: &'p [SqlValue<'_>]) -> Vec<&'p (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) if *column == Type::INT8 => number.to_sql(column, out),
            Self::Int(number) if *column == Type::INT4 => i32::try_from(*number)?.to_sql(column, out),
            Self::Text(text) if <&str as ToSql>::accepts(column) => text.as_ref().to_sql(column, out),
            Self::Int(_) | Self::Text(_) => Err("the parameter is of another type".into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn row(row: &postgres::Row) -> Result<Row, Failure> {
    let cells = row.columns().iter().enumerate().map(|(index, column)| {
        let corrupt = |_| Failure::of(StoreError::Corrupt(messages::column(index)));
        Ok(match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(index).map_err(corrupt)?.into(),
            Type::INT4 => row.try_get::<_, Option<i32>>(index).map_err(corrupt)?.map(i64::from).into(),
            _ => row.try_get::<_, Option<String>>(index).map_err(corrupt)?.into(),
        })
    });
    Ok(Row(cells.collect::<Result<_, Failure>>()?))
}

/// What a failure of Postgres means. Of its message nothing is kept: it may quote what was to be stored.
#[expect(clippy::needless_pass_by_value, reason = "it stands where an error is turned into another")]
fn failure(error: postgres::Error) -> Failure {
    let Some(state) = error.code() else {
        // no answer of the database, but of the way there
        let closed =
            Failure { closed: true, ..Failure::of(StoreError::Unavailable(messages::CLOSED.into())) };
        let unsent =
            !error.is_closed() && error.source().is_some_and(|source| !source.is::<std::io::Error>());
        let refused = || Failure::of(StoreError::Refused("parameter".to_owned()));
        return if unsent { Failure { closed: true, ..refused() } } else { closed };
    };
    let unavailable = || StoreError::Unavailable(state.code().to_owned().into());
    if [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(state) {
        return Failure { again: true, ..Failure::of(StoreError::Unavailable(messages::BUSY.into())) };
    }
    if [SqlState::DISK_FULL, SqlState::OUT_OF_MEMORY].contains(state) {
        return StoreError::Full.into();
    }
    match state.code().get(..2) {
        // the server goes down or comes up, or the connection broke
        Some("57" | "08") if *state != SqlState::QUERY_CANCELED => {
            Failure { closed: true, ..Failure::of(unavailable()) }
        }
        // too many connections, time is over, files that cannot be written
        Some("53" | "55" | "57" | "58") => unavailable().into(),
        Some("23") => StoreError::AlreadyExists.into(),
        Some("54") => StoreError::NotStorable(messages::TOO_LONG).into(),
        Some("XX") => StoreError::Corrupt(messages::refused(state.code())).into(),
        _ => StoreError::Refused(state.code().to_owned()).into(),
    }
}
