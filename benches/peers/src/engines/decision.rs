//! A whole decision: everything that Celador does before a call of an agent that could be somebody's.
//!
//! Bindings are resolved, parameters are tested, three asserts and a condition are answered on a task with N calls behind
//! it, and the call is let through. No peer has an operation like this; what it would take there is not measured.

use crate::measure::Case;
use crate::questions::invocation;
use celador::context::InvocationStatus;
use celador::task::{Past, PastCall, Progress};
use celador::{Call, Decision, Engine, Json, StartTask, Task, Timestamp, Usage, User, VerdictKind};
use std::hint::black_box;

const MANIFESTS: &str = r#"
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Pays small amounts back.
prompt: You are a careful clerk.
capabilities:
  orders: "*"
  payout:
    bindings:
      customer: context.user.id
      order: context.capabilities.orders.outputs[0].id
    before:
      - assert: context.capabilities.orders.count_successful > 0
        error_message: Read the order first.
      - assert: input.amount > 0 && input.amount <= 1000
        error_message: "{input.amount} is outside what a clerk may pay."
      - condition: input.amount > 100
        assert: context.capabilities.orders.outputs[0].status == 'open'
        error_message: The order is closed.
---
kind: commonagents.info/v1beta2/tool
namespace: shop
name: payout
description: Pays money to a customer.
actions:
  - name: pay
    description: Pays an amount.
    parameters:
      properties:
        customer: {type: string, description: Who is paid.}
        order: {type: string, description: For which order.}
        amount: {type: number, description: How much.}
    execute:
      stateless_http: {method: POST, url: "https://pay.example.com/payouts"}
---
kind: commonagents.info/v1beta2/tool
namespace: shop
name: orders
description: Reads an order.
actions:
  - name: read
    description: Reads an order.
    parameters: {properties: {path: {type: string, description: Which.}}}
    execute:
      stateless_http: {method: GET, url: "https://shop.example.com/orders"}
"#;

fn now() -> Timestamp {
    Timestamp::from_unix(1_780_000_000).expect("a time of this century")
}

fn task(engine: &Engine, n: usize) -> Task {
    let user = User { id: "u-1".into(), email: Some("ann@example.com".into()), ..User::default() };
    let start = StartTask::new("t-1", "shop", "clerk", user, now());
    let mut task = engine.start(start).expect("the manifests are valid");
    let said = Json::from(serde_json::json!({"message": "The lamp came in pieces."}));
    task.record(Past::Input(said), now()).expect("a message");
    task.record(Past::ModelTurn(Usage { prompt_tokens: 640, completion_tokens: 35, ..Usage::default() }), now()).expect("a turn");
    for (input, output) in (0..n).map(invocation) {
        let call = PastCall {
            function: "orders".into(),
            arguments: input.into(),
            output: Some(output.into()),
            status: InvocationStatus::Successful,
            executed: true,
            task_id: None,
            at: None,
        };
        task.record(Past::Call(call), now()).expect("a function of the agent");
    }
    task
}

/// `Task::before` for a call that is let through.
pub fn before(name: &'static str, n: usize) -> Case {
    let engine = Engine::parse("shop.yaml", MANIFESTS).unwrap();
    let arguments = Json::from(serde_json::json!({"amount": 180, "customer": "somebody-else"}));
    let call = Call::new("payout", arguments);
    let prepare = move |calls: u32| {
        let mut task = task(&engine, n);
        // the bindings have replaced and added what they should, and all three asserts were answered
        let Progress::Decided(decision) = task.before(&call, now()).expect("the id is its own").into_progress() else {
            panic!("nobody is asked")
        };
        let arguments = decision.verdict.value().map(|value| serde_json::json!(value));
        let resolved =
            serde_json::json!({"amount": 180, "customer": "u-1", "order": format!("ticket-{}", n - 1)});
        assert_eq!((decision.verdict.kind(), arguments), (VerdictKind::Allow, Some(resolved)));
        assert_eq!(decision.trace.len(), 3);
        (task, vec![call.clone(); calls as usize], Vec::<Decision>::with_capacity(calls as usize))
    };
    let calls = move |(task, asked, decided): &mut (Task, Vec<Call>, Vec<Decision>)| {
        for call in asked.iter() {
            if let Progress::Decided(decision) = task.before(black_box(call), now()).expect("the id is its own").into_progress() {
                decided.push(decision);
            }
        }
    };
    Case::prepared(name, 32, prepare, calls)
}
