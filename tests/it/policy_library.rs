//! Policy documents as a library: what the names of a policy stand for in its expressions.

use celador::engine::Engine;
use celador::policy::Fingerprint;
use celador::{Call, CallResult, Outcome, StartTask, Task, User};
use serde_json::{Value, json};
use std::fs;
use std::time::SystemTime;

const NOW: SystemTime = SystemTime::UNIX_EPOCH;

const AGENT: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: shop
name: pay
description: Pays.
actions:
- name: refund
  description: Refunds.
  parameters: {properties: {amount: {type: number}, order: {type: string}}}
  execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
- name: find
  description: Finds.
  parameters: {properties: {order: {type: string}}}
  execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Answers.
prompt: You are careful.
capabilities:
  pay: {include: [refund, find]}
"#;

fn engine(policies: &str) -> Engine {
    Engine::parse("shop.yaml", &format!("{AGENT}{policies}")).unwrap_or_else(|error| panic!("{error}"))
}

fn begin(engine: &Engine) -> Task {
    engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), NOW)).unwrap()
}

fn fingerprint(policies: &str) -> Fingerprint {
    engine(policies).policy("shop", "clerk").unwrap().fingerprint()
}

/// A section of the page about policies: its manifests.
fn example(heading: &str) -> String {
    let page = fs::read_to_string("docs/policies.md").unwrap();
    let section = page.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let manifests = section.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next());
    manifests.unwrap().to_owned()
}

/// The agent of the page and its tool, without the policy of the page.
fn agent_of_the_page() -> String {
    let page = fs::read_to_string("docs/policies.md").unwrap();
    let manifests = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    manifests.split_once("---\n").unwrap().1.to_owned()
}

/// The verdict on a call and what the model is told; the result of a call that is let through is reported.
fn verdict(task: &mut Task, function: &str, arguments: Value) -> (String, String) {
    let outcome = task.before(&Call::new(function, arguments.into()), NOW).unwrap().outcome();
    if let Outcome::Allowed(allowed) = &outcome {
        let call = allowed.call.clone();
        let result = CallResult::successful(json!({}).into());
        assert!(task.after(&call, result, NOW).unwrap().outcome().is_allowed());
    }
    let decision = outcome.into_decision();
    (decision.verdict.as_str().to_owned(), decision.message.unwrap_or_default())
}

const VARIABLES: &str = r#"---
kind: celador/v1/policy
namespace: shop
name: money
variables:
  looked: c.cap.pay_find.calls.exists(t, t.input.order == input.order)
  found: variables.looked
capabilities:
  pay_refund: {before: [{assert: variables.found}]}
"#;

/// What a decision reads, and hence which calls it waits for, is what the texts of the variables read.
#[test]
fn a_variable_reads_what_its_expression_reads() {
    let written = "c.cap.pay_find.calls.exists(t, t.input.order == input.order)";
    let reads = |policies: &str| {
        let engine = engine(policies);
        let policy = engine.policy("shop", "clerk").unwrap();
        policy.dependencies(policy.position("pay_refund").unwrap()).unwrap().clone()
    };
    let named = reads(VARIABLES);
    assert_eq!(named.reads.functions_made().count(), 1);
    assert_eq!(
        named,
        reads(&VARIABLES.replace("assert: variables.found", &format!("assert: \"{written}\"")))
    );
    assert_ne!(named, reads(&VARIABLES.replace("assert: variables.found", "assert: input.order != ''")));
}

#[test]
fn the_text_of_a_variable_is_part_of_the_fingerprint() {
    let other = VARIABLES.replace("exists(t,", "all(t,");
    assert_ne!(fingerprint(VARIABLES), fingerprint(&other));
    let in_guardrails = |text: &str| {
        format!(
            "---\nkind: celador/v1/policy\nnamespace: shop\nname: words\nvariables: {{short: {text}}}\nguardrails: {{before: [{{assert: variables.short}}]}}\n"
        )
    };
    assert_ne!(
        fingerprint(&in_guardrails("size(input) < 3")),
        fingerprint(&in_guardrails("size(input) < 4"))
    );
}

#[test]
fn the_page_about_policies_is_true_of_variables() {
    let manifests = format!("{}---\n{}", agent_of_the_page(), example("Variables"));
    let engine = Engine::parse("shop.yaml", &manifests).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(engine.warnings().len(), 0, "{:?}", engine.warnings());
    let mut task = begin(&engine);
    for (amount, expected) in [(900, "allow"), (1200, "block"), (700, "suspend")] {
        assert_eq!(verdict(&mut task, "payments_refund", json!({"amount": amount})).0, expected, "{amount}");
    }
}
