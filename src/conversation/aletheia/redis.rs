//! The context store on Redis, as Aletheia's own library writes it (S1 to S6).
//!
//! In: a key and a context. Out: one `GET`, `SET` or `DEL`, byte for byte. One connection, made at the first operation; if
//! the server was stopped and started again since, the next operation makes a new one and is sent once more: each may be
//! carried out twice without a difference. Never a transaction, never an expiry that is read.

use super::{ContextStore, ContextStoreError, StoredContext};
use ::redis::{Client, Cmd, Connection, ErrorKind, FromRedisValue, RedisError, cmd};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a connection may take to come about, and an answer to come.
const PATIENCE: Duration = Duration::from_secs(5);

/// How keys and values are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisOptions {
    /// What stands before every key; nothing is escaped (S1).
    pub prefix: String,
    /// How long a value is kept, in seconds from its last set; without end if it is 0 or less (S3).
    pub ttl_seconds: i64,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self { prefix: "aletheia:ctx:".to_owned(), ttl_seconds: 3_600 }
    }
}

/// Contexts in a Redis database.
pub struct RedisContextStore {
    client: Client,
    options: RedisOptions,
    connection: Mutex<Option<Connection>>,
}

impl RedisContextStore {
    /// A store at an address such as `redis://127.0.0.1:6379/0`. Nothing is sent yet.
    ///
    /// # Errors
    /// [`ContextStoreError::Unavailable`] for what is no address.
    pub fn open(address: &str, options: RedisOptions) -> Result<Self, ContextStoreError> {
        let client = Client::open(address).map_err(|error| failure(&error))?;
        Ok(Self { client, options, connection: Mutex::new(None) })
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.options.prefix)
    }

    fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, ContextStoreError> {
        // a connection that somebody left in the middle of an answer was taken out before
        let mut slot = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut connection) = slot.take() {
            match command.query(&mut connection) {
                Err(error) if is_gone(&error) => {}
                done => {
                    *slot = Some(connection).filter(|_| is_usable(&done));
                    return done.map_err(|error| failure(&error));
                }
            }
        }
        let mut connection = self.connect().map_err(|error| failure(&error))?;
        let done = command.query(&mut connection);
        *slot = Some(connection).filter(|_| is_usable(&done));
        done.map_err(|error| failure(&error))
    }

    fn connect(&self) -> Result<Connection, RedisError> {
        let connection = self.client.get_connection_with_timeout(PATIENCE)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.set_write_timeout(Some(PATIENCE))?;
        Ok(connection)
    }
}

impl ContextStore for RedisContextStore {
    fn get(&self, key: &str) -> Result<Option<StoredContext>, ContextStoreError> {
        let value: Option<Vec<u8>> = self.run(cmd("GET").arg(self.key(key)))?;
        Ok(value.and_then(|value| StoredContext::from_json(std::str::from_utf8(&value).ok()?)))
    }

    fn set(&self, key: &str, data: &StoredContext) -> Result<(), ContextStoreError> {
        let mut command = cmd("SET");
        command.arg(self.key(key)).arg(data.to_json());
        if self.options.ttl_seconds > 0 {
            command.arg("EX").arg(self.options.ttl_seconds);
        }
        self.run(&command)
    }

    fn delete(&self, key: &str) -> Result<(), ContextStoreError> {
        self.run(cmd("DEL").arg(self.key(key)))
    }
}

impl fmt::Debug for RedisContextStore {
    /// Without the address, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisContextStore").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Whether the connection was closed at the other end.
fn is_gone(error: &RedisError) -> bool {
    !error.is_timeout() && (error.is_connection_dropped() || error.is_unrecoverable_error())
}

/// Whether the connection is as it was before the command.
fn is_usable<T>(done: &Result<T, RedisError>) -> bool {
    done.as_ref().err().is_none_or(|error| !is_gone(error) && !error.is_timeout() && !error.is_io_error())
}

/// The kind or the code of an error; its text may quote what was sent.
fn failure(error: &RedisError) -> ContextStoreError {
    match error.code() {
        Some(code) => ContextStoreError::Refused(code.to_owned()),
        None if error.kind() == ErrorKind::UnexpectedReturnType => {
            ContextStoreError::Refused("an answer of another type".to_owned())
        }
        None => ContextStoreError::Unavailable(error.category().to_owned()),
    }
}
