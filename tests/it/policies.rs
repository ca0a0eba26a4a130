//! Policy documents beside manifests: what tells two sets of rules apart, what is refused at the strict door, how decisions,
//! reviews and findings name a step, and the page about them.

use crate::shop_fixture::{NOW, begin, shop_agent, shop_tool};
use celador::limits::EngineLimits;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::manifest::policy_step::Severity;
use celador::policy::Fingerprint;
use celador::source::Source;
use celador::{BroughtTool, Call, CallResult, Engine, Outcome, StartTask, Task, User};
use serde_json::{Value, json};
use std::fs;

const AGENT: &str = concat!(
    shop_tool!("pay", "refund" takes "{amount: {type: number}}", "find" takes "{order: {type: string}}"),
    shop_agent!("clerk", "pay: {include: [refund, find]}"),
);

const POLICY: &str = r#"---
kind: celador/v1/policy
namespace: shop
name: money
labels: {owner: risk, area: [pay, law]}
capabilities:
  pay_refund:
    before:
    - {id: cap, severity: high, labels: {area: pay}, condition: input.amount > 1, assert: input.amount <= 100, error_message: Too much.}
    after:
    - {assert: output != null}
guardrails:
  before:
  - {on_fail: block, assert: "size(input.message) < 9"}
"#;

fn engine(text: &str) -> Engine {
    Engine::parse("shop.yaml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn fingerprint(policies: &str) -> Fingerprint {
    engine(&format!("{AGENT}{policies}")).policy("shop", "clerk").unwrap().fingerprint()
}

fn call(function: &str, arguments: Value) -> Call {
    Call::new(function, arguments.into())
}

#[test]
fn whatever_decides_of_a_policy_makes_another_fingerprint() {
    let others = [
        ("pay_refund:", "pay_find:"),
        ("pay_refund:", "pay:"),
        ("condition: input.amount > 1, ", ""),
        ("assert: input.amount <= 100, error", "set: {amount: '5'}, error"),
        ("assert: input.amount <= 100, error", "set: {amount: '6'}, error"),
        ("assert: input.amount <= 100, error", "respond: '6', error"),
        ("assert: input.amount <= 100, error", "delay: 6s, error"),
        ("assert: input.amount <= 100, error", "delay: 7s, error"),
        ("assert: input.amount <= 100, error", "obligations: [{id: a}], error"),
        ("assert: input.amount <= 100, error", "obligations: [{id: b}], error"),
        ("assert: input.amount <= 100, error", "credential: {audience: '\"a\"'}, error"),
        ("assert: input.amount <= 100, error", "credential: {audience: '\"b\"'}, error"),
        ("<= 100", "<= 101"),
        ("severity: high, ", "severity: high, mode: observe, "),
        ("Too much.", "No."),
        ("    after:\n    - {assert: output != null}\n", ""),
        ("output != null", "output == null"),
        ("on_fail: block, ", ""),
        ("size(input.message) < 9", "size(input.message) < 8"),
        ("guardrails:\n  before:", "guardrails:\n  after:"),
        ("name: money\n", "name: money\nlimits: {max_turns: 3}\n"),
        ("name: money\n", "name: money\ndefault: deny\n"),
        ("name: money\n", "name: money\nlimits: {max_turns_per_message: 3}\n"),
        ("name: money\n", "name: money\nlimits: {max_tool_calls_per_message: 3}\n"),
        ("name: money\n", "name: money\nlimits: {max_tool_calls_per_turn: 3}\n"),
        ("name: money\n", "name: money\nlimits: {max_spend: 3}\n"),
        ("name: money\n", "name: money\nlimits: {max_spend: 3.5}\n"),
        ("name: money\n", "name: money\nlimits: {max_spend_per_message: 3}\n"),
        ("name: money\n", "name: money\nclaims: {properties: {tier: {type: string}}}\n"),
        ("name: money\n", "name: money\nclaims: {properties: {tier: {enum: [a]}}}\n"),
    ];
    let mut known = vec![fingerprint(""), fingerprint(POLICY)];
    for (from, to) in others {
        assert!(POLICY.contains(from), "{from}");
        let edited = POLICY.replace(from, to);
        let text = if to.contains("after:") { edited.replace("size(input", "size(output") } else { edited };
        let text = if to == "pay_find:" { text.replace("input.amount", "size(input.order)") } else { text };
        let found = fingerprint(&text);
        assert!(!known.contains(&found), "{from} to {to}");
        known.push(found);
    }
}

/// A denial by default is a step of its policy: decisions name it, for the agents that the policy is for.
#[test]
fn a_denial_by_default_names_its_policy_and_keeps_to_its_agents() {
    let other = AGENT.replace("namespace: shop", "namespace: store");
    let policy = POLICY.replace("name: money\n", "name: money\ndefault: deny\n");
    let engine = engine(&format!("{AGENT}---\n{other}{policy}"));
    for (namespace, verdict) in [("shop", "block"), ("store", "allow")] {
        let start = StartTask::new("t-1", namespace, "clerk", User::default(), NOW);
        let mut task = engine.start(start).unwrap();
        let called = call("pay_find", json!({"order": "o-1"}));
        let decision = task.before(&called, NOW).unwrap().outcome().into_decision();
        assert_eq!(decision.verdict.kind().to_string(), verdict, "{namespace}");
        let decided_by = decision.decided_by.map(|origin| (origin.path.clone(), origin.name()));
        let denied = ("default".to_owned(), "shop/money#default".to_owned());
        assert_eq!(decided_by, (verdict == "block").then_some(denied));
    }
}

#[test]
fn stating_the_default_changes_nothing() {
    let stated = POLICY.replace("name: money\n", "name: money\ndefault: allow\n");
    assert_eq!(fingerprint(&stated), fingerprint(POLICY));
}

const COUNTED: &str = "---
kind: celador/v1/policy
namespace: shop
name: money
counters:
  spend: {on: pay_refund, key: context.user.id, window: 24h, add: input.amount}
capabilities:
  pay_refund:
    before:
    - {assert: counters.spend <= 100.0}
";

#[test]
fn whatever_counts_makes_another_fingerprint() {
    let others = [
        ("window: 24h", "window: day"),
        ("window: 24h", "window: 25h"),
        ("key: context.user.id, ", ""),
        ("context.user.id", "context.user.id + 'x'"),
        (", add: input.amount", ""),
        ("add: input.amount", "add: input.amount * 2.0"),
        (
            "on: pay_refund, key: context.user.id, window: 24h, add: input.amount",
            "on: pay, key: context.user.id, window: 24h",
        ),
        // in a store a counter goes by the names of its policy and its own
        ("spend", "spent"),
        ("name: money", "name: cash"),
        ("name: money\n", "name: money\nmode: observe\n"),
    ];
    let mut known = vec![fingerprint(""), fingerprint(COUNTED)];
    for (from, to) in others {
        assert!(COUNTED.contains(from), "{from}");
        let found = fingerprint(&COUNTED.replace(from, to));
        assert!(!known.contains(&found), "{from} to {to}");
        known.push(found);
    }
    let described = COUNTED.replace("name: money\n", "name: money\ndescription: About money.\n");
    assert_eq!(fingerprint(&described), fingerprint(COUNTED));
}

#[test]
fn what_people_call_a_policy_decides_nothing() {
    let alike = [
        ("name: money", "name: cash"),
        ("id: cap, ", ""),
        ("severity: high, ", ""),
        ("severity: high, ", "severity: high, mode: enforce, "),
        ("labels: {owner: risk, area: [pay, law]}\n", ""),
        ("name: money\n", "name: money\ndescription: About money.\n"),
        ("name: money\n", "name: money\napplies_to: {agents: [\"*\"]}\n"),
    ];
    for (from, to) in alike {
        assert!(POLICY.contains(from), "{from}");
        assert_eq!(fingerprint(&POLICY.replacen(from, to, 1)), fingerprint(POLICY), "{from} to {to}");
    }
    // a policy that has no step for the agent changes nothing of it
    let elsewhere = "---
kind: commonagents.info/v1beta2/agent
namespace: desk
name: aide
description: Helps.
prompt: You help.
---
kind: celador/v1/policy
namespace: shop
name: other
applies_to: {agents: [\"desk/*\", \"shop/*\"]}
capabilities:
  \"tag:read-only\": {before: [{assert: \"false\"}]}
---
kind: celador/v1/policy
namespace: desk
name: small
guardrails: {before: [{assert: \"size(input.message) < 3\"}]}
";
    assert_eq!(fingerprint(elsewhere), fingerprint(""));
}

#[test]
fn a_decision_names_the_step_its_severity_and_labels() {
    let mut task = begin(&engine(&format!("{AGENT}{POLICY}")));
    let refused = task.before(&call("pay_refund", json!({"amount": 500})), NOW).unwrap().outcome();
    let decision = refused.into_decision();
    let origin = decision.decided_by.clone().unwrap();
    assert_eq!(
        (origin.file.as_str(), origin.path.as_str()),
        ("shop.yaml", "capabilities.pay_refund.before[0].assert")
    );
    let step = origin.policy.unwrap();
    assert_eq!((step.to_string().as_str(), step.severity), ("shop/money#cap", Some(Severity::High)));
    // a label of the step takes the place of the policy's
    assert_eq!(json!(step.labels), json!({"area": ["pay"], "owner": ["risk"]}));
    assert_eq!(decision.trace[0].policy.as_ref(), Some(&step));
    assert_eq!(decision.trace[0].called(), "before[0] of shop/money#cap");
    // on a wire and back
    let text = serde_json::to_string(&decision).unwrap();
    assert_eq!(serde_json::from_str::<celador::Decision>(&text).unwrap(), decision);
    // a finding names it too: the amount is no number that can be compared
    let odd = POLICY.replace("input.amount <= 100", "100 / (input.amount - input.amount) > 1");
    let mut task = begin(&engine(&format!("{AGENT}{odd}")));
    let blocked =
        task.before(&call("pay_refund", json!({"amount": 500})), NOW).unwrap().outcome().into_decision();
    let named = blocked.findings[0].origin.as_ref().and_then(|origin| origin.policy.as_ref()).unwrap();
    assert_eq!(named.id.as_deref(), Some("cap"));
}

#[test]
fn a_review_names_the_step_and_is_bound_to_it() {
    let asking = POLICY.replace("input.amount <= 100", "review('lead')");
    let digest = |text: &str| {
        let mut task = begin(&engine(&format!("{AGENT}{text}")));
        let Outcome::Waits(_) =
            task.before(&call("pay_refund", json!({"amount": 5})), NOW).unwrap().outcome()
        else {
            panic!("a review is asked")
        };
        let review = task.reviews().next().unwrap();
        let rule = review.rule.unwrap();
        assert_eq!(rule.origin.policy.unwrap().id.as_deref(), Some("cap"));
        assert_eq!(review.step.unwrap().to_string(), "before[0]");
        review.digest
    };
    let first = digest(&asking);
    assert_eq!(digest(&asking.replace("severity: high", "severity: low")), first);
    assert_eq!(digest(&asking.replace("size(input.message) < 9", "size(input.message) < 8")), first);
    assert_ne!(digest(&asking.replace("input.amount > 1,", "input.amount > 2,")), first);
    assert_ne!(digest(&asking.replace("output != null", "output == null")), first);
}

#[test]
fn a_call_waits_for_what_a_policy_reads() {
    let once = "---
kind: celador/v1/policy
namespace: shop
name: once
capabilities:
  pay_refund:
    before: [{assert: c.cap.pay_find.count_successful == 0}]
";
    let mut task = begin(&engine(&format!("{AGENT}{once}")));
    let find = call("pay_find", json!({"order": "o-1"}));
    let Outcome::Allowed(find) = task.before(&find, NOW).unwrap().outcome() else {
        panic!("nothing forbids it")
    };
    let refund = call("pay_refund", json!({"amount": 5}));
    let Outcome::Queued(queued) = task.before(&refund, NOW).unwrap().outcome() else {
        panic!("it reads the other")
    };
    assert_eq!(queued.waits_for, std::slice::from_ref(&find.call));
    let told = task.after(&find.call, CallResult::successful(json!({}).into()), NOW).unwrap().outcome();
    assert_eq!(told.into_decision().decided[0].decision.verdict.kind().as_str(), "block");
}

#[test]
fn no_agent_is_opened_whose_policy_may_be_lost() {
    let refused = |policy: &str| {
        let error = Engine::parse("shop.yaml", &format!("{AGENT}{policy}")).err();
        error.map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(refused(POLICY), "");
    let rows = [
        (POLICY.replace("input.amount <= 100", "input.amuont <= 100"), "unknown_field"),
        (POLICY.replace("namespace: shop", "namespace: sohp"), "no_agent_in_scope"),
        (POLICY.replace("pay_refund", "pay_refnd"), "unmatched_key"),
        (POLICY.replace("celador/v1/policy", "celador/v1/polcy"), "unknown_kind"),
    ];
    for (policy, code) in rows {
        let error = refused(&policy);
        assert!(error.contains(code), "{code}: {error}");
    }
    // the lenient door, too, lets no agent run under a policy with an error; what is only a warning it takes
    let lenient = |text: &str| {
        let file = File { source: Source::new("shop.yaml", text), origin: FileOrigin::Named };
        let (catalog, _) = Catalog::parse(&[file], &EngineLimits::default());
        let (engine, _) = Engine::lenient_from_catalog(&catalog, EngineLimits::default());
        engine.policy("shop", "clerk").is_ok()
    };
    assert!(lenient(&format!("{AGENT}{}", POLICY.replace("input.amount <= 100", "input.amuont <= 100"))));
    assert!(!lenient(&format!("{AGENT}{}", POLICY.replace("pay_refund", "pay_refnd"))));
    assert!(!lenient(&format!("{AGENT}{}", POLICY.replace("<= 100", "<= nothing"))));
    assert!(!lenient(&format!("{AGENT}{POLICY}{POLICY}")));
    // what cannot say for whom it is may be for anybody
    let of_others = POLICY.replace("namespace: shop", "namespace: bank\napplies_to: {agents: 3}");
    assert!(!lenient(&format!("{AGENT}{of_others}")));
}

#[test]
fn a_key_that_a_task_may_serve_is_told_where_it_does_not() {
    let text = "
kind: celador/v1/tools
namespace: shop
name: bench
brought: [\"mcp__*\"]
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Answers.
prompt: You are careful.
capabilities:
  bench: {event_timeout: 1h}
---
kind: celador/v1/policy
namespace: shop
name: mail
capabilities:
  \"mcp__mail_*\": {before: [{assert: input.to.endsWith('@example.com')}]}
";
    let engine = engine(text);
    assert_eq!(engine.warnings().len(), 0, "{:?}", engine.warnings());
    let begin = |name: &str| {
        let tool = json!([{"name": name, "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}}}]);
        let tools: Vec<BroughtTool> = serde_json::from_value(tool).unwrap();
        engine
            .start(StartTask { tools, ..StartTask::new("t-1", "shop", "clerk", User::default(), NOW) })
            .unwrap()
    };
    let codes = |task: &Task| task.tool_findings().iter().map(|finding| finding.code).collect::<Vec<_>>();
    let mut task = begin("mcp__mail_send");
    assert_eq!(codes(&task), [""; 0]);
    let sent = task.before(&call("mcp__mail_send", json!({"to": "a@evil.example"})), NOW).unwrap();
    assert!(!sent.outcome().is_allowed());
    let mut task = begin("mcp__search");
    assert_eq!(codes(&task), ["nothing_brought"]);
    assert!(task.before(&call("mcp__search", json!({"to": "x"})), NOW).unwrap().outcome().is_allowed());
}

/// The page about policies: its manifests load without a word, and decide as it says.
#[test]
fn the_page_about_policies_is_true() {
    let page = fs::read_to_string("docs/policies.md").unwrap();
    let manifests = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let engine = engine(manifests);
    // the agents of support are loaded elsewhere
    let codes: Vec<_> = engine.warnings().iter().map(|warning| warning.code).collect();
    assert_eq!(codes, ["unmatched_agents"]);
    // each of the others loads beside them
    let others = page.split("```yaml\n").skip(2).filter_map(|rest| rest.split("```").next());
    for other in others.filter(|other| other.starts_with("kind: celador/v1/policy")) {
        let codes: Vec<_> = self::engine(&format!("{manifests}---\n{other}"))
            .warnings()
            .iter()
            .map(|warning| warning.code)
            .collect();
        assert_eq!(codes, ["unmatched_agents"], "{other}");
    }
    let user = User { id: "u-1".into(), email: None, ..User::default() };
    let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, NOW)).unwrap();
    let mut verdict = |function: &str, arguments: Value| {
        let decision = task.before(&call(function, arguments), NOW).unwrap().outcome().into_decision();
        let steps: Vec<_> = decision.trace.iter().map(|entry| entry.called()).collect();
        (
            decision.verdict.kind().as_str(),
            decision.verdict.message().unwrap_or_default().to_owned(),
            steps.join(", "),
        )
    };
    let (found, message, steps) = verdict("payments_refund", json!({"amount": 5000}));
    assert_eq!((found, &*message), ("block", "5000 is more than 1000."));
    assert_eq!(steps, "before[0] of acme/payments#known-user, before[0] of acme/payments#cap");
    let (found, _, steps) = verdict("payments_refund", json!({"amount": 20}));
    assert_eq!(found, "allow");
    assert_eq!(steps, "before[0] of acme/payments#known-user, before[0] of acme/payments#cap, before[0]");
    assert_eq!(verdict("payments_find", json!({"order": "o-1"})).0, "allow");
    assert_eq!(verdict("payments_refund", json!({"amount": 600})).0, "suspend");

    // the policy with counters beside the agent and the tool of the first one
    let mut blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let counters = blocks.find(|block| block.contains("\ncounters:\n")).unwrap();
    let beside = manifests.split("---\n").skip(1).collect::<Vec<_>>().join("---\n");
    let shop = Engine::parse("shop.yaml", &format!("{beside}---\n{counters}")).unwrap();
    assert!(shop.warnings().is_empty(), "{:?}", shop.warnings());
    let policy = shop.policy("shop", "clerk").unwrap();
    let names: Vec<_> = policy.counters().iter().map(|counter| &*counter.name).collect();
    assert_eq!(names, ["spend", "calls"]);
}

#[test]
fn a_step_that_asks_for_another_function_costs_a_call_nothing() {
    let once = "---
kind: celador/v1/policy
namespace: shop
name: once
capabilities:
  \"*\":
    before: [{condition: call.fn == 'pay_refund', assert: c.cap.pay_find.count_successful == 0}]
";
    let mut task = begin(&engine(&format!("{AGENT}{once}")));
    let find = || call("pay_find", json!({"order": "o-1"}));
    let Outcome::Allowed(first) = task.before(&find(), NOW).unwrap().outcome() else { panic!("it may") };
    assert_eq!((first.decision.cost, first.decision.trace.len()), (0, 0));
    // it reads no record, so it waits for no call that is open; the refund does
    assert!(task.before(&find(), NOW).unwrap().outcome().is_allowed());
    let refund = call("pay_refund", json!({"amount": 1}));
    assert!(matches!(task.before(&refund, NOW).unwrap().outcome(), Outcome::Queued(_)));
}

#[test]
fn the_tags_of_a_call_decide_where_a_step_may_ask_for_them() {
    let tools = |tags: &str| {
        format!(
            "---
kind: celador/v1/tools
namespace: shop
name: files
tools:
- {{name: read, tags: [{tags}], inputSchema: {{type: object}}}}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: reader
description: Reads.
prompt: You read.
capabilities: {{files: {{include: [read]}}}}
"
        )
    };
    let policy = |assert: &str| {
        format!(
            "---
kind: celador/v1/policy
namespace: shop
name: tags
capabilities: {{\"files\": {{before: [{{assert: {assert}}}]}}}}
"
        )
    };
    let of = |tags: &str, assert: &str| {
        let engine = engine(&format!("{}{}", tools(tags), policy(assert)));
        engine.policy("shop", "reader").unwrap().fingerprint()
    };
    let asks = "size(call.tags) > 1";
    assert_ne!(of("a, b", asks), of("a, c", asks));
    assert_eq!(of("a, b", asks), of("b, a", asks));
    assert_eq!(of("a, b", "input != null"), of("a, c", "input != null"));
}
