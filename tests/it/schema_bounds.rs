//! The bounds of schemas are the host's: what all schemas of a document weigh, and what looking at one value costs.

use crate::schema_values::{agent, start};
use crate::task_fixture::{call, decided, noon};
use celador::engine::Engine;
use celador::limits::{EngineLimits, EvalLimits};
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use serde_json::{Value, json};

fn tool(parameters: Value) -> Value {
    json!({
        "kind": "commonagents.info/v1beta2/tool", "namespace": "demo", "name": "probe", "description": "Looks.",
        "actions": [{"name": "check", "description": "Checks.", "parameters": parameters,
            "execute": {"stateless_http": {"method": "POST", "url": "https://svc.example.com/run"}}}],
    })
}

/// An engine under these bounds, and the codes of the errors.
fn load(tool: &Value, limits: EngineLimits) -> (Engine, Vec<String>) {
    let text = format!("{tool}\n---\n{}\n", agent(json!({ "probe": "*" })));
    let source = Source::new("test.yaml", text);
    let (catalog, mut findings) = Catalog::parse(&[File { source, origin: FileOrigin::Named }], &limits);
    let (engine, compiled) = Engine::from_catalog(&catalog, limits);
    findings.extend(compiled);
    let errors = findings.iter().filter(|finding| finding.is_error());
    (engine, errors.map(|finding| finding.message.clone()).collect())
}

fn refused(tool: &Value, limits: EngineLimits) -> Vec<String> {
    load(tool, limits).1
}

/// So many parameters that refer to one definition.
fn referring(parameters: usize, definition: Value) -> Value {
    let names = (0..parameters).map(|at| (format!("p{at}"), json!({ "$ref": "#/$defs/one" })));
    tool(json!({ "properties": names.collect::<serde_json::Map<_, _>>(), "$defs": { "one": definition } }))
}

/// A short document cannot ask for gigabytes: each reference weighs what it refers to.
#[test]
fn definitions_weigh_as_often_as_they_are_referred_to() {
    let names: Vec<String> =
        (0..2_000).map(|at| format!("a name that is neither long nor short {at}")).collect();
    let definition = json!({ "enum": names });
    assert_eq!(refused(&referring(10, definition.clone()), EngineLimits::default()), [""; 0]);
    let errors = refused(&referring(2_000, definition), EngineLimits::default());
    let told = "`max_schema_bytes` 33554432 exceeded by this schema and those before it in the document";
    assert_eq!(errors, [told]);
}

/// Patterns weigh what they take once they are compiled, and none is compiled that is not paid for.
#[test]
fn patterns_weigh_what_they_take_compiled() {
    let patterns = |number: usize| {
        let pattern = |at: usize| json!({ "type": "string", "pattern": format!("^[a-z]{{{}}}[0-9]{{900}}$", 900 + at) });
        let names = (0..number).map(|at| (format!("p{at}"), pattern(at)));
        tool(json!({ "properties": names.collect::<serde_json::Map<_, _>>() }))
    };
    assert_eq!(refused(&patterns(50), EngineLimits::default()), [""; 0]);
    let errors = refused(&patterns(5_000), EngineLimits::default());
    assert_eq!(errors.len(), 1);
    assert!(errors[0].contains("`max_schema_bytes` 33554432"), "{errors:?}");
    let limits = EngineLimits { max_schema_bytes: 40_000, ..EngineLimits::default() };
    assert_eq!(refused(&patterns(2), limits).len(), 1);
}

/// Each bound is that of the host that loads the document.
#[test]
fn bounds_are_those_of_the_host() {
    let any_of =
        tool(json!({ "properties": { "p": { "anyOf": [{ "minLength": 1 }, { "minLength": 2 }] } } }));
    let nested = tool(json!({ "properties": { "p": { "not": { "not": { "not": { "minLength": 1 } } } } } }));
    let pattern = tool(json!({ "properties": { "p": { "pattern": "^[a-z]{40}$" } } }));
    let limits = EngineLimits::default();
    for (tool, limits, bound) in [
        (&any_of, EngineLimits { max_schema_nodes: 2, ..limits }, "`max_schema_nodes` 2"),
        (&nested, EngineLimits { max_schema_depth: 3, ..limits }, "`max_schema_depth` 3"),
        (
            &pattern,
            EngineLimits { eval: EvalLimits { max_regex_bytes: 100, ..limits.eval }, ..limits },
            "`max_regex_bytes`",
        ),
        (&pattern, EngineLimits { max_schema_bytes: 1_000, ..limits }, "`max_schema_bytes` 1000"),
    ] {
        let errors = refused(tool, limits);
        assert!(errors.iter().any(|error| error.contains(bound)), "{bound}: {errors:?}");
        assert_eq!(refused(tool, EngineLimits::default()), [""; 0], "{bound}");
    }
}

/// A pattern with many places makes a long text dear, so that no argument takes minutes.
#[test]
fn patterns_make_texts_dear() {
    let told = |pattern: &str, length: usize, max_cost: u64| {
        let tool = tool(json!({ "properties": { "p": { "type": "string", "pattern": pattern } } }));
        let (engine, errors) = load(
            &tool,
            EngineLimits {
                eval: EvalLimits { max_cost, ..EvalLimits::default() },
                ..EngineLimits::default()
            },
        );
        assert_eq!(errors, [""; 0]);
        let arguments = json!({ "p": "0".repeat(length) });
        let decision = decided(start(&engine, "t-1").before(&call("probe", arguments), noon()).unwrap());
        decision.verdict.message().unwrap_or_default().to_owned()
    };
    let (cheap, dear) = ("^[01]+$", "^(?:[01]{1,40}){1,40}$");
    assert_eq!(told(cheap, 1_000_000, 1_000_000), "");
    assert_eq!(told(dear, 1_000, 1_000_000), "");
    assert!(told(dear, 1_000_000, 1_000_000).contains("`max_cost: 1000000`"));
    assert!(told(cheap, 1_000, 50).contains("`max_cost: 50`"));
}
