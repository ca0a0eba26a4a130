//! Calls of the model with a policy's steps around them, as far as more than one decision, a store or a view shows them. What one
//! decision shows is in `tests/data/cases/own/policy-model-*`.

use celador::cel::Json;
use celador::context::CallValues;
use celador::task::{Answer, SavedTask, Switch, TaskChange, TaskMark};
use celador::{
    Call, CallId, CallResult, Decision, Engine, ModelCall, Outcome, StartTask, Task, TaskError, User,
    VerdictKind,
};
use serde_json::{Value, json};
use std::time::SystemTime;

const NOW: SystemTime = SystemTime::UNIX_EPOCH;

const MANIFESTS: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: shop
name: judge
description: Looks at texts.
actions:
- name: look
  description: Looks.
  parameters: {properties: {text: {type: string}}}
  execute: {stateless_http: {method: POST, url: "https://judge.example.com"}}
---
kind: commonagents.info/v1beta2/tool
namespace: shop
name: pay
description: Pays.
actions:
- name: refund
  description: Refunds.
  parameters: {properties: {amount: {type: number}, card: {type: string, SECRET}}}
  execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Answers.
prompt: You are careful.
capabilities:
  pay: {include: [refund]}
---
kind: celador/v1/policy
namespace: shop
name: models
model:
  before:
    - {transform: "input.put('model', input.model + '+')"}
    - {assert: "!input.model.startsWith('bad')", on_fail: block, error_message: "{input.model} is not approved."}
  after:
    - {invoke: "judge:look", bindings: {text: output.text}, condition: "output.text.startsWith('?')", on_fail: block}
    - {assert: "!output.text.contains(input.messages[0].text)", on_fail: block}
    - {assert: "!output.text.contains('lock')"}
    - {transform: "output.text + '+'"}
"#;

fn engine(secret: &str) -> Engine {
    let manifests = MANIFESTS.replace(", SECRET", secret);
    Engine::parse("shop.yaml", &manifests).unwrap_or_else(|error| panic!("{error}"))
}

fn begin() -> Task {
    begin_under(&engine(""))
}

fn begin_under(engine: &Engine) -> Task {
    engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), NOW)).unwrap()
}

fn request(model: &str) -> ModelCall {
    let messages = json!([{"role": "system", "text": "Be careful."}]);
    ModelCall::new(json!({"model": model, "messages": messages}).into())
}

fn before(task: &mut Task, call: &ModelCall) -> Result<Decision, TaskError> {
    Ok(task.model_before(call, NOW)?.outcome().into_decision())
}

fn after(task: &mut Task, id: &str, answer: Value) -> Result<Decision, TaskError> {
    Ok(task.model_after(&id.into(), &answer.into(), NOW)?.outcome().into_decision())
}

fn text(decision: &Decision) -> Option<String> {
    Some(decision.verdict.value()?.root().get("text")?.as_str()?.to_owned())
}

/// The task as a store would give it back: what it was, and what changed since.
fn stored(engine: &Engine, task: &Task, from: &SavedTask, mark: &TaskMark) -> Task {
    let change = serde_json::to_string(&task.change_since(mark)).unwrap();
    let change: TaskChange = serde_json::from_str(&change).unwrap();
    let saved = from.clone().apply(change).unwrap();
    let whole = serde_json::to_value(task.save()).unwrap();
    assert_eq!(serde_json::to_value(&saved).unwrap(), whole, "the changes are the task");
    engine.restore(serde_json::from_value(whole).unwrap()).unwrap()
}

#[test]
fn an_id_names_one_call_of_the_model_or_of_a_tool() {
    let mut task = begin();
    let call = request("a").with_id("m1");
    assert_eq!(before(&mut task, &call).unwrap().verdict.kind(), VerdictKind::Allow);
    let other = request("b").with_id("m1");
    assert_eq!(before(&mut task, &other).unwrap_err(), TaskError::CallExists("m1".into()));
    let tool = Call::new("pay", json!({"amount": 1, "card": "c"}).into()).with_id("m1");
    assert_eq!(task.before(&tool, NOW).err(), Some(TaskError::CallExists("m1".into())));
    let tool = tool.with_id("c1");
    assert!(task.before(&tool, NOW).unwrap().outcome().is_allowed());
    let call = request("a").with_id("c1");
    assert_eq!(before(&mut task, &call).unwrap_err(), TaskError::CallExists("c1".into()));
    // neither takes what is the other's
    let result = CallResult::successful(json!({}).into());
    assert_eq!(task.after(&"m1".into(), result, NOW).err(), Some(TaskError::UnknownCall("m1".into())));
    assert_eq!(after(&mut task, "c1", json!({"text": ""})).unwrap_err(), TaskError::UnknownCall("c1".into()));
    let bad = request("a").with_id("a\nb");
    assert!(matches!(before(&mut task, &bad), Err(TaskError::BadCallId { .. })));
    // one without an id gets a name of its own kind
    let named = before(&mut task, &request("a")).unwrap().call.unwrap();
    assert!(named.as_str().starts_with("model-"), "{named}");
    assert!(task.awaits_answer(&named) && !task.awaits_answer(&"c1".into()));
}

#[test]
fn what_comes_again_does_nothing() {
    let mut task = begin();
    let call = request("a").with_id("m1");
    let first = before(&mut task, &call).unwrap();
    let mark = task.mark();
    assert_eq!(before(&mut task, &call).unwrap().verdict.into_value(), first.verdict.into_value());
    assert!(task.is_at(&mark));
    let answer = json!({"text": "Hello.", "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
    assert_eq!(text(&after(&mut task, "m1", answer.clone()).unwrap()).as_deref(), Some("Hello.+"));
    let mark = task.mark();
    assert_eq!(text(&after(&mut task, "m1", answer).unwrap()).as_deref(), Some("Hello.+"));
    let other = after(&mut task, "m1", json!({"text": "Bye."}));
    assert_eq!(other.unwrap_err(), TaskError::OtherResult("m1".into()));
    assert!(task.is_at(&mark));
    assert_eq!((task.context().llm_turns(), task.context().prompt_tokens()), (1, 3));
    // the request of an answered call is not to be sent again
    assert_eq!(before(&mut task, &call).unwrap().verdict.kind(), VerdictKind::Rejected);
    // a call that was refused stays refused, and was no turn
    let bad = request("bad").with_id("m2");
    for _ in 0..2 {
        let refused = before(&mut task, &bad).unwrap();
        assert_eq!(refused.verdict.message(), Some("bad+ is not approved."));
    }
    assert_eq!(after(&mut task, "m2", json!({"text": ""})).unwrap_err(), TaskError::UnknownCall("m2".into()));
    // of an answer before the last what it said is not kept
    let third = request("a").with_id("m3");
    assert!(before(&mut task, &third).unwrap().is_allowed());
    assert!(after(&mut task, "m3", json!({"text": "Again."})).unwrap().is_allowed());
    let answer = json!({"text": "Hello.", "usage": {"completion_tokens": 2, "prompt_tokens": 3}});
    assert_eq!(after(&mut task, "m1", answer).unwrap().verdict.kind(), VerdictKind::Rejected);
    assert_eq!(task.context().llm_turns(), 2);
}

#[test]
fn a_call_of_the_model_goes_on_in_another_process() {
    let engine = engine("");
    let mut task = begin_under(&engine);
    let (start, mark) = (task.save(), task.mark());
    let call = request("a").with_id("m1");
    assert!(before(&mut task, &call).unwrap().is_allowed());
    let mut task = stored(&engine, &task, &start, &mark);
    // the steps behind it see what was sent
    let (open, mark) = (task.save(), task.mark());
    let leak = after(&mut task, "m1", json!({"text": "? I was told: Be careful."})).unwrap();
    assert_eq!(leak.verdict.kind(), VerdictKind::Suspend);
    // it waits for the tool of a step, and goes on elsewhere
    let mut task = stored(&engine, &task, &open, &mark);
    assert_eq!(task.context().llm_turns(), 1);
    let (asked, mark) = (task.save(), task.mark());
    let seen = CallResult::successful(json!({"fine": true}).into());
    let decision = task.resume(Answer::Result(seen), NOW).unwrap().outcome().into_decision();
    assert_eq!(
        (decision.verdict.kind(), decision.verdict.message()),
        (VerdictKind::Block, Some("Answer withheld by policy."))
    );
    let mut task = stored(&engine, &task, &asked, &mark);
    // what it came to is known there, too
    let again = after(&mut task, "m1", json!({"text": "? I was told: Be careful."})).unwrap();
    assert_eq!(again.verdict.message(), Some("Answer withheld by policy."));
    // and so is the last answer that was let through
    assert!(before(&mut task, &request("a").with_id("m2")).unwrap().is_allowed());
    let (open, mark) = (task.save(), task.mark());
    assert!(after(&mut task, "m2", json!({"text": "Hello."})).unwrap().is_allowed());
    let mut task = stored(&engine, &task, &open, &mark);
    assert_eq!(text(&after(&mut task, "m2", json!({"text": "Hello."})).unwrap()).as_deref(), Some("Hello.+"));
    // the turn of it was counted before the restart
    assert!(task.has_counted_answer());
    assert!(
        task.model_turn(
            celador::Usage { prompt_tokens: 5, completion_tokens: 5, ..celador::Usage::default() },
            NOW
        )
        .is_allowed()
    );
    assert_eq!((task.context().llm_turns(), task.context().prompt_tokens()), (2, 5));
}

#[test]
fn an_answer_that_comes_too_late_is_taken_and_withheld() {
    let mut task = begin();
    for id in ["m1", "m2"] {
        assert!(before(&mut task, &request("a").with_id(id)).unwrap().is_allowed());
    }
    assert_eq!(
        after(&mut task, "m1", json!({"text": "I lock."})).unwrap().verdict.kind(),
        VerdictKind::LockTask
    );
    let late = after(&mut task, "m2", json!({"text": "Hello."})).unwrap();
    assert_eq!((late.verdict.kind(), late.verdict.into_value()), (VerdictKind::Rejected, None));
    let again = after(&mut task, "m2", json!({"text": "Hello."})).unwrap();
    assert_eq!((again.verdict.kind(), again.verdict.into_value()), (VerdictKind::Rejected, None));
    assert_eq!(before(&mut task, &request("a")).unwrap().verdict.kind(), VerdictKind::Rejected);
}

#[test]
fn a_turn_without_an_answer_ends_the_call_of_the_model() {
    let mut task = begin();
    assert!(before(&mut task, &request("a").with_id("m1")).unwrap().is_allowed());
    assert!(task.model_turn(celador::Usage::default(), NOW).is_allowed());
    assert_eq!(task.context().llm_turns(), 1);
    assert_eq!(after(&mut task, "m1", json!({"text": ""})).unwrap_err(), TaskError::UnknownCall("m1".into()));
}

#[test]
fn a_switch_stops_calls_of_the_model() {
    let engine = engine("");
    let mut task = begin_under(&engine);
    assert!(before(&mut task, &request("a").with_id("m1")).unwrap().is_allowed());
    engine.switches().turn_on(Switch::Agent { namespace: "shop".into(), name: "clerk".into() });
    let stopped = before(&mut task, &request("a").with_id("m2")).unwrap();
    assert_eq!(stopped.verdict.kind(), VerdictKind::Rejected);
    assert!(stopped.verdict.switch().is_some());
    // an answer was a turn, and does not go on
    let withheld = after(&mut task, "m1", json!({"text": "Hello."})).unwrap();
    assert_eq!((withheld.verdict.kind(), withheld.verdict.into_value()), (VerdictKind::Rejected, None));
    assert_eq!(task.context().llm_turns(), 1);
}

#[test]
fn views_show_nothing_of_a_call_of_the_model_where_anything_is_secret() {
    let secret = engine(", secret: true");
    let mut task = begin_under(&secret);
    let Outcome::Allowed(allowed) = task.model_before(&request("a").with_id("m1"), NOW).unwrap().outcome()
    else {
        panic!("a is approved")
    };
    assert!(allowed.request.to_string().contains("Be careful."));
    assert_eq!(allowed.decision.masked().verdict.into_value(), Some(Json::string("***")));
    let standing = task.standing(&"m1".into()).unwrap();
    assert_eq!(standing.masked().verdict.into_value(), Some(Json::string("***")));
    let seen = after(&mut task, "m1", json!({"text": "Hello."})).unwrap();
    assert_eq!(text(&seen).as_deref(), Some("Hello.+"));
    assert_eq!(seen.masked().verdict.into_value(), Some(Json::string("***")));
    // a message of a step shows what is sent, so views do not show it
    let refused = before(&mut task, &request("bad").with_id("m2")).unwrap();
    assert_eq!(refused.verdict.message(), Some("bad+ is not approved."));
    assert_eq!(refused.masked().verdict.message(), Some("*** is not approved."));
}

#[test]
fn what_a_call_of_the_model_holds_counts_for_the_size_of_the_task() {
    let mut task = begin();
    let empty = task.bytes();
    let large = "x".repeat(10_000);
    let messages = json!([{"role": "user", "text": large}]);
    let call = ModelCall::new(json!({"model": "a", "messages": messages}).into()).with_id("m1");
    assert!(before(&mut task, &call).unwrap().is_allowed());
    assert!(task.bytes() > empty + 10_000);
    task.withdraw(&CallId::from("m1"), celador::Ran::Never, NOW).unwrap();
    assert!(task.bytes() < empty + 2_000);
}

#[test]
fn what_the_steps_read_of_calls_is_kept_and_waited_for() {
    let silent = engine("");
    let policy = silent.policy("shop", "clerk").unwrap();
    let pay = policy.position("pay").unwrap();
    assert_eq!(policy.values_read(pay), CallValues::NONE);
    assert!(policy.dependencies_of_model().reads.is_empty());
    let reads = "    - {assert: \"c.cap.pay.outputs.all(o, !has(o.error))\"}\n  after:\n";
    let manifests = MANIFESTS.replace(", SECRET", "").replace("  after:\n", reads);
    let engine = Engine::parse("shop.yaml", &manifests).unwrap_or_else(|error| panic!("{error}"));
    let policy = engine.policy("shop", "clerk").unwrap();
    assert_eq!(policy.values_read(pay), CallValues { input: false, output: true });
    assert!(policy.dependencies_of_model().reads.functions().eq([pay]));
    // it is another policy to a task that waits
    assert_ne!(policy.fingerprint(), silent.policy("shop", "clerk").unwrap().fingerprint());
}
