//! Loops that compare a part of each element with a value of their surroundings, over lists that grow:
//! `calls.exists(t, t.input.order == input.order && …)`.
//!
//! The elements that cannot match are left out: an index knows where each value stands, and is extended by what was appended
//! since it was used last. What comes out is what the loop over all elements would come to, to the error and its place, as an
//! element that does not match decides its round by that alone. Such a loop costs its look-up and the rounds that are left. What
//! keeping the index takes is paid by nobody: it is done once for each element, reads a path and a few plain questions, and
//! a decision must not depend on whether the index is there. So its cost is the same where the index is made anew.

use super::evaluator::Evaluator;
use super::loops::Range;
use super::tally::{Tally, deciding};
use super::watch::Watch;
use crate::meter::Meter;
use crate::plan::{Correlation, Loop, NodeId};
use crate::types::At;
use crate::value::{FoldKey, GrowingEnd, Growth, Index};

impl<'a, W: Watch<'a>> Evaluator<'a, '_, '_, W> {
    /// What the loop comes to. Nothing inside, if the elements have to be gone through one by one: the value that they are
    /// compared with fails, or is a list, a map or another one that has no digest.
    pub(super) fn matches(
        &mut self,
        id: NodeId,
        inner: &'a Loop,
        correlation: &'a Correlation,
        range: &Range<'a>,
        at: At,
        growth: &Growth<'_>,
    ) -> Option<Option<Tally>> {
        let before = self.checkpoint();
        let Some(value) = self.eval(correlation.value) else {
            // it fails again where it stands, in the first round that asks for it
            self.go_back(before);
            return Some(None);
        };
        let key = FoldKey(correlation.id, at);
        // an index has no places beyond these
        let settled = growth.settled.min(range.len()).min(u32::MAX as usize);
        let kept = growth.folds.take_index(key);
        let kept = kept.filter(|kept| kept.epoch == growth.epoch && kept.seen <= settled);
        let mut index = kept.unwrap_or_else(|| Index::new(growth.epoch));
        let Some(digest) = index.digest(&value) else {
            growth.folds.put_index(key, index, self.progress.meter.limits().max_index_bytes);
            self.go_back(before);
            return Some(None);
        };
        self.extend(&mut index, id, inner, correlation, range, growth.end, settled);
        let tally = self.look_up(id, inner, correlation, range, growth.end, settled, &index, digest);
        growth.folds.put_index(key, index, self.progress.meter.limits().max_index_bytes);
        tally.map(Some)
    }

    /// Adds the elements that were settled since.
    #[expect(clippy::too_many_arguments, reason = "they are what a loop is, and the index")]
    fn extend(
        &mut self,
        index: &mut Index,
        id: NodeId,
        inner: &'a Loop,
        correlation: &'a Correlation,
        range: &Range<'a>,
        end: GrowingEnd,
        settled: usize,
    ) {
        let budget = self.progress.meter.clone();
        self.watch.pause();
        for seen in index.seen..settled {
            let Ok(position) = u32::try_from(seen) else { break };
            // each element by itself, so that what becomes of it does not depend on those before it
            self.progress.meter = Meter::new(budget.limits());
            let element = element_at(seen, range.len(), end);
            let shown = self.round(id, inner, range, element);
            let decides = |evaluator: &mut Self, clause: NodeId| {
                let truth = evaluator.bool(clause);
                evaluator.progress.forget();
                truth == Some(correlation.otherwise)
            };
            if shown.is_some() && correlation.others.iter().any(|&clause| decides(self, clause)) {
                continue;
            }
            let value = shown.and_then(|()| self.eval(correlation.key));
            self.progress.forget();
            let digest = value.and_then(|value| index.digest(&value));
            index.add(position, digest);
        }
        index.seen = settled;
        self.progress.meter = budget;
        self.watch.resume();
    }

    /// The rounds of the elements that may match, in the order of the list, and what all others come to.
    #[expect(clippy::too_many_arguments, reason = "they are what a loop is, and the index")]
    fn look_up(
        &mut self,
        id: NodeId,
        inner: &'a Loop,
        correlation: &'a Correlation,
        range: &Range<'a>,
        end: GrowingEnd,
        settled: usize,
        index: &Index,
        digest: u64,
    ) -> Option<Tally> {
        self.progress.charge(id, 1)?;
        let left_out = settled.saturating_sub(index.count(digest));
        let decides = deciding(inner.kind) == Some(correlation.otherwise);
        let counted = if correlation.otherwise { i64::try_from(left_out).unwrap_or(i64::MAX) } else { 0 };
        let mut tally = Tally { count: counted, over: decides && left_out > 0, ..Tally::default() };
        let length = range.len();
        let mut visit = |element: usize, tally: Tally| {
            let next = element.saturating_add(1);
            self.visit(id, inner, range, element..next, tally)
        };
        let found = index.find(digest).map(|position| element_at(position as usize, length, end));
        match end {
            GrowingEnd::Front => {
                let open = length.saturating_sub(settled);
                for element in (0..open).chain(found) {
                    if tally.over {
                        break;
                    }
                    tally = visit(element, tally)?;
                }
            }
            GrowingEnd::Back => {
                let mut found: Vec<usize> = found.collect();
                found.reverse();
                for element in found.into_iter().chain(settled..length) {
                    if tally.over {
                        break;
                    }
                    tally = visit(element, tally)?;
                }
            }
        }
        Some(tally)
    }
}

/// Where an element stands in a list, by its position counted from the oldest.
pub(super) fn element_at(position: usize, length: usize, end: GrowingEnd) -> usize {
    match end {
        GrowingEnd::Back => position,
        GrowingEnd::Front => length.saturating_sub(position).saturating_sub(1),
    }
}
