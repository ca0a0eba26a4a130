//! Retention in a server: each kind of data goes when it is over its age and not before, on every database, beside writers and
//! other servers, and through kills; what goes leaves its tombstone and its line.

use crate::conversation::counted;
use crate::log_store::{Process, compared, lines, log_in};
use crate::serving::{NOON, Serving};
use crate::store_crash::{kills, moment};
use crate::store_database::databases;
use crate::store_fixture::{Kept, new_task, once, second};
use celador::Timestamp;
use celador_server::{Parts, Server, Settings, system_clock};
use celador_store::conversation::{Conversations, Incoming};
use celador_store::decision_log::{self, DecisionLog, SyncMode, verify};
use celador_store::{
    Database, Ending, Location, Owner, Purge, Retention, StoreError, StoreLimits, StoredTasks, Verified,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn kim() -> Owner {
    Owner::caller("kim")
}

fn rules(settings: &[&str]) -> Retention {
    let mut retention = Retention::default();
    settings.iter().for_each(|setting| retention.set(setting).unwrap());
    retention
}

/// So many seconds after noon, as RFC 3339.
fn after_noon(seconds: i64) -> String {
    let noon: Timestamp = NOON.parse().unwrap();
    Timestamp::from_unix(noon.seconds() + seconds).unwrap().to_string()
}

const DAY: i64 = 86_400;

fn sweep(serving: &Serving) {
    serving.server.as_ref().unwrap().sweep();
}

fn small_files(folder: &Path) -> DecisionLog {
    let settings =
        decision_log::LogSettings { max_file_bytes: 300, ..decision_log::LogSettings::new(folder) };
    DecisionLog::open(settings, NOON.parse().unwrap()).unwrap()
}

/// How much there is of each kind.
fn counts(database: &Database, logs: &Path) -> BTreeMap<&'static str, usize> {
    let rows = |statement: &str| database.read(|sql| sql.query(statement, &[])).unwrap().len();
    let files = fs::read_dir(logs)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_str().unwrap().starts_with("decisions-"));
    BTreeMap::from([
        ("ended-tasks", rows("SELECT 1 FROM task WHERE state IN ('terminated', 'locked')")),
        ("idle-tasks", rows("SELECT 1 FROM task WHERE state = 'active'")),
        ("tombstones", rows("SELECT 1 FROM task_tombstone")),
        ("answers", rows("SELECT 1 FROM task_answer")),
        ("decision-lines", rows("SELECT 1 FROM decision_line")),
        ("contexts", rows("SELECT 1 FROM context")),
        ("log-files", files.count()),
    ])
}

/// Some of everything, at noon.
fn populate(serving: &Serving) {
    let key = |key: &'static str| [("content-type", "application/json"), ("idempotency-key", key)];
    let begun =
        serving.send("POST", "/v1/tasks", &key("begin"), crate::serving::new_task().to_string().as_bytes());
    assert_eq!(begun.status, 201);
    let ended = serving.task();
    assert_eq!(serving.post(&format!("{ended}/end"), &json!({"reason": "done"})).status, 200);
    let purged = serving.task();
    assert_eq!(serving.send("DELETE", &purged, &[], b"").status, 200);
    let contexts = Conversations::new(serving.database.clone(), counted(0));
    contexts.send(None, &Incoming::default(), NOON.parse().unwrap()).unwrap();
}

/// A kind, its settings, and what changes: the kind itself, and what follows from that.
type Row = (&'static str, &'static [&'static str], &'static [(&'static str, isize)]);

#[test]
fn each_kind_of_data_goes_when_it_is_over_its_age() {
    let rows: [Row; 7] = [
        (
            "ended-tasks",
            &["ended-tasks=30d"],
            &[("ended-tasks", -1), ("tombstones", 1), ("decision-lines", -1)],
        ),
        ("idle-tasks", &["idle-tasks=30d"], &[("idle-tasks", -1), ("ended-tasks", 1), ("decision-lines", 1)]),
        ("tombstones", &["tombstones=30d", "answers=30d"], &[("tombstones", -1), ("answers", -1)]),
        ("answers", &["answers=30d"], &[("answers", -1)]),
        ("decision-lines", &["decision-lines=30d"], &[("decision-lines", -3)]),
        ("contexts", &["contexts=30d"], &[("contexts", -1)]),
        ("log-files", &["log-files=30d"], &[("decision-lines", -3)]),
    ];
    let kinds: Vec<&str> = Retention::ROWS.iter().map(|row| row.name).collect();
    assert_eq!(rows.map(|(kind, ..)| kind).to_vec(), kinds, "each kind has its row");
    for (kind, settings, changes) in rows {
        for (name, database, _folder) in databases() {
            let folder = tempfile::tempdir().unwrap();
            let logs = folder.path();
            let first = Serving::over_log(database.clone(), small_files(logs), |_, _| {});
            populate(&first);
            first.stop();
            let serving =
                Serving::over_log(database, small_files(logs), |it, _| it.retention = rules(settings));
            let before = counts(&serving.database, logs);
            assert!(before.values().all(|count| *count > 0), "{name}: {before:?}");
            serving.set_now(&after_noon(30 * DAY));
            sweep(&serving);
            assert_eq!(
                counts(&serving.database, logs),
                before,
                "{name}, {kind}: on the last day nothing goes"
            );
            serving.set_now(&after_noon(30 * DAY + 1));
            sweep(&serving);
            let mut after = counts(&serving.database, logs);
            let mut wanted = before.clone();
            for (kind, change) in changes {
                *wanted.get_mut(kind).unwrap() = before[kind].checked_add_signed(*change).unwrap();
            }
            let (was, files) = (wanted.remove("log-files").unwrap(), after.remove("log-files").unwrap());
            assert_eq!(after, wanted, "{name}, {kind}");
            assert!(
                if kind == "log-files" { files <= 2 && files < was } else { files >= was },
                "{name}: {files}"
            );
            let figures = serving.get("/metrics").text();
            assert!(
                figures.contains(&format!("celador_swept_total{{kind=\"{kind}\"}}")),
                "{name}: {figures}"
            );
            let again = counts(&serving.database, logs);
            sweep(&serving);
            assert_eq!(counts(&serving.database, logs), again, "{name}, {kind}: there is nothing left to do");
            assert_eq!(serving.get("/readyz").json()["reasons"], json!([]), "{name}");
            let store = StoredTasks::new(serving.stop(), &StoreLimits::default());
            store.verify().unwrap();
            let intact = verify(logs, None).unwrap();
            assert_eq!(intact.said, kind == "log-files", "{name}, {kind}: {intact:?}");
            assert_eq!(intact.first > 1, kind == "log-files", "{name}, {kind}: {intact:?}");
            // nothing of what went is taken for missing when the server starts again
            let late = |at: &Path| {
                let names = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path());
                let files = names.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
                files
                    .map(|path| fs::read_to_string(path).unwrap().matches("\"late\":true").count())
                    .sum::<usize>()
            };
            let lates = late(logs);
            Serving::over_log(store.database().clone(), small_files(logs), |_, _| {}).stop();
            assert_eq!(late(logs), lates, "{name}, {kind}");
            if kind != "tombstones" && kind != "log-files" {
                assert_eq!(compared(store.database(), &[logs]).1, [], "{name}, {kind}");
            }
        }
    }
}

#[test]
fn an_idle_task_is_ended_with_the_rule_as_its_reason_and_later_purged() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let serving = Serving::over_log(database, log_in(folder.path(), SyncMode::System), |settings, _| {
        settings.retention = rules(&["idle-tasks=90d", "ended-tasks=30d"]);
    });
    let task = serving.task();
    // an operation that the host never carried out is taken back under the policy
    let asks = serving.task();
    let fetch = json!({"function": "zendesk_fetch_ticket", "arguments": {}});
    assert!(serving.post(&format!("{asks}/invoke"), &fetch).json()["asks"].is_object());
    serving.set_now(&after_noon(90 * DAY + 1));
    sweep(&serving);
    for path in [&task, &asks] {
        let seen = serving.get(path).json();
        assert_eq!((&seen["state"], &seen["message"]), (&json!("terminated"), &json!("idle-tasks=90d")));
    }
    assert!(serving.get(&format!("{asks}/context")).text().contains("restricted"));
    // the end is its last event: from there the other rule counts
    serving.set_now(&after_noon(120 * DAY + 1));
    sweep(&serving);
    assert_eq!(serving.get(&task).status, 200);
    serving.set_now(&after_noon(120 * DAY + 2));
    sweep(&serving);
    assert_eq!((serving.get(&task).status, serving.get(&asks).status), (410, 410));
    let id = task.rsplit('/').next().unwrap().to_owned();
    let tasks = StoredTasks::new(serving.stop(), &StoreLimits::default());
    let tombstone = tasks.tombstone(&Owner::nobody(), &id).unwrap().unwrap();
    assert_eq!((&*tombstone.purged_by, &*tombstone.reason), ("retention", "ended-tasks=30d"));
    let said: Vec<_> = lines(folder.path()).into_iter().filter(|line| line["task"] == *id).collect();
    let rows: Vec<_> = said.iter().map(|line| (&line["operation"], &line["who"], &line["reason"])).collect();
    let retention = json!("retention");
    assert_eq!(
        rows[1..],
        [
            (&json!("end"), &retention, &json!("idle-tasks=90d")),
            (&json!("purge"), &retention, &json!("ended-tasks=30d"))
        ]
    );
    verify(folder.path(), None).unwrap();
    assert_eq!(compared(tasks.database(), &[folder.path()]).1, []);
}

/// So many tasks that ended long ago.
fn ended(store: &StoredTasks, count: usize) {
    let at = "2001-01-01T00:00:00Z".parse().unwrap();
    for number in 0..count {
        let id = format!("t-{number:04}");
        store.create(&kim(), &new_task(&id), second(0), Some(once(&id))).unwrap();
        let ending = Ending { at, who: "kim", reason: "done", with_parent: false, expected: None };
        store.end(&kim(), &id, &ending, None, |_| None).unwrap();
    }
}

#[test]
fn two_servers_that_sweep_at_once_purge_each_task_once() {
    for (name, database, _folder) in databases() {
        let store =
            StoredTasks::new(database.clone(), &StoreLimits { max_page: 7, ..StoreLimits::default() });
        ended(&store, 60);
        let logs = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let servers = logs.each_ref().map(|folder| {
            Serving::over_log(database.clone(), log_in(folder.path(), SyncMode::System), |settings, _| {
                settings.retention = rules(&["ended-tasks=30d", "answers=30d"]);
                settings.limits.store.max_page = 7;
            })
        });
        std::thread::scope(|scope| servers.iter().for_each(|serving| drop(scope.spawn(|| sweep(serving)))));
        let found = Verified { tombstones: 60, ..Verified::default() };
        assert_eq!(store.verify(), Ok(Verified { answers: 60, ..found }), "{name}: answers are not that old");
        let swept = |serving: &Serving| {
            let figures = serving.get("/metrics").text();
            let line = figures
                .lines()
                .find_map(|line| line.strip_prefix("celador_swept_total{kind=\"ended-tasks\"} "));
            line.map_or(0, |count| count.parse::<usize>().unwrap())
        };
        assert_eq!(servers.iter().map(swept).sum::<usize>(), 60, "{name}");
        for serving in servers {
            assert_eq!(serving.get("/readyz").json()["reasons"], json!([]), "{name}");
            serving.stop();
        }
        let mut purged: Vec<String> = Vec::new();
        for folder in &logs {
            let file = folder.path().join("decisions-000000000001.jsonl");
            let said =
                if fs::metadata(&file).is_ok_and(|it| it.len() > 0) { lines(folder.path()) } else { vec![] };
            purged.extend(said.iter().map(|line| line["task"].as_str().unwrap().to_owned()));
        }
        purged.sort();
        let all: Vec<String> = (0..60).map(|number| format!("t-{number:04}")).collect();
        assert_eq!(purged, all, "{name}: each has one line in one of the logs");
    }
}

/// A task that takes a step while it is swept is either ended before the step, and the step is rejected, or goes on.
#[test]
fn a_sweep_beside_a_writer_ends_only_who_rests() {
    for (name, database, _folder) in databases() {
        let serving = Serving::over(database.clone(), |settings, _| {
            settings.retention = rules(&["idle-tasks=5m"]);
        });
        let other = Serving::over(database, |_, _| {});
        let tasks: Vec<String> = (0..30).map(|_| serving.task()).collect();
        let later = after_noon(301);
        serving.set_now(&later);
        other.set_now(&later);
        let input = json!({"message": "Still here.", "ticket_id": "T-1"});
        let verdicts: Vec<String> = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut verdicts = Vec::new();
                for (number, task) in tasks.iter().enumerate() {
                    // one half by the server that sweeps, one by another
                    let server = if number % 2 == 0 { &serving } else { &other };
                    let reply = server.post(&format!("{task}/input"), &input).json();
                    verdicts.push(reply["decided"]["verdict"].as_str().unwrap().to_owned());
                }
                verdicts
            });
            sweep(&serving);
            writer.join().unwrap()
        });
        for (task, verdict) in tasks.iter().zip(&verdicts) {
            let state = serving.get(task).json()["state"].as_str().unwrap().to_owned();
            assert_eq!(state == "terminated", verdict == "rejected", "{name}: {verdict}, {state}");
        }
        // nobody rests any more
        sweep(&serving);
        let goes_on = verdicts.iter().filter(|verdict| *verdict == "allow").count();
        let active = serving.get("/v1/tasks").json()["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|task| task["state"] == "active")
            .count();
        assert_eq!(goes_on, active, "{name}");
        StoredTasks::new(serving.stop(), &StoreLimits::default()).verify().unwrap();
    }
}

/// What was judged old and has taken a step since stays, whoever took it.
#[test]
fn a_task_that_has_taken_a_step_since_it_was_looked_at_stays() {
    for (name, database, _folder) in databases() {
        let store = StoredTasks::new(database, &StoreLimits::default());
        let mut kept = Kept::create(&store, &kim(), "t-1").unwrap();
        let seen = kept.head.version();
        kept.post("m", None).unwrap();
        let purge = Purge { at: second(9), who: "retention", reason: "ended-tasks=30d" };
        let conflict = StoreError::Conflict { expected: 1, found: 2 };
        assert_eq!(
            store.purge_due(&kim(), "t-1", &purge, Some(seen), |_| None).unwrap_err(),
            conflict,
            "{name}"
        );
        assert_eq!(store.version(&kim(), "t-1"), Ok(2), "{name}");
        assert!(store.purge_due(&kim(), "t-1", &purge, Some(2), |_| None).is_ok(), "{name}");
    }
}

/// Killed again and again while it sweeps: each task is whole or purged, and each purge has its line once.
#[test]
fn a_server_that_is_killed_in_the_middle_of_a_sweep_leaves_each_task_whole_or_purged() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("log");
    let path = folder.path().join("s.db");
    let count = 400;
    let open = || Database::open(&Location::File(path.clone()), &StoreLimits::default()).unwrap();
    ended(&StoredTasks::new(open(), &StoreLimits::default()), count);
    let arguments = ["--retain", "ended-tasks=30d", "--retain", "answers=36500d"];
    let (mut killed, mut amid, kills) = (0, 0, kills(10));
    let begun = Instant::now();
    loop {
        let process = Process::start(folder.path(), &arguments);
        // the sweep begins with the server
        if killed < kills {
            std::thread::sleep(moment(120));
        } else {
            let left = || open().read(|sql| sql.query("SELECT 1 FROM task", &[])).unwrap().len();
            while left() > 0 {
                assert!(begun.elapsed() < Duration::from_secs(60), "{} tasks are left", left());
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        process.kill();
        killed += 1;
        let found = StoredTasks::new(open(), &StoreLimits::default()).verify().unwrap();
        assert_eq!(found.tasks + found.tombstones, count as u64, "{found:?}");
        assert_eq!(found.events, found.tasks * 2, "{found:?}");
        amid += usize::from(found.tasks > 0 && found.tombstones > 0);
        if found.tasks == 0 {
            break;
        }
    }
    Process::start(folder.path(), &arguments).kill();
    verify(&logs, None).unwrap();
    let mut purged: Vec<String> = lines(&logs)
        .iter()
        .filter(|line| line["operation"] == "purge")
        .map(|line| line["task"].as_str().unwrap().to_owned())
        .collect();
    purged.sort();
    let all: Vec<String> = (0..count).map(|number| format!("t-{number:04}")).collect();
    assert_eq!(purged, all);
    println!(
        "{killed} kills, {amid} of them amid the sweep of {count} tasks; each has one tombstone and one line"
    );
}

#[test]
fn a_rule_that_fails_is_told_and_stops_nothing() {
    let serving = Serving::with(&Location::Memory, |settings, _| {
        settings.retention = rules(&["ended-tasks=30d", "tombstones=60d", "answers=60d", "contexts=60d"]);
    });
    populate(&serving);
    let alter = |statement: &str| serving.database.write(|sql| sql.execute(statement, &[])).unwrap();
    alter("UPDATE task_tombstone SET reason = 'another' || reason");
    serving.set_now(&after_noon(61 * DAY));
    sweep(&serving);
    let ready = serving.get("/readyz");
    let told = json!([{
        "code": "retention-failed",
        "blocks": false,
        "detail": "what is too old could not all be taken away (tombstones); the next sweep tries again"
    }]);
    assert_eq!((ready.status, &ready.json()["reasons"]), (200, &told));
    assert!(serving.get("/metrics").text().contains("celador_sweep_errors_total{kind=\"tombstones\"} 1"));
    // the other rules were kept, and steps are taken
    let rows = |table: &str| {
        serving.database.read(|sql| sql.query(&format!("SELECT 1 FROM {table}"), &[])).unwrap().len()
    };
    assert_eq!(["context", "task_answer", "task_tombstone"].map(rows), [0, 0, 2]);
    serving.task();
    alter("UPDATE task_tombstone SET reason = substr(reason, 8) WHERE reason LIKE 'another%'");
    sweep(&serving);
    assert_eq!((rows("task_tombstone"), serving.get("/readyz").json()["reasons"].clone()), (1, json!([])));
    // a store that does not answer is no reason to end either
    serving.store_down(true);
    sweep(&serving);
    serving.store_down(false);
    assert_eq!(serving.get("/readyz").json()["reasons"][0]["code"], "retention-failed");
    sweep(&serving);
    assert_eq!(serving.get("/readyz").json()["reasons"], json!([]));
}

#[test]
fn nonsense_is_refused_at_the_start() {
    let serve = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
        let folder = tempfile::tempdir().unwrap();
        command.args(["serve", "--listen", "127.0.0.1:0", "--store", "memory", "--data"]).arg(folder.path());
        let output = command.arg(crate::serving::desk()).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (arguments, said) in [
        (&["--retain", "tasks=30d"][..], "`--retain`: `tasks=30d` is no rule: expected KIND=AGE"),
        (&["--retain", "ended-tasks=30"], "`--retain`: `30` is no age"),
        (&["--retain", "tombstones=7d"], "`--retain`: `tombstones=7d` is shorter than `answers`"),
        (&["--sweep-every", "1s"], "`1s` is too short: expected at least `1m`"),
    ] {
        let (code, text) = serve(arguments);
        assert_eq!(code, Some(1), "{arguments:?}: {text}");
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
    let mut settings = Settings::new(vec![crate::serving::desk()]);
    settings.address.set_port(0);
    settings.retention = rules(&["tombstones=7d"]);
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let parts = Parts { clock: system_clock().unwrap(), database, log: None };
    let refused = Server::start(settings, parts).map(Server::stop).unwrap_err().to_string();
    assert!(refused.starts_with("`retention`: `tombstones=7d` is shorter than `answers`"), "{refused}");
}
