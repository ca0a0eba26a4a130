//! The workload of a policy, for Celador beside hand-written Rust: `cargo bench`.
//!
//! `eval/<expression>/<engine>` answers one expression on a bound task with 100 invocations; `bind` binds one;
//! `step+eval/<N>` records one
//! invocation and answers E12 on a task with N; `compile/…` compiles, `cached/…` finds what was compiled. Before anything
//! is timed all answers are asserted, and the heap allocations of each are counted and printed.
#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::unreachable,
    clippy::print_stdout,
    reason = "a benchmark is a program of its own; what goes wrong in it should stop it"
)]

mod allocations;
mod celador;
mod detect;
mod native;
mod questions;

use celador::answer;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use questions::{EXPRESSIONS, expected, expression};
use std::hint::black_box;
use std::time::Instant;

/// The allocations of one call.
fn allocations<T>(mut call: impl FnMut() -> T) -> u64 {
    let before = allocations::so_far();
    black_box(call());
    allocations::so_far() - before
}

/// The nanoseconds of one call in the quietest of many rounds: what the code takes, whatever else the machine does.
fn quietest<T>(call: impl FnMut() -> T) -> f64 {
    quietest_of(500, 400, call)
}

/// The same with so many calls a round, and so many rounds.
fn quietest_of<T>(calls: u32, rounds: u32, mut call: impl FnMut() -> T) -> f64 {
    let round = |_| {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(call());
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
    };
    (0..rounds).map(round).fold(f64::INFINITY, f64::min)
}

const N: usize = 100;

/// Whether a part of the benches was asked for by its name: `cargo bench --bench workload -- detect`.
fn detect(_: &mut Criterion) {
    if std::env::args().any(|argument| argument == "detect") {
        detect::detect();
    }
}

/// One line an expression: the quietest times side by side, their ratio, and the allocations.
fn ratios(_: &mut Criterion) {
    let state = celador::State::new(N);
    let native = native::State::new(N);
    let (input, output) = (native::input(), native::output(&questions::output()));
    for (name, text) in EXPRESSIONS.iter().filter(|(name, _)| *name != "E9") {
        let program = state.program(text);
        let bound = state.bind();
        let by_hand = native::answer(name);
        let celador = quietest(|| answer(black_box(&program), black_box(&bound)));
        let hand = quietest(|| black_box(by_hand)(black_box(&native), black_box(&input), black_box(&output)));
        let allocated = allocations(|| answer(&program, &bound));
        println!(
            "{name:>5}: celador {celador:8.1} ns, by hand {hand:7.1} ns, {:5.1} times, {allocated} allocations",
            celador / hand
        );
    }
    println!(" bind: celador {:8.1} ns", quietest(|| state.bind()));
    for n in [10, 100, 1_000, 10_000] {
        let state = celador::State::new(n);
        let program = state.program(expression("E12"));
        println!(
            "E12 of {n:>6} steps, bound and answered: {:8.1} ns",
            quietest(|| answer(&program, &state.bind()))
        );
    }
}

fn eval(c: &mut Criterion) {
    let state = celador::State::new(N);
    let native = native::State::new(N);
    let (input, output) = (native::input(), native::output(&questions::output()));
    for (name, text) in EXPRESSIONS {
        let program = state.program(text);
        let bound = state.bind();
        let mut group = c.benchmark_group(format!("eval/{name}"));
        if *name == "E9" {
            println!("eval/{name}: {} allocations", allocations(|| answer(&program, &bound)));
            group.bench_function("celador", |b| b.iter(|| answer(black_box(&program), black_box(&bound))));
            continue;
        }
        let by_hand = native::answer(name);
        assert_eq!(answer(&program, &bound), expected(name), "{name} by Celador");
        assert_eq!(by_hand(&native, &input, &output), expected(name), "{name} by hand");
        println!("eval/{name}: {} allocations", allocations(|| answer(&program, &bound)));
        group.bench_function("celador", |b| b.iter(|| answer(black_box(&program), black_box(&bound))));
        group.bench_function("native", |b| {
            b.iter(|| black_box(by_hand)(black_box(&native), black_box(&input), black_box(&output)));
        });
    }
}

fn bind(c: &mut Criterion) {
    let state = celador::State::new(N);
    println!("bind: {} allocations", allocations(|| state.bind()));
    c.bench_function("bind", |b| b.iter(|| black_box(&state).bind()));
}

fn step_and_eval(c: &mut Criterion) {
    let mut group = c.benchmark_group("step+eval/E12");
    for n in [10, 100, 1_000, 10_000] {
        let mut state = celador::State::new(n);
        let program = state.program(expression("E12"));
        let step = state.prepare(n);
        assert!(answer(&program, &state.bind()));
        // cloning the prepared invocation copies three references; what is recorded stays recorded
        group.bench_function(format!("{n}"), |b| {
            b.iter_batched(
                || step.clone(),
                |step| {
                    state.context.record(step);
                    assert!(answer(black_box(&program), &state.bind()));
                },
                BatchSize::SmallInput,
            );
        });
    }
}

fn compile(c: &mut Criterion) {
    let state = celador::State::new(1);
    let cache = ::celador::cel::Cache::new(&::celador::limits::EvalLimits::default());
    for name in ["E1", "E12"] {
        let text = expression(name);
        c.bench_function(&format!("compile/{name}"), |b| b.iter(|| state.program(black_box(text))));
        cache.compile(state.scope.env(), text).expect("the workload compiles");
        println!("cached/{name}: {} allocations", allocations(|| cache.compile(state.scope.env(), text)));
        c.bench_function(&format!("cached/{name}"), |b| {
            b.iter(|| cache.compile(state.scope.env(), black_box(text)))
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(50).measurement_time(std::time::Duration::from_secs(1)).warm_up_time(std::time::Duration::from_millis(300));
    targets = detect, ratios, eval, bind, step_and_eval, compile
}
criterion_main!(benches);
