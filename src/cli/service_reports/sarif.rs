//! Results as SARIF 2.1.0: one run, one result for each problem, one rule for each kind of problem.

use super::{Problem, Results, Weight};
use indexmap::IndexSet;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

/// What a path in an address may have besides letters and digits (RFC 3986).
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The document of these results.
pub(super) fn report(results: &Results) -> String {
    let problems = || results.0.iter().flat_map(|tried| &tried.problems);
    let codes: IndexSet<&str> = problems().map(|problem| problem.code.as_str()).collect();
    let rules: Vec<Value> = codes.iter().map(|code| json!({ "id": code })).collect();
    let results: Vec<Value> = problems().map(|problem| result(problem, &codes)).collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "Celador", "semanticVersion": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{document:#}\n")
}

fn result(problem: &Problem, codes: &IndexSet<&str>) -> Value {
    let Problem { weight, code, message, help, reason, file, start, end } = problem;
    let text = match help {
        Some(help) => format!("{message}\n{help}"),
        None => message.clone(),
    };
    let mut result = json!({
        "ruleId": code,
        "ruleIndex": codes.get_index_of(code.as_str()),
        "level": match weight {
            Weight::Error => "error",
            Weight::Warning => "warning",
            Weight::Allowed => "note",
        },
        "message": { "text": text },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": utf8_percent_encode(&file.replace('\\', "/"), PATH).to_string() },
                "region": {
                    "startLine": start.line,
                    "startColumn": start.column,
                    "endLine": end.line,
                    "endColumn": end.column,
                },
            },
        }],
    });
    if let (Weight::Allowed, Some(result)) = (weight, result.as_object_mut()) {
        let suppression = json!([{ "kind": "inSource", "justification": reason }]);
        result.insert("suppressions".to_owned(), suppression);
    }
    result
}
