//! What a comparison of two sums says, as inequalities, if it is true and if it is false.
//!
//! In: two sums that were read, and how they are compared. Out: a [`Compared`]. The numbers are those of mathematics: what may be rounded says so. One sum beside a constant needs no
//! such word, as what is rounded once stays on its side of a double, or becomes it.

use super::inequality::{Inequality, Linear};
use crate::cel::Type;

/// A sum, and of which kind all numbers in it are: nothing, where that differs or is not known.
pub(super) struct Read {
    pub(super) sum: Linear,
    pub(super) kind: Option<Type>,
    pub(super) rounding: Rounding,
}

/// How often what was computed may have been rounded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rounding {
    Never,
    /// In the last operation.
    Once,
    Often,
}

impl Rounding {
    /// The same behind one more operation on numbers of a kind: ints are never rounded.
    pub(super) fn behind(self, kind: Option<&Type>) -> Self {
        match (kind, self) {
            (Some(Type::Int), own) => own,
            (_, Self::Never) => Self::Once,
            _ => Self::Often,
        }
    }
}

/// How two sums are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    AtMost,
    Equal,
    Different,
}

/// What is so where a clause has one of its answers.
#[derive(Clone, Default)]
pub(super) struct Says {
    /// All of these.
    pub(super) all: Vec<Inequality>,
    /// And one of these two.
    pub(super) either: Option<[Inequality; 2]>,
}

/// A clause that compares sums.
pub(super) struct Compared {
    pub(super) clause: usize,
    /// What is compared, by the numbers of the terms.
    pub(super) terms: Vec<usize>,
    pub(super) yes: Says,
    pub(super) no: Says,
    /// Whether the clause is true or false wherever its terms are there.
    pub(super) is_total: bool,
    /// Whether it says so of sums that are not rounded alone.
    pub(super) is_rounded: bool,
}

/// What sums are made of.
#[derive(Clone, Copy)]
pub(super) struct Terms<'t> {
    /// Whether a term is a whole number.
    pub(super) is_whole: &'t dyn Fn(usize) -> bool,
    /// Whether a term is a number wherever it is there, and no NaN.
    pub(super) is_number: &'t dyn Fn(usize) -> bool,
}

impl Compared {
    /// A clause, which is true if the sums stand so to each other; nothing if a number in it would be rounded. What is no number is equal to something else or is not, and has no order.
    pub(super) fn of(clause: usize, order: Order, less: &Read, more: &Read, with: Terms<'_>) -> Option<Self> {
        let terms: Vec<usize> = less.sum.plus(&more.sum, -1.0)?.terms.into_keys().collect();
        let all_numbers = terms.iter().all(|at| (with.is_number)(*at));
        let at_most = |less, more, is_strict| at_most((less, more), is_strict, with);
        let one =
            |inequality: Option<Inequality>| Says { all: inequality.into_iter().collect(), either: None };
        let equal = || {
            let both = [at_most(less, more, false), at_most(more, less, false)];
            Says { all: both.into_iter().flatten().collect(), either: None }
        };
        let different = || {
            let either = at_most(less, more, true).zip(at_most(more, less, true));
            Says { all: Vec::new(), either: either.map(|(one, other)| [one, other]) }
        };
        // a NaN is neither at most 5 nor above
        let is_above =
            |is_strict| if all_numbers { one(at_most(more, less, is_strict)) } else { Says::default() };
        let (yes, no) = match order {
            Order::Less => (one(at_most(less, more, true)), is_above(false)),
            Order::AtMost => (one(at_most(less, more, false)), is_above(true)),
            Order::Equal => (equal(), different()),
            Order::Different => (different(), equal()),
        };
        Some(Self {
            clause,
            terms,
            yes,
            no,
            is_total: all_numbers && less.kind.is_some() && more.kind.is_some(),
            is_rounded: less.rounding.max(more.rounding) > Rounding::Never
                && !is_beside_a_constant(less, more),
        })
    }
}

/// That one sum is at most the other one, or less; nothing if that cannot be said exactly. What is rounded once is at most a double only where it is less than the
/// next one; but a sum of two numbers has the sign that it is rounded to.
fn at_most((less, more): (&Read, &Read), is_strict: bool, terms: Terms<'_>) -> Option<Inequality> {
    let [mut least, mut most] = [less.sum.constant, more.sum.constant];
    let (rounded, constant) = if more.sum.terms.is_empty() { (less, most) } else { (more, least) };
    let has_its_sign = constant == 0.0 && rounded.sum.terms.values().all(|factor| factor.abs() == 1.0);
    let is_nudged = !is_strict && !has_its_sign && is_beside_a_constant(less, more);
    if is_nudged && more.sum.terms.is_empty() {
        most = most.next_up();
    } else if is_nudged {
        least = least.next_down();
    }
    let of = |sum: &Linear, constant| Linear { constant, ..sum.clone() };
    let sum = of(&less.sum, least).plus(&of(&more.sum, most), -1.0)?;
    Inequality::at_most_zero(&sum, is_strict || is_nudged, terms.is_whole)
}

/// Whether what is rounded once is compared with a constant. What is rounded keeps the order of numbers, and a constant is rounded to itself.
fn is_beside_a_constant(one: &Read, other: &Read) -> bool {
    let is_constant = one.sum.terms.is_empty() || other.sum.terms.is_empty();
    is_constant && one.rounding.max(other.rounding) == Rounding::Once
}
