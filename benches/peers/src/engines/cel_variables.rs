//! `cel` as its documents bind variables: `Context::add_variable` with what serde can read.

use super::{Engine, keep};
use crate::kind::Kind;
use crate::measure::Case;
use crate::questions::{expected, expression};
use crate::roots::{Roots, spelt_out};
use cel::{Context, Env, Program, Value};
use std::hint::black_box;
use std::sync::Arc;

pub const NAME: &str = "cel";

struct Cel {
    env: Arc<Env>,
    roots: &'static Roots,
    bound: &'static Context<'static, 'static>,
}

pub fn make(_: usize, roots: &'static Roots) -> Box<dyn Engine> {
    let env = Arc::new(Env::stdlib());
    let bound = keep(bind(&env, roots));
    Box::new(Cel { env, roots, bound })
}

fn bind(env: &Arc<Env>, roots: &Roots) -> Context<'static, 'static> {
    let mut context = Context::with_env(env.clone());
    for (name, value) in roots.iter() {
        context.add_variable(name, value).expect("JSON can be bound");
    }
    context
}

fn answer(program: &Program, context: &Context<'_, '_>) -> bool {
    matches!(program.execute(context), Ok(Value::Bool(true)))
}

impl Engine for Cel {
    fn case(&self, kind: Kind, name: &'static str) -> Option<Case> {
        let (env, roots, bound, expected) = (self.env.clone(), self.roots, self.bound, expected(name));
        let text = spelt_out(expression(name));
        let compile = |text: &str| env.compile(text).expect("the workload compiles");
        match kind {
            Kind::Compile => Some(Case::repeated(NAME, move || env.compile(black_box(&text)).is_ok())),
            Kind::Eval => {
                let program = compile(&text);
                Some(Case::repeated(NAME, move || answer(black_box(&program), black_box(bound)) == expected))
            }
            Kind::BindEval => {
                let program = compile(&text);
                let call = move || answer(black_box(&program), &bind(&env, black_box(roots))) == expected;
                Some(Case::repeated(NAME, call))
            }
            _ => None,
        }
    }
}
