//! The decision log held against the store: what is missing is named, gaps are closed, and with a log that is required no
//! decision is answered that is not in it.

use crate::serving::{self, NOON, Serving};
use celador_store::decision_log::{self, DecisionLog, SyncMode, verify};
use celador_store::{Compared, Database, Difference, Location, StoreLimits, compare};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub fn log_in(folder: &Path, sync: SyncMode) -> DecisionLog {
    let settings = decision_log::LogSettings { sync, ..decision_log::LogSettings::new(folder) };
    DecisionLog::open(settings, NOON.parse().unwrap()).unwrap()
}

pub fn compared(database: &Database, folders: &[&Path]) -> (Compared, Vec<Difference>) {
    let mut found = Vec::new();
    let folders: Vec<PathBuf> = folders.iter().map(|folder| folder.to_path_buf()).collect();
    let compared = compare(database, &folders, |difference| found.push(difference)).unwrap();
    (compared, found)
}

fn turn(serving: &Serving, task: &str, key: &str) -> serving::Reply {
    let headers = [("content-type", "application/json"), ("idempotency-key", key)];
    let body = br#"{"prompt_tokens": 1, "completion_tokens": 1}"#;
    serving.send("POST", &format!("{task}/model-turn"), &headers, body)
}

pub fn lines(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("decisions-000000000001.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A small disk, if this user may mount one; it goes with the value.
pub struct SmallDisk(pub tempfile::TempDir);

impl SmallDisk {
    pub fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=256k", "celador-test"]).arg(folder.path());
        mount.output().is_ok_and(|output| output.status.success()).then_some(Self(folder))
    }

    pub fn fill(&self) -> PathBuf {
        let ballast = self.0.path().join("ballast");
        let mut file = fs::File::create(&ballast).unwrap();
        while std::io::Write::write_all(&mut file, &[0; 512]).is_ok() {}
        ballast
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}

#[test]
fn no_decision_is_answered_that_a_required_log_does_not_have() {
    let Some(disk) = SmallDisk::mount() else {
        println!("skipped: a small file system cannot be mounted here");
        return;
    };
    let logs = disk.0.path().join("log");
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let log = log_in(&logs, SyncMode::Always);
    let serving = Serving::over_log(database.clone(), log, |settings, _| settings.log_required = true);
    let task = serving.task();
    assert_eq!(turn(&serving, &task, "k-1").json()["version"], 3);
    let ballast = disk.fill();
    // lines are short: what is left of the last page takes some
    let mut answered = 1;
    let refused = loop {
        let reply = turn(&serving, &task, &format!("k-{}", answered + 1));
        if reply.status != 200 {
            break reply;
        }
        answered += 1;
    };
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(refused.json()["type"], "urn:celador:problem:log-unavailable");
    let at = |serving: &Serving| serving.get(&task).json()["version"].as_u64().unwrap();
    let stood = at(&serving);
    assert_eq!(stood, answered + 3, "the step whose line failed is stored, and not answered");
    for key in ["other-1", "other-2"] {
        assert_eq!(turn(&serving, &task, key).status, 503, "nothing is decided while a line is owed");
    }
    assert_eq!(turn(&serving, &task, &format!("k-{}", answered + 1)).status, 503, "nor answered again");
    assert_eq!(turn(&serving, &task, "k-1").status, 503);
    assert_eq!(at(&serving), stood);
    let ready = serving.get("/readyz");
    assert_eq!((ready.status, ready.json()["reasons"][0]["code"].clone()), (503, json!("log-unwritable")));
    let (_, differences) = compared(&database, &[&logs]);
    assert!(matches!(&differences[..], [Difference::Missing { version, .. }] if *version == stood));
    // with room again the same key gives the decision that was taken, and the log has it first
    fs::remove_file(ballast).unwrap();
    let again = turn(&serving, &task, &format!("k-{}", answered + 1));
    assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")));
    assert_eq!(again.json()["version"], stood);
    assert_eq!(turn(&serving, &task, "other-1").json()["version"], stood + 1);
    let (compared, differences) = compared(&database, &[&logs]);
    assert_eq!((differences, compared.late, compared.decisions), (vec![], 1, stood));
    verify(&logs, None).unwrap();
}

#[test]
fn a_log_that_is_not_required_is_brought_up_to_date_when_it_can_be_written() {
    let Some(disk) = SmallDisk::mount() else {
        println!("skipped: a small file system cannot be mounted here");
        return;
    };
    let logs = disk.0.path().join("log");
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let serving = Serving::over_log(database.clone(), log_in(&logs, SyncMode::System), |_, _| {});
    let task = serving.task();
    let ballast = disk.fill();
    for number in 0..40 {
        assert_eq!(turn(&serving, &task, &format!("k-{number}")).status, 200);
        if number == 20 {
            let reasons = serving.get("/readyz").json()["reasons"].clone();
            assert_eq!(reasons[0]["code"], "log-unwritable", "{reasons}");
        }
    }
    let (before, differences) = compared(&database, &[&logs]);
    assert!(differences.len() > 10 && before.late == 0, "{}", differences.len());
    fs::remove_file(ballast).unwrap();
    assert_eq!(turn(&serving, &task, "last").status, 200);
    let (after, left) = compared(&database, &[&logs]);
    assert_eq!((left, after.late), (vec![], differences.len() as u64));
    verify(&logs, None).unwrap();
}

/// Two servers over one store, each with its own log; each log loses its end, and is made whole by its own server.
#[test]
fn each_server_closes_the_gap_of_its_own_log_and_all_are_compared_together() {
    let folder = tempfile::tempdir().unwrap();
    let database =
        Database::open(&Location::File(folder.path().join("s.db")), &StoreLimits::default()).unwrap();
    let logs = ["one", "two"].map(|name| folder.path().join(name));
    let folders: Vec<&Path> = logs.iter().map(|path| &**path).collect();
    let start =
        |at: usize| Serving::over_log(database.clone(), log_in(&logs[at], SyncMode::System), |_, _| {});
    let servers = [start(0), start(1)];
    let task = servers[0].task();
    for number in 0..12 {
        assert_eq!(turn(&servers[number % 2], &task, &format!("k-{number}")).status, 200);
    }
    let (both, differences) = compared(&database, &folders);
    assert_eq!((both.decisions, both.lines, both.late, differences), (13, 13, 0, vec![]));
    // one log alone lacks what the other server decided
    let (_, differences) = compared(&database, &folders[..1]);
    assert_eq!(differences.len(), 6);
    drop(servers.map(Serving::stop));

    let cut = |folder: &Path, keep: usize| {
        let path = folder.join("decisions-000000000001.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.split_inclusive('\n').take(keep).collect::<String>()).unwrap();
    };
    cut(&logs[0], 4);
    cut(&logs[1], 1);
    let (_, differences) = compared(&database, &folders);
    assert_eq!(differences.len(), 3 + 5);
    let servers = [start(0), start(1)];
    let (closed, differences) = compared(&database, &folders);
    assert_eq!((closed.lines, closed.late, differences), (13, 8, vec![]));
    let late: Vec<Value> = lines(&logs[1]).into_iter().filter(|line| line["late"] == true).collect();
    assert_eq!(late.len(), 5);
    for line in &late {
        assert_eq!(
            (line["operation"].clone(), line["verdict"].clone()),
            (json!("model_turn"), json!("allow"))
        );
        assert!(line["event"].as_str().is_some_and(|event| event.len() == 64), "{line}");
    }
    for folder in &folders {
        verify(folder, None).unwrap();
    }
    assert_eq!(turn(&servers[0], &task, "next").status, 200);
    assert_eq!(compared(&database, &folders).1, []);
}

/// A store that lost its end, and one whose decision is another: each line is named.
#[test]
fn lines_without_their_decision_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let logs = folder.path().join("log");
    let database = Database::open(&Location::File(path.clone()), &StoreLimits::default()).unwrap();
    let serving = Serving::over_log(database.clone(), log_in(&logs, SyncMode::System), |_, _| {});
    let task = serving.task();
    for number in 0..4 {
        turn(&serving, &task, &format!("k-{number}"));
    }
    drop((serving.stop(), database));
    let sqlite = rusqlite::Connection::open(&path).unwrap();
    sqlite.execute("DELETE FROM task_event WHERE version = 4", []).unwrap();
    sqlite.execute("UPDATE task_event SET chain = 'ff' || substr(chain, 3) WHERE version = 6", []).unwrap();
    drop(sqlite);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
        let output = command.args(["log", "verify"]).args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (output.status.code().unwrap(), text)
    };
    let (logs, store) = (logs.to_str().unwrap(), path.to_str().unwrap());
    assert_eq!(run(&[logs]).0, 0);
    let (code, text) = run(&[logs, "--store", store]);
    assert_eq!(code, 2, "{text}");
    let id = task.rsplit('/').next().unwrap();
    for said in [
        &*format!("without a decision: line 3 of `{logs}` is about version 4 of task {id}"),
        &*format!("different: line 5 of `{logs}` says something else of version 6 of task {id}"),
        &*format!("missing: no log has version 6 of task {id} (model_turn, 2026-06-01T12:00:00Z)"),
        "4 decision(s) in the store, 5 line(s) about decisions, 0 of them late, 0 other line(s); 3 difference(s)",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    let (code, text) = run(&[logs, "--store", store, "--format", "json"]);
    assert!(code == 2 && text.contains(r#""difference":"missing""#), "{text}");
    assert_eq!(run(&[logs, "--store", "/nowhere/at/all.db"]).0, 1);
}

/// A `celador serve` with a decision log.
pub struct Process(pub Child, pub String);

impl Process {
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_celador"))
            .args(["serve", "--listen", "127.0.0.1:0", "--watch", "0", "--log", "error"])
            .arg(serving::desk())
            .arg("--decision-log")
            .arg(folder.join("log"))
            .args(arguments)
            .env("CELADOR_STORE", folder.join("s.db"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}"));
        Self(process, format!("http://{address}"))
    }

    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Killed again and again in the middle of steps; then, what every start left behind is complete, and each answer is there.
fn killed(arguments: &[&str], kills: usize) {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("log");
    let mut answered = 0_u64;
    for _ in 0..kills {
        let process = Process::start(folder.path(), arguments);
        let base = process.1.clone();
        let clients: Vec<_> = (0..3)
            .map(|_| {
                let base = base.clone();
                std::thread::spawn(move || {
                    let agent = serving::agent();
                    let send = |path: &str, body: Value| {
                        let sent = agent.post(format!("{base}{path}")).content_type("application/json");
                        let mut reply = sent.send(body.to_string()).ok()?;
                        serde_json::from_str::<Value>(&reply.body_mut().read_to_string().ok()?).ok()
                    };
                    let Some(made) = send("/v1/tasks", serving::new_task()) else { return 0 };
                    let task = made["task"].as_str().unwrap().to_owned();
                    let mut answered = 0;
                    while let Some(reply) = send(
                        &format!("/v1/tasks/{task}/input"),
                        json!({"message": "Hello.", "ticket_id": "T-1"}),
                    ) {
                        answered += u64::from(reply["version"].is_number());
                    }
                    answered
                })
            })
            .collect();
        std::thread::sleep(crate::store_crash::moment(150) + Duration::from_millis(20));
        process.kill();
        answered += clients.into_iter().map(|client| client.join().unwrap()).sum::<u64>();
    }
    let begun = Instant::now();
    Process::start(folder.path(), arguments).kill();
    let database =
        Database::open(&Location::File(folder.path().join("s.db")), &StoreLimits::default()).unwrap();
    let (found, differences) = compared(&database, &[&logs]);
    verify(&logs, None).unwrap();
    assert_eq!(differences, []);
    assert!(answered > 0 && found.decisions >= answered, "{found:?}, {answered} answered");
    println!("{kills} kills, {answered} answered, {found:?}; the last start took {:?}", begun.elapsed());
}

#[test]
fn a_killed_server_closes_its_gap_when_it_starts_again() {
    killed(&[], crate::store_crash::kills(8));
    killed(&["--decision-log-required"], crate::store_crash::kills(8));
}

#[test]
fn a_required_log_has_to_be_there() {
    use celador_server::{Parts, Server, Settings, system_clock};
    let mut settings = Settings::new(vec![serving::desk()]);
    settings.address.set_port(0);
    settings.log_required = true;
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let parts = Parts { clock: system_clock().unwrap(), database, log: None };
    let refused = Server::start(settings, parts).map(Server::stop).unwrap_err();
    assert_eq!(refused.to_string(), "every decision has to be in a decision log, and there is none");
}
