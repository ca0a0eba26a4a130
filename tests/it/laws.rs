//! Laws of the language, over expressions and data by chance: what the planner, the checker and the ways to store data
//! may change is the speed, and nothing else.

use crate::check_rows::structure;
use crate::laws_expressions::{Kind, Language, cases, many, scope, tuples, variables};
use crate::laws_values::{Outcome, Plain, PlainKey, run, run_over};
use celador::cel::{
    Activation, CameTo, EXTENSIONS, Env, EnvBuilder, Expr, ExprKind, Json, Literal, Program, Remembered,
    STANDARD, Stop, Type, Value, parse,
};
use celador::limits::EvalLimits;
use proptest::prelude::*;
use std::sync::LazyLock;

static TYPED: LazyLock<Env> = LazyLock::new(|| scope(true));
static UNTYPED: LazyLock<Env> = LazyLock::new(|| scope(false));

fn compile(env: &Env, text: &str) -> Program {
    Program::compile(env, text).unwrap_or_else(|issues| panic!("{text}: {issues:?}"))
}

/// What an expression gives in the typed scope.
fn outcome(text: &str, data: &Json) -> Outcome {
    run_over(&TYPED, &compile(&TYPED, text), data).0
}

/// Whether two evaluations came to the same value, or neither to one: of several errors either may be told.
fn same(one: &Outcome, other: &Outcome) -> bool {
    match (one, other) {
        (Ok(one), Ok(other)) => one == other,
        (Err(_), Err(_)) => true,
        _ => false,
    }
}

/// Whether a value is of a type, all through.
fn is_of(value: &Plain, ty: &Type) -> bool {
    match (ty, value) {
        (Type::Dyn | Type::Param(_), _) => true,
        // what is nullable may be null
        (Type::Timestamp | Type::Duration | Type::Optional(_) | Type::Null, Plain::Null) => true,
        (Type::Bool, Plain::Bool(_))
        | (Type::Int, Plain::Int(_))
        | (Type::UInt, Plain::UInt(_))
        | (Type::Double, Plain::Double(_))
        | (Type::String, Plain::String(_))
        | (Type::Bytes, Plain::Bytes(_))
        | (Type::Timestamp, Plain::Timestamp(_))
        | (Type::Duration, Plain::Duration(_))
        | (Type::TypeOf(_), Plain::Other(_))
        | (Type::Optional(_), Plain::Optional(None)) => true,
        (Type::Optional(of), Plain::Optional(Some(value))) => is_of(value, of),
        (Type::List(of), Plain::List(items)) => items.iter().all(|item| is_of(item, of)),
        (Type::Map(of), Plain::Map(entries)) => entries.iter().all(|(key, value)| {
            let key = match key {
                PlainKey::Bool(key) => Plain::Bool(*key),
                PlainKey::Int(key) => Plain::Int(*key),
                PlainKey::UInt(key) => Plain::UInt(*key),
                PlainKey::String(key) => Plain::String(key.clone()),
            };
            is_of(&key, &of.0) && is_of(value, &of.1)
        }),
        _ => false,
    }
}

/// The literals of an expression with their places, the last first.
fn literals(expr: &Expr) -> Vec<(std::ops::Range<usize>, Plain)> {
    fn collect(expr: &Expr, found: &mut Vec<(std::ops::Range<usize>, Plain)>) {
        if let ExprKind::Literal(literal) = &expr.kind {
            let value = match literal {
                Literal::Null => Plain::Null,
                Literal::Bool(value) => Plain::Bool(*value),
                Literal::Int(value) => Plain::Int(*value),
                Literal::UInt(value) => Plain::UInt(*value),
                Literal::Double(value) => Plain::Double(value.to_bits()),
                Literal::String(text) => Plain::String(text.clone()),
                Literal::Bytes(bytes) => Plain::Bytes(bytes.clone()),
            };
            found.push((expr.span.range(), value));
        }
        expr.for_each_part(&mut |part| collect(part, found));
    }
    let mut found = Vec::new();
    collect(expr, &mut found);
    found.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    found
}

/// The places of the parts that no loop or binding around gives variables to, outer ones first.
fn closed_parts(expr: &Expr, found: &mut Vec<std::ops::Range<usize>>) {
    let mut inside = Vec::new();
    match &expr.kind {
        ExprKind::Comprehension(inner) => inside.push(&inner.range),
        ExprKind::Call { .. }
        | ExprKind::List(_)
        | ExprKind::Map(_)
        | ExprKind::Index { .. }
        | ExprKind::Select { .. } => expr.for_each_part(&mut |part| inside.push(part)),
        _ => {}
    }
    found.extend(inside.iter().map(|part| part.span.range()));
    inside.into_iter().for_each(|part| closed_parts(part, found));
}

/// A scope with a variable for each of many literals, besides the others.
static LITERALS: LazyLock<Env> = LazyLock::new(|| {
    let names = variables().into_iter().map(|(name, _)| name.to_owned());
    let names = names.chain((0..1_000).map(|number| format!("v{number}")));
    let scope = names.fold(Env::builder(), |scope, name| scope.variable(&name, Type::Dyn));
    STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library).build()
});

proptest! {
    #![proptest_config(many(500))]

    /// What is printed is read as the same tree.
    #[test]
    fn printing_is_read_again(case in cases(Language::Whole)) {
        let expr = parse(&case.text, &EvalLimits::default()).unwrap();
        let printed = expr.to_string();
        let again = parse(&printed, &EvalLimits::default()).unwrap();
        prop_assert_eq!(structure(&again), structure(&expr), "printed as {}", printed);
    }
}

proptest! {
    // few expressions are planned otherwise for their types
    #![proptest_config(many(2_000))]

    /// Types, slots and how data lies change no result; nor does running again.
    #[test]
    fn types_change_no_result(case in cases(Language::Whole)) {
        let data = Json::from(&case.data);
        let (typed, untyped) = (compile(&TYPED, &case.text), compile(&UNTYPED, &case.text));
        let first = run_over(&TYPED, &typed, &data);
        prop_assert_eq!(&first, &run_over(&TYPED, &typed, &data), "the second time");
        let (other, _) = run_over(&UNTYPED, &untyped, &data);
        prop_assert!(same(&first.0, &other), "typed: {:?}\nuntyped: {:?}", first.0, other);
        // the same data as computed values
        let members = case.data.as_object().unwrap().iter();
        let computed = members.fold(Activation::new(&TYPED), |activation, (name, value)| {
            activation.with(&TYPED, name, Plain::from(&Json::from(value).value()).to_value())
        });
        let (other, _) = run(&typed, &computed);
        prop_assert!(same(&first.0, &other), "JSON: {:?}\ncomputed: {:?}", first.0, other);
    }
}

proptest! {
    #![proptest_config(many(500))]

    /// Constants are folded to what they would give when it runs.
    #[test]
    fn folding_changes_no_result(case in cases(Language::Whole)) {
        let data = Json::from(&case.data);
        let program = compile(&UNTYPED, &case.text);
        let (folded, _) = run_over(&UNTYPED, &program, &data);
        let mut text = case.text.clone();
        let found = literals(program.expr());
        for (number, (place, _)) in found.iter().enumerate() {
            text.replace_range(place.clone(), &format!("v{number}"));
        }
        let with_variables = compile(&LITERALS, &text);
        let mut activation = Activation::new(&LITERALS);
        for (name, value) in data.root().entries() {
            activation = activation.with(&LITERALS, name, value.value());
        }
        for (number, (_, value)) in found.iter().enumerate() {
            activation = activation.with(&LITERALS, &format!("v{number}"), value.to_value());
        }
        let (unfolded, _) = run(&with_variables, &activation);
        prop_assert!(same(&folded, &unfolded), "folded: {:?}\n{}: {:?}", folded, text, unfolded);
    }

    /// An evaluation costs no more than the estimate, and one that gives a value no less.
    #[test]
    fn costs_stay_within_the_estimate(case in cases(Language::Whole)) {
        let data = Json::from(&case.data);
        for env in [&*TYPED, &*UNTYPED] {
            let program = compile(env, &case.text);
            let (outcome, spent) = run_over(env, &program, &data);
            let estimate = program.cost();
            prop_assert!(estimate.max.is_none_or(|max| spent <= max), "spent {} of {:?}", spent, estimate);
            prop_assert!(outcome.is_err() || spent >= estimate.min, "spent {} of {:?}", spent, estimate);
        }
    }

    /// What the checker says of the result holds of it, all through.
    #[test]
    fn results_have_the_types_that_were_checked(case in cases(Language::Whole)) {
        let data = Json::from(&case.data);
        for env in [&*TYPED, &*UNTYPED] {
            let program = compile(env, &case.text);
            if let (Ok(value), _) = run_over(env, &program, &data) {
                prop_assert!(is_of(&value, program.result_type()), "{:?} is no {}", value, program.result_type());
            }
        }
    }

    /// A part that is run as an expression of its own, as explanations do, gives what it gives inside.
    #[test]
    fn explaining_changes_no_result(case in cases(Language::Whole)) {
        let data = Json::from(&case.data);
        let program = compile(&TYPED, &case.text);
        let whole = run_over(&TYPED, &program, &data).0;
        let mut parts = Vec::new();
        closed_parts(program.expr(), &mut parts);
        for part in parts.into_iter().take(12) {
            let text = &case.text[part.clone()];
            // the first word of `math.greatest(…)` is no part that has a value
            let Ok(alone) = Program::compile(&TYPED, text) else { continue };
            let (Ok(value), _) = run_over(&TYPED, &alone, &data) else { continue };
            let mut named = case.text.clone();
            named.replace_range(part, "v0");
            let program = compile(&LITERALS, &named);
            let mut activation = Activation::new(&LITERALS).with(&LITERALS, "v0", value.to_value());
            for (name, value) in data.root().entries() {
                activation = activation.with(&LITERALS, name, value.value());
            }
            let (with_part, _) = run(&program, &activation);
            prop_assert!(
                same(&whole, &with_part),
                "{:?}\n{} with {} = {:?}: {:?}", whole, named, text, value, with_part
            );
        }
    }

    /// An evaluation that tells what each part came to comes to the same as one that does not: to the error, its place and the cost. What it tells
    /// of the whole is the result, and no clause decides that was not evaluated.
    #[test]
    fn recording_changes_no_result(case in cases(Language::Whole)) {
        let data = Json::from(&case.data);
        for env in [&*TYPED, &*UNTYPED] {
            let program = compile(env, &case.text);
            let members = data.root().entries();
            let activation = members.fold(Activation::new(env), |activation, (name, value)| {
                activation.with(env, name, value.value())
            });
            let (plain, cost) = program.run_metered(&activation, None);
            let (told, cost_told, recording) =
                program.run_recorded(&activation, None, &mut Remembered::default());
            let shown = |result: &Result<Value<'_>, Stop>| match result {
                Ok(value) => Ok(value.shown(usize::MAX)),
                Err(stop) => Err(stop.clone()),
            };
            prop_assert_eq!((shown(&plain), cost), (shown(&told), cost_told));
            let tree = recording.tree();
            match (&tree.came_to, &plain) {
                (CameTo::Value(value), Ok(plain)) => {
                    prop_assert_eq!(value.shown(usize::MAX), plain.shown(usize::MAX));
                }
                (CameTo::Failed(_) | CameTo::FailedBelow | CameTo::Cut, Err(Stop::Failed(_))) => {}
                (CameTo::Asked, Err(Stop::Asked)) => {}
                (came, plain) => prop_assert!(false, "{:?} and {:?}", came, plain),
            }
            let clauses = recording.clauses(true);
            prop_assert_eq!(clauses.len(), program.clauses(true).len());
            for clause in clauses.iter().filter(|clause| clause.decided) {
                prop_assert!(case.text.get(clause.span.range()).is_some());
            }
        }
    }

    /// A result that can be written as JSON is read as the same JSON; its truth is that of the value.
    #[test]
    fn results_are_written_and_read(case in cases(Language::Whole)) {
        let data = Json::from(&case.data);
        let program = compile(&TYPED, &case.text);
        let members = data.root().entries();
        let activation = members.fold(Activation::new(&TYPED), |activation, (name, value)| {
            activation.with(&TYPED, name, value.value())
        });
        let holds = program.holds(&activation, None);
        let Ok(value) = program.run(&activation, None) else {
            prop_assert!(holds.is_err(), "no value, and yet {:?}", holds);
            return Ok(());
        };
        prop_assert_eq!(holds.unwrap(), value.is_truthy());
        if let Ok(json) = Json::from_value(&value, &EvalLimits::default()) {
            let read = Json::parse(&json.to_string(), &EvalLimits::default()).unwrap();
            prop_assert_eq!(read.to_string(), json.to_string());
            prop_assert!(read.value().equals(&json.value()));
            let again = Json::from_value(&json.value(), &EvalLimits::default()).unwrap();
            prop_assert_eq!(again.to_string(), json.to_string());
        }
    }

    /// `&&` and `||` do not care for the order of their operands, whichever fails, and each is the other's opposite.
    #[test]
    fn logic_absorbs(([a, b], data) in tuples::<2>(Kind::Bool)) {
        let data = Json::from(&data);
        let holds = |text: String| outcome(&text, &data);
        for (operator, deciding, opposite) in [("||", true, "&&"), ("&&", false, "||")] {
            let once = holds(format!("{a} {operator} {b}"));
            prop_assert!(same(&once, &holds(format!("{b} {operator} {a}"))), "{} {} {}", a, operator, b);
            prop_assert_eq!(holds(format!("{a} {operator} {deciding}")), Ok(Plain::Bool(deciding)), "{}", a);
            prop_assert_eq!(holds(format!("{deciding} {operator} {a}")), Ok(Plain::Bool(deciding)), "{}", a);
            let mirrored = holds(format!("!(!({a}) {opposite} !({b}))"));
            prop_assert!(same(&once, &mirrored), "{} {} {}: {:?}, {:?}", a, operator, b, once, mirrored);
            let (x, y) = (holds(a.clone()), holds(b.clone()));
            if let (Ok(Plain::Bool(x)), Ok(Plain::Bool(y))) = (&x, &y) {
                let expected = if deciding { *x || *y } else { *x && *y };
                prop_assert_eq!(once, Ok(Plain::Bool(expected)));
            }
        }
    }

    /// `size(x) < 3` counts no further than it must, `filter(…).size()` builds no list, a constant pattern is compiled
    /// beforehand: with the same result.
    #[test]
    fn fused_steps_give_what_their_parts_give(
        (of, texts, data) in prop::sample::select(vec![
            Kind::String, Kind::Bytes, Kind::Dyn, Kind::List(Box::new(Kind::Int)), Kind::Map(Box::new(Kind::Int)),
        ]).prop_flat_map(|of| (Just(of.clone()), tuples::<1>(of), tuples::<1>(Kind::Bool)))
            .prop_map(|(of, ([x], data), ([condition], _))| (of, [x, condition], data)),
        operator in prop::sample::select(vec!["<", "<=", ">", ">=", "==", "!="]),
        bound in -2..12_i64,
    ) {
        let data = Json::from(&data);
        let [x, condition] = texts;
        for (fused, parts) in [
            (format!("size({x}) {operator} {bound}"), format!("dyn(size({x})) {operator} {bound}")),
            (format!("{bound} {operator} {x}.size()"), format!("{bound} {operator} dyn({x}.size())")),
        ] {
            let (one, other) = (outcome(&fused, &data), outcome(&parts, &data));
            prop_assert!(same(&one, &other), "{}: {:?}\n{}: {:?}", fused, one, parts, other);
        }
        if of == Kind::String {
            for pattern in ["^a", "b$", "[0-9]+", "a|b", ".", "", "(?i)A", "^$", "\\\\d{2}", "[^a]"] {
                let fused = format!("{x}.matches('{pattern}')");
                let parts = format!("cel.bind(read, '{pattern}', {x}.matches(read))");
                let (one, other) = (outcome(&fused, &data), outcome(&parts, &data));
                prop_assert!(same(&one, &other), "{}: {:?}\n{}: {:?}", fused, one, parts, other);
            }
        }
        if !matches!(of, Kind::String | Kind::Bytes) {
            let filtered = format!("{x}.filter(y, y != 1 && {condition})");
            let fused = outcome(&format!("{filtered}.size()"), &data);
            let parts = outcome(&format!("dyn({filtered}).size()"), &data);
            prop_assert!(same(&fused, &parts), "{}.size(): {:?}, {:?}", filtered, fused, parts);
        }
    }
}

/// Two values of kinds that may be compared: of one kind, or both numbers.
fn comparable() -> impl Strategy<Value = ([String; 2], serde_json::Value)> {
    let numbers = || prop::sample::select(vec![Kind::Int, Kind::UInt, Kind::Double]);
    let others = vec![Kind::Bool, Kind::String, Kind::Bytes, Kind::Timestamp, Kind::Duration, Kind::Dyn];
    let pair = |one: Kind, other: Kind| {
        (tuples::<1>(one), tuples::<1>(other)).prop_map(|(([a], data), ([b], _))| ([a, b], data))
    };
    prop_oneof![
        (numbers(), numbers()).prop_flat_map(move |(one, other)| pair(one, other)),
        prop::sample::select(others).prop_flat_map(tuples::<2>),
        Just(Kind::List(Box::new(Kind::Dyn))).prop_flat_map(tuples::<2>),
    ]
}

proptest! {
    #![proptest_config(many(500))]

    /// Equality does not care which side is which; order is the other way round from the other side, and agrees with it.
    #[test]
    fn equality_and_order_agree(([a, b], data) in comparable()) {
        let data = Json::from(&data);
        let values = |text: &str| {
            let (outcome, _) = run_over(&TYPED, &compile(&TYPED, text), &data);
            outcome.ok().map(|value| value.to_value())
        };
        let (Some(x), Some(y)) = (values(&a), values(&b)) else { return Ok(()) };
        let (equal, order) = (x.equals(&y), x.order(&y));
        prop_assert_eq!(equal, y.equals(&x), "{:?} {:?}", x, y);
        match (&order, y.order(&x)) {
            (Ok(one), Ok(other)) => prop_assert_eq!(*one, other.map(std::cmp::Ordering::reverse), "{:?} {:?}", x, y),
            (one, other) => prop_assert!(one.is_err() && other.is_err(), "{:?} {:?}", x, y),
        }
        if let Ok(order) = order {
            prop_assert_eq!(equal, order == Some(std::cmp::Ordering::Equal), "{:?} {:?}", x, y);
        }
        // and so do the operators
        let holds = |text: String| outcome(&text, &data);
        prop_assert_eq!(holds(format!("{a} == {b}")), Ok(Plain::Bool(equal)));
        prop_assert_eq!(holds(format!("{b} != {a}")), Ok(Plain::Bool(!equal)));
        for (one, other) in [
            (format!("{a} < {b}"), format!("{b} > {a}")),
            (format!("{a} >= {b}"), format!("{b} <= {a}")),
            (format!("{a} <= {b}"), format!("({a} < {b} ? true : {a} == {b})")),
        ] {
            let (x, y) = (holds(one.clone()), holds(other.clone()));
            prop_assert!(same(&x, &y), "{}: {:?}\n{}: {:?}", one, x, other, y);
        }
        // what equals is found
        prop_assert_eq!(holds(format!("{a} in [{b}]")), Ok(Plain::Bool(equal)));
        if let (true, Value::List(x), Value::List(y)) = (equal, &x, &y) {
            prop_assert_eq!(x.len(), y.len());
        }
    }
}
