//! Switches of an operator: what is stopped, from which step on, and what is recorded all the same.

use crate::serving::Serving;
use crate::store_database::databases;
use crate::store_fixture::second;
use crate::task_fixture::{call, decided, engine, noon, see, start};
use celador::EngineLimits;
use celador::task::{Answer, CallResult, Content, Delivery, Next, Progress, Switch, Usage, VerdictKind};
use celador_store::decision_log::{DecisionLog, LogSettings};
use celador_store::{Database, Location, StoreError, StoreLimits, StoredSwitches, StoredTasks};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

fn tool(name: &str, function: Option<&str>) -> Switch {
    Switch::Tool { namespace: "demo".into(), name: name.into(), function: function.map(str::to_owned) }
}

fn clerk() -> Switch {
    Switch::Agent { namespace: "demo".into(), name: "clerk".into() }
}

const AGENT: &str = "capabilities:
  ledger:
    before:
    - {assert: \"input.memo != 'ask' || review('boss')\"}
    - {condition: \"input.memo == 'note'\", invoke: 'audit:append', bindings: {what: \"'n'\"}, on_fail: continue}
    - {condition: \"input.memo == 'must'\", invoke: 'audit:append', bindings: {what: \"'n'\"}}
  audit: \"*\"
";

fn posting(memo: &str) -> celador::task::Call {
    call("ledger_post_entry", json!({ "amount": 1, "memo": memo, "account": "a" }))
}

#[test]
fn a_switch_is_read_as_it_is_written() {
    for switch in
        [tool("ledger", None), tool("ledger", Some("post_entry")), clerk(), Switch::User { name: "u".into() }]
    {
        let written = serde_json::to_value(&switch).unwrap();
        assert_eq!(serde_json::from_value::<Switch>(written).unwrap(), switch);
    }
    for (written, said) in [
        (json!({"kind": "agent", "name": "clerk"}), "expected `namespace` and `name` of an agent"),
        (
            json!({"kind": "agent", "namespace": "demo", "name": "clerk", "function": "f"}),
            "expected `namespace` and `name` of an agent",
        ),
        (
            json!({"kind": "tool", "name": "ledger"}),
            "expected `namespace`, `name` and perhaps `function` of a tool",
        ),
        (json!({"kind": "user", "namespace": "demo", "name": "u"}), "expected `name` of a user"),
        (json!({"kind": "user"}), "missing field `name`"),
        (json!({"name": "u"}), "missing field `kind`"),
        (json!({"kind": "user", "name": "u", "until": 5}), "unknown field `until`"),
    ] {
        let error = serde_json::from_value::<Switch>(written).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

#[test]
fn a_tool_that_is_stopped_is_refused_to_the_model_by_name_and_its_results_are_taken() {
    let engine = engine("capabilities:\n  ledger: \"*\"\n");
    let mut task = start(&engine);
    let open = decided(task.before(&posting("m"), noon()).unwrap()).call.unwrap();
    for switch in [
        tool("ledger", None),
        tool("ledger", Some("post_entry")),
        tool("ledger", Some("post-entry")),
        tool("ledger", Some("ledger_post_entry")),
    ] {
        assert!(engine.switches().turn_on(switch.clone()) && !engine.switches().turn_on(switch.clone()));
        for progress in [
            task.before(&posting("m"), noon()).unwrap().into_progress(),
            task.invoke(&posting("m"), noon()).unwrap().into_progress(),
        ] {
            let refused = decided(progress);
            assert_eq!(
                (refused.verdict.kind(), refused.verdict.switch()),
                (VerdictKind::Block, Some(&switch))
            );
            assert!(refused.verdict.message().unwrap().contains("an operator has stopped"), "{switch}");
        }
        let kept = task.execute(&open, noon()).unwrap();
        assert_eq!(decided(kept).verdict.switch(), Some(&switch));
        assert!(engine.switches().turn_off(&switch) && !engine.switches().turn_off(&switch));
    }
    // another action of the tool, another tool and another namespace stop nothing here
    let others = [tool("ledger", Some("other")), tool("audit", None)];
    assert!(others.into_iter().all(|switch| engine.switches().turn_on(switch)));
    engine.switches().turn_on(Switch::Tool {
        namespace: "else".into(),
        name: "ledger".into(),
        function: None,
    });
    assert_eq!(decided(task.before(&posting("m"), noon()).unwrap()).verdict.kind(), VerdictKind::Allow);
    engine.switches().turn_on(tool("ledger", None));
    let result = CallResult::successful(json!({ "ok": true }).into());
    let taken = decided(task.after(&open, result, noon()).unwrap());
    assert_eq!((taken.verdict.kind(), taken.verdict.switch()), (VerdictKind::Allow, None));
    assert_eq!(see(&task, "c.cap.ledger_post_entry.successful.filter(s, s).size()"), json!(1));
    assert_eq!(see(&task, "c.cap.ledger_post_entry.restricted.filter(s, s).size()"), json!(8));
    // model, input and output have nothing to do with the tool
    assert_eq!(decided(task.input(&json!("Hello").into(), noon())).verdict.kind(), VerdictKind::Allow);
}

#[test]
fn an_agent_or_user_that_is_stopped_begins_nothing_and_goes_on_later() {
    let engine = engine("capabilities:\n  ledger: \"*\"\n");
    let mut task = start(&engine);
    let open = decided(task.before(&posting("m"), noon()).unwrap()).call.unwrap();
    for switch in [clerk(), Switch::User { name: "u-1".into() }] {
        engine.switches().turn_on(switch.clone());
        let before = task.context_json().unwrap().to_string();
        let settings = BTreeMap::new();
        let delivery = Delivery::new("ledger", "none", Content::Payload(json!({}).into()));
        let steps = [
            task.input(&json!("Hello").into(), noon()).into_progress(),
            task.output(&json!("Bye").into(), noon()).into_progress(),
            task.limits(Next::ModelTurn, noon()).into(),
            task.before(&posting("m"), noon()).unwrap().into_progress(),
            task.invoke(&posting("m"), noon()).unwrap().into_progress(),
            task.execute(&open, noon()).unwrap().into_progress(),
            task.script("ledger_post_entry({'amount': 1, 'memo': 'm', 'account': 'a'})", noon())
                .unwrap()
                .into_progress(),
            task.event(&delivery, &settings, noon()).into_progress(),
        ];
        for (number, step) in steps.into_iter().enumerate() {
            let refused = decided(step);
            assert_eq!(
                (refused.verdict.kind(), refused.verdict.switch()),
                (VerdictKind::Rejected, Some(&switch)),
                "{number}"
            );
        }
        assert_eq!(task.context_json().unwrap().to_string(), before, "nothing has happened");
        // a turn that the model has made is counted, and leads nowhere
        let turn =
            task.model_turn(Usage { prompt_tokens: 5, completion_tokens: 1, ..Usage::default() }, noon());
        assert_eq!(turn.verdict.switch(), Some(&switch));
        // a task that begins now is stopped as well
        assert_eq!(
            decided(start(&engine).input(&json!("Hello").into(), noon())).verdict.switch(),
            Some(&switch)
        );
        engine.switches().turn_off(&switch);
        assert_eq!(decided(task.input(&json!("Hello").into(), noon())).verdict.kind(), VerdictKind::Allow);
    }
    assert_eq!(see(&task, "context.llm.tokens.total"), json!(12));
    engine.switches().turn_on(clerk());
    let taken = task.after(&open, CallResult::successful(json!({ "ok": true }).into()), noon()).unwrap();
    assert_eq!(decided(taken).verdict.kind(), VerdictKind::Allow);
    assert_eq!(see(&task, "c.cap.ledger_post_entry.successful.filter(s, s).size()"), json!(1));
    // it can be ended all the same
    assert_eq!(task.end("stopped for good", noon()).verdict.kind(), VerdictKind::Terminate);
}

#[test]
fn what_waits_when_a_switch_is_turned_gets_no_further() {
    let engine = engine(AGENT);
    let mut task = start(&engine);
    // an approval of a call whose tool was stopped meanwhile lets nothing through
    assert!(matches!(task.before(&posting("ask"), noon()).unwrap().into_progress(), Progress::Asks(_)));
    engine.switches().turn_on(tool("ledger", None));
    let refused = decided(task.resume(Answer::approve(), noon()).unwrap());
    assert_eq!(
        (refused.verdict.kind(), refused.verdict.switch()),
        (VerdictKind::Block, Some(&tool("ledger", None)))
    );
    engine.switches().turn_off(&tool("ledger", None));
    // that of a task whose agent was stopped is not taken, and can be given again
    assert!(matches!(task.before(&posting("ask"), noon()).unwrap().into_progress(), Progress::Asks(_)));
    engine.switches().turn_on(clerk());
    let refused = decided(task.resume(Answer::approve(), noon()).unwrap());
    assert_eq!((refused.verdict.kind(), refused.verdict.switch()), (VerdictKind::Rejected, Some(&clerk())));
    engine.switches().turn_off(&clerk());
    assert_eq!(decided(task.resume(Answer::approve(), noon()).unwrap()).verdict.kind(), VerdictKind::Allow);
    // a call that is being carried out is recorded, whatever was stopped meanwhile
    assert!(matches!(task.invoke(&posting("m"), noon()).unwrap().into_progress(), Progress::Asks(_)));
    engine.switches().turn_on(clerk());
    engine.switches().turn_on(tool("ledger", None));
    let result = CallResult::successful(json!({ "ok": true }).into());
    assert_eq!(
        decided(task.resume(Answer::Result(result), noon()).unwrap()).verdict.kind(),
        VerdictKind::Allow
    );
    assert_eq!(see(&task, "c.cap.ledger_post_entry.successful.filter(s, s).size()"), json!(1));
}

#[test]
fn an_invoke_step_of_a_stopped_tool_fails_and_its_on_fail_decides() {
    let engine = engine(AGENT);
    let mut task = start(&engine);
    engine.switches().turn_on(tool("audit", Some("append")));
    let goes_on = decided(task.before(&posting("note"), noon()).unwrap());
    assert_eq!(goes_on.verdict.kind(), VerdictKind::Allow);
    assert!(goes_on.findings.iter().any(|finding| finding.code == "switched_off"), "{:?}", goes_on.findings);
    let fails = decided(task.before(&posting("must"), noon()).unwrap());
    assert_eq!((fails.verdict.kind(), fails.verdict.switch()), (VerdictKind::Block, None));
    assert!(!task.context_json().unwrap().to_string().contains("\"what\""), "it was not called");
}

#[test]
fn turns_are_kept_with_who_and_why_and_an_altered_one_is_found() {
    for (name, database, _folder) in databases() {
        let engine = EngineLimits { max_reason_bytes: 8, ..EngineLimits::default() };
        let limits = StoreLimits { engine, ..StoreLimits::default() };
        let switches = StoredSwitches::new(database.clone(), &limits);
        assert_eq!(switches.version(), Ok(0), "{name}");
        let turn = |switch: &Switch, on: bool| switches.turn(switch, on, second(1), "kim", "a reason");
        assert_eq!(turn(&clerk(), false), Err(StoreError::NotFound), "{name}");
        assert_eq!(turn(&clerk(), true).unwrap().number, 1, "{name}");
        assert_eq!(turn(&tool("ledger", None), true).unwrap().number, 2, "{name}");
        assert_eq!(turn(&clerk(), false).unwrap().number, 3, "{name}");
        for reason in ["", "\t", "123456789"] {
            let refused = switches.turn(&clerk(), true, second(1), "kim", reason);
            assert!(matches!(refused, Err(StoreError::NotStorable(_))), "{name} {reason:?}");
        }
        let present = switches.on().unwrap();
        assert_eq!((present.version, present.on.len()), (3, 1), "{name}");
        assert_eq!((&present.on[0].switch, &*present.on[0].who), (&tool("ledger", None), "kim"), "{name}");
        let history = switches.history(1, 9).unwrap();
        assert_eq!(
            history.iter().map(|turn| (turn.number, turn.on)).collect::<Vec<_>>(),
            [(2, true), (3, false)]
        );
        let tasks = StoredTasks::new(database.clone(), &StoreLimits::default());
        tasks.verify().unwrap();
        database.write(|sql| sql.execute("DELETE FROM switch_turn WHERE number = 2", &[])).unwrap();
        assert!(matches!(switches.on(), Err(StoreError::Corrupt(_))), "{name}");
        assert!(matches!(tasks.verify(), Err(StoreError::Corrupt(_))), "{name}");
    }
}

fn fetch() -> Value {
    json!({"function": "zendesk_fetch_ticket", "arguments": {}})
}

#[test]
fn a_switch_is_in_force_at_the_next_step_of_every_server() {
    let folder = tempfile::tempdir().unwrap();
    let log = DecisionLog::open(LogSettings::new(folder.path()), noon()).unwrap();
    let first = Serving::over_log(
        Database::open(&Location::Memory, &StoreLimits::default()).unwrap(),
        log,
        |_, _| {},
    );
    let second = Serving::over(first.database.clone(), |_, _| {});
    let task = first.task();
    let let_through = second.post(&format!("{task}/before"), &fetch()).json();
    assert_eq!(let_through["decided"]["verdict"], "allow");
    let zendesk = json!({"kind": "tool", "namespace": "support", "name": "zendesk"});
    for (body, status) in [
        (json!({"switch": zendesk, "reason": ""}), 400),
        (json!({"switch": zendesk}), 400),
        (json!({"switch": {"kind": "tool", "name": "zendesk"}, "reason": "r"}), 400),
        (json!({"switch": {"kind": "user", "name": "u", "namespace": "n"}, "reason": "r"}), 400),
    ] {
        let headers = [("content-type", "application/json")];
        let reply = first.send_anything("POST", "/v1/switches", &headers, body.to_string().as_bytes());
        assert_eq!(reply.status, status, "{body}");
    }
    let on = first.post("/v1/switches", &json!({"switch": zendesk, "reason": "leaks"}));
    assert_eq!((on.status, &on.json()["switch"], &on.json()["on"]), (200, &zendesk, &json!(true)));
    // the other server has the task in memory and was told nothing
    for serving in [&second, &first] {
        let stopped = serving.post(&format!("{task}/before"), &fetch()).json();
        assert_eq!(
            (&stopped["decided"]["verdict"], &stopped["decided"]["switch"]),
            (&json!("block"), &zendesk)
        );
    }
    let result = json!({"call": let_through["decided"]["call"], "result": {"status": "successful", "output": {"id": 1}}});
    assert!(second.post(&format!("{task}/after"), &result).json()["decided"]["switch"].is_null());
    let listed = second.get("/v1/switches").json();
    assert_eq!((&listed["version"], &listed["switches"][0]["reason"]), (&json!(1), &json!("leaks")));
    // the whole agent, then nothing any more; what is refused is not stored, and no server lags behind
    let agent = json!({"kind": "agent", "namespace": "support", "name": "support-desk"});
    assert_eq!(second.post("/v1/switches", &json!({"switch": agent, "reason": "stop"})).status, 200);
    let turn = json!({"prompt_tokens": 1, "completion_tokens": 1});
    for serving in [&first, &second] {
        assert_eq!(
            serving.post(&format!("{task}/limits"), &json!({"next": "other"})).json()["decided"]["switch"],
            agent
        );
    }
    let third = Serving::over(first.database.clone(), |_, _| {});
    assert_eq!(
        third.post(&format!("{task}/limits"), &json!({"next": "other"})).json()["decided"]["switch"],
        agent
    );
    let off = |serving: &Serving, query: &str| {
        serving.send("DELETE", &format!("/v1/switches?{query}"), &[], b"").status
    };
    assert_eq!(off(&first, "kind=agent&namespace=support&name=support-desk&reason=cleared"), 200);
    for serving in [&second, &third] {
        assert_eq!(serving.post(&format!("{task}/model-turn"), &turn).json()["decided"]["verdict"], "allow");
    }
    assert_eq!(off(&first, "kind=agent&namespace=support&name=support-desk&reason=cleared"), 404);
    assert_eq!(off(&first, "kind=agent&name=support-desk&reason=cleared"), 400);
    assert_eq!(off(&first, "kind=tool&namespace=support&name=zendesk"), 400);
    let history = third.get("/v1/switches/history?after=1").json();
    assert_eq!((history["turns"].as_array().unwrap().len(), &history["turns"][1]["on"]), (2, &json!(false)));
    first.stop();
    celador_store::decision_log::verify(folder.path(), None).unwrap();
    let lines = fs::read_to_string(folder.path().join("decisions-000000000001.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let turns: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["operation"].as_str().filter(|operation| operation.starts_with("switch")))
        .collect();
    assert_eq!(turns, ["switch_on", "switch_on", "switch_off"]);
    assert!(lines.iter().any(|line| line["verdict"] == "block" && line["switch"] == zendesk));
}

#[test]
fn to_turn_a_switch_needs_its_own_scope() {
    let serving = Serving::with_tokens();
    let kim = serving.token("kim", &["tasks:read", "tasks:write", "switches:read"]);
    let body = json!({"switch": {"kind": "user", "name": "u-7"}, "reason": "r"});
    assert_eq!(serving.post_as(&kim, "/v1/switches", &body).status, 403);
    assert_eq!(serving.get_as(&kim, "/v1/switches").json()["switches"], json!([]));
    let operator = serving.token("lee", &["switches:write"]);
    assert_eq!(serving.post_as(&operator, "/v1/switches", &body).json()["who"], "lee");
    // what cannot be written into an address could not be turned off
    let long = json!({"switch": {"kind": "user", "name": "z".repeat(5_000)}, "reason": "r"});
    assert_eq!(serving.post_as(&operator, "/v1/switches", &long).status, 400);
    // those of all callers are stopped
    let task = serving.new_task(Some(&kim));
    let step = serving.post_as(&kim, &format!("{task}/limits"), &json!({"next": "other"})).json();
    assert_eq!(step["decided"]["switch"], json!({"kind": "user", "name": "u-7"}));
}

#[test]
fn the_command_turns_switches_of_a_store_that_a_server_uses() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("celador.db");
    let serving = Serving::with(&Location::File(path.clone()), |_, _| {});
    let task = serving.task();
    let celador = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
        let output =
            command.arg("switch").args(arguments).env("CELADOR_STORE", &path).env("USER", "kim").output();
        let output = output.unwrap();
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
        (output.status.code(), text)
    };
    let (code, text) =
        celador(&["on", "--tool", "support/zendesk", "--function", "fetch_ticket", "--reason", "leaks"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("on the function `fetch_ticket` of the tool `support/zendesk`, by kim: leaks"),
        "{text}"
    );
    let stopped = serving.post(&format!("{task}/before"), &fetch()).json();
    assert_eq!(stopped["decided"]["switch"]["function"], "fetch_ticket");
    assert_eq!(celador(&["off", "--user", "u-1", "--reason", "r"]).0, Some(2));
    assert_eq!(celador(&["on", "--agent", "desk", "--reason", "r"]).0, Some(1));
    assert_eq!(celador(&["on", "--reason", "r"]).0, Some(1));
    assert_eq!(celador(&["list"]).1.lines().count(), 1);
    let off = ["off", "--tool", "support/zendesk", "--function", "fetch_ticket", "--reason", "mended"];
    assert_eq!(celador(&off).0, Some(0));
    assert_eq!(celador(&["list"]).1, "");
    assert_eq!(celador(&["list", "--history"]).1.lines().count(), 2);
    assert_eq!(serving.post(&format!("{task}/before"), &fetch()).json()["decided"]["verdict"], "allow");
    serving.get("/v1/switches");
}
