//! Arithmetic of one number with constants, such as `input.amount * 2 + 1`: where its comparison with a constant changes.
//!
//! In: an expression and the constant that it is compared with. Out: the path in it, and the numbers at which the answer may change: where
//! the result passes the constant, and where a step of it leaves the range of ints. What is made of sums, differences and products with
//! constants grows or falls with the number all the way, also where doubles are rounded, so between two such numbers next to each other
//! nothing changes. Linear in the expression.

use super::number::is_exact;
use super::sample::{Sample, constant, whole};
use super::subject::{function, is_path};
use crate::cel::{Checked, Expr, ExprKind, Type};

/// A sum, difference or product with a constant.
#[derive(Clone, Copy)]
enum Step {
    Plus(Number),
    Times(Number),
    /// A constant less the number.
    From(Number),
}

#[derive(Clone, Copy)]
enum Number {
    Int(i64),
    Double(f64),
}

/// What an expression is arithmetic of, with constants, and the numbers at which a comparison with `compared` may change.
pub(super) fn linear<'e>(
    checked: &Checked,
    expr: &'e Expr,
    compared: &Sample,
) -> Option<(&'e Expr, Vec<Sample>)> {
    let mut steps = Vec::new();
    let path = read(checked, expr, &mut steps)?;
    if steps.is_empty() || !compared.is_number() || !is_exact(compared) {
        return None;
    }
    let mut points = of_ints(&steps, compared)?;
    points.extend(of_doubles(&steps, compared));
    points.iter().all(is_exact).then_some((path, points))
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
    let [left, right] = args.as_slice() else { return None };
    let number = |expr: &Expr| match constant(expr)? {
        Sample::Int(value) => Some(Number::Int(value)),
        Sample::Double(value) => Some(Number::Double(value)),
        _ => None,
    };
    let (inner, step) = match (name, number(left), number(right)) {
        ("_+_", None, Some(by)) => (left, Step::Plus(by)),
        ("_+_", Some(by), None) => (right, Step::Plus(by)),
        ("_-_", None, Some(by)) => (left, Step::Plus(negated(by)?)),
        ("_-_", Some(by), None) => (right, Step::From(by)),
        ("_*_", None, Some(by)) => (left, Step::Times(by)),
        ("_*_", Some(by), None) => (right, Step::Times(by)),
        _ => return None,
    };
    // what is always nothing is no question about the number, and may be no number at all where that is infinite
    let is_zero = match step {
        Step::Times(Number::Int(by)) => by == 0,
        Step::Times(Number::Double(by)) => by == 0.0,
        _ => false,
    };
    (!is_zero).then_some((inner, step))
}

fn negated(number: Number) -> Option<Number> {
    Some(match number {
        Number::Int(value) => Number::Int(value.checked_neg()?),
        Number::Double(value) => Number::Double(-value),
    })
}

/// Of ints, where a step overflows and where the result passes the constant. None of them, if a constant is a double: then every int
/// fails.
fn of_ints(steps: &[Step], compared: &Sample) -> Option<Vec<Sample>> {
    let (mut factor, mut rest) = (1_i128, 0_i128);
    let mut points = Vec::new();
    for step in steps {
        match step {
            Step::Plus(Number::Int(by)) => rest = rest.checked_add((*by).into())?,
            Step::Times(Number::Int(by)) => {
                factor = factor.checked_mul((*by).into())?;
                rest = rest.checked_mul((*by).into())?;
            }
            Step::From(Number::Int(from)) => {
                factor = factor.checked_neg()?;
                rest = i128::from(*from).checked_sub(rest)?;
            }
            _ => return Some(Vec::new()),
        }
        for end in [i64::MIN, i64::MAX] {
            points.push(solved(factor, rest, end.into())?);
        }
    }
    let compared = match compared {
        Sample::Int(value) => vec![i128::from(*value)],
        Sample::UInt(value) => vec![i128::from(*value)],
        Sample::Double(value) => {
            [value.floor(), value.ceil()].into_iter().filter_map(whole).map(i128::from).collect()
        }
        _ => Vec::new(),
    };
    for value in compared {
        points.push(solved(factor, rest, value)?);
    }
    // a number that is passed is next to the one that is reached
    let within = points.into_iter().flatten().filter_map(|point| i64::try_from(point).ok());
    Some(within.map(Sample::Int).collect())
}

/// The whole numbers next to where `factor * x + rest` is a value.
fn solved(factor: i128, rest: i128, value: i128) -> Option<[i128; 2]> {
    let below = value.checked_sub(rest)?.checked_div_euclid(factor)?;
    Some([below, below.checked_add(1)?])
}

/// Of doubles, where the result passes the constant, found by halving. None, if a constant is an int: then every double fails.
fn of_doubles(steps: &[Step], compared: &Sample) -> Vec<Sample> {
    #[expect(clippy::cast_precision_loss, reason = "the nearest double is what is compared")]
    let compared = match compared {
        Sample::Int(value) => *value as f64,
        Sample::UInt(value) => *value as f64,
        Sample::Double(value) => *value,
        _ => return Vec::new(),
    };
    let result = |number: f64| {
        steps.iter().try_fold(number, |number, step| match step {
            Step::Plus(Number::Double(by)) => Some(number + by),
            Step::Times(Number::Double(by)) => Some(number * by),
            Step::From(Number::Double(from)) => Some(from - number),
            _ => None,
        })
    };
    let (Some(least), Some(most)) = (result(f64::MIN), result(f64::MAX)) else { return Vec::new() };
    let rises = least < most;
    let reached: [&dyn Fn(f64) -> bool; 2] = [
        &|number| {
            result(number).is_some_and(|value| if rises { value >= compared } else { value <= compared })
        },
        &|number| result(number).is_some_and(|value| if rises { value > compared } else { value < compared }),
    ];
    let points = reached.into_iter().filter_map(first);
    points.map(Sample::Double).collect()
}

/// The least double of which something holds that holds of all greater ones, too; nothing if it holds of none.
fn first(holds: &dyn Fn(f64) -> bool) -> Option<f64> {
    let (mut below, mut above) = (place(f64::MIN), place(f64::MAX));
    if !holds(f64::MAX) {
        return None;
    }
    while below < above {
        // rounded down, so that it is never the upper one of two neighbours: `midpoint` rounds towards zero
        let middle = (below & above).wrapping_add((below ^ above) >> 1);
        if holds(at(middle)) {
            above = middle;
        } else {
            below = middle.checked_add(1)?;
        }
    }
    Some(at(above))
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
