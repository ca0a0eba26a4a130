//! Manifests, tasks and hosts that the tests of operations share.

use celador::cel::{Json, Timestamp};
use celador::context::{Runtime, Scope};
use celador::diagnostic::Diagnostic;
use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::task::{
    Call, CallResult, Decision, Host, Invocation, Progress, Retain, SavedTask, StartTask, Task, TaskMark,
    TaskState, Termination, TerminationReason, Trial, Tried, User,
};
use celador_store::decision_log::LogEntry;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// An entry of the decision log about a call of `pay` by the clerk of the shop, without a decision.
pub fn log_entry(task: &str, at: Timestamp) -> LogEntry<'_> {
    LogEntry {
        at,
        who: None,
        task,
        stored: None,
        namespace: "shop",
        agent: "clerk",
        policy: serde_json::from_value(Value::String("feed".repeat(16))).unwrap(),
        operation: "before",
        function: Some("pay"),
        verdict: "",
        step: None,
        policy_step: None,
        limit: None,
        ended: None,
        switch: None,
        reason: None,
        decided: &[],
        observed: &[],
        exceptions: &[],
        enforced: None,
        terms: None,
        cost: 0,
        took: Duration::ZERO,
        content: None,
    }
}

/// The state of a task that has ended at a limit.
pub fn at_limit(numbers: &str) -> TaskState {
    let message = format!("the task has ended at a limit: {numbers}");
    TaskState::Terminated(Termination { reason: TerminationReason::LimitExceeded, message })
}

/// Tools that the agents of the tests use: `probe` has one action, `ledger` two, `notes` two CEL actions; `audit` is
/// listed by nobody.
pub const TOOLS: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: demo
name: probe
description: Looks.
actions:
- name: check
  description: Checks.
  parameters:
    properties:
      host: {type: string, default: a}
      depth: {type: number, default: 1}
  execute: {stateless_http: {method: POST, url: "https://svc.example.com/run"}}
---
kind: commonagents.info/v1beta2/tool
namespace: demo
name: ledger
description: Books.
parameters: {properties: {account: {type: string}}}
actions:
- name: lookup
  description: Looks up.
  execute: {stateless_http: {method: POST, url: "https://svc.example.com/run"}}
- name: post-entry
  description: Posts.
  parameters:
    properties:
      amount: {type: number}
      memo: {type: string, default: ""}
      kind: {type: string, enum: [debit, credit], default: debit}
  execute: {stateless_http: {method: POST, url: "https://svc.example.com/run"}}
---
kind: commonagents.info/v1beta2/tool
namespace: demo
name: audit
description: Keeps a trail.
actions:
- name: append
  description: Appends.
  parameters:
    properties:
      what: {type: string}
      who: {type: string, default: unknown}
  execute: {stateless_http: {method: POST, url: "https://svc.example.com/run"}}
---
kind: commonagents.info/v1beta2/tool
namespace: demo
name: notes
description: Files.
parameters: {properties: {key: {type: string}}}
actions:
- name: load
  description: Loads.
  execute: {cel: {expression: "{'text': mount.read('n/' + input.key), 'at': now}"}}
- name: sign
  description: Writes what two people approve.
  execute:
    cel:
      expression: "review('a') && review('b') ? mount.write('n/' + input.key, 'signed') : 'refused'"
---
name: main
path_prefixes: {workspace: "/{namespace}/", agent: "/{namespace}/{agent}/", task: "/{namespace}/{agent}/{task}/"}
gcs: {bucket: store-1}
"#;

/// The agent `demo/clerk` with these further keys.
pub fn manifests(agent: &str) -> String {
    format!(
        "{TOOLS}---\nkind: commonagents.info/v1beta2/agent\nnamespace: demo\nname: clerk\ndescription: Test agent.\n\
         prompt: You are a careful clerk.\n{agent}"
    )
}

/// An engine with that agent, which must have no errors. Steps whose outcome is fixed, and texts that fail, are what tests
/// of tasks are made of: they come in by the lenient door.
pub fn engine(agent: &str) -> Engine {
    engine_within(agent, |_| {})
}

/// The same with other bounds.
pub fn engine_within(agent: &str, change: impl FnOnce(&mut EngineLimits)) -> Engine {
    engine_of(manifests(agent), change)
}

/// The same of a whole text.
pub fn engine_of(text: String, change: impl FnOnce(&mut EngineLimits)) -> Engine {
    let mut limits = EngineLimits::default();
    change(&mut limits);
    let source = Source::new("test.yaml", text);
    let (catalog, mut findings) = Catalog::parse(&[File { source, origin: FileOrigin::Named }], &limits);
    let (engine, compiled) = Engine::lenient_from_catalog(&catalog, limits);
    findings.extend(compiled);
    let errors: Vec<_> = findings.iter().filter(|finding| finding.is_error()).collect();
    assert!(errors.is_empty(), "{}", errors[0].render(false));
    engine
}

pub fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Noon, an hour after the task began.
pub fn noon() -> Timestamp {
    at("2026-06-01T12:00:00Z")
}

pub fn start(engine: &Engine) -> Task {
    let start = StartTask {
        parent: None,
        metadata: BTreeMap::new(),
        id: "t-1".into(),
        namespace: "demo".into(),
        agent: "clerk".into(),
        user: User { id: "u-1".into(), email: Some("u1@example.com".into()), ..User::default() },
        started_at: at("2026-06-01T11:00:00Z"),
        address: None,
        model: None,
        runtime: Runtime { version: "1.0.0".into(), ..Runtime::default() },
        mount_id: None,
        begun_with: None,
        tools: Vec::new(),
        retain: Retain::All,
    };
    engine.start(start).unwrap()
}

/// A task of the agent with these further keys.
pub fn task(agent: &str) -> Task {
    start(&engine(agent))
}

pub fn call(function: &str, arguments: Value) -> Call {
    Call::new(function, arguments.into())
}

/// An engine with the manifests of one text, and everything that was found.
pub fn parse(name: &str, text: &str) -> (Engine, Vec<Diagnostic>) {
    let limits = EngineLimits::default();
    let file = File { source: Source::new(name, text), origin: FileOrigin::Named };
    let (catalog, mut findings) = Catalog::parse(&[file], &limits);
    let (engine, compiled) = Engine::from_catalog(&catalog, limits);
    findings.extend(compiled);
    (engine, findings)
}

/// A task that is stored step by step, as its changes.
pub struct Kept<'e> {
    engine: &'e Engine,
    stored: SavedTask,
    mark: TaskMark,
}

impl<'e> Kept<'e> {
    pub fn new(engine: &'e Engine, task: &Task) -> Self {
        Self { engine, stored: task.save(), mark: task.mark() }
    }

    /// Stores what has happened since the last time, and gives the task back as another process opens it. The changes
    /// come to what a whole task would be stored as.
    pub fn keep(&mut self, task: &Task) -> Task {
        let change = serde_json::to_string(&task.change_since(&self.mark)).unwrap();
        self.stored = self.stored.clone().apply(serde_json::from_str(&change).unwrap()).unwrap();
        self.mark = task.mark();
        let text = serde_json::to_string(&task.save()).unwrap();
        assert_eq!(serde_json::to_string(&self.stored).unwrap(), text);
        self.engine.restore(serde_json::from_str(&text).unwrap()).unwrap()
    }
}

/// Takes an operation as far as a host has answers.
pub fn drive(task: &mut Task, progress: Progress, host: &mut dyn Host) -> Decision {
    match progress {
        Progress::Decided(decision) => decision,
        Progress::Asks(_) => task.pending().unwrap().drive(host).unwrap().into_decision(),
    }
}

/// The decision of an operation that asks nobody.
pub fn decided<P: Into<Progress>>(progress: P) -> Decision {
    match progress.into() {
        Progress::Decided(decision) => decision,
        Progress::Asks(request) => panic!("asks {request:?}"),
    }
}

/// What an expression over `context` gives now.
pub fn see(task: &Task, expression: &str) -> Value {
    match task.evaluate(&Trial::new(Scope::Before, expression), &[], noon()).unwrap() {
        Tried::Value(value) => serde_json::to_value(&value).unwrap(),
        other => panic!("{expression}: {other:?}"),
    }
}

/// A host that answers from lists and keeps what it was asked.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// What executions give, in order; then `{}`.
    pub results: VecDeque<CallResult>,
    /// What reviewers say, in order; then nothing yet.
    pub verdicts: VecDeque<bool>,
    pub files: BTreeMap<String, String>,
    /// Everything that was asked, in order.
    pub log: Vec<String>,
}

impl Host for Script {
    fn now(&mut self) -> Timestamp {
        noon()
    }

    fn invoke(&mut self, invocation: &Invocation) -> Option<CallResult> {
        self.log.push(format!("invoke {} {}", invocation.function, invocation.arguments));
        Some(self.results.pop_front().unwrap_or_else(|| CallResult::successful(json!({}).into())))
    }

    fn review(&mut self, reviewer: &str) -> Option<bool> {
        self.log.push(format!("review {reviewer}"));
        self.verdicts.pop_front()
    }

    fn read_mount(&mut self, path: &str) -> Option<String> {
        self.log.push(format!("read {path}"));
        self.files.get(path).cloned()
    }

    fn write_mount(&mut self, path: &str, text: &str) -> bool {
        self.log.push(format!("write {path} {text}"));
        self.files.insert(path.into(), text.into());
        true
    }
}

/// A JSON text.
pub fn text_of(json: Option<&Json>) -> String {
    json.map(ToString::to_string).unwrap_or_default()
}
