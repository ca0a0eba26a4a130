//! The official JSON Schema Test Suite (draft 2020-12), unchanged, against the schemas of results.
//!
//! The folder is `target/json-schema-suite`, which `tests/fetch-schema-suite` fills. Each group of the suite becomes a tool
//! whose action returns what its schema says. A group whose schema is refused when it is loaded stands in
//! `tests/data/schemas/suite.txt` with the codes of the findings, a test that comes out otherwise with the answer; that file is
//! held both ways, so that nothing is passed over in silence. `UPDATE_EXPECT=1` writes it, reasons are written by hand above.

use crate::schema_values::{agent, start};
use crate::suites::{missing, root};
use crate::task_fixture::{call, decided, noon};
use celador::cel::Json;
use celador::limits::EvalLimits;
use celador::task::{CallResult, Task};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const EXPECTED: &str = "tests/data/schemas/suite.txt";

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    files
}

/// A task of an agent whose tool returns this, or the codes of what is wrong with it.
fn task(schema: &Value) -> Result<Task, String> {
    let output = if schema.is_object() { schema.clone() } else { json!({ "allOf": [schema] }) };
    let tool = json!({
        "kind": "commonagents.info/v1beta2/tool", "namespace": "demo", "name": "t", "description": "Gives a value.",
        "actions": [{"name": "take", "description": "Gives.", "output": output,
            "execute": {"stateless_http": {"method": "POST", "url": "https://svc.example.com/run"}}}],
    });
    let text = format!("{tool}\n---\n{}\n", agent(json!({ "t": "*" })));
    let (engine, findings) = crate::task_fixture::parse("suite.yaml", &text);
    let wrong: BTreeSet<&str> = findings
        .iter()
        .filter(|finding| finding.is_error() || finding.is_refused())
        .map(|finding| finding.code)
        .collect();
    if wrong.is_empty() {
        Ok(start(&engine, "t-1"))
    } else {
        Err(wrong.into_iter().collect::<Vec<_>>().join(" "))
    }
}

/// Whether a result fits; nothing if it is a document that the engine does not take.
fn fits(task: &mut Task, data: &Value) -> Option<bool> {
    let output = Json::parse(&data.to_string(), &EvalLimits::default()).ok()?;
    let admitted = decided(task.before(&call("t", json!({})), noon()).unwrap());
    let decision = task.after(&admitted.call.unwrap(), CallResult::successful(output), noon()).unwrap();
    Some(decided(decision).findings.is_empty())
}

#[test]
fn the_official_suite() {
    let folder = root().join("target/json-schema-suite");
    let files = files(&folder);
    if files.is_empty() {
        missing("schema suite", "tests/fetch-schema-suite");
        return;
    }
    let (mut passed, mut refused) = (0_usize, 0_usize);
    let mut found = Vec::new();
    for path in &files {
        let file = path.strip_prefix(&folder).unwrap().display().to_string();
        let groups: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        for group in groups.as_array().unwrap() {
            let [about, tests] = [&group["description"], &group["tests"]];
            let tests = tests.as_array().unwrap();
            let mut task = match task(&group["schema"]) {
                Ok(task) => task,
                Err(codes) => {
                    refused += tests.len();
                    found.push(format!("{file}: {about}: refused: {codes}"));
                    continue;
                }
            };
            for test in tests {
                let fits = fits(&mut task, &test["data"]);
                if fits == test["valid"].as_bool() {
                    passed += 1;
                } else {
                    let answer =
                        fits.map_or("is no document", |fits| if fits { "fits" } else { "does not fit" });
                    found.push(format!("{file}: {about}: {}: {answer}", test["description"]));
                }
            }
        }
    }
    let written = fs::read_to_string(EXPECTED).unwrap_or_default();
    let is_reason = |line: &&str| line.starts_with('#') || line.is_empty();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let reasons: Vec<&str> = written.lines().filter(is_reason).collect();
        fs::write(EXPECTED, format!("{}\n{}\n", reasons.join("\n"), found.join("\n"))).unwrap();
    }
    let expected: BTreeSet<&str> = written.lines().filter(|line| !is_reason(line)).collect();
    let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    println!(
        "schema suite: {passed} passed, {refused} of refused schemas, {} lines of differences",
        found.len()
    );
    assert_eq!((passed, refused), (1_593, 186), "no test is lost");
    let changed: Vec<_> = expected.symmetric_difference(&found).collect();
    assert!(changed.is_empty(), "{EXPECTED} differs:\n{changed:#?}");
}
