//! Turns at counters: steps of one process that read the same counter go one after the other.
//!
//! In: the counters that a step is about to read. Out: its turn, which lasts until it is let go, once the step is stored. Two
//! steps that read one counter at once cannot both be stored, so the later one would be decided for nothing. A turn decides
//! nothing: other processes have turns of their own, and it is the version of a row that counts. So nobody waits longer for
//! a turn than a step may take, and goes on without it then.

use celador::counter::CounterId;
use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Who has a turn at which counters of which owners. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CounterTurns(Arc<Turns>);

#[derive(Debug, Default)]
struct Turns {
    taken: Mutex<BTreeSet<(String, CounterId)>>,
    freed: Condvar,
}

/// A turn at some counters. It ends when it is dropped.
#[derive(Debug)]
#[must_use = "the turn ends when this is dropped"]
pub struct CounterTurn {
    turns: CounterTurns,
    keys: Vec<(String, CounterId)>,
    came: bool,
}

impl CounterTurn {
    /// Whether the turn came in time. Without it the step may have to be decided anew.
    #[must_use]
    pub fn came(&self) -> bool {
        self.came
    }
}

impl Turns {
    fn taken(&self) -> MutexGuard<'_, BTreeSet<(String, CounterId)>> {
        // a set is whole at every moment
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CounterTurns {
    /// Waits for a turn at all of these counters at once: whoever waits has none, so no two wait for each other. After the
    /// longest wait it is a turn at no counter.
    pub(crate) fn take(&self, owner: &str, counters: &[CounterId], longest: Duration) -> CounterTurn {
        let keys: BTreeSet<_> = counters.iter().map(|counter| (owner.to_owned(), counter.clone())).collect();
        let until = Instant::now().checked_add(longest);
        let mut taken = self.0.taken();
        while !taken.is_disjoint(&keys) {
            let left = until.map_or(longest, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return CounterTurn { turns: self.clone(), keys: Vec::new(), came: false };
            }
            let waited = self.0.freed.wait_timeout(taken, left);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        taken.extend(keys.iter().cloned());
        drop(taken);
        CounterTurn { turns: self.clone(), keys: keys.into_iter().collect(), came: true }
    }
}

impl Drop for CounterTurn {
    fn drop(&mut self) {
        if self.keys.is_empty() {
            return;
        }
        let mut taken = self.turns.0.taken();
        for key in &self.keys {
            taken.remove(key);
        }
        drop(taken);
        self.turns.0.freed.notify_all();
    }
}
