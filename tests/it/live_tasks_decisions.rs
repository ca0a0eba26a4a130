//! What an operator decides about the policy of one task: over HTTP and at the command line, who may, and what is on record.

use crate::live_tasks::{Shop, before, begin, call, decide, held, manifest, policy, verdict};
use crate::serving::Serving;
use celador_server::LiveTasks;
use celador_store::decision_log::{DecisionLog, LogSettings};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn an_operator_decides_for_one_task() {
    for live_tasks in [LiveTasks::Lock, LiveTasks::Adopt] {
        let shop = Shop::new(live_tasks);
        let mut serving = shop.start();
        let tasks = [(); 2].map(|()| {
            let task = begin(&serving);
            // no other policy than this one can go on here
            let question = json!({"function": "pay", "arguments": {"amount": 7}});
            if live_tasks == LiveTasks::Adopt {
                serving.post(&format!("{task}/before"), &question);
            }
            task
        });
        let [first, second] = tasks.each_ref();
        shop.serve(&serving, &manifest(10));
        held(&call(&serving, first, 1));
        if live_tasks == LiveTasks::Lock {
            let adopted = decide(&serving, first, "adopt").json();
            assert_eq!(
                (&adopted["policy"]["current"], &adopted["policy"]["held"]),
                (&json!(true), &json!(null))
            );
            assert_eq!(verdict(&serving, first, 20), "block");
            // once is once
            shop.serve(&serving, &manifest(15));
            held(&call(&serving, first, 1));
        }
        let kept = decide(&serving, second, "keep").json();
        assert_eq!((&kept["policy"]["current"], &kept["policy"]["held"]), (&json!(false), &json!(null)));
        for (restarted, most) in [(false, 16), (true, 17), (true, 18)] {
            if restarted {
                drop(serving.stop());
                serving = shop.start();
            }
            shop.serve(&serving, &manifest(most));
            let answer = serving.post(&format!("{second}/resume"), &json!({"answer": {"review": true}}));
            if answer.status == 200 {
                assert_eq!(answer.json()["decided"]["verdict"], "allow", "{}", answer.text());
            }
            assert_eq!(verdict(&serving, second, 900), "allow");
            let decided = policy(&serving, second)["decided"].clone();
            assert_eq!((&decided["decision"], &decided["reason"]), (&json!("keep"), &json!("it may")));
        }
        let events = serving.get(&format!("{second}/events")).json()["events"].clone();
        let event = events.as_array().unwrap().iter().find(|event| event["operation"] == "policy");
        assert_eq!(event.map(|event| &event["decision"]), Some(&Value::Null));
        // what was kept can be given up
        assert_eq!(decide(&serving, second, "adopt").status, 200);
        assert_eq!(verdict(&serving, second, 900), "block");
        shop.verify().unwrap();
    }
}

/// The lines of a decision log.
fn lines_of(folder: &Path) -> Vec<Value> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let texts = files.map(|file| fs::read_to_string(file).unwrap_or_default());
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    lines.filter_map(|line| serde_json::from_str(&line).ok()).collect()
}

#[test]
fn deciding_needs_a_scope_of_its_own_and_is_on_record() {
    let shop = Shop::new(LiveTasks::Lock);
    let logs = tempfile::tempdir().unwrap();
    let log =
        DecisionLog::open(LogSettings::new(logs.path().to_owned()), "2026-06-01T12:00:00Z".parse().unwrap());
    let serving = Serving::over_log(shop.database.clone(), log.unwrap(), |settings, folder| {
        settings.policies = vec![shop.file()];
        settings.live_tasks = LiveTasks::Lock;
        settings.authentication.tokens = Some(folder.join("tokens.json"));
    });
    let runtime = serving.token("did:web:runtime", &["tasks:read", "tasks:write", "tasks:purge"]);
    let operator = serving.token("did:web:operator", &["policies:write"]);
    let start = json!({"namespace": "n", "agent": "a", "user": {"id": "u"}});
    let id = serving.post_as(&runtime, "/v1/tasks", &start).json()["task"].as_str().unwrap().to_owned();
    let path = format!("/v1/tasks/{id}");
    shop.serve(&serving, &manifest(10));
    let step = |amount| {
        let arguments = json!({"function": "pay", "arguments": {"amount": amount}});
        serving.post_as(&runtime, &format!("{path}/before"), &arguments)
    };
    held(&step(1));
    let decide = |token: &str, body: Value| serving.post_as(token, &format!("{path}/policy"), &body);
    let decision = json!({"decision": "adopt", "reason": "harmless", "owner": "did:web:runtime"});
    assert_eq!(decide(&runtime, decision.clone()).status, 403);
    // the task is the runtime's: under the operator's own name there is none
    assert_eq!(decide(&operator, json!({"decision": "adopt", "reason": "harmless"})).status, 404);
    for bad in [
        json!({"decision": "adopt", "reason": " ", "owner": "did:web:runtime"}),
        json!({"decision": "lock", "reason": "r", "owner": "did:web:runtime"}),
        json!({"decision": "adopt", "owner": "did:web:runtime"}),
        json!({"decision": "adopt", "reason": "r", "who": "me"}),
    ] {
        assert_eq!(decide(&operator, bad.clone()).status, 400, "{bad}");
    }
    held(&step(1));
    assert_eq!(decide(&operator, decision).status, 200);
    assert_eq!(step(1).json()["decided"]["verdict"], "allow");
    let decided = serving.get_as(&runtime, &path).json()["policy"]["decided"].clone();
    assert_eq!((&decided["who"], &decided["reason"]), (&json!("did:web:operator"), &json!("harmless")));
    drop(serving.stop());
    let lines = lines_of(logs.path());
    let line = lines.iter().find(|line| line["operation"] == "policy_adopt").expect("a line");
    assert_eq!(
        (&line["who"], &line["task"], &line["owner"], &line["reason"]),
        (&json!("did:web:operator"), &json!(id), &json!("did:web:runtime"), &json!("harmless"))
    );
}

/// The command line decides beside a server that has the task in memory.
#[test]
fn the_command_line_decides_too() {
    let shop = Shop::new(LiveTasks::Lock);
    let serving = shop.start();
    let [adopted, kept, ended] = [(); 3].map(|()| begin(&serving));
    let open = before(&serving, &adopted, 5)["call"].clone();
    serving.post(&format!("{ended}/end"), &json!({"reason": "over"}));
    shop.serve(&serving, &manifest(10));
    held(&call(&serving, &adopted, 1));
    held(&call(&serving, &kept, 1));
    let run = |task: &str, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
        command.args(["task", "policy", task.rsplit('/').next().unwrap()]).args(arguments);
        let output = command.env("CELADOR_STORE", shop.store()).output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (output.status.code().unwrap(), text)
    };
    let file = shop.file();
    let (file, why) = (file.to_str().unwrap(), ["--reason", "harmless", "--by", "kim"]);
    let adopt = |file| [&["--adopt", file][..], &why].concat();
    // nothing that is refused does anything
    assert_eq!(run(&adopted, &["--adopt", file, "--keep", "--reason", "r"]).0, 1);
    assert_eq!(run(&adopted, &["--adopt", file]).0, 1);
    assert_eq!(run(&adopted, &["--keep", "--reason", " "]).0, 1);
    assert_eq!(run("nobody", &adopt(file)).0, 1);
    assert_eq!(run(&adopted, &[&adopt(file)[..], &["--owner", "did:web:ann"]].concat()).0, 1);
    let (code, text) = run(&ended, &adopt(file));
    assert!(code == 2 && text.contains("has ended"), "{text}");
    let other = shop.file().with_file_name("other.yaml");
    fs::write(&other, crate::live_tasks::BARE).unwrap();
    let (code, text) = run(&adopted, &adopt(other.to_str().unwrap()));
    assert!(code == 2 && text.contains("an open call has no function"), "{text}");
    fs::write(&other, manifest(10).replace("assert:", "asert:")).unwrap();
    assert_eq!(run(&adopted, &adopt(other.to_str().unwrap())).0, 3);
    held(&call(&serving, &adopted, 1));
    // and then it is done
    let (code, text) = run(&adopted, &adopt(file));
    assert!(
        code == 0 && text.contains("adopt the policy of the task") && text.contains("by kim: harmless"),
        "{text}"
    );
    assert_eq!(verdict(&serving, &adopted, 20), "block");
    assert_eq!(policy(&serving, &adopted)["decided"]["who"], "kim");
    let executed = serving.post(&format!("{adopted}/execute"), &json!({ "call": open }));
    assert_eq!(executed.json()["decided"]["verdict"], "allow", "{}", executed.text());
    let (code, text) = run(&kept, &[&["--keep", "--format", "json"][..], &why].concat());
    assert!(code == 0 && text.contains(r#""decision":"keep""#), "{text}");
    assert_eq!(verdict(&serving, &kept, 20), "allow");
    shop.verify().unwrap();

    // all tasks of an agent at once, but for those that have ended and those that cannot
    let open = before(&serving, &kept, 5)["call"].clone();
    assert!(open.is_string());
    shop.serve(&serving, &manifest(15));
    let more = begin(&serving);
    let of_agent = |agent, file| [&["--agent", agent, "--adopt", file][..], &why].concat();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
        let output =
            command.args(["task", "policy"]).args(arguments).env("CELADOR_STORE", shop.store()).output();
        let text = output.map(|it| {
            (it.status.code(), String::from_utf8(it.stdout).unwrap(), String::from_utf8(it.stderr).unwrap())
        });
        text.unwrap()
    };
    assert_eq!(run(&of_agent("a", file)).0, Some(1));
    assert_eq!(run(&of_agent("n/b", file)), (Some(0), String::new(), String::new()));
    let (code, done, _) = run(&of_agent("n/a", file));
    assert_eq!((code, done.lines().count()), (Some(0), 3), "{done}");
    assert_eq!(
        [&adopted, &kept, &more].map(|task| policy(&serving, task)["current"].clone()),
        [true, true, true]
    );
    fs::write(&other, crate::live_tasks::BARE).unwrap();
    let (code, done, refused) = run(&of_agent("n/a", other.to_str().unwrap()));
    assert_eq!((code, done.lines().count(), refused.lines().count()), (Some(2), 1, 2), "{done} {refused}");
    shop.verify().unwrap();

    // the lines wait in the store for a server that has a log
    drop(serving.stop());
    let logs = tempfile::tempdir().unwrap();
    let log =
        DecisionLog::open(LogSettings::new(logs.path().to_owned()), "2026-06-01T12:00:00Z".parse().unwrap());
    drop(
        Serving::over_log(shop.database.clone(), log.unwrap(), |settings, _| {
            settings.policies = vec![shop.file()]
        })
        .stop(),
    );
    let lines = lines_of(logs.path());
    let of = |operation: &str| lines.iter().filter(|line| line["operation"] == operation).count();
    assert_eq!((of("policy_keep"), of("policy_adopt")), (1, 5), "{lines:?}");
    assert!(
        lines
            .iter()
            .filter(|it| it["task"].is_string())
            .all(|it| it["who"] == "kim" && it["reason"] == "harmless")
    );
}
