//! Counters of a policy over real server processes that are killed while many tasks reserve: never more than the policy allows,
//! and in the end exactly what the calls have spent and hold.
//!
//! `CELADOR_KILLS` says how many kills there are to be; `--nocapture` shows what was counted.

use crate::servers::PostgresServer;
use crate::store_crash::{kills, moment};
use crate::store_servers::{ServerProcess, ask};
use celador::Timestamp;
use celador::counter::CounterId;
use celador_store::{Database, Location, Owner, StoreLimits, StoredTasks};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What all tasks of the user may spend.
const CAP: i64 = 300;

/// The tasks that run at once.
const CLIENTS: usize = 16;

fn manifests() -> String {
    format!(
        "kind: commonagents.info/v1beta2/tool\nnamespace: shop\nname: payments\ndescription: d\nactions:\n- name: pay\n  \
         description: d\n  parameters: {{properties: {{amount: {{type: number}}}}}}\n  \
         execute: {{stateless_http: {{method: POST, url: \"https://pay.example.com\"}}}}\n---\n\
         kind: commonagents.info/v1beta2/agent\nnamespace: shop\nname: clerk\ndescription: d\nprompt: p\ncapabilities:\n  \
         payments: {{include: [pay]}}\n---\n\
         kind: celador/v1/policy\nnamespace: shop\nname: money\ncounters:\n  \
         spend: {{on: payments, key: context.user.id, window: 24h, add: input.amount}}\ncapabilities:\n  payments:\n    \
         before:\n    - assert: counters.spend + input.amount <= {CAP}\n    \
         - {{condition: input.amount == 7, assert: review('lead')}}\n"
    )
}

/// What became of the calls, as their clients were told.
#[derive(Debug, Default)]
struct Told {
    /// Amounts of calls that are open or in review.
    held: Vec<i64>,
    /// Amounts of calls that have run, or of which nobody knows.
    spent: Vec<i64>,
    /// Calls that were refused, and calls that gave back what they held.
    refused: usize,
    released: usize,
}

/// Begins a task, makes two calls in one turn, and ends each in one of the ways in which a call ends.
fn live(bases: &Mutex<Vec<String>>, number: usize, told: &Mutex<Told>) {
    let start = json!({"namespace": "shop", "agent": "clerk", "user": {"id": "u-1"}});
    let (_, made) = ask(bases, "/v1/tasks", &format!("begin-{number}"), &start);
    let task = format!("/v1/tasks/{}", made["task"].as_str().unwrap());
    let amounts = [1 + number % 7, 1 + (number / 7) % 7];
    let calls: Vec<Value> = amounts
        .iter()
        .enumerate()
        .map(|(at, amount)| json!({"id": format!("c{at}"), "function": "payments", "arguments": {"amount": amount}}))
        .collect();
    let turn = json!({"usage": {"prompt_tokens": 1, "completion_tokens": 1}, "calls": calls});
    let (_, turned) = ask(bases, &format!("{task}/turn"), &format!("turn-{number}"), &turn);
    for (at, amount) in amounts.iter().enumerate() {
        let amount = i64::try_from(*amount).unwrap();
        let verdict = turned["calls"][at]["verdict"].as_str().unwrap_or_else(|| panic!("{turned}"));
        let call = format!("c{at}");
        let end = |operation: &str, body: Value| {
            ask(bases, &format!("{task}/{operation}"), &format!("{operation}-{number}-{at}"), &body);
        };
        match verdict {
            "block" => told.lock().unwrap().refused += 1,
            // one that is let through behind a review of the other, too
            "suspend" | "wait" => told.lock().unwrap().held.push(amount),
            // most give back what they hold, so that others reserve until the end
            "allow" => match (number + at) % 8 {
                0 => {
                    end("after", json!({"call": call, "result": {"status": "successful", "output": {}}}));
                    told.lock().unwrap().spent.push(amount);
                }
                1..=5 => {
                    end("withdraw", json!({"call": call, "ran": false}));
                    told.lock().unwrap().released += 1;
                }
                6 => {
                    end("withdraw", json!({"call": call, "ran": "unknown"}));
                    told.lock().unwrap().spent.push(amount);
                }
                _ => told.lock().unwrap().held.push(amount),
            },
            other => panic!("{other}: {turned}"),
        }
    }
}

/// So many tasks over so many servers, which are killed one after the other meanwhile.
fn spend(location: &str, servers: usize, tasks: usize, kills: usize) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.yaml"), manifests()).unwrap();
    let mut processes: Vec<_> = (0..servers).map(|_| ServerProcess::start(location, folder.path())).collect();
    let bases = Mutex::new(processes.iter().map(|server| server.base.clone()).collect::<Vec<_>>());
    let database = Database::open(&Location::parse(location), &StoreLimits::default()).unwrap();
    let store = StoredTasks::new(database, &StoreLimits::default());
    let counter = [CounterId::new("shop/money", "spend", r#""u-1""#)];
    let counted = || {
        let now = Timestamp::from(std::time::SystemTime::now());
        let state = store.counters(&Owner::nobody(), &counter).unwrap().remove(0);
        (state.counted("24h".parse().unwrap(), now).to_int(), state.tally.held().to_int())
    };
    let (told, next, running) = (Mutex::new(Told::default()), AtomicUsize::new(0), AtomicBool::new(true));
    let begun = Instant::now();
    let mut killed = 0;
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::SeqCst);
                        if number >= tasks {
                            return;
                        }
                        live(&bases, number, &told);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while running.load(Ordering::SeqCst) {
                let (counted, _) = counted();
                assert!(counted <= CAP, "{counted} are spent");
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        while killed < kills && clients.iter().any(|client| !client.is_finished()) {
            std::thread::sleep(Duration::from_millis(100) + moment(400));
            let victim = killed % servers;
            processes[victim].kill();
            processes[victim] = ServerProcess::start(location, folder.path());
            bases.lock().unwrap()[victim] = processes[victim].base.clone();
            killed += 1;
        }
        let all = clients.into_iter().map(|client| client.join());
        let all: Vec<_> = all.collect();
        running.store(false, Ordering::SeqCst);
        all.into_iter().for_each(|client| client.unwrap());
    });
    let told = told.into_inner().unwrap();
    let sum = |amounts: &[i64]| amounts.iter().sum::<i64>();
    let (counted, held) = counted();
    let (spent, holds) = (sum(&told.spent), sum(&told.held));
    println!(
        "{tasks} tasks over {servers} servers, killed {killed} times: {spent} spent, {holds} held, {} refused, {} given back, {} of {CAP} \
         counted, in {:?}",
        told.refused,
        told.released,
        counted,
        begun.elapsed()
    );
    assert!(counted <= CAP, "{counted} are spent");
    assert_eq!((counted, held), (spent + holds, holds), "what counts is what the calls have spent and hold");
    assert!(told.refused > 0 && told.released > 0, "the counter was not full: {told:?}");
    store.verify().unwrap();
}

#[test]
fn two_hundred_tasks_over_two_servers_on_one_postgres_never_spend_more() {
    spend(&PostgresServer::shared().database(), 2, 200, kills(4).min(20));
}

#[test]
fn tasks_over_a_server_with_a_file_never_spend_more() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("celador.db").display().to_string();
    spend(&location, 1, 120, kills(2).min(20));
}
