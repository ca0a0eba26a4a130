//! Sums, extremes, order and positions of lists, against the same computed by iterators of Rust over wider numbers.

use celador::cel::{
    Activation, Duration, EXTENSIONS, Env, EnvBuilder, ErrorCode, Program, STANDARD, Stop, Type, Value,
};
use num_bigint::BigInt;
use proptest::collection::vec;
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::LazyLock;

/// A scope with a list of each type that can be added up, and one of which nothing is known.
static SCOPE: LazyLock<Env> = LazyLock::new(|| {
    let list = |scope: EnvBuilder, (name, ty): (&str, Type)| scope.variable(name, Type::list(ty));
    let lists = [
        ("ints", Type::Int),
        ("uints", Type::UInt),
        ("doubles", Type::Double),
        ("durations", Type::Duration),
        ("texts", Type::String),
        ("any", Type::Dyn),
    ];
    let scope = lists.into_iter().fold(Env::builder(), list).variable("item", Type::Dyn);
    STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library).build()
});

/// What an expression gives over one list, or the code of its error.
fn over<'a>(name: &str, items: &[Value<'a>], text: &'a str) -> Result<String, ErrorCode> {
    let program = Program::compile(&SCOPE, text).unwrap();
    let item = items.first().cloned().unwrap_or(Value::Null);
    let activation =
        Activation::new(&SCOPE).with(&SCOPE, name, Value::list(items.to_vec())).with(&SCOPE, "item", item);
    match program.run(&activation, None) {
        Ok(value) => Ok(format!("{value:?}")),
        Err(Stop::Failed(error)) => Err(error.code),
        Err(Stop::Asked) => panic!("nobody is asked"),
    }
}

fn shown(value: Value<'_>) -> String {
    format!("{value:?}")
}

/// The sum of numbers as wide as need be, if it is within a type.
fn sum_within(items: impl Iterator<Item = i128>, least: i128, most: i128) -> Option<i128> {
    Some(items.sum()).filter(|sum| (least..=most).contains(sum))
}

/// Doubles of all sizes, many of which cancel each other or lie half way between two others.
fn doubles() -> impl Strategy<Value = f64> {
    let near = (-60..60_i32, -3..3_i32).prop_map(|(exponent, part)| f64::from(part) * 2.0_f64.powi(exponent));
    let edges = prop::sample::select(vec![
        0.0,
        -0.0,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        -5e-324,
        5e-324,
        1e308,
        2.0_f64.powi(-1023),
        2.0_f64.powi(53),
        1.0 + f64::EPSILON,
        0.1,
        -0.3,
    ]);
    prop_oneof![4 => near, 2 => edges, 2 => any::<f64>(), 1 => prop::sample::select(&[f64::INFINITY, f64::NEG_INFINITY, f64::NAN])]
}

/// A finite double as a whole number of the smallest one, 2^-1074.
fn units(double: f64) -> BigInt {
    let (exponent, fraction) = ((double.to_bits() >> 52) & 0x7ff, double.to_bits() & ((1 << 52) - 1));
    let magnitude = match exponent {
        0 => BigInt::from(fraction),
        _ => BigInt::from(fraction | (1 << 52)) << (exponent - 1),
    };
    if double.is_sign_negative() { -magnitude } else { magnitude }
}

/// Whether a double is the nearest one to the sum of others, and of two the even one. Beyond the greatest one the next would be
/// 2^1024, which is the infinity.
fn is_nearest(sum: f64, doubles: &[f64]) -> bool {
    let exact: BigInt = doubles.iter().copied().map(units).sum();
    let infinity: BigInt = BigInt::from(1) << 2098;
    let place = |double: f64| match double {
        f64::INFINITY => infinity.clone(),
        f64::NEG_INFINITY => -infinity.clone(),
        finite => units(finite),
    };
    let distance = |double: f64| BigInt::from((place(double) - &exact).magnitude().clone());
    let is_nearer = |other: f64| match distance(sum).cmp(&distance(other)) {
        Ordering::Less => true,
        Ordering::Equal => sum == other || sum.to_bits().is_multiple_of(2),
        // nothing lies beyond the infinity that could be nearer
        Ordering::Greater => false,
    };
    let beyond = sum.is_infinite() && place(sum).magnitude() <= exact.magnitude();
    beyond || (is_nearer(sum.next_up()) && is_nearer(sum.next_down()))
}

/// Numbers that are close to each other and to the ends of their type.
fn ints() -> impl Strategy<Value = i64> {
    prop_oneof![-3..3_i64, Just(i64::MAX), Just(i64::MIN), any::<i64>()]
}

proptest! {
    #[test]
    fn sums_are_exact_or_overflow(ints in vec(ints(), 0..8), uints in vec(prop_oneof![0..3_u64, any::<u64>()], 0..5)) {
        let items: Vec<_> = ints.iter().copied().map(Value::Int).collect();
        let wide = sum_within(ints.iter().copied().map(i128::from), i64::MIN.into(), i64::MAX.into());
        let wanted = wide.map(|sum| shown(Value::Int(i64::try_from(sum).unwrap()))).ok_or(ErrorCode::Overflow);
        prop_assert_eq!(over("ints", &items, "ints.sum()"), wanted.clone());
        prop_assert_eq!(over("any", &items, "any.sum()"), wanted);

        let items: Vec<_> = uints.iter().copied().map(Value::UInt).collect();
        let wide = sum_within(uints.iter().copied().map(i128::from), 0, u64::MAX.into());
        let wanted = wide.map(|sum| shown(Value::UInt(u64::try_from(sum).unwrap()))).ok_or(ErrorCode::Overflow);
        prop_assert_eq!(over("uints", &items, "uints.sum()"), wanted);
    }

    #[test]
    fn sums_of_doubles_are_exact_and_rounded_once(doubles in vec(doubles(), 0..40), turn in 0..40_usize) {
        let items: Vec<_> = doubles.iter().copied().map(Value::Double).collect();
        let wanted = over("doubles", &items, "doubles.sum()").unwrap();
        let sum: f64 = wanted.trim_start_matches("Double(").trim_end_matches(')').parse().unwrap();
        match doubles.iter().copied().filter(|double| !double.is_finite()).reduce(|a, b| a + b) {
            Some(special) => prop_assert_eq!(sum.to_string(), special.to_string()),
            None => prop_assert!(is_nearest(sum, &doubles), "{sum:e}"),
        }
        prop_assert_eq!(over("doubles", &items, "doubles.map(x, x).sum()"), Ok(wanted.clone()));
        // and in whatever order
        let mut items = items;
        items.rotate_left(turn.min(doubles.len()));
        prop_assert_eq!(over("doubles", &items, "doubles.sum()"), Ok(wanted.clone()));
        items.reverse();
        prop_assert_eq!(over("doubles", &items, "doubles.sum()"), Ok(wanted));
    }

    #[test]
    fn sums_of_durations_are_exact(nanos in vec(any::<i64>(), 0..6)) {
        let durations: Vec<Duration> = nanos.iter().map(|nanos| Duration::from_nanos(i128::from(*nanos)).unwrap()).collect();
        let items: Vec<_> = durations.iter().copied().map(Value::Duration).collect();
        let wanted = Duration::from_nanos(nanos.iter().copied().map(i128::from).sum()).unwrap();
        prop_assert_eq!(over("durations", &items, "durations.sum()"), Ok(shown(Value::Duration(wanted))));
    }

    #[test]
    fn extremes_order_and_positions_are_those_of_iterators(ints in vec(-4..4_i64, 0..8), texts in vec("[ab]{0,3}", 0..6)) {
        let items: Vec<_> = ints.iter().copied().map(Value::Int).collect();
        let int = |found: Option<&i64>| found.map(|it| shown(Value::Int(*it))).ok_or(ErrorCode::InvalidArgument);
        prop_assert_eq!(over("ints", &items, "ints.min()"), int(ints.iter().min()));
        prop_assert_eq!(over("ints", &items, "ints.max()"), int(ints.iter().max()));
        prop_assert_eq!(over("ints", &items, "ints.isSorted()"), Ok(shown(Value::Bool(ints.is_sorted()))));
        let position = |at: Option<usize>| Ok(shown(Value::Int(at.map_or(-1, |at| i64::try_from(at).unwrap()))));
        for sought in -4..4 {
            let text = [format!("ints.indexOf({sought})"), format!("ints.lastIndexOf({sought})")];
            prop_assert_eq!(over("ints", &items, &text[0]), position(ints.iter().position(|it| *it == sought)));
            prop_assert_eq!(over("ints", &items, &text[1]), position(ints.iter().rposition(|it| *it == sought)));
        }

        let items: Vec<_> = texts.iter().map(|text| Value::text(text)).collect();
        let text = |found: Option<&String>| found.map(|it| shown(Value::text(it))).ok_or(ErrorCode::InvalidArgument);
        prop_assert_eq!(over("texts", &items, "texts.min()"), text(texts.iter().min()));
        prop_assert_eq!(over("texts", &items, "texts.max()"), text(texts.iter().max()));
        prop_assert_eq!(over("texts", &items, "texts.isSorted()"), Ok(shown(Value::Bool(texts.is_sorted()))));
        prop_assert_eq!(over("texts", &items, "texts.sort().isSorted()"), Ok(shown(Value::Bool(true))));
    }

    /// The nearest double: no other is nearer to the nanoseconds.
    #[test]
    fn total_seconds_are_the_nearest_double(nanos in prop_oneof![-4_000_000_000..4_000_000_000_i64, any::<i64>()]) {
        let items = [Value::Duration(Duration::from_nanos(i128::from(nanos)).unwrap())];
        let sign = if nanos < 0 { "-" } else { "" };
        let (whole, part) = (nanos.unsigned_abs() / 1_000_000_000, nanos.unsigned_abs() % 1_000_000_000);
        let wanted: f64 = format!("{sign}{whole}.{part:09}").parse().unwrap();
        prop_assert_eq!(over("durations", &items, "durations[0].totalSeconds()"), Ok(shown(Value::Double(wanted))));
    }
}

/// What an empty list adds up to is said by its type, so a sum can be added to whatever is of that type.
#[test]
fn an_empty_sum_is_the_zero_of_its_type() {
    for (name, zero) in [
        ("ints", Value::Int(0)),
        ("uints", Value::UInt(0)),
        ("doubles", Value::Double(0.0)),
        ("durations", Value::Duration(Duration::ZERO)),
        ("any", Value::Int(0)),
    ] {
        let text = format!("{name}.sum()");
        assert_eq!(over(name, &[], &text), Ok(shown(zero)), "{name}");
    }
    assert_eq!(over("any", &[], "any.map(x, double(x)).sum() + 1.5"), Ok(shown(Value::Double(1.5))));
}

/// A list of 100,000 elements, read over and over, meets the budget and not the clock.
#[test]
fn long_lists_are_paid_for() {
    let items = vec![Value::Int(1); 100_000];
    for text in ["any.sum()", "any.min()", "any.isSorted()", "any.indexOf(2)", "any.lastIndexOf(2)"] {
        let found = over("any", &items, text);
        assert!(found.is_ok(), "{text}: {found:?}");
        let text = format!("any.all(x, {text} > -2 || true)");
        assert_eq!(over("any", &items, &text), Err(ErrorCode::BudgetExceeded), "{text}");
    }
    let text = "any.all(x, any.isSorted())";
    assert_eq!(over("any", &items, text), Err(ErrorCode::BudgetExceeded));
}
