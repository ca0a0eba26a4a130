//! A host's bounds hold wherever values come in or are made, and a message tells the host's number.
//!
//! In: engines that were opened with bounds below and above the standard ones. Out: what is refused, in which words, and
//! that what a wider bound lets in is stored and read back.

use crate::task_fixture::{at, call, manifests, noon};
use celador::cel::Json;
use celador::context::Scope;
use celador::engine::Engine;
use celador::limits::{EngineLimits, EvalLimits};
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::task::{Progress, StartTask, Task, Trial, Tried, User, VerdictKind};
use serde_json::{Value, json};

/// A clerk whose notes are bound to something, under these bounds of the language.
fn task(eval: EvalLimits, agent: &str) -> (Engine, Task) {
    let limits = EngineLimits { eval, ..EngineLimits::default() };
    let file = File { source: Source::new("test.yaml", manifests(agent)), origin: FileOrigin::Named };
    let (catalog, findings) = Catalog::parse(&[file], &limits);
    let (engine, more) = Engine::lenient_from_catalog(&catalog, limits);
    assert!(!findings.iter().chain(&more).any(|finding| finding.is_error()), "{findings:?} {more:?}");
    let user = User { id: "u-1".into(), email: None, ..User::default() };
    let started = at("2026-06-01T11:00:00Z");
    let task = engine.start(StartTask::new("t-1", "demo", "clerk", user, started)).unwrap();
    (engine, task)
}

/// Lists in lists, so many levels of them.
fn nested(levels: usize) -> Value {
    (1..levels).fold(json!([]), |inner, _| json!([inner]))
}

const OPEN: &str = "capabilities: {probe: \"*\"}\n";

#[test]
fn the_depth_of_arguments_is_the_hosts() {
    // of a tool that takes any object
    let tool = "kind: commonagents.info/v1beta2/tool\nnamespace: demo\nname: any\ndescription: d\nactions:\n- name: any\n  \
                description: d\n  parameters: {type: object, properties: {of: {}}}\n  \
                execute: {stateless_http: {method: POST, url: \"https://x.example.com\"}}\n";
    for bound in [5, 100, 110] {
        let eval = EvalLimits { max_json_depth: bound, ..EvalLimits::default() };
        let agent = format!("capabilities: {{any: \"*\"}}\n---\n{tool}");
        let (engine, mut task) = task(eval, &agent);
        let mut before = |levels: usize| {
            let call = call("any", json!({ "of": nested(levels - 1) }));
            match task.before(&call, noon()).unwrap().into_progress() {
                Progress::Decided(decision) => decision,
                Progress::Asks(request) => panic!("{request:?}"),
            }
        };
        let refused = before(bound + 1);
        assert_eq!(refused.verdict.kind(), VerdictKind::Error);
        let message = refused.verdict.message().unwrap();
        assert!(message.contains(&format!("`max_json_depth` {bound} exceeded")), "{message}");
        let let_through = before(bound);
        assert_eq!(let_through.verdict.kind(), VerdictKind::Allow, "{let_through:?}");
        // what this host lets in, it reads back
        let stored = serde_json::to_string(&task.save()).unwrap();
        engine.restore(serde_json::from_str(&stored).unwrap()).unwrap();
    }
}

#[test]
fn the_size_of_what_expressions_make_is_the_hosts() {
    let eval = EvalLimits { max_json_bytes: 4096, ..EvalLimits::default() };
    let (_, task) = task(eval, OPEN);
    let tried = |text: &str| match task.evaluate(&Trial::new(Scope::Exposes, text), &[], noon()) {
        Ok(Tried::Value(_)) => "a value".to_owned(),
        other => format!("{other:?}"),
    };
    assert_eq!(tried("lists.range(100)"), "a value");
    let refused = tried("lists.range(1000)");
    assert!(refused.contains("max_json_bytes") && refused.contains("4096"), "{refused}");
}

#[test]
fn a_document_that_was_read_already_is_held_to_the_bounds() {
    let limits = EvalLimits { max_json_depth: 3, max_json_bytes: 20, ..EvalLimits::default() };
    let read = |value: &Value| Json::try_from_value(value, &limits).map_err(|error| error.to_string());
    assert_eq!(read(&nested(3)).unwrap().to_string(), "[[[]]]");
    assert_eq!(read(&nested(4)).unwrap_err(), "`max_json_depth` 3 exceeded");
    assert!(read(&json!({"a": {"b": [1]}})).is_ok());
    assert!(read(&json!({"a": {"b": [[]]}})).is_err());
    assert!(read(&json!("x".repeat(18))).is_ok());
    assert_eq!(read(&json!("x".repeat(19))).unwrap_err(), "`max_json_bytes` 20 exceeded");
    // the same as of the text
    for value in [nested(3), nested(4), json!("x".repeat(18)), json!("x".repeat(19)), json!({"a": 1.5})] {
        let parsed = Json::parse(&value.to_string(), &limits).map(|json| json.to_string()).ok();
        assert_eq!(read(&value).map(|json| json.to_string()).ok(), parsed);
    }
}
