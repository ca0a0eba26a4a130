//! `cel-interpreter`, the former name and shape of `cel`, as its documents bind variables.

use super::{Engine, keep};
use crate::kind::Kind;
use crate::measure::Case;
use crate::questions::{expected, expression};
use crate::roots::{Roots, spelt_out};
use cel_interpreter::{Context, Program, Value};
use std::hint::black_box;

pub const NAME: &str = "cel-interpreter";

struct CelInterpreter {
    roots: &'static Roots,
    bound: &'static Context<'static>,
}

pub fn make(_: usize, roots: &'static Roots) -> Box<dyn Engine> {
    Box::new(CelInterpreter { roots, bound: keep(bind(roots)) })
}

fn bind(roots: &Roots) -> Context<'static> {
    let mut context = Context::default();
    for (name, value) in roots.iter() {
        context.add_variable(name, value).expect("JSON can be bound");
    }
    context
}

fn answer(program: &Program, context: &Context<'_>) -> bool {
    matches!(program.execute(context), Ok(Value::Bool(true)))
}

impl Engine for CelInterpreter {
    fn case(&self, kind: Kind, name: &'static str) -> Option<Case> {
        let (roots, bound, expected) = (self.roots, self.bound, expected(name));
        let text = spelt_out(expression(name));
        let compile = |text: &str| Program::compile(text).expect("the workload compiles");
        match kind {
            Kind::Compile => Some(Case::repeated(NAME, move || Program::compile(black_box(&text)).is_ok())),
            Kind::Eval => {
                let program = compile(&text);
                Some(Case::repeated(NAME, move || answer(black_box(&program), black_box(bound)) == expected))
            }
            Kind::BindEval => {
                let program = compile(&text);
                let call = move || answer(black_box(&program), &bind(black_box(roots))) == expected;
                Some(Case::repeated(NAME, call))
            }
            _ => None,
        }
    }
}
