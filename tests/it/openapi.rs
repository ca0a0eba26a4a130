//! The OpenAPI document: it is made of the routes and the types of the server, it holds together, and answers fit it.
//!
//! `src/server/openapi.json` is what is served, written by `UPDATE_EXPECT=1`.

use crate::schemas::misfit;
use serde_json::{Map, Value};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| celador_server::openapi().unwrap());

/// The description of a path; parts in braces stand for anything.
fn described(path: &str) -> Option<&'static Value> {
    let path = path.split('?').next().unwrap();
    let paths = DOCUMENT["paths"].as_object().unwrap();
    paths.get(path).or_else(|| {
        let fits = |template: &str| {
            let (template, path): (Vec<_>, Vec<_>) =
                (template.split('/').collect(), path.split('/').collect());
            let part = |(template, part): (&&str, &&str)| template.starts_with('{') || template == part;
            template.len() == path.len() && template.iter().zip(&path).all(part)
        };
        paths.iter().find(|(template, _)| fits(template)).map(|(_, described)| described)
    })
}

/// What a `$ref` stands for.
fn resolved(value: &'static Value) -> &'static Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(reference) => DOCUMENT.pointer(reference.trim_start_matches('#')).unwrap(),
        None => value,
    }
}

fn schemas() -> &'static Map<String, Value> {
    DOCUMENT["components"]["schemas"].as_object().unwrap()
}

/// Panics if an answer is not one of the document.
pub fn check(method: &str, path: &str, status: u16, media_type: &str, body: &[u8]) {
    let about = format!("{method} {path} {status}");
    let operation = described(path).and_then(|path| path.get(method.to_lowercase()));
    let operation = operation.unwrap_or_else(|| panic!("{about}: not described"));
    let response = operation["responses"].get(status.to_string());
    let response = resolved(response.unwrap_or_else(|| panic!("{about}: the status is not described")));
    let media_type = media_type.split(';').next().unwrap();
    let content = response["content"].get(media_type);
    let content = content.unwrap_or_else(|| panic!("{about}: `{media_type}` is not described"));
    if media_type.ends_with("json") {
        let body: Value = serde_json::from_slice(body).unwrap_or_else(|error| panic!("{about}: {error}"));
        if let Some(misfit) = misfit(&content["schema"], &body, schemas()) {
            panic!("{about}: {misfit}\n{body:#}");
        }
    }
}

/// Panics if a request body is not one of the document.
pub fn fits_request(method: &str, path: &str, body: &Value) -> bool {
    let operation = &described(path).unwrap()[method.to_lowercase()];
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    misfit(schema, body, schemas()).is_none()
}

/// `METHOD /path operation` of everything that is described, and hence served.
pub fn rows() -> Vec<String> {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let rows = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap();
        methods.iter().map(move |(method, operation)| {
            format!("{} {path} {}", method.to_uppercase(), operation["operationId"].as_str().unwrap())
        })
    });
    rows.collect()
}

#[test]
fn the_document_that_is_served_is_made_of_routes_and_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/server/openapi.json");
    let made = format!("{:#}\n", *DOCUMENT);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(path, made).unwrap();
    } else {
        assert!(
            made == fs::read_to_string(path).unwrap(),
            "run with UPDATE_EXPECT=1 and look at the document"
        );
    }
}

/// Every name that a `$ref` uses is there, and every schema is used.
#[test]
fn the_document_holds_together() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    references(&DOCUMENT, &mut found);
    for reference in &found {
        assert!(DOCUMENT.pointer(reference.trim_start_matches('#')).is_some(), "{reference} is not there");
    }
    for name in schemas().keys() {
        assert!(found.iter().any(|used| used.ends_with(&format!("/{name}"))), "{name} is not used");
    }
}
