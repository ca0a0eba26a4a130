//! What a schema costs a decision: the same call with parameters that say no more than a type, and with one word more.
//!
//! Ratios are of rounds that take turns, so that what the machine does otherwise falls on all of them.

use crate::counting::counted;
use crate::desk;
use celador::cel::Json;
use celador::engine::Engine;
use celador::task::{Call, CallResult, StartTask, Task, User, VerdictKind};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Instant;

/// The word, and the schema of the parameter `v` with it.
fn rows() -> [(&'static str, Value); 6] {
    [
        ("type alone", json!({ "type": "string" })),
        ("enum", json!({ "type": "string", "enum": ["AB-123", "CD-456"] })),
        ("maxLength", json!({ "type": "string", "maxLength": 20 })),
        ("pattern", json!({ "type": "string", "pattern": "^[A-Z]{2}-[0-9]+$" })),
        ("format", json!({ "type": "string", "format": "hostname" })),
        ("oneOf of two", json!({ "type": "string", "oneOf": [{ "maxLength": 3 }, { "minLength": 4 }] })),
    ]
}

fn task(parameters: &Value, output: Option<&Value>) -> Task {
    let mut action = json!({
        "name": "take", "description": "Takes.", "parameters": { "properties": parameters },
        "execute": { "stateless_http": { "method": "POST", "url": "https://svc.example.com" } },
    });
    if let Some(output) = output {
        action["output"] = output.clone();
    }
    let tool = json!({
        "kind": "commonagents.info/v1beta2/tool", "namespace": "desk", "name": "probe", "description": "Looks.",
        "actions": [action],
    });
    let agent = json!({
        "kind": "commonagents.info/v1beta2/agent", "namespace": "desk", "name": "clerk", "description": "Looks.",
        "prompt": "You look.", "capabilities": { "probe": { "before": [{ "assert": "input.n < 1000" }] } },
    });
    let engine = Engine::parse("probe.yaml", &format!("{tool}\n---\n{agent}\n"));
    let engine = engine.unwrap_or_else(|error| panic!("{error}"));
    let user = User { id: "u-1".into(), email: None, ..User::default() };
    engine.start(StartTask::new("t-1", "desk", "clerk", user, desk::now())).expect("the agent is there")
}

/// What each of these takes in nanoseconds, in the quietest of many rounds in which they take turns.
fn in_turns(tasks: &mut [Task], mut call: impl FnMut(&mut Task)) -> Vec<f64> {
    let mut quietest = vec![f64::INFINITY; tasks.len()];
    for _ in 0..200 {
        for (task, quietest) in tasks.iter_mut().zip(&mut quietest) {
            let start = Instant::now();
            for _ in 0..500 {
                call(black_box(task));
            }
            *quietest = quietest.min(start.elapsed().as_secs_f64() * 1e9 / 500.0);
        }
    }
    quietest
}

fn print(what: &str, times: &[f64], allocations: &[u64]) {
    let rows = rows();
    for (((word, _), time), allocations) in rows.iter().zip(times).zip(allocations) {
        let ratio = time / times[0];
        println!(
            "  {what}, {word}: {time:7.1} ns, {ratio:4.2} times the type alone, {allocations} allocations"
        );
    }
}

pub fn measure() {
    let arguments = json!({ "n": 5, "v": "AB-123" });
    let call = Call::new("probe", arguments.into());
    let schema = |schema: &Value| json!({ "n": { "type": "integer" }, "v": schema });
    let resolve = |task: &mut Task| {
        assert_eq!(task.resolve(&call, desk::now()).verdict.kind(), VerdictKind::Allow);
    };
    let mut tasks: Vec<Task> = rows().iter().map(|(_, row)| task(&schema(row), None)).collect();
    let counts: Vec<u64> = tasks.iter_mut().map(|task| counted(|| resolve(task)).1.times).collect();
    print("arguments", &in_turns(&mut tasks, resolve), &counts);

    let call = Call::new("probe", json!({ "n": 5 }).into());
    let output = Json::from(json!({ "v": "AB-123" }));
    let result = CallResult::successful(output);
    let around = |task: &mut Task| {
        let admitted = desk::decided(task.before(&call, desk::now()).expect("the id is its own"))
            .call
            .expect("it is allowed");
        let decision =
            desk::decided(task.after(&admitted, result.clone(), desk::now()).expect("the call is open"));
        assert!(decision.findings.is_empty());
    };
    let n = json!({ "n": { "type": "integer" } });
    let of = |row: &Value| json!({ "type": "object", "required": ["v"], "properties": { "v": row } });
    let mut tasks: Vec<Task> = rows().iter().map(|(_, row)| task(&n, Some(&of(row)))).collect();
    let counts: Vec<u64> = tasks.iter_mut().map(|task| counted(|| around(task)).1.times).collect();
    print("before and after, result", &in_turns(&mut tasks, around), &counts);
    let mut without = [task(&n, None)];
    println!("  before and after, no schema of results: {:7.1} ns", in_turns(&mut without, around)[0]);
}
