//! Numbers and times at which a comparison with constants may change its answer.
//!
//! In: the constants that a number is compared with, and which numbers it may be. Out: samples. Between two constants next to each
//! other no comparison changes, and each such stretch holds a neighbour of one of them, so the samples are complete. Linear in
//! the constants.

use super::sample::{EXACT, Sample, whole};
use crate::cel::{Duration, Numbers, Timestamp};

/// Whether comparisons with this constant are decided by its neighbours.
pub(super) fn is_exact(constant: &Sample) -> bool {
    match constant {
        Sample::Double(value) => value.abs() < EXACT,
        Sample::UInt(value) => i64::try_from(*value).is_ok(),
        _ => true,
    }
}

/// Which ints may come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ints {
    pub(super) least: i64,
    pub(super) most: i64,
}

impl Ints {
    pub(super) const ALL: Self = Self { least: i64::MIN, most: i64::MAX };
    pub(super) const COUNTS: Self = Self { least: 0, most: i64::MAX };

    /// Whether some ints do not come.
    pub(super) const fn is_bounded(self) -> bool {
        self.least != i64::MIN || self.most != i64::MAX
    }

    /// This one and all above it.
    pub(super) const fn from(least: i64) -> Self {
        Self { least, most: i64::MAX }
    }

    /// What is left of an int that is divided by this one. It has the sign of what is divided. By zero nothing is divided, which is said elsewhere.
    pub(super) fn remainders(by: i64) -> Self {
        if by == 0 {
            return Self::ALL;
        }
        let most = by.saturating_abs().saturating_sub(1);
        Self { least: most.saturating_neg(), most }
    }
}

/// Ints on both sides of each constant, and the ends.
pub(super) fn ints(constants: &[&Sample], Ints { least, most }: Ints) -> Vec<Sample> {
    let mut found = vec![least, most, 0, 1];
    for constant in constants {
        match constant {
            Sample::Int(value) => found.extend(around(*value)),
            Sample::UInt(value) => found.extend(i64::try_from(*value).into_iter().flat_map(around)),
            Sample::Double(value) => {
                let sides = [value.floor(), value.ceil()];
                found.extend(sides.into_iter().filter_map(whole).flat_map(around));
            }
            _ => {}
        }
    }
    found.retain(|value| (least..=most).contains(value));
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(Sample::Int).collect()
}

fn around(value: i64) -> [i64; 3] {
    [value.saturating_sub(1), value, value.saturating_add(1)]
}

/// Doubles on both sides of each constant, and the ends. What is computed may be infinite, or no number.
pub(super) fn doubles(constants: &[&Sample], numbers: Numbers, computed: bool) -> Vec<Sample> {
    if numbers == Numbers::Counts {
        return Vec::new();
    }
    let mut found = vec![f64::MIN, f64::MAX, 0.0, 1.0];
    if computed {
        found.extend([f64::NEG_INFINITY, f64::INFINITY, f64::NAN]);
    }
    for constant in constants {
        let Some(value) = constant.number() else { continue };
        match numbers {
            Numbers::Whole => {
                let (below, above) = (value.floor(), value.ceil());
                // above 2^53 each double is whole, and the next one is further away than 1
                found.extend([below.next_down().floor(), below - 1.0, below, above, above + 1.0]);
                found.push(above.next_up().ceil());
            }
            Numbers::All | Numbers::Counts => found.extend([value.next_down(), value, value.next_up()]),
        }
    }
    found.into_iter().map(Sample::Double).collect()
}

/// Points in time, or spans, on both sides of each constant of their kind, a nanosecond away.
pub(super) fn moments(constants: &[&Sample]) -> Vec<Sample> {
    let around =
        |nanos: i128| [nanos.checked_sub(1), Some(nanos), nanos.checked_add(1)].into_iter().flatten();
    let mut found = Vec::new();
    for constant in constants {
        match constant {
            Sample::Time(time) => {
                let times = around(time.nanos()).filter_map(|nanos| Timestamp::from_nanos(nanos).ok());
                found.extend(times.map(Sample::Time));
            }
            Sample::Span(span) => {
                let spans = around(span.nanos()).filter_map(|nanos| Duration::from_nanos(nanos).ok());
                found.extend(spans.map(Sample::Span));
            }
            _ => {}
        }
    }
    found
}
