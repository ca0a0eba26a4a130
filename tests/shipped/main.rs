//! The language and the engine as they ship: optimised, without the assertions of a debug build, in which guards are compared
//! with the walk over the plan and never trusted. In: files of `tests/it` that need no more than these two packages, so that
//! nothing else is built again. `.ci/run` runs it, as `cargo test --profile shipped -p celador --features schedules,schemas --test shipped`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unreachable,
    reason = "a test that cannot go on should stop at once"
)]
#![allow(dead_code, reason = "the other tests of `tests/it` use the rest of these files")]

#[path = "../it/cases.rs"]
mod cases;
#[path = "../it/check_rows.rs"]
mod check_rows;
#[path = "../it/conformance/mod.rs"]
mod conformance;
#[path = "../it/folds.rs"]
mod folds;
#[path = "../it/guards.rs"]
mod guards;
#[path = "../it/laws.rs"]
mod laws;
#[path = "../it/laws_expressions.rs"]
mod laws_expressions;
#[path = "../it/laws_records.rs"]
mod laws_records;
#[path = "../it/laws_values.rs"]
mod laws_values;
#[path = "../it/suites.rs"]
mod suites;

/// Otherwise this would be the run of `tests/it` once more.
#[test]
fn this_is_built_as_it_ships() {
    let asserts = std::hint::black_box(cfg!(debug_assertions));
    assert!(!asserts, "run it with `--profile shipped`");
    let most = std::hint::black_box(u8::MAX);
    assert!(std::panic::catch_unwind(|| most + 1).is_err(), "a guard that wraps around is an open door");
}
