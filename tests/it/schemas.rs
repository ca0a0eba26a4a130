//! The JSON Schemas of `celador schema` judge as the readers do, key by key, and what is clean fits its schema.
//!
//! The schemas use a part of JSON Schema that the validator below knows whole; a keyword that it does not know fails.

use celador::Diagnostic;
use celador::limits::EngineLimits;
use celador::manifest::yaml;
use celador::prove::Invariants;
use celador::scenario::{self, CaseOutcome, Script};
use celador::source::Source;
use regex::Regex;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const KINDS: [&str; 12] = [
    "manifest",
    "agent",
    "tool",
    "tools",
    "policy",
    "trigger",
    "schedule",
    "bundledescription",
    "mount",
    "case",
    "script",
    "invariants",
];

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
            "uniqueItems" => value.as_array().is_none_or(|items| {
                items.iter().enumerate().all(|(at, item)| !items[..at].contains(item))
                    || *wanted == json!(false)
            }),
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
        None if ["expect", "cases", "story"].iter().any(|key| document.get(key).is_some()) => Some("case"),
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

/// A value that fits a schema and has no more than it must have.
fn sample(schema: &Value, definitions: &Map<String, Value>) -> Value {
    let first = |list: &str| schema[list].as_array().and_then(|list| list.first());
    if let Some(name) = schema["$ref"].as_str() {
        return sample(&definitions[name.rsplit('/').next().unwrap()], definitions);
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(word) = first("enum") {
        return word.clone();
    }
    // what only says which keys must be there is no form of its own
    let any = first("anyOf").filter(|_| schema.get("properties").is_none());
    if let Some(one) = any.or_else(|| if schema["type"].is_null() { first("oneOf") } else { None }) {
        return sample(one, definitions);
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("string") => {
            let known = ["x", "1h", "a:b"].map(str::to_owned).into_iter();
            let pattern = schema["pattern"].as_str().unwrap_or_default();
            let kind = pattern.rsplit('/').next().unwrap().trim_end_matches('$');
            let mut texts = known.chain([format!("commonagents.info/v1/{kind}")]);
            texts.find(|text| Regex::new(pattern).unwrap().is_match(text)).map(Value::from).unwrap()
        }
        Some("null") => Value::Null,
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(1),
        Some("array") => {
            let items = schema["minItems"].as_u64().unwrap_or_default();
            (0..items).map(|_| sample(&schema["items"], definitions)).collect()
        }
        Some("object") => {
            let mut object = Map::new();
            let forms = ["oneOf", "anyOf"].map(|list| first(list).map(|one| &one["required"]));
            let required = [schema.get("required")].into_iter().chain(forms).flatten();
            for key in required.filter_map(Value::as_array).flatten().map(|key| key.as_str().unwrap()) {
                object.insert(key.to_owned(), sample(&schema["properties"][key], definitions));
            }
            if object.is_empty() && schema["minProperties"] == 1 {
                let any = schema["properties"].as_object().and_then(|keys| keys.iter().next());
                let (key, value) =
                    any.map_or(("x", &schema["additionalProperties"]), |(key, value)| (key, value));
                object.insert(key.to_owned(), sample(value, definitions));
            }
            Value::Object(object)
        }
        _ => json!("x"),
    }
}

/// A document that has one key with a value that fits the key's schema, and one with a value that does not; and where the schema has a default the texts of
/// two documents, of which one has it and one has no such key, and which have all else at the same places.
struct Probe {
    path: String,
    fits: Value,
    misfits: Option<Value>,
    default: Option<[String; 2]>,
}

/// A value that takes the place of another.
const MARK: &str = "marked";

/// A text with a value in the place of the mark, and without the key, with blanks in its place.
fn with_and_without(key: &str, value: &str, text: &str) -> [String; 2] {
    let mark = json!(MARK).to_string();
    let pair = format!("{}:{mark}", json!(key));
    let forms = [format!(",{pair}"), format!("{pair},"), pair];
    let form = forms.iter().find(|form| text.contains(*form)).unwrap();
    let blanks = " ".repeat(form.len() - mark.len() + value.len());
    [text.replace(&mark, value), text.replace(form, &blanks)]
}

/// The keys of a schema and of all that is in it, each probed in a document that `around` makes of the value here.
fn probes(
    schema: &Value,
    definitions: &Map<String, Value>,
    path: &str,
    around: &dyn Fn(Value) -> Value,
    found: &mut Vec<Probe>,
) {
    if let Some(name) = schema["$ref"].as_str() {
        return probes(&definitions[name.rsplit('/').next().unwrap()], definitions, path, around, found);
    }
    let forms = ["anyOf", "oneOf"].into_iter().filter_map(|word| schema[word].as_array()).flatten();
    // a form that only says more of keys that are described beside it has no keys of its own
    let is_own = |form: &&Value| {
        let is_whole = form.get("type").is_some() || schema.get("properties").is_none();
        is_whole && (form.get("required").is_none() || form.get("properties").is_some())
    };
    for form in forms.filter(is_own) {
        probes(form, definitions, path, around, found);
    }
    if let Some(items) = schema.get("items") {
        let around = |value: Value| around(json!([value]));
        probes(items, definitions, &format!("{path}[0]"), &around, found);
    }
    let by_name =
        schema.get("additionalProperties").filter(|others| others.is_object()).map(|schema| ("x", schema));
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (key, schema_of_key) in properties.map(|(key, schema)| (key.as_str(), schema)).chain(by_name) {
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let around = |value: Value| {
            let mut mapping = sample(schema, definitions);
            let object = mapping.as_object_mut().unwrap();
            // exactly one of some keys may be there
            let one_of = || schema["oneOf"].as_array().into_iter().flatten().map(|one| &one["required"]);
            if one_of().any(|required| *required == json!([key])) {
                object.retain(|name, _| !one_of().any(|required| *required == json!([name])));
            }
            if schema["maxProperties"] == 1 {
                object.clear();
            }
            for needed in schema["dependentRequired"][key].as_array().into_iter().flatten() {
                object.clear();
                let needed = needed.as_str().unwrap();
                object.insert(needed.to_owned(), sample(&schema["properties"][needed], definitions));
            }
            object.insert(key.to_owned(), value);
            around(mapping)
        };
        let wrong = [json!(7.5), json!("\u{1}"), json!([[7.5]]), json!({ "\u{1}": 7.5 }), json!(-7)];
        let mut wrong = wrong.into_iter().filter(|value| misfit(schema_of_key, value, definitions).is_some());
        let least = sample(schema_of_key, definitions);
        if misfit(schema_of_key, &least, definitions).is_some() {
            // nothing may stand here
            continue;
        }
        let misfits = wrong.next().map(&around);
        let default = schema_of_key
            .get("default")
            .map(|default| with_and_without(key, &default.to_string(), &around(json!(MARK)).to_string()));
        found.push(Probe { path: path.clone(), fits: around(least), misfits, default });
        probes(schema_of_key, definitions, &path, &around, found);
    }
}

/// The findings of the reader of a kind about a document.
fn findings(kind: &str, document: &Value) -> Vec<Diagnostic> {
    let (limits, text) = (EngineLimits::default(), document.to_string());
    let source = Source::new("x.yaml", text.as_str());
    match kind {
        "case" => {
            let broken = scenario::read(&source, &limits).into_iter().filter_map(Result::err);
            let findings = broken.filter_map(|report| match report.outcome {
                CaseOutcome::Broken(findings) => Some(findings),
                _ => None,
            });
            findings.flatten().collect()
        }
        "script" => Script::read(&source, &limits).err().unwrap_or_default(),
        "invariants" => Invariants::read(&source, &limits).err().unwrap_or_default(),
        _ => crate::task_fixture::parse("x.yaml", &text).1,
    }
}

/// What stands at a key is held by the reader to what the schema says of it, and the reader knows the key. That the readers
/// ask for described keys alone, and for each of them, the compiler sees to; this holds them to the shapes.
#[test]
fn the_reader_and_the_schema_judge_each_key_alike() {
    let mut wrong = Vec::new();
    let mut counts = [0, 0];
    for kind in KINDS.into_iter().filter(|kind| *kind != "manifest") {
        let schema = schema(kind);
        let mut found = Vec::new();
        probes(&schema, schema["$defs"].as_object().unwrap(), "", &|document| document, &mut found);
        for Probe { path, fits, misfits, .. } in found {
            counts[0] += 1;
            let here =
                |finding: &Diagnostic| finding.path.trim_start_matches("documents[0].").starts_with(&path);
            let refused = findings(kind, &fits).into_iter().find(|finding| {
                let is_strange = matches!(finding.code, "unknown_key" | "ignored_key" | "unknown_keyword");
                // where the schema allows anything, the reader may yet be more exact
                let is_wrong = misfits.is_some() && matches!(finding.code, "wrong_type" | "unknown_word");
                (is_strange || is_wrong) && here(finding)
            });
            wrong.extend(refused.map(|finding| format!("{kind} {path}: not taken: {finding} in {fits}")));
            // settings are the host's to read, and a case hands its manifests on as they are
            let is_left_to_others = (kind == "tool" && path.starts_with("settings."))
                || (kind == "case" && path.trim_start_matches("cases.x.").starts_with("manifest."));
            let Some(misfits) = misfits.filter(|_| !is_left_to_others) else { continue };
            counts[1] += 1;
            if !findings(kind, &misfits).iter().any(here) {
                wrong.push(format!("{kind} {path}: not refused in {misfits}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {counts:?}:\n{}", wrong.len(), wrong.join("\n"));
    // keys, and those under which not everything may stand
    assert!(counts.into_iter().all(|count| count > 1_000), "too few keys were tried: {counts:?}");
}

/// What the reader of a kind makes of a text, in words that do not have the text itself.
fn reading(kind: &str, text: &str) -> String {
    let (limits, source) = (EngineLimits::default(), Source::new("x.yaml", text));
    let read = match kind {
        "case" => format!("{:?}", scenario::read(&source, &limits)),
        "script" => format!("{:?}", Script::read(&source, &limits)),
        "invariants" => format!("{:?}", Invariants::read(&source, &limits)),
        _ => format!("{:?}", crate::task_fixture::parse("x.yaml", text)),
    };
    read.replace(&format!("{text:?}"), "the text")
}

/// A default that the schema tells is what the reader takes where there is none.
#[test]
fn a_default_counts_where_its_key_is_absent() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for kind in KINDS.into_iter().filter(|kind| *kind != "manifest") {
        let schema = schema(kind);
        let mut found = Vec::new();
        probes(&schema, schema["$defs"].as_object().unwrap(), "", &|document| document, &mut found);
        for (path, texts) in found.into_iter().filter_map(|probe| Some((probe.path, probe.default?))) {
            // whether it is written decides nothing, and yet its place is kept for findings
            if kind == "agent" && path == "mount" {
                continue;
            }
            count += 1;
            let [written, absent] = texts.each_ref().map(|text| reading(kind, text));
            if written != absent {
                wrong.push(format!("{kind} {path}:\n{}\n{written}\n{absent}", texts[0]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 80, "only {count} defaults were tried");
}
