//! The loops that end in one truth, one number or one sum: `all`, `exists`, `exists_one`, `filter(…).size()` and `map(…).sum()`.
//!
//! `all` and `exists` absorb the errors of their predicate as `&&` and `||` do; the others do not. Over a list that only
//! grows, such a loop goes through what was appended since it ran last and takes the rest from memory. What comes out is
//! the same either way, to the error, its place and the cost: a loop over a list is a loop over its beginning followed by
//! one over its end, so what each of them came to can be put together, whichever of them was kept.

use super::error::Halt;
use super::evaluator::Evaluator;
use super::loops::Range;
use super::progress::Progress;
use super::watch::Watch;
use crate::meter::Spent;
use crate::plan::{Loop, LoopKind, NodeId};
use crate::stdlib::SUMMAND_UNITS;
use crate::value::{FoldKey, GrowingEnd, Growth, Kept, Total, Value};

/// From how many elements on a loop looks for names that repeat.
const MANY: usize = 32;

/// What a run of rounds came to.
#[derive(Clone, Default)]
pub(super) struct Tally {
    /// In how many the predicate held.
    pub(super) count: i64,
    /// What those of a sum come to.
    pub(super) total: Total,
    /// The first error.
    pub(super) error: Option<Halt>,
    /// Whether no further round matters: `all` and `exists` are decided, the others have failed.
    pub(super) over: bool,
}

impl Tally {
    /// One more round, in which the predicate held or did not.
    fn add(&mut self, held: bool, deciding: Option<bool>) {
        self.count = self.count.saturating_add(i64::from(held));
        self.over = deciding == Some(held);
    }

    /// So many more rounds, in each of which the predicate held, or in none.
    pub(super) fn add_many(&mut self, rounds: usize, held: bool, deciding: Option<bool>) {
        let more = if held { i64::try_from(rounds).unwrap_or(i64::MAX) } else { 0 };
        self.count = self.count.saturating_add(more);
        self.over = rounds > 0 && deciding == Some(held);
    }

    /// What these rounds and then those come to.
    ///
    /// # Errors
    /// These rounds alone, if one of those would have failed after them: then those have to be gone through, to find which.
    fn then(self, next: Self) -> Result<Self, Self> {
        if self.over {
            return Ok(self);
        }
        if !self.total.fits(&next.total) {
            return Err(self);
        }
        let count = self.count.saturating_add(next.count);
        let total = self.total.and(next.total);
        Ok(Self { count, total, error: self.error.or(next.error), over: next.over })
    }

    fn of(kept: Kept) -> Self {
        let error = kept.error.map(|(fault, at)| Halt::Fault(fault, NodeId(at)));
        Self { count: kept.count, total: kept.total, error, over: kept.over }
    }

    fn kept(&self, epoch: u64, seen: usize, spent: Spent) -> Kept {
        let error = self.error.and_then(|halt| match halt {
            Halt::Fault(fault, at) => Some((fault, at.0)),
            // is never absorbed, so it is in no tally
            Halt::Asked => None,
        });
        Kept { epoch, seen, spent, count: self.count, total: self.total.clone(), over: self.over, error }
    }
}

/// The truth that decides at once, of the loops that have one.
pub(super) fn deciding(kind: LoopKind) -> Option<bool> {
    match kind {
        LoopKind::All => Some(false),
        LoopKind::Exists => Some(true),
        _ => None,
    }
}

impl<'a, W: Watch<'a>> Evaluator<'a, '_, '_, W> {
    /// The truth or the number that a loop ends in.
    pub(super) fn tally(&mut self, id: NodeId, inner: &'a Loop, range: &Range<'a>) -> Option<Value<'a>> {
        let keeps = self.progress.meter.limits().max_folds > 0;
        // rounds that are taken from memory would not be seen; they cost the same either way
        let growth = inner.fold.filter(|_| keeps && !W::IS_ON).and_then(|fold| Some((fold, range.growth()?)));
        let tally = match growth {
            Some((fold, (at, growth))) => self.go_on(id, inner, range, FoldKey(fold, at), &growth)?,
            None => {
                let correlation = inner.correlation.as_ref().filter(|_| keeps && range.len() >= MANY);
                let found = match correlation.zip(range.growth()) {
                    Some((correlation, (at, growth))) => {
                        self.matches(id, inner, correlation, range, at, &growth)?
                    }
                    None => None,
                };
                let window = inner.window.filter(|_| found.is_none() && keeps && range.len() >= MANY);
                let found = match window.zip(range.time_order()) {
                    Some((window, (growth, order))) => {
                        self.windowed(id, inner, window, range, &growth, order)?
                    }
                    None => found,
                };
                match found {
                    Some(tally) => tally,
                    None => self.visit(id, inner, range, 0..range.len(), Tally::default())?,
                }
            }
        };
        match (deciding(inner.kind), tally) {
            (Some(deciding), Tally { over: true, .. }) => Some(Value::Bool(deciding)),
            (_, Tally { error: Some(halt), .. }) => self.progress.halt(halt),
            (Some(deciding), _) => Some(Value::Bool(!deciding)),
            (None, Tally { count, total, .. }) => match inner.kind {
                LoopKind::ExistsOne => Some(Value::Bool(count == 1)),
                LoopKind::Sum(summand) => {
                    let sum = self.progress.at(id, total.value())?;
                    Some(sum.unwrap_or_else(|| summand.zero()))
                }
                _ => Some(Value::Int(count)),
            },
        }
    }

    /// Goes through a part of the range, unless the loop is over before.
    pub(super) fn visit(
        &mut self,
        id: NodeId,
        inner: &'a Loop,
        range: &Range<'a>,
        part: std::ops::Range<usize>,
        mut tally: Tally,
    ) -> Option<Tally> {
        let deciding = deciding(inner.kind);
        if !W::IS_ON
            && inner.fold.is_some()
            && part.len() >= MANY
            && !tally.over
            && let Some(names) = self.visit_names(id, inner, range, part.clone())
        {
            return tally.then(names).ok();
        }
        for index in part {
            if tally.over {
                break;
            }
            self.round(id, inner, range, index)?;
            let held = match inner.kind {
                LoopKind::Sum(_) => self.add_summand(id, inner, &mut tally.total),
                _ => self.bool(inner.body),
            };
            match held {
                Some(held) => tally.add(held, deciding),
                None => {
                    let halt = self.progress.absorb()?;
                    tally.error.get_or_insert(halt);
                    tally.over = deciding.is_none();
                }
            }
        }
        Some(tally)
    }

    /// Adds what the element of a round comes to, if it counts.
    fn add_summand(&mut self, id: NodeId, inner: &'a Loop, total: &mut Total) -> Option<bool> {
        if !self.counts(inner)? {
            return Some(false);
        }
        let summand = self.eval(inner.body)?;
        self.progress.charge(id, SUMMAND_UNITS)?;
        let added = total.add(&summand);
        self.progress.at(id, added).map(|()| true)
    }

    /// Goes through a part of a history of thousands of calls that name a handful of functions: a predicate that reads
    /// nothing but its element comes to the same for the same text, and costs the same, so it is asked once of each.
    /// Nothing if that does not tell: the elements are no such names, one of them fails, or the budget would not do.
    fn visit_names(
        &mut self,
        id: NodeId,
        inner: &'a Loop,
        range: &Range<'a>,
        part: std::ops::Range<usize>,
    ) -> Option<Tally> {
        if matches!(inner.kind, LoopKind::Sum(_)) {
            return None;
        }
        let deciding = deciding(inner.kind);
        let names = range.names(part.clone())?;
        let budget = self.progress.meter.clone();
        let mut asked = Vec::with_capacity(names.len());
        for name in &names {
            let before = self.progress.meter.spent();
            let held = self.progress.charge(id, 1).and_then(|()| {
                self.set(inner.first, Value::text(name.text));
                self.bool(inner.body)
            });
            asked.extend(held.map(|held| (name, held, self.progress.meter.spent().since(before))));
        }
        self.progress.meter = budget;
        if asked.len() < names.len() {
            // what failed here fails again where it stands
            self.progress.forget();
            return None;
        }
        let decisive = asked.iter().filter(|(_, held, _)| deciding == Some(*held));
        let decided = decisive.map(|(name, ..)| name.first).min();
        let counted = match decided {
            Some(first) => range.names(part.start..first.saturating_add(1))?,
            None => names.clone(),
        };
        let mut tally = Tally { over: decided.is_some(), ..Tally::default() };
        let mut whole = Spent::default();
        // those of a part stand in the order of all
        let mut asked = asked.iter();
        for name in counted {
            let (_, held, spent) = asked.find(|(known, ..)| std::ptr::eq(known.text, name.text))?;
            whole = whole.plus(spent.times(name.count as u64));
            tally.count =
                tally.count.saturating_add(if *held { i64::try_from(name.count).ok()? } else { 0 });
        }
        self.progress.meter.pay(whole).then_some(tally)
    }

    /// Goes through the range in its order, but takes from memory what was gone through before. Counted from the oldest
    /// element, there is what was `seen`, what `settled` since, and what may still change and is gone through each time.
    fn go_on(
        &mut self,
        id: NodeId,
        inner: &'a Loop,
        range: &Range<'a>,
        key: FoldKey,
        growth: &Growth<'_>,
    ) -> Option<Tally> {
        let length = range.len();
        let settled = growth.settled.min(length);
        let kept = growth.folds.get(key);
        let kept = kept.filter(|kept| kept.epoch == growth.epoch && kept.seen <= settled);
        let seen = kept.as_ref().map_or(0, |kept| kept.seen);
        let keep = |progress: &Progress<'_>, before: Spent, tally: &Tally| {
            if settled > seen {
                let spent = progress.meter.spent().since(before);
                let kept = tally.kept(growth.epoch, settled, spent);
                growth.folds.put(key, kept, progress.meter.limits().max_folds);
            }
        };
        match growth.end {
            GrowingEnd::Back => {
                let before = self.progress.meter.spent();
                let (from, known) = match kept.filter(|kept| self.progress.meter.pay(kept.spent)) {
                    Some(kept) => (seen, Tally::of(kept)),
                    None => (0, Tally::default()),
                };
                if from == length {
                    return Some(known);
                }
                let tally = self.visit(id, inner, range, from..settled, known)?;
                keep(&self.progress, before, &tally);
                self.visit(id, inner, range, settled..length, tally)
            }
            GrowingEnd::Front => {
                let (open, known) = (length.saturating_sub(settled), length.saturating_sub(seen));
                let first = self.visit(id, inner, range, 0..open, Tally::default())?;
                if first.over {
                    return Some(first);
                }
                let (start, before) = (self.checkpoint(), self.progress.meter.spent());
                let settled_rounds = || {
                    let new = self.visit(id, inner, range, open..known, Tally::default())?;
                    let joins = |kept: &Kept| !new.over && new.total.fits(&kept.total);
                    let kept = kept.filter(joins).filter(|kept| self.progress.meter.pay(kept.spent));
                    let tally = match kept.map(Tally::of) {
                        Some(kept) => new.then(kept).unwrap_or_else(|new| new),
                        None => self.visit(id, inner, range, known..length, new)?,
                    };
                    keep(&self.progress, before, &tally);
                    Some(tally)
                };
                let first = match settled_rounds().map(|settled| first.clone().then(settled)) {
                    Some(Ok(tally)) => return Some(tally),
                    // one of them may fail because of what the first came to, before the budget is at its end
                    Some(Err(first)) => first,
                    None if first.total.is_nothing() => return None,
                    None => first,
                };
                self.go_back(start);
                self.visit(id, inner, range, open..length, first)
            }
        }
    }
}
