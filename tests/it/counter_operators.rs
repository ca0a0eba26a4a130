//! Counters for those who run a server: the list, and a counter that begins anew beside calls that are under way, over HTTP, by the command,
//! and in the decision log; on each kind of store.

use crate::log_store::{compared, lines, log_in};
use crate::servers::PostgresServer;
use crate::serving::{NOON, Serving};
use crate::shop_fixture::{shop_agent, shop_tool};
use crate::store_database::databases;
use celador::Timestamp;
use celador::counter::{Amount, CounterChanges, CounterId, CounterRead, Reservation};
use celador::task::{Usage, User};
use celador::{Engine, EngineLimits, StartTask};
use celador_store::decision_log::{SyncMode, verify};
use celador_store::{
    CounterReset, Database, DueLine, FaultPlan, Location, NewEvent, OperationKind, Owner, StoreError,
    StoreLimits, StoredTasks, Terms,
};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

const SHOP: &str = concat!(
    shop_tool!("payments", "refund" takes "{amount: {type: number}}"),
    shop_agent!("clerk", "payments: {include: [refund]}"),
    r#"---
kind: celador/v1/policy
namespace: shop
name: money
counters:
  spend: {on: payments, key: context.user.id, window: ever, add: input.amount}
  calls: {on: payments, window: ever}
capabilities:
  payments:
    before:
      - assert: counters.spend + input.amount <= 100 && counters.calls < 50
"#
);

/// A server over a store that serves the shop to callers with tokens.
fn serve(database: Database, folder: &Path) -> Serving {
    std::fs::write(folder.join("shop.yaml"), SHOP).unwrap();
    let log = log_in(&folder.join("log"), SyncMode::System);
    Serving::over_log(database, log, |settings, own| {
        settings.policies = vec![folder.join("shop.yaml")];
        settings.authentication.tokens = Some(own.join("tokens.json"));
    })
}

/// A task of the runtime for a user; its path.
fn begin(serving: &Serving, token: &str, user: &str) -> String {
    let body = json!({"namespace": "shop", "agent": "clerk", "user": {"id": user}});
    let task = serving.post_as(token, "/v1/tasks", &body);
    assert_eq!(task.status, 201, "{}", task.text());
    format!("/v1/tasks/{}", task.json()["task"].as_str().unwrap())
}

/// The decision on a refund, as the runtime is told.
fn refund(serving: &Serving, token: &str, task: &str, amount: i64) -> Value {
    let call = json!({"function": "payments", "arguments": {"amount": amount}});
    serving.post_as(token, &format!("{task}/before"), &call).json()["decided"].clone()
}

fn report(serving: &Serving, token: &str, task: &str, call: &Value) {
    let result = json!({"call": call, "result": {"status": "successful", "output": {}}});
    let reply = serving.post_as(token, &format!("{task}/after"), &result);
    assert_eq!(reply.status, 200, "{}", reply.text());
}

/// The counters of an owner: name, key, what counts, what is held.
fn listed(serving: &Serving, token: &str, query: &str) -> Vec<[String; 4]> {
    let page = serving.get_as(token, &format!("/v1/counters{query}"));
    assert_eq!(page.status, 200, "{}", page.text());
    let rows = page.json()["counters"].as_array().unwrap().clone();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    rows.iter().map(|row| ["name", "key", "counted", "held"].map(|name| text(row, name))).collect()
}

#[test]
fn an_operator_sees_the_counters_of_all_callers_and_resets_one() {
    for (name, database, _folder) in databases() {
        let folder = tempfile::tempdir().unwrap();
        let serving = serve(database, folder.path());
        let runtime = serving.token("desk", &["tasks:read", "tasks:write"]);
        let reader = serving.token("ann", &["counters:read"]);
        let operator = serving.token("lee", &["counters:write"]);
        assert!(listed(&serving, &reader, "").is_empty(), "{name}");
        let task = begin(&serving, &runtime, "u-7");
        let (spent, held) = (refund(&serving, &runtime, &task, 60), refund(&serving, &runtime, &task, 30));
        assert_eq!((&spent["verdict"], &held["verdict"]), (&json!("allow"), &json!("allow")), "{name}");
        report(&serving, &runtime, &task, &spent["call"]);
        let expected = [["calls", "", "2", "1"], ["spend", "\"u-7\"", "90", "30"]];
        assert_eq!(listed(&serving, &reader, ""), expected, "{name}");
        assert_eq!(listed(&serving, &reader, "?owner=desk"), expected, "{name}");
        assert!(listed(&serving, &reader, "?owner=lee").is_empty(), "{name}");
        let blocked = refund(&serving, &runtime, &task, 20);
        assert_eq!(blocked["verdict"], "block", "{name}");

        let reset = |token: &str, change: &Value| {
            let mut body = json!({"owner": "desk", "policy": "shop/money", "name": "spend", "key": "\"u-7\"", "reason": "called back"});
            for (name, value) in change.as_object().unwrap() {
                body[name] = value.clone();
            }
            serving.post_as(token, "/v1/counters/reset", &body)
        };
        // each scope for itself, and nobody's counter is anybody else's
        for token in [&runtime, &reader] {
            assert_eq!(reset(token, &json!({})).status, 403, "{name}");
        }
        assert_eq!(serving.get_as(&operator, "/v1/counters").status, 403, "{name}");
        for (change, status) in [
            (json!({"owner": "lee"}), 404),
            (json!({"owner": ""}), 404),
            (json!({"key": "u-7"}), 404),
            (json!({"key": "\"u-8\""}), 404),
            (json!({"name": "calls"}), 404),
            (json!({"policy": "shop/other"}), 404),
            (json!({"reason": " "}), 400),
            (json!({"held": "0"}), 400),
        ] {
            assert_eq!(reset(&operator, &change).status, status, "{name}: {change}");
        }
        assert_eq!(serving.get_as(&reader, "/v1/counters?after=x").status, 400, "{name}");
        let done = reset(&operator, &json!({}));
        assert_eq!(done.status, 200, "{name}: {}", done.text());
        assert_eq!((&done.json()["counted"], &done.json()["held"]), (&json!("30"), &json!("30")), "{name}");
        let after = [["calls", "", "2", "1"], ["spend", "\"u-7\"", "30", "30"]];
        assert_eq!(listed(&serving, &reader, ""), after, "{name}");

        // what is held stays held until its result is taken, and counts from then on
        assert_eq!(refund(&serving, &runtime, &task, 71)["verdict"], "block", "{name}");
        report(&serving, &runtime, &task, &held["call"]);
        assert_eq!(refund(&serving, &runtime, &task, 71)["verdict"], "block", "{name}");
        assert_eq!(refund(&serving, &runtime, &task, 70)["verdict"], "allow", "{name}");
        let database = serving.stop();
        let tasks = StoredTasks::new(database.clone(), &StoreLimits::default());
        assert_eq!(tasks.verify().unwrap().counters, 2, "{name}");

        // who, when and why, in a log that is whole and lacks nothing
        verify(&folder.path().join("log"), None).unwrap();
        let lines: Vec<Value> = lines(&folder.path().join("log"))
            .into_iter()
            .filter(|line| line["operation"] == "counter_reset")
            .collect();
        assert_eq!(lines.len(), 1, "{name}: {lines:?}");
        for (member, value) in [
            ("at", NOON),
            ("who", "lee"),
            ("owner", "desk"),
            ("subject", "shop/money#spend \"u-7\""),
            ("reason", "called back"),
        ] {
            assert_eq!(lines[0][member], value, "{name}");
        }
        assert!(compared(&database, &[&folder.path().join("log")]).1.is_empty(), "{name}");
    }
}

#[test]
fn the_list_has_pages_and_each_counter_stands_on_one() {
    let (_, database, _) = databases().remove(0);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.yaml"), SHOP).unwrap();
    let serving = Serving::over(database, |settings, _| {
        settings.policies = vec![folder.path().join("shop.yaml")];
        settings.limits.max_page_entries = 2;
    });
    for user in ["a b", "ü", "%", "\"'", "&=#"] {
        let body = json!({"namespace": "shop", "agent": "clerk", "user": {"id": user}});
        let task = serving.post("/v1/tasks", &body).json()["task"].as_str().unwrap().to_owned();
        let call = json!({"function": "payments", "arguments": {"amount": 1}});
        let decided = serving.post(&format!("/v1/tasks/{task}/before"), &call).json();
        assert_eq!(decided["decided"]["verdict"], "allow", "{decided}");
    }
    let (mut seen, mut query) = (Vec::new(), String::new());
    loop {
        let page = serving.get(&format!("/v1/counters{query}")).json();
        let rows = page["counters"].as_array().unwrap();
        assert!(rows.len() <= 2);
        seen.extend(rows.iter().map(|row| row["key"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        let escaped: String = next.bytes().map(|byte| format!("%{byte:02X}")).collect();
        query = format!("?after={escaped}");
    }
    assert_eq!(seen, ["", "\"%\"", "\"&=#\"", "\"\\\"'\"", "\"a b\"", "\"ü\""]);
}

#[test]
fn a_reset_that_cannot_be_stored_forgets_nothing_and_is_on_no_record() {
    let folder = tempfile::tempdir().unwrap();
    let (_, database, _) = databases().remove(0);
    let serving = serve(database, folder.path());
    let runtime = serving.token("desk", &["tasks:read", "tasks:write"]);
    let operator = serving.token("lee", &["counters:read", "counters:write"]);
    let task = begin(&serving, &runtime, "u-7");
    let spent = refund(&serving, &runtime, &task, 60);
    report(&serving, &runtime, &task, &spent["call"]);
    let body =
        json!({"owner": "desk", "policy": "shop/money", "name": "spend", "key": "\"u-7\"", "reason": "r"});
    serving.store_down(true);
    assert_eq!(serving.post_as(&operator, "/v1/counters/reset", &body).status, 503);
    assert_eq!(serving.get_as(&operator, "/v1/counters").status, 503);
    serving.store_down(false);
    assert_eq!(listed(&serving, &operator, "")[1], ["spend", "\"u-7\"", "60", "0"]);
    serving.stop();
    let logged = lines(&folder.path().join("log"));
    assert!(logged.iter().all(|line| line["operation"] != "counter_reset"), "{logged:?}");
}

/// A task of the shop over a store, whose calls are made by hand.
fn task(store: &StoredTasks, id: &str, owner: &Owner) -> (celador::Task, celador_store::TaskHead) {
    let engine = Engine::parse("shop.yaml", SHOP).unwrap();
    let user = User { id: "u-7".into(), email: None, ..User::default() };
    let task = engine.start(StartTask::new(id, "shop", "clerk", user, noon())).unwrap();
    let head = store.create(owner, &task, noon(), None).unwrap();
    (task, head)
}

fn noon() -> Timestamp {
    NOON.parse().unwrap()
}

#[test]
fn resets_beside_reservations_lose_none_of_them() {
    const STEPS: u64 = 40;
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(database, &StoreLimits::default());
        let desk = Owner::caller("desk");
        let spend = CounterId::new("shop/money", "spend", "");
        let one = |call: String| Reservation {
            counter: spend.clone(),
            window: "ever".parse().unwrap(),
            call,
            amount: Amount::from_int(1).unwrap().into(),
        };
        let over = AtomicBool::new(false);
        let resets = std::thread::scope(|scope| {
            let resetting = scope.spawn(|| {
                let mut resets = 0;
                while !over.load(Ordering::SeqCst) {
                    let reset = CounterReset { at: noon(), who: "lee", reason: "r" };
                    match store.reset_counter(&desk, &spend, &reset, |line| Some(DueLine::for_any_log(line)))
                    {
                        Ok(_) => resets += 1,
                        Err(StoreError::NotFound) => {}
                        Err(error) => panic!("{name}: {error}"),
                    }
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                resets
            });
            // each step holds 1 and spends 1 at once, on a version that no reset may make stale
            let (mut task, mut head) = task(&store, "t-1", &desk);
            for number in 0..STEPS {
                let before = task.mark();
                let decision = task.model_turn(Usage::default(), noon());
                let version = store.counters(&desk, std::slice::from_ref(&spend)).unwrap()[0].version;
                assert_eq!(version, number * 2, "{name}: a reset is no reservation");
                let counters = CounterChanges {
                    read: vec![CounterRead { counter: spend.clone(), version }],
                    reserve: vec![one(format!("held-{number}"))],
                    spend: vec![one(format!("spent-{number}"))],
                    ..CounterChanges::default()
                };
                let step = NewEvent {
                    operation: OperationKind::ModelTurn,
                    at: noon(),
                    task: &task,
                    before: &before,
                    decision: Some(&decision),
                    once: None,
                };
                head = store.append_under(&head, &step, Terms { counters, ..Terms::default() }).unwrap();
            }
            over.store(true, Ordering::SeqCst);
            assert_eq!(head.holds().len() as u64, STEPS, "{name}");
            resetting.join().unwrap()
        });
        assert!(resets > 0, "{name}");
        let reset = CounterReset { at: noon(), who: "lee", reason: "r" };
        let line = |line| Some(DueLine::for_any_log(line));
        store.reset_counter(&desk, &spend, &reset, line).unwrap();
        let state = store.counters(&desk, std::slice::from_ref(&spend)).unwrap().remove(0);
        let held = Amount::from_uint(STEPS).unwrap();
        assert_eq!(
            (state.tally.held(), state.counted("ever".parse().unwrap(), noon())),
            (held, held),
            "{name}"
        );
        store.verify().unwrap();
    }
}

#[test]
fn a_reset_whose_commit_fails_is_none() {
    let (_, database, _) = databases().remove(0);
    let store = StoredTasks::new(database.clone(), &StoreLimits::default());
    let desk = Owner::caller("desk");
    let (mut task, head) = task(&store, "t-1", &desk);
    let before = task.mark();
    let decision = task.model_turn(Usage::default(), noon());
    let spend = CounterId::new("shop/money", "spend", "");
    let counters = CounterChanges {
        spend: vec![Reservation {
            counter: spend.clone(),
            window: "ever".parse().unwrap(),
            call: "c".into(),
            amount: Amount::from_int(3).unwrap().into(),
        }],
        ..CounterChanges::default()
    };
    let operation = OperationKind::ModelTurn;
    let step = NewEvent {
        operation,
        at: noon(),
        task: &task,
        before: &before,
        decision: Some(&decision),
        once: None,
    };
    store.append_under(&head, &step, Terms { counters, ..Terms::default() }).unwrap();
    let reset = CounterReset { at: noon(), who: "lee", reason: "r" };
    let counted = || store.counters(&desk, std::slice::from_ref(&spend)).unwrap()[0].clone();
    let owed = || database.read(|sql| sql.query("SELECT 1 FROM decision_line", &[])).unwrap().len();
    database.faults().plan(FaultPlan::Everything);
    assert!(store.reset_counter(&desk, &spend, &reset, |line| Some(DueLine::for_any_log(line))).is_err());
    database.faults().plan(FaultPlan::Nothing);
    let count = || counted().counted("ever".parse().unwrap(), noon()).to_int();
    assert_eq!((count(), owed()), (3, 0));
    for reason in ["", " ", &"x".repeat(EngineLimits::default().max_reason_bytes + 1)] {
        let reset = CounterReset { reason, ..reset };
        let done = store.reset_counter(&desk, &spend, &reset, |_| None);
        assert!(matches!(done, Err(StoreError::NotStorable(_))), "{done:?}");
    }
    store.reset_counter(&desk, &spend, &reset, |line| Some(DueLine::for_any_log(line))).unwrap();
    assert_eq!((count(), owed()), (0, 1));
}

#[test]
fn the_command_lists_and_resets_beside_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("celador.db");
    let file = Location::File(path.clone());
    let serving = serve(Database::open(&file, &StoreLimits::default()).unwrap(), folder.path());
    let runtime = serving.token("desk", &["tasks:read", "tasks:write"]);
    let task = begin(&serving, &runtime, "u-7");
    let (spent, held) = (refund(&serving, &runtime, &task, 60), refund(&serving, &runtime, &task, 30));
    assert_eq!(held["verdict"], "allow");
    report(&serving, &runtime, &task, &spent["call"]);
    let celador = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
        let command = command.arg("counters").args(arguments).env("CELADOR_STORE", &path).env("USER", "kim");
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
        (output.status.code(), text)
    };
    let both = "desk shop/money#calls - 2 1 ever\ndesk shop/money#spend \"u-7\" 90 30 ever\n";
    assert_eq!(celador(&["list"]), (Some(0), both.to_owned()));
    assert_eq!(celador(&["list", "--owner", "desk"]).1, both);
    assert_eq!(celador(&["list", "--owner", ""]), (Some(0), String::new()));
    let (code, text) = celador(&["list", "--format", "json"]);
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (code, rows.len(), &rows[1]["key"], &rows[1]["held"]),
        (Some(0), 2, &json!("\"u-7\""), &json!("30"))
    );

    let reset = ["reset", "shop/money#spend", "--reason", "called back"];
    assert_eq!(celador(&[&reset[..], &["--key", "u-7"]].concat()).0, Some(2), "nobody has such a counter");
    assert_eq!(celador(&[&reset[..], &["--owner", "desk"]].concat()).0, Some(2));
    assert_eq!(celador(&["reset", "spend", "--reason", "r"]).0, Some(1));
    assert_eq!(celador(&["reset", "shop/money#spend"]).0, Some(1), "a reason is needed");
    let (code, text) = celador(&[&reset[..], &["--owner", "desk", "--key", "u-7"]].concat());
    assert_eq!((code, &*text), (Some(0), "desk shop/money#spend \"u-7\" 30 30 ever\n"));
    let named = ["--owner", "desk", "--listed-key", "\"u-7\""];
    assert_eq!(celador(&[&reset[..], &named].concat()).0, Some(0));
    // the server sees it at once, and its log takes the lines over
    assert_eq!(refund(&serving, &runtime, &task, 71)["verdict"], "block");
    assert_eq!(refund(&serving, &runtime, &task, 70)["verdict"], "allow");
    serving.server.as_ref().unwrap().sweep();
    serving.stop();
    let resets: Vec<Value> = lines(&folder.path().join("log"))
        .into_iter()
        .filter(|line| line["operation"] == "counter_reset")
        .collect();
    assert_eq!(resets.len(), 2, "{resets:?}");
    assert_eq!((&resets[0]["who"], &resets[0]["reason"]), (&json!("kim"), &json!("called back")));
}

/// The second policy counts what the first one does, is lower, and is only tried out.
fn with_a_policy_that_is_tried_out() -> String {
    let policy = &SHOP[SHOP.find("---\nkind: celador/v1/policy").unwrap()..];
    let next = policy.replace("name: money", "name: next\nmode: observe").replace("<= 100", "<= 10");
    format!("{SHOP}{next}")
}

#[test]
fn what_is_tried_out_counts_beside_and_refuses_nothing_on_each_store() {
    for (name, database, _folder) in databases() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.yaml");
        std::fs::write(&path, with_a_policy_that_is_tried_out()).unwrap();
        let serving = Serving::over(database, |settings, _| settings.policies = vec![path]);
        let body = json!({"namespace": "shop", "agent": "clerk", "user": {"id": "u-7"}});
        let task = serving.post("/v1/tasks", &body).json()["task"].as_str().unwrap().to_owned();
        let refund = |amount: i64| {
            let call = json!({"function": "payments", "arguments": {"amount": amount}});
            serving.post(&format!("/v1/tasks/{task}/before"), &call).json()["decided"].clone()
        };
        let (first, second, third) = (refund(60), refund(30), refund(20));
        let verdicts = [&first, &second, &third].map(|decided| decided["verdict"].as_str().unwrap());
        assert_eq!(verdicts, ["allow", "allow", "block"], "{name}");
        for decided in [&first, &second] {
            assert_eq!(decided["observed"][0]["verdict"], "block", "{name}: {decided}");
            assert_eq!(decided["counters"].as_array().unwrap().len(), 4, "{name}");
        }
        let result = json!({"call": first["call"], "result": {"status": "successful", "output": {}}});
        assert_eq!(serving.post(&format!("/v1/tasks/{task}/after"), &result).status, 200, "{name}");
        let metrics = serving.get("/metrics").text();
        let tried = "celador_observed_steps_total{operation=\"before\",outcome=\"block\"} 2";
        assert!(metrics.contains(tried), "{name}: {metrics}");
        let page = serving.get("/v1/counters").json();
        let rows = page["counters"].as_array().unwrap();
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                ["policy", "name", "counted", "held"].map(|name| row[name].as_str().unwrap().to_owned())
            })
            .collect();
        let expected = [
            ["shop/money", "calls", "2", "1"],
            ["shop/money", "spend", "90", "30"],
            ["shop/next (observed)", "calls", "2", "1"],
            ["shop/next (observed)", "spend", "90", "30"],
        ];
        assert_eq!(rows, expected, "{name}");
        let tasks = StoredTasks::new(serving.stop(), &StoreLimits::default());
        assert_eq!(tasks.verify().unwrap().counters, 4, "{name}");
    }
}

#[test]
fn two_servers_whose_calls_read_two_counters_in_opposite_order_wait_for_nobody_for_ever() {
    const EACH: i64 = 12;
    // the same policy, whose two counters are written and read in this order
    let manifests = |counters: [&str; 2]| {
        let shop = &SHOP[..SHOP.find("---\nkind: celador/v1/policy").unwrap()];
        let [first, second] = counters.map(|name| format!("  {name}: {{on: payments, window: ever}}\n"));
        let [one, other] = counters.map(|name| format!("{{assert: counters.{name} < 1000}}"));
        format!(
            "{shop}---\nkind: celador/v1/policy\nnamespace: shop\nname: both\ncounters:\n{first}{second}capabilities:\n  \
             payments:\n    before: [{one}, {other}]\n"
        )
    };
    let location = PostgresServer::shared().database();
    let open = || Database::open(&Location::parse(&location), &StoreLimits::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let serving = [["left", "right"], ["right", "left"]].map(|counters| {
        let path = folder.path().join(format!("{}-first.yaml", counters[0]));
        std::fs::write(&path, manifests(counters)).unwrap();
        Serving::over(open(), |settings, _| settings.policies = vec![path])
    });
    let began = std::time::Instant::now();
    let allowed: Vec<i64> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..6)
            .map(|client| {
                let serving = &serving[client % 2];
                scope.spawn(move || {
                    let body = json!({"namespace": "shop", "agent": "clerk", "user": {"id": "u-7"}});
                    let task = serving.post("/v1/tasks", &body).json()["task"].as_str().unwrap().to_owned();
                    let mut allowed = 0;
                    while allowed < EACH {
                        let call = json!({"function": "payments", "arguments": {"amount": 1}});
                        let answer = serving.post(&format!("/v1/tasks/{task}/before"), &call);
                        match answer.status {
                            200 if answer.json()["decided"]["verdict"] == "allow" => allowed += 1,
                            // others were first, again and again
                            409 => {}
                            status => panic!("{status}: {}", answer.text()),
                        }
                    }
                    allowed
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let all: i64 = allowed.iter().sum();
    assert_eq!(all, EACH * 6);
    println!("{all} calls that read two counters in opposite order on two servers: {:?}", began.elapsed());
    let rows: Vec<_> = serving[0].get("/v1/counters").json()["counters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str().unwrap().to_owned(), row["held"].as_str().unwrap().to_owned()))
        .collect();
    // no half of a reservation
    assert_eq!(rows, ["left", "right"].map(|name| (name.to_owned(), all.to_string())));
    let tasks = StoredTasks::new(open(), &StoreLimits::default());
    assert_eq!(tasks.verify().unwrap().counters, 2);
}
