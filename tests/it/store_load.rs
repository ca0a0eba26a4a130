//! Load on a store from several threads and processes, and the ledger that tells whether all that was answered is there.
//!
//! A worker posts calls with a text of their own on the tasks that it is given and says so once the store has them. The
//! ledger then reads all events: each text that was answered stands where it was said, and none stands twice. A worker in a
//! process of its own is this test binary again, told by an environment variable what to do.

use crate::store_crash::spread;
use crate::store_fixture::{Kept, once};
use crate::store_tasks::limits;
use celador::task::Decision;
use celador_store::{Database, FaultPlan, Location, Owner, StoreError, StoredTasks};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What a child is to do: `location worker task,task,…`, nothing for a test run.
const ORDER: &str = "CELADOR_STORE_CHILD";

/// A step that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub memo: String,
    pub task: String,
    pub version: u64,
    pub verdict: String,
}

pub fn owner() -> Owner {
    Owner::caller("load")
}

fn open_task<'s>(store: &'s StoredTasks, id: &str) -> Result<Kept<'s>, StoreError> {
    match Kept::load(store, &owner(), id) {
        Err(StoreError::NotFound) => match Kept::create(store, &owner(), id) {
            Err(StoreError::AlreadyExists) => Kept::load(store, &owner(), id),
            other => other,
        },
        other => other,
    }
}

/// Posts on tasks in turn until it is told to stop. Whatever fails for now is tried again, under the same key.
pub fn work(
    store: &StoredTasks,
    worker: &str,
    tasks: &[String],
    goes_on: &dyn Fn() -> bool,
    answered: &dyn Fn(Answered),
) {
    let mut open: HashMap<&str, Kept<'_>> = HashMap::new();
    for number in 0.. {
        let memo = format!("{worker}.{number}");
        let id = &*tasks[number % tasks.len()];
        loop {
            if !goes_on() {
                return;
            }
            let mut kept = match open.remove(id).map_or_else(|| open_task(store, id), Ok) {
                Ok(kept) => kept,
                Err(error) => {
                    pause(&error);
                    continue;
                }
            };
            match kept.post(&memo, Some(once(&memo))) {
                Ok(Decision { verdict, .. }) => {
                    let version = kept.head.version();
                    answered(Answered {
                        memo,
                        task: id.into(),
                        version,
                        verdict: verdict.kind().to_string(),
                    });
                    open.insert(id, kept);
                    break;
                }
                Err(StoreError::Conflict { .. }) => {}
                // it was stored when nobody could say so
                Err(StoreError::AlreadyExists) => break,
                Err(error) => pause(&error),
            }
        }
    }
}

fn pause(error: &StoreError) {
    assert!(error.is_temporary(), "{error}");
    std::thread::sleep(Duration::from_millis(20));
}

pub fn open(location: &Location) -> StoredTasks {
    StoredTasks::new(Database::open(location, &limits()).unwrap(), &limits())
}

/// Works on an order if there is one.
#[test]
fn child() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let [location, worker, tasks] = order.split(' ').collect::<Vec<_>>()[..] else { panic!("{order}") };
    let store = open(&Location::parse(location));
    let tasks: Vec<String> = tasks.split(',').map(str::to_owned).collect();
    let say = |answered: Answered| {
        let Answered { memo, task, version, verdict } = answered;
        // in one piece, and out before anything else happens
        let mut out = std::io::stdout().lock();
        out.write_all(format!("answered {memo} {task} {version} {verdict}\n").as_bytes()).unwrap();
        out.flush().unwrap();
    };
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (store, tasks) = (&store, &tasks);
            scope.spawn(move || work(store, &format!("{worker}-{thread}"), tasks, &|| true, &say));
        }
    });
}

/// A process that works on a store until it is killed.
pub struct Worker {
    process: Child,
    said: Receiver<Answered>,
}

impl Worker {
    pub fn start(location: &str, worker: &str, tasks: &[&str]) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store_load::child", "--nocapture"])
            .env(ORDER, format!("{location} {worker} {}", tasks.join(",")))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        let (send, said) = channel();
        std::thread::spawn(move || {
            for line in out.split(b'\n') {
                let line = String::from_utf8(line.unwrap()).unwrap();
                // what stands before it is the test runner's; a line that the kill cut short was never said
                let Some((_, line)) = line.split_once("answered ") else { continue };
                let [memo, task, version, verdict] = line.split(' ').collect::<Vec<_>>()[..] else {
                    continue;
                };
                let (memo, task, verdict) = (memo.into(), task.into(), verdict.into());
                let _ = send.send(Answered { memo, task, version: version.parse().unwrap(), verdict });
            }
        });
        Self { process, said }
    }

    /// Waits for the first answer.
    pub fn first(&self) -> Answered {
        self.said.recv_timeout(Duration::from_secs(60)).expect("the worker says nothing")
    }

    /// Kills it with SIGKILL, wherever it is; all that it said.
    pub fn kill(mut self) -> Vec<Answered> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.said.iter().collect()
    }
}

/// Tests what is stored against what was answered; the number of events.
pub fn settle(store: &StoredTasks, owner: &Owner, answered: &[Answered]) -> u64 {
    let mut places: HashMap<(&str, u64), &Answered> = HashMap::new();
    for said in answered {
        let before = places.insert((&said.task, said.version), said);
        assert_eq!(before, None, "two answers for one version");
    }
    let mut count = 0;
    let mut memos = HashSet::new();
    let tasks = store.tasks(owner, None, 1000).unwrap();
    for task in &tasks {
        let loaded = store.load(owner, &task.id).unwrap();
        assert_eq!(loaded.head.version(), task.version);
        let mut version = 0;
        while version < task.version {
            let events = store.events(owner, &task.id, version, 1000).unwrap();
            assert!(!events.is_empty(), "{} has a gap after {version}", task.id);
            for event in events {
                version += 1;
                count += 1;
                assert_eq!(event.version, version, "{} has a gap", task.id);
                if version == 1 {
                    continue;
                }
                let change: Value = serde_json::from_str(&event.change).unwrap();
                let memo = change["opened"][0]["arguments"]["memo"].as_str().unwrap().to_owned();
                let decision: Value = serde_json::from_str(&event.decision.unwrap()).unwrap();
                if let Some(said) = places.remove(&(&*task.id, version)) {
                    assert_eq!((&said.memo, &*said.verdict), (&memo, decision["verdict"].as_str().unwrap()));
                }
                assert!(memos.insert(memo.clone()), "{memo} was counted twice");
            }
        }
    }
    assert!(places.is_empty(), "answered and lost: {:?}", places.values());
    count
}

/// Many that write at once share commits: there are fewer of them than steps.
#[test]
fn those_who_write_at_once_share_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::File(folder.path().join("celador.db"));
    for writers in [1, 4, 16, 64] {
        let store = open(&location);
        let owner = Owner::caller(&format!("{writers} writers"));
        let tasks: Vec<_> = (0..writers)
            .map(|number| Kept::create(&store, &owner, &format!("t-{number}")).unwrap())
            .collect();
        store.database().faults().plan(FaultPlan::Nothing);
        let begun = Instant::now();
        let mut times: Vec<Duration> = std::thread::scope(|scope| {
            let work = |mut kept: Kept<'_>| {
                let step = |_| {
                    let begun = Instant::now();
                    kept.post("m", None).unwrap();
                    begun.elapsed()
                };
                (0..20).map(step).collect::<Vec<_>>()
            };
            let workers: Vec<_> = tasks.into_iter().map(|kept| scope.spawn(move || work(kept))).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        let (took, steps, commits) =
            (begun.elapsed(), times.len() as u64, store.database().faults().commits());
        println!(
            "{writers} writers, a task each: {steps} steps in {commits} commits, {:.0} steps a second, a step {}",
            steps as f64 / took.as_secs_f64(),
            spread(&mut times)
        );
        assert!(commits <= steps && (writers < 16 || commits < steps), "{commits} commits of {steps} steps");
    }
}
