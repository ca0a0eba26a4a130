//! What a transaction is for, and why a connection did not do what it was told.

use crate::StoreError;

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// It reads one state of the whole store.
    Read,
    /// It writes as if no other transaction ran beside it.
    Write,
    /// It writes rows, each of which it tests in the statement that changes it: nothing else that it reads counts.
    WriteRows,
}

/// Why a connection did not do what it was told.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) error: StoreError,
    /// Another transaction was in the way: the same one may succeed when tried again.
    pub(super) again: bool,
    /// The connection is of no use any more.
    pub(super) closed: bool,
}

impl Failure {
    pub(super) fn of(error: StoreError) -> Self {
        Self { error, again: false, closed: false }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::of(error)
    }
}
