//! Secrets and functions of a program for its policies: the key of `pii.hash`, and functions that expressions call.
//!
//! In: a key, and functions over JSON. Out: documents that an engine is made of. A function is called while its task is held, so it may not ask the engine for anything: that would wait for itself. What it
//! asks all the same is refused by [`refuse_within_function`], which each door of a binding goes through.

use crate::Error;
use celador::cel::{EvalLimits, HostError, HostFunctionSet, Json};
use celador::manifest::Catalog;
use celador::{EngineLimits, HashKey};
use std::cell::Cell;
use std::sync::Arc;

/// The key and the functions of a program, for its policies.
#[derive(Clone, Debug, Default)]
pub struct Host {
    hash_key: Option<HashKey>,
    functions: Arc<HostFunctionSet>,
}

thread_local! {
    /// Whether a function of the host runs on this thread.
    static WITHIN_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// While a function of the host runs on this thread; also when it panics.
struct Within(bool);

impl Within {
    fn function() -> Self {
        Self(WITHIN_FUNCTION.replace(true))
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        WITHIN_FUNCTION.set(self.0);
    }
}

/// Nothing, unless a function of the host runs on this thread.
///
/// # Errors
/// `within_function`: the step that has called the function holds its task until the function has given a value.
pub fn refuse_within_function() -> Result<(), Error> {
    if WITHIN_FUNCTION.get() {
        let message = "a function of the host is pure, and may ask the engine for nothing";
        return Err(Error::misuse("within_function", message));
    }
    Ok(())
}

impl Host {
    /// The same with the key of `pii.hash`, if there is one.
    #[must_use]
    pub fn with_hash_key(self, hash_key: Option<HashKey>) -> Self {
        Self { hash_key, ..self }
    }

    /// The same with a function, whose parameters, result and cost are those that policies declare. One of the same name before gives way.
    #[must_use]
    pub fn with_function(
        mut self,
        name: &str,
        code: impl Fn(&[Json]) -> Result<Json, HostError> + Send + Sync + 'static,
    ) -> Self {
        let limits: EvalLimits = EngineLimits::default().eval;
        Arc::make_mut(&mut self.functions).register_json(name, limits, move |arguments| {
            let _within = Within::function();
            code(arguments)
        });
        self
    }

    /// Whether it has functions.
    pub(crate) fn has_functions(&self) -> bool {
        !self.functions.is_empty()
    }

    /// Documents for an engine of this host.
    pub(crate) fn of(&self, catalog: Catalog) -> Catalog {
        let catalog = catalog.with_host_functions(self.functions.clone());
        match &self.hash_key {
            Some(key) => catalog.with_hash_key(key.clone()),
            None => catalog,
        }
    }

    /// Nothing, unless it has something for policies that a server has.
    ///
    /// # Errors
    /// A key, and functions.
    pub(crate) fn refuse_for_server(&self) -> Result<(), Error> {
        let refused = |message: &'static str| Err(Error::misuse("bad_request", message));
        match self {
            Self { hash_key: Some(_), .. } => {
                refused("a server has a key of its own: `celador serve --hash-key-file`")
            }
            _ if self.has_functions() => {
                refused("a server calls no functions of a host: load the policies in this process")
            }
            _ => Ok(()),
        }
    }

    /// Its parts, for a server in this process.
    #[cfg(feature = "stores")]
    pub(crate) fn into_parts(self) -> (Option<HashKey>, Arc<HostFunctionSet>) {
        (self.hash_key, self.functions)
    }
}
