//! Changes of policies that make no difference are no mutants.
//!
//! A row of `tests/data/mutants.json` is an assert over `amount`, an integer, and `share`, a number; one case asks for `args` and is allowed. Changes that decide everything as before are
//! beside changes that this case does not notice.

use celador::EngineLimits;
use celador::manifest::given::{Files, GivenFiles};
use celador::scenario::{CaseOutcome, Palette, Runner, Search, cases_among};
use serde::Deserialize;
use std::collections::BTreeSet;

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

#[test]
fn a_change_that_is_proved_to_make_no_difference_does_not_count() {
    let rows: Vec<Row> = serde_json::from_str(include_str!("../data/mutants.json")).unwrap();
    for Row { assert, args, equivalent, survive } in rows {
        let case = format!(
            "name: case\nabout: Is let by.\nmanifest: {{files: [agent.yaml], agent: shop/clerk}}\n\
             call: {{op: before, fn: payout, args: {args}}}\nexpect: {{decision: allow}}\n"
        );
        let files = Files::Given(GivenFiles::new([("agent.yaml", agent(&assert)), ("case.yaml", case)]));
        let limits = EngineLimits::default();
        let cases: Vec<_> =
            cases_among(&files, &["case.yaml"], &limits).unwrap().into_iter().map(Result::unwrap).collect();
        let mut runner = Runner::among(files, limits);
        for case in &cases {
            let report = runner.run(case);
            assert!(matches!(report.outcome, CaseOutcome::Passed), "{}", report.render(&Palette::PLAIN));
        }
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
