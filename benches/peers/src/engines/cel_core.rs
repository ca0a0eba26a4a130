//! `cel-core`: CEL with a type checker, over shared values of its own that are made from the state.

use super::{Engine, keep};
use crate::kind::Kind;
use crate::measure::Case;
use crate::questions::{expected, expression};
use crate::roots::{NAMES, Roots, spelt_out};
use cel_core::{CelType, CompileError, Env, MapActivation, Program, Value};
use serde_json::Value as Json;
use std::hint::black_box;

pub const NAME: &str = "cel-core";

struct CelCore {
    env: &'static Env,
    roots: &'static Roots,
    bound: &'static MapActivation,
}

pub fn make(_: usize, roots: &'static Roots) -> Box<dyn Engine> {
    let standard = Env::with_standard_library();
    let env = NAMES.iter().fold(standard, |env, name| env.with_variable(*name, CelType::Dyn));
    Box::new(CelCore { env: keep(env), roots, bound: keep(bind(roots)) })
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::from(*truth),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::from(number),
            None => Value::from(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(value)),
        Json::Object(fields) => Value::map(fields.iter().map(|(key, field)| (key.as_str(), value(field)))),
    }
}

fn bind(roots: &Roots) -> MapActivation {
    roots.iter().map(|(name, json)| (name.to_owned(), value(json))).collect()
}

fn compile(env: &Env, text: &str) -> Result<Program, CompileError> {
    env.compile(text).and_then(|ast| env.program(&ast))
}

fn answer(program: &Program, activation: &MapActivation) -> bool {
    matches!(program.eval(activation), Value::Bool(true))
}

impl Engine for CelCore {
    fn case(&self, kind: Kind, name: &'static str) -> Option<Case> {
        let (env, roots, bound, expected) = (self.env, self.roots, self.bound, expected(name));
        let text = spelt_out(expression(name));
        // what it does not compile it has no figure for
        if let Err(error) = compile(env, &text) {
            eprintln!("{NAME} does not compile {name}: {error}");
            return None;
        }
        let program = |text: &str| compile(env, text).expect("the workload compiles");
        match kind {
            Kind::Compile => Some(Case::repeated(NAME, move || compile(env, black_box(&text)).is_ok())),
            Kind::Eval => {
                let program = program(&text);
                Some(Case::repeated(NAME, move || answer(black_box(&program), black_box(bound)) == expected))
            }
            Kind::BindEval => {
                let program = program(&text);
                let call = move || answer(black_box(&program), &bind(black_box(roots))) == expected;
                Some(Case::repeated(NAME, call))
            }
            _ => None,
        }
    }
}
