//! `celador explain TASK --store STORE`: the same as over HTTP, out of the store that a server works on.

use crate::serving::Serving;
use celador_store::{Database, Location, StoreLimits};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn shop() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/coverage/shop.yaml")
}

/// The command on a task: its exit code and all that it said.
fn explain(store: &Path, task: &str, more: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
    command.args(["explain", task, "--store"]).arg(store).args(more);
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    (output.status.code(), text)
}

#[test]
fn a_stored_task_is_explained_as_over_http() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("celador.db");
    let database = Database::open(&Location::File(file.clone()), &StoreLimits::default()).unwrap();
    let serving = Serving::over(database, |settings, _| settings.policies = vec![shop()]);
    let begin = json!({ "namespace": "shop", "agent": "clerk", "user": { "id": "u-7" } });
    let id = serving.post("/v1/tasks", &begin).json()["task"].as_str().unwrap().to_owned();
    let step = |what: &str, body: Value| serving.post(&format!("/v1/tasks/{id}/{what}"), &body).json();
    let pay = json!({ "function": "refund_pay", "arguments": { "amount": 1_500, "pin": "4711" } });
    let blocked = step("before", pay.clone());
    step("before", json!({ "id": "c1", "function": "orders", "arguments": { "id": "o-1" } }));
    step("after", json!({ "call": "c1", "result": { "status": "successful", "output": { "total": 5000 } } }));
    let again = step("before", pay);

    // all that can be explained, event by event, with the members that the server answers
    let (code, text) = explain(&file, &id, &["--format", "json"]);
    assert_eq!(code, Some(0), "{text}");
    let told: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told.len(), 3, "{text}");
    for (mut told, operation) in
        told.into_iter().zip(["before refund_pay", "before orders", "before refund_pay"])
    {
        let members = told.as_object_mut().unwrap();
        assert_eq!(members.remove("type"), Some(json!("explanation")));
        assert_eq!(members.remove("operation"), Some(json!(operation)));
        let version = members.remove("version").unwrap();
        let body = serving.post(&format!("/v1/tasks/{id}/explain"), &json!({ "version": version })).json();
        assert_eq!(told, body);
    }

    // for a person: the first decision, although the task has gone on, and one of a later event by its number
    let (code, text) = explain(&file, &id, &[]);
    assert_eq!(code, Some(0), "{text}");
    let number = blocked["version"].as_u64().unwrap();
    let begins = format!("{number}. before refund_pay  block  Look at the order first.");
    assert!(text.starts_with(&begins), "{text}");
    assert!(text.contains("would pass  orders must have succeeded"), "{text}");
    assert!(!text.contains("4711"), "a secret is not shown: {text}");
    assert!(text.contains("1 event(s) do not tell what their operation was about"), "{text}");
    let number = again["version"].to_string();
    let (code, text) = explain(&file, &id, &["--step", &number]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("would pass  amount at most 1000") && !text.contains("orders must"), "{text}");
    let (code, named) = explain(&file, &id, &["--step", "before[1]"]);
    assert_eq!((code, named.matches("before[1]").count()), (Some(0), 2), "{named}");

    // under rules of today that decide otherwise, that is said
    let lenient = folder.path().join("lenient.yaml");
    let text =
        std::fs::read_to_string(shop()).unwrap().replace("input.amount <= 1000", "input.amount <= 9000");
    std::fs::write(&lenient, text).unwrap();
    let arguments = ["--step", &*number, "--manifests", lenient.to_str().unwrap()];
    let (code, text) = explain(&file, &id, &arguments);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("it was decided as `block` then"), "{text}");

    for (task, more, why) in [
        (&*id, &["--step", "99"][..], "there is no step `99`"),
        (&*id, &["--step", "1"][..], "there is no step `1`"),
        (&*id, &["--step", "before[7]"][..], "there is no step `before[7]`"),
        (&*id, &["--owner", "kim"][..], "there is no such thing"),
        ("nothing", &[][..], "there is no such thing"),
    ] {
        let (code, text) = explain(&file, task, more);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains(why), "{text}");
    }
    let (code, text) = explain(&folder.path().join("nowhere.db"), &id, &[]);
    assert_eq!(code, Some(1), "{text}");
}
