//! A file of tokens or keys, which is read again when it changes.
//!
//! In: a path, and what reads the text. Out: what the file says, as long as it can be read. Once it is missing or broken,
//! nothing is held any more (or, if the operator wants it, what was held before), and the log and `/readyz` say so.

use crate::error::ServeError;
use crate::messages;
use crate::settings::Unreadable;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tracing::{error, info, warn};

type Read<T> = Box<dyn Fn(&str) -> Result<T, String> + Send + Sync>;

/// How a file stands, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub(crate) enum Standing {
    /// There is no file: callers do not have to authenticate.
    NotRequired,
    /// The file was read and is in force.
    #[serde(rename = "ok")]
    Read,
    /// The file cannot be read; its former content is in force.
    Kept,
    /// The file cannot be read, and all tokens are refused.
    Closed,
}

/// A file and what it said.
pub(super) struct Kept<T> {
    path: PathBuf,
    read: Read<T>,
    unreadable: Unreadable,
    held: RwLock<Held<T>>,
}

struct Held<T> {
    value: Option<Arc<T>>,
    /// The content at the last look: bytes, or the error of the system.
    seen: Result<Vec<u8>, String>,
    standing: Standing,
}

impl<T> Kept<T> {
    /// A file that is there and can be read.
    ///
    /// # Errors
    /// A file that is not.
    pub(super) fn open(
        path: PathBuf,
        unreadable: Unreadable,
        read: impl Fn(&str) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Self, ServeError> {
        let bytes = std::fs::read(&path).map_err(|error| ServeError::unreadable(&path, &error))?;
        let value = parsed(&read, &bytes).map_err(|what| ServeError::file(&path, what))?;
        let held = Held { value: Some(Arc::new(value)), seen: Ok(bytes), standing: Standing::Read };
        Ok(Self { path, read: Box::new(read), unreadable, held: RwLock::new(held) })
    }

    /// What the file says; nothing while it is closed.
    pub(super) fn now(&self) -> Option<Arc<T>> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).value.clone()
    }

    /// How it stands.
    pub(super) fn standing(&self) -> Standing {
        self.held.read().unwrap_or_else(PoisonError::into_inner).standing
    }

    /// Looks at the file, and tells the log if anything is new. The files are small: they are compared, not their times.
    pub(super) fn refresh(&self) {
        let seen = std::fs::read(&self.path).map_err(|error| error.to_string());
        if self.held.read().unwrap_or_else(PoisonError::into_inner).seen == seen {
            return;
        }
        let value = match &seen {
            Ok(bytes) => parsed(&self.read, bytes),
            Err(what) => Err(what.clone()),
        };
        let standing = self.tell(value.as_ref().err().map(String::as_str));
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        held.value = match (value, self.unreadable) {
            (Ok(value), _) => Some(Arc::new(value)),
            (Err(_), Unreadable::Keep) => held.value.take(),
            (Err(_), Unreadable::Close) => None,
        };
        (held.seen, held.standing) = (seen, standing);
    }

    /// How a file stands that was looked at, with what is wrong with it.
    fn tell(&self, wrong: Option<&str>) -> Standing {
        let file = Path::display(&self.path);
        match (wrong, self.unreadable) {
            (None, _) => {
                info!(%file, "tokens or keys were read again");
                Standing::Read
            }
            (Some(why), Unreadable::Keep) => {
                warn!(%file, why, "tokens or keys cannot be read again; those of before are in force");
                Standing::Kept
            }
            (Some(why), Unreadable::Close) => {
                error!(%file, why, "tokens or keys cannot be read again; none of them is accepted");
                Standing::Closed
            }
        }
    }
}

fn parsed<T>(read: &(impl Fn(&str) -> Result<T, String> + ?Sized), bytes: &[u8]) -> Result<T, String> {
    read(std::str::from_utf8(bytes).map_err(|_| messages::not_utf8())?)
}
