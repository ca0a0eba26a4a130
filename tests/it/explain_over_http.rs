//! Explanations over HTTP: of decisions that a store has, and of calls that are only tried.

use crate::serving::Serving;
use celador_store::{Database, Location, StoreLimits};
use serde_json::{Value, json};
use std::path::Path;

fn shop() -> Serving {
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    Serving::over(database, |settings, folder| {
        settings.policies = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/coverage/shop.yaml")];
        settings.authentication.tokens = Some(folder.join("tokens.json"));
    })
}

fn pay(amount: u32) -> Value {
    json!({ "function": "refund_pay", "arguments": { "amount": amount, "pin": "4711" } })
}

/// The step of a name in an explanation.
fn step<'e>(explained: &'e Value, name: &str) -> &'e Value {
    explained["steps"].as_array().unwrap().iter().find(|step| step["step"] == name).unwrap()
}

#[test]
fn who_may_read_a_task_is_told_why_it_was_decided() {
    let serving = shop();
    let ann = serving.token("did:web:ann", &["tasks:read", "tasks:write"]);
    let reader = serving.token("did:web:ann", &["tasks:read"]);
    let other = serving.token("did:web:bob", &["tasks:read", "tasks:write"]);
    let begin = json!({ "namespace": "shop", "agent": "clerk", "user": { "id": "u-7" } });
    let id = serving.post_as(&ann, "/v1/tasks", &begin).json()["task"].as_str().unwrap().to_owned();
    let path = format!("/v1/tasks/{id}");
    let blocked = serving.post_as(&ann, &format!("{path}/before"), &pay(1_500)).json();
    assert_eq!(blocked["decided"]["verdict"], "block");
    let version = blocked["version"].as_u64().unwrap();
    let explain = |token: &str, body: Value| serving.post_as(token, &format!("{path}/explain"), &body);

    // nothing was fetched, and the decision of that event is explained although the task has gone on
    let found = explain(&reader, json!({ "version": version })).json();
    assert_eq!((&found["decision"]["verdict"], &found["same"]), (&json!("block"), &json!(true)));
    let first = step(&found, "before[0]");
    assert_eq!(first["outcome"], "fail");
    assert_eq!(first["why_not"][0]["text"], "orders must have succeeded");
    assert_eq!(step(&found, "before[1]")["outcome"], "not_reached");

    let order = json!({ "id": "c1", "function": "orders", "arguments": { "id": "o-1" } });
    assert_eq!(
        serving.post_as(&ann, &format!("{path}/before"), &order).json()["decided"]["verdict"],
        "allow"
    );
    let result = json!({ "call": "c1", "result": { "status": "successful", "output": { "total": 5000 } } });
    let reported = serving.post_as(&ann, &format!("{path}/after"), &result).json();
    assert_eq!(reported["decided"]["verdict"], "allow");
    // a result is no call, though it puts one on record
    assert_eq!(explain(&reader, json!({ "version": reported["version"] })).status, 409);

    // a call that is only tried: nothing of the task changes, and a secret is not shown
    let before = serving.get_as(&reader, &path).json();
    let tried = explain(&reader, pay(1_500)).json();
    assert_eq!(tried["decision"]["verdict"], "block");
    assert_eq!(step(&tried, "before[1]")["why_not"][0]["text"], "amount at most 1000");
    assert_eq!(tried["same"], Value::Null);
    let passes = explain(&reader, pay(50));
    assert_eq!(passes.json()["decision"]["verdict"], "allow");
    assert!(!passes.text().contains("4711"), "{}", passes.text());
    assert_eq!(serving.get_as(&reader, &path).json(), before);

    // the first decision is still explained as it was
    let again = explain(&reader, json!({ "version": version })).json();
    assert_eq!(again["steps"], found["steps"]);

    assert_eq!(explain(&other, json!({ "version": version })).status, 404);
    for (body, status) in [
        (json!({}), 400),
        (json!({ "version": 1 }), 409),
        (json!({ "version": 99 }), 409),
        (json!({ "version": version, "function": "orders" }), 400),
    ] {
        assert_eq!(explain(&reader, body.clone()).status, status, "{body}");
    }
}

const COUNTED: &str = r#"
kind: celador/v1/policy
namespace: shop
name: spending
counters: {spend: {on: pay, key: context.user.id, window: 24h, add: input.amount}}
capabilities: {pay: {before: [{id: day, assert: counters.spend + input.amount <= 100}]}}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Pays.
prompt: You pay.
capabilities: {pay: "*"}
---
kind: celador/v1/tools
namespace: shop
name: pay
tools: [{name: pay, inputSchema: {type: object, properties: {amount: {type: integer}}, required: [amount]}}]
"#;

/// A decision of the past is explained with what its counters held then, and a call that is tried with what they hold now.
#[test]
fn counters_hold_what_they_held_at_the_decision() {
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let serving = Serving::over(database, |settings, folder| {
        std::fs::write(folder.join("shop.yaml"), COUNTED).unwrap();
        settings.policies = vec![folder.join("shop.yaml")];
    });
    let begin = json!({ "namespace": "shop", "agent": "clerk", "user": { "id": "u-7" } });
    let id = serving.post("/v1/tasks", &begin).json()["task"].as_str().unwrap().to_owned();
    let path = format!("/v1/tasks/{id}");
    let pay = |amount: u32| json!({ "function": "pay", "arguments": { "amount": amount } });
    let versions: Vec<u64> = [60, 50, 30]
        .into_iter()
        .map(|amount| {
            serving.post(&format!("{path}/before"), &pay(amount)).json()["version"].as_u64().unwrap()
        })
        .collect();
    let explain = |body: Value| serving.post(&format!("{path}/explain"), &body).json();
    let shown = |explained: &Value| {
        let first = &step(explained, "before[0]")["expressions"][0]["tree"]["parts"][0];
        (explained["decision"]["verdict"].clone(), first["found"].clone())
    };
    for (version, verdict, sum) in
        [(versions[0], "allow", "60"), (versions[1], "block", "110"), (versions[2], "allow", "90")]
    {
        let explained = explain(json!({ "version": version }));
        assert_eq!(shown(&explained), (json!(verdict), json!(sum)), "{explained}");
        assert_eq!(explained["same"], true);
    }
    assert_eq!(shown(&explain(pay(10))), (json!("allow"), json!("100")));
    let too_much = explain(pay(20));
    assert_eq!(shown(&too_much), (json!("block"), json!("110")));
    // to explain reserves nothing
    assert_eq!(shown(&explain(pay(10))), (json!("allow"), json!("100")));
}
