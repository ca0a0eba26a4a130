//! What tells one policy from another: each edit of a manifest that changes a decision, and none that does not.
//!
//! In: manifests and edits of them, a row each. Out: whether the fingerprint of the policy is another. One of them is
//! written down, so that nobody changes by accident what stored tasks are compared with.

use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::policy::Fingerprint;
use celador::source::Source;
use std::collections::BTreeMap;

const TOOL: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: shop
name: pay
description: Pays.
settings:
  properties:
    hook.secret: {type: string, default: ""}
actions:
- name: refund
  description: Refunds.
  parameters:
    type: object
    properties:
      amount: {type: number, minimum: 1}
      kind: {type: string, enum: [cash, voucher], default: cash}
      order: {type: object, properties: {id: {type: string}}, required: [id], additionalProperties: false}
      key: {type: string, default: none, secret: true}
      to: {type: string}
  output: {type: object, properties: {paid: {type: boolean}}}
  execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
- name: total
  description: Adds.
  parameters: {type: object, properties: {of: {type: array, items: {type: number}}}}
  execute: {cel: {expression: "size(input.of)"}}
events:
- name: paid
  description: Money went out.
  message: "Paid {event.amount}."
  timeout: 24h
  payload: {type: object, properties: {sum: {type: number}}}
  parameters: {amount: event.payload.sum}
  receive: {webhook: {secret: "{settings.hook.secret}", filter: "event.payload.sum > 0"}}
"#;

const AGENT: &str = r#"
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Answers.
prompt: You are careful.
model: small
mount: task
limits: {max_turns: 10, max_prompt_tokens: 1000, max_completion_tokens: 500, max_age: 24h, max_tool_calls: 5}
parameters: {type: object, properties: {ticket: {type: string, default: T-1}}}
capabilities:
  pay:
    include: [refund, total, paid]
    bindings: {to: "'customer'"}
    event_timeout: 12h
    before_first:
    - {assert: "context.user.id != ''", error_message: Nobody.}
    before:
    - {match: refund, condition: input.amount > 10, assert: input.amount < 100, error_message: Too much.}
    - {match: refund, invoke: "trail:append", bindings: {what: "'refund'"}, on_fail: continue}
    after:
    - {match: refund, transform: "{'paid': output.paid}", error_message: No receipt.}
guardrails:
  before:
  - {assert: size(input) > 0, error_message: Say something.}
  after:
  - {assert: size(output) > 0, on_fail: lock_task, error_message: Nothing.}
exposes:
  refunds: context.capabilities.pay_refund.count_successful
"#;

const OTHERS: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: shop
name: trail
description: Keeps a trail.
actions:
- name: append
  description: Appends.
  parameters: {type: object, properties: {what: {type: string}}}
  execute: {stateless_http: {method: POST, url: "https://trail.example.com"}}
- name: keep
  description: Keeps.
  parameters: {type: object, properties: {what: {type: string}}}
  execute: {stateless_http: {method: POST, url: "https://trail.example.com"}}
---
name: files
path_prefixes: {task: "{namespace}/{task}/", agent: "{namespace}/{agent}/"}
s3: {bucket: docs}
"#;

fn fingerprint_of(files: &[(&str, &str)]) -> Fingerprint {
    let limits = EngineLimits::default();
    let file =
        |(name, text): &(&str, &str)| File { source: Source::new(*name, *text), origin: FileOrigin::Named };
    let files: Vec<File> = files.iter().map(file).collect();
    let (catalog, findings) = Catalog::parse(&files, &limits);
    let (engine, more) = Engine::lenient_from_catalog(&catalog, limits);
    let policy = engine.policy("shop", "clerk");
    let errors = findings.iter().chain(&more).filter(|it| it.is_error()).map(|it| &it.message);
    policy.unwrap_or_else(|error| panic!("{error}: {:#?}", errors.collect::<Vec<_>>())).fingerprint()
}

fn original() -> Fingerprint {
    fingerprint_of(&[("tool.yaml", TOOL), ("agent.yaml", AGENT), ("others.yaml", OTHERS)])
}

/// The fingerprint with each text once in the place of another.
fn edited(edits: &[(&str, &str)]) -> Fingerprint {
    let mut texts = [TOOL, AGENT, OTHERS].map(str::to_owned);
    for (from, to) in edits {
        let known = texts.iter_mut().find(|text| text.contains(from));
        let text = known.unwrap_or_else(|| panic!("no manifest has `{from}`"));
        *text = text.replacen(from, to, 1);
    }
    let [tool, agent, others] = &texts;
    fingerprint_of(&[("tool.yaml", tool), ("agent.yaml", agent), ("others.yaml", others)])
}

#[test]
fn whatever_decides_makes_another_fingerprint() {
    let rows: &[&[(&str, &str)]] = &[
        // agent
        &[("prompt: You are careful.", "prompt: You are quick.")],
        &[("model: small", "model: large")],
        &[("mount: task", "mount: agent")],
        &[("mount: task", "mount: none")],
        &[("max_turns: 10", "max_turns: 11")],
        &[("max_turns: 10, ", "")],
        &[("max_turns: 10, max_prompt_tokens: 1000", "max_turns: 1000, max_prompt_tokens: 10")],
        &[("max_prompt_tokens: 1000", "max_prompt_tokens: 1001")],
        &[("max_completion_tokens: 500", "max_completion_tokens: 501")],
        &[("max_age: 24h", "max_age: 25h")],
        &[("max_tool_calls: 5", "max_tool_calls: 6")],
        &[("default: T-1", "default: T-2")],
        &[("ticket: {type: string", "ticket: {type: number")],
        &[("ticket: {type: string, default: T-1}", "ticket: {type: string}")],
        // capability
        &[("include: [refund, total, paid]", "include: [refund, paid]")],
        &[("include: [refund, total, paid]", "include: [refund, total]")],
        &[("to: \"'customer'\"", "to: \"'other'\"")],
        &[("bindings: {to: \"'customer'\"}\n", "\n")],
        &[("event_timeout: 12h", "event_timeout: 11h")],
        // steps
        &[("context.user.id != ''", "context.user.id != 'x'")],
        &[("error_message: Nobody.", "error_message: None.")],
        &[("condition: input.amount > 10, ", "")],
        &[("condition: input.amount > 10,", "condition: input.amount > 11,")],
        &[("assert: input.amount < 100", "assert: input.amount < 101")],
        &[("{match: refund, condition", "{condition")],
        &[("error_message: Too much.", "error_message: Too much!")],
        &[(", error_message: Too much.", "")],
        &[("on_fail: continue", "on_fail: block")],
        &[("\"trail:append\"", "\"trail:keep\"")],
        &[("{what: \"'refund'\"}", "{what: \"'refunds'\"}")],
        &[("transform: \"{'paid': output.paid}\"", "transform: \"{'paid': true}\"")],
        &[
            ("    before_first:\n", "    before:\n"),
            ("error_message: Nobody.}\n    before:\n", "error_message: Nobody.}\n"),
        ],
        &[("{assert: size(input) > 0", "{assert: size(input) > 1")],
        &[("on_fail: lock_task", "on_fail: continue")],
        &[("refunds: context", "repaid: context")],
        &[("pay_refund.count_successful", "pay_total.count_successful")],
        // tool
        &[("minimum: 1", "minimum: 2")],
        &[("enum: [cash, voucher]", "enum: [cash]")],
        &[("default: cash", "default: voucher")],
        &[("properties: {id: {type: string}}", "properties: {id: {type: number}}")],
        &[(", required: [id]", "")],
        &[(", additionalProperties: false", "")],
        &[(", secret: true", "")],
        &[("{paid: {type: boolean}}", "{paid: {type: string}}")],
        &[("size(input.of)", "size(input.of) + 1")],
        &[("items: {type: number}", "items: {type: string}")],
        &[("{type: string, default: \"\"}", "{type: string, default: x}")],
        // event
        &[("Paid {event.amount}.", "Paid {event.amount}!")],
        &[("{amount: event.payload.sum}", "{amount: event.payload.sum * 2}")],
        &[("{sum: {type: number}}", "{sum: {type: integer}}")],
        &[("event.payload.sum > 0", "event.payload.sum > 1")],
        &[("{settings.hook.secret}", "{settings.hook.secret}x")],
        // mount
        &[("task: \"{namespace}/{task}/\"", "task: \"{namespace}/t/{task}/\"")],
        &[("bucket: docs", "bucket: papers")],
        &[("s3: {bucket", "gcs: {bucket")],
    ];
    let mut seen = BTreeMap::from([(original().to_string(), &[][..])]);
    let mut alike = Vec::new();
    for row in rows {
        if let Some(before) = seen.insert(edited(row).to_string(), row) {
            alike.push(format!("{row:?} is as {before:?}"));
        }
    }
    assert!(alike.is_empty(), "{}", alike.join("\n"));
}

#[test]
fn what_decides_nothing_makes_no_other_fingerprint() {
    let rows: &[&[(&str, &str)]] = &[
        &[("prompt: You", "# a comment\nprompt:   You")],
        &[("description: Answers.", "description: Answers customers.")],
        &[("description: Refunds.", "description: Pays back.")],
        &[("description: Money went out.", "description: Gone.")],
        &[(
            "{method: POST, url: \"https://pay.example.com\"}",
            "{method: PUT, url: \"https://x.example.com\"}",
        )],
        &[("model: small", "model: small\npriority: 3")],
        &[("assert: input.amount < 100", "assert: 'input.amount < 100'")],
        &[
            ("limits: {max_turns: 10, ", "limits: {max_tool_calls: 5, max_turns: 10, "),
            (", max_tool_calls: 5}", "}"),
        ],
        // a timeout of the tool that the agent's hides
        &[("timeout: 24h", "timeout: 23h")],
    ];
    for row in rows {
        assert_eq!(edited(row), original(), "{row:?}");
    }
    let (tool, agent, others) = (("t", TOOL), ("a", AGENT), ("o", OTHERS));
    let all = [TOOL, AGENT, OTHERS].join("---");
    assert_eq!(fingerprint_of(&[others, tool, agent]), original());
    assert_eq!(fingerprint_of(&[agent, others, tool]), original());
    assert_eq!(fingerprint_of(&[("all.yaml", &all)]), original());
    let other = TOOL.replace("name: pay", "name: spare");
    assert_eq!(fingerprint_of(&[("spare.yaml", &other), tool, agent, others]), original());
}

/// Whoever sees this fail has changed what is digested: the tasks that wait under any policy are refused then. If that is
/// meant, the encoding needs another version (`src/engine/policy/encoding.rs`).
#[test]
fn a_fingerprint_is_what_it_was() {
    assert_eq!(original().to_string(), "6dc3f252b76907444e506f56ef380f0170e09e3c0e460add62fa60b0938f9611");
}
