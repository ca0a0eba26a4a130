//! The context store of Aletheia agents that an operator has named, for requests that want something of it.
//!
//! In: an operation. Out: what it gives. The store may be a server that does not answer, so few requests wait for it at a time;
//! the others are told so and hold no place.

use super::error::ServeError;
use super::problem::{Kind, Problem};
use super::settings::Settings;
use celador_store::Database;
use celador_store::conversation::ContextStore;
use celador_store::conversation::aletheia::ContextStoreError;
use std::sync::atomic::{AtomicUsize, Ordering};
use tracing::{error, warn};

/// Requests that wait for the store at a time. It has one connection, so more of them would only wait longer.
const MOST: usize = 8;

/// The store, and how many requests use it just now.
pub(super) struct AgentContexts {
    store: Box<dyn ContextStore>,
    used: AtomicUsize,
}

impl AgentContexts {
    /// The store that the settings name, if they name one. Nothing is sent to it yet.
    pub(super) fn open(settings: &Settings, database: &Database) -> Result<Option<Self>, ServeError> {
        let Some(place) = &settings.agent_contexts else { return Ok(None) };
        let refused = |error: ContextStoreError| ServeError::setting("aletheia-store", error.to_string());
        Ok(Some(Self { store: place.open(database).map_err(refused)?, used: AtomicUsize::new(0) }))
    }

    /// Carries an operation out.
    ///
    /// # Errors
    /// A store that does not answer or that refuses, and one that enough requests wait for.
    pub(super) fn run<T>(
        &self,
        work: impl FnOnce(&dyn ContextStore) -> Result<T, ContextStoreError>,
    ) -> Result<T, Problem> {
        /// Counts back, also after a panic.
        struct Use<'u>(&'u AtomicUsize);
        impl Drop for Use<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let before = self.used.fetch_add(1, Ordering::Relaxed);
        let _use = Use(&self.used);
        if before >= MOST {
            return Err(Kind::Overloaded.into());
        }
        work(&*self.store).map_err(|failed| match failed {
            ContextStoreError::Refused(_) => {
                error!(error = %failed, "the store of agents' contexts refused");
                Kind::Internal.into()
            }
            _ => {
                warn!(error = %failed, "the store of agents' contexts does not answer");
                Kind::StoreUnavailable.into()
            }
        })
    }
}
