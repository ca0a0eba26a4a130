//! Makes loops of macros. Those that end in one truth, number or sum are one step, without the lists in between.
//!
//! In: a checked macro, and the function that is called on it where both are one loop. Out: a [`Loop`]. Over a list that grows, the loop
//! goes on where it was if it reads nothing but the elements, and leaves out what cannot match if it compares a part of each with
//! something else. Linear in the expression.

use super::correlation::correlation;
use super::node::{Local, Loop, LoopKind, Node, NodeId, Summand};
use super::planner::Planner;
use super::window::window;
use crate::syntax::{Comprehension, ComprehensionKind, Expr, ExprKind};
use crate::value::FoldId;

impl Planner<'_> {
    pub(super) fn comprehension(
        &mut self,
        expr: &Expr,
        comprehension: &Comprehension,
        kind: Option<LoopKind>,
    ) -> NodeId {
        let range = self.expr(&comprehension.range);
        let first = self.enter();
        let second = comprehension.second.is_some().then(|| self.enter());
        let inside = self.nodes.len();
        let filter = comprehension.filter.as_ref().map(|filter| self.expr(filter));
        let body = self.expr(&comprehension.body);
        self.leave(if second.is_some() { 2 } else { 1 });
        let kind = kind.unwrap_or(match comprehension.kind {
            ComprehensionKind::All => LoopKind::All,
            ComprehensionKind::Exists => LoopKind::Exists,
            ComprehensionKind::ExistsOne => LoopKind::ExistsOne,
            ComprehensionKind::Filter => LoopKind::Filter,
            ComprehensionKind::Map => LoopKind::Map,
            ComprehensionKind::TransformMap => LoopKind::TransformMap,
            ComprehensionKind::TransformMapEntry => LoopKind::TransformMapEntry,
            ComprehensionKind::SortBy => LoopKind::SortBy,
        });
        self.add_loop(expr, inside, Parts { kind, range, first, second, filter, body })
    }

    /// `range.map(x, filter, body).sum()`, and `range.filter(x, filter).map(y, body).sum()` as well: the two variables are never known
    /// at once, so they have one place.
    pub(super) fn sum(&mut self, expr: &Expr, map: &Comprehension) -> NodeId {
        let kind = LoopKind::Sum(Summand::of(self.checked.type_of(expr.id)));
        let filtered = match &map.range.kind {
            ExprKind::Comprehension(inner)
                if inner.kind == ComprehensionKind::Filter
                    && inner.second.is_none()
                    && map.filter.is_none() =>
            {
                Some(inner)
            }
            _ => None,
        };
        let range = self.expr(filtered.map_or(&map.range, |inner| &inner.range));
        let inside = self.nodes.len();
        let first = self.enter();
        let filter =
            filtered.map(|inner| &inner.body).or(map.filter.as_ref()).map(|filter| self.expr(filter));
        if filtered.is_some() {
            // the place of one variable becomes that of the other
            self.leave(1);
            self.enter();
        }
        let body = self.expr(&map.body);
        self.leave(1);
        self.add_loop(expr, inside, Parts { kind, range, first, second: None, filter, body })
    }

    /// The steps inside of it begin at `inside`.
    fn add_loop(&mut self, expr: &Expr, inside: usize, parts: Parts) -> NodeId {
        let Parts { kind, range, first, second, filter, body } = parts;
        // where an element stands in a list changes while the list grows, so the index must not be asked for
        let goes_on = kind.is_fold() && second.is_none();
        let is_closed = |node: &Node| node.is_closed(first);
        let is_fold = goes_on && self.nodes.get(inside..).is_some_and(|nodes| nodes.iter().all(is_closed));
        let fold = is_fold.then(FoldId::next);
        let predicate = match kind {
            LoopKind::Sum(_) => filter,
            _ => Some(body),
        };
        let correlation = predicate
            .filter(|_| goes_on && !is_fold)
            .and_then(|predicate| correlation(&self.nodes, inside, predicate, first))
            // of a sum the elements that are left out must be those that do not count
            .filter(|found| !(found.otherwise && matches!(kind, LoopKind::Sum(_))));
        let is_sum = matches!(kind, LoopKind::Sum(_));
        let window = predicate
            .filter(|_| goes_on && !is_fold)
            .and_then(|predicate| window(&self.nodes, &self.of_time, inside, predicate, first))
            .filter(|found| !(found.otherwise && is_sum));
        let parts = Loop { kind, range, first, second, filter, body, fold, correlation, window };
        self.add(expr, Node::Loop(Box::new(parts)))
    }
}

/// A loop, as far as the macro says.
struct Parts {
    kind: LoopKind,
    range: NodeId,
    first: Local,
    second: Option<Local>,
    filter: Option<NodeId>,
    body: NodeId,
}
