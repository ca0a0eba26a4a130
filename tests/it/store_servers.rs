//! Real server processes over one store, killed in the middle of requests: clients that send a request again under its key
//! until somebody answers find each step counted once, wherever it went.
//!
//! `CELADOR_KILLS` says how many kills there are to be; `--nocapture` shows what was counted.

use crate::servers::PostgresServer;
use crate::serving;
use crate::store_crash::{kills, moment, spread};
use crate::store_load::{Answered, settle};
use crate::task_fixture::manifests;
use celador_store::{Database, Location, Owner, StoreLimits, StoredTasks};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const AGENT: &str = "capabilities:\n  ledger:\n    before:\n    - {assert: \"input.memo != 'never'\", error_message: Never.}\n";

/// A `celador serve`.
pub struct ServerProcess {
    process: Child,
    pub base: String,
}

impl ServerProcess {
    pub fn start(location: &str, policies: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_celador"))
            .args(["serve", "--listen", "127.0.0.1:0", "--watch", "0", "--log", "error"])
            .arg(policies)
            .env("CELADOR_STORE", location)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("the server says {line:?}"));
        let base = format!("http://{address}");
        Self { process, base }
    }

    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends a request to one server after the other, chosen by chance, until one answers.
pub fn ask(bases: &Mutex<Vec<String>>, path: &str, key: &str, body: &Value) -> (u16, Value) {
    let agent = serving::agent();
    let begun = Instant::now();
    loop {
        let base = {
            let bases = bases.lock().unwrap();
            let chosen = moment(1_000_000).as_micros() as usize % bases.len();
            bases[chosen].clone()
        };
        let sent = agent
            .post(format!("{base}{path}"))
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .send(body.to_string());
        let reply = sent.ok().and_then(|mut reply| {
            let body = reply.body_mut().read_to_string().ok()?;
            Some((reply.status().as_u16(), serde_json::from_str(&body).ok()?))
        });
        match reply {
            Some((status @ (200 | 201), body)) => return (status, body),
            // no step is decided by who was too slow, or by a server that is going
            Some((409 | 500..=599, _)) | None => std::thread::sleep(Duration::from_millis(5)),
            Some((status, body)) => panic!("{status} {body}"),
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody answers");
    }
}

/// Servers over a store, clients, and one server after the other killed and started again. What was answered, and how long
/// it took from a start to the first answer of the new process.
fn run(location: &str, servers: usize, kills: usize) -> (Vec<Answered>, Vec<Duration>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("clerk.yaml"), manifests(AGENT)).unwrap();
    let mut processes: Vec<_> = (0..servers).map(|_| ServerProcess::start(location, folder.path())).collect();
    let bases = Mutex::new(processes.iter().map(|server| server.base.clone()).collect::<Vec<_>>());
    let new_task = json!({"namespace": "demo", "agent": "clerk", "user": {"id": "u-1"}});
    let tasks: Vec<String> = (0..3)
        .map(|number| {
            let (_, body) = ask(&bases, "/v1/tasks", &format!("task-{number}"), &new_task);
            body["task"].as_str().unwrap().to_owned()
        })
        .collect();
    let answered = Mutex::new(Vec::new());
    let goes_on = AtomicBool::new(true);
    let mut recoveries = Vec::new();
    std::thread::scope(|scope| {
        for client in 0..4 {
            let (bases, tasks, answered, goes_on) = (&bases, &tasks, &answered, &goes_on);
            scope.spawn(move || {
                for number in 0.. {
                    if !goes_on.load(Ordering::SeqCst) {
                        return;
                    }
                    let memo = format!("c{client}.{number}");
                    let task = &tasks[number % tasks.len()];
                    let arguments = json!({"amount": 1, "memo": memo, "account": "a"});
                    let body = json!({"function": "ledger_post_entry", "arguments": arguments});
                    let (_, reply) = ask(bases, &format!("/v1/tasks/{task}/before"), &memo, &body);
                    let version = reply["version"].as_u64().unwrap();
                    let verdict = reply["decided"]["verdict"].as_str().unwrap().to_owned();
                    answered.lock().unwrap().push(Answered { memo, task: task.clone(), version, verdict });
                }
            });
        }
        let count = || answered.lock().unwrap().len();
        for round in 0..kills {
            std::thread::sleep(Duration::from_millis(30) + moment(150));
            let victim = round % servers;
            processes[victim].kill();
            let begun = Instant::now();
            processes[victim] = ServerProcess::start(location, folder.path());
            bases.lock().unwrap()[victim] = processes[victim].base.clone();
            if servers == 1 {
                let before = count();
                while count() <= before {
                    assert!(begun.elapsed() < Duration::from_secs(60), "nothing is answered any more");
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            recoveries.push(begun.elapsed());
        }
        goes_on.store(false, Ordering::SeqCst);
    });
    (answered.into_inner().unwrap(), recoveries)
}

/// Each request was answered in the end: so each stands in the store once, and nothing else does.
fn settle_all(location: &str, answered: &[Answered]) -> u64 {
    let database = Database::open(&Location::parse(location), &StoreLimits::default()).unwrap();
    let store = StoredTasks::new(database, &StoreLimits::default());
    let events = settle(&store, &Owner::nobody(), answered);
    assert_eq!(events, answered.len() as u64 + 3, "as many steps as requests, and three tasks that began");
    assert_eq!(store.verify().unwrap().answers, events);
    events
}

#[test]
fn a_killed_server_loses_no_step_and_counts_none_twice() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("celador.db").display().to_string();
    let kills = kills(12);
    let (answered, mut recoveries) = run(&location, 1, kills);
    let events = settle_all(&location, &answered);
    println!(
        "a server over a file killed {kills} times under load: {} requests answered, {events} events, none twice; \
         from its start to the next answer: {}",
        answered.len(),
        spread(&mut recoveries)
    );
}

#[test]
fn two_servers_on_one_postgres_decide_each_step_once() {
    let location = PostgresServer::shared().database();
    let kills = kills(10).min(50);
    let (answered, _) = run(&location, 2, kills);
    let events = settle_all(&location, &answered);
    println!(
        "two servers on one Postgres, requests sent to either by chance, one killed {kills} times: {} requests answered, \
         {events} events, none twice",
        answered.len()
    );
}
