//! Whole numbers as clients write them (J9, J10).
//!
//! In: the JSON text of a parameter. Out: the number, exact to `u128`, or that it is none. Never a rounding on the way: a
//! number is read off its digits, so `1e2` is 100, `10e-1` is 1 and `1e-400` is no whole number, whatever a double says.

use serde_json::value::RawValue;

/// The parameter is no whole number of at least 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotWhole;

/// More decimal places than `u128` has.
const TOO_MANY_DIGITS: i64 = 40;

/// Reads a JSON integer, a number without fraction, or a string of ASCII digits with an optional sign; `null` is absent.
/// What is larger than `u128` is its largest: no limit as a length, past the end as an offset (J10).
///
/// # Errors
/// [`NotWhole`] for what is negative, has a fraction, or is of another type.
pub(super) fn whole(raw: &RawValue) -> Result<Option<u128>, NotWhole> {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'n') => Ok(None),
        Some(b'"') => {
            let text: String = serde_json::from_str(text).map_err(|_| NotWhole)?;
            let (negative, digits) = match text.strip_prefix('-') {
                Some(digits) => (true, digits),
                None => (false, text.strip_prefix('+').unwrap_or(&text)),
            };
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(NotWhole);
            }
            decimal(negative, digits.to_owned(), 0).map(Some)
        }
        Some(b'-' | b'0'..=b'9') => number(text).map(Some),
        _ => Err(NotWhole),
    }
}

/// A number in the grammar of JSON.
fn number(text: &str) -> Result<u128, NotWhole> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // an exponent that does not fit is as good as one without end
    let bound = i64::from(i32::MAX);
    let unbounded = if exponent.starts_with('-') { i64::MIN } else { i64::MAX };
    let exponent = exponent.parse::<i64>().unwrap_or(unbounded).clamp(bound.saturating_neg(), bound);
    let places = i64::try_from(fraction.len()).map_err(|_| NotWhole)?;
    decimal(negative, format!("{whole}{fraction}"), exponent.saturating_sub(places))
}

/// `digits` × 10^`exponent`.
fn decimal(negative: bool, mut digits: String, mut exponent: i64) -> Result<u128, NotWhole> {
    while digits.ends_with('0') {
        digits.pop();
        exponent = exponent.saturating_add(1);
    }
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Ok(0);
    }
    if negative || exponent < 0 {
        return Err(NotWhole);
    }
    if exponent > TOO_MANY_DIGITS {
        return Ok(u128::MAX);
    }
    let scale = u32::try_from(exponent).ok().and_then(|exponent| 10_u128.checked_pow(exponent));
    Ok(digits
        .parse::<u128>()
        .ok()
        .zip(scale)
        .and_then(|(value, scale)| value.checked_mul(scale))
        .unwrap_or(u128::MAX))
}
