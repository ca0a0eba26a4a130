//! Arithmetic of one number with constants, such as `input.amount * 2 + 1` or `-input.amount / 3`: where its comparison with a constant changes.
//!
//! In: an expression and the constant that it is compared with. Out: the path in it, and the numbers at which the answer may change: where
//! the result passes the constant, and where a step of it leaves the range of ints. What is made of sums, differences, products and quotients
//! with constants grows or falls with the number all the way, also where doubles are rounded and quotients are cut. So each such place is found
//! by halving, and between two of them next to each other nothing changes. Linear in the expression.

use super::number::is_exact;
use super::path::{function, is_of_result, is_path};
use super::sample::{Sample, constant};
use crate::cel::{Checked, Expr, ExprKind, Type};
use std::cmp::Ordering;

/// An operation with a constant.
#[derive(Clone, Copy)]
enum Step {
    Plus(Number),
    Times(Number),
    DividedBy(Number),
    /// A constant less the number.
    From(Number),
    Negated,
    /// `int`
    Whole,
    /// `double`
    Real,
}

/// A number on the way. An int that is out of its range is kept, so that it is seen where that happens.
#[derive(Clone, Copy)]
enum Number {
    Int(i128),
    Double(f64),
}

/// What an expression is arithmetic of, with constants, and the numbers at which a comparison with `compared` may change.
pub(super) fn monotone<'e>(
    checked: &Checked,
    expr: &'e Expr,
    compared: &Sample,
) -> Option<(&'e Expr, Vec<Sample>)> {
    let mut steps = Vec::new();
    let path = read(checked, expr, &mut steps)?;
    if steps.is_empty() || !compared.is_number() || !is_exact(compared) {
        return None;
    }
    let kinds = [Kind::Int, Kind::Double].into_iter();
    let points = kinds
        .flat_map(|kind| points(&steps, kind, compared).into_iter().map(move |place| kind.sample(place)));
    Some((path, points.collect()))
}

/// The steps of an expression, the innermost first, and what they begin with: a path, or what is computed and surely a number.
fn read<'e>(checked: &Checked, expr: &'e Expr, steps: &mut Vec<Step>) -> Option<&'e Expr> {
    let Some((inner, step)) = last_step(checked, expr) else {
        let is_number = matches!(checked.type_of(expr.id), Type::Int | Type::Double);
        return (is_path(checked, expr) || is_number && constant(expr).is_none()).then_some(expr);
    };
    let begin = read(checked, inner, steps)?;
    steps.push(step);
    Some(begin)
}

fn last_step<'e>(checked: &Checked, expr: &'e Expr) -> Option<(&'e Expr, Step)> {
    let ExprKind::Call { target: None, args, .. } = &expr.kind else { return None };
    let (name, _) = function(checked, expr)?;
    let number = |expr: &Expr| match constant(expr)? {
        Sample::Int(value) => Some(Number::Int(value.into())),
        Sample::Double(value) => Some(Number::Double(value)),
        _ => None,
    };
    match (name, args.as_slice()) {
        ("-_", [inner]) if constant(inner).is_none() => Some((inner, Step::Negated)),
        // of a text they are something else
        ("int", [inner]) if is_number(checked, inner) => Some((inner, Step::Whole)),
        ("double", [inner]) if is_number(checked, inner) => Some((inner, Step::Real)),
        (_, [left, right]) => {
            let (inner, step) = match (name, number(left), number(right)) {
                ("_+_", None, Some(by)) => (left, Step::Plus(by)),
                ("_+_", Some(by), None) => (right, Step::Plus(by)),
                ("_-_", None, Some(by)) => (left, Step::Plus(by.negated())),
                ("_-_", Some(by), None) => (right, Step::From(by)),
                // what is always nothing is no question about the number, and may be no number at all where that is infinite
                ("_*_" | "_/_", None, Some(by)) if by.is_zero() => return None,
                ("_*_", Some(by), None) if by.is_zero() => return None,
                ("_*_", None, Some(by)) => (left, Step::Times(by)),
                ("_*_", Some(by), None) => (right, Step::Times(by)),
                ("_/_", None, Some(by)) => (left, Step::DividedBy(by)),
                _ => return None,
            };
            Some((inner, step))
        }
        _ => None,
    }
}

/// Whether an expression is an int or a double, or fails. A call that failed gives what it likes.
fn is_number(checked: &Checked, expr: &Expr) -> bool {
    if is_of_result(checked, expr) {
        return false;
    }
    let declared = checked.domain_of(expr.id).filter(|_| *checked.type_of(expr.id) == Type::Dyn);
    let is_declared = declared
        .is_some_and(|domain| domain.numbers.is_some() && domain.allowed.is_none() && !domain.or_null);
    is_declared || matches!(checked.type_of(expr.id), Type::Int | Type::Double)
}

/// The two kinds of numbers that come as arguments. Each has an order of 64 bits, whose places are counted by ints.
#[derive(Clone, Copy)]
enum Kind {
    Int,
    Double,
}

impl Kind {
    fn ends(self) -> [i64; 2] {
        match self {
            Self::Int => [i64::MIN, i64::MAX],
            Self::Double => [f64::MIN, f64::MAX].map(place),
        }
    }

    fn number(self, place: i64) -> Number {
        match self {
            Self::Int => Number::Int(place.into()),
            Self::Double => Number::Double(at(place)),
        }
    }

    fn sample(self, place: i64) -> Sample {
        match self {
            Self::Int => Sample::Int(place),
            Self::Double => Sample::Double(at(place)),
        }
    }
}

/// The places at which a step leaves the range of ints or enters it, and those at which the result passes what it is compared with. None of them
/// where a step fails for all numbers of the kind: constants of the other one.
fn points(steps: &[Step], kind: Kind, compared: &Sample) -> Vec<i64> {
    let made = |upto: usize, place: i64| {
        steps.iter().take(upto).try_fold(kind.number(place), |number, step| number.after(*step))
    };
    let mut found = Vec::new();
    for upto in 1..=steps.len() {
        let [Some(least), Some(most)] = kind.ends().map(|end| made(upto, end)) else { return Vec::new() };
        let rises = least.order(most) == Ordering::Less;
        let mut passed = match most {
            Number::Int(_) => [i64::MIN, i64::MAX].map(|end| Number::Int(end.into())).to_vec(),
            Number::Double(_) => Vec::new(),
        };
        if upto == steps.len() {
            passed.extend(most.like(compared));
        }
        for value in passed {
            for or_equal in [true, false] {
                let reached = |place: i64| {
                    let order = made(upto, place).map(|number| number.order(value));
                    let order = if rises { order } else { order.map(Ordering::reverse) };
                    order.is_some_and(|order| {
                        order == Ordering::Greater || or_equal && order == Ordering::Equal
                    })
                };
                found.extend(first(kind.ends(), &reached));
            }
        }
    }
    found
}

impl Number {
    /// What an operation makes of it; nothing if it takes the other kind of numbers.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what is too large for an int is still too large for one"
    )]
    #[expect(clippy::cast_precision_loss, reason = "the nearest double is what `double` gives")]
    fn after(self, step: Step) -> Option<Self> {
        Some(match (self, step) {
            (Self::Int(value), Step::Plus(Self::Int(by))) => Self::Int(value.saturating_add(by)),
            (Self::Int(value), Step::Times(Self::Int(by))) => Self::Int(value.saturating_mul(by)),
            (Self::Int(value), Step::DividedBy(Self::Int(by))) => Self::Int(value.checked_div(by)?),
            (Self::Int(value), Step::From(Self::Int(from))) => Self::Int(from.saturating_sub(value)),
            (Self::Double(value), Step::Plus(Self::Double(by))) => Self::Double(value + by),
            (Self::Double(value), Step::Times(Self::Double(by))) => Self::Double(value * by),
            (Self::Double(value), Step::DividedBy(Self::Double(by))) => Self::Double(value / by),
            (Self::Double(value), Step::From(Self::Double(from))) => Self::Double(from - value),
            (number, Step::Negated) => number.negated(),
            (Self::Double(value), Step::Whole) => Self::Int(value as i128),
            (Self::Int(value), Step::Real) => Self::Double(value as f64),
            (number, Step::Whole | Step::Real) => number,
            _ => return None,
        })
    }

    fn negated(self) -> Self {
        match self {
            Self::Int(value) => Self::Int(value.saturating_neg()),
            Self::Double(value) => Self::Double(-value),
        }
    }

    fn is_zero(self) -> bool {
        matches!(self, Self::Int(0)) || matches!(self, Self::Double(value) if value == 0.0)
    }

    /// How it stands to a number of its kind.
    fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Int(value), Self::Int(other)) => value.cmp(&other),
            (Self::Double(value), Self::Double(other)) => {
                value.partial_cmp(&other).unwrap_or(Ordering::Equal)
            }
            _ => Ordering::Equal,
        }
    }

    /// The numbers of its kind that are next to a constant.
    #[expect(clippy::cast_possible_truncation, reason = "`is_exact` has bounded the constant")]
    #[expect(clippy::cast_precision_loss, reason = "the nearest double is what is compared")]
    fn like(self, constant: &Sample) -> Vec<Self> {
        match (self, constant) {
            (Self::Int(_), Sample::Int(value)) => vec![Self::Int((*value).into())],
            (Self::Int(_), Sample::UInt(value)) => vec![Self::Int((*value).into())],
            (Self::Int(_), Sample::Double(value)) => {
                [value.floor(), value.ceil()].map(|value| Self::Int(value as i128)).to_vec()
            }
            (Self::Double(_), Sample::Int(value)) => vec![Self::Double(*value as f64)],
            (Self::Double(_), Sample::UInt(value)) => vec![Self::Double(*value as f64)],
            (Self::Double(_), Sample::Double(value)) => vec![Self::Double(*value)],
            _ => Vec::new(),
        }
    }
}

/// The least place of which something holds that holds of all greater ones, too; nothing if it holds of none.
fn first([mut below, mut above]: [i64; 2], holds: &dyn Fn(i64) -> bool) -> Option<i64> {
    if !holds(above) {
        return None;
    }
    while below < above {
        // rounded down, so that it is never the upper one of two neighbours: `midpoint` rounds towards zero
        let middle = (below & above).wrapping_add((below ^ above) >> 1);
        if holds(middle) {
            above = middle;
        } else {
            below = middle.checked_add(1)?;
        }
    }
    Some(above)
}

/// The place of a double in the order of all.
fn place(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

/// The double at a place.
fn at(place: i64) -> f64 {
    let bits = if place < 0 { i64::MIN.wrapping_sub(place) } else { place };
    f64::from_bits(bits.cast_unsigned())
}
