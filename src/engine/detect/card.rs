//! Numbers of payment cards: issuer, length and check digit (ISO/IEC 7812).
//!
//! In: a run of digits with separators. Out: the places of the card numbers in it. Groups of digits belong together or not as they
//! come: `order 12 4111 1111 1111 1111` has a card number after a number, so each run of whole groups is tried. A number that is glued
//! to further digits is another number. Linear in the run: a card number has at most 19 digits.

use std::ops::Range;

const FEWEST: usize = 12;
const MOST: usize = 19;

/// First digits that a network issues, from and to, and the lengths of its numbers.
#[rustfmt::skip]
const ISSUERS: &[(u32, u32, Range<usize>)] = &[
    (4, 4, 13..14), (4, 4, 16..20),                                     // Visa
    (51, 55, 16..17), (2221, 2720, 16..17),                             // Mastercard
    (34, 34, 15..16), (37, 37, 15..16),                                 // American Express
    (6011, 6011, 16..20), (644, 649, 16..20), (65, 65, 16..20),         // Discover, RuPay, Elo, Verve
    (300, 305, 14..20), (3095, 3095, 14..20), (36, 36, 14..20), (38, 39, 14..20), // Diners Club
    (3528, 3589, 16..20),                                               // JCB
    (62, 62, 16..20), (81, 81, 16..20),                                 // UnionPay
    (50, 50, 12..20), (56, 58, 12..20), (60, 61, 12..20), (63, 63, 12..20), (66, 69, 12..20), // Maestro, RuPay
    (2200, 2204, 16..20),                                               // Mir
    (9792, 9792, 16..17),                                               // Troy
];

/// The card numbers of a run of digits.
pub(super) fn card(text: &str, candidate: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    let groups = groups(text, &candidate);
    let mut first = 0_usize;
    while first < groups.len() {
        let longest =
            windows(groups.get(first..).unwrap_or_default()).filter(|(digits, _)| is_card(digits)).last();
        match (groups.get(first), longest) {
            (Some((start, _)), Some((_, (count, end)))) => {
                found(*start..end);
                first = first.saturating_add(count);
            }
            _ => first = first.saturating_add(1),
        }
    }
}

/// The groups of digits in a run: where each begins, and its digits.
fn groups<'t>(text: &'t str, run: &Range<usize>) -> Vec<(usize, &'t str)> {
    let digits = text.get(run.clone()).unwrap_or_default();
    let groups = digits.split(|letter: char| !letter.is_ascii_digit()).filter(|group| !group.is_empty());
    let start = |group: &str| group.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    groups.map(|group| (start(group), group)).collect()
}

/// Runs of whole groups from the first on: their digits, how many groups they are, and where they end.
fn windows<'g>(groups: &'g [(usize, &str)]) -> impl Iterator<Item = (Vec<u32>, (usize, usize))> + 'g {
    let mut digits: Vec<u32> = Vec::with_capacity(MOST);
    let ends = groups.iter().enumerate().map_while(move |(index, (start, group))| {
        if digits.len().saturating_add(group.len()) > MOST {
            return None;
        }
        digits.extend(group.chars().filter_map(|digit| digit.to_digit(10)));
        Some((digits.clone(), (index.saturating_add(1), start.saturating_add(group.len()))))
    });
    ends.filter(|(digits, _)| digits.len() >= FEWEST)
}

fn is_card(digits: &[u32]) -> bool {
    let leading = |length: u32| {
        let digits = digits.iter().take(length as usize);
        digits.fold(0_u32, |number, digit| number.saturating_mul(10).saturating_add(*digit))
    };
    let issued = ISSUERS.iter().any(|(from, to, lengths)| {
        lengths.contains(&digits.len()) && (*from..=*to).contains(&leading(from.ilog10().saturating_add(1)))
    });
    issued && luhn(digits)
}

/// Whether the last digit is the check digit of the others.
fn luhn(digits: &[u32]) -> bool {
    let sum = digits.iter().rev().enumerate().fold(0_u32, |sum, (index, &digit)| {
        let doubled = if index % 2 == 1 { digit.saturating_mul(2) } else { digit };
        sum.saturating_add(if doubled > 9 { doubled.saturating_sub(9) } else { doubled })
    });
    sum % 10 == 0
}
