//! `celador store list`, `end` and `purge`: beside a server that works, on a file and on Postgres, and in the decision log.

use crate::log_store::{compared, lines, log_in};
use crate::servers::PostgresServer;
use crate::serving::{NOON, Serving, desk};
use crate::store_fixture::second;
use celador_store::decision_log::{SyncMode, verify};
use celador_store::{Database, Ending, Location, Owner, StoreLimits, StoredTasks};
use serde_json::{Value, json};
use std::process::Command;

/// The command on a store: its exit code and all that it said.
fn celador(store: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
    let output = command.arg("store").args(arguments).env("CELADOR_STORE", store).env("USER", "kim").output();
    let output = output.unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    (output.status.code(), text)
}

fn id_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

#[test]
fn tasks_are_listed_ended_and_purged_beside_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("celador.db").display().to_string();
    for store in [file, PostgresServer::shared().database()] {
        let logs = folder.path().join(if store.starts_with("postgres") { "log-2" } else { "log-1" });
        let database = Database::open(&Location::parse(&store), &StoreLimits::default()).unwrap();
        let serving = Serving::over_log(database, log_in(&logs, SyncMode::System), |_, _| {});
        let (first, second) = (serving.task(), serving.task());
        let (code, text) = celador(&store, &["list"]);
        assert_eq!((code, text.lines().count()), (Some(0), 2), "{text}");
        let row = format!("- {} support/support-desk active {NOON} {NOON} 2 event(s)", id_of(&first));
        assert!(text.contains(&row), "{text}");
        assert_eq!(celador(&store, &["list", "--state", "terminated"]).1, "");
        assert_eq!(celador(&store, &["list", "--owner", "kim"]).1, "");
        assert_eq!(celador(&store, &["list", "--older-than", "1000000d"]).0, Some(1));
        assert_eq!(celador(&store, &["list", "--older-than", "90000d"]).1, "");

        let (code, text) =
            celador(&store, &["end", &store, id_of(&first), "--reason", "the shop has closed"]);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(&format!("ended task {}, event 3", id_of(&first))), "{text}");
        // the server has the task in memory, and learns it with the next step
        let input = json!({"message": "Hello?", "ticket_id": "T-1"});
        let step = serving.post(&format!("{first}/input"), &input).json();
        assert_eq!(step["decided"]["verdict"], "rejected", "{step}");
        assert_eq!(step["decided"]["message"], "the shop has closed");
        assert_eq!(celador(&store, &["end", id_of(&first), "--reason", "r"]).0, Some(2));
        assert_eq!(celador(&store, &["end", "nothing", "--reason", "r"]).0, Some(2));
        assert_eq!(celador(&store, &["end", id_of(&second), "--reason", ""]).0, Some(1));

        // a dry run changes nothing
        let rows = || {
            let tables = ["task", "task_event", "task_tombstone", "decision_line"];
            tables.map(|table| {
                let statement = format!("SELECT 1 FROM {table}");
                serving.database.read(|sql| sql.query(&statement, &[])).unwrap().len()
            })
        };
        let before = rows();
        let (code, text) = celador(&store, &["purge", id_of(&second), "--reason", "r", "--dry-run"]);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(&format!("would be purged: - {}", id_of(&second))), "{text}");
        assert!(text.contains("1 task(s) with 2 event(s) would be purged; nothing was changed"), "{text}");
        assert_eq!(rows(), before);
        let (code, text) =
            celador(&store, &["purge", id_of(&second), "--reason", "asked for", "--format", "json"]);
        assert_eq!(code, Some(0), "{text}");
        let said: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            (said.len(), &said[1]["tasks"], &said[1]["dry_run"]),
            (2, &json!(1), &json!(false)),
            "{text}"
        );
        assert_eq!(serving.post(&format!("{second}/input"), &input).status, 410);
        assert_eq!(celador(&store, &["purge", id_of(&second), "--reason", "r"]).0, Some(2));
        assert_eq!(celador(&store, &["purge", "--reason", "r"]).0, Some(1));
        assert_eq!(celador(&store, &["check"]).0, Some(0));

        // the lines of both are written by the server
        serving.server.as_ref().unwrap().sweep();
        let of = |operation: &str| {
            lines(&logs).into_iter().filter(|line| line["operation"] == operation).collect::<Vec<_>>()
        };
        let (ends, purges) = (of("end"), of("purge"));
        assert_eq!((ends.len(), purges.len()), (1, 1));
        assert_eq!((&ends[0]["who"], &ends[0]["reason"]), (&json!("kim"), &json!("the shop has closed")));
        assert_eq!((&purges[0]["who"], &purges[0]["task"]), (&json!("kim"), &json!(id_of(&second))));
        verify(&logs, None).unwrap();
        assert_eq!(compared(&serving.database, &[&logs]).1, []);
    }
}

#[test]
fn tasks_that_ended_long_ago_are_purged_together_and_named_in_a_log_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("celador.db");
    let store = path.display().to_string();
    let limits = StoreLimits::default();
    let tasks = StoredTasks::new(Database::open(&Location::File(path), &limits).unwrap(), &limits);
    for (owner, id, ends) in
        [("kim", "t-1", true), ("kim", "t-2", false), ("lee", "t-1", true), ("lee", "t-3", true)]
    {
        let owner = Owner::caller(owner);
        tasks.create(&owner, &crate::store_fixture::new_task(id), second(0), None).unwrap();
        if ends {
            // long ago by any clock
            let at = "2001-01-01T00:00:00Z".parse().unwrap();
            let ending = Ending { at, who: "kim", reason: "done", with_parent: false, expected: None };
            tasks.end(&owner, id, &ending, None, |_| None).unwrap();
        }
    }
    let left = || {
        let all = tasks.all(None, 99).unwrap();
        all.iter().map(|(owner, task)| format!("{}/{}", owner.as_str(), task.id)).collect::<Vec<_>>()
    };
    // an id alone does not say whose task is meant
    let (code, text) = celador(&store, &["purge", "t-1", "--reason", "r"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("several callers have or had a task `t-1`"), "{text}");
    for nonsense in ["30", "soon", "0s", "30s", "-1h", "d", "1d-2h"] {
        let (code, text) = celador(&store, &["purge", "--older-than", nonsense, "--reason", "r"]);
        assert_eq!(code, Some(1), "{nonsense}: {text}");
    }
    assert_eq!(celador(&store, &["purge", &store, "t-1", "--older-than", "30d", "--reason", "r"]).0, Some(1));
    assert_eq!(celador(&store, &["purge", "--older-than", "90000d", "--reason", "r"]).0, Some(0));
    assert_eq!(left().len(), 4);
    let dry = celador(&store, &["purge", &store, "--older-than", "1m", "--reason", "old", "--dry-run"]);
    assert_eq!((dry.0, left().len()), (Some(0), 4), "{}", dry.1);
    assert!(dry.1.contains("3 task(s) with 6 event(s) would be purged"), "{}", dry.1);
    let logs = folder.path().join("log");
    let arguments = ["purge", "--older-than", "1m", "--reason", "old", "--owner", "lee", "--decision-log"];
    let (code, text) = celador(&store, &[&arguments[..], &[logs.to_str().unwrap()]].concat());
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(left(), ["kim/t-1", "kim/t-2"], "{text}");
    let said = lines(&logs);
    let rows: Vec<_> =
        said.iter().map(|line| (&line["operation"], &line["owner"], &line["reason"])).collect();
    assert_eq!(rows, [(&json!("purge"), &json!("lee"), &json!("old")); 2]);
    verify(&logs, None).unwrap();
    tasks.verify().unwrap();
    // a log that a server writes is refused before anything is done
    let open = log_in(&logs, SyncMode::System);
    let arguments =
        ["purge", "t-1", "--owner", "kim", "--reason", "r", "--decision-log", logs.to_str().unwrap()];
    let (code, text) = celador(&store, &arguments);
    assert_eq!((code, left().len()), (Some(1), 2), "{text}");
    drop(open);
    assert_eq!(celador(&store, &arguments).0, Some(0));
    assert_eq!(lines(&logs).len(), 3);
}

#[test]
fn a_task_that_waits_is_ended_under_its_manifests() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("celador.db");
    let store = path.display().to_string();
    let serving = Serving::with(&Location::File(path), |_, _| {});
    let task = serving.task();
    let fetch = json!({"function": "zendesk_fetch_ticket", "arguments": {}});
    let other = serving.task();
    for task in [&task, &other] {
        let asked = serving.post(&format!("{task}/invoke"), &fetch).json();
        assert!(asked["asks"].is_object(), "{asked}");
    }
    // the store keeps the manifests of a server's tasks
    let (code, text) = celador(&store, &["end", id_of(&other), "--reason", "r"]);
    assert_eq!((code, serving.get(&other).json()["state"].clone()), (Some(0), json!("terminated")), "{text}");
    assert!(serving.get(&format!("{other}/context")).text().contains("restricted"));
    let forget = "DELETE FROM task_policy";
    serving.database.write(|sql| sql.execute(forget, &[])).unwrap();
    let end = ["end", id_of(&task), "--reason", "r"];
    let (code, text) = celador(&store, &end);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("name the manifests of its agent with `--manifests`"), "{text}");
    let manifests = desk();
    let (code, text) = celador(&store, &[&end[..], &["--manifests", manifests.to_str().unwrap()]].concat());
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(serving.get(&task).json()["state"], "terminated");
    assert_eq!(celador(&store, &["check"]).0, Some(0));
}
