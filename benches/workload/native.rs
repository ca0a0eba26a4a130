//! The same questions as hand-written Rust over structs: what they cost at best.

use crate::questions::{self, FUNCTIONS, invocation};
use regex::Regex;
use serde_json::Value;

pub struct State {
    pub user: User,
    pub namespace: String,
    pub tokens: u64,
    pub turns: Vec<&'static str>,
    pub inputs: Vec<Vec<String>>,
    pub invocations: Vec<&'static str>,
    pub records: Vec<Record>,
    pub path: Regex,
}

pub struct User {
    pub id: String,
    pub email: String,
}

#[derive(Default)]
pub struct Record {
    pub name: &'static str,
    pub successful: u64,
    pub outputs: Vec<Output>,
}

pub struct Output {
    pub status_code: i64,
    pub status: String,
    pub bytes: i64,
}

pub struct Input {
    pub path: String,
    pub message: String,
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

pub fn output(value: &Value) -> Output {
    let number = |key: &str| value[key].as_i64().unwrap_or_default();
    Output { status_code: number("status_code"), status: text(value, "status"), bytes: number("bytes") }
}

pub fn input() -> Input {
    let value = questions::input();
    Input { path: text(&value, "path"), message: text(&value, "message") }
}

impl State {
    pub fn new(n: usize) -> Self {
        let mut state = Self {
            user: User { id: "u-1".into(), email: "ann@example.com".into() },
            namespace: "prod-eu".into(),
            tokens: 9000,
            turns: vec!["llm"; 12],
            inputs: vec![vec!["t".repeat(200); 2]; 10],
            invocations: Vec::new(),
            records: FUNCTIONS.iter().map(|name| Record { name, ..Record::default() }).collect(),
            path: Regex::new(r"^/srv/[a-z0-9_/-]+\.md$").expect("the pattern is a constant"),
        };
        (0..n).for_each(|n| state.record(n, output(&invocation(n).1)));
        state
    }

    /// Records the invocation with this number, which gave this output.
    pub fn record(&mut self, n: usize, output: Output) {
        let record = &mut self.records[n % FUNCTIONS.len()];
        record.successful += 1;
        record.outputs.push(output);
        self.invocations.push(record.name);
    }
}

/// The answer to an expression, as a person would write it.
pub type Answer = fn(&State, &Input, &Output) -> bool;

/// The code for an expression.
pub fn answer(name: &str) -> Answer {
    match name {
        "E1" => e1,
        "E2" => e2,
        "E3" => e3,
        "E4" => e4,
        "E5" => e5,
        "E6" => e6,
        "E7" => |state, _, _| state.invocations.iter().filter(|name| **name == "delete_repo").count() < 3,
        "E8" => e8,
        "E10" => e10,
        "E11" => |state, _, _| {
            state.inputs.iter().all(|parts| parts.iter().all(|text| text.chars().count() < 50_000))
        },
        "E12" => |state, input, output| most(state, input, output) && e8(state, input, output),
        "E12n" => |state, input, output| most(state, input, output) && state.invocations.len() < 1_000_000,
        "E13" => |state, _, _| state.records[2].outputs.iter().all(|output| output.bytes < 1_000_000),
        _ => unreachable!("no such expression"),
    }
}

fn e1(state: &State, _: &Input, _: &Output) -> bool {
    state.tokens > 5000 && state.turns.len() > 8
}

fn e2(state: &State, _: &Input, _: &Output) -> bool {
    state.user.email.ends_with("@example.com") && state.namespace.starts_with("prod-")
}

fn e3(state: &State, _: &Input, _: &Output) -> bool {
    state.records[0].successful > 0
}

fn e4(_: &State, _: &Input, output: &Output) -> bool {
    output.status_code >= 200 && output.status_code < 300
}

fn e5(_: &State, input: &Input, _: &Output) -> bool {
    input.message.chars().count() < 50_000
}

fn e6(state: &State, _: &Input, _: &Output) -> bool {
    state.records[1].outputs.last().is_some_and(|output| output.status == "open")
}

fn e8(state: &State, input: &Input, _: &Output) -> bool {
    state.path.is_match(&input.path)
}

fn e10(state: &State, _: &Input, _: &Output) -> bool {
    state.records.iter().any(|record| record.name.starts_with("delete_"))
}

fn most(state: &State, input: &Input, output: &Output) -> bool {
    e1(state, input, output)
        && e2(state, input, output)
        && e3(state, input, output)
        && (e4(state, input, output) || output.status == "ok")
        && e5(state, input, output)
        && (e6(state, input, output) || state.user.id == "u-admin")
        && !e10(state, input, output)
}
