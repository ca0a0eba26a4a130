//! What JSON Schema says of arguments holds: the rows of `tests/data/schemas/words.yaml` through every way in.
//!
//! Each row becomes a tool of its own, whose only parameter has the schema of the row.

use crate::task_fixture::{call, decided, noon};
use celador::cel::Json;
use celador::engine::Engine;
use celador::limits::{EngineLimits, EvalLimits};
use celador::manifest::json_schema::words::{FORMATS, Treatment, WORDS};
use celador::manifest::yaml;
use celador::scenario::{CaseOutcome, Palette, Runner, load_cases};
use celador::source::Source;
use celador::task::{StartTask, Task, User, VerdictKind};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

pub(crate) struct Row {
    pub(crate) word: String,
    pub(crate) schema: Value,
    pub(crate) definitions: Value,
    pub(crate) values: Vec<(Value, bool)>,
    pub(crate) says: Option<String>,
}

pub(crate) fn rows() -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/schemas/words.yaml");
    let source = Source::new("words.yaml", fs::read_to_string(path).unwrap());
    let mut findings = Vec::new();
    let documents = yaml::parse(&source, &EngineLimits::default(), &mut findings);
    assert!(findings.is_empty(), "{}", findings[0].render(false));
    let rows = documents[0].node.to_json();
    let list = |row: &Value, key: &str| row[key].as_array().cloned().unwrap_or_default();
    let row = |row: &Value| Row {
        word: row["word"].as_str().unwrap().to_owned(),
        schema: row["schema"].clone(),
        definitions: row["defs"].clone(),
        values: list(row, "fits")
            .into_iter()
            .map(|value| (value, true))
            .chain(list(row, "not").into_iter().map(|value| (value, false)))
            .collect(),
        says: row["says"].as_str().map(str::to_owned),
    };
    rows.as_array().unwrap().iter().map(row).collect()
}

fn tool(number: usize, row: &Row) -> Value {
    let mut parameters = json!({ "properties": { "v": row.schema } });
    if !row.definitions.is_null() {
        parameters["$defs"] = row.definitions.clone();
    }
    json!({
        "kind": "commonagents.info/v1beta2/tool", "namespace": "demo", "name": format!("r{number}"),
        "description": "Takes a value.",
        "actions": [{"name": "take", "description": "Takes.", "parameters": parameters,
            "execute": {"stateless_http": {"method": "POST", "url": "https://svc.example.com/run"}}}],
    })
}

pub(crate) fn agent(capabilities: Value) -> Value {
    json!({
        "kind": "commonagents.info/v1beta2/agent", "namespace": "demo", "name": "clerk",
        "description": "Test agent.", "prompt": "You are a careful clerk.", "capabilities": capabilities,
    })
}

fn manifests(rows: &[Row]) -> String {
    let tools = rows.iter().enumerate().map(|(number, row)| tool(number, row));
    let capabilities = (0..rows.len()).map(|number| (format!("r{number}"), json!("*"))).collect();
    let documents = tools.chain([agent(Value::Object(capabilities))]);
    documents.map(|document| format!("---\n{document}\n")).collect()
}

pub(crate) fn engine(manifests: &str) -> Engine {
    let (engine, findings) = crate::task_fixture::parse("test.yaml", manifests);
    let errors: Vec<_> = findings.iter().filter(|finding| finding.is_error()).collect();
    assert!(errors.is_empty(), "{}", errors[0].render(false));
    engine
}

pub(crate) fn start(engine: &Engine, id: &str) -> Task {
    let user = User { id: "u-1".into(), email: None, ..User::default() };
    engine.start(StartTask::new(id, "demo", "clerk", user, noon())).unwrap()
}

/// The values of all rows, each with the number of its row.
pub(crate) fn values(rows: &[Row]) -> impl Iterator<Item = (usize, &Row, &Value, bool)> {
    let rows = rows.iter().enumerate();
    rows.flat_map(|(number, row)| row.values.iter().map(move |(value, fits)| (number, row, value, *fits)))
}

/// What is wrong with an answer, if it is not the one that the row has.
fn wrong(row: &Row, value: &Value, fits: bool, verdict: &str, message: &str) -> Option<String> {
    let expected = if fits { "allow" } else { "error" };
    let says = row.says.as_deref().filter(|_| !fits);
    let right = verdict == expected && says.is_none_or(|says| message.contains(says));
    let names = fits || message.contains("the parameter `v");
    (!right || !names).then(|| format!("{} {}: {value}: {verdict} {message}", row.word, row.schema))
}

pub(crate) fn none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

fn word_of(verdict: VerdictKind) -> String {
    serde_json::to_value(verdict).unwrap().as_str().unwrap().to_owned()
}

/// Covers: PAR-08
#[test]
fn every_word_that_is_enforced_has_a_row() {
    let rows = rows();
    let told = |fits: bool| {
        let with = rows.iter().filter(move |row| row.values.iter().any(|(_, value)| *value == fits));
        with.map(|row| row.word.as_str()).collect::<BTreeSet<_>>()
    };
    let (fits, not) = (told(true), told(false));
    let words = WORDS.iter().filter(|word| word.treatment == Treatment::Enforced).map(|word| word.name);
    let formats = FORMATS.iter().filter(|format| format.treatment == Treatment::Enforced);
    for name in words.chain(formats.map(|format| format.name)) {
        assert!(fits.contains(name) && not.contains(name), "`{name}` has no row with both");
    }
}

/// The page lists every word and every format, with what becomes of it, and no other.
#[test]
fn the_page_and_the_engine_know_the_same_words() {
    let row = |name: &str, treatment: Treatment, about: &str| {
        let treatment = match treatment {
            Treatment::Enforced => "enforced",
            Treatment::Annotation => "annotation",
            Treatment::Refused(_) => "refused",
        };
        format!("| `{name}` | {treatment} | {about} |")
    };
    let words = WORDS.iter().map(|word| row(word.name, word.treatment, word.about));
    let formats = FORMATS.iter().map(|format| row(format.name, format.treatment, format.about));
    let expected: Vec<_> = words.chain(formats).collect();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schemas.md");
    let page = fs::read_to_string(page).unwrap();
    let found: Vec<_> = page.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(found, expected);
}

/// Covers: PAR-08, PAR-09
#[test]
fn arguments_are_held_to_their_schemas() {
    let rows = rows();
    let engine = engine(&manifests(&rows));
    let mut task = start(&engine, "t-1");
    let mut found = Vec::new();
    for (number, row, value, fits) in values(&rows) {
        let decision =
            decided(task.before(&call(&format!("r{number}"), json!({ "v": value })), noon()).unwrap());
        let message = decision.verdict.message().unwrap_or_default();
        found.extend(wrong(row, value, fits, &word_of(decision.verdict.kind()), message));
        // nothing of a text of the caller stands in what is said of it
        let secret = json!({ "v": "a text that nobody declared" });
        let decision = decided(task.before(&call(&format!("r{number}"), secret), noon()).unwrap());
        assert!(
            !decision.verdict.message().unwrap_or_default().contains("nobody declared"),
            "{}",
            row.schema
        );
    }
    none(found);
}

/// A task that was stored and opened again holds to the same.
#[cfg(feature = "store")]
#[test]
fn stored_tasks_hold_to_schemas() {
    use celador_store::{Database, Location, NewEvent, OperationKind, Owner, StoreLimits, StoredTasks};
    let rows = rows();
    let engine = engine(&manifests(&rows));
    let limits = StoreLimits::default();
    let store = StoredTasks::new(Database::open(&Location::Memory, &limits).unwrap(), &limits);
    let owner = Owner::caller("kim");
    store.create(&owner, &start(&engine, "t-1"), noon(), None).unwrap();
    let mut found = Vec::new();
    for (number, row, value, fits) in values(&rows) {
        let loaded = store.load(&owner, "t-1").unwrap();
        let mut task = engine.restore(loaded.saved).unwrap();
        let mark = task.mark();
        let decision =
            decided(task.before(&call(&format!("r{number}"), json!({ "v": value })), noon()).unwrap());
        let message = decision.verdict.message().map(str::to_owned).unwrap_or_default();
        found.extend(wrong(row, value, fits, &word_of(decision.verdict.kind()), &message));
        let (operation, at, decision) = (OperationKind::Before, noon(), Some(&decision));
        let step = NewEvent { operation, at, task: &task, before: &mark, decision, once: None };
        store.append(&loaded.head, &step).unwrap();
    }
    none(found);
}

/// The parameters of an agent are held to their schemas like those of a tool, and the text of a message to that of
/// `message`.
#[test]
fn inputs_are_held_to_the_schemas_of_their_agent() {
    let mut found = Vec::new();
    for row in rows() {
        let mut document = agent(json!({}));
        document["parameters"] = tool(0, &row)["actions"][0]["parameters"].clone();
        document["parameters"]["properties"]["message"] = json!({ "type": "string", "maxLength": 5 });
        let engine = engine(&document.to_string());
        let mut task = start(&engine, "t-1");
        for (value, fits) in &row.values {
            let decision = decided(task.input(&json!({ "message": "hi", "v": value }).into(), noon()));
            let message = decision.verdict.message().unwrap_or_default();
            let verdict = match decision.verdict.kind() {
                VerdictKind::InvalidInput => "error".to_owned(),
                other => word_of(other),
            };
            found.extend(wrong(&row, value, *fits, &verdict, message));
        }
        let (fits, _) = row.values.iter().find(|(_, fits)| *fits).unwrap();
        for message in [json!("too long"), json!([{ "text": "too" }, { "text": " long" }])] {
            let decision = decided(task.input(&json!({ "message": message, "v": fits }).into(), noon()));
            assert_eq!(decision.verdict.kind(), VerdictKind::InvalidInput);
            assert!(
                decision
                    .verdict
                    .message()
                    .unwrap()
                    .contains("`message`: the value does not keep to `maxLength: 5`")
            );
        }
    }
    none(found);
}

/// The same over HTTP.
#[cfg(feature = "server")]
#[test]
fn the_server_holds_to_schemas() {
    use crate::serving::Serving;
    use celador_store::Location;
    let rows = rows();
    let serving = Serving::with(&Location::Memory, |settings, folder| {
        fs::write(folder.join("all.yaml"), manifests(&rows)).unwrap();
        settings.policies = vec![folder.join("all.yaml")];
    });
    let post = |path: &str, body: Value| {
        let headers = [("content-type", "application/json")];
        serving.send("POST", path, &headers, body.to_string().as_bytes())
    };
    let begun = post("/v1/tasks", json!({ "namespace": "demo", "agent": "clerk", "user": { "id": "u-1" } }));
    let begun = begun.json();
    let id = begun["task"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    let mut found = Vec::new();
    for (number, row, value, fits) in values(&rows) {
        let body = json!({ "function": format!("r{number}"), "arguments": { "v": value } });
        let reply = post(&format!("/v1/tasks/{id}/before"), body).json();
        let [verdict, message] =
            ["verdict", "message"].map(|key| reply["decided"][key].as_str().unwrap_or_default());
        found.extend(wrong(row, value, fits, verdict, message));
    }
    none(found);
}

/// The same in cases, which is what `celador run` and `celador test` do.
#[test]
fn cases_hold_to_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let rows = rows();
    let mut count = 0;
    for (at, (number, row, value, fits)) in values(&rows).enumerate() {
        let tool = tool(number, row);
        let agent = agent(json!({ format!("r{number}"): "*" }));
        let case = json!({
            "name": format!("row-{at}"),
            "about": row.word,
            "manifest": { "agent": agent, "tools": [tool] },
            "call": { "op": "invoke", "fn": format!("r{number}"), "args": { "v": value } },
            "expect": { "decision": if fits { "allow" } else { "error" } },
        });
        fs::write(folder.path().join(format!("row-{at}.yaml")), case.to_string()).unwrap();
        count += 1;
    }
    all_pass(folder.path(), count);
}

/// Runs the cases of a folder, which are so many, and all of them have to pass.
pub fn all_pass(folder: &Path, mut count: usize) {
    let limits = EngineLimits::default();
    let mut runner = Runner::new(limits);
    let mut failures = String::new();
    for loaded in load_cases(&[folder], &limits).unwrap() {
        let report = loaded.map_or_else(|report| report, |case| runner.run(&case));
        count -= 1;
        if !matches!(report.outcome, CaseOutcome::Passed) {
            failures.push_str(&report.render(&Palette::PLAIN));
        }
    }
    assert!(failures.is_empty(), "{failures}");
    assert_eq!(count, 0);
}

/// What the model is shown says the same: its references lead into its own definitions, and nothing of what is hidden
/// stands in it (BND-20).
#[test]
fn what_the_model_sees_stands_on_its_own() {
    let parameters = json!({
        "$defs": { "money": { "type": "number", "maximum": 10 }, "unused": { "const": "hidden" } },
        "properties": {
            "v": { "$ref": "#/$defs/money", "description": "How much." },
            "w": { "$ref": "#/properties/owner" },
            "owner": { "type": "string", "maxLength": 3, "require_binding": true },
        },
    });
    let mut tool = tool(0, &rows()[0]);
    tool["actions"][0]["parameters"] = parameters;
    let agent = agent(json!({ "r0": { "bindings": { "owner": "'acme'" } } }));
    let (engine, _) = crate::task_fixture::parse("test.yaml", &format!("{tool}\n---\n{agent}\n"));
    let mut task = start(&engine, "t-1");
    let offers: Vec<Value> = task.offers().map(|offer| offer.schema.clone()).collect();
    let expected = json!({
        "type": "object",
        "properties": {
            "v": { "$ref": "#/$defs/money", "description": "How much." },
            "w": { "$ref": "#/$defs/schema" },
        },
        "required": ["v", "w"],
        "$defs": {
            "money": { "type": "number", "maximum": 10 },
            "schema": { "type": "string", "maxLength": 3 },
        },
    });
    assert_eq!(offers, [expected]);
    // a binding is held to its schema, too
    let decision = decided(task.before(&call("r0", json!({ "v": 1, "w": "abc" })), noon()).unwrap());
    assert_eq!(word_of(decision.verdict.kind()), "error");
    let codes: Vec<_> = decision.findings.iter().map(|finding| finding.code.clone()).collect();
    assert_eq!(codes, ["binding_misfit"]);
}

/// Schemas that refer to themselves go as deep as values may, on the stack of any thread, and work is bounded.
#[test]
fn recursion_is_bounded() {
    let branch = |word: &str| json!({ word: [{ "items": { "$ref": "#/$defs/n" } }, { "items": { "$ref": "#/$defs/n" } }] });
    for definitions in [
        json!({ "n": branch("allOf") }),
        json!({ "n": { "anyOf": [{ "type": "string" }, branch("oneOf"), branch("anyOf")] } }),
        json!({ "n": { "allOf": [{ "allOf": [{ "allOf": [{ "allOf": [{ "allOf": [
            { "type": "array", "items": { "$ref": "#/$defs/n" }, "uniqueItems": true }
        ] }] }] }] }] } }),
    ] {
        let mut row = Row { definitions, ..rows().remove(0) };
        row.schema = json!({ "$ref": "#/$defs/n" });
        let engine = engine(&manifests(&[row]));
        let mut task = start(&engine, "t-1");
        for depth in [3_usize, 20, 97] {
            for leaf in ["", "1"] {
                let text = format!("{{\"v\":{}{leaf}{}}}", "[".repeat(depth), "]".repeat(depth));
                let arguments = Json::parse(&text, &EvalLimits::default()).unwrap();
                let call = celador::task::Call::new("r0", arguments);
                let decision = decided(task.before(&call, noon()).unwrap());
                assert!(matches!(decision.verdict.kind(), VerdictKind::Allow | VerdictKind::Error));
            }
        }
    }
}
