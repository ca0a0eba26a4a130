//! Semantic versions and quantities: what is read of each, versions held to the crate `semver`, quantities to fractions of whole numbers.
//!
//! The corpora are `tests/data/formats/semvers.txt` and `quantities.txt`.

use crate::check_rows::hold;
use celador::cel::{
    Activation, EXTENSIONS, Env, EnvBuilder, Program, Quantity, STANDARD, Semver, Stop, Type, Value,
};
use proptest::prelude::*;
use std::sync::LazyLock;

static SCOPE: LazyLock<Env> = LazyLock::new(|| {
    let scope = Env::builder().variable("text", Type::String);
    STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library).build()
});

/// What an expression gives of a text, as `string` and errors have it.
fn run(expression: &str, text: &str) -> String {
    let program = Program::compile(&SCOPE, expression).unwrap();
    let activation = Activation::new(&SCOPE).with(&SCOPE, "text", Value::text(text));
    match program.run(&activation, None) {
        Ok(Value::String(text)) => text.to_string(),
        Ok(value) => format!("{value:?}"),
        Err(Stop::Failed(error)) => format!("error: {}", error.code),
        Err(Stop::Asked) => panic!("nobody is asked"),
    }
}

#[test]
fn versions_are_read_or_refused() {
    hold("formats/semvers.txt", 47, |text| {
        let strict = run("string(semver(text))", text);
        let regular = run("string(semver(text, true))", text);
        for (found, asked) in [(&strict, "isSemver(text)"), (&regular, "isSemver(text, true)")] {
            assert_eq!(
                run(asked, text),
                format!("Bool({})", !found.starts_with("error")),
                "{asked} of {text}"
            );
        }
        format!("{strict} | {regular}")
    });
}

#[test]
fn quantities_are_read_or_refused() {
    hold("formats/quantities.txt", 70, |text| {
        let whole = run("string(quantity(text))", text);
        assert_eq!(run("isQuantity(text)", text), format!("Bool({})", !whole.starts_with("error")), "{text}");
        if whole.starts_with("error") {
            return whole;
        }
        let integer = run("string(quantity(text).asInteger())", text);
        format!("{whole} | {integer} | {}", run("string(quantity(text).asApproximateFloat())", text))
    });
}

/// Versions and what is nearly one.
fn versions() -> impl Strategy<Value = String> {
    let sign =
        prop::sample::select(&["0", "1", "2", "10", "01", ".", ".", "-", "+", "a", "rc", "1a", "", "v"][..]);
    let nearly = prop::collection::vec(sign, 1..9).prop_map(|signs| signs.concat());
    prop_oneof![nearly, "[0-2]\\.[0-2]\\.[0-2](-(0|1|2|10|a|b|-|a1)(\\.(0|1|a|b)){0,2})?(\\+[0a]{1,2})?"]
}

/// Numbers of few digits with a suffix, and the same in billionths of a billionth, as far as 128 bits go.
fn quantities() -> impl Strategy<Value = (String, i128)> {
    let suffixes = [
        ("n", -9, 0),
        ("u", -6, 0),
        ("m", -3, 0),
        ("", 0, 0),
        ("k", 3, 0),
        ("M", 6, 0),
        ("e-2", -2, 0),
        ("e2", 2, 0),
        ("E+1", 1, 0),
        ("Ki", 0, 10),
        ("Mi", 0, 20),
        ("Gi", 0, 30),
    ];
    (any::<bool>(), 0..10_000_i128, 0..5_u32, prop::sample::select(suffixes.to_vec())).prop_map(
        |(negative, digits, fraction, (suffix, tens, twos))| {
            let point = 10_i128.pow(fraction);
            let point_text = if fraction == 0 {
                String::new()
            } else {
                format!(".{:0width$}", digits % point, width = fraction as usize)
            };
            let sign = if negative { "-" } else { "" };
            let text = format!("{sign}{}{point_text}{suffix}", digits / point);
            let parts = digits * 10_i128.pow(u32::try_from(18 + tens).unwrap()) * 2_i128.pow(twos) / point;
            (text, if negative { -parts } else { parts })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn versions_are_those_of_the_crate(a in versions(), b in versions()) {
        let own = |text: &str| text.parse::<Semver>().ok();
        let theirs = |text: &str| semver::Version::parse(text).ok();
        prop_assert_eq!(own(&a).map(|it| it.to_string()), theirs(&a).map(|it| it.to_string()), "{}", a);
        if let (Some(own_a), Some(own_b), Some(a), Some(b)) = (own(&a), own(&b), theirs(&a), theirs(&b)) {
            prop_assert_eq!(own_a.cmp(&own_b), a.cmp_precedence(&b), "{} {}", a, b);
            prop_assert_eq!(Semver::normalized(&a.to_string()).unwrap().to_string(), a.to_string());
        }
    }

    #[test]
    fn quantities_are_exact((a, parts) in quantities(), (b, other) in quantities()) {
        const PARTS: i128 = 1_000_000_000;
        let (Ok(own), Ok(second)) = (a.parse::<Quantity>(), b.parse::<Quantity>()) else {
            prop_assert!(parts % PARTS != 0 || other % PARTS != 0, "{} {}", a, b);
            return Ok(());
        };
        prop_assert!(parts % PARTS == 0 && other % PARTS == 0, "{} {}", a, b);
        prop_assert_eq!(own.cmp(&second), parts.cmp(&other));
        prop_assert_eq!(own.to_string().parse::<Quantity>().unwrap(), own);
        let whole = parts % (PARTS * PARTS) == 0;
        prop_assert_eq!(own.as_integer(), whole.then(|| i64::try_from(parts / PARTS / PARTS).unwrap()));
        let sum = own.plus(second).unwrap();
        prop_assert_eq!(sum.minus(second).unwrap(), own);
        prop_assert_eq!(sum.cmp(&own), (parts + other).cmp(&parts));
        prop_assert_eq!(i128::from(own.sign()), parts.signum());
        let decimals = format!("{}{}.{:018}", if parts < 0 { "-" } else { "" }, parts.abs() / PARTS / PARTS, parts.abs() % (PARTS * PARTS));
        prop_assert_eq!(own.as_approximate_float(), decimals.parse::<f64>().unwrap());
    }
}
