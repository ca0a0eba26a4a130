//! The context store on Postgres, in a table that is there already (P1, P2).
//!
//! In: a key and a context. Out: one statement on the table `context_store` with the columns `key`, `context_id`, `task_id`
//! and `updated_at`, whatever their exact types; nothing is created and nothing else assumed. One connection, made at the
//! first operation; if the server was stopped and started again since, the next operation makes a new one and is sent once
//! more. Blocking: never to be used on a thread of an asynchronous runtime.

use super::{ContextStore, ContextStoreError, StoredContext};
use crate::{PostgresAddress, PostgresFailure};
use ::postgres::error::SqlState;
use ::postgres::types::ToSql;
use ::postgres::{Client, Error, Row};
use std::fmt;
use std::sync::{Mutex, PoisonError};

const GET: &str = "SELECT context_id, task_id FROM context_store WHERE key = $1";
const SET: &str =
    "INSERT INTO context_store (key, context_id, task_id, updated_at) VALUES ($1, $2, $3, now())
    ON CONFLICT (key) DO UPDATE SET context_id = EXCLUDED.context_id, task_id = EXCLUDED.task_id,
    updated_at = EXCLUDED.updated_at";
const DELETE: &str = "DELETE FROM context_store WHERE key = $1";

/// Contexts in a table of a Postgres database.
pub struct PostgresContextStore {
    address: PostgresAddress,
    client: Mutex<Option<Client>>,
}

impl PostgresContextStore {
    /// A store by a connection string such as `postgres://user:password@host:port/database?sslmode=verify-full`; TLS is as
    /// that of [`Location::Postgres`](crate::Location::Postgres). Nothing is sent yet.
    ///
    /// # Errors
    /// [`ContextStoreError::Unavailable`] for a text that is not a connection string.
    pub fn open(address: &str) -> Result<Self, ContextStoreError> {
        let address = PostgresAddress::parse(address).map_err(ContextStoreError::Unavailable)?;
        Ok(Self { address, client: Mutex::new(None) })
    }

    fn run<T>(&self, statement: impl Fn(&mut Client) -> Result<T, Error>) -> Result<T, ContextStoreError> {
        // a client that somebody left in the middle of a statement was taken out before
        let mut slot = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut client) = slot.take() {
            match statement(&mut client) {
                Err(error) if client.is_closed() || is_gone(&error) => {}
                done => {
                    *slot = Some(client);
                    return done.map_err(|error| failure(&error));
                }
            }
        }
        let mut client = self.address.connect().map_err(|refused| match refused {
            PostgresFailure::Files(why) | PostgresFailure::Tls(why) => ContextStoreError::Unavailable(why),
            PostgresFailure::Postgres(error) => failure(&error),
        })?;
        let done = statement(&mut client);
        *slot = Some(client).filter(|client| !client.is_closed());
        done.map_err(|error| failure(&error))
    }
}

impl ContextStore for PostgresContextStore {
    fn get(&self, key: &str) -> Result<Option<StoredContext>, ContextStoreError> {
        let found = |row: Row| -> Result<StoredContext, Error> {
            Ok(StoredContext { context_id: row.try_get(0)?, task_id: row.try_get(1)? })
        };
        self.run(|client| client.query_opt(GET, &[&key])?.map(found).transpose())
    }

    fn set(&self, key: &str, data: &StoredContext) -> Result<(), ContextStoreError> {
        let values: [&(dyn ToSql + Sync); 3] = [&key, &data.context_id, &data.task_id];
        self.run(|client| client.execute(SET, &values).map(drop))
    }

    fn delete(&self, key: &str) -> Result<(), ContextStoreError> {
        self.run(|client| client.execute(DELETE, &[&key]).map(drop))
    }
}

impl fmt::Debug for PostgresContextStore {
    /// Without the connection string, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresContextStore").finish_non_exhaustive()
    }
}

/// Whether the server says that it ends the session.
fn is_gone(error: &Error) -> bool {
    let ending = [&SqlState::ADMIN_SHUTDOWN, &SqlState::CRASH_SHUTDOWN, &SqlState::CANNOT_CONNECT_NOW];
    error.is_closed() || error.code().is_some_and(|code| ending.contains(&code))
}

/// The code of an error; its text may quote what was sent.
fn failure(error: &Error) -> ContextStoreError {
    match error.code() {
        Some(code) if !is_gone(error) => ContextStoreError::Refused(code.code().to_owned()),
        Some(code) => unavailable(code.code()),
        None => unavailable("the connection failed"),
    }
}

fn unavailable(why: &str) -> ContextStoreError {
    ContextStoreError::Unavailable(why.to_owned())
}
