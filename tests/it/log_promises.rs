//! What the decision log promises of purges, switches and decisions about policies: their lines are stored with them, written once, and with a log that
//! is required nobody is answered before. Of a purged task the lines that wait keep nothing that was said.

use crate::log_store::{SmallDisk, compared, lines, log_in};
use crate::serving::Serving;
use crate::store_database::databases;
use crate::store_fixture::{Kept, new_task, second};
use celador::task::{Answer, Switch};
use celador_store::decision_log::{SyncMode, verify};
use celador_store::{
    Database, DueLine, Ending, Location, Owner, Purge, StoreError, StoreLimits, StoredSwitches, StoredTasks,
    lines_from, write_waiting,
};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn kim() -> Owner {
    Owner::caller("kim")
}

fn purge() -> Purge<'static> {
    Purge { at: second(99), who: "lee", reason: "asked for" }
}

fn memory() -> Database {
    Database::open(&Location::Memory, &StoreLimits::default()).unwrap()
}

fn of(folder: &Path, operation: &str) -> Vec<Value> {
    lines(folder).into_iter().filter(|line| line["operation"] == operation).collect()
}

/// A server whose log is required, on a disk that can be filled; nothing where none can be mounted.
fn over_a_small_disk() -> Option<(SmallDisk, PathBuf, Serving)> {
    let Some(disk) = SmallDisk::mount() else {
        println!("skipped: a small file system cannot be mounted here");
        return None;
    };
    let logs = disk.0.path().join("log");
    let serving = Serving::over_log(memory(), log_in(&logs, SyncMode::Always), |settings, _| {
        settings.log_required = true;
        settings.limits.store.engine.max_reason_bytes = 20_000;
    });
    Some((disk, logs, serving))
}

#[test]
fn a_purge_or_a_switch_is_answered_when_a_required_log_has_it() {
    let Some((disk, logs, serving)) = over_a_small_disk() else { return };
    let (first, second) = (serving.task(), serving.task());
    // longer than what is left of a page, so that it needs room that is not there
    let reason = "y".repeat(8_192);
    let delete = |task: &str| serving.send("DELETE", &format!("{task}?reason={reason}"), &[], b"").status;
    let ballast = disk.fill();
    assert_eq!(delete(&first), 503);
    assert_eq!(delete(&first), 503, "nor is it answered that it was purged");
    assert_eq!(delete(&second), 503, "nothing is purged while a line is owed");
    assert_eq!(serving.get(&second).status, 200);
    let user = json!({"kind": "user", "name": "u-7"});
    let on = serving.post("/v1/switches", &json!({"switch": user, "reason": reason}));
    assert_eq!((on.status, &on.json()["type"]), (503, &json!("urn:celador:problem:log-unavailable")));
    assert_eq!(
        serving.get("/v1/switches").json()["switches"][0]["switch"],
        user,
        "it is in force all the same"
    );
    assert_eq!((of(&logs, "purge").len(), of(&logs, "switch_on").len()), (0, 0));
    assert_eq!(serving.get("/readyz").status, 503);
    fs::remove_file(ballast).unwrap();
    // with room again the lines come first, then the answer
    assert_eq!(delete(&first), 410);
    let [purges, turns] = ["purge", "switch_on"].map(|operation| of(&logs, operation));
    assert_eq!((purges.len(), turns.len()), (1, 1));
    assert_eq!((&purges[0]["late"], &purges[0]["reason"]), (&json!(true), &json!(reason)));
    assert_eq!(delete(&second), 200);
    assert_eq!((of(&logs, "purge").len(), of(&logs, "switch_on").len()), (2, 1));
    verify(&logs, None).unwrap();
    assert_eq!(compared(&serving.database, &[&logs]).1, []);
}

#[test]
fn a_decision_about_a_policy_is_answered_when_a_required_log_has_it() {
    let Some((disk, logs, serving)) = over_a_small_disk() else { return };
    let task = serving.task();
    let decide = || {
        let decision = json!({"decision": "keep", "reason": "y".repeat(8_192)});
        serving.post(&format!("{task}/policy"), &decision)
    };
    let ballast = disk.fill();
    let refused = decide();
    assert_eq!(
        (refused.status, &refused.json()["type"]),
        (503, &json!("urn:celador:problem:log-unavailable"))
    );
    assert_eq!(serving.get(&task).json()["policy"]["decided"]["decision"], "keep", "it stands all the same");
    fs::remove_file(ballast).unwrap();
    assert_eq!(decide().status, 200);
    let told = of(&logs, "policy_keep");
    assert_eq!(told.iter().map(|line| line["late"] == true).collect::<Vec<_>>(), [true, false]);
}

/// Whoever removes, replaces or cuts the file that grows stops decisions, not their record.
#[test]
fn no_decision_is_answered_when_the_log_was_taken_away() {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::over_log(memory(), log_in(folder.path(), SyncMode::Always), |settings, _| {
        settings.log_required = true;
    });
    let task = serving.task();
    let status = || {
        let said = json!({"message": "And this.", "ticket_id": "T-1041"});
        serving.post(&format!("{task}/input"), &said).status
    };
    let file = folder.path().join("decisions-000000000001.jsonl");
    let aside = folder.path().join("aside");
    fs::rename(&file, &aside).unwrap();
    assert_eq!((status(), serving.get("/readyz").status), (503, 503));
    fs::write(&file, "").unwrap();
    assert_eq!(status(), 503, "another file is not this log");
    fs::rename(&aside, &file).unwrap();
    assert_eq!(status(), 200);
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(status(), 503, "what was written is not there");
    fs::write(&file, &whole).unwrap();
    assert_eq!(status(), 200);
    verify(folder.path(), None).unwrap();
    assert_eq!(compared(&serving.database, &[folder.path()]).1, []);
}

/// A process that died between a purge or a turn and its line: the next one that writes this log writes it, once.
#[test]
fn the_lines_of_purges_and_switches_outlive_a_crash_and_are_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let database = memory();
    let start = || Serving::over_log(database.clone(), log_in(folder.path(), SyncMode::System), |_, _| {});
    let serving = start();
    let task = serving.task();
    let user = json!({"kind": "user", "name": "u-9"});
    assert_eq!(serving.post("/v1/switches", &json!({"switch": user, "reason": "r"})).status, 200);
    assert_eq!(serving.send("DELETE", &format!("{task}?reason=law"), &[], b"").status, 200);
    serving.stop();
    let whole = fs::read_to_string(folder.path().join("decisions-000000000001.jsonl")).unwrap();
    let count = |operation: &str| of(folder.path(), operation).len();
    for (lost, late) in [(0, 0), (1, 1), (2, 2)] {
        let kept = whole.lines().count() - lost;
        let text: String = whole.split_inclusive('\n').take(kept).collect();
        fs::write(folder.path().join("decisions-000000000001.jsonl"), text).unwrap();
        start().stop();
        assert_eq!((count("switch_on"), count("purge")), (1, 1), "{lost} line(s) were lost");
        let written_late = lines(folder.path()).iter().filter(|line| line["late"] == true).count();
        assert_eq!(written_late, late);
        verify(folder.path(), None).unwrap();
    }
    // another log is told of the turn too, and of the purge not: it was not its server's
    let other = tempfile::tempdir().unwrap();
    Serving::over_log(database.clone(), log_in(other.path(), SyncMode::System), |_, _| {}).stop();
    Serving::over_log(database.clone(), log_in(other.path(), SyncMode::System), |_, _| {}).stop();
    assert_eq!((of(other.path(), "switch_on").len(), of(other.path(), "purge").len()), (1, 0));
    let switches = StoredSwitches::new(database.clone(), &StoreLimits::default());
    switches.turn(&Switch::User { name: "u-9".into() }, false, second(5), "kim", "cleared").unwrap();
    start().stop();
    assert_eq!((count("switch_on"), count("switch_off")), (1, 1));
}

#[test]
fn what_was_said_leaves_the_lines_that_wait_when_their_task_is_purged() {
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(database.clone(), &StoreLimits::default());
        Kept::create(&store, &kim(), "t-1").unwrap();
        let ending = Ending {
            at: second(3),
            who: "kim",
            reason: "the-words-of-kim",
            with_parent: false,
            expected: None,
        };
        let due = |line| Some(DueLine { log: "elsewhere".into(), number: 7, line });
        let ended = store.end(&kim(), "t-1", &ending, None, due).unwrap();
        let waiting = || lines_from(&database, "elsewhere", 1, 9).unwrap();
        let before = waiting();
        assert!(before[0].line.contains("the-words-of-kim"), "{name}");
        assert_eq!(before[0].event.as_deref(), Some(ended.head.digest()), "{name}");
        let due = |line| Some(DueLine { log: "elsewhere".into(), number: 8, line });
        store.purge_due(&kim(), "t-1", &purge(), None, due).unwrap();
        let after = waiting();
        assert_eq!((after.len(), after[0].version, after[1].version), (2, 2, 3), "{name}");
        let [end, purged]: [Value; 2] =
            [&after[0], &after[1]].map(|line| serde_json::from_str(line.late().unwrap().get()).unwrap());
        assert!(!after[0].line.contains("the-words-of-kim"), "{name}");
        // everything else is there, and the digest of the event, which no row has any more
        assert_eq!((&end["event"], &end["reason"]), (&json!(ended.head.digest()), &Value::Null), "{name}");
        for (member, value) in
            [("who", "kim"), ("operation", "end"), ("verdict", "terminate"), ("agent", "clerk")]
        {
            assert_eq!(end[member], value, "{name}: {member}");
        }
        assert_eq!((&purged["who"], &purged["reason"]), (&json!("lee"), &json!("asked for")), "{name}");
        assert_eq!((&purged["owner"], &purged["count"]), (&json!("kim"), &json!(2)), "{name}");
    }
}

/// The lines of a task that this server's log has on disk go with the task; the line of the purge stays as long as any other.
#[test]
fn lines_that_the_log_has_go_with_their_task() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_in(folder.path(), SyncMode::System);
    let id = log.id().to_owned();
    let serving = Serving::over_log(memory(), log, |_, _| {});
    let (gone, stays) = (serving.task(), serving.task());
    let kept = |serving: &Serving| {
        let lines = lines_from(&serving.database, &id, 1, 99).unwrap();
        lines.into_iter().map(|line| (line.task, line.version)).collect::<Vec<_>>()
    };
    let id_of = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    assert_eq!(kept(&serving), [(id_of(&gone), 2), (id_of(&stays), 2)]);
    assert_eq!(serving.send("DELETE", &gone, &[], b"").status, 200);
    assert_eq!(kept(&serving), [(id_of(&stays), 2), (id_of(&gone), 3)]);
    let database = serving.stop();
    verify(folder.path(), None).unwrap();
    assert_eq!(compared(&database, &[folder.path()]).1, []);
}

/// A line of somebody without a log: of several logs that look, one gets it, on every database.
#[test]
fn a_line_for_any_log_is_written_by_one() {
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(database.clone(), &StoreLimits::default());
        for number in 0..20 {
            Kept::create(&store, &kim(), &format!("t-{number}")).unwrap();
            let due = |line| Some(DueLine::for_any_log(line));
            store.purge_due(&kim(), &format!("t-{number}"), &purge(), None, due).unwrap();
        }
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let logs = folders.each_ref().map(|folder| log_in(folder.path(), SyncMode::System));
        let written: usize = std::thread::scope(|scope| {
            let database = &database;
            let write = |log| scope.spawn(move || write_waiting(database, log).unwrap());
            logs.each_ref().map(write).map(|thread| thread.join().unwrap()).iter().sum()
        });
        let purges = |folder: &tempfile::TempDir| match fs::read_dir(folder.path()).unwrap().count() {
            0 => 0,
            _ => of(folder.path(), "purge").len(),
        };
        assert_eq!((written, folders.iter().map(purges).sum()), (20, 20), "{name}");
        let left = database.read(|sql| sql.query("SELECT 1 FROM decision_line", &[])).unwrap();
        assert_eq!(left.len(), 0, "{name}");
    }
}

#[test]
fn a_task_that_is_ended_without_its_policy_is_as_the_engine_ends_it() {
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(database, &StoreLimits::default());
        let mut kept = Kept::create(&store, &kim(), "t-1").unwrap();
        let decision = kept.post("m", None).unwrap();
        kept.report(&decision).unwrap();
        kept.post("m", None).unwrap();
        let ending = Ending {
            at: second(9),
            who: "lee",
            reason: "no longer wanted",
            with_parent: false,
            expected: None,
        };
        let early = Ending { expected: Some(2), ..ending };
        let end = |id: &str, ending: &Ending<'_>, engine| store.end(&kim(), id, ending, engine, |_| None);
        assert_eq!(
            end("t-1", &early, None).unwrap_err(),
            StoreError::Conflict { expected: 2, found: 4 },
            "{name}"
        );
        let ended = end("t-1", &ending, None).unwrap();
        let by_engine = kept.task.end("no longer wanted", second(9));
        assert_eq!(serde_json::to_value(&ended.decision).unwrap(), serde_json::to_value(&by_engine).unwrap());
        let stored = serde_json::to_value(store.load(&kim(), "t-1").unwrap().saved).unwrap();
        assert_eq!(stored, serde_json::to_value(kept.task.save()).unwrap(), "{name}");
        assert_eq!(store.summary(&kim(), "t-1").unwrap().state, "terminated", "{name}");
        assert_eq!(end("t-1", &ending, None).unwrap_err(), StoreError::HasEnded, "{name}");
        // whoever has it in memory learns it with the next step
        assert!(matches!(kept.post("m", None), Err(StoreError::Conflict { .. })), "{name}");

        // what waits is taken back under its policy
        let mut waits = Kept::create(&store, &kim(), "t-2").unwrap();
        waits.post("ask", None).unwrap();
        assert_eq!(end("t-2", &ending, None).unwrap_err(), StoreError::Waits, "{name}");
        end("t-2", &ending, Some(crate::store_fixture::clerk())).unwrap();
        let found = Kept::load(&store, &kim(), "t-2").unwrap();
        assert!(found.task.context_json().unwrap().to_string().contains("restricted"), "{name}");
        assert!(found.task.request().is_none() && waits.task.resume(Answer::approve(), second(9)).is_ok());
        assert_eq!(end("t-3", &ending, None).unwrap_err(), StoreError::NotFound, "{name}");
        let silent = Ending { reason: " ", ..ending };
        assert!(matches!(end("t-2", &silent, None), Err(StoreError::NotStorable(_))), "{name}");
        store.create(&kim(), &new_task("t-4"), second(0), None).unwrap();
        store.verify().unwrap();
    }
}
