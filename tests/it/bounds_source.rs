//! Hostile texts: whatever is repeated or nested, a thread of 2 MB compiles or refuses it soon, and runs what compiles.
//!
//! The times allowed are for an unoptimised build on a busy machine; what they catch is work that grows with the square
//! of a text, or doubles with each level.

use celador::cel::{
    Activation, EXTENSIONS, Env, EnvBuilder, Json, Program, STANDARD, Stop, Type, Value, parse,
};
use celador::limits::EvalLimits;
use std::time::{Duration, Instant};

/// A scope with all functions, an unknown `j`, a list `xs` and a text `s`.
fn scope() -> Env {
    let scope = Env::builder()
        .variable("j", Type::Dyn)
        .variable("xs", Type::list(Type::Int))
        .variable("s", Type::String);
    STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library).build()
}

/// Runs a program over small data and lets go of the result: nothing here may panic.
fn run(env: &Env, program: &Program) {
    let json = Json::parse(r#"{"a": {"a": {"a": 1}}, "xs": [1, 2, 3], "s": "text"}"#, &EvalLimits::default());
    let json = json.unwrap();
    let xs = Value::list((0..5).map(Value::Int).collect());
    let activation = Activation::new(env).with(env, "j", json.value()).with(env, "xs", xs).with(
        env,
        "s",
        Value::text("00110100010111"),
    );
    match program.run(&activation, None) {
        // what is larger takes an unoptimised build longer than a test should, until `max_json_bytes` ends it
        Ok(value) if value.weight(100_000) < 100_000 => {
            drop(Json::from_value(&value, &EvalLimits::default()))
        }
        Ok(value) => assert!(value.is_truthy()),
        Err(Stop::Failed(error)) => drop(error.to_string()),
        Err(Stop::Asked) => unreachable!("no host"),
    }
}

/// Does work on a thread of 2 MB.
pub fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(work).unwrap().join().unwrap();
}

/// Compiles a text, prints and runs what compiles. Says whether it did.
fn compile_and_run(env: &Env, text: &str) -> bool {
    let shown = || text.chars().take(60).collect::<String>();
    let started = Instant::now();
    let compiled = Program::compile(env, text);
    let soon = Duration::from_secs(10);
    assert!(started.elapsed() < soon, "{}… was compiled in {:?}", shown(), started.elapsed());
    match compiled {
        Ok(program) => {
            let printed = program.expr().to_string();
            assert!(parse(&printed, env.limits()).is_ok() || printed.len() > text.len(), "{}…", shown());
            run(env, &program);
            assert!(started.elapsed() < soon, "{}… was run in {:?}", shown(), started.elapsed());
            true
        }
        Err(issues) => {
            assert!(!issues.is_empty());
            assert!(issues.iter().all(|issue| text.get(issue.span.range()).is_some()), "{}…", shown());
            false
        }
    }
}

/// What texts are made of by repeating it.
const REPEATED: [&str; 58] = [
    " ", "\n", "\t\r\n", "// c\n", "(", ")", "[", "]", "{", "}", "'", "\"", "'''", "`", "\\", "#", "\0", "é",
    "🙂", ".", ",", ":", "?", "??", "+", "-", "!", "&&", "||", "==", "in ", "1", "1 ", "0x", "1e", "1.",
    ".1", "9u ", "a", "a ", "a.", "a,", "a?", "a:", "a+", "a[", "a(", "a{", "a&&", "a ? b : ", "(a)", "[a]",
    "'a'", "b'\\", "r'", "true ", "for ", "{a:",
];

#[test]
fn whatever_is_repeated_is_refused_or_read() {
    on_a_small_stack(|| {
        let env = scope();
        for unit in REPEATED {
            for bytes in [1_000, 4_000, env.limits().max_source_bytes, 1_000_000] {
                compile_and_run(&env, &unit.repeat(bytes / unit.len()));
            }
        }
    });
}

/// What lists, operators and calls of thousands of parts are made of: the part, what joins, what stands around.
const JOINED: [(&str, &str, &str, &str); 21] = [
    ("1", ",", "[", "]"),
    ("[]", ",", "[", "]"),
    ("{}", ",", "[", "]"),
    ("[[]]", ",", "[", "]"),
    ("[1].map(x, [])", ",", "[", "]"),
    ("s", ",", "[", "]"),
    ("[s]", " + ", "", ""),
    ("s", " + ", "", ""),
    ("true", "||", "", ""),
    ("s == 'a'", "||", "", ""),
    ("s == 'a' && s == 'b'", "||", "", ""),
    ("undeclared", ",", "[", "]"),
    ("undeclared()", ",", "[", "]"),
    ("1", "<", "", ""),
    ("xs", " in ", "", ""),
    ("s", ",", "f(", ")"),
    ("s.matches('a')", ",", "[", "]"),
    (r"s.matches('\\pL{5}')", ",", "[", "]"),
    (r"s.matches('\\pL{50}')", ",", "[", "]"),
    ("lists.range(20000).size()", ",", "[", "]"),
    ("'%65535.f'.format([1])", ",", "[", "]"),
];

#[test]
fn thousands_of_parts_are_refused_or_run() {
    on_a_small_stack(|| {
        let env = scope();
        for (part, join, before, behind) in JOINED {
            for count in [10, 94, 300, 1_300] {
                compile_and_run(&env, &format!("{before}{}{behind}", vec![part; count].join(join)));
            }
        }
        let keys: Vec<String> = (0..600).map(|key| format!("{key}: {{}}")).collect();
        assert!(compile_and_run(&env, &format!("{{{}}}", keys.join(", "))));
    });
}

/// Forms that nest: what stands before, the core, what stands behind.
const NESTED: [(&str, &str, &str); 31] = [
    ("(", "s", ")"),
    ("[", "s", "]"),
    ("[", "", "]"),
    ("{1: ", "s", "}"),
    ("{s: ", "{}", "}"),
    ("!", "true", ""),
    ("-", "j", ""),
    ("!(", "true", ")"),
    ("-(", "j", ")"),
    ("true ? 1 : ", "1", ""),
    ("(true ? ", "1", " : 1)"),
    ("", "j", ".a"),
    ("", "j", ".?a"),
    ("", "xs", "[0]"),
    ("", "j", "[?0]"),
    ("xs[", "0", "]"),
    ("size(", "s", ")"),
    ("type(", "s", ")"),
    ("", "s", ".size()"),
    ("", "s", " + s"),
    ("s + (", "s", ")"),
    ("", "xs", " == xs"),
    ("s == 'a' || (s == 'b' && (", "true", "))"),
    ("xs.all(x, ", "true", ")"),
    ("xs.map(x, ", "x", ")"),
    ("", "xs", ".map(x, x)"),
    ("", "xs", ".filter(x, true)"),
    ("cel.bind(x, xs, ", "x", ")"),
    ("optional.of(", "s", ")"),
    ("", "optional.of(s)", ".optMap(x, x)"),
    ("has(j.a) && (", "true", ")"),
];

#[test]
fn every_form_nests_as_deep_as_the_bound_lets_it() {
    on_a_small_stack(|| {
        let env = scope();
        for (before, core, behind) in NESTED {
            let nested = |count: usize| before.repeat(count) + core + &behind.repeat(count);
            let deepest = (1..=96).rev().find(|&count| compile_and_run(&env, &nested(count)));
            assert!(deepest.is_some_and(|deepest| deepest >= 15), "{before}{core}{behind}: {deepest:?}");
            assert!(!compile_and_run(&env, &nested(97)), "{before}{core}{behind}");
        }
    });
}

/// Each variable stands for twice the one before: what is built of them, and their types, must not double each time.
#[test]
fn bindings_that_double_end_soon() {
    on_a_small_stack(|| {
        let env = scope();
        for (first, twice, last) in [
            ("[1]", "[a, a]", "a"),
            ("[1]", "[a, a]", "a == [a, a]"),
            ("[1]", "[a, a]", "a in [a, [a, a]]"),
            ("[1]", "[a, a]", "'%s'.format([a])"),
            ("[1]", "[a, a]", "a.flatten(100).size()"),
            ("[optional.of(1)]", "[optional.of(a), optional.of(a)]", "a == optional.of(a)"),
            ("[1]", "a + a", "a"),
            ("'x'", "a + a", "a"),
            ("b'x'", "a + a", "a"),
            ("'x'", "[a, a].join(a)", "a"),
            ("'x'", "a.replace('x', a + a)", "a"),
            ("'x'", "regex.replace(a, 'x', a + a)", "a"),
            ("'x'", "'%s%s'.format([a, a])", "a"),
            ("{1: 1}", "{1: a, 2: a}", "a"),
            ("{1: 1}", "{1: a, 2: a}", "a == {1: a}"),
            ("{1: 1}", "{a: a}", "a"),
            ("[[1]]", "{a[0]: a[0]}", "a"),
            ("xs", "[a, a].flatten()", "a.size()"),
            ("xs", "[a, a].flatten()", "a.distinct()"),
            ("xs", "[a, a].flatten()", "a.sort()"),
            ("xs", "[a, a].flatten()", "sets.equivalent(a, a)"),
            ("xs", "a.map(x, a)", "a"),
        ] {
            // names shadow: each `a` of a value is the one around
            let text = format!("cel.bind(a, {first}, ") + &format!("cel.bind(a, {twice}, ").repeat(29) + last;
            assert!(compile_and_run(&env, &(text + &")".repeat(30))), "{first} {twice} {last}");
        }
    });
}

#[test]
fn whoever_reads_long_words_reads_them_once() {
    on_a_small_stack(|| {
        let env = scope();
        let word = "a".repeat(30_000);
        for text in [
            word.clone(),
            format!("'{word}'"),
            format!("j.{word}"),
            format!("j.`{word}`"),
            format!("{word}()"),
            format!("[1].map({}, {}b)", &word[..15_000], &word[..15_000]),
            format!("1{}", "0".repeat(30_000)),
            format!("0.{}", "0".repeat(30_000)),
            format!("1e{}", "9".repeat(30_000)),
            format!("0x{}", "f".repeat(30_000)),
            format!("'{}'", "\\n".repeat(15_000)),
            format!("b'{}'", "\\x00".repeat(7_000)),
            format!("s.matches('{}')", "(".repeat(30_000)),
            format!("s.matches('{}')", "(a|".repeat(100) + &")".repeat(100)),
            format!("s.matches('{}x{}')", "(".repeat(99), ")*".repeat(99)),
            format!("s.matches('{}x{}')", "(".repeat(90), "){9}".repeat(90)),
            format!("s.matches('{}')", "[a-z]|".repeat(5_000)),
            format!("s.matches('{}')", "x*".repeat(15_000)),
            format!("s.matches(r'(?i){}')", r"\pL".repeat(9_000)),
            format!("s.format(['{}'])", "%s".repeat(15_000)),
            format!("'{}'.format([s])", "%s".repeat(15_000)),
        ] {
            compile_and_run(&env, &text);
        }
    });
}
