//! A policy of ten steps that read one variable, a list that is filtered out of the history: beside a policy of one such step, and beside
//! the ten steps with its text in the place of its name.

use crate::{past, quietest};
use celador::engine::Engine;
use celador::task::{Call, Retain, Task};
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
actions:
- name: run
  description: Pays it.
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
    let mut task = past::start(engine, Retain::All);
    for n in 0..payments {
        past::told(&mut task, "refund", serde_json::json!({ "amount": n % 100 + 1 }).into(), None, None);
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
            past::round(&mut task, &call);
            quietest(2, || (), |()| past::round(&mut task, &call))
        });
        println!("  {name:40} {}", times.map(|time| format!("{:>9.1} µs", time / 1e3)).concat());
    }
}
