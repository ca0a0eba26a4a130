//! Manifests that change while tasks run: files are taken at rest, and an open call that the new policy would refuse is not
//! carried out.

use crate::serving::Serving;
use celador::limits::EvalLimits;
use celador::server::LiveTasks;
use celador::store::{Database, Location};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

fn manifest(most: u64) -> String {
    format!(
        "kind: commonagents.info/v1beta2/tool\nnamespace: n\nname: pay\ndescription: d\nactions:\n- name: out\n  \
         description: d\n  parameters: {{type: object, properties: {{amount: {{type: number}}}}}}\n  \
         execute: {{cel: {{expression: \"{{'paid': input.amount}}\"}}}}\n---\n\
         kind: commonagents.info/v1beta2/agent\nnamespace: n\nname: a\ndescription: d\nprompt: p\ncapabilities:\n  pay:\n    \
         before:\n    - {{assert: \"input.amount <= {most}\", error_message: Too much.}}\n"
    )
}

fn begin(serving: &Serving) -> String {
    let start = json!({"namespace": "n", "agent": "a", "user": {"id": "u"}});
    let made = serving.post("/v1/tasks", &start);
    assert_eq!(made.status, 201, "{}", made.text());
    format!("/v1/tasks/{}", made.json()["task"].as_str().unwrap())
}

fn before(serving: &Serving, task: &str, amount: u64) -> Value {
    let call = json!({"function": "pay", "arguments": {"amount": amount}});
    serving.post(&format!("{task}/before"), &call).json()["decided"].clone()
}

fn execute(serving: &Serving, task: &str, call: &Value) -> Value {
    serving.post(&format!("{task}/execute"), &json!({ "call": call })).json()["decided"].clone()
}

fn refresh(serving: &Serving) {
    serving.server.as_ref().unwrap().refresh();
}

#[test]
fn an_open_call_that_the_new_policy_refuses_is_not_carried_out() {
    for live_tasks in [LiveTasks::Adopt, LiveTasks::Keep] {
        let policies = tempfile::tempdir().unwrap();
        let file = policies.path().join("a.yaml");
        fs::write(&file, manifest(1000)).unwrap();
        let database =
            Database::open(&Location::File(policies.path().join("s.db")), &EvalLimits::default()).unwrap();
        let start = || {
            Serving::over(database.clone(), |settings, _| {
                settings.policies = vec![policies.path().to_owned()];
                settings.live_tasks = live_tasks;
            })
        };
        let serving = start();
        let task = begin(&serving);
        let calls: Vec<Value> = [900, 5, 900].map(|n| before(&serving, &task, n)["call"].clone()).into();
        let policy = serving.get(&task).json()["policy"].clone();
        assert_eq!(policy["current"], true);
        fs::write(&file, manifest(10)).unwrap();
        refresh(&serving);
        let keeps = live_tasks == LiveTasks::Keep;
        assert_eq!(serving.get(&task).json()["policy"]["current"], !keeps);
        assert_eq!(serving.get(&task).json()["policy"]["manifest"] == policy["manifest"], keeps);
        let refused = execute(&serving, &task, &calls[0]);
        assert_eq!(refused["verdict"], if keeps { "allow" } else { "block" }, "{refused}");
        let verdict = |serving: &Serving, amount| before(serving, &task, amount)["verdict"].clone();
        assert_eq!(verdict(&serving, 20), if keeps { "allow" } else { "block" });
        // after a restart the new policy holds either way
        drop(serving.stop());
        let serving = start();
        assert_eq!(execute(&serving, &task, &calls[2])["verdict"], "block");
        assert_eq!(execute(&serving, &task, &calls[1])["value"]["paid"].as_f64(), Some(5.0));
        assert_eq!(verdict(&serving, 20), "block");
    }
}

fn sums(folder: &Path, names: &[&str]) -> String {
    let row = |name: &&str| {
        let digest: String = Sha256::digest(fs::read(folder.join(name)).unwrap())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("{digest}  {name}\n")
    };
    names.iter().map(row).collect()
}

/// With a list of digests a set is served whole or not at all, however long its publisher pauses.
#[test]
fn a_list_of_digests_holds_a_set_together() {
    let policies = tempfile::tempdir().unwrap();
    let (file, list) = (policies.path().join("a.yaml"), policies.path().join("SHA256SUMS"));
    fs::write(&file, manifest(10)).unwrap();
    fs::write(&list, sums(policies.path(), &["a.yaml"])).unwrap();
    let serving = Serving::with(&Location::Memory, |settings, _| {
        settings.policies = vec![policies.path().to_owned()];
        settings.manifest_digests = Some(list.clone());
    });
    let served = || {
        refresh(&serving);
        let task = begin(&serving);
        before(&serving, &task, 15)["verdict"] == "allow"
    };
    assert!(!served());
    // the first half is valid on its own, and lacks the rule
    let whole = manifest(20);
    let half = whole.find("capabilities:").unwrap();
    fs::write(&file, &whole[..half]).unwrap();
    for _ in 0..3 {
        assert!(!served(), "half a manifest");
    }
    let ready = serving.get("/readyz").json();
    assert_eq!(
        (ready["stale"].clone(), ready["reasons"][0]["code"].clone()),
        (json!(true), json!("manifests-refused"))
    );
    let reload = serving.send("POST", "/v1/manifests/reload", &[], b"");
    assert_eq!(reload.status, 422);
    assert!(reload.text().contains("another digest"), "{}", reload.text());
    fs::write(&file, &whole).unwrap();
    assert!(!served(), "the list is still the old one");
    fs::write(&list, sums(policies.path(), &["a.yaml"])).unwrap();
    assert!(served());
    assert_eq!(serving.get("/readyz").json()["reasons"], json!([]));
    // a file that nobody has listed, a listed one that is gone, a list that is none
    fs::write(policies.path().join("b.yaml"), "kind: other/v1\n").unwrap();
    let problem = || {
        refresh(&serving);
        serving.get("/v1/manifests").json()["problem"]["message"].as_str().unwrap_or_default().to_owned()
    };
    assert!(problem().contains("does not list"), "{}", problem());
    fs::write(&list, sums(policies.path(), &["a.yaml", "b.yaml"])).unwrap();
    assert_eq!(problem(), "");
    fs::remove_file(policies.path().join("b.yaml")).unwrap();
    assert!(problem().contains("lists `b.yaml`"), "{}", problem());
    fs::write(&list, "nonsense\n").unwrap();
    assert!(problem().contains("line 1 is not one of `sha256sum`"), "{}", problem());
}
