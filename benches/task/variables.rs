//! A policy of ten steps that read one variable, a list that is filtered out of the history: beside a policy of one such step, and beside
//! the ten steps with its text in the place of its name.

use crate::{desk, quietest};
use celador::context::InvocationStatus;
use celador::engine::Engine;
use celador::task::{Call, Past, PastCall, Ran, StartTask, Task, User, Verdict};
use std::fmt::Write as _;

const LARGE: &str = "c.calls.filter(t, t.fn == 'refund' && t.input.amount >= 90)";

const LENGTHS: [usize; 4] = [10, 100, 1_000, 10_000];

/// Steps with a list in the place of its name.
fn engine(steps: usize, list: &str) -> Engine {
    let mut text = format!(
        r#"
kind: commonagents.info/v1beta2/tool
namespace: desk
name: refund
description: Pays money back.
parameters: {{properties: {{amount: {{type: integer}}}}}}
execute: {{stateless_http: {{method: POST, url: "https://pay.example.com"}}}}
---
kind: commonagents.info/v1beta2/agent
namespace: desk
name: clerk
description: Answers customers.
prompt: You are a careful clerk.
capabilities:
  refund: {{before: []}}
---
kind: celador/v1/policy
namespace: desk
name: large
variables: {{large: "{LARGE}"}}
capabilities:
  refund:
    before:
"#
    );
    for bound in 0..steps {
        let _ =
            writeln!(text, "    - assert: \"!{list}.exists(t, t.input.amount > input.amount + {bound}00)\"");
    }
    Engine::parse("variables.yaml", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// A task that has paid so often, 1 to 100 at a time.
fn task(engine: &Engine, payments: usize) -> Task {
    let user = User { id: "u-1".into(), email: None, ..User::default() };
    let mut task =
        engine.start(StartTask::new("t-1", "desk", "clerk", user, desk::now())).expect("the agent is there");
    for n in 0..payments {
        let call = PastCall {
            function: "refund".into(),
            arguments: serde_json::json!({ "amount": n % 100 + 1 }).into(),
            output: None,
            status: InvocationStatus::Successful,
            executed: true,
            task_id: None,
            at: None,
        };
        task.record(Past::Call(call), desk::now()).expect("the function is there");
    }
    task
}

pub fn measure() {
    println!("  {:40} {}", "", LENGTHS.map(|length| format!("{length:>12}")).concat());
    let rows = [
        ("one step", 1, "variables.large"),
        ("ten steps", 10, "variables.large"),
        ("ten, written out", 10, LARGE),
    ];
    for (name, steps, list) in rows {
        let engine = engine(steps, list);
        let times = LENGTHS.map(|length| {
            let call = Call::new("refund", serde_json::json!({ "amount": 200 }).into());
            let mut task = task(&engine, length);
            let mut round = || {
                let decision = desk::decided(task.before(&call, desk::now()).expect("the id is its own"));
                assert_eq!(decision.verdict, Verdict::Allow, "{name}: {:?}", decision.message);
                let id = decision.call.expect("it is allowed");
                task.withdraw(&id, Ran::Never, desk::now()).expect("it is open")
            };
            round();
            quietest(2, || (), |()| round())
        });
        println!("  {name:40} {}", times.map(|time| format!("{:>9.1} µs", time / 1e3)).concat());
    }
}
