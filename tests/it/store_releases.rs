//! Stores that releases of the past wrote: every later one opens them and goes on with each of their tasks.
//!
//! In: `tests/data/store/release-*.sqlite`, the manifests beside it and the decision log that was written with it. Out: that
//! tasks at rest take their next step, that tasks in the middle of an operation go on where they waited, and that nothing
//! happens twice. `CELADOR_WRITE_RELEASE=folder` writes such a store by the code of today.

use crate::task_fixture::at;
use celador::cel::{Json, Timestamp};
use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::load::File;
use celador::manifest::{Catalog, load};
use celador::task::{
    Answer, Call, CallResult, Decision, Progress, Request, StartTask, Task, TaskMark, Usage, User,
};
use celador_store::decision_log::{DecisionLog, Entry, Notice, Settings, read_back, verify};
use celador_store::{
    Database, Location, ManifestSet, Operation, Owner, Step, StoreLimits, StoredTasks, TaskHead, Terms,
};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/store").join(name)
}

/// The manifests beside a store, under the name that they had.
fn manifests() -> Vec<File> {
    let limits = EngineLimits::default();
    let (mut files, _) = load(&[data("release-0001.yaml")], &limits).unwrap();
    for file in &mut files {
        file.source = celador::source::Source::new("release-0001.yaml", file.source.text());
    }
    files
}

fn engine() -> Engine {
    let limits = EngineLimits::default();
    let (catalog, findings) = Catalog::parse(&manifests(), &limits);
    assert!(findings.is_empty(), "{findings:?}");
    let (engine, findings) = Engine::from_catalog(&catalog, limits);
    assert!(findings.is_empty(), "{findings:?}");
    engine
}

fn kim() -> Owner {
    Owner::caller("kim")
}

fn second(count: u64) -> Timestamp {
    Timestamp::from_unix(at("2026-06-01T11:00:00Z").seconds() + i64::try_from(count).unwrap()).unwrap()
}

/// A task on its way into a store, each of its steps also a line of a log.
struct Running<'r> {
    store: &'r StoredTasks,
    log: &'r DecisionLog,
    task: Task,
    head: TaskHead,
}

impl<'r> Running<'r> {
    fn start(store: &'r StoredTasks, log: &'r DecisionLog, engine: &Engine, id: &str) -> Self {
        let user = User { id: "u-1".into(), email: None };
        let task = engine.start(StartTask::new(id, "shop", "clerk", user, second(0))).unwrap();
        let set = Arc::new(ManifestSet::of(&manifests()));
        let head = store.create_under(&kim(), &task, second(0), None, Some(set)).unwrap();
        Self { store, log, task, head }
    }

    fn now(&self) -> Timestamp {
        second(self.head.version())
    }

    fn step(
        &mut self,
        operation: Operation,
        step: impl FnOnce(&mut Task, Timestamp) -> Progress,
    ) -> Option<Decision> {
        let (before, now): (TaskMark, _) = (self.task.mark(), self.now());
        let decision = match step(&mut self.task, now) {
            Progress::Decided(decision) => Some(decision),
            Progress::Asks(_) => None,
        };
        let kept = decision.clone().or_else(|| self.task.suspension());
        let step = Step {
            operation,
            at: now,
            task: &self.task,
            before: &before,
            decision: kept.as_ref(),
            once: None,
        };
        let terms = Terms { manifests: Some(Arc::new(ManifestSet::of(&manifests()))), ..Terms::default() };
        self.head = self.store.append_under(&self.head, &step, terms).unwrap();
        let entry = Entry {
            at: now,
            who: Some("kim"),
            task: self.task.id(),
            stored: None,
            namespace: "shop",
            agent: "clerk",
            manifest: self.task.policy().fingerprint(),
            operation: operation.as_str(),
            function: None,
            verdict: "asks",
            step: None,
            limit: None,
            switch: None,
            reason: None,
            cost: 0,
            took: Duration::from_nanos(1),
            content: None,
        };
        let entry = match &kept {
            Some(decision) => entry.of(decision),
            None => entry,
        };
        self.log.record(&entry).unwrap();
        decision
    }

    fn say(&mut self, text: &str) -> Option<Decision> {
        let message = Json::from(json!({ "message": text }));
        self.step(Operation::Input, |task, now| task.input(&message, now))
    }

    fn call(&mut self, amount: u64) -> Option<Decision> {
        let call = Call { function: "pay".into(), arguments: json!({ "amount": amount }).into() };
        self.step(Operation::Before, |task, now| task.before(&call, now))
    }

    fn answer(&mut self, answer: Answer) -> Option<Decision> {
        let operation =
            if matches!(answer, Answer::Review(_)) { Operation::Review } else { Operation::Resume };
        self.step(operation, |task, now| task.resume(answer, now).unwrap())
    }
}

fn paid() -> CallResult {
    CallResult::successful(json!({ "paid": true, "card": "1234" }).into())
}

fn written() -> CallResult {
    CallResult::successful(json!({ "ok": true }).into())
}

/// Every way in which a task can stand when a release ends.
fn write(folder: &Path) {
    let engine = engine();
    let file = folder.join("release.sqlite");
    let limits = StoreLimits::default();
    let database = Database::open(&Location::File(file), &limits).unwrap();
    let store = StoredTasks::new(database, &limits);
    let log = DecisionLog::open(Settings::new(folder.join("log")), second(0)).unwrap();
    let start = |id: &str| Running::start(&store, &log, &engine, id);

    let mut idle = start("idle");
    idle.say("hello").unwrap();
    idle.step(Operation::ModelTurn, |task, now| {
        task.model_turn(Usage { prompt_tokens: 10, completion_tokens: 5 }, now).into()
    });

    let mut calls = start("calls");
    calls.say("hello").unwrap();
    let done = calls.call(10).unwrap().call.unwrap();
    calls.step(Operation::After, |task, now| task.after(done, paid(), now).unwrap()).unwrap();
    calls.call(5000).unwrap();
    calls.call(20).unwrap();
    // one that passed a step which calls something itself, and was agreed to by both
    assert!(calls.call(200).is_none());
    assert!(calls.answer(Answer::Result(written())).is_none());
    assert!(calls.answer(Answer::Review(true)).is_none());
    calls.answer(Answer::Review(true)).unwrap();

    let mut reviewed = start("reviewed");
    assert!(reviewed.call(200).is_none());
    assert!(reviewed.answer(Answer::Result(written())).is_none());
    assert!(reviewed.answer(Answer::Review(true)).is_none());
    assert_eq!(reviewed.task.request(), Some(&Request::Review { reviewer: "boss".into() }));

    let mut said = start("said");
    assert!(said.say("please").is_none());

    let mut invoking = start("invoking");
    assert!(invoking.call(200).is_none());

    let mut executing = start("executing");
    let call = executing.call(10).unwrap().call.unwrap();
    assert!(executing.step(Operation::Execute, |task, now| task.execute(call, now).unwrap()).is_none());

    let mut ended = start("ended");
    ended.say("hello").unwrap();
    ended.step(Operation::End, |task, now| task.end("done", now).into());
    store.verify().unwrap();
}

#[test]
fn a_store_is_written_for_releases_to_come() {
    let folder = tempfile::tempdir().unwrap();
    let folder =
        std::env::var_os("CELADOR_WRITE_RELEASE").map_or_else(|| folder.path().to_owned(), PathBuf::from);
    write(&folder);
    assert!(fs::metadata(folder.join("release.sqlite")).unwrap().len() < 400_000);
}

/// The store of a release of the past, to be gone on with.
fn opened(folder: &Path) -> StoredTasks {
    let file = folder.join("release-0001.sqlite");
    fs::copy(data("release-0001.sqlite"), &file).unwrap();
    let limits = StoreLimits::default();
    StoredTasks::new(Database::open(&Location::File(file), &limits).unwrap(), &limits)
}

#[test]
fn what_a_release_of_the_past_wrote_is_intact() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path());
    let found = store.verify().unwrap();
    assert_eq!((found.tasks, found.events), (7, 27));
    let tasks = store.tasks(&kim(), None, 10).unwrap();
    let states: Vec<_> = tasks.iter().map(|task| (&*task.id, &*task.state, task.version)).collect();
    let expected = [
        ("calls", "active", 10),
        ("ended", "terminated", 3),
        ("executing", "active", 3),
        ("idle", "active", 3),
        ("invoking", "active", 2),
        ("reviewed", "suspended", 4),
        ("said", "active", 2),
    ];
    assert_eq!(states, expected);
}

#[test]
fn a_log_of_a_release_of_the_past_is_intact_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(data("release-0001-log")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    assert_eq!(verify(folder.path(), None).unwrap().last, 20);
    let log = DecisionLog::open(Settings::new(folder.path()), second(100)).unwrap();
    let mut seen = Vec::new();
    read_back(folder.path(), |line| {
        seen.push(line.task.clone());
        true
    })
    .unwrap();
    assert_eq!(seen.len(), 20);
    log.note(&Notice::new(second(100), "switch_on")).unwrap();
    drop(log);
    assert_eq!(verify(folder.path(), None).unwrap().last, 21);
}
