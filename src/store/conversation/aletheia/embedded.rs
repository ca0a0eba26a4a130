//! The context store in the database of the tasks: for agents that have no server beside them.
//!
//! In: a key and a context. Out: a row of a table of its own, under the rules of the Postgres store (P1, P2): no prefix,
//! no expiry.

use super::{ContextStore, ContextStoreError, StoredContext};
use crate::{Database, StoreError};

/// Contexts in an open [`Database`].
#[derive(Clone, Debug)]
pub struct EmbeddedContextStore {
    database: Database,
}

impl EmbeddedContextStore {
    /// Over a database that is open.
    #[must_use]
    pub fn new(database: Database) -> Self {
        Self { database }
    }
}

impl ContextStore for EmbeddedContextStore {
    fn get(&self, key: &str) -> Result<Option<StoredContext>, ContextStoreError> {
        let row = self.database.read(|sql| {
            sql.query_one("SELECT context_id, task_id FROM aletheia_context WHERE key = $1", &[key.into()])
        });
        let found = row.and_then(|row| {
            let Some(row) = row else { return Ok(None) };
            let text = |column| row.optional_text(column).map(|text| text.map(str::to_owned));
            Ok(Some(StoredContext { context_id: text(0)?, task_id: text(1)? }))
        });
        found.map_err(failure)
    }

    fn set(&self, key: &str, data: &StoredContext) -> Result<(), ContextStoreError> {
        let values = [key.into(), data.context_id.as_deref().into(), data.task_id.as_deref().into()];
        let done = self.database.write_rows(|sql| {
            sql.execute(
                "INSERT INTO aletheia_context (key, context_id, task_id, updated_at)
                 VALUES ($1, $2, $3, CAST(CURRENT_TIMESTAMP AS TEXT))
                 ON CONFLICT (key) DO UPDATE SET context_id = EXCLUDED.context_id, task_id = EXCLUDED.task_id,
                 updated_at = EXCLUDED.updated_at",
                &values,
            )
        });
        done.map(drop).map_err(failure)
    }

    fn delete(&self, key: &str) -> Result<(), ContextStoreError> {
        let done = self
            .database
            .write_rows(|sql| sql.execute("DELETE FROM aletheia_context WHERE key = $1", &[key.into()]));
        done.map(drop).map_err(failure)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it stands where an error is turned into another")]
fn failure(error: StoreError) -> ContextStoreError {
    match error {
        StoreError::NotStorable(_) | StoreError::Refused(_) => ContextStoreError::Refused(error.to_string()),
        _ => ContextStoreError::Unavailable(error.to_string()),
    }
}
