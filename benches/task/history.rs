//! Rules that compare the calls on record with the call at hand, for tasks of any length: whole decisions.
//!
//! Every call on record has a value of its own, so each rule has to find one among all of them. A round is a call that is let through and
//! withdrawn, which puts it on record.

use crate::{desk, past, quietest};
use celador::Timestamp;
use celador::engine::Engine;
use celador::task::{Call, Retain, Task};

/// What a row is about, and the rule for a refund.
const RULES: &[(&str, &str)] = &[
    ("no look at the calls", "input.amount < 1000"),
    ("one of them fetched the ticket", "c.calls.exists(t, t.input.ticket == input.ticket)"),
    (
        "and it succeeded",
        "c.calls.exists(t, t.fn == 'fetch' && t.status == 'successful' && t.input.ticket == input.ticket)",
    ),
    ("and within the hour", "c.calls.exists(t, t.input.ticket == input.ticket && within(t, '1h'))"),
    ("of one tool", "c.cap.fetch.calls.exists(t, t.input.ticket == input.ticket)"),
    ("all but one", "!c.calls.all(t, t.input.ticket != input.ticket)"),
    ("how many of them", "c.cap.fetch.calls.filter(t, t.input.ticket == input.ticket).size() == 1"),
    (
        "their sum",
        "c.cap.fetch.calls.filter(t, t.input.ticket == input.ticket).map(t, t.output.amount).sum() == 5",
    ),
    ("how many in the last second", "c.cap.fetch.calls.filter(t, within(t, '1s')).size() < 50"),
    ("how many in the last hour", "c.cap.fetch.calls.filter(t, within(t, '1h')).size() > 0"),
    (
        "one of the last second",
        "c.cap.fetch.calls.exists(t, within(t, '1s') && t.input.ticket.startsWith('T-'))",
    ),
    (
        "the sum of the last second",
        "c.cap.fetch.calls.filter(t, within(t, '1s')).map(t, t.output.amount).sum() < 500",
    ),
    ("the sum of all", "c.cap.fetch.calls.map(t, t.output.amount).sum() > 0"),
    (
        "a ticket, three refunds, 500 in all",
        "c.cap.fetch.calls.exists(t, t.input.ticket == input.ticket) && c.cap.refund.count_successful < 3 && c.cap.refund.calls.filter(t, t.status == 'successful').map(t, t.input.amount).sum() + input.amount <= 500",
    ),
];

const LENGTHS: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];

fn engine(rule: &str) -> Engine {
    let manifests = format!(
        r#"
kind: commonagents.info/v1beta2/tool
namespace: desk
name: fetch
description: Reads tickets.
actions:
- name: run
  description: Reads one.
  parameters: {{properties: {{ticket: {{type: string}}}}}}
  execute: {{stateless_http: {{method: POST, url: "https://tickets.example.com"}}}}
---
kind: commonagents.info/v1beta2/tool
namespace: desk
name: refund
description: Moves money.
actions:
- name: run
  description: Pays money back.
  parameters: {{properties: {{ticket: {{type: string}}, amount: {{type: integer}}}}}}
  execute: {{stateless_http: {{method: POST, url: "https://pay.example.com"}}}}
---
kind: commonagents.info/v1beta2/agent
namespace: desk
name: clerk
description: Answers customers.
prompt: You are a careful clerk.
limits: {{max_turns: 100000000, max_tool_calls: 100000000}}
capabilities:
  fetch: {{before: []}}
  refund:
    before:
    - assert: "{rule}"
"#
    );
    Engine::parse("history.yaml", &manifests).unwrap_or_else(|error| panic!("{rule}: {error}"))
}

/// A task that has fetched this many tickets, each once.
fn task(engine: &Engine, fetches: usize) -> Task {
    let mut task = past::start(engine, Retain::All);
    for n in 0..fetches {
        let ticket = serde_json::json!({ "ticket": format!("T-{n}") }).into();
        let output = serde_json::json!({ "amount": 5 }).into();
        past::told(&mut task, "fetch", ticket, Some(output), Some(ago(fetches.saturating_sub(n))));
    }
    task
}

/// When a call came to its end behind which so many others did: one every 30 milliseconds.
fn ago(calls: usize) -> Timestamp {
    let nanos = desk::now().nanos() - 30_000_000 * i128::try_from(calls).expect("a task is not that long");
    Timestamp::from_nanos(nanos).expect("a time of this century")
}

pub fn measure() {
    println!("  {:40} {}", "", LENGTHS.map(|length| format!("{length:>10}")).concat());
    for (name, rule) in RULES {
        let engine = engine(rule);
        let times = LENGTHS.map(|length| {
            // the first ticket of all: the last that a loop from the newest call would come to
            let call = Call::new("refund", serde_json::json!({ "ticket": "T-0", "amount": 20 }).into());
            let mut task = task(&engine, length);
            past::round(&mut task, &call);
            quietest(20, || (), |()| past::round(&mut task, &call))
        });
        println!("  {name:40} {}", times.map(|time| format!("{time:>7.0} ns")).concat());
    }
}
