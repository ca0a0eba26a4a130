//! Celador: the live task, borrowed.

use super::{Engine, decision, keep};
use crate::celador::{State, answer};
use crate::kind::Kind;
use crate::measure::Case;
use crate::questions::{expected, expression};
use crate::roots::Roots;
use celador::cel::Cache;
use celador::context::TaskContext;
use celador::limits::EvalLimits;
use std::hint::black_box;

pub const NAME: &str = "celador";

struct Celador {
    n: usize,
    state: &'static State,
    /// The same task as nobody has asked anything about it.
    pristine: &'static TaskContext,
}

pub fn make(n: usize, _: &'static Roots) -> Box<dyn Engine> {
    let state = keep(State::new(n));
    Box::new(Celador { n, state, pristine: keep(state.context.clone()) })
}

impl Engine for Celador {
    fn case(&self, kind: Kind, name: &'static str) -> Option<Case> {
        let text = expression(name);
        match kind {
            Kind::Eval => Some(self.eval(name)),
            Kind::StepEval => Some(self.step_and_eval(text)),
            Kind::First => Some(self.first(name)),
            Kind::Next => Some(self.next(name)),
            Kind::Compile => {
                let state = self.state;
                Some(Case::repeated(NAME, move || {
                    black_box(state.program(black_box(text)));
                    true
                }))
            }
            Kind::CompileCached => {
                let (state, cache) = (self.state, Cache::new(&EvalLimits::default()));
                Some(Case::repeated(NAME, move || cache.compile(state.scope.env(), black_box(text)).is_ok()))
            }
            Kind::Decision => Some(decision::before(NAME, self.n)),
            Kind::BindEval => None,
        }
    }
}

impl Celador {
    fn eval(&self, name: &'static str) -> Case {
        let (program, bound, expected) =
            (keep(self.state.program(expression(name))), keep(self.state.bind()), expected(name));
        Case::repeated(NAME, move || answer(black_box(program), black_box(bound)) == expected)
    }

    fn step_and_eval(&self, text: &'static str) -> Case {
        let (n, state, pristine) = (self.n, self.state, self.pristine);
        let program = keep(state.program(text));
        let prepare = move |calls: u32| {
            let mut context = pristine.clone();
            // so that no list has to grow, and whoever remembers answers remembers this one
            for step in 0..5 {
                context.record(state.prepare(n + step));
            }
            assert!(answer(program, &state.bind_to(&context)));
            (context, (0..calls as usize).map(|step| state.prepare(n + step)).collect::<Vec<_>>())
        };
        let calls = move |(context, steps): &mut (TaskContext, Vec<_>)| {
            for step in steps.drain(..) {
                context.record(step);
                assert!(answer(black_box(program), &state.bind_to(context)));
            }
        };
        Case::prepared(NAME, 32, prepare, calls)
    }

    /// Binds and answers, once a task, for tasks that nobody has asked anything about.
    fn first(&self, name: &'static str) -> Case {
        let pristine = self.pristine;
        self.once_a_task(name, move |_| pristine.clone())
    }

    /// The same for tasks that were asked once and then took a step.
    fn next(&self, name: &'static str) -> Case {
        let (n, state, pristine) = (self.n, self.state, self.pristine);
        self.once_a_task(name, move |ask| {
            let mut context = pristine.clone();
            ask(&context);
            context.record(state.prepare(n));
            context
        })
    }

    fn once_a_task(
        &self,
        name: &'static str,
        task: impl Fn(&dyn Fn(&TaskContext)) -> TaskContext + 'static,
    ) -> Case {
        let (state, expected) = (self.state, expected(name));
        let program = keep(state.program(expression(name)));
        let ask = move |context: &TaskContext| {
            assert_eq!(answer(black_box(program), &state.bind_to(context)), expected)
        };
        let prepare = move |calls: u32| (0..calls).map(|_| task(&ask)).collect::<Vec<_>>();
        let most_calls = (40_000 / self.n.max(1)).clamp(4, 64) as u32;
        Case::prepared(NAME, most_calls, prepare, move |tasks| tasks.iter().for_each(ask))
    }
}
