//! Counters across tasks, as the steps of a task read them: in turn, from the store, at the moment of the decision.
//!
//! In: an operation that asks for counters. Out: how far it comes with them, and the turns at them, which are kept until the step
//! is stored. A store that cannot be read is a problem: nobody is let through without the counters by which they are judged.

use super::live_tasks::Tasks;
use crate::problem::Problem;
use celador::cel::Timestamp;
use celador::counter::CounterId;
use celador::task::{Progress, Task};
use celador_store::{CounterTurn, Owner};

impl Tasks {
    /// Goes on with an operation until it asks for no counter any more.
    ///
    /// # Cost
    /// Nothing for an operation that asks for no counter; else a row for each counter, and the wait for those who are at one.
    pub(crate) fn counted(
        &self,
        owner: &Owner,
        task: &mut Task,
        progress: Progress,
        now: Timestamp,
    ) -> Result<(Progress, Vec<CounterTurn>), Problem> {
        let mut turns = Vec::new();
        let read = |counters: &[CounterId]| {
            turns.push(self.store.counter_turn(owner, counters));
            self.store.counters(owner, counters)
        };
        let progress = task.settle_counters(progress, read, now).map_err(|error| self.problem(&error))?;
        Ok((progress, turns))
    }
}
