//! Findings of builds without the analysis, and without other features that manifests can need.

#![cfg(not(feature = "analysis"))]

use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::{Diagnostic, Engine, EngineLimits};

/// An agent with a tool and this step.
fn manifests(step: &str) -> String {
    format!(
        "\
kind: commonagents.info/v1beta2/tool
namespace: shop
name: refund
description: Pays money back.
actions:
  - name: pay
    description: Pays.
    parameters: {{properties: {{amount: {{type: number, description: How much.}}}}}}
    execute: {{stateless_http: {{method: POST, url: \"https://pay.example.com\"}}}}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Answers customers.
prompt: You are a careful clerk.
capabilities:
  refund:
    before:
      - {step}
"
    )
}

fn said(findings: &[Diagnostic]) -> Vec<(&str, &str)> {
    findings.iter().map(|finding| (finding.code, &*finding.message)).collect()
}

#[test]
fn rules_are_not_analysed_and_that_is_said() {
    let not_analysed = (
        "not_analysed",
        "whether the rules of these manifests can decide anything is not known: this build has no analysis",
    );
    for step in [
        "assert: input.amount > 0 && input.amount <= 1000",
        "assert: input.amount > 2000 && input.amount <= 1000",
        // of a comment about what is found elsewhere nothing is said
        "assert: input.amount > 2000 && input.amount <= 1000 # celador: allow(never_true) to see what comes",
    ] {
        let engine = Engine::parse("shop.yaml", &manifests(step)).unwrap();
        assert_eq!(said(engine.warnings()), [not_analysed], "{step}");
    }
}

#[test]
fn what_loading_finds_is_refused_as_everywhere() {
    let refused = Engine::parse("shop.yaml", &manifests("assert: input.amuont > 0")).unwrap_err().to_string();
    assert!(refused.contains("did you mean `amount`?"), "{refused}");
}

#[test]
fn nothing_is_said_where_the_analysis_would_not_be_asked() {
    let text = manifests("assert: input.amount > 2000 && input.amount <= 1000");
    let file = File { source: Source::new("shop.yaml", &text), origin: FileOrigin::Named };
    let limits = EngineLimits::default();
    let (catalog, _) = Catalog::parse(&[file], &limits);
    assert!(said(&Engine::lenient_from_catalog(&catalog, limits).1).is_empty());
}

#[test]
#[cfg(not(feature = "parsers"))]
fn a_rule_that_calls_a_parser_is_refused_in_a_build_without_parsers() {
    let step = "assert: sql.parse(string(input.amount)).size() == 1";
    let refused = Engine::parse("shop.yaml", &manifests(step)).unwrap_err().to_string();
    assert!(refused.contains("error[undeclared_function]") && refused.contains("sql.parse"), "{refused}");
}

#[test]
#[cfg(all(feature = "schemas", not(feature = "idna")))]
fn formats_of_names_in_any_script_are_refused_in_a_build_without_their_tables() {
    let named = |format: &str| {
        let text = manifests("assert: input.amount > 0");
        text.replace("{amount:", &format!("{{host: {{type: string, format: {format}}}, amount:"))
    };
    Engine::parse("shop.yaml", &named("hostname")).unwrap();
    for format in ["idn-hostname", "idn-email"] {
        let refused = Engine::parse("shop.yaml", &named(format)).unwrap_err().to_string();
        assert!(refused.contains("error[schema_refused]") && refused.contains("`idna`"), "{refused}");
    }
}
