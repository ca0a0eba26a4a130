//! Ends and beginnings over HTTP that no story can tell: whose tasks an operator unlocks, and what the log says of it; children
//! whose parent ended where no server saw it.

use crate::serving::{SCOPES, Serving};
use celador_store::decision_log::{DecisionLog, LogSettings};
use celador_store::{Database, Ending, Location, Owner, StoreLimits, StoredTasks};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn bank() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/http/served/bank.yaml")
}

fn begin(agent: &str, parent: Option<&str>) -> Value {
    let parent = parent.map(|task| json!({ "task": task }));
    json!({ "namespace": "acme", "agent": agent, "user": { "id": "u-7" }, "parent": parent })
}

fn pay(amount: u32) -> Value {
    json!({ "function": "bank", "arguments": { "amount": amount } })
}

#[test]
fn an_operator_unlocks_the_task_of_another_caller_and_the_log_says_who_and_why() {
    let logs = tempfile::tempdir().unwrap();
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let log =
        DecisionLog::open(LogSettings::new(logs.path()), "2026-06-01T12:00:00Z".parse().unwrap()).unwrap();
    let serving = Serving::over_log(database, log, |settings, folder| {
        settings.policies = vec![bank()];
        settings.allow_unlock = true;
        settings.authentication.tokens = Some(folder.join("tokens.json"));
    });
    let ann = serving
        .token("did:web:ann", &SCOPES.map(|scope| if scope == "tasks:admin" { "tasks:read" } else { scope }));
    let operator = serving.token("did:web:operator", &["tasks:admin"]);
    let id = serving.post_as(&ann, "/v1/tasks", &begin("teller", None)).json()["task"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/v1/tasks/{id}");
    assert_eq!(
        serving.post_as(&ann, &format!("{path}/before"), &pay(5_000)).json()["decided"]["verdict"],
        "lock_task"
    );
    let unlock = |token: &str, owner: Option<&str>| {
        let body = match owner {
            Some(owner) => json!({ "reason": "looked into", "owner": owner }),
            None => json!({ "reason": "looked into" }),
        };
        serving.post_as(token, &format!("{path}/unlock"), &body)
    };
    // its owner may not, and the operator has no task of this id
    assert_eq!(unlock(&ann, None).status, 403);
    assert_eq!(unlock(&operator, None).status, 404);
    assert_eq!(unlock(&operator, Some("did:web:bob")).status, 404);
    assert_eq!(unlock(&operator, Some("did:web:ann")).json()["decided"]["verdict"], "allow");
    assert_eq!(unlock(&operator, Some("did:web:ann")).status, 409);
    assert_eq!(serving.get_as(&ann, &path).json()["state"], "active");
    assert_eq!(
        serving.post_as(&ann, &format!("{path}/before"), &pay(10)).json()["decided"]["verdict"],
        "allow"
    );
    let lines: String = fs::read_dir(logs.path())
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap_or_default())
        .collect();
    let line = lines.lines().find(|line| line.contains(r#""operation":"unlock""#)).expect("it is in the log");
    for part in [r#""who":"did:web:operator""#, r#""reason":"looked into""#, r#""owner":"did:web:ann""#] {
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn a_child_whose_parent_ended_in_another_process_ends_before_its_next_step() {
    for parent_goes in ["store", "request"] {
        let serving = Serving::with(&Location::Memory, |settings, _| settings.policies = vec![bank()]);
        let task = |parent: Option<&str>| {
            let agent = if parent.is_some() { "auditor" } else { "teller" };
            serving.post("/v1/tasks", &begin(agent, parent)).json()["task"].as_str().unwrap().to_owned()
        };
        let parent = task(None);
        let child = task(Some(&parent));
        let grandchild = task(Some(&child));
        if parent_goes == "store" {
            let store = StoredTasks::new(serving.database.clone(), &StoreLimits::default());
            let at = "2026-06-01T12:00:00Z".parse().unwrap();
            let ending = Ending { at, who: "kim", reason: "done", with_parent: false, expected: None };
            store.end(&Owner::nobody(), &parent, &ending, None, |_| None).unwrap();
            assert_eq!(serving.get(&format!("/v1/tasks/{child}")).json()["state"], "active");
        } else {
            assert_eq!(
                serving.send("DELETE", &format!("/v1/tasks/{parent}?reason=done"), &[], b"").status,
                200
            );
        }
        let step = serving.post(&format!("/v1/tasks/{child}/before"), &pay(10)).json();
        assert_eq!(
            (&step["decided"]["verdict"], &step["decided"]["reason"]),
            (&json!("rejected"), &json!("ended_with_parent")),
            "{parent_goes}"
        );
        assert_eq!(
            serving.get(&format!("/v1/tasks/{grandchild}")).json()["reason"],
            "ended_with_parent",
            "{parent_goes}"
        );
    }
}

/// A server that died between the end of a task and those of the tasks under it leaves them, with their reviews. They end when the
/// next server starts, and with each sweep, without a step of theirs.
#[test]
fn children_that_a_crash_left_behind_end_with_their_reviews() {
    for at_start in [true, false] {
        let serving = Serving::with(&Location::Memory, |settings, _| settings.policies = vec![bank()]);
        let begin = |parent: Option<&str>| {
            let agent = if parent.is_some() { "auditor" } else { "teller" };
            serving.post("/v1/tasks", &begin(agent, parent)).json()["task"].as_str().unwrap().to_owned()
        };
        let (parent, other) = (begin(None), begin(None));
        let child = begin(Some(&parent));
        let grandchild = begin(Some(&child));
        let of_other = begin(Some(&other));
        for task in [&child, &grandchild, &of_other] {
            let asked = serving.post(&format!("/v1/tasks/{task}/before"), &pay(500)).json();
            assert_eq!(asked["asks"]["review"]["reviewer"], "lead", "{asked}");
        }
        let store = StoredTasks::new(serving.database.clone(), &StoreLimits::default());
        let at = "2026-06-01T12:00:00Z".parse().unwrap();
        let ending = Ending { at, who: "kim", reason: "done", with_parent: false, expected: None };
        store.end(&Owner::nobody(), &parent, &ending, None, |_| None).unwrap();

        let serving = if at_start {
            let database = serving.stop();
            Serving::over(database, |settings, _| settings.policies = vec![bank()])
        } else {
            serving.server.as_ref().unwrap().sweep();
            serving
        };
        let state = |task: &str| serving.get(&format!("/v1/tasks/{task}")).json();
        // a server that has just started does it beside its requests
        let waited = std::time::Instant::now();
        while state(&grandchild)["reason"].is_null() && waited.elapsed().as_secs() < 20 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        for task in [&child, &grandchild] {
            assert_eq!(state(task)["reason"], "ended_with_parent", "{at_start}");
        }
        assert_eq!(state(&of_other)["state"], "suspended", "its parent goes on");
        let open = serving.get("/v1/reviews?state=open").json();
        let open: Vec<_> = open["reviews"].as_array().unwrap().iter().map(|it| &it["task"]).collect();
        assert_eq!(open, [&json!(of_other)]);
        let withdrawn = serving.get("/v1/reviews?state=withdrawn").json();
        assert_eq!(withdrawn["reviews"].as_array().unwrap().len(), 2, "{withdrawn}");
    }
}
