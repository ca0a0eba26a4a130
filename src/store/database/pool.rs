//! Connections that take turns: as many as are allowed, made when they are needed and kept for the next.
//!
//! In: how to make a connection. Out: one that is free, or an error once the wait is over. A connection that is given
//! back in the middle of a transaction is rolled back first, and let go if that fails.
//!
//! Ours does what `r2d2` cannot. That crate connects on threads of its own and tries again until the wait is over, and an error is a
//! text there: a file that is another program's, or a server that refuses the password, would be a timeout. It cannot let go of
//! all idle connections at once after a server was stopped, but would have to test each with a round trip before it is lent. And
//! of a store in memory there must never be a second connection.

use super::access::Failure;
use super::connection::Connection;
use crate::{StoreError, messages};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

type Connect = dyn Fn() -> Result<Connection, Failure> + Send + Sync;

/// The connections of one store, for one purpose.
pub(super) struct Pool {
    connect: Box<Connect>,
    most: usize,
    wait: Duration,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    /// Those that are lent and those that are idle.
    open: usize,
}

/// A connection that is lent.
pub(super) struct Lent<'p> {
    pool: &'p Pool,
    connection: Option<Connection>,
}

impl Pool {
    pub(super) fn new(
        most: usize,
        wait: Duration,
        connect: impl Fn() -> Result<Connection, Failure> + Send + Sync + 'static,
    ) -> Self {
        let state = Mutex::default();
        Self { connect: Box::new(connect), most: most.max(1), wait, state, freed: Condvar::new() }
    }

    /// Puts a connection in that is there already.
    pub(super) fn with(self, connection: Connection) -> Self {
        let mut state = self.state();
        state.idle.push(connection);
        state.open = state.open.saturating_add(1);
        drop(state);
        self
    }

    /// A free connection; waits if all are lent.
    pub(super) fn lend(&self) -> Result<Lent<'_>, Failure> {
        let full = |state: &mut State| state.idle.is_empty() && state.open >= self.most;
        let waited = self.freed.wait_timeout_while(self.state(), self.wait, full);
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() && full(&mut state) {
            return Err(StoreError::Unavailable(messages::NO_CONNECTION.into()).into());
        }
        if let Some(connection) = state.idle.pop() {
            return Ok(Lent { pool: self, connection: Some(connection) });
        }
        state.open = state.open.saturating_add(1);
        drop(state);
        // from here on the place is given back when `Lent` goes, with a connection or without
        let mut lent = Lent { pool: self, connection: None };
        lent.connection = Some((self.connect)()?);
        Ok(lent)
    }

    /// Lets go of all that are idle: the database they led to is gone.
    pub(super) fn forget_idle(&self) {
        let mut state = self.state();
        let gone = std::mem::take(&mut state.idle);
        state.open = state.open.saturating_sub(gone.len());
        drop(state);
        self.freed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // a list and a number, whole at every moment
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent<'_> {
    /// The connection; none if it was let go.
    pub(super) fn connection(&mut self) -> Result<&mut Connection, Failure> {
        self.connection.as_mut().ok_or_else(|| StoreError::Unavailable(messages::CLOSED.into()).into())
    }

    /// Closes the connection instead of giving it back.
    pub(super) fn let_go(mut self) {
        self.connection = None;
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let good =
            self.connection.take().and_then(|mut connection| connection.roll_back().then_some(connection));
        let mut state = self.pool.state();
        match good {
            Some(connection) => state.idle.push(connection),
            None => state.open = state.open.saturating_sub(1),
        }
        drop(state);
        self.pool.freed.notify_one();
    }
}
