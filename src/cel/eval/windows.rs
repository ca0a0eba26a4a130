//! Loops that ask of each element whether it is late enough, over lists that stand in the order of time: `calls.filter(t, within(t, '1m')).size()`.
//!
//! The first element that is late enough is searched for by halves; those ahead of it are too early, so that they decide their rounds by that
//! alone and are left out. Where the predicate asks nothing else, those behind it are counted and not asked. What comes out is what the loop over all
//! elements would come to, to the error and its place. Such a loop costs its search, as one step, and the rounds that are left: nothing is kept from one evaluation to
//! the next, so a decision cannot depend on it.

use super::evaluator::Evaluator;
use super::loops::Range;
use super::matches::element_at;
use super::tally::{Tally, deciding};
use super::watch::Watch;
use crate::meter::Meter;
use crate::plan::{Loop, LoopKind, NodeId, Window};
use crate::value::{GrowingEnd, Growth, TimeOrder};

impl<'a, W: Watch<'a>> Evaluator<'a, '_, '_, W> {
    /// What the loop comes to. Nothing inside, if the elements have to be gone through one by one: what asks fails.
    pub(super) fn windowed(
        &mut self,
        id: NodeId,
        inner: &'a Loop,
        window: Window,
        range: &Range<'a>,
        growth: &Growth<'_>,
        order: TimeOrder,
    ) -> Option<Option<Tally>> {
        let (length, end) = (range.len(), growth.end);
        let settled = growth.settled.min(length);
        let from = order.from.min(settled);
        let mut is_late =
            |position: usize| self.is_late(id, inner, window, range, element_at(position, length, end));
        let (mut begins, mut late) = (from, settled);
        while begins < late {
            let middle = begins.midpoint(late);
            match is_late(middle) {
                Some(true) => late = middle,
                Some(false) => begins = middle.saturating_add(1),
                None => return Some(None),
            }
        }
        // of those that stand in no order the latest tells of all
        let early = match order.latest_before {
            Some(latest) if begins > from => match is_late(latest) {
                Some(true) => 0..from,
                Some(false) => 0..0,
                None => return Some(None),
            },
            _ => 0..from,
        };
        self.progress.charge(id, 1)?;
        let left_out = begins.saturating_sub(early.len());
        let decides = deciding(inner.kind) == Some(window.otherwise);
        let counted = if window.otherwise { i64::try_from(left_out).unwrap_or(i64::MAX) } else { 0 };
        let mut tally = Tally { count: counted, over: decides && left_out > 0, ..Tally::default() };
        let is_known = window.is_alone && !matches!(inner.kind, LoopKind::Sum(_));
        let (late, open) = ((begins..settled, is_known), (settled..length, false));
        let parts = match end {
            GrowingEnd::Front => [open, late, (early, false)],
            GrowingEnd::Back => [(early, false), late, open],
        };
        for (part, is_known) in parts {
            if tally.over {
                break;
            }
            if is_known {
                tally.add_many(part.len(), !window.otherwise, deciding(inner.kind));
                continue;
            }
            let elements = match end {
                GrowingEnd::Front => length.saturating_sub(part.end)..length.saturating_sub(part.start),
                GrowingEnd::Back => part,
            };
            tally = self.visit(id, inner, range, elements, tally)?;
        }
        Some(Some(tally))
    }

    /// Whether an element is late enough; nothing if that fails. It is paid for by nobody.
    fn is_late(
        &mut self,
        id: NodeId,
        inner: &'a Loop,
        window: Window,
        range: &Range<'a>,
        element: usize,
    ) -> Option<bool> {
        let start = self.checkpoint();
        self.watch.pause();
        self.progress.meter = Meter::new(self.progress.meter.limits());
        let shown = self.round(id, inner, range, element);
        let is_late = shown.and_then(|()| self.bool(window.call));
        self.watch.resume();
        self.go_back(start);
        is_late
    }
}
