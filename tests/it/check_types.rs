//! Checking expressions: types and costs, what names stand for, and what is said of what is wrong.

use crate::check_rows::{hold, rendered};
use celador::cel::{
    Activation, Checked, Code, Constant, CostEstimate, Domain, EXTENSIONS, Env, EnvBuilder, Expr, ExprKind,
    Field, Function, Key, LANGUAGE, Numbers, Program, RecordType, Reference, STANDARD, Storage, Text, Type,
    Value, check, parse,
};
use celador::diagnostic::Severity;
use celador::limits::EvalLimits;
use std::sync::Arc;

const fn row(name: &'static str, overloads: &'static [(&'static str, &'static str)]) -> Function {
    Function { name, doc: "", cost: "", overloads, examples: &[], code: Code::Host }
}

/// A library of the tests' own: namespaces, a type parameter, optionals, no arguments.
static OWN: &[Function] = &[
    row("math.top", &[("top_list", "math.top(list(A)) -> A")]),
    row("optional.of", &[("optional_of", "optional.of(A) -> optional_type(A)")]),
    row("optional.none", &[("optional_none", "optional.none() -> optional_type(A)")]),
    row("now", &[("now", "now() -> timestamp")]),
    row("com.example.run", &[("run_int", "com.example.run(int) -> int")]),
    row("com.lib.run", &[("lib_run_int", "com.lib.run(int) -> string")]),
];

fn standard() -> EnvBuilder {
    let mut scope = Env::builder();
    for library in STANDARD {
        scope = scope.library(library);
    }
    scope
}

fn scope() -> Env {
    let field = |ty: Type, required: bool| Field { required, ..Field::required(ty) };
    let record = |name: &str, storage, fields: Vec<(&str, Field)>, aliases: Vec<(Arc<str>, usize)>| {
        let fields = fields.into_iter().map(|(name, field)| (name.into(), field)).collect();
        Arc::new(RecordType { name: name.to_owned(), fields, aliases, storage })
    };
    let user = RecordType::live("context.user", [("id", Type::String, ""), ("email", Type::String, "")]);
    let call = RecordType::live("a call", [("status", Type::String, ""), ("inputs", Type::Dyn, "")]);
    let fields = vec![
        ("user", field(Type::Record(user.clone()), true)),
        ("calls", field(Type::list(Type::Record(call)), true)),
        ("capabilities", field(Type::map(Type::String, Type::Dyn), true)),
        ("n", field(Type::Int, true)),
    ];
    let context = record("context", Storage::Live, fields, vec![("cap".into(), 2)]);
    let settings = record("settings", Storage::Open, vec![("debug", field(Type::Bool, true))], vec![]);
    let options = record("options", Storage::Closed, vec![("level", field(Type::Int, false))], vec![]);
    let ticket = record("ticket", Storage::Closed, ticket(), vec![]);
    let fields = vec![("total", field(Type::Int, false)), ("mode", field(Type::String, false))];
    let result =
        record("a result", Storage::ClosedUnlessFailed { beside: &["code", "reason"] }, fields, vec![]);
    let task = RecordType::live("a task", [("message", Type::String, "")]);
    standard()
        .library(OWN)
        .variable("context", Type::Record(context))
        .variable("user", Type::Record(user))
        .variable("settings", Type::Record(settings))
        .variable("options", Type::Record(options))
        .variable("ticket", Type::Record(ticket))
        .variable("result", Type::Record(result))
        .variable("task", Type::Singleton(task))
        .variable("input", Type::Dyn)
        .optional_variable("event", Type::Dyn)
        .variable("n", Type::Int)
        .variable("flag", Type::Bool)
        .variable("start", Type::Timestamp)
        .variable("span", Type::Duration)
        .variable("a.b", Type::Int)
        .elsewhere([
            ("output", "there is a result in `after` only"),
            ("review", "a guardrail cannot wait for a person"),
            ("mount.read", "files are read by CEL tools only"),
        ])
        .build()
}

/// The fields of a ticket: values of which more is known than their types.
fn ticket() -> Vec<(&'static str, Field)> {
    let texts = |texts: &[&str]| texts.iter().map(|text| Constant::Text((*text).into())).collect();
    let field = |ty: Type, domain: Domain| Field { domain: domain.known(), ..Field::optional(ty) };
    let label = Domain { allowed: Some(texts(&["bug", "feature"])), ..Domain::default() };
    let labels = Domain { max_size: Some(3), items: label.known(), ..Domain::default() };
    let status = Domain { allowed: Some(texts(&["open", "closed", "on_hold"])), ..Domain::default() };
    let numbers = [1.0, 2.0, 3.0].map(Constant::Number);
    let priority = Domain { allowed: Some(numbers.into()), ..Domain::default() };
    let owner =
        Domain { allowed: Some([Constant::Text("me".into()), Constant::Null].into()), ..Domain::default() };
    let note = Domain { max_size: Some(40), ..Domain::default() };
    let parts = Domain { max_size: Some(5), ..Domain::default() };
    let amount = Domain { numbers: Some(Numbers::All), ..Domain::default() };
    let amounts = Domain { items: amount.clone().known(), ..Domain::default() };
    vec![
        ("status", field(Type::String, status)),
        ("priority", field(Type::Dyn, priority)),
        ("owner", field(Type::Dyn, owner)),
        ("labels", field(Type::list(Type::String), labels)),
        ("note", field(Type::String, note)),
        ("parts", field(Type::map(Type::String, Type::Dyn), parts)),
        ("amount", field(Type::Dyn, amount)),
        ("amounts", field(Type::list(Type::Dyn), amounts)),
    ]
}

/// A scope with a container, in which one name is declared at each level.
fn contained(container: &str) -> Env {
    standard()
        .library(OWN)
        .container(container)
        .variable("v", Type::String)
        .variable("com.v", Type::Double)
        .variable("com.example.v", Type::Int)
        .variable("com.lib.w", Type::Dyn)
        .variable("com.example.lib.w.z", Type::Bool)
        .build()
}

fn checked(text: &str, env: &Env) -> (Option<Checked>, String) {
    let expr = parse(text, env.limits()).unwrap();
    let (checked, issues) = check(expr, env);
    assert_eq!(checked.is_none(), issues.iter().any(|issue| issue.severity == Severity::Error), "{text}");
    (checked, rendered(text, &issues))
}

#[test]
fn types_and_costs() {
    let env = scope();
    hold("check/types.txt", 150, |text| {
        let (checked, issues) = checked(text, &env);
        let Some(checked) = checked else { return issues };
        hold_cost(text, &env, checked.cost);
        let most = checked.cost.max.map_or("?".to_owned(), |max| max.to_string());
        let assumed = assumed(text, checked.cost);
        format!("{}, {}..{most}{assumed}\n{issues}", checked.type_of(checked.expr.id), checked.cost.min)
    });
}

/// What the most of a cost takes for granted.
fn assumed(text: &str, cost: CostEstimate) -> String {
    let texts = if cost.assumes.short_texts { ", short texts" } else { "" };
    let sizes = if cost.assumes.sizes_of_schemas { ", sizes of schemas" } else { "" };
    let part = cost.assumes.unbounded.map(|span| format!(", no bound for {}", &text[span.range()]));
    assert_eq!(part.is_some(), cost.max.is_none(), "{text}");
    format!("{texts}{sizes}{}", part.unwrap_or_default())
}

/// What an evaluation that ends without an error really costs lies between the least and the most.
fn hold_cost(text: &str, env: &Env, cost: CostEstimate) {
    let program = Program::compile(env, text).unwrap();
    for (n, flag) in [(3, true), (0, false)] {
        let activation = Activation::new(env).with(env, "n", Value::Int(n)).with(env, "a.b", Value::Int(n));
        let activation = activation.with(env, "flag", Value::Bool(flag)).with(env, "input", Value::Int(n));
        let (result, spent) = program.run_metered(&activation, None);
        if result.is_ok() {
            assert!(cost.min <= spent, "{text} cost {spent}, at least {} was said", cost.min);
            assert!(cost.max.is_none_or(|max| spent <= max), "{text} cost {spent}, {:?} was said", cost.max);
        }
    }
}

#[test]
fn names() {
    let env = scope();
    hold("check/names.txt", 35, |row| {
        let (text, env) = match row.strip_prefix('@').and_then(|row| row.split_once(' ')) {
            Some((container, text)) => (text, contained(container)),
            None => (row, env.clone()),
        };
        let (checked, issues) = checked(text, &env);
        let Some(checked) = checked else { return issues };
        let mut out = Vec::new();
        references(text, &checked, &checked.expr, &env, &mut out);
        out.join("\n") + "\n" + &issues
    });
}

fn references(text: &str, checked: &Checked, expr: &Expr, env: &Env, out: &mut Vec<String>) {
    let written = match &expr.kind {
        ExprKind::Call { function, .. } => &text[function.span.range()],
        _ => &text[expr.span.range()],
    };
    let meaning = checked.reference(expr.id).map(|reference| match reference {
        Reference::Variable(slot) => {
            let name = env.variables().find(|(_, variable)| variable.slot == *slot).map(|(name, _)| name);
            format!("variable `{}`", name.unwrap())
        }
        Reference::Local(out) => format!("local {out}"),
        Reference::Type(ty) => format!("type {ty}"),
        Reference::Field(slot) => format!("field {slot}"),
        Reference::Function { declaration, overloads, qualified } => {
            let whole = if *qualified { ", all of the name" } else { "" };
            format!("function `{}` {overloads:?}{whole}", declaration.function.name)
        }
    });
    if let Some(meaning) = meaning {
        out.push(format!("`{written}`: {meaning}, {}", checked.type_of(expr.id)));
    }
    expr.for_each_part(&mut |part| references(text, checked, part, env, out));
}

#[test]
fn messages() {
    let env = scope();
    hold("check/issues.txt", 80, |text| {
        let (checked, issues) = checked(text, &env);
        for line in issues.lines().filter(|line| line.starts_with("error") || line.starts_with("warning")) {
            assert!(!line.ends_with('.'), "a message has no final stop: {line}");
        }
        if issues.is_empty() { format!("fine: {}", checked.unwrap().cost.min) } else { issues }
    });
}

/// What nests as deeply as the bounds allow is checked on a thread of 2 MB.
#[test]
fn no_tree_within_the_bounds_overflows_a_small_stack() {
    let small = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    let work = || {
        let env = scope();
        for (before, core, behind) in [
            ("(1+", "1", ")"),
            ("[", "1", "]"),
            ("{1:", "n", "}"),
            ("size([", "1", "])"),
            ("[1].all(x,", "flag", ")"),
            ("flag?1:", "2", ""),
            ("", "input", ".a"),
            ("", "input", ".map(x,x)"),
            ("", "n", "+n"),
            ("", "flag", "&&flag"),
            ("cel.bind(x,1,", "x", ")"),
        ] {
            for count in 30..100 {
                let text = before.repeat(count) + core + &behind.repeat(count);
                if let Ok(expr) = parse(&text, &EvalLimits::default()) {
                    assert!(check(expr, &env).0.is_some(), "{text}");
                }
            }
        }
    };
    small.spawn(work).unwrap().join().unwrap();
}

/// A list of unknown elements has no element type that another list could decide later.
#[test]
fn what_stands_for_an_unknown_value_stays_unknown() {
    let env = [STANDARD, EXTENSIONS].concat().into_iter().fold(Env::builder(), EnvBuilder::library).build();
    for (text, ty) in [
        ("[[[].map(x, 0u), [b'']].flatten(), [0u]].flatten()", "list(dyn)"),
        ("[[[0u], [b'']].flatten(), [0u]].flatten()", "list(dyn)"),
        ("[[[0u], [1u]].flatten(), [0u]].flatten()", "list(uint)"),
        ("[[].flatten(), [0u]].flatten()", "list(uint)"),
        // an unknown value beside a known one: neither says what the result is
        ("[1] + dyn(['x'])", "list(dyn)"),
        ("[null] + optional.of([null]).orValue(['x'])", "list(dyn)"),
        ("optional.of(1).orValue(dyn('x'))", "dyn"),
        ("optional.of(1).orValue(2)", "int"),
    ] {
        let program = Program::compile(&env, text).unwrap_or_else(|issues| panic!("{text}: {issues:?}"));
        assert_eq!(program.result_type().to_string(), ty, "{text}");
    }
}

/// What the checker says of numbers, the evaluator does: an operation that takes no number fails for each of them, a comparison that has one answer has it
/// for each, and of what nothing is said one of them is taken.
#[test]
fn what_is_said_of_numbers_holds_of_each_number() {
    let numbers = Domain { numbers: Some(Numbers::All), ..Domain::default() };
    let number = Field { domain: numbers.clone().known(), ..Field::required(Type::Dyn) };
    let list = Domain { items: numbers.known(), ..Domain::default() };
    let list = Field { domain: list.known(), ..Field::required(Type::list(Type::Dyn)) };
    let fields = [("n".into(), number), ("list".into(), list)].into_iter().collect();
    let order = RecordType { name: "order".into(), fields, aliases: Vec::new(), storage: Storage::Closed };
    let scope = LANGUAGE.iter().copied().fold(Env::builder(), EnvBuilder::library);
    let env = scope.variable("o", Type::Record(Arc::new(order))).build();

    let others = [
        "'a'",
        "'5'",
        "b'a'",
        "true",
        "[1]",
        "['a']",
        "{'a': 1}",
        "{1: 1}",
        "duration('1s')",
        "timestamp('2026-01-01T00:00:00Z')",
        "1",
        "1u",
        "1.5",
        "dyn('a')",
        "dyn(1)",
        "o.n",
    ];
    let operators = ["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "in"];
    let mut texts: Vec<String> = Vec::new();
    for other in others {
        // `||` hides a failure behind what is true
        for operator in operators.into_iter().filter(|it| (*it, other) != ("||", "true")) {
            texts.extend([format!("o.n {operator} {other}"), format!("{other} {operator} o.n")]);
        }
        texts.extend([format!("{other} in o.list"), format!("{other} in [o.n]")]);
    }
    let calls = [
        "-o.n",
        "!o.n",
        "o.n ? 1 : 2",
        "size(o.n)",
        "o.n.contains('a')",
        "'a'.contains(o.n)",
        "string(o.n)",
        "int(o.n)",
        "double(o.n)",
        "bool(o.n)",
        "bytes(o.n)",
        "duration(o.n)",
        "timestamp(o.n)",
        "type(o.n)",
        "dyn(o.n)",
        "o.n.matches('a')",
        "math.abs(o.n)",
        "math.greatest(o.n, 1)",
        "math.least(o.n)",
        "o.n.lowerAscii()",
        "['a'].join(o.n)",
        "'a'.charAt(o.n)",
        "'abc'.substring(o.n)",
        "lists.range(o.n)",
        "[1, 2].slice(o.n, 1)",
        "sets.contains([1], o.n)",
        "o.n.getHours()",
        "'%d'.format([o.n])",
        "'a'.format(o.n)",
        "o.n.size()",
        "[o.n].sum()",
        "o.list.sum()",
    ];
    texts.extend(calls.map(str::to_owned));
    // 0 is an index and a divisor, and the others are not
    let samples = [Value::Int(0), Value::Int(1), Value::Int(10), Value::Double(1.0), Value::Double(10.5)];
    let (mut said, mut wrong) = (0, String::new());
    for text in &texts {
        let Ok(program) = Program::compile(&env, text) else { panic!("{text} is no expression") };
        let codes: Vec<&str> = program.issues().iter().map(|issue| issue.code).collect();
        let results: Vec<_> = samples
            .iter()
            .map(|number| {
                let keys = [("n", number.clone()), ("list", Value::list(vec![number.clone()]))];
                let keys = keys.map(|(key, value)| (Key::String(Text::Shared(key.into())), value));
                let order = Value::map(keys.into_iter().collect());
                let activation = Activation::new(&env).with(&env, "o", order);
                program.run(&activation, None).map(|value| value.is_truthy())
            })
            .collect();
        let holds = match codes.as_slice() {
            ["no_matching_overload"] => results.iter().all(Result::is_err),
            ["never_equal"] => results.iter().all(|result| *result == Ok(text.contains("!="))),
            // of what may be anything nothing can be said
            [] => text.contains("dyn(") || results.iter().any(Result::is_ok),
            // a size that is asked for in vain, and the like
            _ => true,
        };
        said += usize::from(!codes.is_empty());
        if !holds {
            let told: Vec<_> = results.iter().map(|result| result.as_ref().ok()).collect();
            wrong += &format!("{text}: {codes:?} {told:?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(said > 100, "only {said} of {} are doubtful", texts.len());
}
