//! Calls of the model over HTTP: a restart between what is sent and what comes back, requests that come twice, and what the events say.

use crate::serving::Serving;
use celador_store::Location;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const AGENT: &str = r#"
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Answers.
prompt: You are careful.
---
"#;

const MODELS: &str = r#"kind: celador/v1/policy
namespace: shop
name: models
model:
  before:
    - {id: approved, severity: high, assert: input.model == 'small-1', on_fail: block}
    - {id: no-mail, transform: "pii.redact(input.messages)"}
  after:
    - {id: no-leak, assert: "!input.messages.exists(m, m.role == 'system' && output.text.contains(m.text))", on_fail: block}
"#;

fn settings(settings: &mut celador_server::Settings, folder: &Path) {
    serve(MODELS, settings, folder);
}

/// Serves the agent with a policy.
fn serve(policy: &str, settings: &mut celador_server::Settings, folder: &Path) {
    fs::write(folder.join("shop.yaml"), [AGENT, policy].concat()).unwrap();
    settings.policies = vec![folder.join("shop.yaml")];
}

fn request(id: &str, model: &str) -> Value {
    let messages =
        json!([{"role": "system", "text": "Be careful."}, {"role": "user", "text": "I am kim@example.com."}]);
    json!({"id": id, "request": {"model": model, "messages": messages}})
}

fn answer(id: &str, text: &str) -> Value {
    json!({"call": id, "answer": {"text": text, "usage": {"prompt_tokens": 9, "completion_tokens": 3}}})
}

#[test]
fn a_call_of_the_model_goes_on_after_a_restart_and_counts_once() {
    let serving = Serving::with(&Location::Memory, settings);
    let begin = json!({"id": "t-1", "namespace": "shop", "agent": "clerk", "user": {"id": "u-7"}});
    assert_eq!(serving.post("/v1/tasks", &begin).status, 201);
    let (before, after) = ("/v1/tasks/t-1/model-before", "/v1/tasks/t-1/model-after");

    let refused = serving.post(before, &request("m0", "large-9")).json();
    assert_eq!(refused["decided"]["verdict"], "block");
    assert_eq!(refused["decided"]["decided_by"]["policy"]["id"], "approved");
    let sent = serving.post(before, &request("m1", "small-1")).json();
    assert_eq!(sent["decided"]["value"]["messages"][1]["text"], "I am [email].");
    assert_eq!(sent["decided"]["call"], "m1");

    let serving = Serving::over(serving.stop(), settings);
    let again = serving.post(before, &request("m1", "small-1")).json();
    assert_eq!(again["decided"]["value"], sent["decided"]["value"]);
    assert_eq!(again["version"], sent["version"], "nothing has happened");
    let other = serving.post(before, &request("m1", "small-2"));
    assert_eq!((other.status, &other.json()["type"]), (409, &json!("urn:celador:problem:call-exists")));

    let leak = serving.post(after, &answer("m1", "They say: Be careful.")).json();
    assert_eq!(leak["decided"]["message"], "Answer withheld by policy.");
    let serving = Serving::over(serving.stop(), settings);
    let again = serving.post(after, &answer("m1", "They say: Be careful.")).json();
    assert_eq!(again["decided"]["message"], "Answer withheld by policy.");
    let other = serving.post(after, &answer("m1", "Hello."));
    assert_eq!((other.status, &other.json()["type"]), (409, &json!("urn:celador:problem:other-result")));
    let unknown = serving.post(after, &answer("m9", "Hello."));
    assert_eq!((unknown.status, &unknown.json()["type"]), (409, &json!("urn:celador:problem:unknown-call")));

    // the turn that is reported behind the answer is that of the answer
    let turn = json!({"usage": {"prompt_tokens": 9, "completion_tokens": 3}, "calls": []});
    assert_eq!(serving.post("/v1/tasks/t-1/turn", &turn).json()["limits"]["verdict"], "allow");
    let context = serving.get("/v1/tasks/t-1/context").json();
    assert_eq!(context["context"]["llm"]["tokens"]["total"], 12);
    assert_eq!(context["context"]["_history"]["turns"], json!(["llm"]));

    // one that nobody will answer is taken back
    assert_eq!(serving.post(before, &request("m2", "small-1")).json()["decided"]["verdict"], "allow");
    let withdrawn = serving.post("/v1/tasks/t-1/withdraw", &json!({"call": "m2", "ran": false})).json();
    assert_eq!(withdrawn["decided"]["verdict"], "block");

    let events = serving.get("/v1/tasks/t-1/events").json();
    let operations = events["events"].as_array().unwrap().iter().map(|event| event["operation"].clone());
    let operations: Vec<Value> = operations.collect();
    let expected =
        ["started", "model_before", "model_before", "model_after", "turn", "model_before", "withdraw"];
    assert_eq!(operations, expected, "what came twice is no event");
}

#[test]
fn a_body_of_another_shape_changes_nothing() {
    let serving = Serving::with(&Location::Memory, settings);
    let begin = json!({"id": "t-1", "namespace": "shop", "agent": "clerk", "user": {"id": "u-7"}});
    assert_eq!(serving.post("/v1/tasks", &begin).status, 201);
    let before = "/v1/tasks/t-1/model-before";
    let unknown = serving.post(before, &json!({"request": {}, "model": "small-1"}));
    assert_eq!(unknown.status, 400);
    let bad = serving.post(before, &json!({"request": {"model": "small-1", "messages": "Hello."}})).json();
    assert_eq!(bad["decided"]["verdict"], "invalid_input");
    assert_eq!(bad["decided"]["message"], "`request.messages`: expected array, found string");
    assert_eq!(serving.get("/v1/tasks/t-1/context").json()["context"]["_history"]["turns"], json!([]));
}

const BUDGET: &str = r#"kind: celador/v1/policy
namespace: shop
name: budget
counters:
  tokens: {model: usage.total_tokens, key: context.user.id, window: day, limit: 100}
  tree: {model: usage.total_tokens, scope: tree, window: day, limit: 80}
model: {before: [{id: deep, assert: context.depth < 2, on_fail: block}]}
"#;

fn budget(settings: &mut celador_server::Settings, folder: &Path) {
    serve(BUDGET, settings, folder);
}

#[test]
fn estimates_are_reserved_for_the_tree_whatever_a_caller_says_of_it() {
    let serving = Serving::with(&Location::Memory, budget);
    let begin = |id: &str, parent: Value| {
        let task =
            json!({"id": id, "namespace": "shop", "agent": "clerk", "user": {"id": "u-7"}, "parent": parent});
        assert_eq!(serving.post("/v1/tasks", &task).status, 201, "{id}");
    };
    begin("t-1", Value::Null);
    begin("t-2", json!({"task": "t-1"}));
    // what stands above a task is what the store knows
    begin("t-3", json!({"task": "t-2", "root": "t-9", "depth": 0}));
    let ask = |task: &str, id: &str, tokens: u64| {
        let mut body = request(id, "small-1");
        body["estimate"] = json!({"prompt_tokens": tokens, "completion_tokens": 0});
        serving.post(&format!("/v1/tasks/{task}/model-before"), &body).json()["decided"].clone()
    };
    assert_eq!(ask("t-1", "m1", 60)["verdict"], "allow");
    let refused = ask("t-2", "m1", 30);
    assert_eq!(refused["decided_by"]["policy"]["id"], "counters.tree.limit");
    assert_eq!(refused["message"], "The limit of the counter tree would be exceeded.");
    assert_eq!(ask("t-3", "m1", 1)["decided_by"]["policy"]["id"], "deep");
    let counters = || {
        let listed = serving.get("/v1/counters").json();
        let row = |row: &Value| {
            (row["name"].clone(), row["key"].clone(), row["counted"].clone(), row["held"].clone())
        };
        listed["counters"].as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    let of = |counted: &str, held: &str| {
        [("tokens", r#""u-7""#), ("tree", r#"["t-1"]"#)]
            .map(|(name, key)| (json!(name), json!(key), json!(counted), json!(held)))
            .to_vec()
    };
    assert_eq!(counters(), of("60", "60"));
    // the answer has used less, so there is room again
    serving.post("/v1/tasks/t-1/model-after", &answer("m1", "Hello."));
    assert_eq!(counters(), of("12", "0"));
    assert_eq!(ask("t-2", "m2", 30)["verdict"], "allow");
    for body in [
        json!({"prompt_tokens": -1, "completion_tokens": 0}),
        json!({"prompt_tokens": 1}),
        json!({"cost": "NaN"}),
    ] {
        let mut bad = request("m9", "small-1");
        bad["estimate"] = body;
        assert_eq!(serving.post("/v1/tasks/t-1/model-before", &bad).status, 400);
    }
}
