//! How many recorded decisions are judged anew in a second on one core, parsing included, and in how much memory.
//!
//! In: nothing. Out: a line for each kind of rule. The lines of the recording are made as they are read, so that what is held in memory is the replay's alone; making them is measured and
//! taken off. Each run asserts its tally before it prints a figure. `cargo bench --bench replay`; `-- --quick` takes a second.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark is a program of its own; what goes wrong in it should stop it"
)]

use celador::replay::{Recorded, Replayer};
use celador::{Engine, EngineLimits};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A guard of three clauses about the arguments.
const GUARD: &str = "input.amount <= 1000 && input.order_id.startsWith('o-') && input.note.size() < 100";
/// A rule over what the task has done before: how often the same order was paid.
const HISTORY: &str =
    "context.calls.filter(t, t.fn == 'pay' && t.input.order_id == input.order_id).size() < 10000";

fn policy(assert: &str) -> String {
    format!(
        "
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Pays.
prompt: You pay.
capabilities:
  pay:
    before:
      - assert: \"{assert}\"
---
kind: commonagents.info/v1beta2/tool
namespace: shop
name: pay
description: Pays.
actions:
  - name: order
    description: Pays.
    parameters:
      properties:
        amount: {{type: number}}
        order_id: {{type: string}}
        note: {{type: string}}
    execute: {{stateless_http: {{method: POST, url: \"https://pay.example.com\"}}}}
"
    )
}

/// Writes the line of a step: an input, and then calls with their results in turn. `TASKS` tasks are under way side by side.
fn line(step: usize, of_task: usize, into: &mut String) {
    const TASKS: usize = 100;
    let (group, within) = (step / (TASKS * of_task), step % (TASKS * of_task));
    let (round, task) = (within / TASKS, group * TASKS + within % TASKS);
    into.clear();
    let _ = match round {
        0 => write!(
            into,
            r#"{{"task":"t-{task}","agent":"shop/clerk","at":"2026-06-01T12:00:00Z","input":{{"message":"Pay."}},"verdict":"allow"}}"#
        ),
        _ if round % 2 == 1 => write!(
            into,
            r#"{{"task":"t-{task}","call":{{"id":"c{round}","fn":"pay","args":{{"amount":{},"order_id":"o-{}","note":"Broken when it came."}}}},"verdict":"allow"}}"#,
            round % 900,
            round % 7
        ),
        _ => write!(
            into,
            r#"{{"task":"t-{task}","result":{{"id":"c{}","output":{{"paid":true}}}},"verdict":"allow"}}"#,
            round - 1
        ),
    };
}

fn time(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// The most memory that the process has had, in MB; 0 where the system does not say.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default() / 1024
}

fn main() {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let decisions = if is_quick { 50_000 } else { 2_000_000 };
    let limits = EngineLimits::default();
    println!("decisions a second and core, parsing included; peak memory");
    for (name, assert, of_task) in [
        ("three clauses, 21 steps a task", GUARD, 21),
        ("three clauses, 1,001 steps a task", GUARD, 1_001),
        ("history, 21 steps a task", HISTORY, 21),
        ("history, 1,001 steps a task", HISTORY, 1_001),
    ] {
        let engine = Arc::new(Engine::parse("bench.yaml", &policy(assert)).unwrap());
        let mut text = String::new();
        let making = time(|| (0..decisions).for_each(|step| line(step, of_task, &mut text)));
        let mut best = Duration::MAX;
        for _ in 0..if is_quick { 1 } else { 3 } {
            let mut replayer = Replayer::new(engine.clone());
            let took = time(|| {
                for step in 0..decisions {
                    line(step, of_task, &mut text);
                    replayer.step(&Recorded::parse(text.as_bytes(), &limits).unwrap());
                }
            });
            let tally = replayer.into_tally();
            assert_eq!((tally.decisions, tally.flips()), (decisions as u64, 0), "{:?}", tally.rows());
            best = best.min(took);
        }
        let own = best.saturating_sub(making);
        let each_second = decisions as f64 / own.as_secs_f64();
        println!("  {name:<36} {each_second:>10.0} a second, {} MB", peak());
    }
}
