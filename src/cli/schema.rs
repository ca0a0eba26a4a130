//! `celador schema`: the JSON Schema of a kind of file, from which an editor completes and checks.
//!
//! In: the kind. Out: one document (draft 2020-12) that needs no other. All schemas stand in `schema.json`, as definitions
//! that name each other; a document takes what its kind needs. What the reader knows and what stands there are held
//! together by a test.

use super::{ExitCode, Failure, Screen};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const DEFINITIONS: &str = include_str!("schema.json");

/// Write the JSON Schema of a kind of file, for editors
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador schema manifest > manifest.schema.json
  celador schema case > case.schema.json

An editor with the YAML language server takes it from the first line of a file:
  # yaml-language-server: $schema=manifest.schema.json")]
pub(crate) struct Arguments {
    /// The kind of file
    #[arg(value_enum, value_name = "KIND")]
    kind: Kind,
}

/// The kinds of files; `manifest` is any of those that have a `kind`, or a mount.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "lowercase")]
enum Kind {
    Manifest,
    Agent,
    Tool,
    Trigger,
    Schedule,
    BundleDescription,
    Mount,
    Case,
    Script,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let name = self.kind.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let schema = document(&name).map_err(|error| Failure::Unusable(error.to_string()))?;
        screen.line(&format!("{schema:#}"))?;
        Ok(ExitCode::Yes)
    }
}

/// The definition of this name as a document, with all others that it needs.
fn document(name: &str) -> serde_json::Result<Value> {
    let all: Map<String, Value> = serde_json::from_str(DEFINITIONS)?;
    let mut needed = BTreeSet::new();
    let mut waiting = vec![name.to_owned()];
    while let Some(name) = waiting.pop() {
        if let Some(definition) = all.get(&name)
            && needed.insert(name)
        {
            named_in(definition, &mut waiting);
        }
    }
    let definitions = all.into_iter().filter(|(name, _)| needed.contains(name)).collect::<Map<_, _>>();
    Ok(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": format!("#/$defs/{name}"),
        "$defs": definitions,
    }))
}

/// The definitions that a schema names.
fn named_in(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(keys) => {
            let reference = keys.get("$ref").and_then(Value::as_str);
            names.extend(reference.and_then(|text| text.strip_prefix("#/$defs/")).map(str::to_owned));
            keys.values().for_each(|value| named_in(value, names));
        }
        Value::Array(items) => items.iter().for_each(|value| named_in(value, names)),
        _ => {}
    }
}
