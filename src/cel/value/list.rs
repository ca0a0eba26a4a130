//! Lists: a host's own, a stored JSON array, a slice of constants, or one that was computed.

use super::json::JsonRef;
use super::live::LiveList;
use super::{Text, Value};
use crate::fault::Fault;
use crate::meter::Meter;
use crate::types::At;
use std::sync::Arc;

/// A list of values.
#[derive(Clone, Debug)]
pub enum List<'a> {
    /// A part of a host's structs, seen as a list.
    Live {
        /// The structs.
        of: &'a dyn LiveList,
        /// Which part.
        at: At,
    },
    /// A JSON array.
    Json(JsonRef<'a>),
    /// Values that outlive the evaluation.
    Slice(&'a [Value<'a>]),
    /// Values that were computed.
    Shared(Arc<Vec<Value<'a>>>),
}

impl<'a> List<'a> {
    /// The number of elements.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Live { of, at } => of.len(*at),
            Self::Json(array) => array.len(),
            Self::Slice(items) => items.len(),
            Self::Shared(items) => items.len(),
        }
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of its elements, as `size()` gives it.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Live { of, at } => of.size(*at),
            _ => self.len(),
        }
    }

    /// One element; nothing past the end. Constant time.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Self::Live { of, at } => of.item(*at, index).map(Value::from),
            Self::Json(array) => array.item(index).map(JsonRef::value),
            Self::Slice(items) => items.get(index).map(Value::borrowed),
            Self::Shared(items) => items.get(index).cloned(),
        }
    }

    /// Bytes that a computed list of this length takes, its own part included.
    #[must_use]
    pub const fn bytes(length: usize) -> usize {
        length.saturating_add(2).saturating_mul(size_of::<Value<'_>>())
    }

    /// Pays for building a list of this many elements, before it is built.
    ///
    /// # Errors
    /// `budget_exceeded`.
    pub fn charge(meter: &mut Meter<'_>, length: usize) -> Result<(), Fault> {
        meter.charge(length as u64)?;
        meter.charge_built(length.saturating_mul(size_of::<Value<'_>>()))
    }

    /// The values in the ascending order of their keys, which must be of one kind that has an order. Values of equal
    /// keys stay as they stood, and NaN comes last.
    ///
    /// # Errors
    /// `no_matching_overload` for other keys, `budget_exceeded` before the work is done.
    ///
    /// # Cost
    /// The size of the keys times the logarithm of their number.
    pub fn sorted(meter: &mut Meter<'_>, mut keyed: Vec<(Value<'a>, Value<'a>)>) -> Result<Self, Fault> {
        let rounds = u64::from(usize::BITS.saturating_sub(keyed.len().leading_zeros()));
        let kind = keyed.first().map(|(key, _)| key.kind());
        for (key, _) in &keyed {
            let alike = kind == Some(key.kind()) && key.order(key).is_ok();
            if !alike {
                return Err(Fault::no_overload(kind.into_iter().chain([key.kind()])));
            }
            meter.charge(key.weight(meter.left()).saturating_mul(rounds))?;
        }
        let is_nan = |key: &Value<'_>| matches!(key, Value::Double(key) if key.is_nan());
        // times among other texts would stand in no one order: `a < b` and `b < c` would not make `a < c`
        let as_times = keyed.iter().all(|(key, _)| matches!(key, Value::String(Text::Time(_))));
        keyed.sort_by(|(a, _), (b, _)| match (a, b) {
            (Value::String(a), Value::String(b)) if !as_times => (**a).cmp(&**b),
            (a, b) => a.order(b).ok().flatten().unwrap_or_else(|| is_nan(a).cmp(&is_nan(b))),
        });
        Ok(Self::Shared(Arc::new(keyed.into_iter().map(|(_, value)| value).collect())))
    }

    /// All elements in order.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).map_while(|index| self.get(index))
    }
}
