//! Equality and order. Numbers compare by value across their types; all else only within its kind.
//!
//! Equality never fails: values of different kinds are unequal (`CEL-04`, and CEL's heterogeneous equality). Order
//! fails where it has no meaning. Both walk into lists and maps and cost what they visit.

use super::{List, Map, Value};
use crate::fault::{ErrorCode, Fault};
use crate::meter::Meter;
use std::cmp::Ordering;

impl Value<'_> {
    /// CEL's `==`. Linear in the smaller value.
    #[must_use]
    pub fn equals(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Self::Null, Value::Null) => true,
            (Self::Bool(a), Value::Bool(b)) => a == b,
            (Self::Int(a), Value::Int(b)) => a == b,
            (Self::String(a), Value::String(b)) => **a == **b,
            (Self::Bytes(a), Value::Bytes(b)) => **a == **b,
            (Self::Timestamp(a), Value::Timestamp(b)) => a == b,
            (Self::Duration(a), Value::Duration(b)) => a == b,
            (Self::Type(a), Value::Type(b)) => a == b,
            (Self::Opaque(a), Value::Opaque(b)) => a == b,
            (Self::List(a), Value::List(b)) => lists_equal(a, b),
            (Self::Map(a), Value::Map(b)) => maps_equal(a, b),
            (Self::Optional(a), Value::Optional(b)) => match (a, b) {
                (Some(a), Some(b)) => a.equals(b),
                (None, None) => true,
                _ => false,
            },
            (a, b) => numbers(a, b) == Some(Some(Ordering::Equal)),
        }
    }

    /// CEL's `==`, charged to the budget: text by its length, lists and maps by their contents. Values of different lengths differ
    /// at once and cost nothing.
    ///
    /// # Errors
    /// `budget_exceeded` before a walk that would cost too much, `value_shortened` for a value that is not there whole.
    #[inline]
    pub fn equals_metered(&self, other: &Value<'_>, meter: &mut Meter<'_>) -> Result<bool, Fault> {
        match (self, other) {
            (Self::String(a), Value::String(b)) if a.len() == b.len() => meter.charge_text(a.len())?,
            (Self::Bytes(a), Value::Bytes(b)) if a.len() == b.len() => meter.charge_text(a.len())?,
            (Self::Opaque(a), Value::Opaque(b)) => meter.charge_text(a.bytes().min(b.bytes()))?,
            (Self::List(a), Value::List(b)) if a.len() == b.len() => {
                meter.charge(self.weight(meter.left()))?
            }
            (Self::Map(a), Value::Map(b)) if a.len() == b.len() => meter.charge(self.weight(meter.left()))?,
            (Self::Optional(Some(a)), Value::Optional(Some(b))) => return a.equals_metered(b, meter),
            (Self::Shortened, _) | (_, Value::Shortened) => return Err(ErrorCode::ValueShortened.into()),
            _ => return Ok(self.equals(other)),
        }
        if self.holds_shortened() || other.holds_shortened() {
            return Err(ErrorCode::ValueShortened.into());
        }
        Ok(self.equals(other))
    }

    /// Whether a value that was shortened stands somewhere in this one. Linear in lists and maps that were computed or
    /// are a host's own; a document is shortened as a whole or not at all.
    #[must_use]
    pub fn holds_shortened(&self) -> bool {
        match self {
            Self::Shortened => true,
            Self::Optional(Some(value)) => value.holds_shortened(),
            Self::List(List::Json(_)) | Self::Map(Map::Json(_)) => false,
            Self::List(list) => list.iter().any(|item| item.holds_shortened()),
            Self::Map(map) => map.iter().any(|(_, value)| value.holds_shortened()),
            _ => false,
        }
    }

    /// The cost of a walk over the value, in cost units, counted no further than `most`.
    #[must_use]
    pub fn weight(&self, most: u64) -> u64 {
        match self {
            Self::List(list) => list.iter().fold(1, |sum, item| add_weight(sum, &item, most)),
            Self::Map(map) => map
                .iter()
                .fold(1, |sum, (key, value)| add_weight(add_weight(sum, &key.value(), most), &value, most)),
            Self::Optional(Some(value)) => value.weight(most).saturating_add(1),
            Self::String(text) => (text.len() as u64 / 10).saturating_add(1),
            Self::Bytes(bytes) => (bytes.len() as u64 / 10).saturating_add(1),
            Self::Opaque(value) => (value.bytes() as u64 / 10).saturating_add(1),
            _ => 1,
        }
    }

    /// CEL's order, for `<` and its kin. A NaN stands in no order, which is no fault. A time that a host gives as text
    /// ([`Text::Time`](super::Text::Time)) is ordered as a time.
    ///
    /// # Errors
    /// `no_matching_overload` for kinds that have no order, or two kinds that are not both numbers.
    #[inline]
    pub fn order(&self, other: &Value<'_>) -> Result<Option<Ordering>, Fault> {
        match (self, other) {
            (Self::Int(a), Value::Int(b)) => Ok(Some(a.cmp(b))),
            (Self::String(a), Value::String(b)) => Ok(Some(a.order(b))),
            (Self::Bool(a), Value::Bool(b)) => Ok(Some(a.cmp(b))),
            (Self::Bytes(a), Value::Bytes(b)) => Ok(Some((**a).cmp(&**b))),
            (Self::Timestamp(a), Value::Timestamp(b)) => Ok(Some(a.cmp(b))),
            (Self::Duration(a), Value::Duration(b)) => Ok(Some(a.cmp(b))),
            (a, b) => numbers(a, b).ok_or_else(|| Fault::no_overload([a.kind(), b.kind()])),
        }
    }
}

fn add_weight(sum: u64, value: &Value<'_>, most: u64) -> u64 {
    if sum > most { sum } else { sum.saturating_add(value.weight(most.saturating_sub(sum))) }
}

fn lists_equal(a: &List<'_>, b: &List<'_>) -> bool {
    a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.equals(&b))
}

fn maps_equal(a: &Map<'_>, b: &Map<'_>) -> bool {
    a.len() == b.len() && a.iter().all(|(key, value)| b.get(&key).is_some_and(|other| value.equals(&other)))
}

/// The order of two numbers of any types: nothing if one is no number, and no order if one is NaN.
fn numbers(a: &Value<'_>, b: &Value<'_>) -> Option<Option<Ordering>> {
    Some(match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::UInt(a), Value::UInt(b)) => Some(a.cmp(b)),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::UInt(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::UInt(a), Value::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Int(a), Value::Double(b)) => whole_to_double(i128::from(*a), *b),
        (Value::UInt(a), Value::Double(b)) => whole_to_double(i128::from(*a), *b),
        (Value::Double(a), Value::Int(b)) => whole_to_double(i128::from(*b), *a).map(Ordering::reverse),
        (Value::Double(a), Value::UInt(b)) => whole_to_double(i128::from(*b), *a).map(Ordering::reverse),
        _ => return None,
    })
}

/// Compares as doubles, as the conformance suite has it: of whole numbers beyond 53 bits the nearest double counts, so
/// the greatest `int` equals `9223372036854775808.0`.
#[expect(clippy::cast_precision_loss, reason = "the nearest double is what is compared")]
fn whole_to_double(whole: i128, double: f64) -> Option<Ordering> {
    (whole as f64).partial_cmp(&double)
}
