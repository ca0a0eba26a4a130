//! What hosts of the crate `cel` bring along: their values, variables and functions, in programs of this one.

use crate::differential::{foreign, plain};
use crate::laws_expressions::{Case, Language, cases, many, variables};
use crate::laws_values::{Outcome, Plain, PlainKey, run};
use cel::common::types::CelString;
use cel::common::value::CowVal;
use cel::context::VariableResolver;
use cel::extractors::{Arguments, This};
use cel::objects::{Key, Map, Opaque, OptionalValue};
use cel::{Context, ExecutionError, FunctionContext};
use celador_cel::cel_interpreter::{
    ConversionError, ConversionProblem, SharedContext, SharedContextError, ValueStep,
};
use celador_cel::{
    Activation, EXTENSIONS, Env, EnvBuilder, ErrorCode, EvalError, EvalLimits, Json, Key as OwnKey, Kind,
    Program, STANDARD, Stop, Text, Type, Value,
};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn limits() -> EvalLimits {
    EvalLimits::default()
}

fn moved(value: &cel::Value) -> Result<Value<'static>, ConversionError> {
    Value::try_from_cel(value, &limits())
}

fn list(items: Vec<cel::Value>) -> cel::Value {
    cel::Value::List(Arc::new(items))
}

/// The library of CEL and all that the context has.
fn scope(shared: &SharedContext<'_, '_>) -> Env {
    shared.scope(STANDARD.iter().copied().fold(Env::builder(), EnvBuilder::library)).build()
}

fn answer(shared: &SharedContext<'_, '_>, env: &Env, text: &str) -> Result<Plain, EvalError> {
    let program = Program::compile(env, text).unwrap_or_else(|issues| panic!("{text}: {issues:?}"));
    let activation = shared.activation(env, program.variables()).unwrap();
    match program.run(&activation, Some(&mut shared.functions(env))) {
        Ok(value) => Ok(Plain::from(&value)),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Asked) => unreachable!("no function asks"),
    }
}

/// The same with what that crate's own interpreter says.
fn both(shared: &SharedContext<'_, '_>, text: &str) -> (Result<Plain, ErrorCode>, Option<Plain>) {
    let ours = answer(shared, &scope(shared), text).map_err(|error| error.code);
    let theirs = cel::Env::stdlib().compile(text).unwrap().execute(shared.context()).ok();
    (ours, theirs.map(|value| plain(&value)))
}

/// Values of every kind that both crates have.
fn values() -> impl Strategy<Value = Plain> {
    let leaf = prop_oneof![
        Just(Plain::Null),
        any::<bool>().prop_map(Plain::Bool),
        any::<i64>().prop_map(Plain::Int),
        any::<u64>().prop_map(Plain::UInt),
        any::<f64>().prop_map(Plain::double),
        prop::sample::select(vec![f64::NAN, f64::INFINITY, -0.0]).prop_map(Plain::double),
        any::<String>().prop_map(Plain::String),
        any::<Vec<u8>>().prop_map(Plain::Bytes),
        (-62_135_596_800_i128..=253_402_300_799, 0..1_000_000_000_i128)
            .prop_map(|(seconds, nanos)| Plain::Timestamp(seconds * 1_000_000_000 + nanos)),
        (-315_575_999_999_i128..315_576_000_000, 0..1_000_000_000_i128)
            .prop_map(|(seconds, nanos)| Plain::Duration(seconds * 1_000_000_000 + nanos)),
        Just(Plain::Optional(None)),
    ];
    let key = prop_oneof![
        any::<bool>().prop_map(PlainKey::Bool),
        any::<i64>().prop_map(PlainKey::Int),
        // one of a number that no `int` is: `1` and `1u` are one key
        (1_u64 << 63..).prop_map(PlainKey::UInt),
        any::<String>().prop_map(PlainKey::String),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Plain::List),
            prop::collection::btree_map(key.clone(), inner.clone(), 0..6).prop_map(Plain::Map),
            inner.prop_map(|value| Plain::Optional(Some(Box::new(value)))),
        ]
    })
}

proptest! {
    #![proptest_config(many(500))]

    /// Out and back, and through the forms in which a context holds values and a function takes and gives them.
    #[test]
    fn values_are_the_same_both_ways(value in values()) {
        let ours = value.to_value();
        let theirs = ours.try_to_cel(&limits()).unwrap();
        prop_assert_eq!(&plain(&theirs), &value);
        prop_assert_eq!(&plain(&foreign(&value)), &value);
        prop_assert_eq!(&Plain::from(&moved(&theirs).unwrap()), &value);
        prop_assert_eq!(&Plain::from(&moved(&foreign(&value)).unwrap()), &value);
        let mut shared = SharedContext::new(Context::default());
        shared.context_mut().add_variable_from_value("x", theirs);
        shared.add_function("same", |value: cel::Value| value).unwrap();
        let env = scope(&shared);
        prop_assert_eq!(&answer(&shared, &env, "x").unwrap(), &value);
        prop_assert_eq!(&answer(&shared, &env, "same(x)").unwrap(), &value);
    }

    /// What JSON has a form for is the same document, whichever way it came.
    #[test]
    fn documents_are_the_same(value in values()) {
        let here = Json::from_value_within(&value.to_value(), &limits());
        let there = Json::try_from_cel(&foreign(&value), &limits());
        match (here, there) {
            (Ok(here), Ok(there)) => prop_assert_eq!(here, there),
            (Err(_), Err(error)) => {
                let ConversionProblem::NoCounterpart(kind) = error.problem() else {
                    return Err(TestCaseError::fail(error.to_string()));
                };
                prop_assert!(["double", "optional_type"].contains(&kind), "{}", kind);
                let part = error.place().fold(&value, part_at);
                let has_form = match part {
                    Plain::Double(bits) => f64::from_bits(*bits).is_finite(),
                    part => !matches!(part, Plain::Optional(_)),
                };
                prop_assert!(!has_form, "{:?}", part);
            }
            (here, there) => prop_assert!(false, "{:?} and {:?}", here.is_ok(), there.is_ok()),
        }
    }
}

/// The part of a value that a step leads to.
fn part_at<'v>(value: &'v Plain, step: &ValueStep) -> &'v Plain {
    match (value, step) {
        (Plain::List(items), ValueStep::Index(place)) => &items[*place],
        (Plain::Map(entries), ValueStep::Entry(key)) => &entries[&PlainKey::from(key)],
        (Plain::Optional(Some(value)), ValueStep::Content) => value,
        (value, step) => panic!("{step:?} of {value:?}"),
    }
}

/// Lists and objects of a JSON document, which are read where they lie, are copied as what they are.
#[test]
fn documents_go_over() {
    let document = Json::parse(r#"{"a": [1, 2.5, null, "x", {"b": true}], "n": -7}"#, &limits()).unwrap();
    let there = document.value().try_to_cel(&limits()).unwrap();
    assert_eq!(plain(&there), Plain::from(&document.value()));
    assert_eq!(Json::try_from_cel(&there, &limits()).unwrap(), document);
}

proptest! {
    #![proptest_config(many(500))]

    /// An expression over variables of a context is the expression over the same variables of ours, and a function that gives
    /// back what it takes changes nothing.
    #[test]
    fn expressions_are_the_same_over_a_context(Case { text, data } in cases(Language::Common)) {
        let data = Json::from(&data);
        let mut shared = SharedContext::new(Context::default());
        for (name, value) in data.root().entries() {
            shared.context_mut().add_variable_from_value(name, foreign(&Plain::from(&value.value())));
        }
        shared.add_function("same", |value: cel::Value| value).unwrap();
        let env = scope(&shared);
        for (name, _) in variables() {
            prop_assert!(env.variable(name).is_some(), "{}", name);
        }
        let direct: Outcome = {
            let program = Program::compile_unchecked(&env, &text).unwrap();
            let members = data.root().entries();
            let activation = members
                .fold(Activation::new(&env), |bound, (name, value)| bound.with(&env, name, value.value()));
            run(&program, &activation).0
        };
        let through = |text: &str| -> Outcome {
            let program = Program::compile_unchecked(&env, text).unwrap();
            let activation = shared.activation(&env, program.variables()).unwrap();
            match program.run(&activation, Some(&mut shared.functions(&env))) {
                Ok(value) => Ok(Plain::from(&value)),
                Err(Stop::Failed(error)) => Err(error.code.as_str()),
                Err(Stop::Asked) => unreachable!("no function asks"),
            }
        };
        // the order of a map's entries is that of its keys, which shows in lists of them
        let ordered = |outcome: Outcome| outcome.map(sorted);
        prop_assert_eq!(ordered(through(&text)), ordered(direct.clone()));
        match direct {
            // a type is no value over there
            Ok(value) if has_type(&value) => {}
            direct => prop_assert_eq!(ordered(through(&format!("same({text})"))), ordered(direct)),
        }
    }
}

fn has_type(value: &Plain) -> bool {
    match value {
        Plain::Other(_) => true,
        Plain::List(items) => items.iter().any(has_type),
        Plain::Map(entries) => entries.values().any(has_type),
        Plain::Optional(Some(value)) => has_type(value),
        _ => false,
    }
}

/// With the elements of lists in an order of their own.
fn sorted(value: Plain) -> Plain {
    match value {
        Plain::List(items) => {
            let mut items: Vec<Plain> = items.into_iter().map(sorted).collect();
            items.sort_by_key(|item| format!("{item:?}"));
            Plain::List(items)
        }
        Plain::Map(entries) => {
            Plain::Map(entries.into_iter().map(|(key, value)| (key, sorted(value))).collect())
        }
        other => other,
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Secret(&'static str);

impl Opaque for Secret {
    fn runtime_type_name(&self) -> &str {
        "host.Secret"
    }
}

#[test]
fn what_has_no_counterpart_is_named_by_its_kind() {
    let function = cel::Value::Function(Arc::new("hunter2".into()), None);
    let opaque = cel::Value::Opaque(Arc::new(Secret("hunter2")));
    for (value, kind) in [(function, "function"), (opaque, "opaque")] {
        let error = moved(&value).unwrap_err();
        assert_eq!(error.to_string(), format!("a value of the kind `{kind}` has no counterpart"));
        assert_eq!(error.place().count(), 0);
        let error = moved(&list(vec![1.into(), value])).unwrap_err();
        assert_eq!(error.problem(), ConversionProblem::NoCounterpart(kind));
        assert_eq!(error.to_string(), format!("a value of the kind `{kind}` has no counterpart, at `[1]`"));
    }
    let env = STANDARD.iter().copied().fold(Env::builder(), EnvBuilder::library).build();
    let program = Program::compile(&env, "[type(1)]").unwrap();
    let value = program.run(&Activation::new(&env), None).unwrap();
    assert_eq!(value.try_to_cel(&limits()).unwrap_err().problem(), ConversionProblem::NoCounterpart("type"));
}

/// The text has the way to the part without the keys on it; the steps have them.
#[test]
fn the_place_of_a_part_is_told() {
    let map = |key: Key, value| cel::Value::Map(Map { map: Arc::new([(key, value)].into()) });
    let opaque = cel::Value::Opaque(Arc::new(Secret("hunter2")));
    let inner = cel::Value::Opaque(Arc::new(OptionalValue::of(list(vec![cel::Value::Null, opaque]))));
    let value = map(Key::String(Arc::new("hunter2".into())), map(Key::Uint(7), map(Key::Bool(true), inner)));
    let error = moved(&value).unwrap_err();
    assert_eq!(error.to_string(), "a value of the kind `opaque` has no counterpart, at `[*][*][*]?[1]`");
    let steps = [
        ValueStep::Entry(OwnKey::String(Text::Shared("hunter2".into()))),
        ValueStep::Entry(OwnKey::UInt(7)),
        ValueStep::Entry(OwnKey::Bool(true)),
        ValueStep::Content,
        ValueStep::Index(1),
    ];
    assert!(error.place().eq(&steps), "{error:?}");
    let libraries = STANDARD.iter().chain(EXTENSIONS).copied();
    let env = libraries.fold(Env::builder(), EnvBuilder::library).build();
    let program = Program::compile(&env, "{'hunter2': [optional.of({3: [1, int]})]}").unwrap();
    let value = program.run(&Activation::new(&env), None).unwrap();
    let error = value.try_to_cel(&limits()).unwrap_err();
    assert_eq!(error.to_string(), "a value of the kind `type` has no counterpart, at `[*][0]?[*][1]`");
    assert_eq!(error.place().next(), Some(&ValueStep::Entry(OwnKey::String(Text::Shared("hunter2".into())))));
}

#[test]
fn keys_that_are_one_here_are_refused() {
    let entries: HashMap<Key, cel::Value> = [(Key::Int(1), 1.into()), (Key::Uint(1), 2.into())].into();
    let map = cel::Value::Map(Map { map: Arc::new(entries) });
    assert_eq!(moved(&map).unwrap_err().problem(), ConversionProblem::SameKey);
}

#[test]
fn times_out_of_range_are_refused() {
    let length = cel::Value::Duration(chrono::Duration::MAX);
    assert_eq!(moved(&length).unwrap_err().problem(), ConversionProblem::OutOfRange(Kind::Duration));
    let time = chrono::DateTime::<chrono::Utc>::MIN_UTC.fixed_offset();
    let time = moved(&cel::Value::Timestamp(time)).unwrap_err();
    assert_eq!(time.problem(), ConversionProblem::OutOfRange(Kind::Timestamp));
    assert_eq!(time.to_string(), "a value of the kind `google.protobuf.Timestamp` is out of range");
}

/// Lists in lists, and optionals in optionals.
#[test]
fn depth_is_bounded_either_way() {
    let nested = |levels: usize| (0..levels).fold(list(Vec::new()), |inner, _| list(vec![inner]));
    let bound = limits().max_json_depth;
    assert!(moved(&nested(bound - 1)).is_ok());
    for levels in [bound, 2_000] {
        let error = moved(&nested(levels)).unwrap_err();
        assert_eq!(error.problem(), ConversionProblem::Exceeded("max_json_depth", bound));
        assert_eq!(error.to_string(), "`max_json_depth` 100 exceeded, at `[0][0][0][0][0][0][0][0]…`");
        assert_eq!(error.place().len(), bound);
    }
    let optional = |inner| cel::Value::Opaque(Arc::new(OptionalValue::of(inner)));
    let optionals = (0..=bound).fold(cel::Value::Null, |inner, _| optional(inner));
    assert_eq!(
        moved(&optionals).unwrap_err().problem(),
        ConversionProblem::Exceeded("max_json_depth", bound)
    );
    let ours = (0..=bound).fold(Value::Null, |inner, _| Value::list(vec![inner]));
    assert_eq!(
        ours.try_to_cel(&limits()).unwrap_err().problem(),
        ConversionProblem::Exceeded("max_json_depth", bound)
    );
}

/// A value of sixty parts that names one list 2^60 times over.
#[test]
fn shared_parts_are_counted_as_often_as_they_are_named() {
    let wide = (0..60).fold(list(Vec::new()), |inner, _| list(vec![inner.clone(), inner]));
    let small = EvalLimits { max_json_bytes: 100_000, ..limits() };
    let exceeded = ConversionProblem::Exceeded("max_json_bytes", 100_000);
    assert_eq!(Value::try_from_cel(&wide, &small).unwrap_err().problem(), exceeded);
    let ours = (0..60).fold(Value::list(Vec::new()), |inner, _| Value::list(vec![inner.clone(), inner]));
    assert_eq!(ours.try_to_cel(&small).unwrap_err().problem(), exceeded);
    let text = cel::Value::String(Arc::new("x".repeat(100_000)));
    assert_eq!(Value::try_from_cel(&text, &small).unwrap_err().problem(), exceeded);
}

fn rank(This(tier): This<Arc<String>>) -> Result<i64, ExecutionError> {
    match tier.as_str() {
        "gold" => Ok(2),
        other => Err(ExecutionError::function_error("rank", format!("{other} is no tier"))),
    }
}

fn sum(Arguments(values): Arguments) -> i64 {
    values.iter().map(|value| if let cel::Value::Int(value) = value { *value } else { 0 }).sum()
}

/// Says how it was called, and reads a variable of its context.
fn called(context: &FunctionContext) -> String {
    let unit = context.ptx.get_variable("unit");
    let unit = unit.and_then(|unit| unit.downcast_ref::<CelString>().map(|unit| unit.inner().to_owned()));
    format!("{} {} {} {}", context.name, context.this.is_some(), context.args.len(), unit.unwrap_or_default())
}

fn filled() -> SharedContext<'static, 'static> {
    let mut shared = SharedContext::new(Context::default());
    shared.context_mut().add_variable("tier", "gold").unwrap();
    shared.context_mut().add_variable("unit", "EUR").unwrap();
    shared.add_function("rank", rank).unwrap();
    shared.add_function("sum", sum).unwrap();
    shared.add_function("called", called).unwrap();
    shared.add_function("host.scale", |value: f64, by: u64| value * by as f64).unwrap();
    shared
}

/// Both crates call a function alike: as a function, as a method, under a qualified name, with all its arguments or with too few.
#[test]
fn functions_are_called_as_they_always_were() {
    let shared = filled();
    for (text, expected) in [
        ("tier.rank()", Some("2")),
        ("rank(tier)", Some("2")),
        ("sum()", Some("0")),
        ("sum(1, 2, 3)", Some("6")),
        // the receiver is none of the arguments
        ("1.sum(2, 3)", Some("5")),
        ("called(1, 2)", Some("'called false 2 EUR'")),
        ("'x'.called(1)", Some("'called true 1 EUR'")),
        ("host.scale(1.5, 2u)", Some("3.0")),
        ("[1, 2].map(x, sum(x, x))", Some("[2, 4]")),
        ("rank()", None),
        ("rank(1)", None),
        ("'tin'.rank()", None),
        ("host.scale(1.5, 2)", None),
        ("host.scale(1.5)", None),
    ] {
        let (ours, theirs) = both(&shared, text);
        let expected = expected.map(|expected| {
            let env = STANDARD.iter().copied().fold(Env::builder(), EnvBuilder::library).build();
            run(&Program::compile(&env, expected).unwrap(), &Activation::new(&env)).0.unwrap()
        });
        assert_eq!(ours.clone().ok(), expected, "{text}: {ours:?}");
        assert_eq!(theirs, expected, "{text} over there");
    }
}

#[test]
fn errors_of_functions_have_name_and_place_and_no_data() {
    let shared = filled();
    let env = scope(&shared);
    let text = "tier == 'gold' && 'hunter2'.rank() > 1";
    let error = answer(&shared, &env, text).unwrap_err();
    assert_eq!(error.to_string(), "the host could not answer for `rank`");
    assert_eq!(&text[error.span.range()], "'hunter2'.rank()");
    let error = answer(&shared, &env, "rank(b'hunter2')").unwrap_err();
    assert_eq!(error.to_string(), "no matching overload for `rank` applied to (bytes)");
    // as any other error it may be absorbed, and does not hold
    assert_eq!(answer(&shared, &env, "'x'.rank() > 1 || tier == 'gold'").unwrap(), Plain::Bool(true));
    let program = Program::compile(&env, "'x'.rank() > 1").unwrap();
    let activation = shared.activation(&env, program.variables()).unwrap();
    assert!(program.holds(&activation, Some(&mut shared.functions(&env))).is_err());
    // nobody to ask fails closed, too
    assert!(program.holds(&activation, None).is_err());
}

/// A panic of a function is an error of its call, with nothing of its text; what was built for it is given back, and the run
/// goes on with the same functions.
#[test]
fn panics_of_functions_are_errors_of_the_expression() {
    let mut shared = filled();
    shared.add_function("boom", |name: Arc<String>| -> bool { panic!("{name}") }).unwrap();
    shared.add_function("halt", |_: i64| -> bool { std::panic::panic_any(7_u8) }).unwrap();
    let env = scope(&shared);
    let text = "tier == 'tin' || boom('hunter2')";
    let error = answer(&shared, &env, text).unwrap_err();
    assert_eq!(error.code, ErrorCode::HostFailed);
    assert_eq!(error.to_string(), "the host could not answer for `boom`");
    assert_eq!(&text[error.span.range()], "boom('hunter2')");
    assert_eq!(answer(&shared, &env, "halt(1)").unwrap_err().code, ErrorCode::HostFailed);
    assert_eq!(answer(&shared, &env, "boom('x') || halt(1) || tier.rank() == 2").unwrap(), Plain::Bool(true));
    assert_eq!(answer(&shared, &env, "[1, 2].exists(x, halt(x) || x == 2)").unwrap(), Plain::Bool(true));
}

/// A call costs what any call of a host costs; what its arguments take is bounded for all calls of a run together.
#[test]
fn calls_cost_one_and_their_copies_count() {
    let mut shared = filled();
    shared.context_mut().add_variable("text", "x".repeat(10_000)).unwrap();
    shared.add_function("same", |value: cel::Value| value).unwrap();
    let cost = |max_cost, max_built_bytes, text: &str| {
        let limits = EvalLimits { max_cost, max_built_bytes, ..limits() };
        let scope = STANDARD.iter().copied().fold(Env::builder().limits(limits), EnvBuilder::library);
        answer(&shared, &shared.scope(scope).build(), text).map_err(|error| error.to_string())
    };
    let free = (1..100).find(|cost_of| cost(*cost_of, 1 << 20, "text == ''").is_ok()).unwrap();
    let called = (1..100).find(|cost_of| cost(*cost_of, 1 << 20, "same(text) == ''").is_ok()).unwrap();
    assert_eq!(called, free + 1);
    let twice = "same(text) == same(text)";
    assert_eq!(cost(1 << 20, 50_000, twice), Ok(Plain::Bool(true)));
    let refused = "evaluation budget `max_built_bytes` 30000 exceeded".to_owned();
    assert_eq!(cost(1 << 20, 30_000, twice), Err(refused));
}

/// A signature is held when an expression is compiled, and again when it runs on values whose types nobody knew.
#[test]
fn signatures_hold_before_and_after_a_function_runs() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let mut shared = SharedContext::new(Context::default());
    shared.context_mut().add_variable("x", "text").unwrap();
    let twice = |value: cel::Value| {
        RUNS.fetch_add(1, Ordering::Relaxed);
        value
    };
    shared.add_function("twice", twice).unwrap();
    shared.declare_function("twice", &["twice(int) -> int", "twice(bytes) -> string"]).unwrap();
    let env = scope(&shared);
    assert_eq!(Program::compile(&env, "twice(1)").unwrap().result_type(), &Type::Int);
    assert_eq!(answer(&shared, &env, "twice(1)").unwrap(), Plain::Int(1));
    assert_eq!(RUNS.load(Ordering::Relaxed), 1);
    for text in ["twice(x)", "twice()", "twice(1, 2)", "1.twice()"] {
        assert_eq!(answer(&shared, &env, text).unwrap_err().code, ErrorCode::NoMatchingOverload, "{text}");
    }
    assert_eq!(RUNS.load(Ordering::Relaxed), 1, "what no signature takes does not run");
    // a result that is not what was promised is no result
    assert_eq!(answer(&shared, &env, "twice(b'a')").unwrap_err().code, ErrorCode::HostFailed);
    let wrong = shared.declare_function("twice", &["triple(int) -> int"]).unwrap_err();
    assert_eq!(wrong.to_string(), "`triple(int) -> int` is no signature of `twice`");
    assert!(shared.declare_function("twice", &["twice(int)"]).is_err());
}

#[test]
fn names_that_no_expression_can_call_are_refused() {
    let mut shared = SharedContext::new(Context::default());
    for name in ["", "a b", "1a", "a..b", "has", "map", "true", "in", "_+_", "for"] {
        let refused = shared.declare_function(name, &[]).unwrap_err();
        assert_eq!(refused, SharedContextError::NotCallable(name.to_owned()));
    }
    // and those that the context refuses are not declared
    let refused = shared.add_function("size", |value: i64| value).unwrap_err();
    assert!(matches!(refused, SharedContextError::Refused(_)), "{refused}");
    assert_eq!(answer(&shared, &scope(&shared), "size('abc')").unwrap(), Plain::Int(3));
}

/// A function that the context does not have fails when it is called; one that it has already needs only its name.
#[test]
fn functions_that_the_context_has_are_declared() {
    let mut context = Context::default();
    context.add_function("rank", rank).unwrap();
    let mut shared = SharedContext::new(context);
    assert!(Program::compile(&scope(&shared), "'gold'.rank()").is_err());
    shared.declare_function("rank", &["string.rank() -> int"]).unwrap();
    shared.declare_function("nobody", &[]).unwrap();
    let env = scope(&shared);
    assert_eq!(answer(&shared, &env, "'gold'.rank()").unwrap(), Plain::Int(2));
    assert_eq!(answer(&shared, &env, "nobody(1)").unwrap_err().code, ErrorCode::HostFailed);
}

/// Results that this crate has no value for, or that are too deep or too large, are faults.
#[test]
fn results_are_bounded() {
    let mut shared = SharedContext::new(Context::default());
    let deep = || (0..200).fold(list(Vec::new()), |inner, _| list(vec![inner]));
    shared.add_function("deep", deep).unwrap();
    shared.add_function("opaque", || cel::Value::Opaque(Arc::new(Secret("hunter2")))).unwrap();
    shared.add_function("long", || "x".repeat(1_000)).unwrap();
    let bounds = EvalLimits { max_built_bytes: 50_000, ..limits() };
    let library = STANDARD.iter().copied().fold(Env::builder().limits(bounds), EnvBuilder::library);
    let env = shared.scope(library).build();
    let error = answer(&shared, &env, "deep() == [] || true").unwrap_err();
    assert_eq!(error.to_string(), "evaluation budget `max_json_depth` 100 exceeded");
    let error = answer(&shared, &env, "opaque() == 1").unwrap_err();
    assert_eq!(error.to_string(), "the host could not answer for `opaque`");
    // the budget is that of all calls of a run together
    let calls = |count: usize| format!("[{}].all(x, long() != '')", vec!["0"; count].join(", "));
    assert_eq!(answer(&shared, &env, &calls(20)).unwrap(), Plain::Bool(true));
    let error = answer(&shared, &env, &calls(60)).unwrap_err();
    assert_eq!(error.to_string(), "evaluation budget `max_built_bytes` 50000 exceeded");
}

struct Resolver;

impl VariableResolver for Resolver {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        (variable == "region").then(|| CowVal::owned(CelString::from("eu")))
    }
}

/// Variables of a scope and of those around it, and what only a resolver knows.
#[test]
fn variables_of_all_scopes_and_of_a_resolver_are_there() {
    let mut root = Context::default();
    root.add_variable("a", 1_i64).unwrap();
    root.add_variable("b", 1_i64).unwrap();
    root.set_variable_resolver(&Resolver);
    let mut inner = root.new_inner_scope();
    inner.add_variable("b", 2_i64).unwrap();
    let mut shared = SharedContext::new(inner);
    assert_eq!(shared.variables().into_iter().collect::<Vec<_>>(), ["a", "b"]);
    shared.declare_variable("region");
    shared.declare_variable("nowhere");
    let env = scope(&shared);
    assert_eq!(answer(&shared, &env, "[a, b]").unwrap(), Plain::List(vec![Plain::Int(1), Plain::Int(2)]));
    assert_eq!(answer(&shared, &env, "region == 'eu'").unwrap(), Plain::Bool(true));
    assert_eq!(answer(&shared, &env, "nowhere == 1").unwrap_err().code, ErrorCode::Unbound);
}

#[test]
fn variables_are_held_to_their_types() {
    let mut shared = SharedContext::new(Context::default());
    shared.context_mut().add_variable("limit", "hunter2").unwrap();
    shared.context_mut().add_variable_from_value("secret", cel::Value::Opaque(Arc::new(Secret("hunter2"))));
    let env = shared.scope(Env::builder().variable("limit", Type::Int)).build();
    let refused = |text: &str| {
        let program = Program::compile(&env, text).unwrap();
        shared.activation(&env, program.variables()).unwrap_err().to_string()
    };
    assert_eq!(
        refused("limit"),
        "variable `limit` is declared as `int` and holds a value of the kind `string`"
    );
    assert_eq!(refused("secret"), "variable `secret`: a value of the kind `opaque` has no counterpart");
    // what a program does not read is not looked at
    let program = Program::compile(&env, "true").unwrap();
    shared.activation(&env, program.variables()).unwrap();
}

/// A context is shared by threads as it is over there.
#[test]
fn a_context_is_shared_by_threads() {
    let shared = filled();
    let env = scope(&shared);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                assert_eq!(answer(&shared, &env, "tier.rank() + sum(1, 2)").unwrap(), Plain::Int(5))
            });
        }
    });
}
