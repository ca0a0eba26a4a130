//! Where an Aletheia agent keeps which context and task it is in: a store of keys with three operations (section 7).
//!
//! In: a key and a [`StoredContext`]. Out: what was set last under the key, or nothing. Three stores have the contract:
//! Redis as the agents' own library writes it, byte for byte; Postgres in a table that is there; and the embedded
//! database. Exactly one command per operation, no transaction: the last writer wins. Everything blocks.

mod embedded;
mod postgres;
mod redis;

pub use self::embedded::EmbeddedContextStore;
pub use self::postgres::PostgresContextStore;
pub use self::redis::{RedisContextStore, RedisOptions, RedisTls};

use super::members::Members;
use super::messages;
use crate::Database;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt;

/// The value that is kept under a key. A value without ids is still a value, not an absence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AgentContext"))]
pub struct StoredContext {
    /// The context that the agent is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// The task that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
}

/// Why a store did not do what it was asked for. No key and no value is in the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContextStoreError {
    /// The server cannot be reached, or the connection broke; the text says of which kind the failure was.
    #[error("the context store is not available: {0}")]
    Unavailable(String),
    /// The server answered with an error, such as `WRONGTYPE`; the text is its code.
    #[error("the context store refused: {0}")]
    Refused(String),
}

/// A store of contexts by key.
///
/// ```
/// use celador_store::conversation::aletheia::{ContextStore, EmbeddedContextStore, StoredContext};
/// use celador_store::{Database, Location, StoreLimits};
///
/// // an agent is given one of the three stores, and goes on in the context that it was in
/// fn resume(store: &dyn ContextStore, session: &str) -> StoredContext {
///     store.get(session).ok().flatten().unwrap_or_default()
/// }
///
/// let database = Database::open(&Location::Memory, &StoreLimits::default())?;
/// let store = EmbeddedContextStore::new(database);
/// let present = StoredContext { context_id: Some("c-1".into()), task_id: None };
/// store.set("session-7", &present)?;
/// assert_eq!(resume(&store, "session-7"), present);
///
/// // the next value replaces the whole of the one before
/// store.set("session-7", &StoredContext { context_id: None, task_id: Some("t-9".into()) })?;
/// assert_eq!(resume(&store, "session-7").to_json(), r#"{"taskId":"t-9"}"#);
/// store.delete("session-7")?;
/// assert_eq!(store.get("session-7")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ContextStore: Send + Sync {
    /// What was set last under the key. What cannot be read as a context is nothing (S4, S5).
    ///
    /// # Errors
    /// Those of the server.
    fn get(&self, key: &str) -> Result<Option<StoredContext>, ContextStoreError>;

    /// Puts the whole value in the place of what was there (S2, S3, P1).
    ///
    /// # Errors
    /// Those of the server.
    fn set(&self, key: &str, data: &StoredContext) -> Result<(), ContextStoreError>;

    /// Removes the key, if it is there (S6, P1).
    ///
    /// # Errors
    /// Those of the server.
    fn delete(&self, key: &str) -> Result<(), ContextStoreError>;
}

/// The store that an operator names, and the way to open it.
///
/// ```
/// use celador_store::conversation::aletheia::{ContextPlace, RedisOptions};
/// use celador_store::conversation::{ContextStore, StoredContext};
/// use celador_store::{Database, Location, StoreLimits};
///
/// let database = Database::open(&Location::Memory, &StoreLimits::default())?;
/// let place = ContextPlace { store: "embedded".to_owned(), redis: RedisOptions::default() };
/// let store: Box<dyn ContextStore> = place.open(&database)?;
/// let kept = StoredContext { context_id: Some("c1".to_owned()), task_id: None };
/// store.set("did:web:a", &kept)?;
/// assert_eq!(store.get("did:web:a")?, Some(kept));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ContextPlace {
    /// `embedded` for the database that a program has open, or an address: `redis://…`, `rediss://…`, `postgres://…`.
    pub store: String,
    /// How Redis keeps values.
    pub redis: RedisOptions,
}

impl ContextPlace {
    /// The store. Nothing is sent yet.
    ///
    /// # Errors
    /// [`ContextStoreError::Unavailable`] for a text that names no store. It quotes no address, which may hold a password.
    pub fn open(&self, database: &Database) -> Result<Box<dyn ContextStore>, ContextStoreError> {
        let Self { store, redis } = self;
        match store.split(':').next().unwrap_or_default() {
            "embedded" => Ok(Box::new(EmbeddedContextStore::new(database.clone()))),
            "redis" | "rediss" => Ok(Box::new(RedisContextStore::open(store, redis.clone())?)),
            "postgres" | "postgresql" => Ok(Box::new(PostgresContextStore::open(store)?)),
            _ => Err(ContextStoreError::Unavailable(messages::NO_CONTEXT_STORE.to_owned())),
        }
    }
}

impl fmt::Debug for ContextPlace {
    /// Without the address, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextPlace").field("redis", &self.redis).finish_non_exhaustive()
    }
}

impl StoredContext {
    /// The JSON of S2: compact, `contextId` first, unset members left out.
    #[must_use]
    pub fn to_json(&self) -> String {
        // two optional strings always have a text
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a stored value, with members in any order, white space and further members; a member that is not a string is unset (S4). A text that
    /// is not a JSON object gives `None` (S5).
    #[must_use]
    pub fn from_json(text: &str) -> Option<Self> {
        let value: &RawValue = serde_json::from_str(text).ok()?;
        let members = Members::of(value)?;
        Some(Self { context_id: members.text("contextId"), task_id: members.text("taskId") })
    }
}
