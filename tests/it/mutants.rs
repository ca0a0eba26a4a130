//! Changes of policies that make no difference are no mutants.
//!
//! A row of `tests/data/mutants.json` is an assert over `amount`, an integer, and `share`, a number; one case asks for `args` and is allowed. Changes that decide everything as before are
//! beside changes that this case does not notice.

use celador::EngineLimits;
use celador::manifest::given::{Files, GivenFiles};
use celador::scenario::{Case, CaseOutcome, Fate, Palette, Runner, Search, cases_among};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

#[derive(Deserialize)]
struct Row {
    assert: String,
    args: serde_json::Value,
    equivalent: Vec<String>,
    survive: Vec<String>,
}

fn agent(assert: &str) -> String {
    format!(
        "kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Pays.
prompt: Pay.
capabilities:
  payout:
    before:
      - assert: {assert:?}
---
kind: commonagents.info/v1beta2/tool
namespace: shop
name: payout
description: Pays money.
actions:
  - name: pay
    description: Pays an amount.
    parameters:
      properties:
        amount: {{type: integer, description: How much.}}
        share: {{type: number, description: How much of it.}}
    execute:
      stateless_http: {{method: POST, url: \"https://pay.example.com/payouts\"}}
"
    )
}

/// The cases of `case.yaml`, which pass, and what runs them.
fn passing(files: Files) -> (Runner, Vec<Case>) {
    let limits = EngineLimits::default();
    let cases: Vec<_> =
        cases_among(&files, &["case.yaml"], &limits).unwrap().into_iter().map(Result::unwrap).collect();
    let mut runner = Runner::among(files, limits);
    for case in &cases {
        let report = runner.run(case);
        assert!(matches!(report.outcome, CaseOutcome::Passed), "{}", report.render(&Palette::PLAIN));
    }
    (runner, cases)
}

#[test]
fn a_change_that_is_proved_to_make_no_difference_does_not_count() {
    let rows: Vec<Row> = serde_json::from_str(include_str!("../data/mutants.json")).unwrap();
    for Row { assert, args, equivalent, survive } in rows {
        let case = format!(
            "name: case\nabout: Is let by.\nmanifest: {{files: [agent.yaml], agent: shop/clerk}}\n\
             call: {{op: before, fn: payout, args: {args}}}\nexpect: {{decision: allow}}\n"
        );
        let files = Files::Given(GivenFiles::new([("agent.yaml", agent(&assert)), ("case.yaml", case)]));
        let (mut runner, cases) = passing(files);
        let mutation = runner.mutate(&cases, Search::Nothing);
        let survivors: BTreeSet<&str> = mutation.survivors().map(|tried| &*tried.mutant.about).collect();
        for about in &equivalent {
            assert!(!survivors.contains(&**about), "{assert}: {about} makes no difference, and survived");
        }
        for about in &survive {
            assert!(
                survivors.contains(&**about),
                "{assert}: {about} makes a difference; survivors: {survivors:?}"
            );
        }
        assert!(mutation.tried.iter().all(|tried| !equivalent.contains(&tried.mutant.about)), "{assert}");
    }
}

/// Two asserts in another order are a mutant only where some call fails both, with another message or consequence.
#[test]
fn the_order_of_asserts_counts_where_a_call_can_fail_both() {
    let small = "{assert: input.amount < 100, error_message: Too much.}";
    let whole = "{assert: input.share == 1, error_message: Not whole.}";
    let rows = [
        (small, whole, true),
        // no amount is both
        (small, "{assert: input.amount > 0, error_message: Too little.}", false),
        ("{assert: input.amount < 100}", "{assert: input.share == 1}", false),
        ("{assert: input.amount < 100}", "{assert: input.share == 1, on_fail: lock_task}", true),
        (small, "{assert: \"review('lead@example.com') || input.amount == 5\"}", true),
        (
            "{assert: input.amount < 100}",
            "{assert: \"input.amount == 5 || review('lead@example.com')\"}",
            true,
        ),
    ];
    for (first, second, counts) in rows {
        let plain = agent("true");
        let manifest = plain.replace("- assert: \"true\"", &format!("- {first}\n      - {second}"));
        let case = "name: case\nabout: Is allowed.\nmanifest: {files: [agent.yaml], agent: shop/clerk}\n\
                    call: {op: before, fn: payout, args: {amount: 5, share: 1}}\nexpect: {decision: allow}\n";
        let is_asked = second.contains("review") && second.find("review") < second.find("||");
        let case = if is_asked { case.replace("allow}", "suspend}") } else { case.to_owned() };
        let files = Files::Given(GivenFiles::new([("agent.yaml", manifest), ("case.yaml", case)]));
        let (mut runner, cases) = passing(files);
        let mutation = runner.mutate(&cases, Search::Nothing);
        let is_there = mutation.tried.iter().any(|tried| tried.mutant.kind == "steps_swapped");
        assert_eq!(is_there, counts, "{first} {second}");
    }
}

#[test]
fn a_case_is_found_that_notices_a_change_of_a_trigger() {
    let limits = EngineLimits::default();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/coverage/triggers/cases/mail.yaml");
    let cases: Vec<_> =
        cases_among(&Files::System, &[path], &limits).unwrap().into_iter().map(Result::unwrap).collect();
    let mutation = Runner::new(limits).mutate(&cases, Search::Arguments);
    let moved = mutation.tried.iter().find(|tried| tried.mutant.about == "`500` is `501`").unwrap();
    let text = moved.killer.as_ref().unwrap().text("killer", Path::to_path_buf);
    let call = r#"call: {"op":"trigger","payload":{"from":"ann@example.com","size":501}}"#;
    assert!(text.contains(call) && text.contains(r#"expect: {"decision":"none""#), "{text}");
}

/// A policy beside the agent, and what becomes of mutants of it under one case. Each mutant is told by its kind and its change.
#[derive(Deserialize)]
struct PolicyRow {
    about: String,
    policy: serde_json::Value,
    args: serde_json::Value,
    #[serde(default = "allow")]
    expect: String,
    #[serde(default)]
    counters: serde_json::Map<String, serde_json::Value>,
    survive: Vec<String>,
    noticed: Vec<String>,
    absent: Vec<String>,
}

fn allow() -> String {
    "allow".to_owned()
}

/// The agent with a policy beside it, and one case.
fn with_policy(row: &PolicyRow) -> Files {
    let mut policy = row.policy.clone();
    for (key, value) in [("kind", "celador/v1/policy"), ("namespace", "shop"), ("name", "rules")] {
        policy[key] = value.into();
    }
    let agent = agent("true")
        .replace("  payout:\n    before:\n      - assert: \"true\"\n", "  payout: {include: [pay]}\n");
    let case = serde_json::json!({
        "name": "case", "about": "One call.", "manifest": { "files": ["agent.yaml"], "agent": "shop/clerk" },
        "counters": row.counters, "call": { "op": "before", "fn": "payout", "args": row.args },
        "expect": { "decision": row.expect },
    });
    Files::Given(GivenFiles::new([
        ("agent.yaml", format!("{agent}---\n{policy}\n")),
        ("case.yaml", case.to_string()),
    ]))
}

#[test]
fn names_of_a_policy_and_all_operators_have_mutants() {
    let rows: Vec<PolicyRow> = serde_json::from_str(include_str!("../data/mutation.json")).unwrap();
    for row in rows {
        let (mut runner, cases) = passing(with_policy(&row));
        let mutation = runner.mutate(&cases, Search::Nothing);
        let with_fate = |is_noticed: bool| -> BTreeSet<String> {
            let all = mutation.tried.iter().filter(|it| matches!(it.fate, Fate::Noticed(_)) == is_noticed);
            all.map(|it| format!("{} {}", it.mutant.kind, it.mutant.about)).collect()
        };
        let (survive, noticed) = (with_fate(false), with_fate(true));
        let about = &row.about;
        for mutant in &row.survive {
            assert!(
                survive.contains(mutant),
                "{about}: {mutant} is not among {survive:#?}, but {noticed:#?}"
            );
        }
        for mutant in &row.noticed {
            assert!(
                noticed.contains(mutant),
                "{about}: {mutant} is not among {noticed:#?}, but {survive:#?}"
            );
        }
        for mutant in &row.absent {
            assert!(!noticed.contains(mutant) && !survive.contains(mutant), "{about}: {mutant} is counted");
        }
    }
}

/// A rule that moves into a variable keeps its clauses and its mutants.
#[test]
fn a_variable_counts_like_the_rule_in_its_place() {
    let rule = "input.amount > 0 && input.amount <= 100 || input.share == 1.0";
    let row = |policy: serde_json::Value| PolicyRow {
        about: String::new(),
        policy,
        args: serde_json::json!({ "amount": 9, "share": 0.5 }),
        expect: allow(),
        counters: serde_json::Map::new(),
        survive: Vec::new(),
        noticed: Vec::new(),
        absent: Vec::new(),
    };
    let inline = row(serde_json::json!({ "capabilities": { "payout": { "before": [{ "assert": rule }] } } }));
    let moved = row(serde_json::json!({
        "variables": { "fair": rule }, "capabilities": { "payout": { "before": [{ "assert": "variables.fair" }] } },
    }));
    let seen = [inline, moved].map(|row| {
        let files = with_policy(&row);
        let (mut runner, cases) = passing(files.clone());
        let texts: BTreeSet<String> =
            runner.mutate(&cases, Search::Nothing).survivors().map(|it| it.mutant.about.clone()).collect();
        let mut covering = Runner::among(files, EngineLimits::default()).covering();
        cases.iter().for_each(|case| drop(covering.run(case)));
        let coverage = covering.coverage().unwrap().clone();
        let clauses = coverage.files["agent.yaml"].clauses.values();
        let clauses: BTreeSet<(String, usize, usize, usize)> =
            clauses.map(|it| (it.text.clone(), it.held, it.held_not, it.decided)).collect();
        (texts, clauses, coverage)
    });
    let [(inline, clauses, _), (moved, clauses_moved, coverage)] = seen;
    assert!(inline.len() > 3 && inline.is_subset(&moved), "{inline:?} and {moved:?}");
    assert!(clauses.len() == 3 && clauses.is_subset(&clauses_moved), "{clauses:?} and {clauses_moved:?}");
    let names: Vec<_> = coverage.names.iter().map(|it| (&*it.agent, &*it.name, it.seen)).collect();
    assert_eq!(names, [("shop/rules", "variables.fair", true)]);
}

/// Checks of brought tools are reached by the cases that bring tools.
#[test]
fn checks_of_tools_are_covered() {
    let agent = "kind: celador/v1/tools\nnamespace: shop\nname: server\nbrought: ['*']\n---\n\
        kind: commonagents.info/v1beta2/agent\nnamespace: shop\nname: clerk\ndescription: D.\nprompt: P.\n\
        capabilities: {server: '*'}\n---\n\
        kind: celador/v1/policy\nnamespace: shop\nname: rules\ntools:\n\
        - {id: named, assert: \"!tool.name.startsWith('rm')\"}\n\
        - {id: described, assert: \"tool.description != 'bad'\"}\n";
    let case = "name: case\nabout: One tool is left out.\nmanifest: {files: [agent.yaml], agent: shop/clerk}\n\
        env: {tools: [{name: rm_all, inputSchema: {type: object}}, {name: pay, description: Pays., inputSchema: {type: object}}]}\n\
        call: {op: input, input: {message: Hello.}}\nexpect: {decision: allow}\n";
    let files = Files::Given(GivenFiles::new([("agent.yaml", agent), ("case.yaml", case)]));
    let (mut runner, cases) = passing(files.clone());
    let mut covering = Runner::among(files, EngineLimits::default()).covering();
    cases.iter().for_each(|case| drop(covering.run(case)));
    let coverage = covering.coverage().unwrap();
    let steps = coverage.files["agent.yaml"].steps.values();
    let steps: Vec<_> = steps.map(|step| (&*step.path, step.reached, step.passed, step.failed)).collect();
    assert_eq!(steps, [("tools[0].assert", 2, 1, 1), ("tools[1].assert", 1, 1, 0)]);
    let mutation = runner.mutate(&cases, Search::Nothing);
    assert!(mutation.tried.iter().any(|tried| tried.mutant.path == "tools[1].assert"));
}

/// Only a case of a call that the parent denies notices that `delegate` is not there.
#[test]
fn the_bound_of_a_task_has_a_mutant() {
    for (amount, decision) in [(5, "allow"), (120, "block")] {
        let case = serde_json::json!({
            "name": "case", "about": "A refund of a clerk.", "manifest": { "files": ["shop.yaml"], "agent": "shop/clerk" },
            "parent": { "agent": "shop/lead" },
            "call": { "op": "before", "fn": "refund", "args": { "amount": amount } },
            "expect": { "decision": decision },
        });
        let shop = ("shop.yaml", crate::delegation_bound::SHOP.to_owned());
        let (mut runner, cases) =
            passing(Files::Given(GivenFiles::new([shop, ("case.yaml", case.to_string())])));
        let mutation = runner.mutate(&cases, Search::Nothing);
        let tried: Vec<_> = mutation.tried.iter().filter(|it| it.mutant.kind == "delegate_dropped").collect();
        assert_eq!(tried.len(), 1, "{amount}");
        assert_eq!(matches!(tried[0].fate, Fate::Noticed(_)), decision == "block", "{amount}");
    }
}

/// Filters and aliases of events have mutants; a case that brings the event notices them.
#[test]
fn expressions_of_events_have_mutants() {
    let agent = "kind: commonagents.info/v1beta2/agent\nnamespace: shop\nname: clerk\ndescription: D.\nprompt: P.\n\
        capabilities: {desk: '*'}\n---\n\
        kind: commonagents.info/v1beta2/tool\nnamespace: shop\nname: desk\ndescription: D.\nactions:\n\
        - name: open\n  description: Opens.\n  execute: {stateless_http: {method: POST, url: \"https://svc.example.com/run\"}}\n\
        events:\n\
        - name: replied\n  message: \"Note by {event.author}.\"\n  parameters: {author: event.payload.user}\n\
        \x20 receive: {webhook: {filter: \"event.payload.kind == 'reply' && event.payload.size < 10\"}}\n";
    let case = |name: &str, payload: &str, decision: &str| {
        format!(
            "  {name}: {{about: An event., manifest: {{files: [agent.yaml], agent: shop/clerk}},\n\
             \x20  state: [{{input: {{message: hello}}}}],\n\
             \x20  call: {{op: event, capability: desk, event: replied, payload: {payload}}}, expect: {decision}}}\n"
        )
    };
    let cases = [
        case("let-by", "{kind: reply, size: 9, user: kim}", "{decision: route, value: Note by kim.}"),
        case("other-kind", "{kind: note, size: 9, user: kim}", "{decision: discard, stage: filter}"),
    ];
    let files = Files::Given(GivenFiles::new([
        ("agent.yaml", agent.to_owned()),
        ("case.yaml", format!("cases:\n{}", cases.concat())),
    ]));
    let (mut runner, cases) = passing(files);
    let mutation = runner.mutate(&cases, Search::Nothing);
    let of_events = mutation.tried.iter().filter(|tried| tried.mutant.path.starts_with("events[0]"));
    let fates: BTreeSet<(&str, &str, &str, bool)> = of_events
        .map(|it| (&*it.mutant.path, it.mutant.kind, &*it.mutant.about, it.fate != Fate::Survived))
        .collect();
    let filter = "events[0].receive.webhook.filter";
    for expected in [
        (filter, "filter_dropped", "`filter` is not there", true),
        (filter, "operator_swapped", "`&&` is `||`", true),
        (filter, "constant_moved", "`10` is `11`", false),
        (filter, "constant_moved", "`10` is `9`", true),
        (filter, "constant_moved", "`'reply'` is `'reply~'`", true),
    ] {
        assert!(fates.contains(&expected), "{expected:?} is not among {fates:#?}");
    }
}

/// A case, what is changed, and what the case that is found asks and expects.
#[derive(Deserialize)]
struct KillerRow {
    limits: String,
    /// Those of a policy for the agent, which may bound a turn.
    policy_limits: Option<String>,
    assert: String,
    case: String,
    about: String,
    asks: String,
    expects: String,
}

#[test]
fn a_case_is_found_that_notices_a_change() {
    let rows: Vec<KillerRow> = serde_json::from_str(include_str!("../data/killers.json")).unwrap();
    for KillerRow { limits: bounds, policy_limits, assert, case, about, asks, expects } in rows {
        let mut manifest =
            agent(&assert).replace("prompt: Pay.\n", &format!("prompt: Pay.\nlimits: {bounds}\n"));
        if let Some(bounds) = policy_limits {
            manifest +=
                &format!("---\nkind: celador/v1/policy\nnamespace: shop\nname: bounds\nlimits: {bounds}\n");
        }
        let case = format!(
            "name: case\nabout: It passes.\nmanifest: {{files: [agent.yaml], agent: shop/clerk}}\n{case}\n"
        );
        let given = GivenFiles::new([("agent.yaml", manifest), ("case.yaml", case)]);
        let (mut runner, cases) = passing(Files::Given(given));
        let mutation = runner.mutate(&cases, Search::Arguments);
        let survivors: Vec<&str> = mutation.survivors().map(|tried| &*tried.mutant.about).collect();
        let found = mutation.survivors().find(|tried| tried.mutant.about == about);
        let found = found.unwrap_or_else(|| panic!("{about} is no survivor: {survivors:?}"));
        let killer = found.killer.as_ref().unwrap_or_else(|| panic!("no case was found for {about}"));
        let text = killer.text("killer", Path::to_path_buf);
        assert!(text.contains(&asks) && text.contains(&expects), "{about}: {asks} and {expects} in\n{text}");
    }
}
