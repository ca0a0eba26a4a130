//! Changes of policies that make no difference are no mutants.
//!
//! A row of `tests/data/mutants.json` is an assert over `amount`, an integer, and `share`, a number; one case asks for `args` and is allowed. Changes that decide everything as before are
//! beside changes that this case does not notice.

use celador::EngineLimits;
use celador::manifest::given::{Files, GivenFiles};
use celador::scenario::{Case, CaseOutcome, Palette, Runner, Search, cases_among};
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
