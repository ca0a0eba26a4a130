//! Faults on demand: how tests see what becomes of a store whose backend fails.
//!
//! In: which access is to fail. Out: that access fails as if the database had. An access is the beginning of a
//! transaction, a statement, or a commit; they are counted from 1 since the last call of [`Faults::plan`]. Without a plan
//! nothing fails, and an access costs an uncontended lock.

use crate::{StoreError, messages};
use std::sync::{Mutex, PoisonError};

/// A plan of faults for tests: the accesses that fail, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultPlan {
    /// Nothing.
    #[default]
    Nothing,
    /// Every access, until there is another plan: the store is down.
    Everything,
    /// The access of this number, before it reaches the database. The next ones succeed.
    Access(u64),
    /// The answer of the commit of this number is lost: it was carried out, and nobody hears of it.
    CommitAnswer(u64),
}

/// The faults of one store. All clones of a [`Database`](super::Database) share them.
///
/// ```
/// use celador_store::{Database, FaultPlan, Faults, Location, StoreError, StoreLimits};
///
/// let database = Database::open(&Location::Memory, &StoreLimits::default())?;
/// let faults: &Faults = database.faults();
///
/// // how often one write reaches the database, so that a test can let each of these accesses fail in turn
/// database.probe()?;
/// for access in 1..=faults.accesses() {
///     faults.plan(FaultPlan::Access(access));
///     assert!(matches!(database.probe(), Err(StoreError::Unavailable(_))));
/// }
///
/// // the write is there, and its writer was not told
/// faults.plan(FaultPlan::CommitAnswer(1));
/// assert_eq!(database.probe(), Err(StoreError::Uncertain));
/// faults.plan(FaultPlan::Nothing);
/// database.probe()?;
/// # Ok::<(), StoreError>(())
/// ```
#[derive(Debug, Default)]
pub struct Faults(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    plan: FaultPlan,
    accesses: u64,
    commits: u64,
}

impl Faults {
    /// Puts a plan in place of the one before and counts anew.
    pub fn plan(&self, plan: FaultPlan) {
        *self.state() = State { plan, ..State::default() };
    }

    /// The accesses since the last plan: how many there are to fail.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.state().accesses
    }

    /// The commits since the last plan.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.state().commits
    }

    /// Counts an access, and fails if it is to.
    pub(super) fn access(&self) -> Result<(), StoreError> {
        let mut state = self.state();
        state.accesses = state.accesses.saturating_add(1);
        let fails = match state.plan {
            FaultPlan::Everything => true,
            FaultPlan::Access(number) => number == state.accesses,
            FaultPlan::Nothing | FaultPlan::CommitAnswer(_) => false,
        };
        if fails { Err(StoreError::Unavailable(messages::INJECTED.into())) } else { Ok(()) }
    }

    /// Counts a commit that was carried out, and fails if nobody is to hear of it.
    pub(super) fn committed(&self) -> Result<(), StoreError> {
        let mut state = self.state();
        state.commits = state.commits.saturating_add(1);
        if state.plan == FaultPlan::CommitAnswer(state.commits) {
            return Err(StoreError::Uncertain);
        }
        Ok(())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // numbers are whole at every moment
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
