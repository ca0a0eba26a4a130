//! Numbers that a state gives to a person.
//!
//! In: a candidate that has the shape of one. Out: its place, if its parts are ones that are given out or its check digits are right.

use super::kind::touches_digits;
use std::ops::Range;

/// A social security number of the United States: three parts with one sign between them, each a part that is given out. Nine digits
/// without signs are too many other things.
pub(super) fn ssn_us(text: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    let number = text.get(candidate.clone()).unwrap_or_default();
    let part = |range: Range<usize>| number.get(range).unwrap_or_default();
    let (area, group, serial) = (part(0..3), part(4..6), part(7..11));
    let given = !matches!(area, "000" | "666") && !area.starts_with('9') && group != "00" && serial != "0000";
    if given && part(3..4) == part(6..7) && !touches_digits(text, &candidate) {
        found(candidate);
    }
}

/// The second line of the machine-readable zone of a passport (ICAO 9303, TD3), with its five check digits.
pub(super) fn passport_mrz(text: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    let line = text.get(candidate.clone()).unwrap_or_default();
    let part = |from: usize, to: usize| line.get(from..to).unwrap_or_default();
    let checked = |field: &str, digit: usize| {
        let digit = match part(digit, digit.saturating_add(1)) {
            "<" => Some(0),
            digit => digit.parse().ok(),
        };
        Some(check_digit(field)) == digit
    };
    let all = [part(0, 10), part(13, 20), part(21, 43)].concat();
    let right = checked(part(0, 9), 9)
        && checked(part(13, 19), 19)
        && checked(part(21, 27), 27)
        && checked(part(28, 42), 42)
        && checked(&all, 43);
    if right {
        found(candidate);
    }
}

/// The sum of a field's characters, weighted 7, 3, 1 in turn, modulo 10.
fn check_digit(field: &str) -> u32 {
    let weights = [7, 3, 1].into_iter().cycle();
    let values = field.chars().map(|letter| letter.to_digit(36).unwrap_or(0));
    values.zip(weights).fold(0_u32, |sum, (value, weight)| sum.saturating_add(value.saturating_mul(weight)))
        % 10
}
