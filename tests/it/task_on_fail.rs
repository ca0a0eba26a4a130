//! Every hook × every `on_fail` × every way in which a step can end: one table (STYLE 4.6, MW-05 to MW-33, GR-03 to GR-18).

use crate::task_fixture::{call, decided, manifests, noon, start};
use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::task::{CallResult, Decision, StepOutcome, Task, TaskState, VerdictKind};
use serde_json::json;

const LISTS: [&str; 5] = ["before_first", "before", "after", "guardrails.before", "guardrails.after"];

/// Expressions, and whether the result is truthy; none for those that give no result.
const RESULTS: [(&str, Option<bool>); 10] = [
    ("1 == 1", Some(true)),
    ("1 == 2", Some(false)),
    ("'text'", Some(true)),
    ("''", Some(false)),
    ("size(context.user.id)", Some(true)),
    ("context._history.turn_count", Some(false)),
    ("null", Some(false)),
    ("{}", Some(false)),
    ("context.input[99].message == []", None),
    ("[1,2,3,4,5,6,7,8,9,10].all(x, [1,2,3,4,5,6,7,8,9,10].all(y, x + y + size(context.user.id) > 0))", None),
];

fn engine(agent: &str) -> Engine {
    let mut limits = EngineLimits::default();
    limits.eval.max_cost = 200;
    let source = Source::new("table.yaml", manifests(agent));
    let (catalog, mut findings) = Catalog::parse(&[File { source, origin: FileOrigin::Named }], &limits);
    let (engine, compiled) = Engine::lenient_from_catalog(&catalog, limits);
    findings.extend(compiled);
    let error = findings.iter().find(|finding| finding.is_error());
    assert!(error.is_none(), "{}", error.unwrap().render(false));
    engine
}

fn agent(list: &str, step: &str) -> String {
    match list.split_once('.') {
        Some((_, list)) => format!("guardrails:\n  {list}:\n  - {step}\ncapabilities: {{probe: '*'}}\n"),
        None => format!("capabilities:\n  probe:\n    {list}:\n    - {step}\n"),
    }
}

fn operate(task: &mut Task, list: &str) -> Decision {
    let call = call("probe", json!({}));
    let message = json!({ "message": "m" }).into();
    decided(match list {
        "guardrails.before" => task.input(&message, noon()).into_progress(),
        "guardrails.after" => task.output(&message, noon()).into_progress(),
        "after" => {
            let id = task.await_result(&call).unwrap();
            task.after(&id, CallResult::successful(json!({ "n": 1 }).into()), noon()).unwrap().into_progress()
        }
        _ => task.before(&call, noon()).unwrap().into_progress(),
    })
}

/// The verdict of a failed step.
fn failing(list: &str, on_fail: Option<&str>) -> VerdictKind {
    match on_fail {
        Some("continue") => VerdictKind::Allow,
        Some("lock_task") => VerdictKind::LockTask,
        Some(_) => VerdictKind::Block,
        None if list.starts_with("guardrails") => VerdictKind::LockTask,
        None => VerdictKind::Block,
    }
}

#[test]
fn every_way_to_end_a_step_has_its_verdict_under_every_on_fail() {
    let mut rows = 0;
    for list in LISTS {
        for on_fail in [None, Some("block"), Some("continue"), Some("lock_task")] {
            if list.starts_with("guardrails") && on_fail == Some("block") {
                continue; // refused when the manifest is read (GR-04)
            }
            for (expression, truthy) in RESULTS {
                for conditional in [false, true] {
                    let mut step = if conditional {
                        format!("{{assert: 'true', condition: \"{expression}\"")
                    } else {
                        format!("{{assert: \"{expression}\"")
                    };
                    if let Some(on_fail) = on_fail {
                        step.push_str(&format!(", on_fail: {on_fail}"));
                    }
                    step.push('}');
                    let mut task = start(&engine(&agent(list, &step)));
                    let decision = operate(&mut task, list);
                    check(list, on_fail, truthy, conditional, &decision, &task);
                    rows += 1;
                }
            }
        }
    }
    assert_eq!(rows, (5 * 4 - 2) * RESULTS.len() * 2);
}

fn check(
    list: &str,
    on_fail: Option<&str>,
    truthy: Option<bool>,
    conditional: bool,
    decision: &Decision,
    task: &Task,
) {
    let row = format!("{list} {on_fail:?} {truthy:?} conditional {conditional}: {decision:?}");
    let outcome = match (truthy, conditional) {
        (Some(true), _) => Some(StepOutcome::Pass),
        (Some(false), true) => None,
        (Some(false), false) | (None, _) => Some(StepOutcome::Fail),
    };
    let failed = outcome == Some(StepOutcome::Fail);
    let wanted = if failed { failing(list, on_fail) } else { VerdictKind::Allow };
    assert_eq!(decision.verdict.kind(), wanted, "{row}");
    let trace: Vec<_> = decision.trace.iter().map(|entry| (entry.step.to_string(), entry.outcome)).collect();
    let expected: Vec<_> = outcome.map(|outcome| (format!("{list}[0]"), outcome)).into_iter().collect();
    assert_eq!(trace, expected, "{row}");
    // an error leaves word of itself, whatever follows from it
    assert_eq!(decision.findings.len(), usize::from(truthy.is_none()), "{row}");
    assert_eq!(decision.decided_by.is_some(), wanted != VerdictKind::Allow, "{row}");
    assert_eq!(decision.verdict.message().is_some(), wanted != VerdictKind::Allow, "{row}");
    match wanted {
        VerdictKind::LockTask => assert!(matches!(task.state(), TaskState::Locked { .. }), "{row}"),
        _ => assert_eq!(task.state(), TaskState::Active, "{row}"),
    }
}
