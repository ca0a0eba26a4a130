//! Labels that travel with values: what they cost, and what they stop.
//!
//! `cargo bench --bench labels -- cost` measures decisions that ask for labels in tasks of 10, 100 and 1,000 results. `cargo bench --bench labels --
//! traces FOLDER` replays recorded tasks, attacked and benign, under policies of labels and counts what is stopped and what is disturbed;
//! `agentdojo_traces.py` writes such a folder.
#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark is a program of its own; what goes wrong in it should stop it"
)]

mod cost;
mod traces;

fn main() {
    // cargo passes `--bench`
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    match (arguments.next().as_deref(), arguments.next()) {
        (None | Some("cost"), None) => cost::measure(),
        (Some("traces"), Some(folder)) => traces::replay(folder.as_ref()),
        _ => panic!("expected `cost`, or `traces` and a folder"),
    }
}
