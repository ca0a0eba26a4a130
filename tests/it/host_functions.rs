//! Functions of a host in expressions of policies: registered, absent, registered otherwise, failing, and paid for.

use celador::cel::{CallCost, HostError, HostFunctionSet, HostRefusal, Signature, Type, Value};
use celador::limits::EvalLimits;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::{Call, Decision, Engine, EngineLimits, OpenError, StartTask, User, VerdictKind};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

const SHOP: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: shop
name: refund
description: Pays money back.
actions:
  - name: pay
    description: Pays.
    parameters: {properties: {amount: {type: number}}}
    execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Answers customers.
prompt: You are a careful clerk.
capabilities: {refund: "*"}
---
kind: celador/v1/policy
namespace: shop
name: risk
functions:
  risk.score: {parameters: [amount: double], result: double, cost: {call: 50, size: 2}}
capabilities:
  refund:
    before:
      - id: low
        assert: risk.score(input.amount) < 5.0
        error_message: That is too risky.
"#;

const COST: CallCost = CallCost { call: 50, size: 2 };

fn open(functions: HostFunctionSet, limits: EngineLimits) -> Result<Engine, Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.yaml");
    std::fs::write(&path, SHOP).unwrap();
    Engine::open_with(&[path], limits, functions).map_err(|error| match error {
        OpenError::Refused(findings) => {
            findings.iter().map(|finding| format!("{}: {}", finding.code, finding.message)).collect()
        }
        error => panic!("{error}"),
    })
}

fn score(signature: Signature, gives: fn(f64) -> Value<'static>) -> HostFunctionSet {
    let mut functions = HostFunctionSet::default();
    functions.register(signature, move |arguments| match arguments {
        [Value::Double(amount)] => Ok(gives(*amount)),
        _ => Err("it takes one number".into()),
    });
    functions
}

fn declared() -> Signature {
    Signature::new("risk.score", [Type::Double], Type::Double).costing(COST)
}

fn decide(engine: &Engine, amount: serde_json::Value) -> Decision {
    let now = SystemTime::UNIX_EPOCH;
    let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now)).unwrap();
    let call = Call::new("refund", json!({ "amount": amount }).into());
    task.before(&call, now).unwrap().outcome().into_decision()
}

#[test]
fn a_policy_loads_only_where_its_functions_are() {
    let found = |functions| open(functions, EngineLimits::default()).map(|_| ()).unwrap_err();
    assert_eq!(
        found(HostFunctionSet::default()),
        ["unregistered_function: this host has registered no function `risk.score`"]
    );
    let other = |signature: Signature| found(score(signature, Value::Double));
    let otherwise = |signature: &str| {
        vec![format!(
            "other_signature: the host has registered `{signature} for each unit of size`, \
             and the policy declares `risk.score(double) -> double at 50 + 2 for each unit of size`"
        )]
    };
    let text = Signature::new("risk.score", [Type::String], Type::Double).costing(COST);
    assert_eq!(other(text), otherwise("risk.score(string) -> double at 50 + 2"));
    let truth = Signature::new("risk.score", [Type::Double], Type::Bool).costing(COST);
    assert_eq!(other(truth), otherwise("risk.score(double) -> bool at 50 + 2"));
    let cheap = Signature::new("risk.score", [Type::Double], Type::Double);
    assert_eq!(other(cheap), otherwise("risk.score(double) -> double at 1 + 0"));
    assert!(open(score(declared(), Value::Double), EngineLimits::default()).is_ok());
    // one that is registered without a signature takes the declared one
    let mut untyped = HostFunctionSet::default();
    untyped.register_json("risk.score", EvalLimits::default(), |_| Ok(json!(1).into()));
    assert!(open(untyped, EngineLimits::default()).is_ok());
    // the constructors of an engine without functions refuse the policy as well
    assert!(Engine::parse("shop.yaml", SHOP).is_err());
}

#[test]
fn what_the_function_gives_decides() {
    let engine = open(score(declared(), |amount| Value::Double(amount / 100.0)), EngineLimits::default());
    let engine = engine.unwrap();
    assert_eq!(decide(&engine, json!(200)).verdict.kind(), VerdictKind::Allow);
    assert_eq!(decide(&engine, json!(499.5)).verdict.kind(), VerdictKind::Allow);
    let blocked = decide(&engine, json!(900));
    assert_eq!(
        (blocked.verdict.kind(), blocked.verdict.message()),
        (VerdictKind::Block, Some("That is too risky."))
    );
    assert!(blocked.findings.is_empty());
}

#[test]
fn an_error_a_panic_and_another_type_fail_the_step_and_show_nothing() {
    let failing: [fn(f64) -> Value<'static>; 3] = [
        |_| panic!("amount 4711"),
        |_| Value::owned_text("4711"),
        |amount| if amount > 0.0 { Value::Null } else { Value::Double(1.0) },
    ];
    for gives in failing {
        let engine = open(score(declared(), gives), EngineLimits::default()).unwrap();
        let decision = decide(&engine, json!(4711));
        assert_eq!(decision.verdict.kind(), VerdictKind::Block);
        assert_eq!(decision.findings.len(), 1);
        assert_eq!(decision.findings[0].code, "host_failed");
        assert!(!format!("{:?}", decision.findings).contains("4711"));
    }
}

#[test]
fn a_finding_says_how_a_function_has_failed() {
    let said = |functions| {
        let decision = decide(&open(functions, EngineLimits::default()).unwrap(), json!(4711));
        assert_eq!(
            (decision.verdict.kind(), &*decision.findings[0].code),
            (VerdictKind::Block, "host_failed")
        );
        decision.findings[0]
            .message
            .strip_prefix("the host could not answer for `risk.score`: ")
            .unwrap()
            .to_owned()
    };
    assert_eq!(said(score(declared(), |_| panic!("4711"))), "its function has panicked");
    assert_eq!(said(score(declared(), |_| Value::Null)), "its value is not of the declared type");
    let failing = |error: fn() -> HostError| {
        let mut functions = HostFunctionSet::default();
        functions.register(declared(), move |_| Err(error()));
        functions
    };
    assert_eq!(said(failing(|| "amount 4711".into())), "its function has failed");
    // words of the program are told as they are
    assert_eq!(said(failing(|| HostRefusal("the directory is away").into())), "the directory is away");
}

#[test]
fn a_call_costs_what_is_declared_and_is_not_made_beyond_the_budget() {
    let cheap = open(score(declared(), Value::Double), EngineLimits::default()).unwrap();
    let cost = decide(&cheap, json!(1)).cost;
    assert!(cost >= 50, "{cost}");
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let mut functions = HostFunctionSet::default();
    functions.register(declared(), move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(Value::Double(1.0))
    });
    let mut limits = EngineLimits::default();
    limits.eval.max_cost = 49;
    let decision = decide(&open(functions, limits).unwrap(), json!(1));
    assert_eq!(
        (decision.verdict.kind(), &*decision.findings[0].code),
        (VerdictKind::Block, "budget_exceeded")
    );
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

#[test]
fn a_task_that_is_restored_asks_the_functions_of_its_engine() {
    let engine = open(score(declared(), |amount| Value::Double(amount / 100.0)), EngineLimits::default());
    let engine = engine.unwrap();
    let now = SystemTime::UNIX_EPOCH;
    let task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now)).unwrap();
    let mut task = engine.restore(task.save()).unwrap();
    let call = Call::new("refund", json!({ "amount": 900 }).into());
    let decision = task.before(&call, now).unwrap().outcome().into_decision();
    assert_eq!((decision.verdict.kind(), decision.findings.len()), (VerdictKind::Block, 0));
}

/// A signature of `risk.score` as policies write it, and as a host registers it.
fn signatures() -> impl Strategy<Value = (String, Signature)> {
    let leaf = prop::sample::select(vec!["dyn", "bool", "int", "double", "string"]);
    let ty = leaf.prop_flat_map(|leaf| {
        let nested = [leaf.to_owned(), format!("list({leaf})"), format!("map(string, {leaf})")];
        prop::sample::select(nested.to_vec())
    });
    let parameters = prop::collection::vec(ty.clone(), 1..3);
    (parameters, ty, 0..3_u64, 0..3_u64).prop_map(|(parameters, result, call, size)| {
        let named: Vec<String> =
            parameters.iter().enumerate().map(|(at, ty)| format!("p{at}: \"{ty}\"")).collect();
        let written = format!(
            "{{parameters: [{}], result: \"{result}\", cost: {{call: {call}, size: {size}}}}}",
            named.join(", ")
        );
        let ty = |text: &String| Type::parse(text).unwrap();
        let signature = Signature::new("risk.score", parameters.iter().map(ty), ty(&result));
        (written, signature.costing(CallCost { call, size }))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// A policy is loaded if the host has registered the very signature that it declares, and otherwise never.
    #[test]
    fn another_signature_is_never_loaded((written, declared) in signatures(), (_, other) in signatures(), is_same in any::<bool>()) {
        let registered = if is_same { declared.clone() } else { other };
        let policy = format!(
            "kind: celador/v1/policy\nnamespace: shop\nname: risk\nfunctions:\n  risk.score: {written}\n\
             capabilities:\n  refund: {{before: [{{id: low, assert: input.amount < 5}}]}}\n"
        );
        let shop = SHOP.split("---\nkind: celador/v1/policy").next().unwrap();
        let file = File { source: Source::new("shop.yaml", format!("{shop}---\n{policy}")), origin: FileOrigin::Named };
        let (catalog, _) = Catalog::parse(&[file], &EngineLimits::default());
        let is_same = registered == declared;
        let mut functions = HostFunctionSet::default();
        functions.register(registered, |_| Ok(Value::Null));
        let catalog = catalog.with_host_functions(Arc::new(functions));
        let (engine, findings) = Engine::from_catalog(&catalog, EngineLimits::default());
        prop_assert_eq!(engine.is_whole(), is_same, "{:?}", findings);
        prop_assert_eq!(findings.iter().any(|finding| finding.code == "other_signature"), !is_same);
    }
}

/// Each place of a policy that calls functions of the host, and what shows that the call was answered: `crm.tier` gives `gold` for `c-1` and fails for anybody else.
const PLACES: &[(&str, &str)] = &[
    (
        "capabilities:\n  note: {before: [{id: it, assert: \"crm.tier(input.customer) == 'silver'\", error_message: no}]}",
        "message: Some(\"no\")",
    ),
    (
        "capabilities:\n  note: {before: [{id: it, condition: \"crm.tier(input.customer) == 'gold'\", assert: \"false\", error_message: no}]}",
        "message: Some(\"no\")",
    ),
    (
        "capabilities:\n  note: {before_first: [{id: it, assert: \"crm.tier('c-1') == 'silver'\", error_message: no}]}",
        "message: Some(\"no\")",
    ),
    (
        "variables: {tier: crm.tier(input.customer)}\ncapabilities:\n  note: {before: [{id: it, assert: \"variables.tier == 'silver'\", error_message: \"no {variables.tier}\"}]}",
        "message: Some(\"no gold\")",
    ),
    (
        "expressions: {tier: {parameters: [of: string], value: crm.tier(of)}}\ncapabilities:\n  note: {before: [{id: it, assert: \"expressions.tier(input.customer) == 'silver'\", error_message: \"no {expressions.tier(input.customer)}\"}]}",
        "message: Some(\"no gold\")",
    ),
    (
        "capabilities:\n  note: {before: [{id: it, set: {text: crm.tier(input.customer)}}]}",
        "\"text\":\"gold\"",
    ),
    (
        "capabilities:\n  note: {before: [{id: it, assert: \"false\", error_message: \"It is {crm.tier(input.customer)}.\"}]}",
        "message: Some(\"It is gold.\")",
    ),
    (
        "capabilities:\n  note: {before: [{id: it, assert: \"false\", user_message: \"It is {crm.tier(input.customer)}.\"}]}",
        "user_message: Some(\"It is gold.\")",
    ),
    (
        "capabilities:\n  note: {before: [{id: it, obligations: [{id: tell, values: {tier: crm.tier(input.customer)}}]}]}",
        "\"tier\":\"gold\"",
    ),
    (
        "capabilities:\n  note: {before: [{id: it, assert: \"false\"}]}\nexceptions: [{rule: it, where: \"crm.tier(input.customer) == 'gold'\", until: 2100-01-01, reason: It may.}]",
        "It may.",
    ),
];

/// An agent with a tool, under a policy.
fn places_text(policy: &str) -> String {
    format!(
        "kind: celador/v1/tools\nnamespace: shop\nname: desk\ntools:\n\
         - {{name: note, inputSchema: {{type: object, properties: {{customer: {{type: string}}, text: {{type: string}}}}, required: [customer]}}}}\n\
         ---\nkind: commonagents.info/v1beta2/agent\nnamespace: shop\nname: clerk\ndescription: A clerk.\nprompt: Hi.\n\
         capabilities: {{desk: \"*\"}}\n---\nkind: celador/v1/policy\nnamespace: shop\nname: tiers\n\
         functions: {{crm.tier: {{parameters: [of: string], result: string}}}}\n{policy}\n"
    )
}

fn places(policy: &str) -> Catalog {
    let file = File { source: Source::new("shop.yaml", places_text(policy)), origin: FileOrigin::Named };
    let mut functions = HostFunctionSet::default();
    functions.register_json("crm.tier", EvalLimits::default(), |arguments| {
        match arguments.first().and_then(|customer| customer.root().as_str()) {
            Some("c-1") => Ok(json!("gold").into()),
            _ => Err("nobody of this name".into()),
        }
    });
    Catalog::parse(&[file], &EngineLimits::default()).0.with_host_functions(Arc::new(functions))
}

#[test]
fn each_place_of_a_policy_that_may_call_a_function_has_its_value() {
    for (policy, shows) in PLACES {
        let (engine, findings) = Engine::from_catalog(&places(policy), EngineLimits::default());
        assert!(engine.is_whole(), "{policy}: {findings:?}");
        let decided = |customer: &str| {
            let now = SystemTime::UNIX_EPOCH;
            let mut task =
                engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now)).unwrap();
            let call = Call::new("note", json!({"customer": customer, "text": "x"}).into());
            format!("{:?}", task.before(&call, now).unwrap().outcome().into_decision())
        };
        let known = decided("c-1");
        assert!(known.contains(shows) && !known.contains("host_failed"), "{policy}: {known}");
        // one that fails lets nothing by, and shows its code where a text shows values
        let unknown = decided("c-2");
        assert!(!unknown.contains("verdict: Allow") && !unknown.contains("gold"), "{policy}: {unknown}");
    }
}

/// An exception is told where it has let something pass, and only there: the rule alone is asked with the functions of the host too.
#[test]
fn an_exception_of_a_rule_that_calls_a_function_is_told_where_it_counts() {
    let policy = "capabilities:\n  note: {before: [{id: it, assert: \"crm.tier(input.customer) == 'gold'\"}]}\n\
                  exceptions: [{rule: it, where: \"input.text == 'x'\", until: 2100-01-01, reason: It may.}]";
    let (engine, _) = Engine::from_catalog(&places(policy), EngineLimits::default());
    for (customer, is_told) in [("c-1", false), ("c-2", true)] {
        let now = SystemTime::UNIX_EPOCH;
        let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now)).unwrap();
        let call = Call::new("note", json!({"customer": customer, "text": "x"}).into());
        let decision = task.before(&call, now).unwrap().outcome().into_decision();
        assert_eq!(decision.verdict.kind(), VerdictKind::Allow);
        assert_eq!(
            decision.trace.iter().any(|entry| entry.exception.is_some()),
            is_told,
            "{customer}: {decision:?}"
        );
    }
}

/// Each other place refuses a call of a function that the policy declares, and says where functions are called.
#[test]
fn each_other_place_refuses_the_policy() {
    for (policy, path) in [
        (
            "counters: {sent: {on: note, key: crm.tier(input.customer), window: day}}\ncapabilities: {note: {before: [{id: it, assert: counters.sent < 3}]}}",
            "counters.sent.key",
        ),
        (
            "counters: {sent: {on: note, add: size(crm.tier(input.customer)), window: day}}\ncapabilities: {note: {before: [{id: it, assert: counters.sent < 3}]}}",
            "counters.sent.add",
        ),
        ("counters: {sent: {model: size(crm.tier('c-1')), window: day, limit: 3}}", "counters.sent.model"),
        ("tools: [{id: it, assert: \"crm.tier(tool.name) == 'gold'\"}]", "tools[0].assert"),
        (
            "counters: {sent: {on: note, window: day, limit: 3}}\n---\nkind: celador/v1/policy\nnamespace: shop\nname: other\ncapabilities: {note: {before: [{id: it, assert: \"crm.tier('c-1') == 'gold'\"}]}}",
            "capabilities.note.before[0].assert",
        ),
    ] {
        let (engine, findings) = Engine::from_catalog(&places(policy), EngineLimits::default());
        assert!(!engine.is_whole(), "{policy}");
        let [found] = findings.iter().filter(|finding| finding.is_error()).collect::<Vec<_>>()[..] else {
            panic!("{policy}: {findings:?}")
        };
        assert_eq!((found.code, &*found.path), ("undeclared_function", path), "{policy}");
        assert!(
            found.message.contains("`crm.tier` is not known here: functions of the host are called by"),
            "{}",
            found.message
        );
    }
}

/// The limit of a counter is a step of its policy, and calls functions as other steps do.
#[test]
fn the_limit_of_a_counter_is_what_a_function_gives() {
    use celador_embed::{Host, Mode, Place, Policies, TaskWish, system_clock};
    let manifests = places_text(
        "counters: {sent: {on: note, key: input.customer, window: day, limit: \"crm.tier(input.customer) == 'gold' ? 2 : 1\"}}",
    );
    let host = Host::default().with_function("crm.tier", |arguments| {
        let is_gold = arguments.first().and_then(|customer| customer.root().as_str()) == Some("c-1");
        Ok(json!(if is_gold { "gold" } else { "silver" }).into())
    });
    let sources = [celador_embed::Source::text("shop.yaml", manifests)];
    let policies = Policies::load_for(host, &sources, Mode::Enforce, Place::Memory, system_clock()).unwrap();
    let task = policies.agent(None, Vec::new()).unwrap().task(TaskWish::default()).unwrap();
    let mut verdicts = Vec::new();
    for customer in ["c-1", "c-1", "c-1", "c-2", "c-2"] {
        let call = Call::new("note", json!({"customer": customer, "text": "x"}).into());
        verdicts.push(task.before(call, None).unwrap().decision.verdict.kind());
    }
    let [allow, block] = [VerdictKind::Allow, VerdictKind::Block];
    assert_eq!(verdicts, [allow, allow, block, allow, block]);
}
