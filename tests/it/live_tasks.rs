//! What becomes of tasks when other manifests are served: under each setting, by an operator's decision, after a restart,
//! and with two servers over one store. An open call that the new policy would refuse is not carried out.

use crate::serving::{Reply, Serving};
use celador_server::LiveTasks;
use celador_store::{Database, Location, StoreLimits, StoredTasks};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// An agent that pays as much as this at most; seven only if the boss agrees.
pub fn manifest(most: u64) -> String {
    format!(
        "kind: commonagents.info/v1beta2/tool\nnamespace: n\nname: pay\ndescription: d\nactions:\n- name: out\n  \
         description: d\n  parameters: {{type: object, properties: {{amount: {{type: number}}}}}}\n  \
         execute: {{cel: {{expression: \"{{'paid': input.amount}}\"}}}}\n---\n\
         kind: commonagents.info/v1beta2/agent\nnamespace: n\nname: a\ndescription: d\nprompt: p\ncapabilities:\n  pay:\n    \
         before:\n    - {{assert: \"input.amount <= {most} && (input.amount != 7 || review('boss'))\", \
         error_message: Too much.}}\n"
    )
}

/// The same agent without a tool: an open call has no function there.
pub const BARE: &str =
    "kind: commonagents.info/v1beta2/agent\nnamespace: n\nname: a\ndescription: d\nprompt: p\n";

/// A folder of manifests, and servers over one store that serve it.
pub struct Shop {
    folder: TempDir,
    pub database: Database,
    live_tasks: LiveTasks,
}

impl Shop {
    pub fn new(live_tasks: LiveTasks) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("s.db"));
        Self::over(live_tasks, Database::open(&location, &StoreLimits::default()).unwrap(), folder)
    }

    pub fn over(live_tasks: LiveTasks, database: Database, folder: TempDir) -> Self {
        let shop = Self { folder, database, live_tasks };
        shop.write(&manifest(1000));
        shop
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("a.yaml")
    }

    /// Where its store is.
    pub fn store(&self) -> PathBuf {
        self.folder.path().join("s.db")
    }

    pub fn write(&self, text: &str) {
        fs::write(self.file(), text).unwrap();
    }

    pub fn start(&self) -> Serving {
        self.start_with(|_| {})
    }

    pub fn start_with(&self, change: impl FnOnce(&mut celador_server::Settings)) -> Serving {
        Serving::over(self.database.clone(), |settings, _| {
            settings.policies = vec![self.file()];
            settings.live_tasks = self.live_tasks;
            change(settings);
        })
    }

    /// Serves other manifests.
    pub fn serve(&self, serving: &Serving, text: &str) {
        self.write(text);
        refresh(serving);
    }

    pub fn count(&self, table: &str) -> u64 {
        let statement = format!("SELECT COUNT(*) FROM {table}");
        self.database.read(|sql| sql.query(&statement, &[])).unwrap()[0].count(0).unwrap()
    }

    pub fn verify(&self) -> Result<(), String> {
        let store = StoredTasks::new(self.database.clone(), &StoreLimits::default());
        store.verify().map(drop).map_err(|error| error.to_string())
    }
}

pub fn begin(serving: &Serving) -> String {
    let start = json!({"namespace": "n", "agent": "a", "user": {"id": "u"}});
    let made = serving.post("/v1/tasks", &start);
    assert_eq!(made.status, 201, "{}", made.text());
    format!("/v1/tasks/{}", made.json()["task"].as_str().unwrap())
}

pub fn call(serving: &Serving, task: &str, amount: u64) -> Reply {
    serving.post(&format!("{task}/before"), &json!({"function": "pay", "arguments": {"amount": amount}}))
}

pub fn before(serving: &Serving, task: &str, amount: u64) -> Value {
    call(serving, task, amount).json()["decided"].clone()
}

pub fn verdict(serving: &Serving, task: &str, amount: u64) -> String {
    before(serving, task, amount)["verdict"].as_str().unwrap_or_default().to_owned()
}

pub fn execute(serving: &Serving, task: &str, call: &Value) -> Reply {
    serving.post(&format!("{task}/execute"), &json!({ "call": call }))
}

pub fn after(serving: &Serving, task: &str, call: &Value) -> Reply {
    let result = json!({"status": "successful", "output": {"paid": 1}});
    serving.post(&format!("{task}/after"), &json!({ "call": call, "result": result }))
}

pub fn decide(serving: &Serving, task: &str, decision: &str) -> Reply {
    serving.post(&format!("{task}/policy"), &json!({"decision": decision, "reason": "it may"}))
}

pub fn policy(serving: &Serving, task: &str) -> Value {
    let reply = serving.get(task);
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["policy"].clone()
}

/// A step that a task does not take, and what is said of it.
pub fn held(reply: &Reply) -> String {
    let problem = reply.json();
    let kind = problem["type"].as_str().unwrap_or_default();
    assert_eq!((reply.status, kind), (409, "urn:celador:problem:policy-changed"), "{}", reply.text());
    problem["detail"].as_str().unwrap().to_owned()
}

pub fn refresh(serving: &Serving) {
    serving.server.as_ref().unwrap().refresh();
}

#[test]
fn an_open_call_that_the_new_policy_refuses_is_not_carried_out() {
    for live_tasks in [LiveTasks::Adopt, LiveTasks::Keep] {
        let keeps = live_tasks == LiveTasks::Keep;
        let shop = Shop::new(live_tasks);
        let serving = shop.start();
        let task = begin(&serving);
        let calls: Vec<Value> = [900, 5, 900].map(|n| before(&serving, &task, n)["call"].clone()).into();
        let first = policy(&serving, &task);
        assert_eq!((&first["current"], &first["held"]), (&json!(true), &json!(null)));
        shop.serve(&serving, &manifest(10));
        let stopped = if keeps { "allow" } else { "block" };
        let holds = |serving: &Serving, call| {
            let now = policy(serving, &task);
            assert_eq!((&now["current"], &now["held"]), (&json!(!keeps), &json!(null)));
            assert_eq!(now["manifest"] == first["manifest"], keeps);
            assert_eq!(execute(serving, &task, call).json()["decided"]["verdict"], stopped);
            assert_eq!(verdict(serving, &task, 20), stopped);
        };
        holds(&serving, &calls[0]);
        // after a restart the same holds
        drop(serving.stop());
        let serving = shop.start();
        holds(&serving, &calls[2]);
        let paid = execute(&serving, &task, &calls[1]).json();
        assert_eq!(paid["decided"]["value"]["paid"].as_f64(), Some(5.0));
        // a task that begins now is under what is served
        assert_eq!(verdict(&serving, &begin(&serving), 20), "block");
        shop.verify().unwrap();
    }
}

#[test]
fn a_locked_task_takes_results_and_ends_and_nothing_else() {
    let shop = Shop::new(LiveTasks::Lock);
    let mut serving = shop.start();
    let task = begin(&serving);
    let [first, second, third] = [1, 2, 3].map(|n| before(&serving, &task, n)["call"].clone());
    let manifest_before = policy(&serving, &task)["manifest"].clone();
    shop.serve(&serving, &manifest(10));
    for restarted in [false, true] {
        if restarted {
            drop(serving.stop());
            serving = shop.start();
        }
        let version = serving.get(&task).json()["version"].clone();
        assert!(held(&call(&serving, &task, 1)).contains("until an operator decides"));
        held(&execute(&serving, &task, &second));
        held(&serving.post(&format!("{task}/input"), &json!({"message": "go on"})));
        held(
            &serving
                .post(&format!("{task}/model-turn"), &json!({"prompt_tokens": 1, "completion_tokens": 1})),
        );
        held(&serving.post(&format!("{task}/limits"), &json!({"next": "model_turn"})));
        let standing = serving.get(&task).json();
        assert_eq!(standing["version"], version, "nothing was stored");
        let policy = &standing["policy"];
        assert_eq!((&policy["current"], &policy["manifest"]), (&json!(false), &manifest_before));
        assert_eq!(policy["held"]["can"], json!(["adopt", "keep", "end", "purge"]));
        assert!(policy["held"]["reason"].as_str().unwrap().contains("another policy"));
        // it can be looked at
        assert_eq!(serving.get(&format!("{task}/context")).status, 200);
        assert_eq!(serving.get(&format!("{task}/offers")).status, 200);
        // what has run is taken
        let taken = after(&serving, &task, if restarted { &second } else { &first });
        assert_eq!(taken.json()["decided"]["verdict"], "allow", "{}", taken.text());
        assert_eq!(policy["manifest"], manifest_before);
    }
    // it is found among all others
    let another = begin(&serving);
    let listed = |query: &str| -> Vec<String> {
        let page = serving.get(&format!("/v1/tasks{query}")).json();
        assert_eq!(page["next"], json!(null));
        page["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| format!("/v1/tasks/{}", it["task"].as_str().unwrap()))
            .collect()
    };
    assert_eq!(listed("").len(), 2);
    assert_eq!((listed("?current=false"), listed("?current=true")), (vec![task.clone()], vec![another]));
    assert_eq!(serving.get("/v1/tasks?current=perhaps").status, 400);
    // a task that began under what is served goes on; and so does the other when its policy is served again
    assert_eq!(verdict(&serving, &begin(&serving), 5), "allow");
    shop.serve(&serving, &manifest(1000));
    assert_eq!(policy(&serving, &task)["held"], json!(null));
    assert_eq!(verdict(&serving, &task, 900), "allow");
    shop.serve(&serving, &manifest(10));
    held(&call(&serving, &task, 1));
    let ended = serving.post(&format!("{task}/end"), &json!({"reason": "not needed"})).json();
    assert_eq!(ended["decided"]["verdict"], "terminate");
    let standing = serving.get(&task).json();
    assert_eq!((&standing["state"], &standing["policy"]["held"]), (&json!("terminated"), &json!(null)));
    assert_eq!(
        serving.get("/v1/tasks?current=false").json()["tasks"],
        json!([]),
        "what has ended is not held"
    );
    // the call that had run all the same is on record
    assert_eq!(after(&serving, &task, &third).status, 200);
    assert_eq!(decide(&serving, &task, "adopt").status, 400);
    shop.verify().unwrap();
}

/// A task that waits for the result of a call that was let through takes it while it is locked; one that waits for a review
/// does not take the verdict.
#[test]
fn a_locked_task_takes_the_answers_of_calls_only() {
    let shop = Shop::new(LiveTasks::Lock);
    let remote = |most: u64| {
        manifest(most).replace(
            "cel: {expression: \"{'paid': input.amount}\"}",
            "stateless_http: {method: POST, url: \"https://pay.example.com\"}",
        ).replace("    before:\n", "    before:\n    - {condition: input.amount == 8, invoke: 'pay:out', bindings: {amount: '1'}}\n")
    };
    shop.write(&remote(1000));
    let serving = shop.start();
    let [waits, reviewed, prepares] = [1, 7, 8].map(|amount| {
        let task = begin(&serving);
        let arguments = json!({"function": "pay", "arguments": {"amount": amount}});
        let asked = serving.post(&format!("{task}/invoke"), &arguments).json();
        assert!(asked["asks"].is_object(), "{asked}");
        task
    });
    shop.serve(&serving, &remote(10));
    let result = json!({"answer": {"result": {"status": "successful", "output": {"paid": 1}}}});
    let taken = serving.post(&format!("{waits}/resume"), &result);
    assert_eq!(taken.json()["decided"]["verdict"], "allow", "{}", taken.text());
    held(&serving.post(&format!("{reviewed}/resume"), &json!({"answer": {"review": true}})));
    // a step ahead of the call asked for this one: its result would let the call through
    held(&serving.post(&format!("{prepares}/resume"), &result));
    // the policy that is served cannot go on in the middle of another, and says so
    let policy = policy(&serving, &reviewed);
    assert_eq!(policy["held"]["can"], json!(["keep", "end", "purge"]));
    assert!(held(&decide(&serving, &reviewed, "adopt")).contains("changed since the task was suspended"));
    assert_eq!(decide(&serving, &reviewed, "keep").status, 200);
    let verdict = serving.post(&format!("{reviewed}/resume"), &json!({"answer": {"review": true}})).json();
    assert!(verdict["asks"].is_object(), "{verdict}");
}

/// A policy that cannot read the task's state holds it, and the reason is shown.
#[test]
fn a_task_that_the_new_policy_cannot_read_is_held() {
    let shop = Shop::new(LiveTasks::Adopt);
    let mut serving = shop.start();
    let task = begin(&serving);
    let open = before(&serving, &task, 5)["call"].clone();
    shop.serve(&serving, BARE);
    for restarted in [false, true] {
        if restarted {
            drop(serving.stop());
            serving = shop.start();
        }
        assert!(held(&call(&serving, &task, 5)).contains("cannot take the task over"));
        let now = policy(&serving, &task);
        assert_eq!(now["held"]["can"], json!(["keep", "end", "purge"]));
        assert!(now["held"]["reason"].as_str().unwrap().contains("an open call has no function"));
        assert!(held(&decide(&serving, &task, "adopt")).contains("an open call has no function"));
    }
    // its result is taken, and then nothing stands in the way
    assert_eq!(after(&serving, &task, &open).json()["decided"]["verdict"], "allow");
    // the agent is not served at all
    shop.serve(&serving, &BARE.replace("name: a", "name: b"));
    assert!(held(&call(&serving, &task, 5)).contains("no agent `a` is loaded"));
    assert_eq!(serving.send("DELETE", &task, &[], b"").status, 200);
}

/// Two servers over one store that serve different manifests: each step is decided under one policy, which the task shows.
#[test]
fn two_servers_that_serve_different_policies() {
    for live_tasks in [LiveTasks::Adopt, LiveTasks::Keep, LiveTasks::Lock] {
        let shop = Shop::new(live_tasks);
        let loose = shop.start();
        let task = begin(&loose);
        let open = before(&loose, &task, 900)["call"].clone();
        // the file is another one when the second server starts; the first does not look
        shop.write(&manifest(10));
        let strict = shop.start();
        match live_tasks {
            // each decides under what it serves, whatever the other did last
            LiveTasks::Adopt => {
                for _ in 0..2 {
                    assert_eq!(verdict(&strict, &task, 20), "block");
                    assert_eq!(verdict(&loose, &task, 20), "allow");
                }
                assert_eq!(execute(&strict, &task, &open).json()["decided"]["verdict"], "block");
            }
            // both decide under the policy that the task began under
            LiveTasks::Keep => {
                for serving in [&strict, &loose, &strict] {
                    assert_eq!(verdict(serving, &task, 20), "allow");
                }
                let began = begin(&strict);
                assert_eq!([&loose, &strict].map(|serving| verdict(serving, &began, 20)), ["block", "block"]);
            }
            // only the one that serves it decides, until an operator has decided
            LiveTasks::Lock => {
                held(&call(&strict, &task, 1));
                assert_eq!(verdict(&loose, &task, 20), "allow");
                assert_eq!(decide(&strict, &task, "adopt").status, 200);
                assert_eq!(verdict(&strict, &task, 20), "block");
                held(&call(&loose, &task, 1));
                assert_eq!(decide(&loose, &task, "keep").status, 200);
                assert_eq!([&loose, &strict].map(|serving| verdict(serving, &task, 20)), ["block", "block"]);
            }
        }
        shop.verify().unwrap();
    }
}
