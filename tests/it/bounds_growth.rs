//! Small expressions over large data: work and growth are paid for before they are done, so that each ends soon.
//!
//! `xs` are 10,000 numbers, `digits` a megabyte of zeros, `bits` 300,000 of `0` and `1` without a pattern; `j.xs` are the
//! numbers again, and `j.wide` has a hundred keys of a megabyte. The times allowed are for an unoptimised build on a busy machine.

use crate::bounds_source::on_a_small_stack;
use celador::cel::{Activation, EXTENSIONS, Env, EnvBuilder, Json, Program, STANDARD, Stop, Type, Value};
use celador::limits::EvalLimits;
use std::time::{Duration, Instant};

const COST: &str = "evaluation budget `max_cost` 1000000 exceeded";
const REGEX: &str = "evaluation budget `max_regex_bytes` 262144 exceeded";

/// An expression and why it fails; a value, if it is empty.
const ROWS: &[(&str, &str)] = &[
    // loops in loops
    ("xs.all(a, xs.all(b, xs.all(c, true)))", COST),
    ("xs.map(a, xs.map(b, xs.map(c, xs)))", COST),
    ("xs.filter(a, xs.exists(b, a + b < 0)).size()", COST),
    ("xs.map(a, xs.filter(b, true))", COST),
    ("xs.transformMap(i, a, xs.transformMap(k, b, a))", COST),
    ("xs.transformMapEntry(i, a, {string(a): xs})", ""),
    ("xs.sortBy(a, xs.sortBy(b, b).size())", COST),
    // growth in loops
    ("xs.map(a, xs + xs)", COST),
    ("xs.map(a, digits + digits)", COST),
    ("xs.map(a, [xs, xs].flatten())", COST),
    ("xs.map(a, lists.range(a + 10000))", COST),
    ("xs.map(a, xs.reverse())", COST),
    ("xs.map(a, digits.upperAscii())", COST),
    ("xs.map(a, digits.replace('0', '00'))", COST),
    ("xs.map(a, '%s'.format([xs]))", COST),
    ("xs.map(a, '%65535.f'.format([1]))", "invalid argument for `format`"),
    ("xs.map(a, '%.65535f'.format([a]))", COST),
    ("xs.map(a, base64.encode(bytes(digits)))", COST),
    ("xs.map(a, strings.quote(digits))", COST),
    ("xs.map(a, xs.map(b, string(b)).join(digits))", COST),
    ("xs.map(a, digits.split(''))", COST),
    // comparisons that walk
    ("xs.all(a, xs == xs)", COST),
    ("xs.all(a, j.xs == j.xs)", COST),
    ("xs.all(a, j.?xs == j.?xs)", COST),
    ("xs.all(a, {'a': j} == {'a': j})", COST),
    ("xs.all(a, {digits: 1} == {digits: 1})", COST),
    ("xs.map(a, optional.of(xs)) == xs.map(a, optional.of(xs))", COST),
    ("xs.map(a, [optional.of({'a': xs})]) == xs.map(a, [optional.of({'a': xs})])", COST),
    ("xs.all(a, digits == digits + '')", COST),
    ("xs.all(a, digits <= digits)", COST),
    ("xs.all(a, a in xs)", COST),
    ("xs.all(a, xs in [xs, xs])", COST),
    ("cel.bind(t, digits + '1', cel.bind(l, xs.map(a, digits), !(t in l)))", ""),
    ("cel.bind(l, xs.map(a, digits), !l.exists(a, a in l.map(b, digits + '1')))", COST),
    ("xs.all(a, sets.contains(xs, xs))", COST),
    ("xs.map(a, [a, 0.5]).distinct()", COST),
    ("xs.map(a, digits).sort()", COST),
    // text that is read
    ("xs.all(a, int(digits) == 0)", COST),
    ("xs.all(a, uint(digits) == 0u)", COST),
    ("xs.all(a, double(digits) == 0.0)", COST),
    ("xs.all(a, duration(digits + 's') == duration('0s'))", COST),
    ("cel.bind(d, digits + 's', xs.all(a, duration(d) == duration('0s')))", COST),
    ("cel.bind(t, '2026-01-01T00:00:00.' + digits + 'Z', xs.all(a, timestamp(t).getDate() == 1))", COST),
    ("xs.exists(a, timestamp('2026-01-01T00:00:00Z').getHours(digits) == a)", COST),
    ("xs.exists(a, cidr(digits) == ip(digits))", "invalid argument for `cidr`"),
    ("xs.all(a, !isCIDR(digits) && !isIP(digits))", ""),
    ("xs.all(a, size(digits) > 1)", ""),
    ("xs.all(a, size(digits) == 1000000)", COST),
    ("xs.all(a, !digits.contains('1'))", COST),
    ("xs.all(a, !'1'.contains(digits))", COST),
    ("xs.all(a, '1'.indexOf(digits) == -1)", COST),
    ("xs.all(a, '1'.lastIndexOf(digits) == -1)", COST),
    ("xs.all(a, '1'.replace(digits, '') == '1')", COST),
    ("xs.all(a, '1'.split(digits).size() == 1)", COST),
    ("xs.all(a, digits.startsWith(digits))", COST),
    ("xs.all(a, digits.endsWith(digits))", COST),
    // keys
    ("cel.bind(m, {digits: 1}, xs.all(a, m[digits] == 1))", COST),
    ("cel.bind(m, {digits: 1}, xs.all(a, m[?digits].hasValue()))", COST),
    ("cel.bind(m, {digits: 1}, xs.all(a, digits in m))", COST),
    ("xs.all(a, {digits: a}.size() == 1)", COST),
    ("xs.all(a, !(digits in j.wide))", COST),
    // patterns
    ("bits.matches('[01]{1,1000}[^01]')", COST),
    ("bits.matches('[01]*1[01]{600}[^01]')", COST),
    ("bits.matches('(?:[01]{1,31}){1,31}[^01]')", COST),
    ("bits.matches('(?:[01]{1,9}){1,9}[^01]')", ""),
    ("bits.matches('(0|1|01|10)*[^01]')", ""),
    ("bits.matches('([01]*)*([01]*)*([01]*)*[^01]')", ""),
    ("xs.exists(a, bits.matches('[01]*1[01]{9}[^01]'))", COST),
    (r"xs.exists(a, ''.matches('\\pL{4}' + string(a)))", COST),
    (r"xs.exists(a, ''.matches('(?i)' + '\\pL\\PL\\pL\\PL' + '(' + string(a)) || true)", ""),
    (r"xs.exists(a, ''.matches('(?i)' + '\\pL\\PL\\pL\\PL' + '(' + string(a)) && a < 0)", COST),
    (r"xs.exists(a, ''.matches('\\pL{50}' + string(a)) || true)", REGEX),
    (r"xs.exists(a, ''.matches('(\\pL{5}){10}' + string(a)) || true)", REGEX),
    ("xs.exists(a, ''.matches(digits))", COST),
    ("bits.matches(bits)", COST),
    ("regex.extractAll(bits, '1').size() > 0", COST),
    ("regex.replace(bits, '', bits)", COST),
    ("regex.replace(bits, '[01]{1,1000}[^01]', '')", COST),
];

/// `0` and `1`, as if by chance.
fn bits(count: usize) -> String {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if state >> 63 == 0 { '0' } else { '1' }
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn env() -> Env {
    let scope = Env::builder()
        .variable("xs", Type::list(Type::Int))
        .variable("digits", Type::String)
        .variable("bits", Type::String)
        .variable("j", Type::Dyn);
    STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library).build()
}

#[test]
fn nothing_is_done_that_is_not_paid_for() {
    on_a_small_stack(|| {
        let env = env();
        let (digits, bits) = ("0".repeat(1_000_000), bits(300_000));
        let wide = (0..100).map(|key| (format!("{}{key}", &digits[2..]), Json::null()));
        let wide: Vec<(String, Json)> = wide.collect();
        let wide = Json::object(wide.iter().map(|(key, value)| (key.as_str(), value.clone())));
        let numbers =
            Json::from_value(&Value::list((0..10_000).map(Value::Int).collect()), &EvalLimits::default())
                .unwrap();
        let json = Json::object([("xs", numbers.clone()), ("wide", wide)]);
        let mut wrong = Vec::new();
        for (text, expected) in ROWS {
            let started = Instant::now();
            let program = Program::compile(&env, text).unwrap_or_else(|issues| panic!("{text}: {issues:?}"));
            let activation = Activation::new(&env)
                .with(&env, "xs", numbers.value())
                .with(&env, "digits", Value::text(&digits))
                .with(&env, "bits", Value::text(&bits))
                .with(&env, "j", json.value());
            let found = match program.run(&activation, None) {
                Ok(_) => String::new(),
                Err(Stop::Failed(error)) => error.to_string(),
                Err(Stop::Asked) => unreachable!("no host"),
            };
            if found != *expected {
                wrong.push(format!("{text}\n  expected {expected:?}\n  found    {found:?}"));
            }
            let time = started.elapsed();
            if time > Duration::from_secs(if cfg!(debug_assertions) { 30 } else { 5 }) {
                wrong.push(format!("{text}\n  took {time:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}
