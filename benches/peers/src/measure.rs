//! How something is timed: in rounds that go through all engines in turn, of which the quietest counts.
//!
//! In: cases, one an engine, that answer the same question. Out: nanoseconds and heap allocations of one call each. What
//! a case prepares is never timed, and no answer is timed before it was right once.

use crate::allocations;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// What some calls cost together.
pub struct Cost {
    elapsed: Duration,
    allocations: u64,
}

/// One engine at one question.
pub struct Case {
    pub engine: &'static str,
    /// The fewest and the most calls that make sense in one round.
    least_calls: u32,
    most_calls: u32,
    /// Makes this many calls.
    round: Box<dyn FnMut(u32) -> Cost>,
}

/// How much patience there is.
#[derive(Clone, Copy)]
pub struct Patience {
    pub rounds: u32,
    /// For all rounds of all engines at one question; three rounds are made in any case.
    pub budget: Duration,
}

/// What one call costs.
pub struct Figure {
    pub engine: &'static str,
    pub ns: f64,
    pub allocations: u64,
}

impl Case {
    /// A call that can be repeated as it is, and is true each time.
    pub fn repeated(engine: &'static str, mut call: impl FnMut() -> bool + 'static) -> Self {
        assert!(call(), "{engine} gives a wrong answer");
        let round = move |calls| {
            measured(|| {
                for _ in 0..calls {
                    black_box(call());
                }
            })
        };
        Self { engine, least_calls: 1, most_calls: 100_000, round: Box::new(round) }
    }

    /// Calls that use something up: `prepare` makes what this many calls need, and `calls` makes them all. Their number
    /// is fixed, so that every engine is as warm after what was prepared as any other.
    pub fn prepared<P>(
        engine: &'static str,
        count: u32,
        mut prepare: impl FnMut(u32) -> P + 'static,
        mut calls: impl FnMut(&mut P) + 'static,
    ) -> Self {
        let round = move |count| {
            let mut prepared = prepare(count);
            measured(|| calls(&mut prepared))
        };
        Self { engine, least_calls: count, most_calls: count, round: Box::new(round) }
    }

    /// So many calls that a round takes long beside the clock, and short beside the noise of the machine.
    fn calls(&mut self) -> u32 {
        const ROUND: f64 = 100_000.0;
        let once = (0..3).map(|_| (self.round)(1).elapsed).min().unwrap_or_default();
        let calls = ROUND / nanoseconds(once).max(1.0);
        (calls as u32).clamp(self.least_calls, self.most_calls)
    }
}

fn measured(calls: impl FnOnce()) -> Cost {
    let before = allocations::so_far();
    let start = Instant::now();
    calls();
    let elapsed = start.elapsed();
    Cost { elapsed, allocations: allocations::so_far() - before }
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

/// The cost of each case, all of them measured in turn, round by round.
pub fn figures(mut cases: Vec<Case>, patience: Patience) -> Vec<Figure> {
    const AT_LEAST: u32 = 3;
    let calls: Vec<u32> = cases.iter_mut().map(Case::calls).collect();
    let figure = |case: &Case| Figure { engine: case.engine, ns: f64::INFINITY, allocations: u64::MAX };
    let mut figures: Vec<Figure> = cases.iter().map(figure).collect();
    let start = Instant::now();
    for round in 0..patience.rounds {
        if round >= AT_LEAST && start.elapsed() > patience.budget {
            break;
        }
        for ((case, calls), figure) in cases.iter_mut().zip(&calls).zip(&mut figures) {
            let cost = (case.round)(*calls);
            figure.ns = figure.ns.min(nanoseconds(cost.elapsed) / f64::from(*calls));
            figure.allocations = figure.allocations.min(cost.allocations / u64::from(*calls));
        }
    }
    figures
}
