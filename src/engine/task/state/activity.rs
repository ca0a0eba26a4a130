//! The clock of a task's event subscriptions (SUB): when it last took a step, and how long it ever rested between two.
//!
//! In: the time of each step. Out: whether a subscription that lives so long without activity is still there. One number
//! holds all that have expired: a subscription that the longest rest was too long for has gone, and stays so (SUB-10).
//! What passes during an interruption is no rest, for there is nothing to expire then (SUB-11).

use crate::cel::Timestamp;
use serde::{Deserialize, Serialize};

/// The steps of a task, as far as its subscriptions have to do with them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::task) struct Activity {
    /// When the last step was taken, in nanoseconds since 1970: at first, when the task was created.
    last_step: i128,
    /// The longest rest between two steps, in nanoseconds.
    longest_rest: i128,
    interrupted: bool,
}

impl Activity {
    pub(in crate::task) fn starting(at: Timestamp) -> Self {
        Self { last_step: at.nanos(), longest_rest: 0, interrupted: false }
    }

    /// The task takes a step: the clock begins anew (SUB-07), and what an interruption took is there again (SUB-11).
    pub(in crate::task) fn step(&mut self, now: Timestamp) {
        self.rest_until(now);
        self.interrupted = false;
        self.last_step = self.last_step.max(now.nanos());
    }

    /// When the last step was taken.
    pub(in crate::task) fn last_step(self) -> Option<Timestamp> {
        Timestamp::from_nanos(self.last_step).ok()
    }

    /// All subscriptions go until the next step. Those that had expired by then do not come back with it.
    pub(in crate::task) fn interrupt(&mut self, now: Timestamp) {
        self.rest_until(now);
        self.interrupted = true;
    }

    pub(in crate::task) fn is_interrupted(self) -> bool {
        self.interrupted
    }

    /// Whether a subscription is there that lives so many nanoseconds without activity, or for ever. A rest of just that
    /// length is within (SUB-08).
    pub(in crate::task) fn keeps(mut self, timeout: Option<i64>, now: Timestamp) -> bool {
        self.rest_until(now);
        !self.interrupted && timeout.is_none_or(|timeout| self.longest_rest <= i128::from(timeout))
    }

    /// When a subscription expires if nothing happens any more; nothing if it never does.
    pub(in crate::task) fn ends(self, timeout: Option<i64>) -> Option<Timestamp> {
        Timestamp::from_nanos(self.last_step.saturating_add(i128::from(timeout?))).ok()
    }

    fn rest_until(&mut self, now: Timestamp) {
        if !self.interrupted {
            self.longest_rest = self.longest_rest.max(now.nanos().saturating_sub(self.last_step));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Activity;
    use crate::cel::Timestamp;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_unix(second).unwrap()
    }

    fn keeps(activity: Activity, seconds: i64, now: i64) -> bool {
        activity.keeps(Some(seconds.saturating_mul(1_000_000_000)), at(now))
    }

    #[test]
    fn a_rest_that_was_too_long_is_never_made_good() {
        let mut activity = Activity::starting(at(0));
        assert!(keeps(activity, 10, 10) && !keeps(activity, 10, 11));
        activity.step(at(10));
        assert!(keeps(activity, 10, 20));
        activity.step(at(21));
        assert!(!keeps(activity, 10, 21) && keeps(activity, 11, 21) && activity.keeps(None, at(1000)));
        // a clock that ran backwards takes nothing and gives nothing
        activity.step(at(5));
        assert!(keeps(activity, 11, 32) && !keeps(activity, 11, 33));
    }

    #[test]
    fn an_interruption_takes_all_until_the_next_step_and_is_no_rest() {
        let mut activity = Activity::starting(at(0));
        activity.interrupt(at(10));
        assert!(!keeps(activity, 10, 10) && !activity.keeps(None, at(10)));
        activity.step(at(1000));
        assert!(keeps(activity, 10, 1010) && !keeps(activity, 9, 1000));
    }
}
