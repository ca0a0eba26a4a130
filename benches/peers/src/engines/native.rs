//! The questions as a person would write them in Rust over structs.

use super::{Engine, keep};
use crate::kind::Kind;
use crate::measure::Case;
use crate::native::{self, Input, Output, State};
use crate::questions::{self, expected, invocation};
use crate::roots::Roots;
use std::hint::black_box;

pub const NAME: &str = "native";

struct Native {
    n: usize,
    state: &'static State,
    input: &'static Input,
    output: &'static Output,
}

pub fn make(n: usize, _: &'static Roots) -> Box<dyn Engine> {
    let output = native::output(&questions::output());
    Box::new(Native { n, state: keep(State::new(n)), input: keep(native::input()), output: keep(output) })
}

impl Engine for Native {
    fn case(&self, kind: Kind, expression: &'static str) -> Option<Case> {
        let Self { n, state, input, output } = *self;
        match kind {
            Kind::Eval => {
                let (answer, expected) = (native::answer(expression), expected(expression));
                let call = move || {
                    black_box(answer)(black_box(state), black_box(input), black_box(output)) == expected
                };
                Some(Case::repeated(NAME, call))
            }
            Kind::StepEval => {
                let answer = native::answer(expression);
                let prepare = move |calls: u32| {
                    let mut state = State::new(n);
                    let next = || native::output(&invocation(n).1);
                    (0..5).for_each(|step| state.record(n + step, next()));
                    assert!(answer(&state, input, output));
                    (state, (0..calls).map(|_| next()).collect::<Vec<_>>())
                };
                let calls = move |(state, steps): &mut (State, Vec<Output>)| {
                    for (step, result) in steps.drain(..).enumerate() {
                        state.record(n + step, result);
                        assert!(black_box(answer)(state, input, output));
                    }
                };
                Some(Case::prepared(NAME, 32, prepare, calls))
            }
            _ => None,
        }
    }
}
