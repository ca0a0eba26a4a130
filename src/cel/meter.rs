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

/// Bytes of text that one cost unit pays for.
const BYTES_PER_UNIT: usize = 10;

impl<'l> Meter<'l> {
    /// A full budget.
    #[must_use]
    pub fn new(limits: &'l EvalLimits) -> Self {
        Self { cost: limits.max_cost, built: limits.max_built_bytes, limits }
    }

    /// Pays for work.
    ///
    /// # Errors
    /// `budget_exceeded`, naming `max_cost`.
    #[inline]
    pub fn charge(&mut self, units: u64) -> Result<(), Fault> {
        match self.cost.checked_sub(units) {
            Some(rest) => {
                self.cost = rest;
                Ok(())
            }
            None => Err(Fault::budget("max_cost")),
        }
    }

    /// Pays for looking at this much text.
    ///
    /// # Errors
    /// `budget_exceeded`, naming `max_cost`.
    pub fn charge_text(&mut self, bytes: usize) -> Result<(), Fault> {
        self.charge((bytes / BYTES_PER_UNIT) as u64)
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
