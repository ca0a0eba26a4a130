//! What turns of the model cost: sums without error, and the limits of a task and of one message.

use crate::shop_fixture::{NOW, begin, shop_agent, shop_tool};
use celador::{Amount, Decision, Engine, Json, ModelCall, Next, Task, Turn, VerdictKind};
use proptest::prelude::*;
use serde_json::{Value, json};

const SHOP: &str = concat!(
    shop_tool!("desk", "open" takes "{}"),
    shop_agent!("clerk", "desk: \"*\""),
    r#"---
kind: celador/v1/policy
namespace: shop
name: loose
limits: {max_turns: 1000, max_spend: 999999999999999999, max_spend_per_message: "999999999999999999"}
---
kind: celador/v1/policy
namespace: shop
name: tight
limits: "#
);

/// The shop with these limits in a policy.
fn engine(limits: &str) -> Engine {
    Engine::parse("shop.yaml", &format!("{SHOP}{limits}\n")).unwrap_or_else(|error| panic!("{error}"))
}

fn greeted(engine: &Engine) -> Task {
    let mut task = begin(engine);
    say(&mut task);
    task
}

fn say(task: &mut Task) {
    assert!(task.input(&Json::string("hello"), NOW).outcome().is_allowed());
}

/// A turn with one call, as a runtime reports it; the cost is JSON.
fn turn(id: &str, cost: &str) -> Result<Turn, serde_json::Error> {
    let call = format!(r#"{{"id": "{id}", "function": "desk", "arguments": {{}}}}"#);
    let usage = format!(r#"{{"prompt_tokens": 9, "completion_tokens": 1, "cost": {cost}}}"#);
    serde_json::from_str(&format!(r#"{{"usage": {usage}, "calls": [{call}]}}"#))
}

/// What a turn that costs so much comes to: its limits, and its call.
fn spend(task: &mut Task, id: &str, cost: &str) -> (Decision, VerdictKind) {
    let turned = task.turn(&turn(id, cost).unwrap(), NOW).unwrap();
    (turned.limits, turned.calls[0].decision.verdict.kind())
}

fn limit(decision: &Decision) -> Value {
    serde_json::to_value(decision.verdict.limit()).unwrap()
}

fn stored(task: &Task) -> Value {
    serde_json::to_value(task.save()).unwrap()
}

fn opened(engine: &Engine, stored: Value) -> Task {
    engine.restore(serde_json::from_value(stored).unwrap()).unwrap()
}

fn spent(task: &Task) -> String {
    task.context().spend().to_string()
}

/// The sum of whole numbers in decimal digits, column by column: of any width.
fn on_paper(numbers: &[String]) -> String {
    let width = numbers.iter().map(String::len).max().unwrap_or(0) + 4;
    let mut columns = vec![0_u32; width];
    for number in numbers {
        for (column, digit) in columns.iter_mut().zip(number.bytes().rev()) {
            *column += u32::from(digit - b'0');
        }
    }
    let mut carried = 0;
    let mut digits = String::new();
    for column in columns {
        carried += column;
        digits.push(char::from_digit(carried % 10, 10).unwrap());
        carried /= 10;
    }
    digits.chars().rev().collect()
}

/// Billionths, in digits, as a decimal with a point and nothing needless.
fn decimal(billionths: &str) -> String {
    let digits = format!("{billionths:0>10}");
    let (whole, fraction) = digits.split_at(digits.len() - 9);
    let whole = Some(whole.trim_start_matches('0')).filter(|whole| !whole.is_empty()).unwrap_or("0");
    format!("{whole}.{fraction}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_sum_is_that_of_whole_numbers_of_any_width(
        costs in prop::collection::vec((0..10_u64.pow(16), 1..10_u64.pow(9)), 1..12)
    ) {
        let billionths: Vec<String> = costs.iter().map(|(whole, part)| format!("{whole}{part:09}")).collect();
        let sum = decimal(&on_paper(&billionths));
        let free = engine("{max_turns: 900}");
        let mut task = greeted(&free);
        let mut whole = task.save();
        for (at, cost) in billionths.iter().enumerate() {
            let mark = task.mark();
            let (limits, _) = spend(&mut task, &at.to_string(), &format!("\"{}\"", decimal(cost)));
            prop_assert!(limits.is_allowed());
            // what is stored of the step keeps the sum, and so does the whole task
            let change = serde_json::to_value(task.change_since(&mark)).unwrap();
            whole = whole.apply(serde_json::from_value(change).unwrap()).unwrap();
            prop_assert_eq!(serde_json::to_value(&whole).unwrap(), stored(&task));
            task = opened(&free, stored(&task));
        }
        prop_assert_eq!(spent(&task), sum.clone());
        // the sum is allowed, and a billionth less is not
        let exact: Amount = sum.parse().unwrap();
        let less = exact.minus("0.000000001".parse().unwrap()).unwrap().to_string();
        for (name, verdict) in [("max_spend", VerdictKind::Terminate), ("max_spend_per_message", VerdictKind::Block)] {
            let bounded = |bound: &str| opened(&engine(&format!("{{{name}: \"{bound}\"}}")), stored(&task));
            prop_assert!(bounded(&sum).limits(Next::ModelTurn, NOW).is_allowed());
            let refused = bounded(&less).limits(Next::ModelTurn, NOW);
            let expected = json!({"which": name, "bound": less, "value": sum, "policy": "shop/tight"});
            prop_assert_eq!((refused.verdict.kind(), limit(&refused)), (verdict, expected));
        }
    }
}

#[test]
fn a_cost_is_the_decimal_that_was_written() {
    for (cost, expected) in [
        ("0", "0"),
        ("-0", "0"),
        ("\"-0.0\"", "0"),
        ("3", "3"),
        ("0.0123", "0.0123"),
        ("\"0.0123\"", "0.0123"),
        ("1.5e-7", "0.00000015"),
        ("\"0.01230000000000\"", "0.0123"),
        // numbers that a program computed have more digits than anybody wrote
        ("0.30000000000000004", "0.300000001"),
        ("0.00000000012", "0.000000001"),
        ("1e18", "1000000000000000000"),
        ("\"999999999999999999.999999999\"", "999999999999999999.999999999"),
    ] {
        assert_eq!(turn("c", cost).unwrap().usage.cost.to_string(), expected, "{cost}");
    }
    for (cost, why) in [
        ("-0.5", "the amount is negative"),
        ("-1", "the amount is negative"),
        ("\"-0.5\"", "the amount is negative"),
        ("\"0.0000000001\"", "the amount has more than nine digits behind the point"),
        ("\"1000000000000000000.000000001\"", "the amount is above 10^18"),
        ("1.1e18", "the amount is above 10^18"),
        ("18446744073709551615", "the amount is above 10^18"),
        ("\"1e-3\"", "the text is no decimal"),
        ("\"0,5\"", "the text is no decimal"),
        ("\"--1\"", "the text is no decimal"),
        ("\"\"", "the text is no decimal"),
        ("null", "invalid type: null"),
        ("true", "invalid type: boolean"),
        ("[1]", "invalid type: sequence"),
    ] {
        let said = turn("c", cost).map(|turn| turn.usage.cost).unwrap_err().to_string();
        assert!(
            said.starts_with(why) && said.contains("expected a number from 0 to 10^18"),
            "{cost}: {said}"
        );
    }
}

#[test]
fn sums_of_tenths_are_not_those_of_doubles() {
    let mut task = greeted(&engine("{max_spend: 0.3}"));
    for id in ["a", "b", "c"] {
        assert!(spend(&mut task, id, "0.1").0.is_allowed(), "0.1 + 0.1 + 0.1 > 0.3 of doubles");
    }
    assert_eq!(
        task.limits(Next::ModelTurn, NOW).verdict.kind(),
        VerdictKind::Allow,
        "as much as is allowed is spent"
    );
    assert_eq!(spend(&mut task, "d", "0.000000001").0.verdict.kind(), VerdictKind::Terminate);
}

#[test]
fn the_turn_that_passes_the_cap_is_on_record_and_the_last_one() {
    let mut task = greeted(&engine("{max_spend: 5}"));
    assert_eq!(spend(&mut task, "a", "\"4.9\"").1, VerdictKind::Allow);
    let (limits, call) = spend(&mut task, "b", "70.0123");
    let expected = json!({"which": "max_spend", "bound": "5", "value": "74.9123", "policy": "shop/tight"});
    assert_eq!(
        (limits.verdict.kind(), call, limit(&limits)),
        (VerdictKind::Terminate, VerdictKind::Rejected, expected)
    );
    assert_eq!(
        limits.verdict.message(),
        Some("the task has ended at a limit: 74.9123 of 5 spent (`max_spend`)")
    );
    assert_eq!(limits.verdict.reason(), Some("limit_exceeded"));
    assert_eq!(spent(&task), "74.9123", "nothing of what was spent is lost");
    assert_eq!(spend(&mut task, "c", "1").0.verdict.kind(), VerdictKind::Rejected);
}

#[test]
fn what_one_message_costs_ends_with_the_next() {
    let mut task = greeted(&engine("{max_spend_per_message: 0.5}"));
    assert_eq!(spend(&mut task, "a", "0.5").1, VerdictKind::Allow);
    let (limits, call) = spend(&mut task, "b", "0.01");
    let expected = json!({
        "which": "max_spend_per_message", "bound": "0.5", "value": "0.51", "policy": "shop/tight"
    });
    assert_eq!(
        (limits.verdict.kind(), call, limit(&limits)),
        (VerdictKind::Block, VerdictKind::Rejected, expected.clone())
    );
    let said = "a limit is reached until the next message of the user: 0.51 of 0.5 spent for one message \
                (`max_spend_per_message`)";
    assert_eq!(limits.verdict.message(), Some(said));
    let ahead = task.limits(Next::ModelTurn, NOW);
    assert_eq!((ahead.verdict.kind(), limit(&ahead)), (VerdictKind::Block, expected));
    say(&mut task);
    assert!(task.limits(Next::ModelTurn, NOW).is_allowed());
    assert_eq!(spend(&mut task, "c", "0.5").1, VerdictKind::Allow);
    assert_eq!(spent(&task), "1.01");
}

/// The tokens of an answer are not counted again with its turn, and the cost is known of the turn alone.
#[test]
fn the_cost_of_a_turn_whose_answer_came_before_is_counted() {
    let mut task = greeted(&engine("{max_spend: 1}"));
    for (id, answer) in [
        ("m1", json!({"text": "Hello.", "usage": {"prompt_tokens": 9, "completion_tokens": 1}})),
        ("m2", json!({"text": "Hello."})),
    ] {
        let messages = json!([{"role": "user", "text": "hello"}]);
        let call = ModelCall::new(json!({"model": "small", "messages": messages}).into()).with_id(id);
        assert!(task.model_before(&call, NOW).unwrap().outcome().is_allowed());
        assert!(task.model_after(&id.into(), &answer.into(), NOW).unwrap().outcome().is_allowed());
        let (limits, _) = spend(&mut task, &format!("of-{id}"), "0.6");
        assert_eq!(limits.is_allowed(), id == "m1");
    }
    assert_eq!((spent(&task).as_str(), task.context().llm_turns()), ("1.2", 2));
    assert_eq!(task.context().prompt_tokens(), 18);
}

#[test]
fn a_turn_that_comes_again_costs_once() {
    let mut task = greeted(&engine("{max_spend: 1}"));
    for _ in 0..3 {
        assert_eq!(spend(&mut task, "a", "0.6").1, VerdictKind::Allow);
    }
    assert_eq!(spent(&task), "0.6");
}

#[test]
fn a_task_of_an_earlier_release_has_spent_nothing() {
    let engine = engine("{max_spend: 1, max_spend_per_message: 1}");
    let mut task = greeted(&engine);
    spend(&mut task, "a", "0.6");
    say(&mut task);
    let mut before = stored(&task);
    assert_eq!(before["context"]["spend"], "0.6");
    assert_eq!(before["context"].as_object_mut().unwrap().remove("spend"), Some(json!("0.6")));
    assert_eq!(
        before["stretches"].as_object_mut().unwrap().remove("spend_before_message"),
        Some(json!("0.6"))
    );
    let mut task = opened(&engine, before);
    assert_eq!(spent(&task), "0");
    assert_eq!(spend(&mut task, "b", "1").1, VerdictKind::Allow);
    assert_eq!(spend(&mut task, "c", "1").0.verdict.kind(), VerdictKind::Terminate);
    // and one that has spent nothing is stored as it was
    let text = stored(&greeted(&engine)).to_string();
    assert!(!text.contains("spend"), "{text}");
}
