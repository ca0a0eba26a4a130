//! Stores that releases of the past wrote: every later one opens them and goes on with each of their tasks.
//!
//! In: `tests/data/store/release-*.sqlite`, the manifests beside it and the decision log that was written with it. Out: that
//! tasks at rest take their next step, that tasks in the middle of an operation go on where they waited, and that nothing
//! happens twice. `CELADOR_WRITE_RELEASE=folder` writes such a store by the code of today.

use crate::task_fixture::{at, log_entry};
use celador::cel::{Json, Timestamp};
use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::load::File;
use celador::manifest::{Catalog, load};
use celador::task::{
    Answer, Call, CallId, CallResult, Decision, Progress, Request, StartTask, Task, TaskError, TaskMark,
    TaskState, Usage, User, Verdict,
};
use celador_store::decision_log::{DecisionLog, LogEntry, LogSettings, Notice, read_back, verify};
use celador_store::{
    Database, Location, ManifestSet, NewEvent, OperationKind, Owner, StoreLimits, StoredTasks, TaskHead,
    Terms,
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
        let user = User { id: "u-1".into(), email: None, ..User::default() };
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
        operation: OperationKind,
        step: impl FnOnce(&mut Task, Timestamp) -> Progress,
    ) -> Option<Decision> {
        let (before, now): (TaskMark, _) = (self.task.mark(), self.now());
        let decision = match step(&mut self.task, now) {
            Progress::Decided(decision) => Some(decision),
            Progress::Asks(_) => None,
        };
        let kept = decision.clone().or_else(|| self.task.suspension());
        let step = NewEvent {
            operation,
            at: now,
            task: &self.task,
            before: &before,
            decision: kept.as_ref(),
            once: None,
        };
        let terms = Terms { manifests: Some(Arc::new(ManifestSet::of(&manifests()))), ..Terms::default() };
        self.head = self.store.append_under(&self.head, &step, terms).unwrap();
        let entry = LogEntry {
            who: Some("kim"),
            policy: self.task.policy().fingerprint(),
            operation: operation.as_str(),
            function: None,
            verdict: "asks",
            took: Duration::from_nanos(1),
            ..log_entry(self.task.id(), now)
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
        self.step(OperationKind::Input, |task, now| task.input(&message, now).into_progress())
    }

    fn call(&mut self, amount: u64) -> Option<Decision> {
        let call = Call::new("pay", json!({ "amount": amount }).into());
        self.step(OperationKind::Before, |task, now| task.before(&call, now).unwrap().into_progress())
    }

    fn answer(&mut self, answer: Answer) -> Option<Decision> {
        let operation =
            if matches!(answer, Answer::Review(_)) { OperationKind::Review } else { OperationKind::Resume };
        self.step(operation, |task, now| task.resume(answer, now).unwrap().into_progress())
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
    let log = DecisionLog::open(LogSettings::new(folder.join("log")), second(0)).unwrap();
    let start = |id: &str| Running::start(&store, &log, &engine, id);

    let mut idle = start("idle");
    idle.say("hello").unwrap();
    idle.step(OperationKind::ModelTurn, |task, now| {
        task.model_turn(Usage { prompt_tokens: 10, completion_tokens: 5, ..Usage::default() }, now).into()
    });

    let mut calls = start("calls");
    calls.say("hello").unwrap();
    let done = calls.call(10).unwrap().call.unwrap();
    calls
        .step(OperationKind::After, |task, now| task.after(&done, paid(), now).unwrap().into_progress())
        .unwrap();
    calls.call(5000).unwrap();
    calls.call(20).unwrap();
    // one that passed a step which calls something itself, and was agreed to by both
    assert!(calls.call(200).is_none());
    assert!(calls.answer(Answer::Result(written())).is_none());
    assert!(calls.answer(Answer::approve()).is_none());
    calls.answer(Answer::approve()).unwrap();

    let mut reviewed = start("reviewed");
    assert!(reviewed.call(200).is_none());
    assert!(reviewed.answer(Answer::Result(written())).is_none());
    assert!(reviewed.answer(Answer::approve()).is_none());
    assert_eq!(reviewed.task.request(), Some(&Request::Review { reviewer: "boss".into(), panel: None }));

    let mut said = start("said");
    assert!(said.say("please").is_none());

    let mut invoking = start("invoking");
    assert!(invoking.call(200).is_none());

    let mut executing = start("executing");
    let call = executing.call(10).unwrap().call.unwrap();
    assert!(
        executing
            .step(OperationKind::Execute, |task, now| task.execute(&call, now).unwrap().into_progress())
            .is_none()
    );

    let mut ended = start("ended");
    ended.say("hello").unwrap();
    ended.step(OperationKind::End, |task, now| task.end("done", now).into());
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
    let log = DecisionLog::open(LogSettings::new(folder.path()), second(100)).unwrap();
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

/// A task of a release of the past, under its manifests.
fn resumed<'r>(store: &'r StoredTasks, log: &'r DecisionLog, engine: &Engine, id: &str) -> Running<'r> {
    let loaded = store.load(&kim(), id).unwrap();
    assert!(loaded.saved.fingerprint().is_of_earlier_kind());
    let digest = ManifestSet::of(&manifests()).digest().to_owned();
    assert_eq!(loaded.head.manifests(), Some(&*digest));
    let task = engine.restore_same(loaded.saved).unwrap();
    Running { store, log, task, head: loaded.head }
}

#[test]
fn tasks_of_a_release_of_the_past_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let (store, engine) = (opened(folder.path()), engine());
    let log = DecisionLog::open(LogSettings::new(folder.path().join("log")), second(0)).unwrap();
    let task = |id: &str| resumed(&store, &log, &engine, id);
    let made = |task: &Running<'_>, function: &str| {
        let context = task.task.context_json().unwrap();
        let record = context.root().get("capabilities").unwrap().get(function).unwrap();
        record.get("outputs").unwrap().len()
    };

    let mut idle = task("idle");
    assert_eq!(idle.call(10).unwrap().verdict, Verdict::Allow);

    // what was let through is let through: nobody is asked about it again
    let mut calls = task("calls");
    let open = CallId::from("2");
    assert_eq!(made(&calls, "trail"), 1);
    let asks =
        calls.step(OperationKind::Execute, |task, now| task.execute(&open, now).unwrap().into_progress());
    assert!(asks.is_none());
    assert!(matches!(calls.task.request(), Some(Request::Invoke(call)) if call.function == "pay"));
    let done = calls.answer(Answer::Result(paid())).unwrap();
    assert_eq!(done.value.unwrap().to_string(), r#"{"paid":true}"#);
    assert_eq!((made(&calls, "trail"), made(&calls, "pay")), (1, 3));

    // the first of two reviewers had agreed and is asked again; what the step before them called is not called again
    let mut reviewed = task("reviewed");
    assert_eq!(reviewed.task.request(), Some(&Request::Review { reviewer: "lead".into(), panel: None }));
    assert!(reviewed.answer(Answer::approve()).is_none());
    assert_eq!(reviewed.task.request(), Some(&Request::Review { reviewer: "boss".into(), panel: None }));
    assert_eq!(reviewed.answer(Answer::approve()).unwrap().verdict, Verdict::Allow);
    assert_eq!(made(&reviewed, "trail"), 1);
    let mut refused = engine.restore_same(store.load(&kim(), "said").unwrap().saved).unwrap();
    assert!(refused.resume(Answer::approve(), second(9)).is_err());

    // what the host was asked to do counts when it is done, and is not asked for twice
    let mut said = task("said");
    assert!(matches!(said.task.request(), Some(Request::Invoke(call)) if call.function == "trail"));
    let decision = said.answer(Answer::Result(written())).unwrap();
    let message = decision.value.unwrap().root().get("message").unwrap().to_json().to_string();
    assert_eq!(message, r#"[{"mimeType":"text/plain","text":"please!"}]"#, "the step before it ran once");
    let mut invoking = task("invoking");
    assert!(invoking.answer(Answer::Result(written())).is_none());
    assert_eq!(invoking.task.request(), Some(&Request::Review { reviewer: "lead".into(), panel: None }));
    let mut executing = task("executing");
    assert_eq!(executing.answer(Answer::Result(paid())).unwrap().verdict, Verdict::Allow);
    assert_eq!(made(&executing, "pay"), 1);

    let ended = task("ended");
    assert!(matches!(ended.task.state(), TaskState::Terminated { .. }));

    // each is stored under the fingerprint of today with its next step, and opened by it alone
    store.verify().unwrap();
    for id in ["idle", "calls", "reviewed", "said", "invoking", "executing"] {
        let loaded = store.load(&kim(), id).unwrap();
        assert_eq!(loaded.head.fingerprint(), engine.policy("shop", "clerk").unwrap().fingerprint());
        assert!(loaded.head.policy().unwrap().is(&loaded.head.fingerprint()), "{id}");
        engine.restore(loaded.saved).unwrap();
    }
}

#[test]
fn without_its_manifests_only_a_task_that_waits_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (store, engine) = (opened(folder.path()), engine());
    for (id, goes_on) in [
        ("idle", true),
        ("calls", true),
        ("ended", true),
        ("reviewed", false),
        ("said", false),
        ("invoking", false),
        ("executing", false),
    ] {
        let task = engine.restore(store.load(&kim(), id).unwrap().saved);
        assert_eq!(task.err(), (!goes_on).then_some(TaskError::PolicyChanged), "{id}");
    }
}

/// A server goes on with them whatever it is to do with tasks of other policies: the manifests are the same, from which
/// paths they are read and how they are laid out.
#[cfg(feature = "server")]
#[test]
fn a_server_goes_on_with_the_tasks_of_a_release_of_the_past() {
    use crate::serving::Serving;
    use celador_server::LiveTasks;

    let other_layout =
        fs::read_to_string(data("release-0001.yaml")).unwrap().replace("name: pay\n", "name:   pay\n");
    let other_policy = other_layout.replace("input.amount <= 1000", "input.amount <= 999");
    for (live_tasks, text, goes_on) in [
        (LiveTasks::Adopt, &other_layout, true),
        (LiveTasks::Lock, &other_layout, true),
        (LiveTasks::Keep, &other_layout, true),
        (LiveTasks::Keep, &other_policy, true),
        (LiveTasks::Adopt, &other_policy, false),
        (LiveTasks::Lock, &other_policy, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        drop(opened(folder.path()));
        let file = folder.path().join("manifests.yaml");
        fs::write(&file, text).unwrap();
        let location = Location::File(folder.path().join("release-0001.sqlite"));
        let database = Database::open(&location, &StoreLimits::default()).unwrap();
        let serving = Serving::over(database, |settings, folder| {
            settings.policies = vec![file];
            settings.live_tasks = live_tasks;
            settings.authentication.tokens = Some(folder.join("tokens.json"));
        });
        serving.set_now("2026-06-01T11:01:00Z");
        let kim = serving.token("kim", &["tasks:read", "tasks:write"]);
        let seen = serving.get_as(&kim, "/v1/tasks/reviewed").json();
        // the review that waits has no row of that release, and is among the others all the same
        let lead = serving.token("lead", &["reviews:read", "reviews:write"]);
        let listed = |token: &str| serving.get_as(token, "/v1/reviews?agent=clerk").json()["reviews"].clone();
        let begun = std::time::Instant::now();
        while goes_on && listed(&lead) == json!([]) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{live_tasks:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        if goes_on {
            let review = listed(&lead)[0].clone();
            assert_eq!(
                (&review["task"], &review["user"]["id"]),
                (&json!("reviewed"), &json!("u-1")),
                "{review}"
            );
        }
        let agree =
            || serving.post_as(&kim, "/v1/tasks/reviewed/resume", &json!({"answer": {"review": true}}));
        if !goes_on {
            assert!(seen["policy"]["held"].is_object(), "{live_tasks:?} {seen}");
            assert_eq!(agree().status, 409);
            continue;
        }
        assert_eq!(seen["asks"], json!({"review": {"reviewer": "lead"}}), "{live_tasks:?} {seen}");
        assert_eq!(agree().json()["asks"], json!({"review": {"reviewer": "boss"}}));
        assert_eq!(agree().json()["decided"]["verdict"], "allow");
        let seen = serving.get_as(&kim, "/v1/tasks/reviewed").json();
        assert_eq!(seen["policy"]["manifest"].as_str().unwrap().len(), 64);
        let input = json!({"message": "more"});
        assert_eq!(
            serving.post_as(&kim, "/v1/tasks/idle/input", &input).json()["decided"]["verdict"],
            "allow"
        );
        let ended = serving.get_as(&kim, "/v1/tasks/ended").json();
        assert_eq!(ended["policy"]["manifest"].as_str().unwrap().len(), 16, "{ended}");
    }
}
