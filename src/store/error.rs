//! What a store answers instead of what it was asked for: kinds that callers branch on.
//!
//! In: the failure of a database, or something in it that must not be there. Out: a [`StoreError`] that says what the
//! caller can do about it. It holds codes, ids and places, and never task data.

use crate::messages;
use std::borrow::Cow;

/// Why a store did not do what it was asked for. A clone is cheap: all who wait for one commit get the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database does not answer, or not in time. Nothing was written; the same request may succeed later.
    #[error("{}", messages::unavailable(.0))]
    Unavailable(Cow<'static, str>),
    /// There is no room. Nothing was written; the same request may succeed later.
    #[error("{}", messages::full())]
    Full,
    /// The database went away during a commit: the transaction is stored as a whole or not at all.
    /// To know which, read.
    #[error("{}", messages::uncertain())]
    Uncertain,
    /// Somebody else was first: the task is at another version than was expected. Nothing was written.
    #[error("{}", messages::conflict(*.expected, *.found))]
    Conflict {
        /// The version that the writer knew.
        expected: u64,
        /// The version that the task has.
        found: u64,
    },
    /// The operator's switches were turned since the step was decided: read them, and decide anew. Nothing was written.
    #[error("{}", messages::switches_turned())]
    SwitchesTurned,
    /// A counter was reserved since the step read it: read it, and decide anew. Nothing was written.
    #[error("{}", messages::counters_moved())]
    CountersMoved,
    /// A row of this id exists already. Nothing was written.
    #[error("{}", messages::already_exists())]
    AlreadyExists,
    /// There is no such thing, or it is not the caller's: who asks cannot tell the two apart.
    #[error("{}", messages::not_found())]
    NotFound,
    /// The task was purged: there is nothing of it but a tombstone, and its id is not used again. Nothing was written.
    #[error("{}", messages::purged())]
    Purged,
    /// The task has ended already. Nothing was written.
    #[error("{}", messages::has_ended())]
    HasEnded,
    /// The task waits in the middle of its policy, which is needed to end it. Nothing was written.
    #[error("{}", messages::waits())]
    Waits,
    /// The stored data is damaged: it is not what was written. The text says where. No decision is based on it.
    #[error("{}", messages::corrupt(.0))]
    Corrupt(String),
    /// A connection string, a file of certificates or a TLS handshake is faulty; the text says which.
    /// Nothing was sent.
    #[error("the store cannot be reached: {0}")]
    NotReachable(String),
    /// A later release wrote it.
    #[error("{}", messages::newer_version(*.found, *.known))]
    NewerVersion {
        /// The schema that is there.
        found: u64,
        /// The latest one that is known here.
        known: u64,
    },
    /// A file or database of another program, or one whose beginning is damaged.
    #[error("{}", messages::not_ours())]
    NotOurs,
    /// A value that cannot be stored, and why.
    #[error("{}", messages::not_storable(.0))]
    NotStorable(&'static str),
    /// The database refused a statement, with its own code.
    #[error("{}", messages::refused(.0))]
    Refused(String),
}

impl StoreError {
    /// Whether the same request may succeed later, unchanged.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Full | Self::Uncertain | Self::NotReachable(_))
    }
}
