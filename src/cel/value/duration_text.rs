//! Durations as CEL and manifests write them: Go's grammar.
//!
//! In: a text such as `1h30m` or `1.5s`. Out: whole nanoseconds, or what is wrong with the text. Exact: no floating point,
//! fractions of a nanosecond are cut. Linear in the text.

/// The fault in the text of a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurationError {
    /// `soon`, `1..5s`, the empty text: not numbers with units.
    Malformed,
    /// `30`: a number without a unit.
    NoUnit,
    /// `2d`: a unit that is not among those known.
    UnknownUnit,
    /// More than 10,000 years.
    TooLong,
}

const UNITS: &[(&str, i128)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Nanoseconds of a duration: an optional sign, then decimal numbers, each with its unit; or `0` alone.
pub(super) fn nanos(text: &str) -> Result<i128, DurationError> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(DurationError::Malformed);
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (amount, after) = part(rest)?;
        total = total.checked_add(amount).ok_or(DurationError::TooLong)?;
        rest = after;
    }
    Ok(if negative { total.saturating_neg() } else { total })
}

/// The nanoseconds of the first number with its unit, and the text behind it.
fn part(text: &str) -> Result<(i128, &str), DurationError> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(DurationError::Malformed);
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at_checked(end).ok_or(DurationError::Malformed)?;
    if unit.is_empty() {
        return Err(if rest.is_empty() { DurationError::NoUnit } else { DurationError::Malformed });
    }
    let scale = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let scale =
        scale.ok_or(if unit.contains(char::is_alphabetic) && !unit.contains(char::is_whitespace) {
            DurationError::UnknownUnit
        } else {
            DurationError::Malformed
        })?;
    let whole =
        if whole.is_empty() { 0 } else { whole.parse::<i128>().map_err(|_| DurationError::TooLong)? };
    let amount = whole.checked_mul(scale).ok_or(DurationError::TooLong)?;
    let amount = amount.checked_add(fraction_of(scale, fraction)).ok_or(DurationError::TooLong)?;
    Ok((amount, rest))
}

/// `scale` times the decimal fraction `0.digits`, cut to whole nanoseconds.
fn fraction_of(scale: i128, digits: &str) -> i128 {
    // digits behind the eighteenth are less than a nanosecond of any unit
    const PARTS: i128 = 1_000_000_000_000_000_000;
    let mut unit = scale.saturating_mul(PARTS);
    let mut sum: i128 = 0;
    for digit in digits.bytes().take(18) {
        unit /= 10;
        sum = sum.saturating_add(unit.saturating_mul(i128::from(digit.saturating_sub(b'0'))));
    }
    sum / PARTS
}

/// The leading digits and the rest.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::{DurationError, nanos};

    #[test]
    fn durations_are_go_durations() {
        let second = 1_000_000_000;
        let cases = [
            ("1h30m", Ok(5400 * second)),
            ("1.5s", Ok(1_500_000_000)),
            (".5ms", Ok(500_000)),
            ("1.s", Ok(second)),
            ("3us", Ok(3_000)),
            ("3µs", Ok(3_000)),
            ("1ns", Ok(1)),
            ("0.0000000019s", Ok(1)),
            ("-2m", Ok(-120 * second)),
            ("+1h", Ok(3600 * second)),
            ("0", Ok(0)),
            ("2562047h47m16.854775807s", Ok(i128::from(i64::MAX))),
            ("0.999999999999999999h", Ok(3600 * second - 1)),
            ("99999999999999999999h", Ok(99_999_999_999_999_999_999 * 3600 * second)),
            ("9999999999999999999999999999999999999999h", Err(DurationError::TooLong)),
            ("", Err(DurationError::Malformed)),
            ("-", Err(DurationError::Malformed)),
            ("soon", Err(DurationError::Malformed)),
            (".s", Err(DurationError::Malformed)),
            ("1..5s", Err(DurationError::Malformed)),
            ("2 hours", Err(DurationError::Malformed)),
            ("1h ", Err(DurationError::Malformed)),
            ("30", Err(DurationError::NoUnit)),
            ("2d", Err(DurationError::UnknownUnit)),
            ("1h30", Err(DurationError::NoUnit)),
        ];
        for (text, wanted) in cases {
            assert_eq!(nanos(text), wanted, "{text}");
        }
    }
}
