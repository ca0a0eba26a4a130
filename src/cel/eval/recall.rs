//! Names of the host: each is computed when it is first asked for, and found in memory from then on.
//!
//! In: a step that stands for a name. Out: what its expression came to when it was first asked for, be it a value or an error, for the cost of
//! one step; who asks first pays for it. An error is told at the place where it is asked for. A spent budget is not remembered, as the next
//! expression has one of its own. What is taken back on the way, with what it cost, is not remembered either: so what a decision costs does not
//! depend on anything that it does not tell.

use super::error::Halt;
use super::evaluator::Evaluator;
use super::remembered::Known;
use super::watch::Watch;
use crate::fault::ErrorCode;
use crate::meter::Meter;
use crate::plan::{Node, NodeId, RememberedAs};
use crate::value::Value;
use std::borrow::Cow;

/// What may be taken back: how much there was to spend, and what was remembered.
pub(super) struct Checkpoint<'l> {
    meter: Meter<'l>,
    remembered: usize,
}

impl<'a, 'r, W: Watch<'a>> Evaluator<'a, 'r, '_, W> {
    /// What a name stands for: from memory, or by the steps that compute it.
    pub(super) fn recall(&mut self, name: RememberedAs, first: NodeId, value: NodeId) -> Option<Value<'a>> {
        match self.remembered.get(name) {
            Some(Known::Value(value)) => return Some(value.clone()),
            Some(Known::Failed(fault, function)) => {
                let halt = Halt::Fault(*fault, self.step_of(function.as_ref(), first, value));
                return self.progress.halt(halt);
            }
            None => {}
        }
        // this step has paid for the one that gives the value
        let node = self.node(value)?;
        let found = self.value(value, node);
        let known = match &found {
            Some(value) => Some(Known::Value(value.clone())),
            None => match self.progress.halted() {
                Halt::Fault(fault, at) if fault.code != ErrorCode::BudgetExceeded => {
                    let function = self.nodes.get(at.0 as usize).and_then(Node::function_name);
                    Some(Known::Failed(fault, function))
                }
                Halt::Fault(..) | Halt::Asked => None,
            },
        };
        known.into_iter().for_each(|known| self.remembered.put(name, known));
        found
    }

    /// The step that failed, among those that compute a name. All have the characters of the name, so only the function tells them apart.
    #[cold]
    fn step_of(&self, function: Option<&Cow<'static, str>>, first: NodeId, value: NodeId) -> NodeId {
        let steps = (first.0..=value.0).map(NodeId);
        let is_it = |step: &NodeId| {
            self.nodes.get(step.0 as usize).and_then(Node::function_name).as_ref() == function
        };
        steps.into_iter().find(is_it).unwrap_or(value)
    }

    /// Where to come back to, if what follows is taken back.
    pub(super) fn checkpoint(&self) -> Checkpoint<'r> {
        Checkpoint { meter: self.progress.meter.clone(), remembered: self.remembered.count() }
    }

    /// Takes back what was spent and remembered since, and why the evaluation stands still.
    pub(super) fn go_back(&mut self, to: Checkpoint<'r>) {
        self.progress.forget();
        self.progress.meter = to.meter;
        self.remembered.truncate(to.remembered);
    }
}
