//! International bank account numbers (ISO 13616): country, length and check digits.
//!
//! In: where two letters and two digits stand. Out: the number that begins there, if it is one. It ends where its country says that it
//! does, so words behind it do not matter; letters of either case and separators between them are read as banks print them.

use super::kind::{after, before};
use std::ops::Range;

/// Countries and the lengths of their numbers, from the registry that SWIFT keeps.
#[rustfmt::skip]
const LENGTHS: &[(&str, usize)] = &[
    ("AD", 24), ("AE", 23), ("AL", 28), ("AT", 20), ("AZ", 28), ("BA", 20), ("BE", 16), ("BG", 22), ("BH", 22), ("BI", 27), ("BR", 29),
    ("BY", 28), ("CH", 21), ("CR", 22), ("CY", 28), ("CZ", 24), ("DE", 22), ("DJ", 27), ("DK", 18), ("DO", 28), ("EE", 20), ("EG", 29),
    ("ES", 24), ("FI", 18), ("FK", 18), ("FO", 18), ("FR", 27), ("GB", 22), ("GE", 22), ("GI", 23), ("GL", 18), ("GR", 27), ("GT", 28),
    ("HN", 28), ("HR", 21), ("HU", 28), ("IE", 22), ("IL", 23), ("IQ", 23), ("IS", 26), ("IT", 27), ("JO", 30), ("KW", 30), ("KZ", 20),
    ("LB", 28), ("LC", 32), ("LI", 21), ("LT", 20), ("LU", 20), ("LV", 21), ("LY", 25), ("MC", 27), ("MD", 24), ("ME", 22), ("MK", 19),
    ("MN", 20), ("MR", 27), ("MT", 31), ("MU", 30), ("NI", 28), ("NL", 18), ("NO", 15), ("OM", 23), ("PK", 24), ("PL", 28), ("PS", 29),
    ("PT", 25), ("QA", 29), ("RO", 24), ("RS", 22), ("RU", 33), ("SA", 24), ("SC", 31), ("SD", 18), ("SE", 24), ("SI", 19), ("SK", 24),
    ("SM", 27), ("SO", 23), ("ST", 25), ("SV", 28), ("TL", 23), ("TN", 24), ("TR", 26), ("UA", 29), ("VA", 22), ("VG", 24), ("XK", 20),
    ("YE", 30),
];

/// Signs between two characters of a number at most.
const SEPARATORS: usize = 2;

/// The number that begins with a candidate.
pub(super) fn iban(text: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    let glued = before(text, candidate.start).is_some_and(|letter| letter.is_ascii_alphanumeric());
    let named = text.get(..candidate.start).is_some_and(|text| {
        let word = text.len().checked_sub(4).and_then(|at| text.get(at..));
        word.is_some_and(|word| word.eq_ignore_ascii_case("iban"))
    });
    let country = text.get(candidate.start..).and_then(|text| text.get(..2)).unwrap_or_default();
    let Some((_, length)) = LENGTHS.iter().find(|(code, _)| code.eq_ignore_ascii_case(country)) else {
        return;
    };
    if glued && !named {
        return;
    }
    let Some((number, end)) = read(text, candidate.start, *length) else { return };
    let goes_on = after(text, end).is_some_and(|letter| letter.is_ascii_alphanumeric());
    if !goes_on && remainder(&number) == 1 {
        found(candidate.start..end);
    }
}

/// So many letters and digits from a place on, as numbers (`A` is 10), and where they end.
fn read(text: &str, start: usize, length: usize) -> Option<(Vec<u32>, usize)> {
    let mut number = Vec::with_capacity(length);
    let (mut end, mut separators) = (start, 0_usize);
    for (at, letter) in text.get(start..)?.char_indices() {
        if let Some(value) = letter.to_digit(36) {
            number.push(value);
            separators = 0;
        } else if matches!(letter, ' ' | '\t' | '\r' | '\n' | '-' | '.' | '_') && separators < SEPARATORS {
            separators = separators.saturating_add(1);
        } else {
            return None;
        }
        if number.len() == length {
            end = end.saturating_add(at).saturating_add(letter.len_utf8());
            return Some((number, end));
        }
    }
    None
}

/// The number modulo 97, its first four characters put last.
fn remainder(number: &[u32]) -> u32 {
    let (first, rest) = number.split_at_checked(4).unwrap_or_default();
    rest.iter().chain(first).fold(0, |remainder: u32, &value| {
        let base = if value > 9 { 100 } else { 10 };
        remainder.saturating_mul(base).saturating_add(value) % 97
    })
}
