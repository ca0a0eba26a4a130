//! What a manifest marks as `secret` is in no view of a task, and in every decision about it.
//!
//! Each secret of these tests begins with `HUSH`, so that one search finds any of them, wherever it went.

use crate::serving::Serving;
use celador::EngineLimits;
use celador_server::{LiveTasks, Settings};
use celador_store::decision_log::{DecisionLog, LogSettings};
use celador_store::{Database, Location, StoreLimits};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const AGENT: &str = r#"
kind: commonagents.info/v1beta2/agent
namespace: demo
name: clerk
description: Pays.
prompt: You pay.
parameters:
  properties:
    session: {type: string, secret: true, default: none}
    shop: {type: string, default: corner}
exposes:
  last: "context.capabilities.vault_pay.count_successful > 0 ? dyn(context.capabilities.vault_pay.outputs[0]) : dyn(null)"
  alias: "c.cap.vault_pay.count_successful > 0 ? dyn(c.cap.vault_pay.outputs[0]) : dyn(null)"
  paid: context.capabilities.vault_pay.count_successful
capabilities:
  trail: "*"
  vault:
    before:
    - {match: pay, assert: "input.card != 'HUSH-blocked'", error_message: "Card {input.card} over {input.amount} is refused."}
    - {match: pay, assert: "input.card != 'HUSH-locks'", on_fail: lock_task, error_message: "{input.card} is stolen."}
    - {match: pay, condition: "input.amount == 50.0", invoke: 'trail:append', bindings: {what: input.card}}
    - {match: pay, condition: "input.amount > 100.0", assert: "review('boss')"}
    after:
    - {match: login, condition: "has(output.token)", transform: "{'ok': true, 'key': o.token}"}
    - {match: login, assert: "!has(output.key) || output.key != 'HUSH-seen'", error_message: "Got {output}."}
"#;

const TOOLS: &str = r##"
kind: commonagents.info/v1beta2/tool
namespace: demo
name: vault
description: Pays.
actions:
- name: pay
  description: Pays.
  parameters:
    properties:
      card: {type: string, secret: true}
      amount: {type: number}
      to: {type: object, default: {}, properties: {name: {type: string}, account: {$ref: "#/$defs/account"}}}
      extra: {type: array, default: [], items: {anyOf: [{type: string, secret: true}, {type: number}]}}
      whole: {type: object, default: {}, secret: true}
    $defs: {account: {type: string, secret: true}}
  output:
    type: object
    properties:
      id: {type: string}
      receipt: {type: object, properties: {token: {type: string, secret: true}, of: {type: string}}}
  execute: {stateless_http: {method: POST, url: "https://svc.example.com/run"}}
- name: login
  description: Logs in.
  parameters: {properties: {user: {type: string}}}
  output: {type: object, properties: {token: {type: string, secret: true}}}
  execute: {stateless_http: {method: POST, url: "https://svc.example.com/run"}}
- name: loose
  description: Says little of what it gives.
  output: {properties: {receipt: {properties: {token: {secret: true}}}}}
  execute: {stateless_http: {method: POST, url: "https://svc.example.com/run"}}
- name: key
  description: Gives the key.
  output: {secret: true}
  execute: {stateless_http: {method: POST, url: "https://svc.example.com/run"}}
---
kind: commonagents.info/v1beta2/tool
namespace: demo
name: trail
description: Keeps a trail.
actions:
- name: append
  description: Appends.
  parameters: {properties: {what: {type: string, secret: true}}}
  execute: {stateless_http: {method: POST, url: "https://svc.example.com/run"}}
"##;

/// A server under these manifests, with content in its log.
fn serving(location: &Location, manifests: &Path, logs: &Path) -> Serving {
    serving_with(location, manifests, logs, |_| {})
}

fn serving_with(
    location: &Location,
    manifests: &Path,
    logs: &Path,
    change: impl FnOnce(&mut Settings),
) -> Serving {
    let engine = EngineLimits { max_kept_value_bytes: 400, ..EngineLimits::default() };
    let limits = StoreLimits { engine, max_events_to_replay: 4, ..StoreLimits::default() };
    let database = Database::open(location, &limits).unwrap();
    let log = DecisionLog::open(LogSettings::new(logs), crate::task_fixture::noon()).unwrap();
    Serving::over_log(database, log, |settings, folder| {
        settings.policies = vec![manifests.to_owned()];
        settings.limits.store = limits;
        settings.log_content = true;
        settings.authentication.tokens = Some(folder.join("tokens.json"));
        change(settings);
    })
}

fn folder(agent: &str, tools: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("agent.yaml"), agent).unwrap();
    fs::write(folder.path().join("tools.yaml"), tools).unwrap();
    folder
}

/// A caller and one of his tasks.
struct Teller<'s> {
    serving: &'s Serving,
    token: String,
    path: String,
}

impl<'s> Teller<'s> {
    fn start(serving: &'s Serving) -> Self {
        let token = serving.token("kim", &crate::serving::SCOPES);
        let new = json!({"namespace": "demo", "agent": "clerk", "user": {"id": "u-1"}});
        let begun = serving.post_as(&token, "/v1/tasks", &new);
        assert_eq!(begun.status, 201, "{}", begun.text());
        let path = format!("/v1/tasks/{}", begun.json()["task"].as_str().unwrap());
        Self { serving, token, path }
    }

    fn step(&self, step: &str, body: &Value) -> Value {
        let reply = self.serving.post_as(&self.token, &format!("{}/{step}", self.path), body);
        assert_eq!(reply.status, 200, "{step} {body}: {}", reply.text());
        reply.json()
    }

    fn before(&self, function: &str, arguments: &Value) -> Value {
        self.step("before", &json!({ "function": function, "arguments": arguments }))
    }

    fn after(&self, call: &Value, status: &str, output: &Value) -> Value {
        self.step("after", &json!({ "call": call, "result": { "status": status, "output": output } }))
    }

    fn pay(&self, card: &str, amount: f64) -> Value {
        self.before("vault_pay", &json!({ "card": card, "amount": amount }))
    }

    fn get(&self, path: &str) -> String {
        let reply = self.serving.get_as(&self.token, path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        reply.text()
    }

    /// Everything that can be read of the task, in pages of one entry as well as whole.
    fn views(&self) -> Vec<(String, String)> {
        let path = &self.path;
        let mut views: Vec<(String, String)> =
            ["", "/context", "/offers", "/context?paths=capabilities", "/context?paths=input,output"]
                .map(|view| (view.to_owned(), self.get(&format!("{path}{view}"))))
                .into();
        for (view, list) in [("context?limit=1", "&cursor="), ("events", "?after=")] {
            let mut more = String::new();
            loop {
                let page = self.get(&format!("{path}/{view}{more}"));
                let next = serde_json::from_str::<Value>(&page).unwrap()["next"].take();
                views.push((format!("{view}{more}"), page));
                if next.is_null() {
                    break;
                }
                more = format!("{list}{}", next.to_string().trim_matches('"'));
            }
        }
        for other in
            ["/v1/tasks", "/v1/reviews?state=all", "/metrics", "/v1/manifests", "/v1/switches", "/readyz"]
        {
            views.push((other.to_owned(), self.serving.get_as(&self.token, other).text()));
        }
        views
    }
}

fn logged(logs: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(logs).unwrap() {
        all += &String::from_utf8_lossy(&fs::read(entry.unwrap().path()).unwrap());
    }
    all
}

fn assert_hushed(views: &[(String, String)]) {
    for (view, text) in views {
        let at = text.find("HUSH");
        assert!(at.is_none(), "{view}: {}", &text[at.unwrap().saturating_sub(200)..]);
        assert!(!text.contains("sha256"), "{view}: {text}");
    }
}

/// One task in which every way that a secret can go is gone once.
fn story(teller: &Teller<'_>) {
    let input =
        teller.step("input", &json!({ "message": "Hello", "session": "HUSH-session", "crad": "HUSH-1" }));
    assert_eq!(input["decided"]["value"]["session"], "HUSH-session", "the runtime is told what there is");
    assert_eq!(input["decided"]["secret"], json!({ "value": ["/session"] }));

    // let through: the runtime has everything, and is told what of it is secret
    let arguments = json!({
        "card": "HUSH-card", "amount": 1.5, "to": {"name": "Ann", "account": "HUSH-account"},
        "extra": ["HUSH-item", 7.0], "whole": {"a": "HUSH-whole"}, "crad": "HUSH-misspelt",
    });
    let paid = teller.before("vault_pay", &arguments);
    assert_eq!(paid["decided"]["value"]["card"], "HUSH-card");
    assert_eq!(paid["decided"]["value"]["to"]["account"], "HUSH-account");
    let places = ["/card", "/to/account", "/extra/0", "/extra/1", "/whole"];
    assert_eq!(paid["decided"]["secret"], json!({ "value": places }));
    let call = &paid["decided"]["call"];
    let receipt = json!({ "id": "r-1", "receipt": { "token": "HUSH-token", "of": "Ann" } });
    let result = teller.after(call, "successful", &receipt);
    assert_eq!(
        (&result["decided"]["value"], &result["decided"]["secret"]),
        (&receipt, &json!({ "value": ["/receipt/token"] }))
    );

    // stopped by a guard that has seen the card
    let blocked = teller.pay("HUSH-blocked", 2.0);
    assert_eq!(blocked["decided"]["verdict"], "block");
    assert_eq!(blocked["decided"]["message"], "Card HUSH-blocked over 2 is refused.");
    assert_eq!(blocked["decided"]["secret"]["message"], "Card *** over 2 is refused.");

    // cannot be formed, is not known, is no call at all
    assert_eq!(teller.before("vault_pay", &json!({ "crad": "HUSH-2" }))["decided"]["verdict"], "error");
    assert_eq!(
        teller.before("vault_pay", &json!({ "card": {"no": "HUSH-3"}, "amount": 1.0 }))["decided"]["verdict"],
        "error"
    );
    assert_eq!(teller.before("vault_payy", &json!({ "card": "HUSH-4" }))["decided"]["verdict"], "error");
    for body in [
        json!({ "function": "vault_pay", "arguments": {}, "card": "HUSH-5" }),
        json!("HUSH-6"),
        json!({ "function": ["HUSH-7"] }),
    ] {
        let refused = teller.serving.post_as(&teller.token, &format!("{}/before", teller.path), &body);
        assert!(refused.status == 400 && !refused.text().contains("HUSH"), "{}", refused.text());
    }
    let unknown = json!({ "call": "99", "result": { "status": "successful", "output": "HUSH-8" } });
    let refused = teller.serving.post_as(&teller.token, &format!("{}/after", teller.path), &unknown);
    assert!(refused.status == 409 && !refused.text().contains("HUSH"), "{}", refused.text());

    // results that are errors, that are another thing than was thought of, that are shortened
    for (status, output) in [
        ("errored", json!({ "error": "HUSH-declined" })),
        ("successful", json!("HUSH-text")),
        ("successful", json!({ "receipt": "HUSH-flat" })),
        ("successful", json!({ "receipt": ["HUSH-listed"] })),
        ("successful", json!({ "receipt": { "token": { "deep": ["HUSH-deep"] } } })),
        ("successful", json!({ "receipt": { "token": "HUSH".repeat(400) } })),
    ] {
        let call = teller.before("vault_loose", &json!({}))["decided"]["call"].take();
        assert_eq!(teller.after(&call, status, &output)["decided"]["value"], output);
    }
    // what breaks its schema goes nowhere, not even to the runtime
    let call = teller.pay("HUSH-again", 3.0)["decided"]["call"].take();
    let broken = teller.after(&call, "successful", &json!({ "id": ["HUSH-broken"] }));
    assert!(!broken.to_string().contains("HUSH"), "{broken}");
    let call = teller.before("vault_key", &json!({}))["decided"]["call"].take();
    assert_eq!(
        teller.after(&call, "successful", &json!(["HUSH-key"]))["decided"]["secret"],
        json!({ "value": [""] })
    );
    let call = teller.before("vault_login", &json!({ "user": "ann" }))["decided"]["call"].take();
    let made = teller.after(&call, "successful", &json!({ "token": "HUSH-made" }));
    assert_eq!(made["decided"]["value"]["key"], "HUSH-made");
    let call = teller.before("vault_login", &json!({ "user": "ann" }))["decided"]["call"].take();
    let seen = teller.after(&call, "successful", &json!({ "token": "HUSH-seen" }));
    assert_eq!(seen["decided"]["secret"]["message"], "Got ***.");

    // a script has its arguments in it, and makes of results what it likes
    let script = json!({ "source": "vault_pay({'card': 'HUSH-script', 'amount': 4.0}).receipt.token + '!'" });
    teller.step("script", &script);
    assert_hushed(&teller.views());
    let answer = json!({ "answer": { "result": { "status": "successful", "output": { "receipt": { "token": "HUSH-scripted" } } } } });
    assert_eq!(teller.step("resume", &answer)["decided"]["value"], "HUSH-scripted!");

    // no schema is about the request that brings an event
    let request = json!({ "headers": [["Cookie", "HUSH-cookie"]], "body": r#"{"card": "HUSH-event"}"# });
    let event = json!({ "capability": "vault", "event": "charged", "request": request });
    assert_eq!(teller.step("event", &event)["decided"]["verdict"], "discard");
    assert_hushed(&teller.views());

    // a step of middleware asks with a secret
    let asks = teller.pay("HUSH-trailed", 50.0);
    assert_eq!(asks["asks"]["invoke"]["arguments"]["what"], "HUSH-trailed");
    assert_eq!(asks["secret"], json!(["/invoke/arguments/what"]));
    assert_hushed(&teller.views());
    // what waits for the call, and what is turned away meanwhile
    let input = json!({ "message": "Hello", "session": "HUSH-waiting" });
    assert_eq!(teller.step("input", &input)["decided"]["verdict"], "allow");
    assert_hushed(&teller.views());
    assert_eq!(teller.step("output", &json!({ "message": "Too early." }))["decided"]["verdict"], "rejected");
    teller.step("resume", &json!({ "answer": { "result": { "status": "successful", "output": {} } } }));

    // the response says what is made of secrets
    let output = teller.step("output", &json!({ "message": "Done" }));
    assert!(output["decided"]["exposes"]["last"].to_string().contains("HUSH-scripted"), "{output}");
    assert_eq!(
        output["decided"]["secret"],
        json!({ "value": ["/last", "/alias"], "exposes": ["/last", "/alias"] })
    );

    // waits for a review
    let review = teller.pay("HUSH-reviewed", 500.0);
    assert_eq!((&review["asks"]["review"]["reviewer"], review.get("secret")), (&json!("boss"), None));
    assert_hushed(&teller.views());
    // who reviews sees the places, edits the rest, and leaves the secrets as they are
    let boss = teller.serving.token("boss", &["reviews:read", "reviews:write"]);
    let listed = teller.serving.get_as(&boss, "/v1/reviews").json();
    let open = listed["reviews"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(open["arguments"]["card"], "***", "{open}");
    let mut edited = open["arguments"].clone();
    edited["amount"] = json!(400.0);
    let (path, edit) = (
        format!("/v1/reviews/{}", open["id"].as_str().unwrap()),
        json!({"answer": "edit", "arguments": edited}),
    );
    for _ in 0..2 {
        let answered = teller.serving.post_as(&boss, &path, &edit);
        assert_eq!(
            (answered.status, &answered.json()["decision"]),
            (200, &json!("allow")),
            "{}",
            answered.text()
        );
        assert!(!answered.text().contains("HUSH"), "{}", answered.text());
    }
    let call = open["call"].as_str().unwrap();
    let approved =
        serde_json::from_str::<Value>(&teller.get(&format!("{}/calls/{call}", teller.path))).unwrap();
    assert_eq!(approved["decided"]["value"]["card"], "HUSH-reviewed");
    assert_eq!(approved["decided"]["value"]["amount"], 400.0);
    // this one stays open
    assert_eq!(teller.pay("HUSH-open", 6.0)["decided"]["value"]["card"], "HUSH-open");
    // and this one ends the task, whose reason is told to everybody
    let locked = teller.pay("HUSH-locks", 7.0);
    assert_eq!(
        (&locked["decided"]["reason"], &locked["decided"]["verdict"]),
        (&json!("HUSH-locks is stolen."), &json!("lock_task"))
    );
    assert_eq!(teller.pay("HUSH-late", 8.0)["decided"]["reason"], "*** is stolen.");
}

#[test]
fn a_secret_is_in_no_view_of_a_task_and_in_every_decision_about_it() {
    let (stores, manifests) = (tempfile::tempdir().unwrap(), folder(AGENT, TOOLS));
    for location in [Location::Memory, Location::File(stores.path().join("tasks.db"))] {
        let logs = tempfile::tempdir().unwrap();
        let serving = serving(&location, manifests.path(), logs.path());
        let teller = Teller::start(&serving);
        story(&teller);
        let views = teller.views();
        assert_hushed(&views);
        let context = &views.iter().find(|(view, _)| view == "/context").unwrap().1;
        for shown in [
            r#""account":"***""#,
            r#""name":"Ann""#,
            r#""of":"Ann""#,
            r#""session":"***""#,
            r#""shop":"corner""#,
            r#""paid":"#,
        ] {
            assert!(context.contains(shown), "{shown}: {context}");
        }
        // whoever may only read computes nothing either
        let reader = serving.token("kim", &["tasks:read"]);
        for (path, body) in [
            ("evaluate", json!({ "scope": "before", "expression": "context.input[0].session" })),
            ("render", json!({ "kind": "prompt", "template": "{context.input[0].session}" })),
        ] {
            let path = format!("{}/{path}", teller.path);
            let refused = serving.post_as(&reader, &path, &body);
            assert!(refused.status == 403 && !refused.text().contains("HUSH"), "{}", refused.text());
            assert!(serving.post_as(&teller.token, &path, &body).text().contains("HUSH-session"));
        }
        let task = teller.path.clone();
        serving.stop();
        let log = logged(logs.path());
        assert!(log.contains(r#""card":"***""#) && log.contains("*** is stolen."), "{log}");
        assert_hushed(&[("log".to_owned(), log.replace("sha256", ""))]);
        if location == Location::Memory {
            continue;
        }

        // the same task under manifests that mark nothing any more: what was decided keeps its marks
        let unmarked =
            folder(&AGENT.replace("secret: true", "title: s"), &TOOLS.replace("secret: true", "title: s"));
        let serving = self::serving(&location, unmarked.path(), tempfile::tempdir().unwrap().path());
        let token = serving.token("kim", &crate::serving::SCOPES);
        let teller = Teller { serving: &serving, token, path: task };
        let events = teller.get(&format!("{}/events", teller.path));
        assert_hushed(&[("events".to_owned(), events)]);
        serving.stop();
    }
}

/// Tasks whose policy was not kept, and the server that comes next marks nothing.
#[test]
fn without_its_policy_a_task_is_masked_as_a_whole() {
    let (stores, manifests) = (tempfile::tempdir().unwrap(), folder(AGENT, TOOLS));
    let location = Location::File(stores.path().join("tasks.db"));
    let logs = tempfile::tempdir().unwrap();
    let keeps_none = |settings: &mut Settings| {
        settings.live_tasks = LiveTasks::Keep;
        settings.limits.store.max_kept_manifests_bytes = 1;
    };
    let first = serving_with(&location, manifests.path(), logs.path(), keeps_none);
    let waits = Teller::start(&first);
    assert_eq!(waits.pay("HUSH-trailed", 50.0)["asks"]["invoke"]["arguments"]["what"], "HUSH-trailed");
    let rests = Teller::start(&first);
    rests.step("input", &json!({ "message": "Hello", "session": "HUSH-session" }));
    let call = rests.pay("HUSH-card", 1.0)["decided"]["call"].take();
    rests.after(&call, "successful", &json!({ "receipt": { "token": "HUSH-token" } }));
    rests.step("output", &json!({ "message": "Done" }));
    let (waits, rests) = (waits.path.clone(), rests.path.clone());
    first.stop();

    let unmarked = |text: &str| text.replace("secret: true", "title: s");
    let others = folder(&unmarked(AGENT), &unmarked(TOOLS));
    let more_logs = tempfile::tempdir().unwrap();
    let second = serving_with(&location, others.path(), more_logs.path(), keeps_none);
    let token = second.token("kim", &crate::serving::SCOPES);
    let waiting = second.get_as(&token, &waits);
    let arguments = &waiting.json()["asks"]["invoke"]["arguments"];
    assert_eq!(arguments, &json!({ "what": "***" }), "{}", waiting.text());
    for path in [&waits, &rests] {
        for view in ["", "/context", "/context?limit=1", "/events", "/offers"] {
            let reply = second.get_as(&token, &format!("{path}{view}"));
            assert!(!reply.text().contains("HUSH"), "{view}: {}", reply.text());
        }
    }
    let context = second.get_as(&token, &format!("{rests}/context"));
    for shown in [r#""inputs":["***"]"#, r#""outputs":["***"]"#, r#""session":"***""#, "Hello"] {
        assert!(context.text().contains(shown), "{shown}: {}", context.text());
    }
    let reader = second.token("kim", &["tasks:read"]);
    let body = json!({ "scope": "before", "expression": "context.input[0].session" });
    assert_eq!(second.post_as(&reader, &format!("{rests}/evaluate"), &body).status, 403);
}

#[test]
fn a_recorded_task_is_played_without_its_secrets() {
    let manifests = folder(AGENT, TOOLS);
    let script = r#"
agent: clerk
env: {now: "2026-06-01T12:00:00Z"}
mocks: {trail: [{output: {}}]}
steps:
- input: {message: Hello, session: HUSH-session}
- call: {id: c1, fn: vault_pay, args: {card: HUSH-card, amount: 50.0, to: {name: Ann, account: HUSH-account}}}
  result: {status: successful, output: {id: r-1, receipt: {token: HUSH-token}}}
- call: {id: c2, fn: vault_pay, args: {card: HUSH-blocked, amount: 2.0}}
- output: {message: Done}
- call: {id: c3, fn: vault_pay, args: {card: HUSH-locks, amount: 2.0}}
"#;
    fs::write(manifests.path().join("task.run"), script).unwrap();
    for format in ["human", "json"] {
        let said = std::process::Command::new(env!("CARGO_BIN_EXE_celador"))
            .args(["run", "agent.yaml", "tools.yaml", "task.run", "--format", format])
            .current_dir(manifests.path())
            .output()
            .unwrap();
        let said =
            format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
        assert!(
            said.contains(r#""card":"***""#) && said.contains("Card *** over 2 is refused."),
            "{format}: {said}"
        );
        assert!(said.contains("trail") && said.contains("*** is stolen."), "{format}: {said}");
        assert_hushed(&[(format.to_owned(), said)]);
    }
}
