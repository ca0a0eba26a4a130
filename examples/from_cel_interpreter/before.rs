//! Which orders go out at once, with the crate `cel`. `docs/from-cel-interpreter.md` shows it beside `after.rs`.
#![allow(clippy::print_stdout, reason = "it is for people")]

use cel::extractors::This;
use cel::{Context, Env, ExecutionError, Value};
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

pub(crate) fn decide(tier: &str) -> Result<Vec<bool>, Box<dyn Error>> {
    let lines = vec![Line { name: "lamp".into(), count: 2 }, Line { name: "bulb".into(), count: 12 }];
    let placed = cel::Timestamp("2026-05-20T11:00:00+02:00".parse()?);
    let order = Order { total: 240.0, lines, placed };
    let deadline = cel::Timestamp("2026-05-20T12:00:00Z".parse()?);

    let mut context = Context::default();
    context.add_variable("order", &order)?;
    context.add_variable("deadline", &deadline)?;
    context.add_variable("limit", 100.0)?;
    context.add_variable("tier", tier)?;
    context.add_function("rank", rank)?;

    let env = Env::stdlib();
    let mut decided = Vec::new();
    for rule in RULES {
        let program = env.compile(rule)?;
        let result = program.execute(&context);
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
