//! What one counter knows: the amounts that were spent, with their times, and what open calls hold.
//!
//! In: amounts that are held, spent and given back. Out: what counts at a time. What is held counts always; what is spent
//! counts from the result of its call on, for one window. A call that was let through is carried out at some moment between
//! its decision and its result, and its amount counts all the time from the one until a window after the other: so
//! whichever moment it was, no window of that length has more in it than the decisions have let through.
//!
//! Up to 128 amounts are kept apart, each with its millisecond. Beyond that a sliding window tells sixtieths of its length
//! apart (minutes of an hour, seconds of a minute), and amounts of one sixtieth leave with the last of them: at most a
//! sixtieth of the window too late, never too early. A period of the calendar is one number, and exact.

use super::window::{CounterWindow, millis, millis_up};
use crate::amount::Amount;
use crate::cel::Timestamp;
use serde::{Deserialize, Serialize};

/// The most amounts that are kept apart: two windows have fewer sixtieths.
const MOST: usize = 128;

/// What a counter knows. As JSON it is a list of pairs: milliseconds since 1970, and what was spent then.
///
/// ```
/// use celador::Timestamp;
/// use celador::counter::{Amount, CounterWindow, Tally};
///
/// let window: CounterWindow = "1h".parse()?;
/// let noon: Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// let one: Timestamp = "2026-06-01T13:00:00Z".parse()?;
///
/// let mut tally = Tally::default();
/// tally.hold(Amount::from_int(5)?);
/// assert!(tally.spend(window, Amount::from_int(5)?, noon));
/// assert_eq!(tally.counted(window, noon), Amount::from_int(5)?);
/// assert_eq!(tally.counted(window, one), Amount::ZERO);
///
/// // nobody gives back what nobody holds
/// assert!(!tally.release(Amount::from_int(1)?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    spent: Vec<Spent>,
    held: Amount,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Spent(i64, Amount);

impl Tally {
    /// The tally of what was spent, as [`Tally::spent_json`] writes it, and what is held; nothing if the text is none.
    #[must_use]
    pub fn read(spent: &str, held: Amount) -> Option<Self> {
        let spent: Vec<Spent> = serde_json::from_str(spent).ok()?;
        spent.is_sorted_by_key(|Spent(at, _)| *at).then_some(Self { spent, held })
    }

    /// What was spent, as JSON. At most 128 pairs.
    #[must_use]
    pub fn spent_json(&self) -> String {
        // a list of numbers and texts is always JSON
        serde_json::to_string(&self.spent).unwrap_or_default()
    }

    /// What open calls hold.
    #[must_use]
    pub fn held(&self) -> Amount {
        self.held
    }

    /// What counts at a time: all that is held, and what was spent in the window. Linear in the amounts that are kept.
    #[must_use]
    pub fn counted(&self, window: CounterWindow, now: Timestamp) -> Amount {
        let from = window.counts_from(millis(now));
        let counts = self.spent.iter().rev().take_while(|Spent(at, _)| *at >= from);
        counts.fold(self.held, |sum, Spent(_, amount)| sum.plus(*amount))
    }

    /// A call holds an amount from now on.
    pub fn hold(&mut self, amount: Amount) {
        self.held = self.held.plus(amount);
    }

    /// What a call held is spent; whether that much was held. Without that nothing changes.
    #[must_use]
    pub fn spend(&mut self, window: CounterWindow, amount: Amount, at: Timestamp) -> bool {
        let is_held = self.release(amount);
        if is_held && amount > Amount::ZERO {
            let kept_from = window.kept_from(millis(at));
            self.spent.retain(|Spent(at, _)| *at >= kept_from);
            let at = millis_up(at);
            let position = self.spent.partition_point(|Spent(other, _)| *other <= at);
            self.spent.insert(position, Spent(at, amount));
            self.shorten(window);
        }
        is_held
    }

    /// What a call held is free again; whether that much was held. Without that nothing changes.
    #[must_use]
    pub fn release(&mut self, amount: Amount) -> bool {
        let rest = self.held.minus(amount);
        self.held = rest.unwrap_or(self.held);
        rest.is_some()
    }

    /// Forgets what was spent. What calls hold goes on counting.
    ///
    /// ```
    /// use celador::counter::{Amount, CounterWindow, Tally};
    /// # let noon: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
    ///
    /// let mut tally = Tally::default();
    /// tally.hold(Amount::from_int(7)?);
    /// assert!(tally.spend(CounterWindow::Ever, Amount::from_int(5)?, noon));
    /// tally.forget_spent();
    /// assert_eq!(tally.counted(CounterWindow::Ever, noon), Amount::from_int(2)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forget_spent(&mut self) {
        self.spent.clear();
    }

    /// When nothing of it counts or is kept any more, in milliseconds since 1970; nothing if that is never, or not known yet
    /// because a call holds something. `changed` is the time of the last change.
    #[must_use]
    pub fn over_at(&self, window: CounterWindow, changed: Timestamp) -> Option<i64> {
        if self.held > Amount::ZERO {
            return None;
        }
        match self.spent.last() {
            Some(Spent(at, _)) => window.kept_until(*at),
            None => Some(millis_up(changed)),
        }
    }

    /// Puts amounts together that lie close by, each at the time of the latest, if that changes nothing or there are too many.
    fn shorten(&mut self, window: CounterWindow) {
        if window.has_whole_parts() {
            self.join(|at| window.part(at));
            return;
        }
        // parts of a window whose clocks all agree are few enough; ever larger ones are if clocks jump about
        let mut size = 1;
        while self.spent.len() > MOST {
            self.join(|at| window.part(at).div_euclid(size));
            size = size.saturating_mul(2);
        }
    }

    fn join(&mut self, part: impl Fn(i64) -> i64) {
        self.spent.dedup_by(|later, earlier| {
            let is_same = part(later.0) == part(earlier.0);
            if is_same {
                *earlier = Spent(later.0, earlier.1.plus(later.1));
            }
            is_same
        });
    }
}
