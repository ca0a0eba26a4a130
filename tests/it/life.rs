//! The end of a task: ended through the engine, purged down to a tombstone, over HTTP and in every store.

use crate::serving::Serving;
use crate::store_database::databases;
use crate::store_fixture::{Kept, new_task, once, second};
use crate::task_fixture::{call, engine, noon, start};
use celador::EngineLimits;
use celador::task::{
    Answer, Progress, Request, TaskError, TaskState, Termination, TerminationReason, VerdictKind,
};
use celador_store::decision_log::{DecisionLog, LogSettings};
use celador_store::{Database, Location, Owner, Purge, StoreError, StoreLimits, StoredTasks, Verified};
use serde_json::{Value, json};
use std::fs;

fn kim() -> Owner {
    Owner::caller("kim")
}

fn purge() -> Purge<'static> {
    Purge { at: second(99), who: "kim", reason: "asked for by the customer" }
}

#[test]
fn a_task_that_was_ended_takes_no_step_and_says_why() {
    let engine = engine("capabilities:\n  ledger:\n    before:\n    - {assert: \"review('boss')\"}\n");
    let mut task = start(&engine);
    let posting = call("ledger_post_entry", json!({ "amount": 1, "memo": "m", "account": "a" }));
    assert!(matches!(
        task.before(&posting, noon()).unwrap().into_progress(),
        Progress::Asks(celador::Question { request: Request::Review { .. }, .. })
    ));
    let ended = task.end("no longer wanted", noon());
    assert_eq!(
        (ended.verdict.kind(), ended.verdict.reason()),
        (VerdictKind::Terminate, Some("ended_by_host"))
    );
    let message = "no longer wanted".to_owned();
    assert_eq!(ended.verdict.message(), Some(&*message));
    assert_eq!(ended.termination(), Some(TerminationReason::EndedByHost));
    assert_eq!(
        task.state(),
        TaskState::Terminated(Termination { reason: TerminationReason::EndedByHost, message })
    );
    // what waited was taken back: nobody can answer it, and the call is on record as one that did not run
    assert_eq!(task.request(), None);
    assert!(matches!(task.resume(Answer::approve(), noon()), Err(TaskError::NothingPending)));
    let context = task.context_json().unwrap().to_string();
    assert!(context.contains("restricted"), "{context}");
    let Progress::Decided(refused) = task.before(&posting, noon()).unwrap().into_progress() else {
        panic!("decided")
    };
    assert_eq!(
        (refused.verdict.kind(), refused.verdict.reason()),
        (VerdictKind::Rejected, Some("ended_by_host"))
    );
    assert_eq!((refused.verdict.message(), refused.termination()), (Some("no longer wanted"), None));
    // the first end stays
    let again = task.end("another reason", noon());
    assert_eq!(
        (again.verdict.kind(), again.verdict.message()),
        (VerdictKind::Rejected, Some("no longer wanted"))
    );
    assert_eq!(engine.restore(task.save()).unwrap().state(), task.state());
}

#[test]
fn nothing_but_a_tombstone_is_left_of_a_purged_task() {
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(
            database.clone(),
            &StoreLimits { max_events_to_replay: 3, ..StoreLimits::default() },
        );
        store.create(&kim(), &new_task("t-1"), second(0), Some(once("make"))).unwrap();
        let mut kept = Kept::load(&store, &kim(), "t-1").unwrap();
        for _ in 0..5 {
            let key = format!("k-{}", kept.head.version());
            let decision = kept.post("m", Some(once(&key))).unwrap();
            kept.report(&decision).unwrap();
        }
        Kept::create(&store, &Owner::caller("lee"), "t-1").unwrap();
        let lees = store.version(&Owner::caller("lee"), "t-1");

        let tombstone = store.purge(&kim(), "t-1", &purge()).unwrap();
        assert_eq!(
            (tombstone.events, &*tombstone.state, &*tombstone.agent),
            (11, "active", "clerk"),
            "{name}"
        );
        assert_eq!(
            (&*tombstone.purged_by, &*tombstone.reason),
            ("kim", "asked for by the customer"),
            "{name}"
        );
        assert_eq!(store.tombstone(&kim(), "t-1"), Ok(Some(tombstone)), "{name}");
        for table in ["task", "task_event", "task_snapshot", "task_answer"] {
            let id = if table == "task" { "id" } else { "task" };
            let rows = database.read(|sql| {
                sql.query(&format!("SELECT 1 FROM {table} WHERE owner = 'kim' AND {id} = 't-1'"), &[])
            });
            assert_eq!(rows.unwrap().len(), 0, "{name}: {table}");
        }
        // whoever has it in memory learns it, and nobody begins it again
        assert_eq!(kept.post("m", None), Err(StoreError::Purged), "{name}");
        assert_eq!(store.load(&kim(), "t-1").unwrap_err(), StoreError::Purged, "{name}");
        assert_eq!(store.version(&kim(), "t-1"), Err(StoreError::Purged), "{name}");
        assert_eq!(store.events(&kim(), "t-1", 0, 9), Err(StoreError::Purged), "{name}");
        assert_eq!(store.purge(&kim(), "t-1", &purge()), Err(StoreError::Purged), "{name}");
        let anew = store.create(&kim(), &new_task("t-1"), second(0), None);
        assert_eq!(anew, Err(StoreError::Purged), "{name}");
        // another owner's task of the same id is another task
        assert_eq!(store.version(&Owner::caller("lee"), "t-1"), lees, "{name}");
        assert_eq!(store.purge(&Owner::nobody(), "t-1", &purge()), Err(StoreError::NotFound), "{name}");
        // the answer to the creation stays: it says that there was such a request, and nothing of the task
        let found = Verified { tasks: 1, events: 1, answers: 1, tombstones: 1, ..Verified::default() };
        assert_eq!(store.verify(), Ok(found), "{name}");
    }
}

#[test]
fn a_reason_says_something_within_its_bound() {
    let engine = EngineLimits { max_reason_bytes: 4, ..EngineLimits::default() };
    let limits = StoreLimits { engine, ..StoreLimits::default() };
    let store = StoredTasks::new(Database::open(&Location::Memory, &limits).unwrap(), &limits);
    Kept::create(&store, &kim(), "t-1").unwrap();
    for reason in ["", " \n", "abcde"] {
        let refused = store.purge(&kim(), "t-1", &Purge { reason, ..purge() });
        assert!(matches!(refused, Err(StoreError::NotStorable(_))), "{reason:?}");
    }
    assert!(store.purge(&kim(), "t-1", &Purge { reason: "abcd", ..purge() }).is_ok());
}

#[test]
fn a_tombstone_that_was_altered_and_rows_that_came_back_are_found() {
    for statement in [
        "UPDATE task_tombstone SET reason = 'another'",
        "UPDATE task_tombstone SET events = 7",
        "INSERT INTO task_answer (owner, task, key, request, answer, at, digest) \
         VALUES ('kim', 't-1', 'k', 'r', 'a', 'at', 'd')",
        "INSERT INTO task SELECT owner, id, namespace, agent, state, started_at, changed_at, 0, '', '' FROM task_tombstone",
    ] {
        let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
        let store = StoredTasks::new(database.clone(), &StoreLimits::default());
        Kept::create(&store, &kim(), "t-1").unwrap();
        store.purge(&kim(), "t-1", &purge()).unwrap();
        store.verify().unwrap();
        database.write(|sql| sql.execute(statement, &[])).unwrap();
        assert!(matches!(store.verify(), Err(StoreError::Corrupt(_))), "{statement}");
    }
}

/// Two that purge and step at once: the task is gone, and no row of it is left behind.
#[test]
fn a_step_beside_a_purge_leaves_nothing() {
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(database, &StoreLimits::default());
        for round in 0..20 {
            let id = format!("t-{round}");
            let mut kept = Kept::create(&store, &kim(), &id).unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| store.purge(&kim(), &id, &purge()).unwrap());
                while kept.post("m", Some(once(&format!("k-{}", kept.head.version())))).is_ok() {}
            });
            assert_eq!(kept.post("m", None), Err(StoreError::Purged), "{name}");
        }
        let found = Verified { tombstones: 20, ..Verified::default() };
        assert_eq!(store.verify(), Ok(found), "{name}");
    }
}

#[test]
fn what_was_purged_cannot_be_read_off_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("celador.db");
    let serving = Serving::with(&Location::File(path.clone()), |_, _| {});
    let task = serving.new_task(None);
    let secret = "the-word-that-nobody-may-find-again";
    for _ in 0..40 {
        let text = format!("{secret} {}", "and more ".repeat(400));
        serving.post(&format!("{task}/input"), &json!({"message": text, "ticket_id": "T-1"}));
    }
    let bytes = |end: &str| fs::read(format!("{}{end}", path.display())).unwrap_or_default();
    let is_there = |bytes: &[u8]| bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
    assert!(is_there(&bytes("")) || is_there(&bytes("-wal")));
    assert_eq!(serving.send("DELETE", &task, &[], b"").status, 200);
    assert!(!is_there(&bytes("")) && !is_there(&bytes("-wal")));
}

#[test]
fn ended_and_purged_over_http_and_on_record_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = DecisionLog::open(LogSettings::new(folder.path()), noon()).unwrap();
    let serving = Serving::over_log(
        Database::open(&Location::Memory, &StoreLimits::default()).unwrap(),
        log,
        |_, _| {},
    );
    let begin = [("content-type", "application/json"), ("idempotency-key", "begin")];
    let body = crate::serving::new_task().to_string();
    let begun = serving.send("POST", "/v1/tasks", &begin, body.as_bytes());
    let id = begun.json()["task"].as_str().unwrap().to_owned();
    let path = format!("/v1/tasks/{id}");
    for reason in [json!(""), json!("  "), json!("x".repeat(1_001)), json!(7), Value::Null] {
        let refused = serving.send_anything(
            "POST",
            &format!("{path}/end"),
            &begin[..1],
            json!({ "reason": reason }).to_string().as_bytes(),
        );
        assert_eq!(refused.status, 400, "{reason}");
    }
    let end = json!({ "reason": "the customer hung up" });
    let ended = serving.post(&format!("{path}/end"), &end).json();
    assert_eq!(
        ["verdict", "reason", "message"].map(|member| &ended["decided"][member]),
        [&json!("terminate"), &json!("ended_by_host"), &end["reason"]]
    );
    let seen = serving.get(&path).json();
    assert_eq!(
        ["state", "reason", "message"].map(|member| &seen[member]),
        [&json!("terminated"), &json!("ended_by_host"), &end["reason"]]
    );
    let step =
        serving.post(&format!("{path}/input"), &json!({"message": "Hello?", "ticket_id": "T-1"})).json();
    assert_eq!(step["decided"]["verdict"], "rejected");
    assert_eq!(serving.post(&format!("{path}/end"), &end).json()["decided"]["verdict"], "rejected");

    assert_eq!(serving.send("DELETE", &format!("{path}?reason="), &[], b"").status, 400);
    assert_eq!(serving.send("DELETE", &format!("{path}?why=x"), &[], b"").status, 400);
    let purged = serving.send("DELETE", &format!("{path}?reason=asked%20for%20by%20law"), &[], b"");
    assert_eq!((purged.status, &purged.json()["reason"]), (200, &json!("asked for by law")));
    assert_eq!(purged.json()["state"], "terminated");
    for reply in [
        serving.get(&path),
        serving.get(&format!("{path}/context")),
        serving.get(&format!("{path}/events")),
        serving.post(&format!("{path}/input"), &json!({"message": "Hello?"})),
        serving.post(&format!("{path}/end"), &end),
        serving.get(&format!("{path}/offers")),
        serving.send("DELETE", &path, &[], b""),
        serving.send("POST", "/v1/tasks", &begin, body.as_bytes()),
    ] {
        assert_eq!((reply.status, &reply.json()["type"]), (410, &json!("urn:celador:problem:purged")));
    }
    assert_eq!(serving.get("/v1/tasks").json()["tasks"], json!([]));
    assert_eq!(serving.send("DELETE", "/v1/tasks/t-0", &[], b"").status, 404);
    serving.stop();
    celador_store::decision_log::verify(folder.path(), None).unwrap();
    let lines = fs::read_to_string(folder.path().join("decisions-000000000001.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |operation: &str| lines.iter().filter(|line| line["operation"] == operation).collect::<Vec<_>>();
    assert_eq!((&of("end")[0]["verdict"], &of("end")[0]["reason"]), (&json!("terminate"), &end["reason"]));
    let purges = of("purge");
    assert_eq!(
        (purges.len(), &purges[0]["task"], &purges[0]["reason"]),
        (1, &json!(id), &json!("asked for by law"))
    );
}

#[test]
fn another_servers_task_in_memory_is_gone_when_it_is_purged() {
    let first = Serving::start();
    let second = Serving::over(first.database.clone(), |_, _| {});
    let task = first.task();
    let input = json!({"message": "Please see to this.", "ticket_id": "T-1041"});
    assert_eq!(second.post(&format!("{task}/input"), &input).status, 200);
    assert_eq!(first.send("DELETE", &task, &[], b"").status, 200);
    assert_eq!(second.post(&format!("{task}/input"), &input).status, 410);
    assert_eq!(second.get(&task).status, 410);
    // also where the step would be turned away without being stored
    let task = first.task();
    assert_eq!(first.post(&format!("{task}/end"), &json!({"reason": "done"})).status, 200);
    assert_eq!(second.post(&format!("{task}/input"), &input).json()["decided"]["verdict"], "rejected");
    assert_eq!(first.send("DELETE", &task, &[], b"").status, 200);
    assert_eq!(second.post(&format!("{task}/input"), &input).status, 410);
}

#[test]
fn to_purge_needs_its_own_scope_and_the_tasks_owner() {
    let serving = Serving::with_tokens();
    let kim = serving.token("kim", &["tasks:read", "tasks:write"]);
    let lee = serving.token("lee", &["tasks:read", "tasks:write", "tasks:purge"]);
    let task = serving.new_task(Some(&kim));
    let delete = |token: &str| {
        serving.send("DELETE", &task, &[("authorization", &format!("Bearer {token}"))], b"").status
    };
    assert_eq!((delete(&kim), delete(&lee)), (403, 404));
    assert_eq!(delete(&serving.token("kim", &["tasks:purge"])), 200);
    assert_eq!((serving.get_as(&kim, &task).status, serving.get_as(&lee, &task).status), (410, 404));
}
