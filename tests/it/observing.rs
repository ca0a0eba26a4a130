//! A server that stops nothing: what its decisions, its log and its figures tell of what it would have stopped.

use crate::serving::Serving;
use celador_store::decision_log::{DecisionLog, LogSettings};
use celador_store::{Database, Location, StoreLimits};
use serde_json::{Value, json};
use std::fs;

fn manifests() -> &'static str {
    r#"
kind: celador/v1/tools
namespace: shop
name: orders
tools:
  - name: refund
    inputSchema: {type: object, properties: {amount: {type: number, maximum: 10000}}, required: [amount]}
  - name: find
    inputSchema: {type: object, properties: {order: {type: string}}}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: desk
description: Answers customers.
prompt: You answer customers of a shop.
limits: {max_turns: 2}
capabilities:
  orders:
    before:
      - {match: refund, assert: input.amount <= 100, error_message: "{input.amount} is too much."}
      - {match: find, assert: review('lead@example.com')}
    after:
      - {match: find, transform: "'hidden'"}
"#
}

/// A server that observes, and the folder of its log.
fn observing(observe: bool) -> (Serving, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let now = crate::serving::NOON.parse().unwrap();
    let log = DecisionLog::open(LogSettings::new(folder.path().join("log")), now).unwrap();
    let policies = folder.path().join("desk.yaml");
    fs::write(&policies, manifests()).unwrap();
    let serving = Serving::over_log(database, log, |settings, _| {
        settings.policies = vec![policies];
        settings.observe = observe;
    });
    (serving, folder)
}

fn begin(serving: &Serving) -> String {
    let body = json!({"id": "t-1", "namespace": "shop", "agent": "desk", "user": {"id": "u-7"}});
    assert_eq!(serving.post("/v1/tasks", &body).status, 201);
    "/v1/tasks/t-1".to_owned()
}

fn turn(serving: &Serving, task: &str, calls: &Value) -> Value {
    let body = json!({"usage": {"prompt_tokens": 1, "completion_tokens": 1}, "calls": calls});
    let reply = serving.post(&format!("{task}/turn"), &body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

/// Everything goes on, and each decision says what would have come of it; the same requests to a server that stops things are stopped.
#[test]
fn nothing_is_stopped_and_everything_is_told() {
    let (serving, folder) = observing(true);
    let task = begin(&serving);
    assert_eq!(serving.get("/v1/manifests").json()["serving"]["observe"], true);
    let calls = json!([
        {"id": "c1", "function": "refund", "arguments": {"amount": 500}},
        {"id": "c2", "function": "find", "arguments": {"order": "o-1"}},
        {"id": "c3", "function": "refund", "arguments": {"amount": "all"}},
        {"id": "c4", "function": "rm", "arguments": {"path": "/"}},
        {"id": "c5", "function": "refund", "arguments": {"amount": 5}},
    ]);
    let told = turn(&serving, &task, &calls);
    let found: Vec<_> = told["calls"].as_array().unwrap().iter().collect();
    let wanted = [
        ("block", "500 is too much."),
        ("suspend", ""),
        ("error", "the call cannot be formed: "),
        ("error", "there is no function `rm`"),
        ("", ""),
    ];
    for ((call, sent), (verdict, message)) in found.iter().zip(calls.as_array().unwrap()).zip(wanted) {
        assert_eq!((&call["verdict"], &call["value"]), (&json!("allow"), &sent["arguments"]), "{call}");
        assert_eq!(call["enforced"]["verdict"].as_str().unwrap_or_default(), verdict, "{call}");
        let said = call["enforced"]["message"].as_str().unwrap_or_default();
        assert!(said.starts_with(message), "{call}");
    }
    assert_eq!(found[1]["enforced"]["reviewer"], "lead@example.com");
    assert_eq!(serving.get("/v1/reviews").json()["reviews"], json!([]));
    // results come back as they are, also that of a function which nobody declared
    for (call, output) in [("c1", json!({"paid": 500})), ("c2", json!("o-1")), ("c4", json!("gone"))] {
        let body = json!({"call": call, "result": {"status": "successful", "output": output}});
        let reply = serving.post(&format!("{task}/after"), &body).json();
        assert_eq!((&reply["decided"]["verdict"], &reply["decided"]["value"]), (&json!("allow"), &output));
    }
    // the call that nobody declared is made once more, and is the same one
    let again = serving.post(&format!("{task}/before"), &calls[3]).json();
    assert_eq!((&again["decided"]["verdict"], &again["decided"]["call"]), (&json!("allow"), &json!("c4")));
    for _ in 0..2 {
        turn(&serving, &task, &json!([]));
    }
    let over = turn(&serving, &task, &json!([]));
    assert_eq!(
        (&over["limits"]["verdict"], &over["limits"]["enforced"]["limit"]["which"]),
        (&json!("allow"), &json!("max_turns"))
    );
    assert_eq!(serving.get(&task).json()["state"], "active", "{}", serving.get(&task).text());
    // the log tells it without a text or a value of the task
    drop(serving.stop());
    let log: String = fs::read_dir(folder.path().join("log"))
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.unwrap().path()).ok())
        .collect();
    for line in [
        r#""enforced":{"verdict":"block","step":"capabilities.orders.before[0].assert"}"#,
        r#""enforced":{"verdict":"suspend","step":"capabilities.orders.before[1].assert"}"#,
        r#""enforced":{"verdict":"error"}"#,
        r#""enforced":{"verdict":"terminate","limit":"max_turns"}"#,
    ] {
        assert!(log.contains(line), "{line} is not in\n{log}");
    }
    assert!(!log.contains("too much"), "{log}");
}

/// The same server without the setting stops the same calls.
#[test]
fn a_server_that_enforces_stops_the_same() {
    let (serving, _folder) = observing(false);
    let task = begin(&serving);
    let calls = json!([
        {"id": "c1", "function": "refund", "arguments": {"amount": 500}},
        {"id": "c3", "function": "refund", "arguments": {"amount": "all"}},
        {"id": "c4", "function": "rm", "arguments": {"path": "/"}},
    ]);
    let told = turn(&serving, &task, &calls);
    let verdicts: Vec<_> =
        told["calls"].as_array().unwrap().iter().map(|call| call["verdict"].clone()).collect();
    assert_eq!(verdicts, [json!("block"), json!("error"), json!("error")]);
    assert!(told["calls"].as_array().unwrap().iter().all(|call| call.get("enforced").is_none()));
}

/// An operator's switch is no rule that is tried out: it stops, whatever is observed.
#[test]
fn a_switch_stops_all_the_same() {
    let (serving, _folder) = observing(true);
    let task = begin(&serving);
    let switch =
        json!({"switch": {"kind": "tool", "namespace": "shop", "name": "orders"}, "reason": "An incident."});
    let reply = serving.post("/v1/switches", &switch);
    assert!(reply.status < 300, "{}", reply.text());
    let body = json!({"id": "c1", "function": "refund", "arguments": {"amount": 5}});
    let reply = serving.post(&format!("{task}/before"), &body).json();
    assert_eq!(reply["decided"]["verdict"], "block", "{reply}");
}
