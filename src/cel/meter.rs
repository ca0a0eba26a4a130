//! The run-time budget: what one evaluation may still do and still build.
//!
//! Work is counted in cost units (a step of the plan is at least one, a loop one more for each element, text one for
//! each ten bytes looked at), growth in bytes. Both only ever go down; the step that would go below zero is not taken.
//! A long evaluation offers its processor to other threads again and again, so that a short one never waits for its end.

use super::fault::Fault;
use crate::limits::EvalLimits;
use std::thread;

/// A budget being spent.
#[derive(Clone, Debug)]
pub struct Meter<'l> {
    /// The cost units until other threads are let ahead.
    stretch: u64,
    /// The cost units after these.
    rest: u64,
    built: u64,
    limits: &'l EvalLimits,
}

/// What some work took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    cost: u64,
    built: u64,
}

/// Cost units between two offers of the processor: some tenths of a millisecond, as long as a thousand guards take. A
/// system may otherwise leave a thread that computes on its processor for many milliseconds, whoever else has work.
const STRETCH: u64 = 16_384;

/// Bytes of text that one cost unit pays for.
const BYTES_PER_UNIT: usize = 10;

/// What looking at so much text costs.
#[inline]
pub(crate) fn text_units(bytes: usize) -> u64 {
    (bytes / BYTES_PER_UNIT) as u64
}

impl Spent {
    /// What was spent after an earlier point.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { cost: self.cost.saturating_sub(earlier.cost), built: self.built.saturating_sub(earlier.built) }
    }

    /// This and that.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { cost: self.cost.saturating_add(other.cost), built: self.built.saturating_add(other.built) }
    }

    /// The same so many times.
    pub(crate) fn times(self, count: u64) -> Self {
        Self { cost: self.cost.saturating_mul(count), built: self.built.saturating_mul(count) }
    }
}

impl<'l> Meter<'l> {
    /// A full budget.
    #[must_use]
    pub fn new(limits: &'l EvalLimits) -> Self {
        let stretch = limits.max_cost.min(STRETCH);
        let rest = limits.max_cost.saturating_sub(stretch);
        Self { stretch, rest, built: limits.max_built_bytes, limits }
    }

    /// Pays for work. Where it cannot, says only that.
    #[inline]
    pub(crate) fn take(&mut self, units: u64) -> Option<()> {
        match self.stretch.checked_sub(units) {
            Some(stretch) => {
                self.stretch = stretch;
                Some(())
            }
            None => self.take_from_rest(units),
        }
    }

    /// The same where this stretch is at its end.
    #[cold]
    fn take_from_rest(&mut self, units: u64) -> Option<()> {
        let left = self.left().checked_sub(units)?;
        self.stretch = left.min(STRETCH);
        self.rest = left.saturating_sub(self.stretch);
        thread::yield_now();
        Some(())
    }

    /// Pays for work.
    ///
    /// # Errors
    /// `budget_exceeded`, naming `max_cost`.
    #[inline]
    pub fn charge(&mut self, units: u64) -> Result<(), Fault> {
        self.take(units).ok_or(Fault::budget("max_cost"))
    }

    /// Pays for looking at this much text.
    ///
    /// # Errors
    /// `budget_exceeded`, naming `max_cost`.
    #[inline]
    pub fn charge_text(&mut self, bytes: usize) -> Result<(), Fault> {
        self.charge(text_units(bytes))
    }

    /// Pays for building this much, before it is built.
    ///
    /// # Errors
    /// `budget_exceeded`, naming `max_built_bytes` or `max_cost`.
    pub fn charge_built(&mut self, bytes: usize) -> Result<(), Fault> {
        self.charge_text(bytes)?;
        match self.built.checked_sub(bytes as u64) {
            Some(rest) => {
                self.built = rest;
                Ok(())
            }
            None => Err(Fault::budget("max_built_bytes")),
        }
    }

    /// The cost units spent so far.
    #[must_use]
    pub fn spent_cost(&self) -> u64 {
        self.limits.max_cost.saturating_sub(self.left())
    }

    /// What was spent so far.
    pub(crate) fn spent(&self) -> Spent {
        Spent { cost: self.spent_cost(), built: self.limits.max_built_bytes.saturating_sub(self.built) }
    }

    /// Pays for work that was done before. Says no, and takes nothing, if that is more than there is: doing it again
    /// would then exceed the budget on the way.
    pub(crate) fn pay(&mut self, spent: Spent) -> bool {
        let (Some(left), Some(built)) =
            (self.left().checked_sub(spent.cost), self.built.checked_sub(spent.built))
        else {
            return false;
        };
        self.set_left(left);
        self.built = built;
        true
    }

    fn set_left(&mut self, left: u64) {
        self.rest = self.rest.min(left);
        self.stretch = left.saturating_sub(self.rest);
    }

    /// The cost units until other threads are let ahead.
    #[inline]
    pub(crate) fn stretch(&self) -> u64 {
        self.stretch
    }

    /// The cost units left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.stretch.saturating_add(self.rest)
    }

    /// The bounds that this budget was made from.
    #[must_use]
    pub fn limits(&self) -> &'l EvalLimits {
        self.limits
    }
}

#[cfg(test)]
mod tests {
    use super::{Meter, STRETCH};
    use crate::limits::EvalLimits;
    use proptest::prelude::*;

    proptest! {
        /// Stretches change nothing of what is paid: a budget of one number says and leaves the same.
        #[test]
        fn a_budget_in_stretches_is_one_number(
            all in 0..65_536_u64,
            moves in prop::collection::vec((0_u8..3, 0..STRETCH), 0..40)
        ) {
            let limits = EvalLimits { max_cost: all, ..EvalLimits::default() };
            let (mut meter, mut left) = (Meter::new(&limits), all);
            for (kind, units) in moves {
                let paid = match kind {
                    0 => meter.take(units).is_some(),
                    1 => {
                        let spent = super::Spent { cost: units, built: 0 };
                        meter.pay(spent)
                    }
                    _ => {
                        meter.charge(units).is_ok()
                    }
                };
                if paid {
                    left = left.saturating_sub(units);
                } else {
                    prop_assert!(units > left);
                }
                prop_assert_eq!(meter.left(), left);
                prop_assert_eq!(meter.spent_cost(), all.saturating_sub(left));
            }
        }
    }
}
