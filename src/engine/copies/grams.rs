//! Runs of letters by their numbers: all runs of one length, and a few of them that stand for the rest.
//!
//! The numbers are the same in every process, so that an answer and its cost are. Whoever writes texts so that they have
//! numbers in common with others makes candidates that are looked at in vain and paid for: in the end an error, and never a wrong answer.

use super::Number;

/// A prime: sums are taken modulo it, so that two runs of letters have one number about once in 2^60.
const PRIME: u64 = (1 << 61) - 1;

/// What the number of a run is multiplied with for each letter more.
const BASE: u64 = 0x0b5a_d4ec_1f3d_9a27;

/// The number of a whole text.
pub(super) fn whole(letters: &[char]) -> Number {
    letters.iter().fold(0, |number, letter| push(number, *letter))
}

fn push(number: Number, letter: char) -> Number {
    plus(times(number, BASE), u64::from(u32::from(letter)).wrapping_add(1))
}

/// The numbers of all runs of so many letters, in their order. Linear in the letters.
pub(super) fn runs(letters: &[char], length: usize) -> impl Iterator<Item = Number> {
    let highest = (1..length).fold(1, |power, _| times(power, BASE));
    let (head, tail) = letters.split_at_checked(length).unwrap_or((&[], &[]));
    let first = (!head.is_empty()).then(|| whole(head));
    let steps = letters.iter().zip(tail);
    let later = steps.scan(first.unwrap_or_default(), move |number, (leaves, enters)| {
        let gone = times(highest, u64::from(u32::from(*leaves)).wrapping_add(1));
        *number = push(plus(*number, PRIME.wrapping_sub(gone)), *enters);
        Some(*number)
    });
    first.into_iter().chain(later)
}

/// The product of two numbers below the prime: what is above its 61 bits counts once more below.
fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a).wrapping_mul(u128::from(b));
    let low = u64::try_from(product & u128::from(PRIME)).unwrap_or_default();
    let high = u64::try_from(product >> 61).unwrap_or_default();
    plus(low, high)
}

/// The sum of two numbers that are at most the prime.
fn plus(a: u64, b: u64) -> u64 {
    let sum = a.wrapping_add(b);
    if sum >= PRIME { sum.wrapping_sub(PRIME) } else { sum }
}

/// Of each `window` neighbours the least, each once: of two texts that have `window` neighbours in common the same one is chosen,
/// whatever stands around them (winnowing, Schleimer, Wilkerson and Aiken 2003). Linear.
pub(super) fn chosen(numbers: impl Iterator<Item = Number>, window: usize) -> Vec<Number> {
    let mut chosen: Vec<Number> = Vec::new();
    // numbers that may be the least of a window to come, rising, each with its place
    let mut rising = std::collections::VecDeque::<(usize, Number)>::new();
    let mut last = None;
    let mut count = 0_usize;
    for (place, number) in numbers.enumerate() {
        count = place.saturating_add(1);
        while rising.back().is_some_and(|(_, other)| *other >= number) {
            rising.pop_back();
        }
        rising.push_back((place, number));
        while rising.front().is_some_and(|(front, _)| front.saturating_add(window) <= place) {
            rising.pop_front();
        }
        if count >= window && rising.front() != last.as_ref() {
            last = rising.front().copied();
            chosen.extend(last.map(|(_, least)| least));
        }
    }
    // fewer numbers than a window has: the least of them
    if count < window {
        chosen.extend(rising.front().map(|(_, least)| *least));
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}
