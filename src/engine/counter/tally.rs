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
//!
//! What a call takes away is an amount below zero. While its call is open it does nothing; then it counts like any other, in the
//! order of the times. Of a counter that never goes below zero the sum stops there on the way: a refund of what has left the
//! window makes no room for what comes behind it. So an amount is kept as what it does to a sum: it adds, and does not let
//! the sum fall below a bottom. Two of them that are put together are one of the same kind, so joining loses nothing.

use super::window::{CounterWindow, millis, millis_up};
use crate::amount::{Amount, Decimal};
use crate::cel::Timestamp;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The most amounts that are kept apart: two windows have fewer sixtieths.
const MOST: usize = 128;

/// What a counter knows. As JSON it is a list of lists: milliseconds since 1970, what was spent then, and, where something was taken
/// away, the least that is left then.
///
/// ```
/// use celador::Timestamp;
/// use celador::counter::{Amount, CounterWindow, Decimal, Tally};
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
/// // 7 are paid back of 5, and then 3 are spent
/// assert!(tally.spend(window, Decimal::from_int(-7)?, noon));
/// tally.hold(Amount::from_int(3)?);
/// assert!(tally.spend(window, Amount::from_int(3)?, noon));
/// assert_eq!(tally.counted(window, noon).to_int(), 3);
/// assert_eq!(tally.balance(window, noon).to_int(), 1);
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

/// What was spent at a time, in milliseconds since 1970: it adds to a sum, and does not let it fall below a bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spent {
    at: i64,
    sum: Decimal,
    bottom: Amount,
}

impl Spent {
    fn new(at: i64, sum: Decimal) -> Self {
        Self { at, sum, bottom: Amount::ZERO }
    }

    /// What it makes of a sum that never goes below zero.
    fn onto(self, sum: Amount) -> Amount {
        Decimal::from(sum).plus(self.sum).or_zero().max(self.bottom)
    }

    /// This one and a later one as one, at the time of the later.
    fn with(self, later: Self) -> Self {
        let (at, sum) = (later.at, self.sum.plus(later.sum));
        let both = Self { at, sum, bottom: later.onto(self.bottom) };
        if both.has_bottom() { both } else { Self::new(at, sum) }
    }

    /// Whether the bottom makes a difference to some sum.
    fn has_bottom(self) -> bool {
        Decimal::from(self.bottom) > self.sum && !self.bottom.is_zero()
    }
}

impl Serialize for Spent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.has_bottom() {
            true => (self.at, self.sum, self.bottom).serialize(serializer),
            false => (self.at, self.sum).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Spent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Spent;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time, an amount and perhaps a bottom")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<Spent, A::Error> {
                let missing = || A::Error::invalid_length(2, &self);
                let at = members.next_element()?.ok_or_else(missing)?;
                let sum = members.next_element()?.ok_or_else(missing)?;
                let bottom = members.next_element()?.unwrap_or_default();
                Ok(Spent { at, sum, bottom })
            }
        }
        deserializer.deserialize_seq(Members)
    }
}

impl Tally {
    /// The tally of what was spent, as [`Tally::spent_json`] writes it, and what is held; nothing if the text is none.
    #[must_use]
    pub fn read(spent: &str, held: Amount) -> Option<Self> {
        let spent: Vec<Spent> = serde_json::from_str(spent).ok()?;
        spent.is_sorted_by_key(|spent| spent.at).then_some(Self { spent, held })
    }

    /// What was spent, as JSON. At most 128 lists.
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

    /// The tally of a counter of which this much counts at any time.
    #[must_use]
    pub fn of(balance: Decimal) -> Self {
        match balance.amount() {
            Some(held) => Self { spent: Vec::new(), held },
            None => Self { spent: vec![Spent::new(i64::MAX, balance)], held: Amount::ZERO },
        }
    }

    /// What counts at a time: all that is held, and what was spent in the window, which is nothing less than nothing. Linear in the
    /// amounts that are kept.
    #[must_use]
    pub fn counted(&self, window: CounterWindow, now: Timestamp) -> Amount {
        self.counting(window, now).fold(Amount::ZERO, |sum, spent| spent.onto(sum)).plus(self.held)
    }

    /// The same where what was spent may come to less than nothing.
    #[must_use]
    pub fn balance(&self, window: CounterWindow, now: Timestamp) -> Decimal {
        self.counting(window, now).fold(self.held.into(), |sum, spent| sum.plus(spent.sum))
    }

    /// What was spent in the window, in order.
    fn counting(&self, window: CounterWindow, now: Timestamp) -> impl Iterator<Item = Spent> {
        let from = window.counts_from(millis(now));
        let first = self.spent.partition_point(|spent| spent.at < from);
        self.spent.iter().skip(first).copied()
    }

    /// A call holds an amount from now on. What it will take away counts when it is over.
    pub fn hold(&mut self, amount: impl Into<Decimal>) {
        self.held = self.held.plus(amount.into().or_zero());
    }

    /// What a call held is spent; whether that much was held. Without that nothing changes.
    #[must_use]
    pub fn spend(&mut self, window: CounterWindow, amount: impl Into<Decimal>, at: Timestamp) -> bool {
        let amount = amount.into();
        let is_held = self.release(amount);
        if is_held && !amount.is_zero() {
            let kept_from = window.kept_from(millis(at));
            self.spent.retain(|spent| spent.at >= kept_from);
            let at = millis_up(at);
            let position = self.spent.partition_point(|other| other.at <= at);
            self.spent.insert(position, Spent::new(at, amount));
            self.shorten(window);
        }
        is_held
    }

    /// What a call held is free again; whether that much was held. Without that nothing changes.
    #[must_use]
    pub fn release(&mut self, amount: impl Into<Decimal>) -> bool {
        let rest = self.held.minus(amount.into().or_zero());
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
            Some(spent) => window.kept_until(spent.at),
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
            let is_same = part(later.at) == part(earlier.at);
            if is_same {
                *earlier = earlier.with(*later);
            }
            is_same
        });
    }
}
