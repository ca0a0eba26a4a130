//! Limits of one message and of one turn: what a decision says of them, and what a stored task keeps.

use crate::shop_fixture::{NOW, begin, shop_agent, shop_tool};
use celador::{Call, Decision, Engine, Json, Next, Task, Usage, VerdictKind};
use serde_json::{Value, json};

const SHOP: &str = concat!(
    shop_tool!("desk", "open" takes "{}"),
    shop_agent!("clerk", "desk: \"*\""),
    r#"---
kind: celador/v1/policy
namespace: shop
name: loose
limits: {max_turns_per_message: 9, max_tool_calls_per_message: 9}
---
kind: celador/v1/policy
namespace: shop
name: tight
limits: {max_turns_per_message: 1, max_tool_calls_per_message: 2}
"#
);

fn engine() -> Engine {
    Engine::parse("shop.yaml", SHOP).unwrap_or_else(|error| panic!("{error}"))
}

fn say(task: &mut Task) {
    assert!(task.input(&Json::string("hello"), NOW).outcome().is_allowed());
}

fn call(task: &mut Task) -> Decision {
    let call = Call::new("desk", json!({}).into());
    task.before(&call, NOW).unwrap().outcome().into_decision()
}

fn limit(decision: &Decision) -> Value {
    serde_json::to_value(decision.verdict.limit()).unwrap()
}

/// A task that has made one call for its first message and one for its second.
fn second_message(engine: &Engine) -> Task {
    let mut task = begin(engine);
    for _ in 0..2 {
        say(&mut task);
        assert!(task.model_turn(Usage::default(), NOW).is_allowed());
        assert!(call(&mut task).is_allowed());
    }
    task
}

#[test]
fn a_refusal_names_the_tightest_policy_and_the_numbers() {
    let mut task = second_message(&engine());
    assert!(call(&mut task).is_allowed());
    let refusal = call(&mut task);
    assert_eq!(refusal.verdict.kind(), VerdictKind::Block);
    let expected =
        json!({"which": "max_tool_calls_per_message", "bound": 2, "value": 3, "policy": "shop/tight"});
    assert_eq!(limit(&refusal), expected);
    // whoever asks ahead of the turn is told the same as whoever takes it
    let ahead = task.limits(Next::ModelTurn, NOW);
    let expected = json!({"which": "max_turns_per_message", "bound": 1, "value": 2, "policy": "shop/tight"});
    assert_eq!((ahead.verdict.kind(), limit(&ahead)), (VerdictKind::Block, expected.clone()));
    let taken = task.model_turn(Usage::default(), NOW);
    assert_eq!((taken.verdict.kind(), limit(&taken)), (VerdictKind::Block, expected));
    say(&mut task);
    assert!(task.limits(Next::ModelTurn, NOW).is_allowed());
    assert!(call(&mut task).is_allowed());
}

#[test]
fn a_stored_task_counts_on_where_it_was() {
    let engine = engine();
    let mut before = begin(&engine);
    let start = before.save();
    let mark = before.mark();
    for _ in 0..2 {
        say(&mut before);
        assert!(call(&mut before).is_allowed());
    }
    let whole = serde_json::to_value(before.save()).unwrap();
    let change = serde_json::from_value(serde_json::to_value(before.change_since(&mark)).unwrap()).unwrap();
    let changed = serde_json::to_value(start.apply(change).unwrap()).unwrap();
    for stored in [whole, changed] {
        let mut task = engine.restore(serde_json::from_value(stored).unwrap()).unwrap();
        assert!(call(&mut task).is_allowed(), "the call of the first message does not count");
        assert_eq!(call(&mut task).verdict.kind(), VerdictKind::Block, "that of the second does");
    }
}

#[test]
fn a_task_that_kept_no_beginnings_counts_all_until_the_next_message() {
    let engine = engine();
    let mut stored = serde_json::to_value(second_message(&engine).save()).unwrap();
    assert!(stored.as_object_mut().unwrap().remove("stretches").is_some());
    let mut task = engine.restore(serde_json::from_value(stored).unwrap()).unwrap();
    assert_eq!(call(&mut task).verdict.kind(), VerdictKind::Block);
    say(&mut task);
    assert!(call(&mut task).is_allowed());
}

#[test]
fn a_turn_that_is_sent_again_counts_once() {
    let mut task = begin(&engine());
    say(&mut task);
    let call = |id: &str| Call::new("desk", json!({}).into()).with_id(id);
    let turn = celador::Turn { usage: Usage::default(), calls: vec![call("a"), call("b"), call("c")] };
    let first = task.turn(&turn, NOW).unwrap();
    let verdicts: Vec<VerdictKind> =
        first.calls.iter().map(|decided| decided.decision.verdict.kind()).collect();
    assert_eq!(verdicts, [VerdictKind::Allow, VerdictKind::Allow, VerdictKind::Block]);
    let again = task.turn(&turn, NOW).unwrap();
    assert!(again.limits.is_allowed());
    let limits: Vec<Value> = again.calls.iter().map(|decided| limit(&decided.decision)).collect();
    assert_eq!((&limits[0], &limits[2]["value"]), (&Value::Null, &json!(3)));
    assert_eq!(task.context().llm_turns(), 1);
}
