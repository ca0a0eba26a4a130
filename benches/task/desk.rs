//! The agent under test: a support desk with three asserts, a condition and bindings around each payout.

use celador::cel::{Json, Timestamp};
use celador::context::InvocationStatus;
use celador::engine::Engine;
use celador::task::{Call, Decision, Past, PastCall, Progress, StartTask, Task, Usage, User};

const MANIFESTS: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: desk
name: payout
description: Pays money out.
parameters: {properties: {customer: {type: string}, region: {type: string}}}
actions:
- name: pay
  description: Pays.
  parameters:
    properties:
      amount: {type: number}
      reason: {type: string}
      note: {type: string, default: ""}
  execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
---
kind: commonagents.info/v1beta2/tool
namespace: desk
name: ticket
description: Reads tickets.
actions:
- name: read
  description: Reads one.
  parameters: {properties: {}}
  execute: {stateless_http: {method: POST, url: "https://tickets.example.com"}}
---
kind: commonagents.info/v1beta2/agent
namespace: desk
name: clerk
description: Answers customers.
prompt: You are a careful clerk.
limits: {max_turns: 100000000, max_tool_calls: 100000000}
capabilities:
  payout:
    bindings:
      customer: context.user.id
      region: "'eu'"
    before:
    - assert: input.amount > 0 && input.amount <= 1000
      error_message: "{input.amount} is outside what a clerk may pay to {context.user.email}."
    - assert: context.capabilities.ticket.count_successful > 0
      error_message: Read the ticket first.
    - condition: input.amount > 100
      assert: context.user.email.endsWith("@example.com")
      error_message: Only colleagues get that much.
  ticket: "*"
"#;

pub fn engine() -> Engine {
    Engine::parse("desk.yaml", MANIFESTS).unwrap_or_else(|error| panic!("{error}"))
}

pub fn now() -> Timestamp {
    Timestamp::from_unix(1_780_000_000).expect("a time of this century")
}

pub fn start(engine: &Engine) -> Task {
    let user = User { id: "u-1".into(), email: Some("ann@example.com".into()), ..User::default() };
    engine.start(StartTask::new("t-1", "desk", "clerk", user, now())).expect("the agent is there")
}

/// A task with this many invocations of inputs and outputs of 200 bytes on record.
pub fn task(engine: &Engine, invocations: usize) -> Task {
    let mut task = start(engine);
    for n in 0..invocations {
        step(&mut task, n);
    }
    task
}

/// One step of a task's past: a turn of the model, and a call that ran.
pub fn step(task: &mut Task, n: usize) {
    let (arguments, output) = documents(n);
    let usage = Usage { prompt_tokens: 100, completion_tokens: 10, ..Usage::default() };
    task.record(Past::ModelTurn(usage), now()).expect("nothing waits");
    let call = PastCall {
        function: "ticket".into(),
        arguments,
        output: Some(output),
        status: InvocationStatus::Successful,
        executed: true,
        task_id: None,
        at: None,
    };
    task.record(Past::Call(call), now()).expect("the function is there");
}

/// The arguments and the result of one call, of 200 bytes each, as they come over a wire.
pub fn documents(n: usize) -> (Json, Json) {
    let input = format!(
        r#"{{"path":"/srv/docs/chapter-{n:05}.md","offset":{:08},"reason":"The user asked for the second section, which this chunk is to hold together with its notes and with the tables.","branch":"main","x":1}}"#,
        n % 10_000 + 10_000_000
    );
    let output = format!(
        r#"{{"status_code":200,"status":"open","id":"ticket-{n:05}","bytes":4096,"body":"Section two. The quick brown fox jumps over the lazy dog while the guard looks on, quite unmoved by it all, ever and ever."}}"#
    );
    let parse = |text: &str| Json::parse(text, &celador::limits::EvalLimits::default()).expect("it is JSON");
    (parse(&input), parse(&output))
}

pub fn call(amount: i64) -> Call {
    let arguments = serde_json::json!({ "amount": amount, "reason": "The parcel never came." });
    Call::new("payout", arguments.into())
}

pub fn decided<P: Into<Progress>>(progress: P) -> Decision {
    match progress.into() {
        Progress::Decided(decision) => decision,
        Progress::Asks(request) => panic!("asks {request:?}"),
    }
}
