//! Nothing that was answered is lost: processes are killed in the middle of their work, and Postgres is stopped and started.
//!
//! `CELADOR_KILLS` says how many kills there are to be; `--nocapture` shows what was counted and how long recovery took.

use crate::servers::{PostgresServer, Stop};
use crate::store_load::{Answered, Worker, open, owner, settle, work};
use celador_store::Location;
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const TASKS: [&str; 4] = ["t-0", "t-1", "t-2", "t-3"];

pub fn kills(default: usize) -> usize {
    std::env::var("CELADOR_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(default)
}

/// Some time below a bound, different each time.
pub fn moment(below: u64) -> Duration {
    Duration::from_micros(RandomState::new().hash_one(0) % (below * 1000))
}

/// Times as a reader wants them.
pub fn spread(times: &mut [Duration]) -> String {
    times.sort();
    let at = |share: usize| times.get((times.len() * share / 100).min(times.len() - 1)).unwrap();
    format!("median {:?}, 95 of 100 within {:?}, longest {:?}", at(50), at(95), at(100))
}

#[test]
fn a_killed_process_loses_nothing_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("celador.db");
    let location = path.display().to_string();
    let kills = kills(50);
    let (mut answered, mut recoveries) = (Vec::new(), Vec::new());
    for round in 0..kills {
        let worker = Worker::start(&location, &format!("r{round}"), &TASKS);
        if round % 5 != 0 {
            answered.push(worker.first());
            std::thread::sleep(moment(120));
        } else {
            // even while it opens the store, or makes it
            std::thread::sleep(moment(400));
        }
        answered.extend(worker.kill());
        let begun = Instant::now();
        let store = open(&Location::File(path.clone()));
        for task in store.tasks(&owner(), None, 10).unwrap() {
            store.load(&owner(), &task.id).unwrap();
        }
        recoveries.push(begun.elapsed());
        if round % 10 == 9 {
            settle(&store, &owner(), &answered);
        }
    }
    let store = open(&Location::File(path));
    let events = settle(&store, &owner(), &answered);
    let verified = store.verify().unwrap();
    println!(
        "{kills} kills: {} steps were answered, {events} events are there, no gap, none twice; \
         opening the store and its {} tasks took {}",
        answered.len(),
        verified.tasks,
        spread(&mut recoveries)
    );
    assert!(answered.len() >= kills / 2);
}

#[test]
fn two_processes_on_one_postgres_lose_nothing_and_count_nothing_twice() {
    let location = PostgresServer::shared().database();
    let kills = kills(10).min(50);
    let store = open(&Location::parse(&location));
    let mut answered: Vec<Answered> = Vec::new();
    let stays = Worker::start(&location, "stays", &TASKS);
    for round in 0..kills {
        let worker = Worker::start(&location, &format!("r{round}"), &TASKS);
        answered.push(worker.first());
        std::thread::sleep(moment(200));
        answered.extend(worker.kill());
    }
    let of_others = answered.len();
    answered.extend(stays.kill());
    // a transaction of a killed process may still be under way in the server
    std::thread::sleep(Duration::from_millis(200));
    let events = settle(&store, &owner(), &answered);
    store.verify().unwrap();
    println!(
        "two processes on {} tasks of one Postgres, {kills} times one was killed: {of_others} and {} steps were answered, \
         {events} events are there, no gap, none twice",
        TASKS.len(),
        answered.len() - of_others
    );
    assert!(of_others >= kills && answered.len() > of_others);
}

#[test]
fn postgres_stopped_in_the_middle_of_load_comes_back_with_all_that_was_answered() {
    let server = PostgresServer::start();
    let location = Location::parse(&server.database());
    let store = open(&location);
    let answered = Mutex::new(Vec::new());
    let goes_on = AtomicBool::new(true);
    let stops = [Stop::Fast, Stop::Kill, Stop::Kill, Stop::Fast, Stop::Kill, Stop::Kill];
    let mut recoveries = Vec::new();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (store, answered, goes_on) = (&store, &answered, &goes_on);
            scope.spawn(move || {
                let tasks = TASKS.map(str::to_owned);
                let goes_on = || goes_on.load(Ordering::SeqCst);
                work(store, &format!("w{thread}"), &tasks, &goes_on, &|said| {
                    answered.lock().unwrap().push(said)
                });
            });
        }
        let count = || answered.lock().unwrap().len();
        let wait_for_more = |than: usize| {
            let begun = Instant::now();
            while count() <= than {
                assert!(begun.elapsed() < Duration::from_secs(60), "nothing is answered any more");
                std::thread::sleep(Duration::from_millis(2));
            }
            begun.elapsed()
        };
        for how in stops {
            wait_for_more(count() + 20);
            std::thread::sleep(moment(50));
            server.stop(how);
            let before = count();
            server.start_again();
            recoveries.push(wait_for_more(before));
        }
        goes_on.store(false, Ordering::SeqCst);
    });
    let answered = answered.into_inner().unwrap();
    let events = settle(&store, &owner(), &answered);
    store.verify().unwrap();
    println!(
        "Postgres stopped {} times under load: {} steps were answered, {events} events are there, no gap, none twice; \
         from its start to the next answer: {}",
        stops.len(),
        answered.len(),
        spread(&mut recoveries)
    );
}
