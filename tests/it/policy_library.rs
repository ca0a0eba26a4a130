//! Policy documents as a library: what the names of a policy stand for in its expressions.

use crate::shop_fixture::{NOW, begin, shop_agent, shop_tool};
use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::policy::Fingerprint;
use celador::source::Source;
use celador::{Call, CallResult, Outcome, Task};
use serde_json::{Value, json};
use std::fs;

const AGENT: &str = concat!(
    shop_tool!(
        "pay",
        "refund" takes "{amount: {type: number}, order: {type: string}}",
        "find" takes "{order: {type: string}}"
    ),
    shop_agent!("clerk", "pay: {include: [refund, find]}"),
);

fn engine(policies: &str) -> Engine {
    Engine::parse("shop.yaml", &format!("{AGENT}{policies}")).unwrap_or_else(|error| panic!("{error}"))
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
    (decision.verdict.kind().as_str().to_owned(), decision.verdict.message().unwrap_or_default().to_owned())
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

const LIBRARY: &str = r#"---
kind: celador/v1/policy
namespace: lib
name: amounts
labels: {area: money, owner: lib}
parameters:
  cap: {type: number}
  strict: {type: boolean, default: false}
capabilities:
  pay_refund:
    before:
    - {id: strict, condition: parameters.strict, assert: "false"}
    - {id: cap, severity: high, labels: {area: caps}, assert: parameters.cap == 0 || input.amount <= parameters.cap}
---
kind: celador/v1/policy
namespace: shop
name: house
labels: {owner: risk, site: all}
uses: [{policy: lib/amounts, with: {cap: 50}}]
"#;

#[test]
fn a_step_goes_by_the_name_of_the_policy_that_uses_its_own() {
    let mut task = begin(&engine(LIBRARY));
    let call = Call::new("pay_refund", json!({"amount": 60, "order": "O-1"}).into());
    let decision = task.before(&call, NOW).unwrap().outcome().into_decision();
    let origin = decision.decided_by.clone().unwrap();
    assert_eq!(origin.path, "capabilities.pay_refund.before[1].assert");
    let step = origin.policy.unwrap();
    assert_eq!(step.to_string(), "shop/house > lib/amounts#cap");
    assert_eq!(json!(step.uses), json!(["lib/amounts"]));
    assert_eq!(json!(step.labels), json!({"area": ["caps"], "owner": ["lib"], "site": ["all"]}));
    let text = serde_json::to_string(&decision).unwrap();
    assert_eq!(serde_json::from_str::<celador::Decision>(&text).unwrap(), decision);
    // a decision of a release before has no such field
    let old = r#"{"name": "shop/house", "id": "cap"}"#;
    let old: celador::manifest::policy_step::PolicyStep = serde_json::from_str(old).unwrap();
    assert_eq!(old.to_string(), "shop/house#cap");
}

/// Values decide conditions, and nobody is warned of that; what is the same whatever the value is told.
#[test]
fn a_value_may_decide_a_condition() {
    for value in ["cap: 50", "cap: 0", "cap: 50, strict: true"] {
        let warnings = engine(&LIBRARY.replace("cap: 50", value)).warnings().to_vec();
        assert_eq!(warnings.len(), 0, "{warnings:?}");
    }
    let constant = LIBRARY
        .replace("condition: parameters.strict", "condition: \"input.order == 3 || parameters.strict\"");
    let error = Engine::parse("shop.yaml", &format!("{AGENT}{constant}")).err().unwrap().to_string();
    assert!(error.contains("never_equal"), "{error}");
}

#[test]
fn values_and_uses_are_part_of_the_fingerprint() {
    let first = fingerprint(LIBRARY);
    for (from, to) in [
        ("with: {cap: 50}", "with: {cap: 51}"),
        ("with: {cap: 50}", "with: {cap: 50, strict: true}"),
        ("default: false", "default: true"),
        ("uses: [", "uses: [{policy: lib/amounts, as: more, with: {cap: 50}}, "),
    ] {
        assert!(LIBRARY.contains(from), "{from}");
        assert_ne!(fingerprint(&LIBRARY.replace(from, to)), first, "{from} to {to}");
    }
    // what people call it decides nothing
    for (from, to) in [
        ("lib/amounts, with", "lib/amounts, as: caps, with"),
        ("name: amounts", "name: amounts\nversion: 1.0.0"),
    ] {
        assert_eq!(fingerprint(&LIBRARY.replace(from, to)), first, "{from} to {to}");
    }
}

/// Uses that cannot be made keep the agents of the policy from running, at the lenient door too.
#[test]
fn no_agent_runs_without_a_policy_that_its_own_uses() {
    let runs = |policies: &str, limits: EngineLimits| {
        let text = format!("{AGENT}{policies}");
        let file = File { source: Source::new("shop.yaml", text.as_str()), origin: FileOrigin::Named };
        let (catalog, _) = Catalog::parse(&[file], &limits);
        Engine::lenient_from_catalog(&catalog, limits).0.policy("shop", "clerk").is_ok()
    };
    let limits = EngineLimits::default();
    assert!(runs(LIBRARY, limits));
    for (from, to) in [
        ("lib/amounts,", "lib/amuonts,"),
        ("with: {cap: 50}", "with: {cap: ten}"),
        ("with: {cap: 50}", "with: {cpa: 50, cap: 50}"),
        ("with: {cap: 50}", "with: {cap: parameters.cap}"),
        ("with: {cap: 50}", "version: \"^1\", with: {cap: 50}"),
        ("name: amounts\n", "name: amounts\nuses: [{policy: lib/amounts}]\n"),
        ("{type: number}", "{type: nmber}"),
        ("<= parameters.cap", "<= parameters.cpa"),
    ] {
        assert!(LIBRARY.contains(from), "{from}");
        assert!(!runs(&LIBRARY.replacen(from, to, 1), limits), "{from} to {to}");
    }
    assert!(!runs(LIBRARY, EngineLimits { max_rule_matches: 2, ..limits }));
    let mut shallow = limits;
    shallow.eval.max_depth = 1;
    assert!(!runs(LIBRARY, shallow));
}

#[test]
fn the_page_about_policies_is_true_of_uses() {
    let manifests = format!("{}---\n{}", agent_of_the_page(), example("Parameters and uses"));
    let engine = Engine::parse("shop.yaml", &manifests).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(engine.warnings().len(), 0, "{:?}", engine.warnings());
    let mut task = begin(&engine);
    assert_eq!(verdict(&mut task, "payments_refund", json!({"amount": 800})).0, "allow");
    let mut blocked = |amount: u64| {
        let call = Call::new("payments_refund", json!({"amount": amount}).into());
        let decision = task.before(&call, NOW).unwrap().outcome().into_decision();
        decision.decided_by.and_then(|origin| origin.policy).unwrap().to_string()
    };
    assert_eq!(blocked(1001), "acme/house > lib/amounts#cap");
    assert_eq!(blocked(1000), "acme/house > lib/desk > lib/amounts#cap");
}

/// A text that computes with a secret shows none in views, and its reader gets it.
#[test]
fn an_expression_of_a_secret_is_masked_in_views() {
    let secret = AGENT.replace("order: {type: string}}}", "order: {type: string, secret: true}}}");
    let policy = "---
kind: celador/v1/policy
namespace: shop
name: money
variables: {tail: input.order + '!'}
capabilities:
  pay_refund: {before: [{assert: input.amount < 3, error_message: \"{input.amount + 1} of {variables.tail}\"}]}
";
    let engine = Engine::parse("shop.yaml", &format!("{secret}{policy}")).unwrap();
    let call = Call::new("pay_refund", json!({"amount": 5, "order": "O-1"}).into());
    let decision = begin(&engine).before(&call, NOW).unwrap().outcome().into_decision();
    assert_eq!(decision.verdict.message(), Some("6 of O-1!"));
    let masked = decision.masked();
    assert_eq!(masked.verdict.message(), Some("6 of ***"));
    assert_eq!(masked.trace[0].message.as_deref(), Some("6 of ***"));
}

/// Texts are no way around the bound of an evaluation: all expressions of one together keep to it.
#[test]
fn the_expressions_of_a_text_share_one_budget() {
    let loops = "{input.order.split('').map(a, input.order.split('').map(b, a + b)).size()}".repeat(4);
    let policy = format!(
        "---\nkind: celador/v1/policy\nnamespace: shop\nname: money\ncapabilities:\n  pay_refund: {{before: [{{assert: input.amount < 3, error_message: \"{loops}\"}}]}}\n"
    );
    let text = format!("{AGENT}{policy}");
    let said = |max_cost: u64| {
        let file = File { source: Source::new("shop.yaml", text.as_str()), origin: FileOrigin::Named };
        let mut limits = EngineLimits::default();
        limits.eval.max_cost = max_cost;
        let (catalog, _) = Catalog::parse(&[file], &limits);
        let engine = Engine::from_catalog(&catalog, limits).0;
        let order = "x".repeat(100);
        verdict(&mut begin(&engine), "pay_refund", json!({"amount": 5, "order": order}))
    };
    assert_eq!(said(10_000_000), ("block".to_owned(), "100".repeat(4)));
    // the least bound, to a half, that one of them keeps to: it is spent after two
    let bounds = std::iter::successors(Some(10_000_u64), |bound| Some(bound * 3 / 2));
    let first = bounds.map(said).find(|(_, text)| text.starts_with("100")).unwrap();
    assert_eq!(first, ("block".to_owned(), "100100(budget_exceeded)(budget_exceeded)".to_owned()));
}

#[test]
fn the_page_about_policies_is_true_of_texts() {
    let manifests = format!("{}---\n{}", agent_of_the_page(), example("Texts"));
    let engine = Engine::parse("shop.yaml", &manifests).unwrap_or_else(|error| panic!("{error}"));
    let told = |amount: u32| verdict(&mut begin(&engine), "payments_refund", json!({"amount": amount})).1;
    assert_eq!(told(1200), "1200 is 200 over the cap.");
    assert_eq!(told(6000), "6000 is 5000 over the cap, by far.");
}

/// What the user is told is masked in views like what the model is told, and decisions of a release before have none.
#[test]
fn the_text_for_the_user_is_masked_in_views() {
    let secret = AGENT.replace("order: {type: string}}}", "order: {type: string, secret: true}}}");
    let policy = "---
kind: celador/v1/policy
namespace: shop
name: money
capabilities:
  pay_refund: {before: [{assert: input.amount < 3, on_fail: lock_task, user_message: \"{input.order} of {input.amount}\"}]}
";
    let engine = Engine::parse("shop.yaml", &format!("{secret}{policy}")).unwrap();
    let call = Call::new("pay_refund", json!({"amount": 5, "order": "O-1"}).into());
    let decision = begin(&engine).before(&call, NOW).unwrap().outcome().into_decision();
    assert_eq!(decision.verdict.kind().as_str(), "lock_task");
    assert_eq!(decision.verdict.user_message(), Some("O-1 of 5"));
    let text = serde_json::to_string(&decision).unwrap();
    assert_eq!(serde_json::from_str::<celador::Decision>(&text).unwrap(), decision);
    assert!(celador::Decision::masked_json(text).unwrap().contains("*** of 5"));
    assert_eq!(decision.masked().verdict.user_message(), Some("*** of 5"));
}
