//! Values that are remembered from one expression to the next: of names of the host, as long as nothing changes that they read.
//!
//! In: a step that stands for a name. Out: what its expression came to when it was first asked for, be it a value or an error, for the cost of
//! one step; who asks first pays for it. An error is told at the place where it is asked for. A spent budget is not remembered, as the next
//! expression has one of its own. What is taken back on the way, with what it cost, is not remembered either: so what a decision costs does not
//! depend on anything that it does not tell.

use super::error::Halt;
use super::evaluator::Evaluator;
use crate::fault::{ErrorCode, Fault};
use crate::meter::Meter;
use crate::plan::{Node, NodeId, RememberedAs};
use crate::value::Value;
use std::borrow::Cow;
use std::fmt;

/// What the names of a host came to, for the programs that read them one after the other.
///
/// Good for as long as nothing changes that these names read: whoever holds it [clears](Remembered::clear) it then. It is empty at first, and
/// then allocates nothing. To find a value takes linear time in the names that were asked for.
///
/// ```
/// use celador_cel::Remembered;
///
/// let remembered = Remembered::default();
/// // the values themselves are data of a task, and are not printed
/// assert_eq!(format!("{remembered:?}"), "0 values");
/// ```
#[derive(Clone, Default)]
pub struct Remembered<'a>(Vec<(RememberedAs, Known<'a>)>);

#[derive(Clone)]
enum Known<'a> {
    Value(Value<'a>),
    /// The fault, and the function or operator that failed.
    Failed(Fault, Option<Cow<'static, str>>),
}

/// What may be taken back: how much there was to spend, and what was remembered.
pub(super) struct Checkpoint<'l> {
    meter: Meter<'l>,
    remembered: usize,
}

impl<'a> Remembered<'a> {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// What holds without the values that were bound, at no cost: errors, truths, numbers and times. Texts, lists and maps, which may be parts
    /// of those values, are computed anew when they are asked for.
    #[must_use]
    pub fn into_owned(self) -> Remembered<'static> {
        let owned = |(name, known)| {
            let known = match known {
                Known::Failed(fault, function) => Known::Failed(fault, function),
                Known::Value(value) => Known::Value(match value {
                    Value::Null => Value::Null,
                    Value::Bool(value) => Value::Bool(value),
                    Value::Int(value) => Value::Int(value),
                    Value::UInt(value) => Value::UInt(value),
                    Value::Double(value) => Value::Double(value),
                    Value::Timestamp(value) => Value::Timestamp(value),
                    Value::Duration(value) => Value::Duration(value),
                    _ => return None,
                }),
            };
            Some((name, known))
        };
        Remembered(self.0.into_iter().filter_map(owned).collect())
    }

    fn get(&self, name: RememberedAs) -> Option<&Known<'a>> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, known)| known)
    }
}

impl fmt::Debug for Remembered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values", self.0.len())
    }
}

impl<'a, 'r> Evaluator<'a, 'r, '_> {
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
        self.remembered.0.extend(known.map(|known| (name, known)));
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
        Checkpoint { meter: self.progress.meter.clone(), remembered: self.remembered.0.len() }
    }

    /// Takes back what was spent and remembered since, and why the evaluation stands still.
    pub(super) fn go_back(&mut self, to: Checkpoint<'r>) {
        self.progress.forget();
        self.progress.meter = to.meter;
        self.remembered.0.truncate(to.remembered);
    }
}
