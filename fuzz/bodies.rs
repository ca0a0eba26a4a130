//! What each fuzz target does with its bytes. Nothing here may panic; what holds for every input is asserted.
//!
//! The targets are three lines long; `cargo test` runs the same bodies over seeds and their mutations.

use celador::cel::{Activation, Env, EnvBuilder, Json, Program, STANDARD, Type, parse};
use celador::limits::EvalLimits;
use celador::manifest::Catalog;
use celador::manifest::load::{File, Origin};
use celador::source::Source;

/// Reads, prints, checks and runs an expression over some JSON, within a small budget.
pub fn expression(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let limits = EvalLimits { max_cost: 20_000, max_built_bytes: 1 << 20, ..EvalLimits::default() };
    if let Ok(expr) = parse(text, &limits) {
        let printed = expr.to_string();
        if let Ok(again) = parse(&printed, &limits) {
            assert_eq!(printed, again.to_string(), "printing is not stable");
        }
    }
    let builder = Env::builder().variable("input", Type::Dyn).variable("context", Type::Dyn).limits(limits);
    let env = STANDARD.iter().copied().fold(builder, EnvBuilder::library).build();
    let Ok(program) = Program::compile(&env, text) else { return };
    let state = Json::from(
        serde_json::json!({"a": 1, "list": [1, 2.5, "x", null], "text": "héllo", "map": {"k": [true]}}),
    );
    let activation =
        Activation::new(&env).with(&env, "input", state.value()).with(&env, "context", state.value());
    let (result, cost) = program.run_metered(&activation, None);
    assert!(cost <= limits.max_cost);
    if let Ok(value) = result {
        if let Some(kind) = program.result_type().kind() {
            assert_eq!(value.kind(), kind, "the checker said otherwise");
        }
        let _ = Json::from_value(&value);
    }
}

/// Reads the bytes as a file of manifests and links them.
pub fn manifest(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let source = Source::new("fuzz.yaml", text.as_ref());
    let (_, findings) = Catalog::parse(&[File { source, origin: Origin::Named }], &EvalLimits::default());
    for finding in findings {
        let _ = finding.render(false);
    }
}

/// Reads JSON, looks at every part, and writes it again.
pub fn json(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(document) = Json::parse(text, &EvalLimits::default()) else { return };
    for (key, value) in document.root().entries() {
        assert_eq!(document.root().get(key).map(|found| found.to_string()), Some(value.to_string()));
    }
    let again = Json::parse(&document.to_string(), &EvalLimits::default());
    assert_eq!(again.ok().map(|again| again.to_string()), Some(document.to_string()));
}
