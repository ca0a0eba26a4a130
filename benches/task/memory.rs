//! What a task weighs: bytes on the heap for each recorded invocation, beside the bytes of its JSON.

use crate::counting::counted;
use crate::held;
use crate::{desk, refunds};
use celador::Retain;

/// At most this many times the bytes of its JSON.
const TARGET: f64 = 1.5;

pub fn measure() {
    let engine = desk::engine();
    let (_, empty) = counted(|| desk::start(&engine));
    let (task, started) = counted(|| desk::start(&engine));
    println!("  a task that starts: {} bytes in {} allocations", held(started), started.times);
    drop((task, empty));
    let resident = resident();
    let large = desk::task(&engine, 100_000);
    let grown = self::resident().saturating_sub(resident);
    println!("  resident memory for 100,000 invocations: {} bytes each", grown / 100_000);
    drop(large);
    for n in [1, 10, 100, 1_000, 10_000] {
        let (task, allocated) = counted(|| desk::task(&engine, n));
        let held = held(allocated);
        let (told, json) =
            (task.context().heap_bytes(), task.context_json().expect("it is JSON").to_string());
        let ratio = held as f64 / json.len() as f64;
        println!(
            "  {n:>6} invocations: {held:>8} bytes, {:>4} each; as JSON {:>8}; {ratio:.2} times; it says itself {told}",
            held / n as u64,
            json.len(),
        );
        if n == 10_000 {
            let met = if ratio <= TARGET { "met" } else { "not met" };
            println!("  the target of at most {TARGET} times the JSON of 10,000 invocations is {met}");
        }
    }
    let (input, of_input) = counted(|| desk::documents(1).0);
    refunds_after_their_tickets();
    println!("  one input: {} bytes of JSON, {} on the heap", input.to_string().len(), held(of_input));
}

/// 10,000 calls under one rule about refunds, in tasks that keep everything and in tasks that keep what the rule reads.
fn refunds_after_their_tickets() {
    let engine = refunds::engine();
    for (what, history) in refunds::HISTORIES {
        let [all, needed] = [Retain::All, Retain::Needed].map(|retain| {
            let (task, allocated) = counted(|| refunds::task(&engine, retain, *history, 10_000));
            refunds::decide(task);
            held(allocated)
        });
        println!("  {what}: {all} bytes for 10,000 calls, {needed} with what is needed");
    }
}

/// The bytes of memory that the process has in use, as Linux tells it; 0 elsewhere.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * 4096
}
