//! Schemas of OpenAPI as JSON Schema that needs nothing beside it.
//!
//! In: a schema of a document, with references into it. Out: the same in the words of JSON Schema 2020-12, whose references
//! lead to definitions of its own. A schema that refers outside of its file, or that is too large, is an error. Linear in the
//! schema and in what it refers to, each part once.

use celador::manifest::json_schema::words::FORMATS;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The most values that the schemas of one operation may have, and the deepest of them.
const MAX_VALUES: usize = 20_000;
const MAX_DEPTH: usize = 48;
/// How many references may lead to one another.
const MAX_HOPS: usize = 32;

/// Words that document, or that mean something else beside a schema.
const DROPPED: [&str; 3] = ["xml", "externalDocs", "discriminator"];
/// Which way a value goes: what only the other way has is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Request,
    Answer,
}

/// The schemas of one operation.
pub(super) struct Schemas<'d> {
    api: &'d Value,
    /// References to the names of definitions.
    names: HashMap<String, String>,
    /// Those that are not translated yet.
    waiting: Vec<String>,
    values: usize,
}

/// What a value refers to, if it is a reference.
pub(super) fn resolved<'d>(api: &'d Value, value: &'d Value) -> Result<&'d Value, String> {
    let mut value = value;
    for _ in 0..MAX_HOPS {
        let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return Ok(value) };
        value = at(api, reference)?;
    }
    Err("a reference leads back to itself".to_owned())
}

fn at<'d>(api: &'d Value, reference: &str) -> Result<&'d Value, String> {
    let pointer = reference.strip_prefix('#').ok_or("it refers outside of the file")?;
    let found = api.pointer(pointer).or_else(|| api.pointer(&decoded(pointer)));
    found.ok_or_else(|| "it refers to what is not there".to_owned())
}

/// A pointer as a fragment of an address writes it.
fn decoded(pointer: &str) -> String {
    pointer.replace("%7B", "{").replace("%7D", "}").replace("%20", " ").replace("%25", "%")
}

impl<'d> Schemas<'d> {
    pub(super) fn new(api: &'d Value) -> Self {
        Self { api, names: HashMap::new(), waiting: Vec::new(), values: 0 }
    }

    /// A schema whose references lead to definitions that [`Schemas::define`] adds.
    pub(super) fn translate(&mut self, schema: &Value, side: Side) -> Result<Value, String> {
        self.schema(schema, side, MAX_DEPTH)
    }

    /// Puts the definitions beside a schema that has been translated, and those that they refer to.
    pub(super) fn define(&mut self, side: Side, schema: &mut Value) -> Result<(), String> {
        let mut definitions = Map::new();
        while let Some(reference) = self.waiting.pop() {
            let name = self.names.get(&reference).cloned().unwrap_or_default();
            let found = at(self.api, &reference)?;
            definitions.insert(name, self.schema(found, side, MAX_DEPTH)?);
        }
        definitions.sort_keys();
        if let Some(schema) = schema.as_object_mut().filter(|_| !definitions.is_empty()) {
            schema.insert("$defs".to_owned(), Value::Object(definitions));
        }
        Ok(())
    }

    fn spend(&mut self) -> Result<(), String> {
        self.values = self.values.saturating_add(1);
        let is_spent = self.values > MAX_VALUES;
        if is_spent { Err(format!("its schemas have more than {MAX_VALUES} values")) } else { Ok(()) }
    }

    fn schema(&mut self, schema: &Value, side: Side, depth: usize) -> Result<Value, String> {
        self.spend()?;
        let depth = depth.checked_sub(1).ok_or("its schemas are nested too deeply")?;
        let members = match schema {
            Value::Bool(true) => return Ok(json!({})),
            Value::Bool(false) => return Ok(json!({ "not": {} })),
            Value::Object(members) => members,
            _ => return Err("a schema of it is none".to_owned()),
        };
        let mut all = Map::new();
        for (word, value) in members {
            let translated = match (word.as_str(), value) {
                (word, _) if DROPPED.contains(&word) || word.starts_with("x-") => continue,
                ("$ref", Value::String(reference)) => json!(format!("#/$defs/{}", self.refer(reference)?)),
                ("format", Value::String(format)) if !FORMATS.iter().any(|known| known.name == format) => {
                    continue;
                }
                // of OpenAPI 3.0: the bound stands beside it
                ("exclusiveMinimum" | "exclusiveMaximum" | "required", Value::Bool(_)) => continue,
                ("properties", Value::Object(fields)) => self.fields(fields, side, depth)?,
                ("required", Value::Array(names)) => {
                    let is_there = |name: &&Value| !goes_other_way(members, name, side);
                    let names: Vec<Value> = names.iter().filter(is_there).cloned().collect();
                    if names.is_empty() {
                        continue;
                    }
                    Value::Array(names)
                }
                (
                    "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                    Value::Object(parts),
                ) => {
                    let mut each = Map::new();
                    for (name, part) in parts {
                        each.insert(name.clone(), self.schema(part, side, depth)?);
                    }
                    Value::Object(each)
                }
                ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(parts)) => {
                    let each: Result<Vec<Value>, String> =
                        parts.iter().map(|part| self.schema(part, side, depth)).collect();
                    Value::Array(each?)
                }
                (
                    "items"
                    | "additionalProperties"
                    | "not"
                    | "if"
                    | "then"
                    | "else"
                    | "contains"
                    | "propertyNames"
                    | "unevaluatedProperties"
                    | "unevaluatedItems"
                    | "additionalItems",
                    Value::Object(_),
                ) => self.schema(value, side, depth)?,
                _ => self.copy(value, depth)?,
            };
            all.insert(word.clone(), translated);
        }
        for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
            if members.get(exclusive) == Some(&Value::Bool(true))
                && let Some(value) = all.remove(bound)
            {
                all.insert(exclusive.to_owned(), value);
            }
        }
        Ok(Value::Object(all))
    }

    fn fields(&mut self, fields: &Map<String, Value>, side: Side, depth: usize) -> Result<Value, String> {
        let mut kept = Map::new();
        for (name, field) in fields.iter().filter(|(_, field)| !is_of_other_way(field, side)) {
            kept.insert(name.clone(), self.schema(field, side, depth)?);
        }
        Ok(Value::Object(kept))
    }

    /// A value that is no schema, counted.
    fn copy(&mut self, value: &Value, depth: usize) -> Result<Value, String> {
        self.spend()?;
        let depth = depth.checked_sub(1).ok_or("its schemas are nested too deeply")?;
        match value {
            Value::Array(items) => items.iter().map(|item| self.copy(item, depth)).collect(),
            Value::Object(members) => {
                let each = members.iter().map(|(key, value)| Ok((key.clone(), self.copy(value, depth)?)));
                each.collect::<Result<Map<_, _>, String>>().map(Value::Object)
            }
            other => Ok(other.clone()),
        }
    }

    /// The name of the definition that a reference leads to.
    fn refer(&mut self, reference: &str) -> Result<String, String> {
        if let Some(name) = self.names.get(reference) {
            return Ok(name.clone());
        }
        at(self.api, reference)?;
        let last = reference.rsplit('/').next().unwrap_or_default();
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' };
        let name: String = last.chars().map(plain).collect();
        let mut candidate = name.clone();
        while self.names.values().any(|taken| *taken == candidate) {
            candidate.push('_');
        }
        self.names.insert(reference.to_owned(), candidate.clone());
        self.waiting.push(reference.to_owned());
        Ok(candidate)
    }
}

/// Whether a field goes only the other way.
fn is_of_other_way(field: &Value, side: Side) -> bool {
    let word = if side == Side::Request { "readOnly" } else { "writeOnly" };
    field.get(word) == Some(&Value::Bool(true))
}

fn goes_other_way(schema: &Map<String, Value>, name: &Value, side: Side) -> bool {
    let field = schema.get("properties").and_then(|fields| fields.get(name.as_str()?));
    field.is_some_and(|field| is_of_other_way(field, side))
}
