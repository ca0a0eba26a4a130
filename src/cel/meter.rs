//! The run-time budget: what one evaluation may still do and still build.
//!
//! Work is counted in cost units (a step of the plan is at least one, a loop one more for each element, text one for
//! each ten bytes looked at), growth in bytes. Both only ever go down; the step that would go below zero is not taken.

use super::fault::Fault;
use crate::limits::EvalLimits;

/// A budget being spent.
#[derive(Clone, Debug)]
pub struct Meter<'l> {
    cost: u64,
    built: u64,
    limits: &'l EvalLimits,
}

/// What some work took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cel) struct Spent {
    cost: u64,
    built: u64,
}

/// Bytes of text that one cost unit pays for.
const BYTES_PER_UNIT: usize = 10;

/// What looking at so much text costs.
#[inline]
pub(in crate::cel) fn text_units(bytes: usize) -> u64 {
    (bytes / BYTES_PER_UNIT) as u64
}

impl Spent {
    /// What was spent after an earlier point.
    pub(in crate::cel) fn since(self, earlier: Self) -> Self {
        Self { cost: self.cost.saturating_sub(earlier.cost), built: self.built.saturating_sub(earlier.built) }
    }

    /// This and that.
    pub(in crate::cel) fn plus(self, other: Self) -> Self {
        Self { cost: self.cost.saturating_add(other.cost), built: self.built.saturating_add(other.built) }
    }

    /// The same so many times.
    pub(in crate::cel) fn times(self, count: u64) -> Self {
        Self { cost: self.cost.saturating_mul(count), built: self.built.saturating_mul(count) }
    }
}

impl<'l> Meter<'l> {
    /// A full budget.
    #[must_use]
    pub fn new(limits: &'l EvalLimits) -> Self {
        Self { cost: limits.max_cost, built: limits.max_built_bytes, limits }
    }

    /// Pays for work. Where it cannot, says only that.
    #[inline]
    pub(in crate::cel) fn take(&mut self, units: u64) -> Option<()> {
        self.cost = self.cost.checked_sub(units)?;
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
        self.limits.max_cost.saturating_sub(self.cost)
    }

    /// What was spent so far.
    pub(in crate::cel) fn spent(&self) -> Spent {
        Spent { cost: self.spent_cost(), built: self.limits.max_built_bytes.saturating_sub(self.built) }
    }

    /// Pays for work that was done before. Says no, and takes nothing, if that is more than there is: doing it again
    /// would then exceed the budget on the way.
    pub(in crate::cel) fn pay(&mut self, spent: Spent) -> bool {
        let (Some(cost), Some(built)) =
            (self.cost.checked_sub(spent.cost), self.built.checked_sub(spent.built))
        else {
            return false;
        };
        (self.cost, self.built) = (cost, built);
        true
    }

    /// The cost units left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.cost
    }

    /// The bounds that this budget was made from.
    #[must_use]
    pub fn limits(&self) -> &'l EvalLimits {
        self.limits
    }
}
