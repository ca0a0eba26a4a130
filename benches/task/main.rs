//! Whole operations of tasks: what a task weighs, what a decision costs, what long histories, policies and schemas add, many tasks
//! at once, and the worst that data can do.
//!
//! `cargo bench --bench task` runs all of it, `cargo bench --bench task -- memory` one part. Before anything is timed each
//! decision is asserted and its heap allocations are counted. Times are those of the quietest of many rounds: what the
//! code takes, whatever else the machine does.
#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark is a program of its own; what goes wrong in it should stop it"
)]

#[path = "../../tests/it/counting.rs"]
mod counting;
mod decision;
mod desk;
mod history;
mod many;
mod memory;
mod past;
mod policies;
mod refunds;
mod schemas;
mod variables;
mod worst;

use std::hint::black_box;
use std::time::Instant;

fn main() {
    let parts: [(&str, fn()); 8] = [
        ("memory", memory::measure),
        ("decision", decision::measure),
        ("history", history::measure),
        ("policies", policies::measure),
        ("variables", variables::measure),
        ("schemas", schemas::measure),
        ("many", many::measure),
        ("worst", worst::measure),
    ];
    // cargo passes `--bench`
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    for (name, measure) in parts {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            println!("{name}");
            measure();
        }
    }
}

/// The bytes that are still held.
fn held(allocated: counting::Allocated) -> u64 {
    allocated.bytes.saturating_sub(allocated.freed)
}

/// The nanoseconds of one call in the quietest of many rounds. `prepare` makes what a round of calls uses up.
fn quietest<T, R>(calls: u32, mut prepare: impl FnMut() -> T, mut call: impl FnMut(&mut T) -> R) -> f64 {
    let round = |_| {
        let mut prepared = prepare();
        let start = Instant::now();
        for _ in 0..calls {
            black_box(call(black_box(&mut prepared)));
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
    };
    (0..200).map(round).fold(f64::INFINITY, f64::min)
}
