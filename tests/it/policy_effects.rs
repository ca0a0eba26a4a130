//! What a step of a policy document does besides to judge, as far as more than one decision, a store or a log shows it. What one
//! decision shows is in `tests/data/cases/own/policy-*`.

use crate::shop_fixture::{NOW, begin, shop_agent, shop_tool};
use crate::task_fixture::log_entry;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::task::StepOutcome;
use celador::{Answer, Call, CallResult, Decision, Engine, Outcome, Task, VerdictKind};
use serde_json::{Value, json};

const AGENT: &str = concat!(
    shop_tool!("pay", "refund" takes "{amount: {type: number}, card: {type: string, secret: true}}"),
    shop_agent!("clerk", "pay: {include: [refund]}"),
    "---
kind: celador/v1/policy
namespace: shop
name: money
capabilities:
  pay:
    before:
",
);

/// An engine whose one policy has these steps ahead of each payment.
fn engine(steps: &[&str]) -> Engine {
    let steps: String = steps.iter().map(|step| format!("    - {step}\n")).collect();
    Engine::parse("shop.yaml", &format!("{AGENT}{steps}")).unwrap_or_else(|error| panic!("{error}"))
}

fn refund(arguments: Value) -> Call {
    let mut all = json!({"amount": 5, "card": "c-1"});
    for (name, value) in arguments.as_object().unwrap() {
        all[name] = value.clone();
    }
    Call::new("pay", all.into())
}

fn before(task: &mut Task, arguments: Value) -> Decision {
    task.before(&refund(arguments), NOW).unwrap().outcome().into_decision()
}

/// The line of the decision log about a decision.
fn line(decision: &Decision) -> Value {
    let entry = log_entry("t-1", celador::Timestamp::from_nanos(0).unwrap());
    serde_json::to_value(entry.of(decision)).unwrap()
}

#[test]
fn what_an_observed_step_would_have_done_outlives_a_review_and_a_restart() {
    let engine = engine(&[
        "{id: cap, mode: observe, assert: input.amount <= 100}",
        "{id: lead, assert: review('lead')}",
        "{id: low, mode: observe, assert: input.amount > 1000}",
    ]);
    let mut task = begin(&engine);
    let Outcome::Waits(waiting) = task.before(&refund(json!({"amount": 500})), NOW).unwrap().outcome() else {
        panic!("a review is asked")
    };
    let called = |decision: &Decision| decision.observed.iter().map(|it| it.called()).collect::<Vec<_>>();
    assert_eq!(called(&task.suspension_at(waiting.question).unwrap()), ["before[0] of shop/money#cap"]);
    let saved = serde_json::to_string(&task.save()).unwrap();
    let mut task = engine.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    let told = task.answer(waiting.question, Answer::approve(), NOW).unwrap().outcome().into_decision();
    assert_eq!(called(&told), ["before[0] of shop/money#cap", "before[2] of shop/money#low"]);
    assert_eq!(told.trace.len(), 1, "an observed step is no part of what decided");
    let text = serde_json::to_string(&told).unwrap();
    assert_eq!(serde_json::from_str::<Decision>(&text).unwrap(), told);
}

#[test]
fn an_observed_step_shows_no_secret() {
    let engine = engine(&["{id: cap, mode: observe, assert: 'false', error_message: 'Card {input.card}.'}"]);
    let decision = before(&mut begin(&engine), json!({"card": "HUSH", "amount": 5}));
    let text = serde_json::to_string(&decision).unwrap();
    assert_eq!(decision.observed[0].message.as_deref(), Some("Card HUSH."));
    for shown in [serde_json::to_string(&decision.masked()).unwrap(), Decision::masked_json(text).unwrap()] {
        assert!(shown.contains("Card ***.") && !shown.contains("HUSH"), "{shown}");
    }
}

#[test]
fn a_line_of_the_log_tells_which_call_an_observed_step_would_have_stopped() {
    let engine = engine(&[
        "{id: cap, severity: high, mode: observe, assert: input.amount <= 100, error_message: 'Of {input.card}.'}",
        "{id: fine, mode: observe, assert: 'input.amount > 0'}",
        "{id: broken, mode: observe, on_fail: continue, assert: 1 / (input.card.size() - input.card.size()) == 1}",
        "{id: lead, mode: observe, assert: review('lead')}",
    ]);
    let decision = before(&mut begin(&engine), json!({"card": "HUSH", "amount": 500}));
    assert_eq!(decision.verdict.kind(), VerdictKind::Allow);
    assert_eq!(decision.observed[1].outcome, StepOutcome::Pass);
    let line = line(&decision);
    assert_eq!((&line["function"], &line["verdict"]), (&json!("pay"), &json!("allow")));
    let path = |at: usize| format!("capabilities.pay.before[{at}].assert");
    let expected = json!([
        {"step": path(0), "policy": {"name": "shop/money", "id": "cap", "severity": "high"}, "outcome": "fail", "verdict": "block"},
        {"step": path(2), "policy": {"name": "shop/money", "id": "broken"}, "outcome": "fail", "errors": ["divide_by_zero"]},
        {"step": path(3), "policy": {"name": "shop/money", "id": "lead"}, "outcome": "suspend", "verdict": "suspend"},
    ]);
    assert_eq!(line["observed"], expected);
    assert!(!line.to_string().contains("HUSH"));
}

#[test]
fn an_observed_step_is_told_of_in_the_line_that_decides() {
    let steps = ["{id: cap, mode: observe, assert: 'false'}", "{assert: c.cap.pay.count_successful < 1}"];
    let engine = engine(&steps);
    let mut task = begin(&engine);
    let first = before(&mut task, json!({"amount": 5}));
    let waits = before(&mut task, json!({"amount": 5}));
    assert_eq!(waits.verdict.kind(), VerdictKind::Wait);
    assert_eq!(line(&waits).get("observed"), None);
    let paid = CallResult::successful(json!({}).into());
    let told = task.after(&first.call.unwrap(), paid, NOW).unwrap().outcome().into_decision();
    let second = &line(&told)["decided"][0];
    assert_eq!(
        (&second["verdict"], &second["observed"][0]["policy"]["id"]),
        (&json!("block"), &json!("cap"))
    );
}

#[test]
fn what_steps_have_set_outlives_a_restart() {
    let engine = engine(&[
        "{id: lead, assert: review('lead')}",
        "{id: cap, set: {amount: 'input.amount > 100 ? 100 : input.amount'}}",
        "{id: tried, mode: observe, set: {amount: '5'}}",
        "{id: seen, mode: observe, assert: input.amount == 5}",
    ]);
    let mut task = begin(&engine);
    let Outcome::Waits(waiting) = task.before(&refund(json!({"amount": 500})), NOW).unwrap().outcome() else {
        panic!("a review is asked")
    };
    let review = task.reviews().next().unwrap();
    assert_eq!(review.arguments.unwrap(), json!({"amount": 100, "card": "c-1"}).into());
    let saved = serde_json::to_string(&task.save()).unwrap();
    let mut task = engine.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    let told = task.answer(waiting.question, Answer::approve(), NOW).unwrap().outcome().into_decision();
    assert_eq!(told.verdict.into_value().unwrap(), json!({"amount": 100, "card": "c-1"}).into());
    let set: Vec<_> = told.trace.iter().map(|entry| json!(entry.set)).collect();
    assert_eq!(set, [json!(["amount"]), json!([])]);
    assert_eq!(json!(told.observed[0].set), json!(["amount"]));
    assert_eq!(told.observed[1].outcome, StepOutcome::Pass);
    // what the call runs with is on record
    let call = told.call.unwrap();
    let taken = task.after(&call, CallResult::successful(json!({}).into()), NOW).unwrap().outcome();
    assert!(taken.is_allowed());
    let record = task.context().invocations().next().unwrap();
    assert_eq!(record.input, json!({"amount": 100, "card": "c-1"}).into());
}

#[test]
fn arguments_that_the_task_has_no_room_for_are_not_set() {
    let steps = format!("      - {{id: more, set: {{card: \"'{}'\"}}}}\n", "x".repeat(3_000));
    let limits = celador::EngineLimits { max_task_bytes: 2_000, ..Default::default() };
    let source = Source::new("shop.yaml", &*format!("{AGENT}{steps}"));
    let (catalog, _) = Catalog::parse(&[File { source, origin: FileOrigin::Named }], &limits);
    let engine = Engine::from_catalog(&catalog, limits).0;
    let decision = before(&mut begin(&engine), json!({}));
    assert_eq!(decision.verdict.kind(), VerdictKind::Block);
    assert_eq!(decision.findings[0].code, "limit_exceeded");
}

#[test]
fn terms_are_told_as_long_as_the_call_is_open() {
    let engine = engine(&[
        "{delay: 30s}",
        "{obligations: [{id: tell-risk, values: {card: input.card, amount: input.amount}}]}",
        "{credential: {audience: \"'pay-' + string(input.amount)\", scopes: [\"'refund'\"]}}",
    ]);
    let mut task = begin(&engine);
    let decision = before(&mut task, json!({"card": "HUSH"}));
    let terms = decision.verdict.terms().cloned().unwrap();
    assert_eq!(json!(terms.obligations[0].values), json!({"card": "HUSH", "amount": 5}));
    // who lost the answer asks again, after a restart too
    let call = decision.call.clone().unwrap();
    let saved = serde_json::to_string(&task.save()).unwrap();
    let mut task = engine.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    assert_eq!(task.standing(&call).unwrap().verdict.terms(), Some(&terms));
    // who has the engine ask for the call to be carried out gets them there
    let progress = task.execute(&call, NOW).unwrap().into_progress();
    let celador::Progress::Asks(question) = progress else { panic!("the host carries it out") };
    let celador::Request::Invoke(invocation) = &question.request else { panic!("it is a call") };
    assert_eq!(invocation.terms.as_deref(), Some(&terms));
    let paid = Answer::Result(CallResult::successful(json!({}).into()));
    let told = task.answer(question.id, paid, NOW).unwrap().outcome().into_decision();
    assert_eq!(told.verdict.kind(), VerdictKind::Allow);
    // views and logs show no secret
    let text = serde_json::to_string(&decision).unwrap();
    let log = line(&decision);
    assert_eq!(log["terms"], json!({"delay_ms": 30_000, "obligations": ["tell-risk"], "credentials": 1}));
    let masked = serde_json::to_string(&decision.masked()).unwrap();
    for shown in [masked, Decision::masked_json(text).unwrap(), log.to_string()] {
        assert!(!shown.contains("HUSH") && shown.contains("tell-risk"), "{shown}");
    }
}

#[test]
fn max_terms_bytes() {
    let text = |length: usize| {
        format!("{{obligations: [{{id: a, values: {{text: \"'{}'\"}}}}]}}", "x".repeat(length))
    };
    let verdict = |length: usize| before(&mut begin(&engine(&[&text(length)])), json!({})).verdict.kind();
    assert_eq!((verdict(30_000), verdict(32_000)), (VerdictKind::Allow, VerdictKind::Allow));
    let twice = engine(&[&text(30_000), &text(30_000), &text(30_000)]);
    let decision = before(&mut begin(&twice), json!({}));
    assert_eq!(
        (decision.verdict.kind(), &*decision.findings[0].code),
        (VerdictKind::Block, "limit_exceeded")
    );
}

#[test]
fn max_delay_ms() {
    let load = |delay: &str| Engine::parse("shop.yaml", &format!("{AGENT}    - {{delay: {delay}}}\n"));
    assert!(load("1h").is_ok());
    assert!(load("60m0.001s").unwrap_err().to_string().contains("`max_delay_ms` 3600000"));
}
