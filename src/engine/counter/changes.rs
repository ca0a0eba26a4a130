//! What a step does to counters, and what becomes of them: one function of data, [`CounterStates::apply`].
//!
//! In: the states of the counters that the step touches, what the calls of its task hold, and the changes. Out: states and
//! holds after it; or [`CounterConflict`] and nothing changed. Reservations alone raise a counter's version: a step that has
//! read it meanwhile is decided anew. Spending what is held changes nothing that anybody reads, and what is given back may
//! as well have been given back a moment later, so neither disturbs anybody.

use super::tally::Tally;
use super::window::CounterWindow;
use crate::amount::{Amount, Decimal};
use crate::cel::{Json, Timestamp};
use crate::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The longest key that stands for itself, in bytes; of a longer one its digest does.
const LONGEST_KEY: usize = 256;

/// One counter: that of a policy, under its name there, for one value of its key.
///
/// ```
/// use celador::Json;
/// use celador::counter::CounterId;
///
/// let kim = CounterId::keyed("acme/payments-baseline", "spend", &Json::string("u-7"));
/// assert_eq!((kim.policy(), kim.name(), kim.key()), ("acme/payments-baseline", "spend", r#""u-7""#));
/// assert_eq!(kim.to_string(), r#"acme/payments-baseline#spend "u-7""#);
///
/// // a number is not the text of its digits, and a long key goes by its digest
/// let number = serde_json::json!(7).into();
/// assert_ne!(CounterId::keyed("p", "n", &number), CounterId::keyed("p", "n", &Json::string("7")));
/// assert!(CounterId::keyed("p", "n", &Json::string(&"x".repeat(1_000))).key().starts_with("sha256:"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CounterId {
    policy: String,
    name: String,
    key: String,
}

/// A counter that a decision has read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterRead {
    /// The counter.
    pub counter: CounterId,
    /// The version that it had: [`CounterState::version`].
    pub version: u64,
}

/// An amount that a call holds from its decision on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// Of this counter.
    pub counter: CounterId,
    /// The counter's window, as its policy has it now.
    pub window: CounterWindow,
    /// The call, by its id in its task.
    pub call: String,
    /// How much. A negative amount is taken away from the counter; until its call is over it changes nothing that others read.
    pub amount: Decimal,
}

/// What becomes of an amount that a call holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldEnd {
    /// The call has run, or nobody knows: the amount is spent.
    Spent,
    /// The call has not run and never will: the amount is given back.
    Released,
}

/// What a step does to counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CounterChanges {
    /// The counters that its decisions have read. Each must have the version that it had.
    pub read: Vec<CounterRead>,
    /// The calls that hold nothing any more, with what becomes of their amounts. A call that holds nothing is none of them.
    pub over: Vec<(String, HoldEnd)>,
    /// Whether all else that the task holds is spent: it has ended, and nobody will tell what became of its calls.
    pub all_over: bool,
    /// What calls hold from now on, after the above.
    pub reserve: Vec<Reservation>,
    /// What calls have spent that were let through and have run in this very step, and so hold nothing behind it. They are
    /// reservations like any other to those who read the counter.
    pub spend: Vec<Reservation>,
}

/// An amount that a call of a task holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Hold {
    /// The call, by its id in its task.
    pub call: String,
    /// Of this counter.
    pub counter: CounterId,
    /// How much.
    pub amount: Decimal,
}

/// A counter as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterState {
    /// The window that it was last reserved under.
    pub window: CounterWindow,
    /// How often it was reserved: 0 of one that nobody ever did.
    pub version: u64,
    /// What it knows.
    pub tally: Tally,
}

impl Default for CounterState {
    /// A counter that nobody has touched.
    fn default() -> Self {
        Self { window: CounterWindow::Ever, version: 0, tally: Tally::default() }
    }
}

/// Why changes are not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CounterConflict {
    /// A counter was reserved since it was read: the step has to be decided anew.
    #[error("the counter `{}` was reserved since it was read", .0.name)]
    Moved(CounterId),
    /// The call holds something of the counter already.
    #[error("the call holds something of the counter `{}` already", .0.name)]
    Twice(CounterId),
    /// A call holds more than its counter says is held: one of them is not what was written.
    #[error("the counter `{}` holds less than its calls do", .0.name)]
    Damaged(CounterId),
}

/// Counters by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterStates(pub BTreeMap<CounterId, CounterState>);

/// The name under which the counters of a policy count that is only tried out.
pub(crate) fn observed_book(policy: &str) -> String {
    format!("{policy} (observed)")
}

impl CounterId {
    /// The counter of this policy and name for a key that is written out. Of a longer key than 256 bytes the digest is taken.
    #[must_use]
    pub fn new(policy: &str, name: &str, key: &str) -> Self {
        let key = if key.len() > LONGEST_KEY { digest_of(key) } else { key.to_owned() };
        Self { policy: policy.to_owned(), name: name.to_owned(), key }
    }

    /// The counter of this policy and name for a value of its key, written as JSON.
    #[must_use]
    pub fn keyed(policy: &str, name: &str, key: &Json) -> Self {
        Self::new(policy, name, &key.to_string())
    }

    /// The counter of this policy and name for a value of its key that nobody is to see: its digest is taken, however short it is. A
    /// value that can be guessed can be recognised by its digest.
    ///
    /// ```
    /// use celador::Json;
    /// use celador::counter::CounterId;
    ///
    /// let hidden = CounterId::hidden("acme/payments", "spend", &Json::string("4111 1111"));
    /// assert!(hidden.key().starts_with("sha256:") && !hidden.to_string().contains("4111"));
    /// assert_eq!(hidden, CounterId::hidden("acme/payments", "spend", &Json::string("4111 1111")));
    /// ```
    #[must_use]
    pub fn hidden(policy: &str, name: &str, key: &Json) -> Self {
        let key = digest_of(&key.to_string());
        Self { policy: policy.to_owned(), name: name.to_owned(), key }
    }

    /// The policy: its namespace and its name, and behind them ` (observed)` where it is only tried out.
    #[must_use]
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// The name in its policy.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}

fn digest_of(key: &str) -> String {
    format!("sha256:{}", Digest::of(key.as_bytes()))
}

impl fmt::Display for CounterId {
    /// The policy, `#`, the name, and behind a blank the key, if there is one: `acme/payments#spend "u-7"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, name, key } = self;
        let blank = if key.is_empty() { "" } else { " " };
        write!(f, "{policy}#{name}{blank}{key}")
    }
}

impl CounterChanges {
    /// Whether nothing is read or changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { read, over, all_over, reserve, spend } = self;
        read.is_empty() && over.is_empty() && !all_over && reserve.is_empty() && spend.is_empty()
    }

    /// Whether it may change what the calls of its task hold.
    #[must_use]
    pub fn ends_holds(&self) -> bool {
        self.all_over || !self.over.is_empty()
    }

    /// What it reserves, and what it has spent at once: both raise the versions of their counters.
    pub fn reserved(&self) -> impl Iterator<Item = &Reservation> {
        self.reserve.iter().chain(&self.spend)
    }

    /// What becomes of an amount that a call holds; nothing if the call goes on holding it.
    fn end_of(&self, call: &str) -> Option<HoldEnd> {
        let named = self.over.iter().find(|(over, _)| over == call).map(|(_, end)| *end);
        named.or(self.all_over.then_some(HoldEnd::Spent))
    }

    /// What the calls of the task hold after it, in order. In: what they hold before it.
    #[must_use]
    pub fn holds_after(&self, holds: &[Hold]) -> Vec<Hold> {
        let left = holds.iter().filter(|hold| self.end_of(&hold.call).is_none()).cloned();
        let reserved = self.reserve.iter().map(|reservation| {
            let Reservation { counter, call, amount, .. } = reservation;
            Hold { call: call.clone(), counter: counter.clone(), amount: *amount }
        });
        let mut after: Vec<Hold> = left.chain(reserved).collect();
        after.sort();
        after
    }

    /// The counters that it touches, each perhaps several times. In: what the calls of its task hold.
    pub fn touches<'c>(&'c self, holds: &'c [Hold]) -> impl Iterator<Item = &'c CounterId> {
        let ended = holds.iter().filter(|hold| self.end_of(&hold.call).is_some());
        let read = self.read.iter().map(|read| &read.counter);
        let reserved = self.reserved().map(|reservation| &reservation.counter);
        ended.map(|hold| &hold.counter).chain(read).chain(reserved)
    }
}

impl CounterState {
    /// What counts at a time, of a counter that never goes below zero. Linear in the amounts that are kept apart, at most 128.
    #[must_use]
    pub fn counted(&self, window: CounterWindow, now: Timestamp) -> Amount {
        self.tally.counted(window, now)
    }

    /// The same of a counter that may go below zero.
    #[must_use]
    pub fn balance(&self, window: CounterWindow, now: Timestamp) -> Decimal {
        self.tally.balance(window, now)
    }
}

impl CounterStates {
    /// Makes the changes of a step of a task. In: all that it touches, and all that the calls of the task hold, which after
    /// it is [`CounterChanges::holds_after`].
    ///
    /// # Errors
    /// [`CounterConflict`], and nothing is changed.
    ///
    /// # Cost
    /// Linear in the changes, in what the task holds, and in the amounts that the counters keep apart.
    pub fn apply(
        &mut self,
        holds: &[Hold],
        changes: &CounterChanges,
        at: Timestamp,
    ) -> Result<(), CounterConflict> {
        for CounterRead { counter, version } in &changes.read {
            if self.0.get(counter).map_or(0, |state| state.version) != *version {
                return Err(CounterConflict::Moved(counter.clone()));
            }
        }
        let mut after = BTreeMap::new();
        let mut held = BTreeSet::new();
        for Hold { call, counter, amount } in holds {
            let Some(end) = changes.end_of(call) else {
                held.insert((call, counter));
                continue;
            };
            let state = self.touched(&mut after, counter);
            let was_held = match end {
                HoldEnd::Spent => state.tally.spend(state.window, *amount, at),
                HoldEnd::Released => state.tally.release(*amount),
            };
            if !was_held {
                return Err(CounterConflict::Damaged(counter.clone()));
            }
        }
        for Reservation { counter, window, call, amount } in &changes.reserve {
            if !held.insert((call, counter)) {
                return Err(CounterConflict::Twice(counter.clone()));
            }
            let state = self.touched(&mut after, counter);
            state.window = *window;
            state.version = state.version.saturating_add(1);
            state.tally.hold(*amount);
        }
        for Reservation { counter, window, call: _, amount } in &changes.spend {
            let state = self.touched(&mut after, counter);
            state.window = *window;
            state.version = state.version.saturating_add(1);
            state.tally.hold(*amount);
            if !state.tally.spend(*window, *amount, at) {
                return Err(CounterConflict::Damaged(counter.clone()));
            }
        }
        self.0.extend(after);
        Ok(())
    }

    /// The state of a counter in the middle of changes.
    fn touched<'a>(
        &self,
        after: &'a mut BTreeMap<CounterId, CounterState>,
        counter: &CounterId,
    ) -> &'a mut CounterState {
        let before = || self.0.get(counter).cloned().unwrap_or_default();
        after.entry(counter.clone()).or_insert_with(before)
    }
}
