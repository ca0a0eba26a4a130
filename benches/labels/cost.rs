//! What a decision costs that asks for labels, in tasks that have read much.
//!
//! A task has fetched so many pages of 2 KB, each labelled by a step. What is timed: a call whose arguments are copied from no page, one that repeats a
//! page, and the first that asks, for which the index is made. `plain` is the same call without a policy.

use celador::{Call, CallResult, Engine, Json, Outcome, StartTask, Task, User};
use serde_json::json;
use std::hint::black_box;
use std::time::{Instant, SystemTime};

const NOW: SystemTime = SystemTime::UNIX_EPOCH;

const MANIFESTS: &str = r#"
kind: celador/v1/tools
namespace: demo
name: tools
tools:
- {name: fetch, inputSchema: {type: object, properties: {url: {type: string}}}}
- {name: send, inputSchema: {type: object, properties: {to: {type: string}, body: {type: string}}}}
---
kind: commonagents.info/v1beta2/agent
namespace: demo
name: aide
description: Helps.
prompt: You help.
capabilities: {tools: "*"}
"#;

const POLICY: &str = r#"---
kind: celador/v1/policy
namespace: demo
name: labels
capabilities:
  fetch: {after: [{label: [untrusted]}]}
  send: {before: [{assert: "!('untrusted' in labels(input))"}]}
"#;

pub fn measure() {
    println!(
        "{:>8} {:>12} {:>12} {:>12} {:>12} {:>14} {:>12}",
        "results", "plain", "no copy", "copy", "first", "held by index", "pages"
    );
    for results in [10, 100, 1_000] {
        let plain = quietest(&mut task(MANIFESTS, results), "ann@acme.example", true);
        let mut labelled = task(&format!("{MANIFESTS}{POLICY}"), results);
        let before = labelled.context().heap_bytes();
        let (allowed, first) = send(&mut labelled, "ann@acme.example");
        assert!(allowed);
        let held = labelled.context().heap_bytes() - before;
        let clean = quietest(&mut labelled, "ann@acme.example", true);
        let page = page(results / 2);
        let copied = quietest(&mut labelled, page.get(900..960).expect("60 letters"), false);
        println!(
            "{results:>8} {plain:>9} ns {clean:>9} ns {copied:>9} ns {first:>9} ns {held:>8} bytes {:>6} bytes",
            results * page.len()
        );
    }
}

/// The nanoseconds of a decision in the quietest of many rounds.
fn quietest(task: &mut Task, to: &str, allowed: bool) -> u128 {
    let round = |_| {
        let (is_allowed, nanoseconds) = send(task, to);
        assert_eq!(is_allowed, allowed);
        nanoseconds
    };
    (0..200).map(round).min().expect("rounds")
}

/// Whether a call is let through, and the nanoseconds of that decision.
fn send(task: &mut Task, to: &str) -> (bool, u128) {
    let call = Call::new("send", json!({"to": to, "body": "See you on Friday, as agreed."}).into());
    let start = Instant::now();
    let outcome = black_box(task.before(&call, NOW).expect("a call").outcome());
    let nanoseconds = start.elapsed().as_nanos();
    let Outcome::Allowed(allowed) = outcome else { return (false, nanoseconds) };
    assert!(
        task.after(&allowed.call, CallResult::successful(Json::null()), NOW)
            .expect("a result")
            .outcome()
            .is_allowed()
    );
    (true, nanoseconds)
}

fn task(manifests: &str, results: usize) -> Task {
    let engine = Engine::parse("labels.yaml", manifests).unwrap_or_else(|error| panic!("{error}"));
    let mut task = engine.start(StartTask::new("t-1", "demo", "aide", User::default(), NOW)).expect("a task");
    for number in 0..results {
        let call = Call::new("fetch", json!({"url": format!("https://example.com/{number}")}).into());
        let Outcome::Allowed(allowed) = task.before(&call, NOW).expect("a call").outcome() else {
            panic!("it may")
        };
        let result = CallResult::successful(json!({"page": page(number)}).into());
        assert!(task.after(&allowed.call, result, NOW).expect("a result").outcome().is_allowed());
    }
    task
}

/// 2 KB of words, other ones for each number.
fn page(number: usize) -> String {
    let mut state = number as u64 + 1;
    let mut page = String::new();
    while page.len() < 2_048 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        for shift in [59, 54, 49, 44, 39] {
            page.push(char::from(b'a' + u8::try_from((state >> shift) % 26).expect("a letter")));
        }
        page.push(' ');
    }
    page.truncate(2_048);
    page
}
