//! The server under load on loopback: decisions a second and how long they take, by store and number of clients; memory
//! under many open tasks.
//!
//! `cargo bench --bench load` runs all of it, `-- memory`, `-- file` or `-- postgres` one store, `-- open` the open tasks,
//! `-- hostile` crowds of 5,000 hostile connections, `-- greedy` 300 greedy clients of one caller beside another's one,
//! `-- turns` a turn of three calls beside single steps, `-- large` the memory that a task at its bound and large bodies take.
//! Each client has a task and a connection of its own and sends its next step when it has the answer to the one before, so
//! the load is bounded by the number of clients, which share the machine with the server. Every answer is asserted.
//! `SECONDS` is how long each row runs.
#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark is a program of its own; what goes wrong in it should stop it"
)]

mod client;
mod hostile;
mod large;
#[path = "../../tests/it/servers.rs"]
#[expect(dead_code, reason = "shared with the tests, which stop and start them")]
mod servers;
mod turns;

use celador_server::{Parts, Server, Settings, system_clock};
use celador_store::{Database, Location, StoreLimits};
use client::Client;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// An agent whose calls pass a binding, two asserts and a condition.
const MANIFEST: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: bench
name: payout
description: Pays money back.
actions:
  - name: pay
    description: Pays.
    parameters: {properties: {amount: {type: number}, customer: {type: string}}}
    execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
---
kind: commonagents.info/v1beta2/tool
namespace: bench
name: quote
description: Says what may be paid back.
actions:
  - name: read
    description: Reads.
    parameters: {properties: {amount: {type: number}, customer: {type: string}}}
    execute: {stateless_http: {method: POST, url: "https://pay.example.com/quotes"}}
---
kind: commonagents.info/v1beta2/agent
namespace: bench
name: clerk
description: Answers customers.
prompt: You are a careful clerk.
capabilities:
  payout:
    bindings:
      customer: context.user.id
    before:
      - assert: input.amount > 0 && input.amount <= 1000
        error_message: "{input.amount} is outside what a clerk may pay."
      - condition: input.amount > 500
        assert: context.capabilities.payout.count_successful > 3
  quote:
    bindings:
      customer: context.user.id
    before:
      - assert: input.amount > 0 && input.amount <= 1000
        error_message: "{input.amount} is outside what a clerk may pay."
      - condition: input.amount > 500
        assert: context.capabilities.payout.count_successful > 3
"#;

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("agent.yaml"), MANIFEST).expect("a manifest");
    println!(
        "{:10} {:>7} {:>11} {:>9} {:>9} {:>9} {:>9}",
        "store", "clients", "decisions/s", "p50 ms", "p90 ms", "p99 ms", "max ms"
    );
    if is_wanted("memory") {
        measure("memory", &Location::Memory, folder.path());
    }
    if is_wanted("file") {
        measure("file", &Location::File(folder.path().join("celador.db")), folder.path());
    }
    if is_wanted("postgres") {
        let postgres = servers::PostgresServer::start();
        measure("postgres", &Location::Postgres(postgres.database()), folder.path());
    }
    if is_wanted("turns") {
        let postgres = servers::PostgresServer::start();
        turns::rows("memory", &Location::Memory, folder.path());
        turns::rows("file", &Location::File(folder.path().join("turns.db")), folder.path());
        turns::rows("postgres", &Location::Postgres(postgres.database()), folder.path());
    }
    if is_wanted("open") {
        open_tasks(&Location::File(folder.path().join("open.db")), folder.path());
    }
    if is_wanted("hostile") {
        hostile::crowds(folder.path());
    }
    if is_wanted("greedy") {
        hostile::greedy(folder.path());
    }
    if is_wanted("large") {
        large::rows(folder.path());
    }
}

fn start(location: &Location, policies: &Path) -> Server {
    let mut settings = Settings::new(vec![policies.join("agent.yaml")]);
    settings.address.set_port(0);
    settings.watch = None;
    // a task at its bound takes its time on a busy machine, and what it takes is what is asked
    settings.limits.max_request_ms = 600_000;
    let database = Database::open(location, &StoreLimits::default()).expect("a store");
    let parts = Parts { clock: system_clock().expect("a clock"), database, log: None };
    Server::start(settings, parts).expect("a server")
}

/// One row for each number of clients.
fn measure(name: &str, location: &Location, policies: &Path) {
    let seconds = std::env::var("SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let server = start(location, policies);
    for clients in [1, 8, 32, 128] {
        let address = server.address();
        let end = Instant::now() + Duration::from_secs(seconds);
        let begun = Instant::now();
        let threads: Vec<_> =
            (0..clients).map(|_| thread::spawn(move || steps(Client::new(address), end))).collect();
        let mut times: Vec<Duration> =
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        let took = begun.elapsed().as_secs_f64();
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
        println!(
            "{name:10} {clients:>7} {:>11.0} {:>9.2} {:>9.2} {:>9.2} {:>9.2}",
            times.len() as f64 / took,
            at(0.5),
            at(0.9),
            at(0.99),
            at(1.0)
        );
    }
    server.stop();
}

/// Takes steps until the end: a call that is let through, its result, and so on. The time of each.
fn steps(mut client: Client, end: Instant) -> Vec<Duration> {
    let task = client.new_task();
    let mut times = Vec::new();
    let mut call = 0;
    while Instant::now() < end {
        let before = r#"{"function": "payout", "arguments": {"amount": 250}}"#;
        let after = format!(
            r#"{{"call": {call}, "result": {{"status": "successful", "output": {{"paid": true}}}}}}"#
        );
        for (step, body) in [("before", before), ("after", &*after)] {
            let begun = Instant::now();
            let answer = client.post(&format!("{task}/{step}"), body);
            times.push(begun.elapsed());
            assert!(answer.contains(r#""verdict":"allow""#), "{answer}");
        }
        call += 1;
    }
    times
}

/// What 10,000 tasks take while they are open: each has had an input and one call.
fn open_tasks(location: &Location, policies: &Path) {
    const TASKS: usize = 10_000;
    /// Together, so that they share commits.
    const CLIENTS: usize = 50;
    let server = start(location, policies);
    let address = server.address();
    let resident = || {
        let status = fs::read_to_string("/proc/self/status").expect("Linux");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
    };
    let before = resident();
    let begun = Instant::now();
    let open = move || {
        let mut client = Client::new(address);
        for _ in 0..TASKS / CLIENTS {
            let task = client.new_task();
            client.post(&format!("{task}/input"), r#"{"message": "Please pay this back."}"#);
            client.post(&format!("{task}/before"), r#"{"function": "payout", "arguments": {"amount": 250}}"#);
            let result = r#"{"call": 0, "result": {"status": "successful", "output": {"paid": true}}}"#;
            client.post(&format!("{task}/after"), result);
        }
    };
    let threads: Vec<_> = (0..CLIENTS).map(|_| thread::spawn(open)).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let took = begun.elapsed().as_secs_f64();
    let after = resident();
    let metrics = Client::new(address).get("/metrics");
    let live = metrics.lines().find_map(|line| line.strip_prefix("celador_live_tasks ")).unwrap_or("?");
    println!(
        "{TASKS} tasks in {took:.1} s, {live} of them in memory: resident {before} kB before, {after} kB after, {:.1} kB a task",
        (after - before) as f64 / TASKS as f64
    );
    server.stop();
}
