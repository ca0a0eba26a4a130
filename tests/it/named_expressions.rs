//! Named expressions: a call compiles to the expression with its arguments in the place of the parameters, whatever variables of macros stand
//! around; and a policy with a call decides as the policy in which the author has written the expression out.

use celador::cel::Json;
use celador::{Call, Engine, Outcome, StartTask, User};
use std::time::SystemTime;

/// An agent that calls `pay`, under a policy with these expressions and this rule.
fn manifests(expressions: &str, rule: &str) -> String {
    format!(
        r#"
kind: celador/v1/tools
namespace: demo
name: desk
tools:
  - name: pay
    inputSchema:
      type: object
      properties: {{n: {{type: integer}}, items: {{type: array, items: {{type: integer}}}}}}
      required: [n, items]
---
kind: commonagents.info/v1beta2/agent
namespace: demo
name: clerk
description: Answers.
prompt: You are careful.
capabilities: {{desk: "*"}}
---
kind: celador/v1/policy
namespace: demo
name: rules
expressions:
{expressions}
capabilities:
  pay: {{before: [{{assert: "{rule}"}}]}}
"#
    )
}

/// The rule as it is compiled, where `f` is the only named expression.
fn compiled(parameters: &str, value: &str, rule: &str) -> String {
    let expressions = format!("  f: {{parameters: [{parameters}], value: \"{value}\"}}");
    let text = manifests(&expressions, rule);
    let engine = Engine::parse("demo.yaml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let policy = engine.policy("demo", "clerk").unwrap();
    let rules: Vec<String> = policy
        .steps()
        .flat_map(|step| step.expressions())
        .map(|it| it.program().expr().to_string())
        .collect();
    let [rule] = rules.as_slice() else { panic!("{rules:?}") };
    rule.clone()
}

#[test]
fn arguments_stand_for_parameters_without_capture() {
    let rows = [
        ("{x: int}", "x + x > 3", "expressions.f(input.n)", "input.n + input.n > 3"),
        ("{x: int}", "x * x > 3", "expressions.f(input.n + 1)", "(input.n + 1) * (input.n + 1) > 3"),
        // parameters are not read in arguments
        ("{x: int}, {n: int}", "x - n > 3", "expressions.f(input.n, 2)", "input.n - 2 > 3"),
        // an own variable hides its parameter
        (
            "{x: int}, {l: list(int)}",
            "l.all(x, x > 1) && x > 3",
            "expressions.f(input.n, input.items)",
            "input.items.all(x, x > 1) && input.n > 3",
        ),
        // an argument that reads a variable of the caller with the name of an own one
        (
            "{l: list(int)}, {x: int}",
            "l.all(t, t < x)",
            "input.items.exists(t, expressions.f(input.items, t))",
            "input.items.exists(t, input.items.all(t_1, t_1 < t))",
        ),
        (
            "{l: list(int)}, {x: int}",
            "l.all(t, l.exists(t, t == x) && t < x)",
            "input.items.exists(t, expressions.f(input.items, t))",
            "input.items.exists(t, input.items.all(t_1, input.items.exists(t_2, t_2 == t) && t_1 < t))",
        ),
        (
            "{x: int}",
            "cel.bind(v, input.n, v == x)",
            "input.items.all(v, expressions.f(v))",
            "input.items.all(v, cel.bind(v_1, input.n, v_1 == v))",
        ),
        // a name of the scope below a variable of the caller with this name
        (
            "{x: int}",
            "input.n < x",
            "input.items.all(input, expressions.f(input))",
            "input.items.all(input, .input.n < input)",
        ),
    ];
    for (parameters, value, rule, expected) in rows {
        assert_eq!(compiled(parameters, value, rule), expected, "{value} in {rule}");
    }
}

#[test]
fn a_call_decides_as_the_expression_that_is_written_out() {
    let pairs = [
        ("  f: {parameters: [x: int], value: x > 2}", "expressions.f(input.n)", "input.n > 2"),
        (
            "  f: {parameters: [x: int, l: list(int)], value: \"l.exists(t, t == x)\"}\n  g: {parameters: [l: list(int)], value: \"l.all(t, expressions.f(t + 1, l) || t > 3)\"}",
            "expressions.g(input.items)",
            "input.items.all(a, input.items.exists(b, b == a + 1) || a > 3)",
        ),
        // an argument that fails is no failure where the expression does not come to it
        (
            "  f: {parameters: [x: int, y: int], value: x == 0 || y > 2}",
            "expressions.f(input.n, 10 / input.n)",
            "input.n == 0 || 10 / input.n > 2",
        ),
    ];
    let unused = "  unused: {value: 'true'}";
    for (expressions, call, written) in pairs {
        let engines = [manifests(expressions, call), manifests(unused, written)]
            .map(|text| Engine::parse("demo.yaml", &text).unwrap_or_else(|error| panic!("{error}\n{text}")));
        for n in -1..6_i64 {
            for items in [vec![], vec![1], vec![1, 2, 3], vec![2, 4], vec![4, 5]] {
                let arguments = Json::from(&serde_json::json!({ "n": n, "items": items }));
                let [one, other] = engines.each_ref().map(|engine| {
                    let now = SystemTime::UNIX_EPOCH;
                    let start = StartTask::new("t-1", "demo", "clerk", User::default(), now);
                    let mut task = engine.start(start).unwrap();
                    let decided = task.before(&Call::new("pay", arguments.clone()), now).unwrap();
                    matches!(decided.outcome(), Outcome::Allowed(_))
                });
                assert_eq!(one, other, "{call} of {n} and {items:?}");
            }
        }
    }
}
