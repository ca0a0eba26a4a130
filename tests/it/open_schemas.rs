//! Schemas of listed tools, as JSON Schema has them: which arguments go on, which are refused, which tools are left out.

use celador::limits::EngineLimits;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::{BroughtTool, Call, Engine, Outcome, StartTask, Task, User};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs;
use std::time::SystemTime;

const NOW: SystemTime = SystemTime::UNIX_EPOCH;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    about: String,
    schema: Value,
    #[serde(default)]
    calls: Vec<Given>,
    left_out: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    given: Value,
    runs: Option<Value>,
    refused: Option<String>,
}

/// A task of an agent with these steps, which may call whatever it brings.
fn task(schema: &Value, capability: &str) -> Task {
    let manifests = format!(
        "kind: celador/v1/tools\nnamespace: acme\nname: workbench\nbrought: ['*']\n---\n\
         kind: commonagents.info/v1beta2/agent\nnamespace: acme\nname: clerk\ndescription: Works.\nprompt: Work.\n\
         capabilities:\n  workbench: {capability}\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("workbench.yaml");
    fs::write(&file, manifests).unwrap();
    let engine = Engine::open(&[&file], EngineLimits::default()).unwrap();
    let tool: BroughtTool = serde_json::from_value(json!({ "name": "tool", "inputSchema": schema })).unwrap();
    let start = StartTask::new("t-1", "acme", "clerk", User::default(), NOW);
    engine.start(StartTask { tools: vec![tool], ..start }).unwrap()
}

/// What the call runs with, or why it does not run.
fn call(task: &mut Task, given: &Value) -> Result<Value, String> {
    match task.before(&Call::new("tool", given.clone().into()), NOW).unwrap().outcome() {
        Outcome::Allowed(allowed) => Ok(serde_json::to_value(&allowed.arguments).unwrap()),
        Outcome::Refused(refusal) => Err(refusal.message().to_owned()),
        _ => Err("it waits".to_owned()),
    }
}

#[test]
fn arguments_of_listed_tools_are_held_to_json_schema() {
    let rows = fs::read_to_string("tests/data/open-schemas/arguments.json").unwrap();
    let rows: Vec<Row> = serde_json::from_str(&rows).unwrap();
    for Row { about, schema, calls, left_out } in rows {
        let left = task(&schema, "\"*\"").tools_left_out().to_vec();
        match (&left_out, left.as_slice()) {
            (None, []) => {}
            (Some(reason), [one]) if one.reason.contains(reason) => {}
            _ => panic!("{about}: {left:?}"),
        }
        for Given { given, runs, refused } in calls {
            match (call(&mut task(&schema, "\"*\""), &given), &runs, &refused) {
                (Ok(arguments), Some(runs), None) if arguments == *runs => {}
                (Err(why), None, Some(refused)) if why.contains(refused) => {}
                (found, _, _) => panic!("{about}: {given} gives {found:?}"),
            }
        }
    }
}

#[test]
fn rules_read_arguments_that_no_property_declares() {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let steps = "{before: [{match: tool, assert: \"!has(input.sql) || !input.sql.contains('drop')\"}]}";
    assert!(call(&mut task(&schema, steps), &json!({ "path": "a", "sql": "select 1" })).is_ok());
    assert!(call(&mut task(&schema, steps), &json!({ "path": "a", "sql": "drop table a" })).is_err());
    // no argument that the capability binds is the model's, declared or not
    let bound = "{bindings: {owner: \"'acme'\"}}";
    let given = json!({ "path": "a", "owner": "evil", "other": 1 });
    assert_eq!(call(&mut task(&schema, bound), &given), Ok(json!({ "path": "a", "other": 1 })));
    let declared = json!({ "type": "object", "properties": { "owner": { "type": "string" } } });
    assert_eq!(
        call(&mut task(&declared, bound), &json!({ "owner": "evil", "other": 1 })),
        Ok(json!({ "other": 1, "owner": "acme" }))
    );
}

#[test]
fn the_model_reads_what_a_schema_says_of_all_arguments() {
    let schema = json!({
        "type": "object", "properties": { "a": { "type": "string" }, "owner": {} }, "required": ["a", "b", "owner"],
        "additionalProperties": { "$ref": "#/$defs/other" }, "minProperties": 1,
        "$defs": { "other": { "type": "string", "secret": true } },
    });
    let task = task(&schema, "{bindings: {owner: \"'acme'\"}}");
    let policy = task.policy();
    let function = policy.functions().iter().find(|function| &*function.called == "tool").unwrap();
    assert_eq!(
        *function.schema(),
        json!({
            "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a", "b"],
            "additionalProperties": { "$ref": "#/$defs/other" }, "minProperties": 1,
            "$defs": { "other": { "type": "string" } },
        })
    );
}

#[test]
fn a_name_that_a_schema_does_not_declare_is_asked_for_before_it_is_read() {
    let rows = [
        ("", "input.sql == 'x'", &["unknown_field"][..]),
        ("", "!has(input.sql) || input.sql == 'x'", &[]),
        ("", "input.?sql.orValue('') == 'x'", &[]),
        ("", "!('sql' in input) || input.sql == 'x'", &[]),
        ("", "has(input.paht)", &["near_field"]),
        ("additionalProperties: true", "input.sql == 'x'", &[]),
        ("additionalProperties: {type: string}", "input.sql == 'x'", &[]),
        ("additionalProperties: false", "!has(input.sql)", &["unknown_field"]),
    ];
    for (words, assert, expected) in rows {
        let manifests = format!(
            "kind: celador/v1/tools\nnamespace: acme\nname: tool\ntools:\n  - name: tool\n    inputSchema:\n      type: object\n      \
             properties: {{path: {{type: string}}}}\n      {}\n---\n\
             kind: commonagents.info/v1beta2/agent\nnamespace: acme\nname: clerk\ndescription: Works.\nprompt: Work.\n\
             capabilities:\n  tool: {{before: [{{assert: \"{assert}\"}}]}}\n",
            words
        );
        let file = File { source: Source::new("tool.yaml", &manifests), origin: FileOrigin::Named };
        let (catalog, read) = Catalog::parse(&[file], &EngineLimits::default());
        let (_, compiled) = Engine::from_catalog(&catalog, EngineLimits::default());
        let codes: Vec<_> = read.iter().chain(&compiled).map(|finding| finding.code).collect();
        assert_eq!(codes, expected, "{words} {assert}");
    }
}
