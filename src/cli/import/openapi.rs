//! `celador import openapi`: one tool for each operation of an OpenAPI document (3.0 or 3.1, JSON or YAML).
//!
//! In: a file. Out: tools as MCP has them: parameters of path, query and header by their names, the body as `body`, each with
//! `x-in` for the host that makes the request. References lead within the file and become definitions of the tool; nothing is
//! fetched. What OpenAPI says in words of its own is put into those of JSON Schema, and what only documents (`xml`,
//! `discriminator`, formats that are no standard's) goes. Length, nesting, operations and the size of each are bounded.

use super::schema::{Schemas, Side, resolved};
use super::{Failure, Found, Target};
use crate::files::read_source;
use crate::{ExitCode, Screen, messages};
use celador::limits::EngineLimits;
use celador::manifest::capability_key::sanitise;
use celador::manifest::yaml;
use clap::Args;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::path::PathBuf;

/// The longest document, and the most operations that are looked at.
const MAX_BYTES: usize = 33_554_432;
const MAX_NODES: usize = 4_000_000;
const MAX_OPERATIONS: usize = 10_000;

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
/// Headers that OpenAPI leaves to other parts of a document.
const OTHERS_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// Read an OpenAPI document, and make a tool of each of its operations
#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) target: Target,

    /// Hold results to the schema of the first answer that says the operation went well
    #[arg(long)]
    results: bool,

    /// The document; `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Arguments {
    pub(super) fn found(&self, limits: &EngineLimits, screen: &mut Screen) -> Result<Found, Failure> {
        let api = self.read(limits, screen)?;
        let version = api.get("openapi").and_then(Value::as_str).unwrap_or_default();
        if !version.starts_with("3.") {
            return Err(Failure::Unusable(messages::no_openapi(&self.file)));
        }
        let title = api.pointer("/info/title").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut reader =
            Reader { api: &api, results: self.results, names: HashSet::new(), notes: Vec::new() };
        let tools = reader.tools();
        Ok(Found { name: title.clone(), description: Some(title), tools, notes: reader.notes })
    }

    fn read(&self, limits: &EngineLimits, screen: &mut Screen) -> Result<Value, Failure> {
        let source = read_source(&self.file, MAX_BYTES)?;
        if source.text().trim_start().starts_with('{')
            && let Ok(value) = serde_json::from_str(source.text())
        {
            return Ok(value);
        }
        let limits = EngineLimits { max_manifest_bytes: MAX_BYTES, max_yaml_nodes: MAX_NODES, ..*limits };
        let mut findings = Vec::new();
        let trees = yaml::parse(&source, &limits, &mut findings);
        match trees.into_iter().next() {
            Some(tree) if findings.is_empty() => Ok(tree.node.to_json()),
            _ if findings.is_empty() => Err(Failure::Unusable(messages::no_openapi(&self.file))),
            _ => {
                findings.truncate(limits.max_diagnostics);
                screen.complain(&findings);
                Err(Failure::Told(ExitCode::Unusable))
            }
        }
    }
}

/// Reads the operations of one document.
struct Reader<'d> {
    api: &'d Value,
    results: bool,
    /// The keys of the tools so far.
    names: HashSet<String>,
    notes: Vec<String>,
}

/// An operation with where it stands.
struct Operation<'d> {
    path: &'d str,
    method: &'static str,
    item: &'d Value,
    value: &'d Value,
}

impl<'d> Reader<'d> {
    fn tools(&mut self) -> Vec<Value> {
        let api = self.api;
        let paths = api.get("paths").and_then(Value::as_object).into_iter().flatten();
        let operations = paths.flat_map(|(path, item)| {
            let item = resolved(api, item).unwrap_or(item);
            let of = move |method| Some(Operation { path, method, item, value: item.get(method)? });
            METHODS.into_iter().filter_map(of)
        });
        let mut tools = Vec::new();
        for (at, operation) in operations.enumerate() {
            if at >= MAX_OPERATIONS {
                self.notes.push(messages::too_many_operations(MAX_OPERATIONS));
                break;
            }
            match self.tool(&operation) {
                Ok(tool) => tools.push(tool),
                Err(why) => {
                    let address = format!("{} {}", operation.method.to_ascii_uppercase(), operation.path);
                    self.notes.push(messages::left_out(&address, &why));
                }
            }
        }
        tools
    }

    fn tool(&mut self, operation: &Operation<'d>) -> Result<Value, String> {
        let mut schemas = Schemas::new(self.api);
        let mut arguments = Map::new();
        let mut required = Vec::new();
        for parameter in self.parameters(operation)? {
            let (name, schema, is_required) = self.parameter(parameter, &arguments, &mut schemas)?;
            required.extend(is_required.then(|| Value::from(name.as_str())));
            arguments.insert(name, schema);
        }
        if let Some((schema, is_required)) = self.body(operation.value, &mut schemas)? {
            let name = free_name("body", "request_body", &arguments);
            required.extend(is_required.then(|| Value::from(name.as_str())));
            arguments.insert(name, schema);
        }
        let mut input = json!({ "type": "object", "properties": arguments, "required": required });
        schemas.define(Side::Request, &mut input)?;
        let mut tool = Map::new();
        tool.insert("name".to_owned(), json!(self.name(operation)));
        let description = description(operation);
        tool.insert("description".to_owned(), json!(description));
        tool.insert("inputSchema".to_owned(), input);
        if let Some(output) = self.result(operation.value)? {
            tool.insert("outputSchema".to_owned(), output);
        }
        tool.extend(annotations(operation.method).map(|said| ("annotations".to_owned(), said)));
        let address = json!({ "method": operation.method.to_ascii_uppercase(), "path": operation.path });
        tool.insert("_meta".to_owned(), json!({ "celador/openapi": address }));
        Ok(Value::Object(tool))
    }

    /// The parameters of an operation: its own, and those of its path that it does not say anew.
    fn parameters(&self, operation: &Operation<'d>) -> Result<Vec<&'d Value>, String> {
        let list = |value: &'d Value| value.get("parameters").and_then(Value::as_array).into_iter().flatten();
        let mut all: Vec<(Option<&str>, Option<&str>, &Value)> = Vec::new();
        for parameter in list(operation.item).chain(list(operation.value)) {
            let parameter = resolved(self.api, parameter)?;
            let text = |key: &str| parameter.get(key).and_then(Value::as_str);
            let (name, place) = (text("name"), text("in"));
            all.retain(|(known, at, _)| (*known, *at) != (name, place));
            all.push((name, place, parameter));
        }
        let is_there = |(name, place, _): &(Option<&str>, Option<&str>, &Value)| match (*name, *place) {
            (Some(name), Some("header")) => !OTHERS_HEADERS.contains(&name.to_ascii_lowercase().as_str()),
            (Some(_), Some("path" | "query")) => true,
            _ => false,
        };
        Ok(all.into_iter().filter(is_there).map(|(_, _, parameter)| parameter).collect())
    }

    fn parameter(
        &self,
        parameter: &Value,
        others: &Map<String, Value>,
        schemas: &mut Schemas<'d>,
    ) -> Result<(String, Value, bool), String> {
        let text = |key: &str| parameter.get(key).and_then(Value::as_str);
        let (own, place) = (text("name").unwrap_or_default(), text("in").unwrap_or_default());
        let name = free_name(own, &format!("{place}_{own}"), others);
        let content = parameter.get("content").and_then(Value::as_object);
        let schema = parameter.get("schema");
        let schema = schema.or_else(|| content?.values().next()?.get("schema"));
        let schema =
            schema.map_or_else(|| Ok(json!({})), |schema| schemas.translate(schema, Side::Request))?;
        let mut schema = object(schema);
        if let Some(description) = text("description") {
            schema.entry("description").or_insert_with(|| json!(description));
        }
        schema.insert("x-in".to_owned(), json!(place));
        if name != own {
            schema.insert("x-name".to_owned(), json!(own));
        }
        let is_required = place == "path" || parameter.get("required") == Some(&Value::Bool(true));
        Ok((name, Value::Object(schema), is_required))
    }

    /// The schema of the body, and whether there must be one.
    fn body(&self, operation: &Value, schemas: &mut Schemas<'d>) -> Result<Option<(Value, bool)>, String> {
        let Some(body) = operation.get("requestBody") else { return Ok(None) };
        let body = resolved(self.api, body)?;
        let Some((kind, media)) = content(self.api, body)? else { return Ok(None) };
        let schema = match media.get("schema") {
            Some(schema) => schemas.translate(schema, Side::Request)?,
            None => json!({}),
        };
        let mut schema = object(schema);
        if let Some(description) = body.get("description") {
            schema.entry("description").or_insert_with(|| description.clone());
        }
        schema.insert("x-in".to_owned(), json!("body"));
        schema.insert("x-content-type".to_owned(), json!(kind));
        Ok(Some((Value::Object(schema), body.get("required") == Some(&Value::Bool(true)))))
    }

    /// The schema of the first answer that says that the operation went well, if it is JSON.
    fn result(&self, operation: &Value) -> Result<Option<Value>, String> {
        let answers = operation.get("responses").and_then(Value::as_object).filter(|_| self.results);
        let Some((_, answer)) = answers.into_iter().flatten().find(|(status, _)| status.starts_with('2'))
        else {
            return Ok(None);
        };
        let Some((kind, media)) = content(self.api, resolved(self.api, answer)?)? else { return Ok(None) };
        let Some(schema) = media.get("schema").filter(|_| is_json(kind)) else { return Ok(None) };
        let mut schemas = Schemas::new(self.api);
        let mut schema = schemas.translate(schema, Side::Answer)?;
        schemas.define(Side::Answer, &mut schema)?;
        Ok(Some(schema))
    }

    /// A name that models take: that of the operation, else method and path.
    fn name(&mut self, operation: &Operation<'_>) -> String {
        let own = operation.value.get("operationId").and_then(Value::as_str).filter(|id| !id.is_empty());
        let text = own.map_or_else(|| format!("{}{}", operation.method, operation.path), str::to_owned);
        let mut name = String::new();
        for c in text.chars() {
            if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') {
                name.push(c);
            } else if !name.ends_with('_') {
                name.push('_');
            }
        }
        let name = name.trim_matches('_').to_owned();
        let mut candidate = name.clone();
        let mut count = 1_usize;
        while !self.names.insert(sanitise(&candidate)) {
            count = count.saturating_add(1);
            candidate = format!("{name}_{count}");
        }
        candidate
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// A name that no other argument has.
fn free_name(name: &str, other: &str, taken: &Map<String, Value>) -> String {
    let mut candidate = name.to_owned();
    while taken.contains_key(&candidate) {
        candidate = if candidate == name { other.to_owned() } else { format!("{candidate}_") };
    }
    candidate
}

/// The representation that is used: JSON, if there is any, else the first.
fn content<'d>(api: &'d Value, of: &'d Value) -> Result<Option<(&'d str, &'d Value)>, String> {
    let Some(content) = of.get("content").and_then(Value::as_object) else { return Ok(None) };
    let json = content.iter().find(|(kind, _)| is_json(kind));
    let Some((kind, media)) = json.or_else(|| content.iter().next()) else { return Ok(None) };
    Ok(Some((kind, resolved(api, media)?)))
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json")
}

fn description(operation: &Operation<'_>) -> String {
    let text = |key: &str| operation.value.get(key).and_then(Value::as_str).map(str::trim);
    let said = [text("summary"), text("description")];
    let mut said: Vec<&str> = said.into_iter().flatten().filter(|text| !text.is_empty()).collect();
    said.dedup();
    if said.is_empty() {
        return format!("{} {}", operation.method.to_ascii_uppercase(), operation.path);
    }
    said.join("\n\n")
}

/// What HTTP says of a method. Of the others nobody knows, so they count as ones that may destroy something.
fn annotations(method: &str) -> Option<Value> {
    match method {
        "get" | "head" | "options" | "trace" => Some(json!({ "readOnlyHint": true })),
        "put" | "delete" => Some(json!({ "destructiveHint": true, "idempotentHint": true })),
        _ => None,
    }
}
