//! Variables of policies are computed once per decision: what comes out is what came out if each stood for its text, for less.

use crate::laws_expressions::{Language, cases, many, scope};
use crate::laws_values::{Outcome, Plain};
use celador::cel::{Activation, Env, EvalError, Expr, Json, NameId, Program, Remembered, Stop, parse};
use celador::{Answer, Call, CallResult, Decision, Engine, Progress, StartTask, Task, User, VerdictKind};
use proptest::prelude::*;
use serde_json::json;
use std::sync::LazyLock;
use std::time::SystemTime;

const NOW: SystemTime = SystemTime::UNIX_EPOCH;

static TYPED: LazyLock<Env> = LazyLock::new(|| scope(true));
static UNTYPED: LazyLock<Env> = LazyLock::new(|| scope(false));

/// A program in which a name stands for an expression, which is remembered or not.
fn named(env: &Env, text: &str, name: Option<NameId>) -> Program {
    let value = parse(text, env.limits()).unwrap();
    let put_in = |expr: &mut Expr| {
        let span = expr.span;
        *expr = value;
        expr.place_at(span);
        expr.in_place_of = name;
    };
    Program::compile_rewritten(env, "name", put_in).unwrap_or_else(|issues| panic!("{text}: {issues:?}"))
}

fn activation<'a>(env: &Env, data: &'a Json) -> Activation<'a> {
    data.root()
        .entries()
        .fold(Activation::new(env), |activation, (name, value)| activation.with(env, name, value.value()))
}

/// What comes of a program, to the places and words of an error, and what it costs.
fn run<'a>(
    program: &'a Program,
    activation: &Activation<'a>,
    remembered: &mut Remembered<'a>,
) -> (Result<Plain, EvalError>, u64) {
    let (result, cost) = program.run_remembering(activation, None, remembered);
    let result = result.map(|value| Plain::from(&value)).map_err(|stop| match stop {
        Stop::Failed(error) => error,
        Stop::Asked => panic!("nobody is asked"),
    });
    (result, cost)
}

proptest! {
    #![proptest_config(many(2_000))]

    /// A name comes to the same as its expression, the first time and the second time, in one scope and in the next; the first time it costs
    /// the same as well.
    #[test]
    fn a_name_is_what_it_stands_for(case in cases(Language::Whole)) {
        let data = Json::from(&case.data);
        let name = Some(NameId::next());
        let scopes = [&*TYPED, &*UNTYPED].map(|env| {
            (activation(env, &data), named(env, &case.text, None), named(env, &case.text, name))
        });
        let mut remembered = Remembered::default();
        for (round, (activation, plain, named)) in scopes.iter().chain(&scopes).enumerate() {
            let (expected, whole) = run(plain, activation, &mut Remembered::default());
            let (found, cost) = run(named, activation, &mut remembered);
            match round {
                0 => prop_assert_eq!(cost, whole),
                _ => prop_assert!(cost <= whole, "{} is more than {}", cost, whole),
            }
            match (&found, &expected) {
                // the types of a scope say which function fails, and not whether one does
                (Err(found), Err(expected)) if round % 2 == 1 => prop_assert_eq!(found.span, expected.span),
                _ => prop_assert_eq!(found, expected),
            }
        }
    }
}

#[test]
fn a_value_is_found_for_the_cost_of_one_step() {
    let data = Json::from(json!({"l": (0..100).collect::<Vec<_>>()}));
    let program = named(&TYPED, "l.filter(x, x % 2 == 0)", Some(NameId::next()));
    let (activation, mut remembered) = (activation(&TYPED, &data), Remembered::default());
    let (first, whole) = run(&program, &activation, &mut remembered);
    assert!(whole > 300, "{whole}");
    assert_eq!(run(&program, &activation, &mut remembered), (first.clone(), 1));
    remembered.clear();
    assert_eq!(run(&program, &activation, &mut remembered), (first, whole));
}

#[test]
fn an_error_is_remembered_with_its_function_and_a_spent_budget_is_not() {
    let data = Json::from(json!({"l": [1, 2], "s": "a"}));
    let program = named(&TYPED, "l.map(x, x / (x - 2))", Some(NameId::next()));
    let (activation, mut remembered) = (activation(&TYPED, &data), Remembered::default());
    let (first, whole) = run(&program, &activation, &mut remembered);
    let error = first.clone().unwrap_err();
    assert_eq!((error.code.as_str(), error.function.as_deref()), ("divide_by_zero", Some("_/_")));
    assert!(whole > 10);
    assert_eq!(run(&program, &activation, &mut remembered), (first, 1));

    let small = celador::limits::EvalLimits { max_cost: 20, ..celador::limits::EvalLimits::default() };
    let scope = Env::builder().limits(small).variable("l", celador::cel::Type::list(celador::cel::Type::Int));
    let env = celador::cel::STANDARD.iter().copied().fold(scope, celador::cel::EnvBuilder::library).build();
    let program = named(&env, "l.map(x, [x, x, x, x, x, x])", Some(NameId::next()));
    let activation = self::activation(&env, &data);
    for _ in 0..2 {
        let (result, cost) = run(&program, &activation, &mut remembered);
        assert_eq!(result.unwrap_err().code.as_str(), "budget_exceeded");
        assert!(cost > 10, "it is computed anew: {cost}");
    }
}

#[test]
fn a_value_that_is_looked_up_is_not_kept() {
    let data = Json::from(json!({"n": 7, "o": {"a": 1}, "l": [1]}));
    let activation = activation(&TYPED, &data);
    for text in ["n", "o.a", "l[0]", "n > 3 && o.a == 1", "[1, 2].exists(x, x == 2)"] {
        let program = named(&TYPED, text, Some(NameId::next()));
        let mut remembered = Remembered::default();
        let (found, _) = run(&program, &activation, &mut remembered);
        assert!(found.is_ok());
        assert_eq!(format!("{remembered:?}"), "0 values", "{text}");
    }
}

#[test]
fn a_sum_of_nothing_has_the_zero_of_its_scope() {
    let data = Json::from(json!({"l": [], "n": 1, "d": 0.5}));
    let scope = |ty| {
        let scope = Env::builder().variable("l", celador::cel::Type::list(ty));
        celador::cel::STANDARD
            .iter()
            .chain(celador::cel::EXTENSIONS)
            .copied()
            .fold(scope, celador::cel::EnvBuilder::library)
            .build()
    };
    let (ints, doubles) = (scope(celador::cel::Type::Int), scope(celador::cel::Type::Double));
    for text in ["l.map(x, x).sum()", "[l.sum()]"] {
        let name = Some(NameId::next());
        let (of_ints, of_doubles) = (named(&ints, text, name), named(&doubles, text, name));
        let mut remembered = Remembered::default();
        let shown = |outcome: Outcome| format!("{:?}", outcome.unwrap());
        let int =
            run(&of_ints, &activation(&ints, &data), &mut remembered).0.map_err(|error| error.code.as_str());
        let double = run(&of_doubles, &activation(&doubles, &data), &mut remembered)
            .0
            .map_err(|error| error.code.as_str());
        assert_ne!(shown(int), shown(double), "{text}");
    }
}

const AGENT: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: shop
name: pay
description: Pays.
actions:
- name: refund
  description: Refunds.
  parameters: {properties: {amount: {type: integer}, order: {type: string}}}
  execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
---
kind: commonagents.info/v1beta2/tool
namespace: shop
name: risk
description: Scores.
actions:
- name: score
  description: Scores.
  parameters: {properties: {order: {type: string}}}
  execute: {stateless_http: {method: POST, url: "https://risk.example.com"}}
---
kind: commonagents.info/v1beta2/tool
namespace: shop
name: count
description: Counts.
actions:
- name: it
  description: Counts.
  parameters: {properties: {order: {type: string}}}
  execute: {cel: {expression: "1"}}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Answers.
prompt: You are careful.
capabilities:
  pay: {include: [refund]}
  risk: {include: [score]}
  count: {include: [it]}
"#;

const VARIABLES: &[(&str, &str)] = &[
    ("paid", "c.calls.filter(t, t.fn == 'pay').map(t, t.input.amount).sum()"),
    ("total", "(c.calls.filter(t, t.fn == 'pay').map(t, t.input.amount).sum() + input.amount)"),
    ("scored", "c.invoked.filter(t, t.fn == 'risk' || t.fn == 'count').size()"),
    ("large", "c.calls.filter(t, has(t.input.amount) && t.input.amount > 5)"),
    ("broken", "[1, 2][input.amount > 7 ? 7 : 0]"),
    ("name", "(input.order + '!')"),
    ("pair", "[input.order, input.order]"),
    ("span", "(input.order == 'x' ? '2h' : '1h')"),
];

/// Steps by which variables are read, and what they read is changed.
const STEPS: &[&str] = &[
    "{assert: variables.total <= 60}",
    "{on_fail: continue, assert: variables.total <= 20 && variables.name == 'o!'}",
    "{on_fail: continue, assert: variables.broken == 1 || variables.total < 10}",
    "{on_fail: continue, assert: variables.broken == 1}",
    "{condition: variables.large.size() > 0, on_fail: continue, assert: variables.large.all(t, t.input.amount < variables.total)}",
    "{assert: variables.large.size() < 4}",
    "{on_fail: continue, assert: variables.scored < 1}",
    "{set: {amount: input.amount + 1}}",
    "{set: {amount: variables.paid + 1, order: variables.name}}",
    "{condition: variables.scored > 0, set: {order: variables.name}}",
    "{invoke: 'count:it', bindings: {order: variables.name}}",
    "{invoke: 'risk:score', bindings: {order: variables.name}}",
    "{mode: observe, assert: variables.total < 20}",
    "{mode: observe, assert: variables.broken == 1}",
    "{mode: observe, set: {amount: variables.total}}",
    "{mode: observe, obligations: [{id: tell, values: {total: variables.total}}]}",
    "{condition: variables.total > 30, assert: review('lead')}",
    "{obligations: [{id: tell, values: {total: variables.total, name: variables.name}}]}",
    "{delay: 1s}",
    "{condition: variables.scored > 1, respond: variables.total}",
];

/// An engine with these steps ahead of each payment, in which variables are named or written out.
fn engine(steps: &[&str], is_named: bool) -> Engine {
    let mut text = format!("{AGENT}---\nkind: celador/v1/policy\nnamespace: shop\nname: money\n");
    if is_named {
        text.push_str("variables:\n");
        for (name, value) in VARIABLES {
            text.push_str(&format!("  {name}: \"{value}\"\n"));
        }
    }
    text.push_str("capabilities:\n  pay:\n    before:\n");
    for step in steps {
        let written = VARIABLES.iter().fold((*step).to_owned(), |step, (name, value)| match is_named {
            true => step,
            false => step.replace(&format!("variables.{name}"), value),
        });
        // a text in the flow style may hold brackets only in quotes
        let step: serde_json::Value = step_of(&written);
        text.push_str(&format!("    - {step}\n"));
    }
    Engine::parse("shop.yaml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A step as JSON, which is YAML whatever its texts hold: `{key: text, key: {key: text}}`.
fn step_of(text: &str) -> serde_json::Value {
    fn value(text: &str) -> serde_json::Value {
        let text = text.trim();
        if let Some(inside) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
            let entries = parts(inside).into_iter().map(|part| {
                let (key, of) = part.split_once(':').unwrap();
                (key.trim().to_owned(), value(of))
            });
            return serde_json::Value::Object(entries.collect());
        }
        match text.strip_prefix("[{").and_then(|text| text.strip_suffix("}]")) {
            Some(inside) => json!([value(&format!("{{{inside}}}"))]),
            None => json!(
                text.strip_prefix('\'')
                    .and_then(|text| text.strip_suffix('\''))
                    .filter(|text| !text.contains('\''))
                    .unwrap_or(text)
            ),
        }
    }
    /// What stands between the commas outside of brackets and texts.
    fn parts(text: &str) -> Vec<&str> {
        let (mut found, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0, false);
        for (at, sign) in text.char_indices() {
            match sign {
                '\'' => quoted = !quoted,
                '(' | '[' | '{' if !quoted => depth += 1,
                ')' | ']' | '}' if !quoted => depth -= 1,
                ',' if !quoted && depth == 0 => {
                    found.push(&text[start..at]);
                    start = at + 1;
                }
                _ => {}
            }
        }
        found.push(&text[start..]);
        found
    }
    value(text)
}

fn begin(engine: &Engine) -> Task {
    engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), NOW)).unwrap()
}

/// Asks for payments of these amounts, one after the other, and answers whatever is asked. Each that is let through is made.
fn decisions(engine: &Engine, amounts: &[i64]) -> Vec<Decision> {
    let mut task = begin(engine);
    let mut decided = Vec::new();
    for amount in amounts {
        let call = Call::new("pay", json!({"amount": amount, "order": "o"}).into());
        let mut progress = task.before(&call, NOW).unwrap().into_progress();
        let decision = loop {
            match progress {
                Progress::Decided(decision) => break decision,
                Progress::Asks(question) => {
                    let answer = match question.request {
                        celador::Request::Review { .. } => Answer::approve(),
                        _ => Answer::Result(CallResult::successful(json!(1).into())),
                    };
                    progress = task.answer(question.id, answer, NOW).unwrap().into_progress();
                }
            }
        };
        if decision.verdict.kind() == VerdictKind::Allow {
            let result = CallResult::successful(json!(1).into());
            let told = task.after(decision.call.as_ref().unwrap(), result, NOW).unwrap().outcome();
            assert_eq!(told.into_decision().verdict.kind(), VerdictKind::Allow);
        }
        decided.push(decision);
    }
    decided
}

proptest! {
    #![proptest_config(many(150))]

    /// Whatever stands between the steps that read a variable, decisions are those of the policy in which its text is written out; they
    /// cost no more.
    #[test]
    fn decisions_are_those_of_the_written_text(
        steps in prop::collection::vec(prop::sample::select(STEPS), 1..9),
        amounts in prop::collection::vec(1..12_i64, 1..8),
    ) {
        let named = decisions(&engine(&steps, true), &amounts);
        let written = decisions(&engine(&steps, false), &amounts);
        prop_assert_eq!(named.len(), written.len());
        for (named, written) in named.into_iter().zip(written) {
            prop_assert!(named.cost <= written.cost, "{} is more than {}", named.cost, written.cost);
            let plain = |decision: Decision| {
                let mut shown = serde_json::to_value(Decision { cost: 0, ..decision }).unwrap();
                // places in the file are others
                without_places(&mut shown);
                shown
            };
            prop_assert_eq!(plain(named), plain(written));
        }
    }
}

fn without_places(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(members) => {
            for key in ["line", "column", "origin", "decided_by"] {
                members.remove(key);
            }
            members.values_mut().for_each(without_places);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(without_places),
        _ => {}
    }
}

/// What the last of nine payments costs, by its steps.
fn cost(steps: &[&str], is_named: bool) -> u64 {
    cost_after(8, steps, is_named)
}

fn cost_after(payments: usize, steps: &[&str], is_named: bool) -> u64 {
    let decided = decisions(&engine(steps, is_named), &vec![1; payments + 1]);
    let last = decided.last().unwrap();
    assert_eq!(last.verdict.kind(), VerdictKind::Allow, "{last:?}");
    last.cost
}

/// What it costs to compare a list that is remembered with an empty one: a step each, one for the comparison and one for what it looks at.
const ASKED: u64 = 4;

#[test]
fn ten_steps_pay_for_a_variable_once() {
    let list = "{assert: variables.large == []}";
    let (one, ten) = (cost(&[list], true), cost(&[list; 10], true));
    assert_eq!(one, cost(&[list], false), "the first pays as if it were written out");
    assert_eq!(ten, one + 9 * ASKED, "{one}");
    assert_eq!(cost(&[list; 10], false), 10 * one);
    // a loop over the history goes on where it was, so that the list is never built
    let counted = "{assert: variables.large.size() < 9}";
    assert_eq!(cost(&[counted; 10], true), cost(&[counted; 10], false));
}

#[test]
fn a_variable_holds_for_conditions_and_through_terms_and_not_for_observed_steps() {
    let list = "{assert: variables.large == []}";
    let one = cost(&[list], true);
    let more = |steps: &[&str]| cost(steps, true) - one;
    assert_eq!(more(&["{condition: variables.large == [], assert: variables.large == []}"]), ASKED);
    // a list is not taken over a step that does more than to judge, and a number is
    let total = "{assert: variables.total > 3}";
    let of_total = cost(&[total], true);
    let twice = cost(&[total, "{delay: 1s}", total], true);
    let again = cost(&[total, total], true) - of_total;
    assert_eq!(twice - of_total, again);
    assert!(again < 5, "{again}");
    let computed =
        cost(&[total, "{obligations: [{id: tell, values: {total: variables.total}}]}", total], true);
    assert_eq!(computed - of_total, again + 1);
    // what an observed step has computed is its own
    assert_eq!(more(&["{mode: observe, assert: variables.large == []}", list]), one);
    let observed = "{mode: observe, assert: variables.large == []}";
    assert_eq!(more(&[observed, list, observed, observed]), one + 2 * ASKED);
}

#[test]
fn what_a_variable_reads_is_read_anew_once_it_has_changed() {
    let verdicts = |steps: &[&str]| {
        let decided = decisions(&engine(steps, true), &[5]);
        decided.last().unwrap().trace.iter().map(|entry| format!("{:?}", entry.outcome)).collect::<Vec<_>>()
    };
    // `set` comes first, whatever stands ahead of it
    assert_eq!(
        verdicts(&[
            "{set: {amount: variables.total + 1}}",
            "{set: {amount: variables.total + 1}}",
            "{assert: variables.total == 7}"
        ]),
        ["Pass", "Pass", "Pass"]
    );
    let counted = "{on_fail: continue, assert: variables.scored == 0}";
    let invoked = "{invoke: 'count:it', bindings: {order: variables.name}}";
    assert_eq!(verdicts(&[counted, invoked, counted, counted]), ["Pass", "Pass", "Fail", "Fail"]);
    let asked = "{invoke: 'risk:score', bindings: {order: variables.name}}";
    assert_eq!(verdicts(&[counted, asked, counted, counted]), ["Pass", "Pass", "Fail", "Fail"]);
}

#[test]
fn what_is_taken_back_on_the_way_is_paid_for_when_it_is_read() {
    for step in [
        // a list has no place in an index, so it is computed for nothing before the loop begins
        "{assert: !c.calls.exists(t, t.output == variables.pair)}",
        // the first call that is late enough is searched for by halves, which nobody pays for
        "{assert: !c.calls.exists(t, within(t, variables.span) && t.input.amount > 5)}",
    ] {
        let (named, written) = (cost_after(40, &[step], true), cost_after(40, &[step], false));
        let saved = written - named;
        assert!(saved >= 39 && saved % 39 == 0, "all rounds but the first find it: {written} - {named}");
    }
}
