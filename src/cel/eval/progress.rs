//! What changes while a plan is walked: the budget that is left, and why the walk stands still if it does.
//!
//! A step that gives nothing has left the reason here, so a value is never wrapped in a result and copied out of it
//! again. It is apart from the evaluator because a value may be looked at where it lies while this changes.

use super::error::{Halt, Stop};
use crate::fault::{ErrorCode, Fault};
use crate::limits::EvalLimits;
use crate::meter::Meter;
use crate::plan::{NodeId, Plan};

/// The state of a walk.
pub(super) struct Progress<'l> {
    pub(super) meter: Meter<'l>,
    /// Why the evaluation stands still, while its steps give nothing.
    halt: Option<Halt>,
    /// Why if there is no such reason: the last lookup found nothing.
    sought: (NodeId, ErrorCode),
}

impl<'l> Progress<'l> {
    pub(super) fn new(limits: &'l EvalLimits) -> Self {
        Self { meter: Meter::new(limits), halt: None, sought: (NodeId(0), ErrorCode::Unbound) }
    }

    /// Stops the evaluation at a step.
    #[cold]
    pub(super) fn fail<T>(&mut self, id: NodeId, fault: impl Into<Fault>) -> Option<T> {
        self.halt = Some(Halt::Fault(fault.into(), id));
        None
    }

    /// Stops the evaluation where a computation failed.
    #[inline]
    pub(super) fn at<T>(&mut self, id: NodeId, result: Result<T, Fault>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(fault) => self.fail(id, fault),
        }
    }

    /// Says what it means if the lookup that follows finds nothing. Said before, so that what is found need not be
    /// unpacked and packed again.
    #[inline]
    pub(super) fn seek(&mut self, id: NodeId, code: ErrorCode) {
        self.sought = (id, code);
    }

    /// Stands still for a reason that was taken back before.
    pub(super) fn halt<T>(&mut self, halt: Halt) -> Option<T> {
        self.halt = Some(halt);
        None
    }

    /// Why the evaluation stands still.
    pub(super) fn halted(&self) -> Halt {
        let (id, code) = self.sought;
        self.halt.unwrap_or_else(|| Halt::Fault(code.into(), id))
    }

    /// Takes back why the evaluation stands still, if it may go on.
    pub(super) fn absorb(&mut self) -> Option<Halt> {
        let halt = self.halted();
        if halt.is_final() {
            return None;
        }
        self.halt = None;
        Some(halt)
    }

    /// Takes back why the evaluation stands still, as if it had never tried.
    pub(super) fn forget(&mut self) {
        self.halt = None;
    }

    /// Pays for work.
    #[inline]
    pub(super) fn charge(&mut self, id: NodeId, units: u64) -> Option<()> {
        let paid = self.meter.charge(units);
        self.at(id, paid)
    }

    /// Pays for looking at so much text.
    #[inline]
    pub(super) fn charge_text(&mut self, id: NodeId, bytes: usize) -> Option<()> {
        let paid = self.meter.charge_text(bytes);
        self.at(id, paid)
    }

    /// Pays for building so much.
    #[inline]
    pub(super) fn charge_built(&mut self, id: NodeId, bytes: usize) -> Option<()> {
        let paid = self.meter.charge_built(bytes);
        self.at(id, paid)
    }

    /// Why there is no value in the end, with everything that explains it.
    #[cold]
    pub(super) fn stop(&self, plan: &Plan) -> Stop {
        self.halted().explain(plan, self.meter.limits())
    }
}
