//! Runs of letters by their numbers: all runs of one length, and a few of them that stand for the rest.

use super::Number;

/// A prime: sums are taken modulo it, so that two runs of letters have one number about once in 2^60.
const PRIME: u128 = (1 << 61) - 1;

/// What the number of a run is multiplied with for each letter more. It is drawn anew for each process, so that nobody can write
/// two texts of one number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base(u128);

impl Base {
    pub(super) fn of(drawn: u64) -> Self {
        // not so small that short runs would not reach the prime
        Self(u128::from(drawn >> 4).rem_euclid(PRIME).max(0x0011_0000))
    }

    /// The number of a whole text.
    pub(super) fn whole(self, letters: &[char]) -> Number {
        letters.iter().fold(0, |number, letter| self.push(number, *letter))
    }

    fn push(self, number: Number, letter: char) -> Number {
        let times = u128::from(number).wrapping_mul(self.0).wrapping_add(u128::from(u32::from(letter)));
        narrow(times.wrapping_add(1))
    }

    /// The numbers of all runs of so many letters, in their order. Linear in the letters.
    pub(super) fn runs(self, letters: &[char], length: usize) -> impl Iterator<Item = Number> {
        let highest = (1..length).fold(1, |power, _| narrow(u128::from(power).wrapping_mul(self.0)));
        let (head, tail) = letters.split_at_checked(length).unwrap_or((&[], &[]));
        let first = (!head.is_empty()).then(|| self.whole(head));
        let steps = letters.iter().zip(tail);
        let later = steps.scan(first.unwrap_or_default(), move |number, (leaves, enters)| {
            let gone = u128::from(highest).wrapping_mul(u128::from(u32::from(*leaves)).wrapping_add(1));
            let rest = u128::from(*number).wrapping_add(PRIME).wrapping_sub(gone.rem_euclid(PRIME));
            *number = self.push(narrow(rest), *enters);
            Some(*number)
        });
        first.into_iter().chain(later)
    }
}

fn narrow(number: u128) -> Number {
    // a remainder by a prime below 2^61 fits
    Number::try_from(number.rem_euclid(PRIME)).unwrap_or_default()
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
