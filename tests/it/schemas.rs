//! The JSON Schemas of `celador schema` and the readers know the same keys, and what is clean fits its schema.
//!
//! The schemas use a part of JSON Schema that the validator below knows whole; a keyword that it does not know fails.

use celador::limits::EngineLimits;
use celador::manifest::yaml;
use celador::source::Source;
use regex::Regex;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const KINDS: [&str; 9] =
    ["manifest", "agent", "tool", "trigger", "schedule", "bundledescription", "mount", "case", "script"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn schema(kind: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_celador")).args(["schema", kind]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What of a value does not fit a schema; nothing if it fits.
pub(crate) fn misfit(schema: &Value, value: &Value, definitions: &Map<String, Value>) -> Option<String> {
    let Value::Object(keywords) = schema else { panic!("no schema: {schema}") };
    let fits = |schema: &Value| misfit(schema, value, definitions).is_none();
    keywords.iter().find_map(|(keyword, wanted)| {
        let list = || wanted.as_array().unwrap();
        let size = || wanted.as_u64().unwrap() as usize;
        let object = value.as_object();
        match keyword.as_str() {
            // what says nothing of a value that is not said by the others
            "$schema" | "$defs" | "title" | "description" | "format" | "default" => return None,
            "$ref" => {
                let name = wanted.as_str().unwrap().rsplit('/').next().unwrap();
                return misfit(&definitions[name], value, definitions);
            }
            "properties" => {
                return wanted.as_object().unwrap().iter().find_map(|(key, schema)| {
                    let found = misfit(schema, object?.get(key)?, definitions)?;
                    Some(format!("{key}: {found}"))
                });
            }
            "additionalProperties" => {
                let known = keywords.get("properties").and_then(Value::as_object);
                let mut others =
                    object?.iter().filter(|(key, _)| !known.is_some_and(|known| known.contains_key(*key)));
                return others.find_map(|(key, value)| match wanted {
                    Value::Bool(true) => None,
                    Value::Bool(false) => Some(format!("{key}: unknown key")),
                    schema => Some(format!("{key}: {}", misfit(schema, value, definitions)?)),
                });
            }
            "prefixItems" => {
                let mut items = value.as_array()?.iter().zip(list());
                return items.find_map(|(item, schema)| misfit(schema, item, definitions));
            }
            "items" => {
                return value.as_array()?.iter().find_map(|item| misfit(wanted, item, definitions));
            }
            "anyOf" | "oneOf" => {
                let found = list().iter().filter(|schema| fits(schema)).count();
                let fits = if keyword == "anyOf" { found > 0 } else { found == 1 };
                return (!fits).then(|| format!("{keyword}: {found} fit"));
            }
            "not" => !fits(wanted),
            "propertyNames" => object.is_none_or(|object| {
                object.keys().all(|key| misfit(wanted, &json!(key), definitions).is_none())
            }),
            "required" => object
                .is_none_or(|object| list().iter().all(|key| object.contains_key(key.as_str().unwrap()))),
            "dependentRequired" => object.is_none_or(|object| {
                let mut rows = wanted.as_object().unwrap().iter();
                rows.all(|(key, others)| {
                    let mut others = others.as_array().unwrap().iter();
                    !object.contains_key(key) || others.all(|key| object.contains_key(key.as_str().unwrap()))
                })
            }),
            "type" => match wanted {
                Value::Array(types) => types.iter().any(|name| is(value, name.as_str().unwrap())),
                name => is(value, name.as_str().unwrap()),
            },
            "enum" => list().contains(value),
            "const" => wanted == value,
            "pattern" => {
                value.as_str().is_none_or(|text| Regex::new(wanted.as_str().unwrap()).unwrap().is_match(text))
            }
            "minLength" => value.as_str().is_none_or(|text| text.chars().count() >= size()),
            "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().unwrap()),
            "minProperties" => object.is_none_or(|object| object.len() >= size()),
            "maxProperties" => object.is_none_or(|object| object.len() <= size()),
            "minItems" => value.as_array().is_none_or(|items| items.len() >= size()),
            "maxItems" => value.as_array().is_none_or(|items| items.len() <= size()),
            _ => panic!("the keyword `{keyword}` is not known here"),
        }
        .then_some(())
        .map_or_else(|| Some(format!("{keyword} {wanted} does not hold")), |()| None)
    })
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("no type: {name}"),
    }
}

fn fits(kind: &str, value: &Value) -> Option<String> {
    let schema = schema(kind);
    misfit(&schema, value, schema["$defs"].as_object().unwrap())
}

fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { yaml_files(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect()
}

/// The documents of a file.
fn documents(path: &Path) -> Vec<Value> {
    let Ok(text) = fs::read_to_string(path) else { return Vec::new() };
    let source = Source::new(path.display().to_string(), text);
    let mut findings = Vec::new();
    let documents = yaml::parse(&source, &EngineLimits::default(), &mut findings);
    documents.iter().map(|document| document.node.to_json()).collect()
}

/// The kind of a document, by which its schema is chosen.
fn kind_of(document: &Value) -> Option<&str> {
    match document.get("kind").and_then(Value::as_str) {
        Some(kind) => kind.rsplit('/').next(),
        None if document.get("call").is_some() => Some("case"),
        None if document.get("steps").is_some() => Some("script"),
        None if document.get("path_prefixes").is_some() => Some("mount"),
        None => None,
    }
}

/// Whether documents have no finding; a bare word and a constant are a matter of taste.
fn is_clean(text: &str) -> bool {
    let (_, findings) = crate::task_fixture::parse("clean.yaml", text);
    findings.iter().all(|finding| matches!(finding.code, "bare_word" | "constant"))
}

#[test]
fn what_is_clean_fits_its_schema() {
    let schemas = KINDS.map(|kind| (kind, schema(kind)));
    let fits = |kind: &str, document: &Value| {
        let (_, schema) = schemas.iter().find(|(name, _)| *name == kind).unwrap();
        misfit(schema, document, schema["$defs"].as_object().unwrap())
    };
    let mut wrong = Vec::new();
    let mut counts = [0_usize; 2];
    for folder in ["policies", "examples", "tests/data/cases", "tests/data/cli/files/good", "src/cli/starter"]
    {
        for path in yaml_files(&root().join(folder)) {
            for document in documents(&path) {
                let Some(kind) = kind_of(&document) else { continue };
                counts[0] += 1;
                wrong.extend(fits(kind, &document).map(|misfit| format!("{}: {misfit}", path.display())));
                if kind == "case" {
                    let manifests = inline(&document);
                    let text =
                        manifests.iter().map(|one| format!("{one}\n")).collect::<Vec<_>>().join("---\n");
                    if !manifests.is_empty() && is_clean(&text) {
                        for manifest in &manifests {
                            counts[1] += 1;
                            let misfit = fits("manifest", manifest);
                            wrong.extend(misfit.map(|misfit| format!("{}: {misfit}", path.display())));
                        }
                    }
                }
            }
        }
    }
    assert!(counts[0] > 500 && counts[1] > 500, "only {counts:?} were looked at");
    assert!(wrong.is_empty(), "{} of {counts:?}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The manifests that stand in a case.
fn inline(case: &Value) -> Vec<Value> {
    let Some(manifests) = case.get("manifest").and_then(Value::as_object) else { return Vec::new() };
    if manifests.contains_key("files") {
        return Vec::new();
    }
    let all = manifests.values().flat_map(|value| match value {
        Value::Array(items) => items.clone(),
        one => vec![one.clone()],
    });
    all.collect()
}

#[test]
fn what_the_reader_refuses_the_schema_refuses() {
    let agent = |more: Value| {
        let mut agent = json!({ "kind": "commonagents.info/v1beta2/agent", "namespace": "n", "name": "a" });
        agent.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        agent
    };
    let step = |step: Value| agent(json!({ "capabilities": { "t": { "before": [step] } } }));
    assert_eq!(fits("agent", &agent(json!({}))), None);
    assert_eq!(fits("manifest", &step(json!({ "assert": "true", "on_fail": "block" }))), None);
    for wrong in [
        agent(json!({ "colour": 1 })),
        agent(json!({ "limits": { "max_turn": 1 } })),
        agent(json!({ "limits": { "max_turns": -1 } })),
        agent(json!({ "limits": { "max_age": "2 hours" } })),
        agent(json!({ "mount": "user" })),
        agent(json!({ "capabilities": { "t": {} } })),
        agent(json!({ "capabilities": { "t": "all" } })),
        agent(json!({ "capabilities": { "t": { "befor": [] } } })),
        agent(json!({ "guardrails": { "before_first": [] } })),
        agent(json!({ "guardrails": { "before": [{ "assert": "true", "on_fail": "block" }] } })),
        agent(json!({ "exposes": { "message": "1" } })),
        step(json!({ "condition": "true" })),
        step(json!({ "assert": "true", "invoke": "a:b" })),
        step(json!({ "assert": "true", "bindings": {} })),
        step(json!({ "transform": "1" })),
        step(json!({ "assert": "true", "on_fail": "warn" })),
    ] {
        assert!(fits("manifest", &wrong).is_some() && !is_clean(&wrong.to_string()), "{wrong}");
    }
}

/// The keys of all `properties` of a schema.
fn keys_of(schema: &Value, keys: &mut BTreeSet<String>) {
    match schema {
        Value::Object(keywords) => {
            if let Some(properties) = keywords.get("properties").and_then(Value::as_object) {
                keys.extend(properties.keys().cloned());
            }
            keywords.values().for_each(|value| keys_of(value, keys));
        }
        Value::Array(items) => items.iter().for_each(|value| keys_of(value, keys)),
        _ => {}
    }
}

/// The sources of the readers. What only says what is wrong stands in a folder of its own, and reads nothing.
fn readers() -> impl Iterator<Item = PathBuf> {
    let folders =
        ["src/engine/manifest", "src/engine/manifest/json_schema", "src/engine/scenario"].into_iter();
    let entries = folders.flat_map(|folder| fs::read_dir(root().join(folder)).unwrap());
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
}

/// Keys are read by name, so the names in the readers' sources are the keys that they know.
#[test]
fn the_readers_and_the_schemas_know_the_same_keys() {
    let mut known = BTreeSet::new();
    for kind in KINDS {
        keys_of(&schema(kind), &mut known);
    }
    let mut read = BTreeSet::new();
    let asked = Regex::new(
        r#"(?s)\b(?:written|get|required|text|name|boolean|duration|texts|required_text|string|strings|time|word|json|object|items|fields|by_name|read_block|read_steps|read_required_object)\(\s*(?:&mut \w+,\s*|\w+,\s*)?"([a-zA-Z_]+)""#,
    )
    .unwrap();
    for path in readers() {
        if path.ends_with("snapshot.rs") {
            // what `celador eval` writes and reads back, and nobody edits
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        read.extend(asked.captures_iter(code).map(|found| found[1].to_owned()));
    }
    let missing: Vec<_> = read.difference(&known).collect();
    assert!(missing.is_empty(), "read, and in no schema: {missing:?}");
    assert!(read.len() > 60, "only {} keys were found", read.len());

    let sources: String = readers().map(|path| fs::read_to_string(path).unwrap()).collect();
    let unread: Vec<_> = known.iter().filter(|key| !sources.contains(&format!("\"{key}\""))).collect();
    assert!(unread.is_empty(), "in a schema, and never read: {unread:?}");
}

/// A document with every key of an object's schema has no key that its reader does not know.
#[test]
fn the_reader_knows_every_key_of_its_schema() {
    for kind in ["agent", "tool", "trigger", "schedule", "bundledescription"] {
        let schema = schema(kind);
        let properties = schema["$defs"][kind]["properties"].as_object().unwrap();
        let mut document: Map<String, Value> =
            properties.keys().map(|key| (key.clone(), json!({ "x": "y" }))).collect();
        // of v1, in a tool, the old name is read in place of the new one
        if kind == "tool" {
            document.remove("capabilities");
        }
        document.insert("kind".to_owned(), json!(format!("commonagents.info/v1/{kind}")));
        let (_, findings) =
            crate::task_fixture::parse("every-key.yaml", &Value::Object(document).to_string());
        let unknown = findings.iter().filter(|finding| {
            matches!(finding.code, "unknown_key" | "ignored_key") && !finding.path.contains('.')
        });
        let unknown: Vec<_> = unknown.map(ToString::to_string).collect();
        assert!(unknown.is_empty(), "{kind}: {unknown:?}");
    }
}
