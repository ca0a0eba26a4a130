//! Exceptions of policies: who let something pass, in decisions, in explanations, in the decision log and in reports.

use crate::task_fixture::{at, log_entry};
use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::task::{CallResult, Decision, VerdictKind};
use celador::{Call, StartTask, Task, User};
use celador_store::decision_log::{DecisionLog, LogEntry, LogSettings};
use serde_json::{Value, json};
use std::process::Command;

const MANIFESTS: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: shop
name: pay
description: Pays.
actions:
  - name: send
    description: Pays.
    parameters: {properties: {amount: {type: number}, to: {type: string}}}
    execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Answers customers.
prompt: You are a careful clerk.
capabilities: {pay: "*"}
---
kind: celador/v1/policy
namespace: shop
name: money
labels: {owner: [risk, house]}
capabilities:
  pay:
    before:
      - id: cap
        severity: high
        assert: input.amount <= 100
        error_message: "{input.amount} is too much.{suggestion}"
      - {id: lead, severity: low, assert: "input.amount <= 50 || review('lead@example.com')"}
exceptions:
  - {rule: cap, where: input.to == 'fair', until: 2026-06-30, reason: The stand at the fair.}
  - {rule: lead, where: input.to == 'fair', until: 2026-12-31, reason: The lead is at the fair.}
"#;

const NOW: &str = "2026-06-01T12:00:00Z";

fn catalog(manifests: &str) -> Catalog {
    let file = File { source: Source::new("shop.yaml", manifests), origin: FileOrigin::Named };
    Catalog::parse(&[file], &EngineLimits::default()).0
}

fn task() -> Task {
    let engine = Engine::parse("shop.yaml", MANIFESTS).unwrap_or_else(|error| panic!("{error}"));
    let start = StartTask::new("t-1", "shop", "clerk", User::default(), at(NOW));
    engine.start(start).unwrap()
}

fn pay(task: &mut Task, amount: i64, to: &str, now: &str) -> Decision {
    let call = Call::new("pay", json!({"amount": amount, "to": to}).into());
    let decision = task.before(&call, at(now)).unwrap().outcome().into_decision();
    if let Some(call) = decision.call.clone().filter(|_| decision.verdict.kind() == VerdictKind::Allow) {
        let result = CallResult::successful(json!({}).into());
        assert!(task.after(&call, result, at(now)).unwrap().outcome().is_allowed());
    }
    decision
}

/// The exceptions that a decision names, by the ids of their rules.
fn named(decision: &Decision) -> Vec<(String, String)> {
    let named = decision.trace.iter().filter_map(|entry| {
        let exception = entry.exception.as_ref()?;
        Some((entry.policy.as_ref()?.id.as_deref()?.to_owned(), exception.path.clone()))
    });
    named.collect()
}

#[test]
fn a_decision_names_the_exception_that_let_something_pass() {
    let mut task = task();
    let cap = ("cap".to_owned(), "exceptions[0]".to_owned());
    let lead = ("lead".to_owned(), "exceptions[1]".to_owned());
    let both = pay(&mut task, 500, "fair", NOW);
    assert_eq!((both.verdict.kind(), named(&both)), (VerdictKind::Allow, vec![cap, lead]));
    // the rules alone let it pass
    let small = pay(&mut task, 40, "fair", NOW);
    assert_eq!((small.verdict.kind(), named(&small)), (VerdictKind::Allow, Vec::new()));
    let other = pay(&mut task, 500, "kim", NOW);
    assert_eq!((other.verdict.kind(), named(&other)), (VerdictKind::Block, Vec::new()));
    // what an exception is for is not suggested to the model
    let message = other.verdict.message().map(str::to_owned).unwrap();
    assert!(!message.contains("fair"), "{message}");
    let over = pay(&mut task, 500, "fair", "2026-07-01T00:00:00Z");
    assert_eq!((over.verdict.kind(), named(&over)), (VerdictKind::Block, Vec::new()));
    // a decision of a release before has no such field, and one of this release is read again
    let text = serde_json::to_string(&both).unwrap();
    assert_eq!(serde_json::from_str::<Decision>(&text).unwrap(), both);
    assert!(!serde_json::to_string(&other).unwrap().contains("exception"));
}

#[test]
fn an_explanation_names_it_as_well() {
    let mut task = task();
    task.explain();
    pay(&mut task, 80, "fair", NOW);
    let explanation = task.explanation().unwrap();
    let step = explanation.steps_named("lead").next().unwrap();
    assert_eq!(step.exception.as_ref().unwrap().reason, "The lead is at the fair.");
    assert_eq!(explanation.steps_named("cap").next().unwrap().exception, None);
}

#[test]
fn an_exception_is_over_when_its_time_is() {
    let expired = |now: &str| {
        let found = catalog(MANIFESTS).expired_exceptions(at(now));
        found.iter().map(|finding| (finding.code, finding.path.clone())).collect::<Vec<_>>()
    };
    assert!(expired("2026-06-30T23:59:59Z").is_empty());
    let cap = ("expired_exception", "exceptions[0].until".to_owned());
    assert_eq!(expired("2026-07-01T00:00:00Z"), std::slice::from_ref(&cap));
    let lead = ("expired_exception", "exceptions[1].until".to_owned());
    assert_eq!(expired("2027-01-01T00:00:00Z"), [cap, lead]);
    let comment = "# celador: allow(expired_exception) it stays as a reminder\n  - {rule: cap,";
    let allowed =
        catalog(&MANIFESTS.replace("- {rule: cap,", comment)).expired_exceptions(at("2026-08-01T00:00:00Z"));
    assert!(matches!(allowed[0].standing, celador::diagnostic::Standing::Allowed(_)), "{allowed:?}");
}

/// A log of what the task decided: its folder.
fn log() -> tempfile::TempDir {
    let folder = tempfile::TempDir::new().unwrap();
    let log = DecisionLog::open(LogSettings::new(folder.path()), at(NOW)).unwrap();
    let mut task = task();
    for (amount, to) in [(500, "fair"), (80, "fair"), (40, "kim"), (500, "kim"), (600, "ann")] {
        let decision = pay(&mut task, amount, to, NOW);
        let entry = LogEntry { policy: task.policy().fingerprint(), ..log_entry("t-1", at(NOW)) };
        log.record(&entry.of(&decision)).unwrap();
    }
    folder
}

fn report(folder: &std::path::Path, more: &[&str]) -> (Option<i32>, String) {
    let command =
        Command::new(env!("CARGO_BIN_EXE_celador")).arg("report").arg(folder).args(more).output().unwrap();
    let text = String::from_utf8(command.stdout).unwrap() + &String::from_utf8(command.stderr).unwrap();
    (command.status.code(), text)
}

#[test]
fn a_report_counts_exceptions_severities_and_labels() {
    let folder = log();
    let rows = |more: &[&str]| -> Vec<Value> {
        let (code, text) = report(folder.path(), &[&["--format", "json"], more].concat());
        assert_eq!(code, Some(0), "{text}");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let of = |rows: &[Value], kind: &str| -> Vec<Value> {
        rows.iter().filter(|row| row["type"] == kind).cloned().collect()
    };
    let all = rows(&["--by", "severity", "--by", "owner"]);
    let exceptions: Vec<_> =
        of(&all, "exception").iter().map(|row| json!([row["rule"], row["path"], row["count"]])).collect();
    assert_eq!(
        json!(exceptions),
        json!([["shop/money#lead", "exceptions[1]", 2], ["shop/money#cap", "exceptions[0]", 1]])
    );
    let sums: Vec<_> =
        of(&all, "sum").iter().map(|row| json!([row["by"], row["text"], row["count"]])).collect();
    assert_eq!(json!(sums), json!([["severity", "high", 2], ["owner", "house", 2], ["owner", "risk", 2]]));
    let stopped = of(&all, "stopped");
    assert_eq!(stopped[0]["severity"], "high");
    assert_eq!(stopped[0]["labels"], json!({"owner": ["risk", "house"]}));
    let count = |more: &[&str]| of(&rows(more), "stopped").len();
    assert_eq!(count(&["--severity", "high", "--label", "owner=risk"]), 1);
    assert_eq!((count(&["--severity", "critical"]), count(&["--label", "owner=nobody"])), (0, 0));
    let (_, text) = report(folder.path(), &["--by", "severity"]);
    assert!(text.contains("was stopped, by severity\n       2  high\n"), "{text}");
    assert!(text.contains("exceptions[1], until 2026-12-31: The lead is at the fair."), "{text}");
    let (code, text) = report(folder.path(), &["--severity", "grave"]);
    assert!(code == Some(1) && text.contains("it is one of info, low"), "{code:?} {text}");
}
