//! The least and the greatest number that an expression can give.
//!
//! In: an expression, and whether what the schemas of arguments say counts. Out: its [`Range`], if it gives numbers alone. The ends of a range are computed of the ends of
//! the operands, with the arithmetic of doubles: rounding keeps the order of numbers, so what is rounded stays between rounded ends, and what is an int is exact as long as the
//! ends are. An end that doubles do not hold exactly is given up. Linear in the expression.

use super::derived::{Derived, Keeps, derived};
use super::number::Ints;
use super::path::{function, is_of_result, is_path, is_validated, key, sized};
use super::sample::{EXACT, Sample, constant, whole};
use crate::cel::{Checked, Domain, Expr, ExprKind, Literal, Numbers, Type};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Functions whose answers lie in a range: of points in time, and positions.
const RANGES: [(&str, i64, i64); 12] = [
    ("getMonth", 0, 11),
    ("getDayOfYear", 0, 365),
    ("getDayOfMonth", 0, 30),
    ("getDate", 1, 31),
    ("getDayOfWeek", 0, 6),
    ("weekday", 1, 7),
    ("getHours", 0, 23),
    ("getMinutes", 0, 59),
    ("getSeconds", 0, 59),
    ("getMilliseconds", 0, 999),
    ("indexOf", -1, i64::MAX),
    ("lastIndexOf", -1, i64::MAX),
];

/// Where numbers lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) least: f64,
    pub(super) most: f64,
    /// Whether one may be infinite: what is computed of doubles may be too large for one.
    may_overflow: bool,
    /// Whether one may be NaN, which no end holds.
    may_be_nan: bool,
}

impl Range {
    /// Any number, and what is none.
    pub(super) const ALL: Self =
        Self { least: f64::NEG_INFINITY, most: f64::INFINITY, may_overflow: true, may_be_nan: true };

    /// The numbers of JSON between two ends.
    pub(super) fn of_json(least: Option<f64>, most: Option<f64>) -> Self {
        let (least, most) = (least.unwrap_or(f64::NEG_INFINITY), most.unwrap_or(f64::INFINITY));
        Self { least, most, may_overflow: false, may_be_nan: false }.exact()
    }

    /// The range of an expression; nothing if it may give something else than a number.
    pub(super) fn of(checked: &Checked, expr: &Expr, with_schemas: bool) -> Option<Self> {
        let of = |part: &Expr| Self::of(checked, part, with_schemas);
        if let Some(constant) = constant(expr) {
            return Self::of_constant(&constant);
        }
        if is_path(checked, expr) {
            return Self::of_path(checked, expr, with_schemas);
        }
        if let Some(of) = sized(checked, expr) {
            let size = size(checked, of, with_schemas);
            return Some(size.and(Self::of_ints(checked, expr)));
        }
        let any = Self::of_type(checked.type_of(expr.id));
        let ExprKind::Call { args, .. } = &expr.kind else { return any };
        let Some((name, _)) = function(checked, expr) else { return any };
        let found = match (name, args.as_slice()) {
            ("-_", [one]) => of(one).map(Self::negated),
            ("_+_", [one, two]) => of(one).zip(of(two)).map(|(one, two)| one.plus(two)),
            ("_-_", [one, two]) => of(one).zip(of(two)).map(|(one, two)| one.less(two)),
            ("_*_", [one, two]) => of(one).zip(of(two)).map(|(one, two)| one.times(two)),
            ("_%_", [one, _]) => {
                Some(of(one).map_or(Self::ALL, Self::remainder).and(Self::of_ints(checked, expr)))
            }
            ("_/_", [one, two]) => of(one).zip(of(two)).and_then(|(one, two)| one.divided_by(two)),
            ("_?_:_", [_, one, two]) => of(one).zip(of(two)).map(|(one, two)| one.or(two)),
            ("math.greatest", numbers) => all(numbers, &of, Self::greatest),
            ("math.least", numbers) => all(numbers, &of, Self::least),
            ("math.abs", [one]) => of(one).map(Self::absolute),
            ("math.ceil", [one]) => of(one).map(|one| one.each(f64::ceil)),
            ("math.floor", [one]) => of(one).map(|one| one.each(f64::floor)),
            ("math.round", [one]) => of(one).map(|one| one.each(f64::round)),
            ("math.trunc", [one]) => of(one).map(|one| one.each(f64::trunc)),
            ("math.sign", [one]) => of(one).map(|one| one.each(sign)),
            ("math.sqrt", _) => Some(Self { least: 0.0, ..Self::ALL }),
            ("double", [one]) => of(one),
            ("int", [one]) => {
                of(one).map(|one| Self { may_overflow: false, may_be_nan: false, ..one.each(f64::trunc) })
            }
            _ => ints(checked, expr).is_bounded().then(|| Self::of_ints(checked, expr)),
        };
        found.map(Self::exact).or(any)
    }

    fn of_type(ty: &Type) -> Option<Self> {
        match ty {
            Type::Int => Some(Self::of_json(None, None)),
            Type::Double => Some(Self::ALL),
            _ => None,
        }
    }

    fn of_constant(constant: &Sample) -> Option<Self> {
        let value = constant.number()?;
        Some(Self::of_json(Some(value), Some(value)))
    }

    fn of_path(checked: &Checked, expr: &Expr, with_schemas: bool) -> Option<Self> {
        if is_of_result(checked, expr) {
            return None;
        }
        let domain = checked.domain_of(expr.id);
        if domain.is_some_and(|domain| domain.or_null) {
            return None;
        }
        match domain.and_then(|domain| domain.numbers.map(|numbers| (domain, numbers))) {
            Some((_, Numbers::Counts)) => Some(Self::of_json(Some(0.0), None)),
            Some((domain, _)) if with_schemas && is_validated(checked, expr) => {
                Some(Self::of_argument(domain))
            }
            Some(_) => Some(Self::of_json(None, None)),
            None => Self::of_type(checked.type_of(expr.id)),
        }
    }

    /// What the schema of an argument says of numbers.
    pub(super) fn of_argument(domain: &Domain) -> Self {
        Self::of_json(domain.least, domain.most)
    }

    /// The same of sizes.
    fn of_size(domain: &Domain) -> Self {
        let count = |size: Option<u64>| size.and_then(|size| u32::try_from(size).ok()).map(f64::from);
        let [least, most] = sizes(domain).map(count);
        Self::of_json(Some(least.unwrap_or_default()), most)
    }

    fn of_ints(checked: &Checked, expr: &Expr) -> Self {
        let ints = ints(checked, expr);
        #[expect(clippy::cast_precision_loss, reason = "an end that is not exact is given up")]
        Self::of_json(Some(ints.least as f64), Some(ints.most as f64))
    }

    /// Gives up an end that doubles do not hold exactly.
    fn exact(mut self) -> Self {
        if self.least.is_nan() || self.least.abs() >= EXACT {
            self.least = f64::NEG_INFINITY;
        }
        if self.most.is_nan() || self.most.abs() >= EXACT {
            self.most = f64::INFINITY;
        }
        if self.least.is_finite() && self.most.is_finite() {
            self.may_overflow = false;
        }
        self
    }

    fn plus(self, other: Self) -> Self {
        Self {
            least: self.least + other.least,
            most: self.most + other.most,
            may_overflow: true,
            may_be_nan: self.may_be_nan || other.may_be_nan || self.may_overflow && other.may_overflow,
        }
    }

    fn negated(self) -> Self {
        Self { least: -self.most, most: -self.least, ..self }
    }

    /// The difference of two numbers.
    pub(super) fn less(self, other: Self) -> Self {
        self.plus(other.negated())
    }

    fn times(self, other: Self) -> Self {
        // an end that is not known stands for numbers, which are nothing when they are multiplied by 0
        let product = |one: f64, two: f64| if one == 0.0 || two == 0.0 { 0.0 } else { one * two };
        let ends = [
            product(self.least, other.least),
            product(self.least, other.most),
            product(self.most, other.least),
            product(self.most, other.most),
        ];
        Self {
            least: ends.into_iter().fold(f64::INFINITY, f64::min),
            most: ends.into_iter().fold(f64::NEG_INFINITY, f64::max),
            may_overflow: true,
            may_be_nan: self.may_be_nan || other.may_be_nan || self.may_overflow || other.may_overflow,
        }
    }

    /// The quotient; nothing is known where something is divided by more than one number. That of ints is cut.
    fn divided_by(self, other: Self) -> Option<Self> {
        if other.least != other.most || other.least == 0.0 {
            return None;
        }
        let ends = [self.least / other.least, self.most / other.least];
        let ends = ends.into_iter().flat_map(|end| [end, end.trunc()]);
        let (least, most) = ends
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), end| (least.min(end), most.max(end)));
        Some(Self { least, most, may_overflow: true, ..self })
    }

    /// What is left of these numbers when they are divided by others: it has their sign, and is no larger.
    fn remainder(self) -> Self {
        Self { least: self.least.min(0.0), most: self.most.max(0.0), ..self }
    }

    fn or(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            may_overflow: self.may_overflow || other.may_overflow,
            may_be_nan: self.may_be_nan || other.may_be_nan,
        }
    }

    /// The range of the greater one of two. A NaN may be passed over for either, so nothing follows for both where one may be NaN.
    fn greatest(self, other: Self) -> Self {
        let either = self.or(other);
        if either.may_be_nan { either } else { Self { least: self.least.max(other.least), ..either } }
    }

    /// The same of the lesser one.
    fn least(self, other: Self) -> Self {
        let either = self.or(other);
        if either.may_be_nan { either } else { Self { most: self.most.min(other.most), ..either } }
    }

    fn absolute(self) -> Self {
        let most = self.most.max(-self.least);
        let least = if self.least >= 0.0 { self.least } else { (-self.most).max(0.0) };
        Self { least, most, ..self }
    }

    /// The range of what keeps the order of numbers.
    fn each(self, made: fn(f64) -> f64) -> Self {
        Self { least: made(self.least), most: made(self.most), ..self }
    }

    /// What lies in both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            least: self.least.max(other.least),
            most: self.most.min(other.most),
            may_overflow: self.may_overflow && other.may_overflow,
            may_be_nan: self.may_be_nan && other.may_be_nan,
        }
    }

    /// The ints that lie in it.
    pub(super) fn ints(self) -> Ints {
        Ints {
            least: whole(self.least.ceil()).unwrap_or(i64::MIN),
            most: whole(self.most.floor()).unwrap_or(i64::MAX),
        }
    }

    /// Whether every one is a number, and none NaN.
    pub(super) fn is_ordered(self) -> bool {
        !self.may_be_nan
    }

    /// Whether both ends are known.
    pub(super) fn is_bounded(self) -> bool {
        self.least.is_finite() && self.most.is_finite()
    }

    /// Whether it may be this.
    pub(super) fn holds(self, number: f64) -> bool {
        if number.is_nan() { self.may_be_nan } else { self.least <= number && number <= self.most }
    }

    /// Whether it may be a number that stands so to zero.
    pub(super) fn may_stand(self, to_zero: Ordering) -> bool {
        match to_zero {
            Ordering::Less => self.least < 0.0,
            Ordering::Equal => self.holds(0.0),
            Ordering::Greater => self.most > 0.0,
        }
    }

    /// The ends that are known.
    pub(super) fn ends(self) -> impl Iterator<Item = f64> {
        [self.least, self.most].into_iter().filter(|end| end.is_finite())
    }
}

fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

/// The range of a function of several numbers, or of a list of them that is written out.
fn all(
    numbers: &[Expr],
    of: &dyn Fn(&Expr) -> Option<Range>,
    both: fn(Range, Range) -> Range,
) -> Option<Range> {
    let parts: Vec<&Expr> = match numbers {
        [Expr { kind: ExprKind::List(elements), .. }] if elements.iter().all(|it| !it.optional) => {
            elements.iter().map(|it| &it.value).collect()
        }
        _ => numbers.iter().collect(),
    };
    parts.into_iter().map(of).reduce(|range, next| Some(both(range?, next?)))?
}

/// The ints that an expression may be, as far as it is one.
fn ints(checked: &Checked, expr: &Expr) -> Ints {
    let Some((name, overloads)) = function(checked, expr) else { return Ints::ALL };
    match name {
        // there is a part ahead of the first separator, and behind the last one
        "size" if sized(checked, expr).is_some_and(|of| is_split(checked, of)) => return Ints::from(1),
        "size" => return Ints::COUNTS,
        "indexOf" | "lastIndexOf" => return Ints::from(-1),
        _ => {}
    }
    if let ("_%_", ExprKind::Call { args, .. }) = (name, &expr.kind)
        && let Some(Sample::Int(by)) = args.get(1).and_then(constant)
    {
        return Ints::remainders(by);
    }
    // of a duration the getters count its whole length
    let of_times = overloads.iter().all(|overload| !overload.starts_with("duration_"));
    match RANGES.iter().find(|(known, ..)| *known == name) {
        Some((_, least, most)) if of_times && !overloads.is_empty() => Ints { least: *least, most: *most },
        _ => Ints::ALL,
    }
}

/// Whether an expression is a text that is split into as many parts as there are.
fn is_split(checked: &Checked, expr: &Expr) -> bool {
    let is_split = function(checked, expr).is_some_and(|(name, _)| name == "split");
    is_split && matches!(&expr.kind, ExprKind::Call { target: Some(_), args, .. } if args.len() == 1)
}

/// The least and the greatest size that a schema holds values to.
pub(super) fn sizes(domain: &Domain) -> [Option<u64>; 2] {
    if cfg!(feature = "schemas") { [domain.min_size, domain.max_size] } else { [None; 2] }
}

/// How many elements a list has, or characters a text: those of an argument as its schema says, those of what is made of another list as that has them.
fn size(checked: &Checked, of: &Expr, with_schemas: bool) -> Range {
    let any = Range::of_json(Some(0.0), None);
    if with_schemas && is_validated(checked, of) {
        return checked.domain_of(of.id).map_or(any, Range::of_size);
    }
    let size_of = |part: &Expr| size(checked, part, with_schemas);
    if let Some(Derived { of, keeps, .. }) = derived(checked, of) {
        let whole = size_of(of);
        return match keeps {
            Keeps::All => whole,
            Keeps::Different => Range { least: whole.least.min(1.0), ..whole },
            Keeps::Chosen => Range { least: 0.0, ..whole },
        };
    }
    let exactly = |size: Option<i64>| size.and_then(|size| u32::try_from(size).ok()).map(f64::from);
    let operands = match &of.kind {
        ExprKind::List(elements) if elements.iter().all(|it| !it.optional) => {
            let size = exactly(i64::try_from(elements.len()).ok());
            return Range::of_json(size, size);
        }
        ExprKind::Literal(Literal::String(text)) => {
            let size = exactly(i64::try_from(text.chars().count()).ok());
            return Range::of_json(size, size);
        }
        ExprKind::Call { args, .. } => args.as_slice(),
        _ => return any,
    };
    match (function(checked, of).map_or("", |(name, _)| name), operands) {
        ("_+_", [one, two]) => {
            let both = size_of(one).plus(size_of(two));
            Range::of_json(Some(both.least), Some(both.most))
        }
        // what is shorter has no such part, and there is no text
        ("substring", [start, end]) => match [start, end].map(constant) {
            [Some(Sample::Int(start)), Some(Sample::Int(end))] => {
                let size = exactly(end.checked_sub(start));
                Range::of_json(size.or(Some(0.0)), size)
            }
            _ => any,
        },
        _ => any,
    }
}

/// How much more one expression is than another one, if both are sums of ints: where the same numbers are in both, more is known of that than of each.
pub(super) fn difference(checked: &Checked, one: &Expr, other: &Expr, with_schemas: bool) -> Option<Range> {
    if let (Some(one), Some(other)) = (sized(checked, one), sized(checked, other)) {
        let found = longer(checked, one, other);
        if let Some(range) = found.or_else(|| longer(checked, other, one).map(Range::negated)) {
            return Some(range);
        }
    }
    let sides = [one, other];
    let is_whole = |side: &&Expr| is_int(checked, side);
    // a number that is taken as it is may be a double: it is compared as exactly as an int
    let is_plain = |side: &&Expr| is_path(checked, side) || constant(side).is_some();
    if !sides.iter().any(is_whole) || !sides.iter().all(|side| is_whole(side) || is_plain(side)) {
        return None;
    }
    let mut sum = Sum { terms: BTreeMap::new(), constant: 0 };
    add(checked, one, 1, &mut sum)?;
    add(checked, other, -1, &mut sum)?;
    let mut range = Range::of_constant(&Sample::Int(sum.constant))?;
    for (factor, term) in sum.terms.into_values().filter(|(factor, _)| *factor != 0) {
        let of_term = Range::of(checked, term, with_schemas)?;
        // the ends of a sum of whole numbers have no error
        if of_term.ends().any(|end| end.fract() != 0.0) {
            return None;
        }
        range = range.plus(of_term.times(Range::of_constant(&Sample::Int(factor))?)).exact();
    }
    Some(Range { may_overflow: false, may_be_nan: false, ..range })
}

/// How much longer a list is than the one that it is taken from, element by element; nothing if it is taken from another one.
fn longer(checked: &Checked, list: &Expr, from: &Expr) -> Option<Range> {
    let from = key(checked, from);
    let (mut at, mut may_lack) = (list, false);
    while key(checked, at) != from {
        let Derived { of, keeps, .. } = derived(checked, at)?;
        may_lack |= keeps != Keeps::All;
        at = of;
    }
    Some(Range::of_json((!may_lack).then_some(0.0), Some(0.0)))
}

/// A sum of ints: how often each term counts.
struct Sum<'e> {
    terms: BTreeMap<String, (i64, &'e Expr)>,
    constant: i64,
}

/// Adds an expression so many times; nothing if it is no sum.
fn add<'e>(checked: &Checked, expr: &'e Expr, times: i64, sum: &mut Sum<'e>) -> Option<()> {
    if let Some(constant) = constant(expr) {
        let Sample::Int(value) = constant else { return None };
        sum.constant = sum.constant.checked_add(value.checked_mul(times)?)?;
        return Some(());
    }
    if let ExprKind::Call { target: None, args, .. } = &expr.kind
        && let Some((name, _)) = function(checked, expr)
    {
        let factor = |expr: &Expr| match constant(expr) {
            Some(Sample::Int(factor)) => factor.checked_mul(times),
            _ => None,
        };
        match (name, args.as_slice()) {
            ("-_", [one]) => return add(checked, one, times.checked_neg()?, sum),
            ("_+_" | "_-_", [one, two]) => {
                add(checked, one, times, sum)?;
                return add(checked, two, if name == "_+_" { times } else { times.checked_neg()? }, sum);
            }
            ("_*_", [one, two]) => {
                if let Some(times) = factor(one) {
                    return add(checked, two, times, sum);
                }
                if let Some(times) = factor(two) {
                    return add(checked, one, times, sum);
                }
            }
            _ => {}
        }
    }
    Range::of(checked, expr, false)?;
    let (count, _) = sum.terms.entry(key(checked, expr)).or_insert((0, expr));
    *count = count.checked_add(times)?;
    Some(())
}

/// Whether an expression is an int wherever it has a value: no operation of numbers mixes ints and doubles.
fn is_int(checked: &Checked, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(Literal::Int(_)) => true,
        ExprKind::Call { target: None, args, .. } => {
            let name = function(checked, expr).map_or("", |(name, _)| name);
            *checked.type_of(expr.id) == Type::Int
                || matches!(name, "_+_" | "_-_" | "_*_" | "-_") && args.iter().any(|it| is_int(checked, it))
        }
        _ => *checked.type_of(expr.id) == Type::Int && !is_of_result(checked, expr),
    }
}
