//! Which steps are remembered: those of a name of the host whose value is worth it.
//!
//! In: the steps that compute what stands for a name. Out: one more step, by which their value is remembered and found again. A value that
//! is looked up where it lies stays what it is, as to find it in memory would take as long, and guards could not see it; so does one that
//! reads nothing of the scope. Linear in the steps.

use super::node::{Local, LoopKind, Node, NodeId, RememberedAs};
use super::planner::Planner;
use crate::stdlib::SUM;
use crate::syntax::{Expr, NameId};
use crate::value::Value;

impl Planner<'_> {
    /// The step that stands for a name, which the steps from `first` on compute, the last of them its value.
    pub(super) fn remembered(&mut self, expr: &Expr, name: NameId, first: usize, value: NodeId) -> NodeId {
        let steps = self.nodes.get(first..).unwrap_or_default();
        let own = Local(self.in_use);
        let is_worth_it =
            !steps.iter().all(Node::is_looked_up) && !steps.iter().all(|step| step.is_closed(own));
        let asks = steps.iter().any(|step| matches!(step, Node::Host { .. }));
        let (Some(zeros), Ok(first)) = (self.zeros(steps), u32::try_from(first)) else { return value };
        if !is_worth_it || asks {
            return value;
        }
        let (name, first) = (RememberedAs { name, zeros }, NodeId(first));
        self.add(expr, Node::Remembered { name, first, value })
    }

    /// The zeros of all sums in some steps, in order, as one number. Nothing for more sums than it has room for.
    fn zeros(&self, steps: &[Node]) -> Option<u64> {
        let zero = |step: &Node| match step {
            Node::Loop(inner) => match inner.kind {
                LoopKind::Sum(summand) => Some(summand.zero()),
                _ => None,
            },
            Node::Call { name: SUM, args, .. } => self.constant(*args.last()?).cloned(),
            _ => None,
        };
        let digit = |zero: Value<'_>| match zero {
            Value::UInt(_) => 1,
            Value::Double(_) => 2,
            Value::Duration(_) => 3,
            _ => 0,
        };
        let mut digits = steps.iter().filter_map(zero).map(digit);
        digits.try_fold(1_u64, |all, digit| all.checked_mul(4)?.checked_add(digit))
    }
}
