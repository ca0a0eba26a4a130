//! The operators between two values that were found: comparing, `in`, and arithmetic.
//!
//! In: an operator and its values. Out: what it comes to, paid for, or a fault that says what is wrong with them.

use crate::fault::Fault;
use crate::meter::Meter;
use crate::plan::{Arithmetic, Comparison};
use crate::value::{Key, Value};

/// `<`, `<=`, `>` and `>=`; false of values that have no order, such as NaN.
#[inline]
pub(super) fn compare(
    meter: &mut Meter<'_>,
    comparison: Comparison,
    a: &Value<'_>,
    b: &Value<'_>,
) -> Result<bool, Fault> {
    match (a, b) {
        (Value::String(a), Value::String(b)) => meter.charge_text(a.len().min(b.len()))?,
        (Value::Bytes(a), Value::Bytes(b)) => meter.charge_text(a.len().min(b.len()))?,
        _ => {}
    }
    Ok(a.order(b)?.is_some_and(|order| comparison.holds(order)))
}

/// `item in of`
#[inline]
pub(super) fn is_in(meter: &mut Meter<'_>, item: &Value<'_>, of: &Value<'_>) -> Result<bool, Fault> {
    match of {
        Value::List(list) => {
            for other in list.iter() {
                meter.charge(1)?;
                if item.equals_metered(&other, meter)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Map(map) => {
            meter.charge_text(key_bytes(item))?;
            Ok(Key::lookup(item).is_some_and(|key| map.get(&key).is_some()))
        }
        other => Err(Fault::no_overload([item.kind(), other.kind()])),
    }
}

/// `+`, `-`, `*`, `/` and `%`
#[inline]
pub(super) fn arithmetic<'a>(
    meter: &mut Meter<'_>,
    operator: Arithmetic,
    a: &Value<'a>,
    b: &Value<'a>,
) -> Result<Value<'a>, Fault> {
    match operator {
        Arithmetic::Plus => a.plus(b, meter),
        Arithmetic::Minus => a.minus(b),
        Arithmetic::Times => a.times(b),
        Arithmetic::Divide => a.divided_by(b),
        Arithmetic::Modulo => a.modulo(b),
    }
}

/// The bytes of a key that is text.
#[inline]
pub(super) fn key_bytes(key: &Value<'_>) -> usize {
    key.as_str().map_or(0, str::len)
}
