//! Functions of a host in expressions of policies: registered, absent, registered otherwise, failing, and paid for.

use celador::cel::{CallCost, HostFunctionSet, Signature, Type, Value};
use celador::limits::EvalLimits;
use celador::{Call, Decision, Engine, EngineLimits, OpenError, StartTask, User, Verdict};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

const SHOP: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: shop
name: refund
description: Pays money back.
actions:
  - name: pay
    description: Pays.
    parameters: {properties: {amount: {type: number}}}
    execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Answers customers.
prompt: You are a careful clerk.
capabilities: {refund: "*"}
---
kind: celador/v1/policy
namespace: shop
name: risk
functions:
  risk.score: {parameters: [amount: double], result: double, cost: {call: 50, size: 2}}
capabilities:
  refund:
    before:
      - id: low
        assert: risk.score(input.amount) < 5.0
        error_message: That is too risky.
"#;

const COST: CallCost = CallCost { call: 50, size: 2 };

fn open(functions: HostFunctionSet, limits: EngineLimits) -> Result<Engine, Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.yaml");
    std::fs::write(&path, SHOP).unwrap();
    Engine::open_with(&[path], limits, functions).map_err(|error| match error {
        OpenError::Refused(findings) => {
            findings.iter().map(|finding| format!("{}: {}", finding.code, finding.message)).collect()
        }
        error => panic!("{error}"),
    })
}

fn score(signature: Signature, gives: fn(f64) -> Value<'static>) -> HostFunctionSet {
    let mut functions = HostFunctionSet::default();
    functions.register(signature, move |arguments| match arguments {
        [Value::Double(amount)] => Ok(gives(*amount)),
        _ => Err("it takes one number".into()),
    });
    functions
}

fn declared() -> Signature {
    Signature::new("risk.score", [Type::Double], Type::Double).costing(COST)
}

fn decide(engine: &Engine, amount: serde_json::Value) -> Decision {
    let now = SystemTime::UNIX_EPOCH;
    let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now)).unwrap();
    let call = Call::new("refund", json!({ "amount": amount }).into());
    task.before(&call, now).unwrap().outcome().into_decision()
}

#[test]
fn a_policy_loads_only_where_its_functions_are() {
    let found = |functions| open(functions, EngineLimits::default()).map(|_| ()).unwrap_err();
    assert_eq!(
        found(HostFunctionSet::default()),
        ["unregistered_function: this host has registered no function `risk.score`"]
    );
    let other = |signature: Signature| found(score(signature, Value::Double));
    let otherwise = |signature: &str| {
        vec![format!(
            "other_signature: the host has registered `{signature} for each unit of size`, \
             and the policy declares `risk.score(double) -> double at 50 + 2 for each unit of size`"
        )]
    };
    let text = Signature::new("risk.score", [Type::String], Type::Double).costing(COST);
    assert_eq!(other(text), otherwise("risk.score(string) -> double at 50 + 2"));
    let truth = Signature::new("risk.score", [Type::Double], Type::Bool).costing(COST);
    assert_eq!(other(truth), otherwise("risk.score(double) -> bool at 50 + 2"));
    let cheap = Signature::new("risk.score", [Type::Double], Type::Double);
    assert_eq!(other(cheap), otherwise("risk.score(double) -> double at 1 + 0"));
    assert!(open(score(declared(), Value::Double), EngineLimits::default()).is_ok());
    // one that is registered without a signature takes the declared one
    let mut untyped = HostFunctionSet::default();
    untyped.register_json("risk.score", EvalLimits::default(), |_| Ok(json!(1).into()));
    assert!(open(untyped, EngineLimits::default()).is_ok());
    // the constructors of an engine without functions refuse the policy as well
    assert!(Engine::parse("shop.yaml", SHOP).is_err());
}

#[test]
fn what_the_function_gives_decides() {
    let engine = open(score(declared(), |amount| Value::Double(amount / 100.0)), EngineLimits::default());
    let engine = engine.unwrap();
    assert_eq!(decide(&engine, json!(200)).verdict, Verdict::Allow);
    assert_eq!(decide(&engine, json!(499.5)).verdict, Verdict::Allow);
    let blocked = decide(&engine, json!(900));
    assert_eq!((blocked.verdict, blocked.message.as_deref()), (Verdict::Block, Some("That is too risky.")));
    assert!(blocked.findings.is_empty());
}

#[test]
fn an_error_a_panic_and_another_type_fail_the_step_and_show_nothing() {
    let failing: [fn(f64) -> Value<'static>; 3] = [
        |_| panic!("amount 4711"),
        |_| Value::owned_text("4711"),
        |amount| if amount > 0.0 { Value::Null } else { Value::Double(1.0) },
    ];
    for gives in failing {
        let engine = open(score(declared(), gives), EngineLimits::default()).unwrap();
        let decision = decide(&engine, json!(4711));
        assert_eq!(decision.verdict, Verdict::Block);
        assert_eq!(decision.findings.len(), 1);
        assert_eq!(decision.findings[0].code, "host_failed");
        assert!(!format!("{:?}", decision.findings).contains("4711"));
    }
    let mut functions = HostFunctionSet::default();
    functions.register(declared(), |_| Err("amount 4711".into()));
    let decision = decide(&open(functions, EngineLimits::default()).unwrap(), json!(4711));
    assert_eq!((decision.verdict, &*decision.findings[0].code), (Verdict::Block, "host_failed"));
}

#[test]
fn a_call_costs_what_is_declared_and_is_not_made_beyond_the_budget() {
    let cheap = open(score(declared(), Value::Double), EngineLimits::default()).unwrap();
    let cost = decide(&cheap, json!(1)).cost;
    assert!(cost >= 50, "{cost}");
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let mut functions = HostFunctionSet::default();
    functions.register(declared(), move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(Value::Double(1.0))
    });
    let mut limits = EngineLimits::default();
    limits.eval.max_cost = 49;
    let decision = decide(&open(functions, limits).unwrap(), json!(1));
    assert_eq!((decision.verdict, &*decision.findings[0].code), (Verdict::Block, "budget_exceeded"));
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

#[test]
fn a_task_that_is_restored_asks_the_functions_of_its_engine() {
    let engine = open(score(declared(), |amount| Value::Double(amount / 100.0)), EngineLimits::default());
    let engine = engine.unwrap();
    let now = SystemTime::UNIX_EPOCH;
    let task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now)).unwrap();
    let mut task = engine.restore(task.save()).unwrap();
    let call = Call::new("refund", json!({ "amount": 900 }).into());
    let decision = task.before(&call, now).unwrap().outcome().into_decision();
    assert_eq!((decision.verdict, decision.findings.len()), (Verdict::Block, 0));
}
