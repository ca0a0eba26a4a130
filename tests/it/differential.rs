//! Celador and the `cel` crate's interpreter give the same value, of the same type, or both an error.
//!
//! Where they differ, the smallest part that does must be of a form that `tests/data/differential/differences.txt` lists
//! with the clause that decides it; a listed difference that is none any more fails too. The expressions are the same
//! each time; `CELADOR_DIFFERENTIAL` says how many, and with `--nocapture` the test says what came of them.

use crate::laws_expressions::{Case, Language, cases, variables};
use crate::laws_values::{Outcome, Plain, PlainKey, run};
use cel::objects::{Key, Map, OptionalValue};
use celador::cel::{Activation, Env, EnvBuilder, Expr, ExprKind, Json, Program, STANDARD, Type};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::catch_unwind;
use std::sync::{Arc, LazyLock};

const DIFFERENCES: &str = "tests/data/differential/differences.txt";

/// How many expressions `cargo test` tries.
const EXPRESSIONS: u32 = 2_000;

/// How often a part that differs is looked for.
const LOOKS: u32 = 32;

/// The variables of loops, which parts of a loop are run with.
const LOCALS: [&str; 6] = ["x0", "x1", "x2", "x3", "x4", "x5"];

/// Variables by name, for both sides.
type Data = Vec<(String, Plain)>;

fn scope() -> Env {
    let names = variables().into_iter().map(|(name, _)| name).chain(LOCALS);
    let scope = names.fold(Env::builder(), |scope, name| scope.variable(name, Type::Dyn));
    STANDARD.iter().copied().fold(scope, EnvBuilder::library).build()
}

/// Unknown names fail when they are reached, as they do over there: policies never run such expressions.
fn compile(env: &Env, text: &str) -> Program {
    Program::compile_unchecked(env, text).unwrap_or_else(|issues| panic!("{text}: {issues:?}"))
}

fn ours(env: &Env, text: &str, data: &Data) -> Outcome {
    let program = compile(env, text);
    let bound = data
        .iter()
        .fold(Activation::new(env), |bound, (name, value)| bound.with(env, name, value.to_value()));
    run(&program, &bound).0
}

/// A panic of theirs counts as their error.
fn theirs(text: &str, data: &Data) -> Result<Plain, String> {
    static ENV: LazyLock<Arc<cel::Env>> = LazyLock::new(|| Arc::new(cel::Env::stdlib()));
    let outcome = catch_unwind(|| {
        let program = ENV.compile(text).map_err(|errors| errors.to_string())?;
        let mut context = cel::Context::with_env(ENV.clone());
        for (name, value) in data {
            context.add_variable_from_value(name, foreign(value));
        }
        program.execute(&context).map(|value| plain(&value)).map_err(|error| error.to_string())
    });
    outcome.unwrap_or_else(|_| Err("a panic".to_owned()))
}

/// A value as the `cel` crate has it.
pub fn foreign(value: &Plain) -> cel::Value {
    const NANOS: i128 = 1_000_000_000;
    let split = |nanos: i128| ((nanos.div_euclid(NANOS)) as i64, nanos.rem_euclid(NANOS) as u32);
    match value {
        Plain::Null => cel::Value::Null,
        Plain::Bool(value) => cel::Value::Bool(*value),
        Plain::Int(value) => cel::Value::Int(*value),
        Plain::UInt(value) => cel::Value::UInt(*value),
        Plain::Double(bits) => cel::Value::Float(f64::from_bits(*bits)),
        Plain::String(text) => cel::Value::String(Arc::new(text.clone())),
        Plain::Bytes(bytes) => cel::Value::Bytes(Arc::new(bytes.clone())),
        Plain::Timestamp(nanos) => {
            let (seconds, nanos) = split(*nanos);
            cel::Value::Timestamp(chrono::DateTime::from_timestamp(seconds, nanos).unwrap().fixed_offset())
        }
        Plain::Duration(nanos) => {
            let (seconds, nanos) = split(*nanos);
            cel::Value::Duration(chrono::Duration::new(seconds, nanos).unwrap())
        }
        Plain::List(items) => cel::Value::List(Arc::new(items.iter().map(foreign).collect())),
        Plain::Map(entries) => {
            let key = |key: &PlainKey| match key {
                PlainKey::Bool(key) => Key::Bool(*key),
                PlainKey::Int(key) => Key::Int(*key),
                PlainKey::UInt(key) => Key::Uint(*key),
                PlainKey::String(key) => Key::String(Arc::new(key.clone())),
            };
            let map = entries.iter().map(|(name, value)| (key(name), foreign(value)));
            cel::Value::Map(Map { map: Arc::new(map.collect()) })
        }
        Plain::Optional(value) => cel::Value::Opaque(Arc::new(match value {
            None => OptionalValue::none(),
            Some(value) => OptionalValue::of(foreign(value)),
        })),
        Plain::Other(_) => unreachable!("not of the common language"),
    }
}

/// A value of the `cel` crate as plain data.
pub fn plain(value: &cel::Value) -> Plain {
    match value {
        cel::Value::Null => Plain::Null,
        cel::Value::Bool(value) => Plain::Bool(*value),
        cel::Value::Int(value) => Plain::Int(*value),
        cel::Value::UInt(value) => Plain::UInt(*value),
        cel::Value::Float(value) => Plain::double(*value),
        cel::Value::String(text) => Plain::String(text.to_string()),
        cel::Value::Bytes(bytes) => Plain::Bytes(bytes.to_vec()),
        cel::Value::Timestamp(time) => {
            let nanos = i128::from(time.timestamp_subsec_nanos());
            Plain::Timestamp(i128::from(time.timestamp()) * 1_000_000_000 + nanos)
        }
        cel::Value::Duration(duration) => {
            let nanos = i128::from(duration.subsec_nanos());
            Plain::Duration(i128::from(duration.num_seconds()) * 1_000_000_000 + nanos)
        }
        cel::Value::List(items) => Plain::List(items.iter().map(plain).collect()),
        cel::Value::Map(map) => {
            let key = |key: &Key| match key {
                Key::Bool(key) => PlainKey::Bool(*key),
                Key::Int(key) => PlainKey::Int(*key),
                Key::Uint(key) => PlainKey::UInt(*key),
                Key::String(key) => PlainKey::String(key.to_string()),
            };
            Plain::Map(map.map.iter().map(|(name, value)| (key(name), plain(value))).collect())
        }
        other => match <&OptionalValue>::try_from(other) {
            Ok(optional) => Plain::Optional(optional.value().map(|value| Box::new(plain(value)))),
            Err(_) => Plain::Other(format!("{other:?}")),
        },
    }
}

/// What each gives.
struct Both {
    ours: Outcome,
    theirs: Result<Plain, String>,
}

impl Both {
    fn give(env: &Env, text: &str, data: &Data) -> Self {
        Self { ours: ours(env, text, data), theirs: theirs(text, data) }
    }

    fn differ(&self) -> bool {
        match (&self.ours, &self.theirs) {
            (Ok(ours), Ok(theirs)) => ours != theirs,
            (ours, theirs) => ours.is_ok() != theirs.is_ok(),
        }
    }
}

/// The smallest part that differs while its own parts do not.
struct Culprit {
    /// Such as `string(double)`.
    form: String,
    text: String,
    both: Both,
}

fn culprit(env: &Env, expr: &Expr, text: &str, data: &Data) -> Culprit {
    let written = |part: &Expr| &text[part.span.range()];
    let differs = |part: &Expr, data: &Data| Both::give(env, written(part), data).differ();
    let mut parts: Vec<&Expr> = Vec::new();
    match &expr.kind {
        ExprKind::Comprehension(inner) => {
            parts.push(&inner.range);
            let elements = match ours(env, written(&inner.range), data) {
                Ok(Plain::List(items)) => items,
                Ok(Plain::Map(entries)) => entries.into_keys().map(key_value).collect(),
                _ => Vec::new(),
            };
            for element in elements {
                let mut data = data.clone();
                data.push((inner.variable.text.clone(), element));
                if differs(&inner.body, &data) {
                    return culprit(env, &inner.body, text, &data);
                }
            }
        }
        _ => expr.for_each_part(&mut |part| parts.push(part)),
    }
    if let Some(part) = parts.iter().find(|part| differs(part, data)) {
        return culprit(env, part, text, data);
    }
    let kinds = parts.iter().map(|part| ours(env, written(part), data).map_or("error", |value| value.kind()));
    let name = match &expr.kind {
        ExprKind::Call { function, .. } => &function.text,
        ExprKind::Comprehension(inner) => &inner.name.text,
        ExprKind::Index { .. } => "_[_]",
        ExprKind::Select { .. } => "select",
        ExprKind::Has { .. } => "has",
        ExprKind::List(_) => "list",
        ExprKind::Map(_) => "map",
        _ => "leaf",
    };
    let form = format!("{name}({})", kinds.collect::<Vec<_>>().join(", "));
    let text = written(expr).to_owned();
    Culprit { form, both: Both::give(env, &text, data), text }
}

fn key_value(key: PlainKey) -> Plain {
    match key {
        PlainKey::Bool(key) => Plain::Bool(key),
        PlainKey::Int(key) => Plain::Int(key),
        PlainKey::UInt(key) => Plain::UInt(key),
        PlainKey::String(key) => Plain::String(key),
    }
}

/// One difference: the form, an expression that shows it, what either gives for it, and what decides.
#[derive(Default)]
struct Listed {
    form: String,
    expression: String,
    celador: String,
    cel: String,
    decided_by: String,
}

fn listed() -> Vec<Listed> {
    let text = fs::read_to_string(DIFFERENCES).unwrap();
    let blocks =
        text.split("\n\n").filter(|block| !block.trim_start().starts_with('#') && !block.trim().is_empty());
    let read = |block: &str| {
        let mut row = Listed::default();
        for line in block.lines() {
            let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("no `name: value`: {line}"));
            let field = match name {
                "form" => &mut row.form,
                "expression" => &mut row.expression,
                "celador" => &mut row.celador,
                "cel" => &mut row.cel,
                "decided by" => &mut row.decided_by,
                _ => panic!("what is `{name}`?"),
            };
            value.clone_into(field);
        }
        row
    };
    blocks.map(read).collect()
}

impl Listed {
    /// Whether a part of this form, for which the two give these, is what this row speaks of.
    fn explains(&self, culprit: &Culprit) -> bool {
        let fails = |shown: &str| shown == "error";
        self.form.split(" | ").any(|pattern| is_of(&culprit.form, pattern))
            && fails(&self.celador) == culprit.both.ours.is_err()
            && fails(&self.cel) == culprit.both.theirs.is_err()
    }
}

/// Whether a form is one of a pattern, in which `*` stands for any kind.
fn is_of(form: &str, pattern: &str) -> bool {
    let split = |text: &str| {
        let (name, kinds) = text.split_once('(').unwrap();
        let kinds = kinds.trim_end_matches(')').split(", ").map(str::to_owned).collect::<Vec<_>>();
        (name.to_owned(), kinds)
    };
    let ((name, kinds), (of_name, of_kinds)) = (split(form), split(pattern));
    name == of_name
        && kinds.len() == of_kinds.len()
        && kinds.iter().zip(&of_kinds).all(|(kind, of)| kind == of || of == "*")
}

#[test]
fn every_listed_difference_is_one() {
    let env = scope();
    let data = Data::new();
    let mut forms = BTreeSet::new();
    for row in listed() {
        let text = &row.expression;
        let both = Both::give(&env, text, &data);
        assert!(both.differ(), "{text}: no difference any more: remove it from {DIFFERENCES}");
        let shown = |expected: &str| match expected {
            "error" => None,
            expected => Some(ours(&env, expected, &data).unwrap()),
        };
        assert_eq!(both.ours.ok(), shown(&row.celador), "{text}");
        if row.cel != "any order" {
            assert_eq!(both.theirs.ok(), shown(&row.cel), "{text}");
        }
        let culprit = culprit(&env, compile(&env, text).expr(), text, &data);
        assert!(row.explains(&culprit), "{} is of the form {}, not {}", culprit.text, culprit.form, row.form);
        assert!(row.decided_by.len() > 20, "{text}: what decides it?");
        assert!(forms.insert(row.form.clone()), "{} is listed twice", row.form);
    }
}

/// What came of many expressions.
#[derive(Default)]
struct Tally {
    values: u64,
    errors: u64,
    /// By the form of the listed difference that explains them.
    differences: BTreeMap<String, u64>,
}

#[test]
fn both_give_the_same() {
    let count = std::env::var("CELADOR_DIFFERENTIAL").map_or(EXPRESSIONS, |count| count.parse().unwrap());
    let (env, listed) = (scope(), listed());
    let tally = RefCell::new(Tally::default());
    let config = ProptestConfig {
        cases: count,
        max_shrink_iters: 4_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&cases(Language::Common), |Case { text, data }| {
        let members = data.as_object().unwrap().iter();
        let data: Data =
            members.map(|(name, value)| (name.clone(), Plain::from(&Json::from(value).value()))).collect();
        let both = Both::give(&env, &text, &data);
        let mut tally = tally.borrow_mut();
        if !both.differ() {
            let of_its_kind = if both.ours.is_ok() { &mut tally.values } else { &mut tally.errors };
            *of_its_kind += 1;
            return Ok(());
        }
        // the `cel` crate gives a map another order each time, so what differed may agree when it is looked for
        let look = || culprit(&env, compile(&env, &text).expr(), &text, &data);
        let found = (0..LOOKS).map(|_| look()).find(|found| listed.iter().any(|row| row.explains(found)));
        let Some(found) = found else {
            let Culprit { form, text: part, both: Both { ours, theirs } } = look();
            let said = format!("{part} is of the form {form}\nCelador: {ours:?}\ncel:     {theirs:?}");
            return Err(TestCaseError::fail(said));
        };
        *tally.differences.entry(found.form).or_default() += 1;
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    let Tally { values, errors, differences } = tally.into_inner();
    println!("{count} expressions: {values} with a value, {errors} with an error on both sides");
    differences.iter().for_each(|(form, times)| println!("{times:>8} {form}"));
}
