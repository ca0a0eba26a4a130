//! Durations as manifests write them: Go's grammar (SUB-14, A-53).
//!
//! In: a text such as `1h30m` or `1.5s`. Out: whole nanoseconds, or which part of it is wrong. Exact: no floating point,
//! fractions of a nanosecond are cut. Linear in the text.

/// What is wrong with a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// `soon`, `1..5s`, the empty text: not numbers with units.
    Malformed,
    /// `30`: a number without a unit.
    NoUnit,
    /// `2d`: a unit that is not among those known.
    UnknownUnit,
    /// More than 292 years.
    TooLong,
}

const UNITS: &[(&str, u64)] = &[
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
pub(crate) fn parse(text: &str) -> Result<i64, Problem> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(Problem::Malformed);
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (amount, after) = part(rest)?;
        total = total.checked_add(amount).ok_or(Problem::TooLong)?;
        rest = after;
    }
    let nanoseconds = i64::try_from(total).map_err(|_| Problem::TooLong)?;
    Ok(if negative { nanoseconds.saturating_neg() } else { nanoseconds })
}

/// The nanoseconds of the first number with its unit, and the text behind it.
fn part(text: &str) -> Result<(u64, &str), Problem> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(Problem::Malformed);
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at_checked(end).ok_or(Problem::Malformed)?;
    if unit.is_empty() {
        return Err(if rest.is_empty() { Problem::NoUnit } else { Problem::Malformed });
    }
    let scale = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let scale =
        scale.ok_or(if unit.contains(char::is_alphabetic) && !unit.contains(char::is_whitespace) {
            Problem::UnknownUnit
        } else {
            Problem::Malformed
        })?;
    let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().map_err(|_| Problem::TooLong)? };
    let amount = whole.checked_mul(scale).ok_or(Problem::TooLong)?;
    let amount = amount.checked_add(fraction_of(scale, fraction)).ok_or(Problem::TooLong)?;
    Ok((amount, rest))
}

/// `scale` times the decimal fraction `0.digits`, cut to whole nanoseconds.
fn fraction_of(scale: u64, digits: &str) -> u64 {
    let mut unit = u128::from(scale).saturating_mul(1_000_000_000_000_000_000);
    let mut sum: u128 = 0;
    for digit in digits.bytes().take(18) {
        unit = unit.checked_div(10).unwrap_or_default();
        sum = sum.saturating_add(unit.saturating_mul(u128::from(digit.saturating_sub(b'0'))));
    }
    u64::try_from(sum.checked_div(1_000_000_000_000_000_000).unwrap_or_default()).unwrap_or(u64::MAX)
}

/// The leading digits and the rest.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::{Problem, parse};

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
            ("2562047h47m16.854775807s", Ok(i64::MAX)),
            ("2562047h47m16.854775808s", Err(Problem::TooLong)),
            ("99999999999999999999h", Err(Problem::TooLong)),
            ("", Err(Problem::Malformed)),
            ("-", Err(Problem::Malformed)),
            ("soon", Err(Problem::Malformed)),
            (".s", Err(Problem::Malformed)),
            ("1..5s", Err(Problem::Malformed)),
            ("2 hours", Err(Problem::Malformed)),
            ("1h ", Err(Problem::Malformed)),
            ("30", Err(Problem::NoUnit)),
            ("2d", Err(Problem::UnknownUnit)),
            ("1h30", Err(Problem::NoUnit)),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse(text), wanted, "{text}");
        }
    }
}
