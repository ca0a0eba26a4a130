//! A desk with one rule: a refund only after this task fetched its ticket, at most three, at most 500 in all.
//!
//! Its tasks have a long history that the rule reads little of, or much: searches that it never looks at, or fetches of which each is
//! compared with the refund at hand.

use crate::{desk, past};
use celador::engine::Engine;
use celador::task::{Call, CallResult, Retain, Task};

const MANIFESTS: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: desk
name: fetch
description: Reads tickets.
actions:
- name: run
  description: Reads one.
  parameters: {properties: {ticket: {type: string}}}
  execute: {stateless_http: {method: POST, url: "https://tickets.example.com"}}
---
kind: commonagents.info/v1beta2/tool
namespace: desk
name: search
description: Looks for articles.
actions:
- name: run
  description: Looks for some.
  parameters: {properties: {path: {type: string}, reason: {type: string}}}
  execute: {stateless_http: {method: POST, url: "https://search.example.com"}}
---
kind: commonagents.info/v1beta2/tool
namespace: desk
name: refund
description: Moves money.
actions:
- name: run
  description: Pays money back.
  parameters: {properties: {ticket: {type: string}, amount: {type: integer}}}
  execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
---
kind: commonagents.info/v1beta2/agent
namespace: desk
name: clerk
description: Answers customers.
prompt: You are a careful clerk.
limits: {max_turns: 100000000, max_tool_calls: 100000000}
capabilities:
  fetch: '*'
  search: '*'
  refund:
    before:
    - assert: >-
        c.cap.fetch.calls.exists(t, t.input.ticket == input.ticket) && c.cap.refund.count_successful < 3 &&
        c.cap.refund.calls.filter(t, t.status == 'successful').map(t, t.input.amount).sum() + input.amount <= 500
"#;

/// What the calls of a task are.
#[derive(Clone, Copy)]
pub enum History {
    /// Searches, told.
    Searches,
    /// Searches that are let through and reported, as an agent makes them.
    LivedSearches,
    /// Fetches of one ticket each, told.
    Fetches,
}

pub const HISTORIES: &[(&str, History)] = &[
    ("searches, which no rule reads", History::Searches),
    ("the same, decided and reported one by one", History::LivedSearches),
    ("fetches, of which a rule reads the ticket", History::Fetches),
];

pub fn engine() -> Engine {
    Engine::parse("refunds.yaml", MANIFESTS).unwrap_or_else(|error| panic!("{error}"))
}

/// A task that has fetched the ticket `T-0` and made this many calls in all.
pub fn task(engine: &Engine, retain: Retain, history: History, calls: usize) -> Task {
    let mut task = past::start(engine, retain);
    let (_, output) = desk::documents(0);
    past::told(&mut task, "fetch", serde_json::json!({"ticket": "T-0"}).into(), Some(output), None);
    for n in 1..calls {
        let (input, output) = desk::documents(n);
        match history {
            History::Searches => past::told(&mut task, "search", input, Some(output), None),
            History::LivedSearches => {
                let id = past::let_through(&mut task, &Call::new("search", input));
                desk::decided(
                    task.after(&id, CallResult::successful(output), desk::now()).expect("it is open"),
                );
            }
            History::Fetches => {
                let ticket = serde_json::json!({ "ticket": format!("T-{n}") }).into();
                past::told(&mut task, "fetch", ticket, Some(output), None);
            }
        }
    }
    task
}

/// A refund for the ticket that was fetched first is let through.
pub fn decide(mut task: Task) {
    past::let_through(
        &mut task,
        &Call::new("refund", serde_json::json!({"ticket": "T-0", "amount": 20}).into()),
    );
}
