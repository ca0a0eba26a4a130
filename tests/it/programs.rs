//! What programs do beyond what the conformance suite asks: blocks to the letter, and what nothing has checked.

use celador::cel::{
    Activation, Code, EXTENSIONS, Env, EnvBuilder, ErrorCode, Function, HostFunctions, Interruption, Json,
    Program, STANDARD, Stop, Type, Value,
};
use celador::limits::EvalLimits;

static ASK: &[Function] = &[Function {
    name: "ask",
    doc: "a question to the host",
    cost: "1",
    overloads: &[("ask_int", "ask(int) -> int")],
    examples: &[],
    code: Code::Host,
}];

fn scope() -> EnvBuilder {
    let libraries = STANDARD.iter().chain(EXTENSIONS);
    libraries.fold(Env::builder().library(ASK), |scope, library| scope.library(library))
}

/// Answers with the number that it is asked, and keeps the questions; below zero it has no answer.
struct Echo(Vec<i64>);

impl HostFunctions for Echo {
    fn call(&mut self, _: &str, args: &[Value<'_>]) -> Result<Value<'static>, Interruption> {
        let Some(&Value::Int(number)) = args.first() else { return Err(Interruption::Asked) };
        self.0.push(number);
        if number < 0 {
            return Err(Interruption::Fault(ErrorCode::HostFailed.into()));
        }
        Ok(Value::Int(number))
    }
}

/// What an expression gives, and what it asked the host.
fn run(program: &Program, env: &Env) -> (String, Vec<i64>) {
    let mut host = Echo(Vec::new());
    let (result, spent) = program.run_metered(&Activation::new(env), Some(&mut host));
    let cost = program.cost();
    if result.is_ok() {
        assert!(cost.min <= spent && cost.max.is_none_or(|max| spent <= max), "{spent}, not {cost:?}");
    }
    let found = match result {
        Ok(value) => Json::from_value(&value, &EvalLimits::default()).unwrap().to_string(),
        Err(Stop::Failed(error)) => error.code.to_string(),
        Err(Stop::Asked) => "asked".to_owned(),
    };
    (found, host.0)
}

#[test]
fn a_binding_is_computed_when_it_is_first_asked_for_and_once() {
    let env = scope().build();
    for (expression, found, asked) in [
        ("cel.block([ask(1), ask(2)], cel.index(1) + cel.index(1))", "4", &[2][..]),
        ("cel.block([ask(1), cel.index(0) + ask(2)], false ? cel.index(1) : 0)", "0", &[]),
        ("cel.block([ask(1), ask(cel.index(0) + 1)], cel.index(1) * 10 + cel.index(0))", "21", &[1, 2]),
        // an error is kept like a value
        ("cel.block([ask(-1) > 0], (cel.index(0) || true) && (cel.index(0) || true))", "true", &[-1]),
        ("cel.block([ask(-1)], cel.index(0) + 1)", "host_failed", &[-1]),
        // a block begins again in each round of a loop around it
        ("[1, 2].map(x, cel.block([ask(x)], cel.index(0) + cel.index(0)))", "[2,4]", &[1, 2]),
        ("cel.block([ask(1)], [1, 2].map(x, x + cel.index(0)))", "[2,3]", &[1]),
        // the variables of a value and of the loops amid which it is computed keep out of each other's way
        (
            "cel.block([[7, 8].map(a, [a].map(b, b + 1)[0]), cel.index(0).map(c, c * 2)], \
             [1, 2].map(x, [3].map(y, [x, y, cel.index(1)[0], x, y])))",
            "[[[1,3,16,1,3]],[[2,3,16,2,3]]]",
            &[],
        ),
        (
            "cel.block([5], cel.block([cel.index(0) + 1, cel.index(0) + 1], cel.index(1)) * 10 + cel.index(0))",
            "75",
            &[],
        ),
        ("[1, 2].map(x, cel.block([[x].map(y, y + x)[0]], [x].map(z, cel.index(0) + z)[0]))", "[3,6]", &[]),
    ] {
        let program = Program::compile(&env, expression).unwrap();
        assert_eq!(run(&program, &env), (found.to_owned(), asked.to_vec()), "`{expression}`");
    }
}

/// Each binding names the one before it twice and fails: computed again each time, the first would be two to the
/// thirtieth times.
#[test]
fn bindings_that_fail_cost_no_more_for_being_named_again() {
    let env = scope().build();
    let bindings: String = (0..30).map(|at| format!(", cel.index({at}) || cel.index({at})")).collect();
    let expression = format!("cel.block([1 / int('0') > 0{bindings}], cel.index(30))");
    let program = Program::compile(&env, &expression).unwrap();
    let (result, spent) = program.run_metered(&Activation::new(&env), None);
    assert!(matches!(result, Err(Stop::Failed(error)) if error.code.as_str() == "divide_by_zero"));
    assert!(spent < 200, "{spent}");
}

#[test]
fn no_chain_of_bindings_overflows_a_small_stack() {
    let small = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    let work = || {
        let env = scope().build();
        let mut ran = 0;
        for length in [1, 20, 40, 46, 47, 48, 60, 400] {
            let bindings: String = (0..length).map(|at| format!(", cel.index({at}) + 1")).collect();
            let expression = format!("cel.block([0{bindings}], cel.index({length}))");
            match Program::compile(&env, &expression) {
                Ok(program) => {
                    assert_eq!(run(&program, &env).0, length.to_string());
                    ran += 1;
                }
                Err(issues) => assert!(issues.iter().all(|issue| issue.code == "max_depth"), "{length}"),
            }
        }
        assert!((4..8).contains(&ran), "{ran} chains were short enough");
    };
    small.spawn(work).unwrap().join().unwrap();
}

#[test]
fn what_nothing_has_checked_fails_when_it_is_reached() {
    let env = scope().variable("known", Type::Bool).build();
    for (expression, found) in [
        ("x || true", "true"),
        ("x && false", "false"),
        ("x || false", "unbound"),
        ("x.y.z", "unbound"),
        ("has(x)", "unbound"),
        ("has(x.y)", "unbound"),
        ("[1].map(y, x)", "unbound"),
        ("f(1) || true", "true"),
        ("f(1)", "no_matching_overload"),
        ("a.b.f(1)", "no_matching_overload"),
        ("'a'.f(x)", "no_matching_overload"),
        ("M{a: 1}", "no_matching_overload"),
        ("1 + 'a'", "no_matching_overload"),
        ("cel.index(0)", "unbound"),
        ("[1].exists(e, e == 1) ? 1 + 1 : x", "2"),
    ] {
        let program = Program::compile_unchecked(&env, expression).unwrap();
        assert_eq!(run(&program, &env).0, found, "`{expression}`");
        assert!(
            program.issues().iter().all(|issue| issue.severity == celador::diagnostic::Severity::Warning)
        );
    }
    assert!(Program::compile(&env, "x || true").is_err());
    assert!(Program::compile_unchecked(&env, "x ||").is_err());
}

#[test]
fn an_overload_that_fits_exactly_is_the_one_others_give_what_they_have_in_common() {
    let any = Type::list(Type::Dyn);
    let env = scope().variable("any", Type::Dyn).variable("list", any).build();
    for (expression, ty) in [
        ("math.greatest(1, 2, 3)", "int"),
        ("math.greatest(1.5, 2.5, 3.5, 4.5)", "double"),
        ("math.greatest(1, 2u, 3)", "dyn"),
        ("math.greatest(1, any, 3)", "dyn"),
        ("math.greatest([1, 2])", "int"),
        ("math.greatest(list)", "dyn"),
        ("list.sort()", "list(dyn)"),
        ("[2, 1].sort()", "list(int)"),
        ("any.sort()", "list(dyn)"),
        ("any + 1", "int"),
        ("any + any", "dyn"),
    ] {
        let program = Program::compile(&env, expression).unwrap();
        assert_eq!(program.result_type().to_string(), ty, "`{expression}`");
    }
}

/// A call that fails for its constants alone is told of where it stands; one that fails for what it costs, or only may fail, is not.
#[test]
fn constants_that_a_function_refuses_are_told_of() {
    let env = scope().variable("any", Type::Dyn).build();
    for (expression, found) in [
        ("url('https://user@example.com/').getHost() == any", Some("url('https://user@example.com/')")),
        ("any.getHours('Europe/Berln') > 8", Some("'Europe/Berln'")),
        (
            "timestamp('2026-05-20T03:45:00Z').getHours('Europe/Berln') > 8",
            Some("timestamp('2026-05-20T03:45:00Z').getHours('Europe/Berln')"),
        ),
        ("any.getHours('Europe/Berlin') > 8", None),
        ("any.getHours(any) > 8", None),
        ("date(any, 'Europe/Berln') > '2026'", Some("'Europe/Berln'")),
        ("weekday(any, 'Europe/Berln') > 5", Some("'Europe/Berln'")),
        ("timeOfDay(any, 'Europe/Berln') > duration('9h')", Some("'Europe/Berln'")),
        ("weekday('2026-05-20', 'Europe/Berlin') > 5", Some("weekday('2026-05-20', 'Europe/Berlin')")),
        ("date(any, 'Europe/Berlin') > '2026' && weekday(any, any) > 5", None),
        ("any > duration('1 hour')", Some("duration('1 hour')")),
        ("any > duration('1h')", None),
        // a pattern that cannot be read has a finding of its own
        ("regex.extract(any, '(').hasValue()", None),
        ("regex.extract(any, '(a)(b)').hasValue()", Some("'(a)(b)'")),
        ("regex.extract(any, '(a)').hasValue()", None),
        ("any in cidr('10.0.0.0/33').ip() || any", Some("cidr('10.0.0.0/33')")),
        ("any.glob('src/**.rs')", Some("'src/**.rs'")),
        ("any.glob('src/**/*.rs')", None),
        ("path.within(any, '/work/../etc')", Some("'/work/../etc'")),
        ("path.within(any, '/work/')", None),
        ("lists.range(100000000).size() > any", None),
        ("[1][3] > any", None),
        ("1 / 0 > any", None),
    ] {
        let program = Program::compile_unchecked(&env, expression).unwrap();
        let issues = program.issues().iter().filter(|issue| issue.code == "refused_constant");
        let places: Vec<&str> =
            issues.map(|issue| &expression[issue.span.start as usize..issue.span.end as usize]).collect();
        assert_eq!(places, found.into_iter().collect::<Vec<_>>(), "`{expression}`");
    }
}
