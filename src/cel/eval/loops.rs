//! The macros over lists and maps: each is one loop that stops as soon as its answer is known.
//!
//! `all` and `exists` absorb the errors of their predicate as `&&` and `||` do; the others do not. The variables of a
//! loop are places of the frame that each round overwrites.

use super::error::Halt;
use super::evaluator::{Evaluator, at};
use crate::cel::fault::{ErrorCode, Fault};
use crate::cel::plan::{Loop, LoopKind, NodeId};
use crate::cel::value::{Entries, Key, List, Map, Value};

/// What a loop goes through.
enum Range<'a> {
    List(List<'a>),
    Map(Map<'a>),
}

impl<'a> Range<'a> {
    fn len(&self) -> usize {
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

    /// Index and element, or key and value.
    fn pair(&self, index: usize) -> Option<(Value<'a>, Value<'a>)> {
        match self {
            Self::List(list) => Some((Value::Int(i64::try_from(index).ok()?), list.get(index)?)),
            Self::Map(map) => map.entry(index).map(|(key, value)| (key.value(), value)),
        }
    }
}

impl<'a> Evaluator<'a, '_> {
    pub(super) fn run_loop(&mut self, id: NodeId, inner: &'a Loop) -> Result<Value<'a>, Halt> {
        let range = match self.eval(inner.range)? {
            Value::List(list) => Range::List(list),
            Value::Map(map) => Range::Map(map),
            other => return Err(Halt::Fault(Fault::no_overload([other.kind()]), id)),
        };
        match inner.kind {
            LoopKind::All => self.quantify(id, inner, &range, false),
            LoopKind::Exists => self.quantify(id, inner, &range, true),
            LoopKind::ExistsOne => self.count(id, inner, &range).map(|count| Value::Bool(count == 1)),
            LoopKind::Count => self.count(id, inner, &range).map(Value::Int),
            LoopKind::Filter => self.filter(id, inner, &range),
            LoopKind::Map => self.transform(id, inner, &range),
            LoopKind::TransformMap => self.transform_map(id, inner, &range),
            LoopKind::TransformMapEntry => self.transform_entries(id, inner, &range),
            LoopKind::SortBy => self.sort_by(id, inner, &range),
        }
    }

    /// Begins a round: pays for it and gives the variables their values.
    fn round(&mut self, id: NodeId, inner: &Loop, range: &Range<'a>, index: usize) -> Result<(), Halt> {
        self.charge(id, 1)?;
        let gone = Halt::Fault(ErrorCode::IndexOutOfBounds.into(), id);
        match inner.second {
            None => {
                let element = range.element(index).ok_or(gone)?;
                self.set(inner.first, element);
            }
            Some(second) => {
                let (key, value) = range.pair(index).ok_or(gone)?;
                self.set(inner.first, key);
                self.set(second, value);
            }
        }
        Ok(())
    }

    fn quantify(
        &mut self,
        id: NodeId,
        inner: &Loop,
        range: &Range<'a>,
        deciding: bool,
    ) -> Result<Value<'a>, Halt> {
        let mut error = None;
        for index in 0..range.len() {
            self.round(id, inner, range, index)?;
            match self.bool(inner.body) {
                Ok(value) if value == deciding => return Ok(Value::Bool(deciding)),
                Ok(_) => {}
                Err(halt) if halt.is_final() => return Err(halt),
                Err(halt) => error = error.or(Some(halt)),
            }
        }
        error.map_or(Ok(Value::Bool(!deciding)), Err)
    }

    fn count(&mut self, id: NodeId, inner: &Loop, range: &Range<'a>) -> Result<i64, Halt> {
        let mut count: i64 = 0;
        for index in 0..range.len() {
            self.round(id, inner, range, index)?;
            count = count.saturating_add(i64::from(self.bool(inner.body)?));
        }
        Ok(count)
    }

    fn filter(&mut self, id: NodeId, inner: &Loop, range: &Range<'a>) -> Result<Value<'a>, Halt> {
        let mut kept = Vec::new();
        for index in 0..range.len() {
            self.round(id, inner, range, index)?;
            if self.bool(inner.body)? {
                at(id, self.meter.charge_built(size_of::<Value<'_>>()))?;
                kept.extend(range.element(index));
            }
        }
        Ok(Value::list(kept))
    }

    /// Whether this round counts, where the macro has a condition.
    fn counts(&mut self, inner: &Loop) -> Result<bool, Halt> {
        inner.filter.map_or(Ok(true), |filter| self.bool(filter))
    }

    fn transform(&mut self, id: NodeId, inner: &Loop, range: &Range<'a>) -> Result<Value<'a>, Halt> {
        let mut items = Vec::new();
        for index in 0..range.len() {
            self.round(id, inner, range, index)?;
            if self.counts(inner)? {
                at(id, self.meter.charge_built(size_of::<Value<'_>>()))?;
                items.push(self.eval(inner.body)?);
            }
        }
        Ok(Value::list(items))
    }

    fn sort_by(&mut self, id: NodeId, inner: &'a Loop, range: &Range<'a>) -> Result<Value<'a>, Halt> {
        at(id, List::charge(&mut self.meter, range.len()))?;
        let mut keyed = Vec::new();
        for index in 0..range.len() {
            self.round(id, inner, range, index)?;
            let key = self.eval(inner.body)?;
            keyed.extend(range.element(index).map(|element| (key, element)));
        }
        at(id, List::sorted(&mut self.meter, keyed)).map(Value::List)
    }

    /// Each entry keeps its key (a list, its index) and gets a new value.
    fn transform_map(&mut self, id: NodeId, inner: &Loop, range: &Range<'a>) -> Result<Value<'a>, Halt> {
        let mut entries = Entries::new();
        for index in 0..range.len() {
            self.round(id, inner, range, index)?;
            if self.counts(inner)? {
                at(id, self.meter.charge_built(size_of::<(Key<'_>, Value<'_>)>()))?;
                let value = self.eval(inner.body)?;
                let key = range.pair(index).and_then(|(key, _)| Key::from_value(&key));
                entries.extend(key.map(|key| (key, value)));
            }
        }
        Ok(Value::map(entries))
    }

    /// Each entry becomes the entries of the map that the body gives; no key may come twice.
    fn transform_entries(&mut self, id: NodeId, inner: &Loop, range: &Range<'a>) -> Result<Value<'a>, Halt> {
        let mut entries = Entries::new();
        for index in 0..range.len() {
            self.round(id, inner, range, index)?;
            if !self.counts(inner)? {
                continue;
            }
            let Value::Map(made) = self.eval(inner.body)? else {
                return Err(Halt::Fault(ErrorCode::NoMatchingOverload.into(), inner.body));
            };
            for (key, value) in made.iter() {
                at(id, self.meter.charge_built(size_of::<(Key<'_>, Value<'_>)>()))?;
                if entries.insert(key, value).is_some() {
                    return Err(Halt::Fault(ErrorCode::DuplicateKey.into(), inner.body));
                }
            }
        }
        Ok(Value::map(entries))
    }
}
