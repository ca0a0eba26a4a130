//! The macros over lists and maps: each is one loop. Those that make a list or a map are here, those that end in a truth
//! or a number in `tally`.
//!
//! The variables of a loop are places of the frame that each round overwrites. An error of a body ends the loop.

use super::evaluator::Evaluator;
use super::watch::Watch;
use crate::fault::{ErrorCode, Fault};
use crate::plan::{Local, Loop, LoopKind, NodeId};
use crate::types::At;
use crate::value::{Entries, Growth, Key, List, Map, Repeated, TimeOrder, Value, View};

/// What a loop goes through.
pub(super) enum Range<'a> {
    List(List<'a>),
    Map(Map<'a>),
}

impl<'a> Range<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Map(map) => map.len(),
        }
    }

    /// The element or key.
    fn element(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Self::List(list) => list.get(index),
            Self::Map(map) => map.key(index).map(|key| key.value()),
        }
    }

    /// Gives a variable the element or key. It is written where it belongs: a value that is moved there in between costs
    /// more than most of what a loop asks of it.
    #[inline(always)]
    fn show(&self, index: usize, place: &mut Value<'a>) -> Option<()> {
        match self {
            Self::List(List::Live { of, at }) => match of.item(*at, index)? {
                View::Text(text) => *place = Value::text(text),
                View::Time(text) => *place = Value::time_text(text),
                View::Record { of, at } => *place = Value::record(of, at),
                View::Json(json) => json.show(place),
                other => *place = other.into(),
            },
            Self::List(List::Json(array)) => array.item(index)?.show(place),
            Self::Map(Map::Live { of, at }) => *place = Value::text(of.shape(*at).key(index)?),
            other => *place = other.element(index)?,
        }
        Some(())
    }

    /// The texts that stand in a part of it, if they are a host's few names.
    pub(super) fn names(&self, part: std::ops::Range<usize>) -> Option<Vec<Repeated<'a>>> {
        match *self {
            Self::List(List::Live { of, at }) => of.names(at, part),
            _ => None,
        }
    }

    /// How it grows, if it is a part of a host's structs that does, and which part that is.
    pub(super) fn growth(&self) -> Option<(At, Growth<'a>)> {
        match *self {
            Self::List(List::Live { of, at }) => of.growth(at).map(|growth| (at, growth)),
            Self::Map(Map::Live { of, at }) => of.growth(at).map(|growth| (at, growth)),
            _ => None,
        }
    }

    /// How it grows, and which of its settled elements stand in the order of time, if its host knows that of some.
    pub(super) fn time_order(&self) -> Option<(Growth<'a>, TimeOrder)> {
        match *self {
            Self::List(List::Live { of, at }) => Some((of.growth(at)?, of.time_order(at)?)),
            _ => None,
        }
    }

    /// Whether an element that is null stands for nothing at all.
    fn has_gaps(&self) -> bool {
        matches!(self, Self::List(List::Live { of, at }) if of.has_gaps(*at))
    }

    /// Index and element, or key and value.
    fn pair(&self, index: usize) -> Option<(Value<'a>, Value<'a>)> {
        match self {
            Self::List(list) => Some((Value::Int(i64::try_from(index).ok()?), list.get(index)?)),
            Self::Map(map) => map.entry(index).map(|(key, value)| (key.value(), value)),
        }
    }
}

impl<'a, W: Watch<'a>> Evaluator<'a, '_, '_, W> {
    pub(super) fn run_loop(&mut self, id: NodeId, inner: &'a Loop) -> Option<Value<'a>> {
        let range = match self.eval(inner.range)? {
            Value::List(list) => Range::List(list),
            Value::Map(map) => Range::Map(map),
            other => return self.progress.fail(id, Fault::no_overload([other.kind()])),
        };
        match inner.kind {
            LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne | LoopKind::Count | LoopKind::Sum(_) => {
                self.tally(id, inner, &range)
            }
            LoopKind::Filter => self.filter(id, inner, &range),
            LoopKind::Map => self.transform(id, inner, &range),
            LoopKind::TransformMap => self.transform_map(id, inner, &range),
            LoopKind::TransformMapEntry => self.transform_entries(id, inner, &range),
            LoopKind::SortBy => self.sort_by(id, inner, &range),
        }
    }

    /// Begins a round: pays for it and gives the variables their values.
    #[inline(always)]
    pub(super) fn round(&mut self, id: NodeId, inner: &Loop, range: &Range<'a>, index: usize) -> Option<()> {
        self.progress.charge(id, 1)?;
        match inner.second {
            None => {
                let place = self.locals.get_mut(inner.first.0 as usize);
                if place.and_then(|place| range.show(index, place)).is_none() {
                    return self.progress.fail(id, ErrorCode::IndexOutOfBounds);
                }
            }
            Some(second) => match range.pair(index) {
                Some((key, value)) => {
                    self.set(inner.first, key);
                    self.set(second, value);
                }
                None => return self.progress.fail(id, ErrorCode::IndexOutOfBounds),
            },
        }
        let element = inner.second.unwrap_or(inner.first);
        let is_gap = match self.locals.get(element.0 as usize) {
            Some(Value::Null | Value::Map(Map::Live { .. })) => range.has_gaps(),
            _ => false,
        };
        self.mark_gap(element, is_gap);
        if W::IS_ON {
            let variable = |local: Local| self.locals.get(local.0 as usize).cloned();
            let variables = [variable(inner.first), inner.second.and_then(variable)];
            self.watch.round(id, variables);
        }
        Some(())
    }

    fn filter(&mut self, id: NodeId, inner: &Loop, range: &Range<'a>) -> Option<Value<'a>> {
        self.progress.charge_built(id, List::bytes(0))?;
        let mut kept = Vec::new();
        for index in 0..range.len() {
            self.round(id, inner, range, index)?;
            if self.bool(inner.body)? {
                self.progress.charge_built(id, size_of::<Value<'_>>())?;
                kept.extend(range.element(index));
            }
        }
        Some(Value::list(kept))
    }

    /// Whether this round counts, where the macro has a condition.
    pub(super) fn counts(&mut self, inner: &Loop) -> Option<bool> {
        inner.filter.map_or(Some(true), |filter| self.bool(filter))
    }

    fn transform(&mut self, id: NodeId, inner: &Loop, range: &Range<'a>) -> Option<Value<'a>> {
        self.progress.charge_built(id, List::bytes(0))?;
        let mut items = Vec::new();
        for index in 0..range.len() {
            self.round(id, inner, range, index)?;
            if self.counts(inner)? {
                self.progress.charge_built(id, size_of::<Value<'_>>())?;
                items.push(self.eval(inner.body)?);
            }
        }
        Some(Value::list(items))
    }

    fn sort_by(&mut self, id: NodeId, inner: &Loop, range: &Range<'a>) -> Option<Value<'a>> {
        let mut keyed = Vec::new();
        for index in 0..range.len() {
            self.round(id, inner, range, index)?;
            self.progress.charge_built(id, size_of::<(Value<'_>, Value<'_>)>())?;
            let key = self.eval(inner.body)?;
            keyed.extend(range.element(index).map(|element| (key, element)));
        }
        let sorted = List::sorted(&mut self.progress.meter, keyed);
        self.progress.at(id, sorted).map(Value::List)
    }

    /// Each entry keeps its key (a list, its index) and gets a new value.
    fn transform_map(&mut self, id: NodeId, inner: &Loop, range: &Range<'a>) -> Option<Value<'a>> {
        self.progress.charge_built(id, Map::bytes(0))?;
        let mut entries = Entries::new();
        for index in 0..range.len() {
            self.round(id, inner, range, index)?;
            if self.counts(inner)? {
                self.progress.charge_built(id, Map::ENTRY_BYTES)?;
                let value = self.eval(inner.body)?;
                let key = range.pair(index).and_then(|(key, _)| Key::from_value(&key));
                entries.extend(key.map(|key| (key, value)));
            }
        }
        Some(Value::map(entries))
    }

    /// Each entry becomes the entries of the map that the body gives; no key may come twice.
    fn transform_entries(&mut self, id: NodeId, inner: &Loop, range: &Range<'a>) -> Option<Value<'a>> {
        self.progress.charge_built(id, Map::bytes(0))?;
        let mut entries = Entries::new();
        for index in 0..range.len() {
            self.round(id, inner, range, index)?;
            if !self.counts(inner)? {
                continue;
            }
            let Value::Map(made) = self.eval(inner.body)? else {
                return self.progress.fail(inner.body, ErrorCode::NoMatchingOverload);
            };
            for (key, value) in made.iter() {
                self.progress.charge_built(id, Map::ENTRY_BYTES)?;
                if entries.insert(key, value).is_some() {
                    return self.progress.fail(inner.body, ErrorCode::DuplicateKey);
                }
            }
        }
        Some(Value::map(entries))
    }
}
