//! Inequalities between sums of numbers, such as `x + y <= 2500`, and whether all of some can be true together.
//!
//! In: inequalities over unknown numbers, with whole coefficients. Out: whether they contradict each other. One unknown after the other is put away: each upper bound of it is
//! set above each lower bound of it (Fourier and Motzkin). So the answer is exact for real numbers. Unknowns that are whole have whole bounds, which
//! is used where it is seen, and no more. What takes more than [`MAX_INEQUALITIES`], or numbers of more than 128 bits, is not found to be a contradiction.

use std::collections::{BTreeMap, BTreeSet};

/// The most inequalities that are held at one time.
const MAX_INEQUALITIES: usize = 2_000;

/// A sum that is at most a number, or less than it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Inequality {
    /// The coefficient of each unknown, by its number; none is 0.
    terms: BTreeMap<usize, i128>,
    most: i128,
    is_strict: bool,
}

/// A sum of unknowns and a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Linear {
    pub(super) terms: BTreeMap<usize, f64>,
    pub(super) constant: f64,
}

impl Linear {
    pub(super) fn of_constant(constant: f64) -> Self {
        Self { terms: BTreeMap::new(), constant }
    }

    pub(super) fn of_term(term: usize) -> Self {
        Self { terms: BTreeMap::from([(term, 1.0)]), constant: 0.0 }
    }

    /// The term that it is, if it is nothing but that.
    pub(super) fn is_term(&self) -> Option<usize> {
        let (term, factor) = self.terms.first_key_value().filter(|_| self.terms.len() == 1)?;
        (*factor == 1.0 && self.constant == 0.0).then_some(*term)
    }

    /// The sum of both, the second one as often as is said; nothing where a coefficient would be rounded.
    pub(super) fn plus(&self, other: &Self, times: f64) -> Option<Self> {
        let mut sum = self.clone();
        let add = |to: &mut f64, value: f64| {
            let more = exact_product(value, times)?;
            let total = *to + more;
            // what is given back by the opposite was not rounded
            (total - more == *to && total - *to == more).then(|| *to = total)
        };
        add(&mut sum.constant, other.constant)?;
        for (term, factor) in &other.terms {
            add(sum.terms.entry(*term).or_default(), *factor)?;
        }
        sum.terms.retain(|_, factor| *factor != 0.0);
        Some(sum)
    }
}

/// The product, if it has no error: a factor is a whole number, and the product one of at most 53 bits.
fn exact_product(value: f64, times: f64) -> Option<f64> {
    let product = value * times;
    let is_whole = |value: f64| value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0;
    let is_sign = times.abs() == 1.0 || value.abs() == 1.0 || value == 0.0;
    (is_sign || is_whole(value) && is_whole(times) && is_whole(product)).then_some(product)
}

/// A double as a whole number and how often it was doubled to be one.
#[expect(clippy::cast_possible_truncation, reason = "the number is whole, and below 2^100")]
fn doubled(value: f64) -> Option<(i128, u32)> {
    let mut scaled = value;
    for times in 0..=60 {
        if scaled.fract() == 0.0 {
            return (scaled.abs() < 1e30).then_some((scaled as i128, times));
        }
        scaled *= 2.0;
    }
    None
}

impl Inequality {
    /// That a sum is at most 0, or less; nothing if its numbers are too large or too small. `is_whole` says of an unknown whether it is a whole number.
    pub(super) fn at_most_zero(
        sum: &Linear,
        is_strict: bool,
        is_whole: &dyn Fn(usize) -> bool,
    ) -> Option<Self> {
        let mut numbers = vec![doubled(sum.constant)?];
        for factor in sum.terms.values() {
            numbers.push(doubled(*factor)?);
        }
        let most_doubled = numbers.iter().map(|(_, times)| *times).max()?;
        let scaled = |(number, times): (i128, u32)| {
            number.checked_mul(1_i128.checked_shl(most_doubled.checked_sub(times)?)?)
        };
        let mut terms = BTreeMap::new();
        for (term, factor) in &sum.terms {
            terms.insert(*term, scaled(doubled(*factor)?)?);
        }
        let most = scaled(doubled(sum.constant)?)?.checked_neg()?;
        Self { terms, most, is_strict }.reduced(is_whole)
    }

    /// The same in the smallest numbers. A sum of whole numbers has a whole bound.
    fn reduced(mut self, is_whole: &dyn Fn(usize) -> bool) -> Option<Self> {
        self.terms.retain(|_, factor| *factor != 0);
        let magnitudes = self.terms.values().map(|factor| factor.saturating_abs());
        let Some(divisor) = magnitudes.reduce(common_divisor) else { return Some(self) };
        if self.terms.keys().all(|term| is_whole(*term)) {
            if self.is_strict {
                self.most = self.most.checked_sub(1)?;
                self.is_strict = false;
            }
            self.most = self.most.checked_div_euclid(divisor)?;
        } else if self.most.checked_rem(divisor)? == 0 {
            self.most = self.most.checked_div(divisor)?;
        } else {
            return Some(self);
        }
        for factor in self.terms.values_mut() {
            *factor = factor.checked_div(divisor)?;
        }
        Some(self)
    }

    /// The unknown that it is about, if that is a single one, which it holds to a number below 2^53.
    pub(super) fn is_of_one(&self) -> Option<usize> {
        let (term, factor) = self.terms.first_key_value().filter(|_| self.terms.len() == 1)?;
        let bound = factor.unsigned_abs().checked_shl(53)?;
        (self.most.unsigned_abs() < bound).then_some(*term)
    }

    /// The same about another unknown.
    pub(super) fn about(&self, unknown: usize) -> Self {
        let terms = self.terms.values().map(|factor| (unknown, *factor)).collect();
        Self { terms, ..self.clone() }
    }

    /// Whether it is false whatever the unknowns are.
    fn is_false(&self) -> bool {
        self.terms.is_empty() && (self.most < 0 || self.is_strict && self.most == 0)
    }

    /// What follows of an upper and a lower bound of an unknown, which is put away.
    fn without(&self, lower: &Self, unknown: usize, is_whole: &dyn Fn(usize) -> bool) -> Option<Self> {
        let own = *self.terms.get(&unknown)?;
        let other = lower.terms.get(&unknown)?.checked_neg()?;
        let mut terms = BTreeMap::new();
        for (of, by) in [(self, other), (lower, own)] {
            for (term, factor) in &of.terms {
                let sum: &mut i128 = terms.entry(*term).or_default();
                *sum = sum.checked_add(factor.checked_mul(by)?)?;
            }
        }
        let most = self.most.checked_mul(other)?.checked_add(lower.most.checked_mul(own)?)?;
        Self { terms, most, is_strict: self.is_strict || lower.is_strict }.reduced(is_whole)
    }
}

fn common_divisor(one: i128, two: i128) -> i128 {
    let (mut one, mut two) = (one, two);
    while two != 0 {
        (one, two) = (two, one.checked_rem(two).unwrap_or_default());
    }
    one
}

/// Whether no numbers make all of these true. No means that some do, or that it is not known.
pub(super) fn contradict(
    all: impl IntoIterator<Item = Inequality>,
    is_whole: &dyn Fn(usize) -> bool,
) -> bool {
    let mut all: BTreeSet<Inequality> = all.into_iter().collect();
    loop {
        if all.iter().any(Inequality::is_false) {
            return true;
        }
        // the unknown that leaves the fewest behind, a whole one last: a bound of it is whole as long as it is alone
        let mut bounds: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for (term, factor) in all.iter().flat_map(|it| &it.terms) {
            let (upper, lower) = bounds.entry(*term).or_default();
            let side = if *factor > 0 { upper } else { lower };
            *side = side.saturating_add(1);
        }
        let leaves = |(term, (upper, lower)): &(usize, (usize, usize))| {
            (is_whole(*term), upper.saturating_mul(*lower))
        };
        let least = bounds.into_iter().min_by_key(leaves);
        let Some((unknown, (upper, lower))) = least else { return false };
        if upper.saturating_mul(lower) > MAX_INEQUALITIES {
            return false;
        }
        let (with, mut rest): (BTreeSet<_>, BTreeSet<_>) =
            all.into_iter().partition(|it| it.terms.contains_key(&unknown));
        let is_upper = |it: &&Inequality| it.terms.get(&unknown).is_some_and(|factor| *factor > 0);
        let (uppers, lowers): (Vec<_>, Vec<_>) = with.iter().partition(is_upper);
        for upper in &uppers {
            for lower in &lowers {
                let Some(found) = upper.without(lower, unknown, is_whole) else { return false };
                rest.insert(found);
            }
        }
        if rest.len() > MAX_INEQUALITIES {
            return false;
        }
        all = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::{Inequality, Linear, contradict};

    fn at_most(terms: &[(usize, f64)], most: f64, is_strict: bool, whole: bool) -> Inequality {
        let sum = Linear { terms: terms.iter().copied().collect(), constant: -most };
        Inequality::at_most_zero(&sum, is_strict, &|_| whole).unwrap()
    }

    #[test]
    fn what_no_numbers_make_true_is_found() {
        // x + y <= 5, z <= x, z + y > 5
        let real = |most: f64| {
            [
                at_most(&[(0, 1.0), (1, 1.0)], 5.0, false, false),
                at_most(&[(2, 1.0), (0, -1.0)], 0.0, false, false),
                at_most(&[(2, -1.0), (1, -1.0)], -most, true, false),
            ]
        };
        assert!(contradict(real(5.0), &|_| false) && !contradict(real(4.5), &|_| false));
        // x < 3, x > 2: no whole number, and some other
        let between =
            |whole| [at_most(&[(0, 1.0)], 3.0, true, whole), at_most(&[(0, -1.0)], -2.0, true, whole)];
        assert!(contradict(between(true), &|_| true) && !contradict(between(false), &|_| false));
        // x = y and y = 1.5, with x whole and put away last or first
        for (x, y) in [(0, 1), (1, 0)] {
            let is_x = move |at: usize| at == x;
            let of = |terms: &[(usize, f64)], most: f64| {
                let sum = Linear { terms: terms.iter().copied().collect(), constant: -most };
                Inequality::at_most_zero(&sum, false, &is_x).unwrap()
            };
            let equal = [of(&[(x, 1.0), (y, -1.0)], 0.0), of(&[(y, 1.0), (x, -1.0)], 0.0)];
            let half = [of(&[(y, 1.0)], 1.5), of(&[(y, -1.0)], -1.5)];
            assert!(contradict(equal.into_iter().chain(half), &is_x));
        }
        // 2x <= 7, x > 3 and -x < -3, with the same factor on both sides
        assert!(contradict(
            [at_most(&[(0, 2.0)], 7.0, false, true), at_most(&[(0, -2.0)], -7.0, false, true)],
            &|_| true
        ));
        // 0.1 is the double that it is
        assert!(contradict(
            [at_most(&[(0, 1.0)], 0.1, true, false), at_most(&[(0, -1.0)], -0.1, false, false)],
            &|_| false
        ));
        assert!(!contradict([], &|_| false));
    }
}
