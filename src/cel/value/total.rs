//! Sums that are exact: the summands are added up without rounding, and what they come to is rounded once.
//!
//! In go numbers, or lengths of time, of one kind; out comes one of that kind. So the order of the summands does not matter, nor
//! where the sum of some of them was kept. Sums of doubles as `+` gives them depend on both: a history would come to another total
//! when it is read from its other end. To add one is constant time.

use super::{Duration, Value};
use crate::fault::{ErrorCode, Fault};
use crate::types::Kind;

/// What some values come to.
#[derive(Clone, Debug, Default)]
pub(crate) enum Total {
    /// No value was added.
    #[default]
    Nothing,
    Int(i128),
    UInt(u128),
    Double(Box<Doubles>),
    /// In nanoseconds.
    Duration(i128),
}

impl Total {
    /// Adds a value.
    ///
    /// # Errors
    /// `no_matching_overload` for a value that is no number and no length of time, or of another kind than those before.
    pub(crate) fn add(&mut self, value: &Value<'_>) -> Result<(), Fault> {
        if matches!(self, Self::Nothing) {
            *self = match value {
                Value::Int(_) => Self::Int(0),
                Value::UInt(_) => Self::UInt(0),
                Value::Double(_) => Self::Double(Box::default()),
                Value::Duration(_) => Self::Duration(0),
                other => return Err(Fault::no_overload([other.kind()])),
            };
        }
        // 64 bits each, and never 2^64 of them: no sum of theirs leaves 128 bits
        match (&mut *self, value) {
            (Self::Int(sum), Value::Int(value)) => *sum = sum.saturating_add(i128::from(*value)),
            (Self::UInt(sum), Value::UInt(value)) => *sum = sum.saturating_add(u128::from(*value)),
            (Self::Double(sum), Value::Double(value)) => sum.add(*value),
            (Self::Duration(sum), Value::Duration(value)) => *sum = sum.saturating_add(value.nanos()),
            (sum, other) => {
                return Err(Fault::no_overload(sum.kind().into_iter().chain([other.kind()])));
            }
        }
        Ok(())
    }

    /// The kind of the values, if there are any.
    fn kind(&self) -> Option<Kind> {
        match self {
            Self::Nothing => None,
            Self::Int(_) => Some(Kind::Int),
            Self::UInt(_) => Some(Kind::UInt),
            Self::Double(_) => Some(Kind::Double),
            Self::Duration(_) => Some(Kind::Duration),
        }
    }

    /// Whether no value was added.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Whether the values of both are of one kind.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        self.kind().zip(other.kind()).is_none_or(|(one, other)| one == other)
    }

    /// What the values of both come to, if they are of one kind; of two kinds, what its own come to.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, total) => total,
            (Self::Int(a), Self::Int(b)) => Self::Int(a.saturating_add(b)),
            (Self::UInt(a), Self::UInt(b)) => Self::UInt(a.saturating_add(b)),
            (Self::Duration(a), Self::Duration(b)) => Self::Duration(a.saturating_add(b)),
            (Self::Double(mut a), Self::Double(b)) => {
                a.join(&b);
                Self::Double(a)
            }
            (total, _) => total,
        }
    }

    /// The sum; nothing where no value was added.
    ///
    /// # Errors
    /// `overflow`.
    pub(crate) fn value(&self) -> Result<Option<Value<'static>>, Fault> {
        Ok(Some(match self {
            Self::Nothing => return Ok(None),
            Self::Int(sum) => Value::Int(i64::try_from(*sum).map_err(|_| ErrorCode::Overflow)?),
            Self::UInt(sum) => Value::UInt(u64::try_from(*sum).map_err(|_| ErrorCode::Overflow)?),
            Self::Double(sum) => Value::Double(sum.value()),
            Self::Duration(nanos) => Value::Duration(Duration::from_nanos(*nanos)?),
        }))
    }

    /// The bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        if matches!(self, Self::Double(_)) { size_of::<Doubles>() } else { 0 }
    }
}

/// The bits of each place of the sum of doubles.
const PLACE_BITS: u64 = 32;
/// Places for every bit of a double, from the smallest, 2^-1074, to the greatest, and for 64 bits of carries above.
const PLACES: usize = 68;
/// The exponent of the lowest bit.
const LOWEST: i32 = -1074;
/// After how many summands the carries have to be passed on. A place has 64 bits and each summand adds less than 2^32 to it.
const UNTIL_CARRY: u32 = 1 << 30;

/// The sum of doubles, as a fixed-point number that has room for each bit of each of them.
#[derive(Clone, Debug)]
pub(crate) struct Doubles {
    /// The lowest first. Each is a number of either sign, as carries are passed on late.
    places: [i64; PLACES],
    /// How many were added since the carries were passed on.
    added: u32,
    /// The sum of those that are not finite, if there are any: it does not depend on their order.
    special: Option<f64>,
    /// Whether all of them are the negative zero, as then the sum is.
    negative_zero: bool,
}

impl Default for Doubles {
    fn default() -> Self {
        Self { places: [0; PLACES], added: 0, special: None, negative_zero: true }
    }
}

impl Doubles {
    fn add(&mut self, value: f64) {
        self.negative_zero &= value == 0.0 && value.is_sign_negative();
        if !value.is_finite() {
            self.special = Some(self.special.map_or(value, |special| special + value));
            return;
        }
        let bits = value.to_bits();
        let (exponent, fraction) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
        // a subnormal number has the exponent of the least normal ones, and no leading bit
        let (above, mantissa) = match exponent.checked_sub(1) {
            None => (0, fraction),
            Some(above) => (above, fraction | (1 << 52)),
        };
        let (place, within) = (above / PLACE_BITS, above % PLACE_BITS);
        let mut rest = u128::from(mantissa) << within;
        let from = usize::try_from(place).unwrap_or(PLACES);
        for place in self.places.iter_mut().skip(from) {
            if rest == 0 {
                break;
            }
            let part = low_bits(rest);
            *place =
                place.saturating_add(if value.is_sign_negative() { part.saturating_neg() } else { part });
            rest >>= PLACE_BITS;
        }
        self.added = self.added.saturating_add(1);
        if self.added >= UNTIL_CARRY {
            self.carry();
        }
    }

    fn join(&mut self, other: &Self) {
        let mut other = other.clone();
        other.carry();
        self.carry();
        for (place, more) in self.places.iter_mut().zip(other.places) {
            *place = place.saturating_add(more);
        }
        self.added = 1;
        self.special = match (self.special, other.special) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.negative_zero &= other.negative_zero;
    }

    /// Passes the carries on: every place holds 32 bits afterwards, and the last one the sign with whatever is above.
    fn carry(&mut self) {
        let mut carried = 0_i64;
        if let Some((last, places)) = self.places.split_last_mut() {
            for place in places {
                let sum = place.saturating_add(carried);
                *place = sum & i64::from(u32::MAX);
                carried = sum >> PLACE_BITS;
            }
            *last = last.saturating_add(carried);
        }
        self.added = 0;
    }

    /// The sum, rounded once, to the nearest double and of two to the even one.
    fn value(&self) -> f64 {
        if let Some(special) = self.special {
            return special;
        }
        let mut sum = self.clone();
        sum.carry();
        let is_negative = sum.places.last().is_some_and(|last| *last < 0);
        if is_negative {
            sum.places.iter_mut().for_each(|place| *place = place.saturating_neg());
            sum.carry();
        }
        let Some(highest) = sum.places.iter().rposition(|place| *place != 0) else {
            return if self.negative_zero { -0.0 } else { 0.0 };
        };
        // more bits than a double has; of what is below them it matters only whether there is something
        let from = highest.saturating_sub(2);
        let (below, above) = sum.places.split_at_checked(from).unwrap_or_default();
        let top = above
            .iter()
            .take(3)
            .rev()
            .fold(0_u128, |top, place| (top << PLACE_BITS) | u128::from(place.unsigned_abs()));
        let sticky = u128::from(below.iter().any(|place| *place != 0));
        let lowest_bit = i32::try_from(from).unwrap_or(i32::MAX).saturating_mul(32).saturating_add(LOWEST);
        #[expect(clippy::cast_precision_loss, reason = "this is where the sum is rounded")]
        let rounded = (top | sticky) as f64;
        // exact, or beyond the greatest double: what has more bits than a subnormal number can hold is none
        let magnitude = rounded * power_of_two(lowest_bit);
        if is_negative { -magnitude } else { magnitude }
    }
}

/// The lowest 32 bits.
fn low_bits(bits: u128) -> i64 {
    i64::try_from(bits & u128::from(u32::MAX)).unwrap_or_default()
}

/// 2 to the power of a number from -1074 to 1023.
fn power_of_two(exponent: i32) -> f64 {
    let above_lowest = u64::try_from(exponent.saturating_sub(LOWEST)).unwrap_or_default();
    f64::from_bits(match above_lowest.checked_sub(51) {
        // subnormal
        None | Some(0) => 1 << above_lowest.min(51),
        Some(exponent) => exponent << 52,
    })
}
