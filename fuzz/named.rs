//! Named expressions of policies: a call comes to what `cel.bind` comes to.

use super::{SCOPE, STATE};
use celador::cel::{Activation, ErrorCode, ExprKind, Json, Program, Stop};
use celador::engine::Engine;

const AGENT: &str = r#"
kind: celador/v1/tools
namespace: demo
name: desk
tools: [{name: pay, inputSchema: {type: object}}]
---
kind: commonagents.info/v1beta2/agent
namespace: demo
name: clerk
description: Answers.
prompt: You are careful.
capabilities: {desk: "*"}
---
"#;

/// Reads the first line of a text as the value of a named expression with the parameter `x`, and the rest as the argument of a call. If the policy
/// compiles, the expression that the call stands for has the value that `cel.bind(x, argument, value)` has.
pub fn named(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some((value, argument)) = text.split_once('\n').filter(|_| text.len() < 1_000) else { return };
    let policy = serde_json::json!({
        "kind": "celador/v1/policy",
        "namespace": "demo",
        "name": "rules",
        "expressions": { "f": { "parameters": [{ "x": "dyn" }], "value": value } },
        "capabilities": { "pay": { "before": [{ "assert": format!("expressions.f({argument}) == input.y") }] } },
    });
    let Ok(engine) = Engine::parse("fuzz.yaml", &format!("{AGENT}{policy}\n")) else { return };
    let policy = engine.policy("demo", "clerk").expect("it was compiled");
    let Some(rule) = policy.steps().flat_map(|step| step.expressions()).next() else { return };
    let ExprKind::Call { args, .. } = &rule.program().expr().kind else { return };
    let Some(written) = args.first().map(ToString::to_string) else { return };
    let value_of = |text: &str| {
        let program = Program::compile(&SCOPE, text).ok()?;
        let activation = Activation::new(&SCOPE).with(&SCOPE, "input", STATE.value()).with(
            &SCOPE,
            "context",
            STATE.value(),
        );
        let outcome = match program.run(&activation, None) {
            Ok(value) => {
                Json::from_value(&value, SCOPE.limits()).map(|json| json.to_string()).map_err(|_| None)
            }
            Err(Stop::Failed(error)) => Err(Some(error.code)),
            Err(Stop::Asked) => panic!("no expression asks"),
        };
        Some(outcome)
    };
    let bound = value_of(&format!("cel.bind(x, {argument}, {value})"));
    let (Some(bound), Some(called)) = (bound, value_of(&written)) else { return };
    // an argument that the value does not come to may fail, and one that it reads twice costs twice
    let is_costly = called == Err(Some(ErrorCode::BudgetExceeded));
    if let Ok(bound) = bound
        && !is_costly
    {
        assert_eq!(called, Ok(bound), "{written}");
    }
}
