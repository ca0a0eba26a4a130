//! A policy of 200 steps over 50 patterns beside the same steps written into the agent's manifest, and beside neither.

use crate::desk;
use celador::engine::Engine;
use celador::task::{Call, Ran, StartTask, Task, User, VerdictKind};
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

const TOOLS: usize = 50;
const STEPS: usize = 4;

/// The steps of one tool, indented by so many spaces.
fn steps(indent: usize) -> String {
    (0..STEPS).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "{:indent$}- assert: input.amount > 0 && input.amount < {}", "", 1_000 + n);
        text
    })
}

fn engine(in_policy: bool, in_manifest: bool) -> Engine {
    let mut text = String::new();
    let mut capabilities = String::new();
    let mut patterns = String::new();
    for n in 0..TOOLS {
        let _ = write!(
            text,
            "kind: commonagents.info/v1beta2/tool\nnamespace: desk\nname: tool{n:02}\ndescription: Does it.\nactions:\n- name: run\n  description: Does it.\n  \
             parameters: {{properties: {{amount: {{type: integer}}}}}}\n  \
             execute: {{stateless_http: {{method: POST, url: \"https://tools.example.com\"}}}}\n---\n"
        );
        let own = if in_manifest { steps(6) } else { "      []\n".to_owned() };
        let _ = write!(capabilities, "  tool{n:02}:\n    before:\n{own}");
        let _ = write!(patterns, "  \"tool{n:02}*\":\n    before:\n{}", steps(6));
    }
    let _ = write!(
        text,
        "kind: commonagents.info/v1beta2/agent\nnamespace: desk\nname: clerk\ndescription: Answers.\nprompt: You are careful.\n\
         capabilities:\n{capabilities}"
    );
    if in_policy {
        let _ = write!(
            text,
            "---\nkind: celador/v1/policy\nnamespace: desk\nname: baseline\ncapabilities:\n{patterns}"
        );
    }
    Engine::parse("policies.yaml", &text).unwrap_or_else(|error| panic!("{error}"))
}

fn task(engine: &Engine) -> Task {
    let user = User { id: "u-1".into(), email: None, ..User::default() };
    engine.start(StartTask::new("t-1", "desk", "clerk", user, desk::now())).expect("the agent is there")
}

pub fn measure() {
    let call = Call::new("tool25", serde_json::json!({ "amount": 20 }).into());
    let engines = [engine(false, false), engine(false, true), engine(true, false)];
    let mut quietest = [f64::INFINITY; 3];
    // in turns, so that whatever else the machine does meets all of them
    for _ in 0..200 {
        for (engine, quietest) in engines.iter().zip(&mut quietest) {
            let mut task = task(engine);
            let start = Instant::now();
            for _ in 0..20 {
                let decision = desk::decided(task.before(&call, desk::now()).expect("the id is its own"));
                assert_eq!(
                    decision.verdict.kind(),
                    VerdictKind::Allow,
                    "{:?}",
                    decision.verdict.message().map(str::to_owned)
                );
                let id = decision.call.as_ref().expect("it is allowed");
                black_box(task.withdraw(id, Ran::Never, desk::now()).expect("it is open"));
            }
            *quietest = quietest.min(start.elapsed().as_secs_f64() * 1e9 / 20.0);
        }
    }
    let [bare, manifest, policy] = quietest;
    println!("  no steps: {bare:7.1} ns");
    println!("  {STEPS} steps of {} in the manifest: {manifest:7.1} ns", TOOLS * STEPS);
    println!(
        "  the same in a policy of {TOOLS} patterns: {policy:7.1} ns, {:.2} of those in the manifest",
        policy / manifest
    );
}
