//! Which orders go out at once, with the same variables and functions in programs of `celador-cel`.
//! `docs/from-cel-interpreter.md` shows it beside `before.rs`.
#![allow(clippy::print_stdout, reason = "it is for people")]

use cel::extractors::This;
use cel::{Context, ExecutionError};
use celador_cel::cel_interpreter::SharedContext;
use celador_cel::{Env, EnvBuilder, EvalLimits, Issue, Program, STANDARD, Type, Value};
use serde::Serialize;
use std::error::Error;
use std::sync::Arc;

const RULES: [&str; 3] = [
    "order.total <= limit || tier.rank() >= 2",
    "order.lines.all(l, l.count > 0u && !l.name.startsWith('x-'))",
    "order.placed < deadline && size(order.lines) <= 10",
];

#[derive(Serialize)]
struct Order {
    total: f64,
    lines: Vec<Line>,
    placed: cel::Timestamp,
}

#[derive(Serialize)]
struct Line {
    name: String,
    count: u32,
}

/// `tier.rank()`: how far a customer is trusted.
fn rank(This(tier): This<Arc<String>>) -> Result<i64, ExecutionError> {
    match tier.as_str() {
        "gold" => Ok(2),
        "silver" => Ok(1),
        _ => Err(ExecutionError::function_error("rank", "no such tier")),
    }
}

/// What is wrong with a rule, a line each.
fn report(issues: &[Issue]) -> String {
    issues.iter().map(|issue| issue.message.as_str()).collect::<Vec<_>>().join("\n")
}

pub(crate) fn decide(tier: &str) -> Result<Vec<bool>, Box<dyn Error>> {
    let lines = vec![Line { name: "lamp".into(), count: 2 }, Line { name: "bulb".into(), count: 12 }];
    let placed = cel::Timestamp("2026-05-20T11:00:00+02:00".parse()?);
    let order = Order { total: 240.0, lines, placed };
    let deadline = cel::Timestamp("2026-05-20T12:00:00Z".parse()?);

    let mut shared = SharedContext::new(Context::default());
    shared.context_mut().add_variable("order", &order)?;
    shared.context_mut().add_variable("deadline", &deadline)?;
    shared.context_mut().add_variable("limit", 100.0)?;
    shared.context_mut().add_variable("tier", tier)?;
    shared.add_function("rank", rank)?;
    shared.declare_function("rank", &["string.rank() -> int"])?;

    let limits = EvalLimits { max_cost: 10_000, ..EvalLimits::default() };
    let scope = Env::builder().variable("limit", Type::Double).variable("tier", Type::String);
    let scope = STANDARD.iter().copied().fold(scope.limits(limits), EnvBuilder::library);
    let env = shared.scope(scope).build();
    let mut decided = Vec::new();
    for rule in RULES {
        let program = Program::compile(&env, rule).map_err(|issues| report(&issues))?;
        let activation = shared.activation(&env, program.variables())?;
        let result = program.run(&activation, Some(&mut shared.functions(&env)));
        decided.push(matches!(result, Ok(Value::Bool(true))));
    }
    Ok(decided)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    for tier in ["gold", "silver", "bronze"] {
        println!("{tier}: {:?}", decide(tier)?);
    }
    Ok(())
}
