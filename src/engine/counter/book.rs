//! Counters in memory, for a host that keeps no store: they last as long as its process.
//!
//! In: what steps do to them. Out: what counts. A host whose tasks run on several threads holds the book from the reading
//! of its counters until the changes are made: then no step is ever decided anew. A book is of one tenant; each has its own.

use super::changes::{CounterChanges, CounterConflict, CounterId, CounterState, CounterStates, Hold};
use super::window::millis;
use crate::cel::Timestamp;
use std::collections::BTreeMap;

/// Counters in memory.
///
/// ```
/// use celador::counter::{Amount, CounterBook, CounterChanges, CounterId, Reservation};
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let later: celador::Timestamp = "2026-06-04T12:00:00Z".parse()?;
///
/// let mails = CounterId::new("acme/mail", "sent", r#""u-7""#);
/// let window = "day".parse()?;
/// let one = |call: &str| {
///     let (counter, call, amount) = (mails.clone(), call.to_owned(), Amount::from_int(1)?.into());
///     Ok::<_, Box<dyn std::error::Error>>(Reservation { counter, window, call, amount })
/// };
/// let mut book = CounterBook::default();
/// let reserve = vec![one("call_1")?, one("call_2")?];
/// book.apply("t-1", &CounterChanges { reserve, ..CounterChanges::default() }, now)?;
/// assert_eq!(book.read(&mails).counted(window, now).to_int(), 2);
///
/// // the task ends, and nobody knows what became of its calls: they count
/// book.apply("t-1", &CounterChanges { all_over: true, ..CounterChanges::default() }, now)?;
/// assert_eq!(book.read(&mails).counted(window, now).to_int(), 2);
///
/// // days later nothing of them counts, and they make room
/// assert_eq!((book.sweep(now), book.sweep(later)), (0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterBook {
    states: CounterStates,
    /// What the calls of each task hold.
    holds: BTreeMap<String, Vec<Hold>>,
    /// When each counter changed last.
    changed: BTreeMap<CounterId, Timestamp>,
}

impl CounterBook {
    /// A counter as it is; of one that nobody has touched, the empty one.
    #[must_use]
    pub fn read(&self, counter: &CounterId) -> CounterState {
        self.states.0.get(counter).cloned().unwrap_or_default()
    }

    /// All counters, in the order of their policies, names and keys.
    pub fn iter(&self) -> impl Iterator<Item = (&CounterId, &CounterState)> {
        self.states.0.iter()
    }

    /// Forgets what was spent of a counter, and returns whether there is such a counter. What calls hold goes on counting. No step
    /// has to be decided anew: it would have seen less, and reserves what it reserves in any case.
    ///
    /// ```
    /// use celador::counter::{Amount, CounterBook, CounterChanges, CounterId, CounterWindow, Reservation};
    /// # let noon: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
    ///
    /// let (spend, window) = (CounterId::new("acme/payments", "spend", ""), CounterWindow::Ever);
    /// let reservation = |call: &str, amount| Ok::<_, Box<dyn std::error::Error>>(Reservation {
    ///     counter: spend.clone(), window, call: call.into(), amount: Amount::from_int(amount)?.into(),
    /// });
    /// let (spent, open) = (vec![reservation("call_1", 40)?], vec![reservation("call_2", 5)?]);
    /// let mut book = CounterBook::default();
    /// book.apply("t-1", &CounterChanges { spend: spent, reserve: open, ..CounterChanges::default() }, noon)?;
    ///
    /// assert!(book.reset(&spend, noon));
    /// let counted: Vec<i64> = book.iter().map(|(_, state)| state.counted(window, noon).to_int()).collect();
    /// assert_eq!(counted, [5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset(&mut self, counter: &CounterId, at: Timestamp) -> bool {
        let Some(state) = self.states.0.get_mut(counter) else { return false };
        state.tally.forget_spent();
        self.changed.insert(counter.clone(), at);
        true
    }

    /// Makes the changes of a step of a task.
    ///
    /// # Errors
    /// [`CounterConflict`], and nothing is changed.
    ///
    /// # Cost
    /// That of [`CounterStates::apply`].
    pub fn apply(
        &mut self,
        task: &str,
        changes: &CounterChanges,
        at: Timestamp,
    ) -> Result<(), CounterConflict> {
        let before = self.holds(task);
        let (touched, holds): (Vec<CounterId>, _) =
            (changes.touches(before).cloned().collect(), changes.holds_after(before));
        self.states.apply(self.holds.get(task).map_or(&[], Vec::as_slice), changes, at)?;
        if holds.is_empty() {
            self.holds.remove(task);
        } else {
            self.holds.insert(task.to_owned(), holds);
        }
        let written = touched.into_iter().filter(|counter| self.states.0.contains_key(counter));
        self.changed.extend(written.map(|counter| (counter, at)));
        Ok(())
    }

    /// What the calls of a task hold.
    #[must_use]
    pub fn holds(&self, task: &str) -> &[Hold] {
        self.holds.get(task).map_or(&[], Vec::as_slice)
    }

    /// Takes away the counters of which nothing counts or is kept any more; how many there were. Linear in all.
    pub fn sweep(&mut self, now: Timestamp) -> usize {
        let before = self.states.0.len();
        let changed = &mut self.changed;
        self.states.0.retain(|counter, state| {
            let last = changed.get(counter).copied().unwrap_or(now);
            let is_kept = state.tally.over_at(state.window, last).is_none_or(|over| over > millis(now));
            if !is_kept {
                changed.remove(counter);
            }
            is_kept
        });
        before.saturating_sub(self.states.0.len())
    }
}
