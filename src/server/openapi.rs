//! The OpenAPI document, made of the table of routes and the words and schemas of `openapi.json`.
//!
//! In: the routes. Out: the document. What a route says of itself is not written again: its method, path and operation, the scope
//! that it needs, whether it takes a body, and hence which problems it can answer with. `openapi.json` has the rest: for each
//! operation its summary, its query and the schemas of its body and answer; what a status means; the schemas.

use super::identity::Scope;
use super::route::{Access, Body, Route};
use axum::http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The words and the schemas.
const SOURCE: &str = include_str!("openapi.json");

// The types of bodies: what is asked for, and problems.
const JSON: &str = "application/json";
const PROBLEM: &str = "application/problem+json";

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    info: Map<String, Value>,
    /// The groups of operations, and what is in each.
    tags: Map<String, Value>,
    /// How callers say who they are.
    security: Value,
    /// What each status of a problem means.
    responses: Map<String, Value>,
    operations: BTreeMap<String, Words>,
    schemas: Map<String, Value>,
}

/// What an operation does not say by its route.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    tag: String,
    summary: String,
    description: Option<String>,
    #[serde(default)]
    query: Map<String, Value>,
    /// The schema of the body.
    takes: Option<String>,
    /// The status of an answer, if it is not 200.
    status: Option<u16>,
    /// What an answer is.
    answer: String,
    /// Its schema; a text without one.
    gives: Option<String>,
    media_type: Option<String>,
    /// What an answer with 503 is, for an operation that answers so.
    unready: Option<String>,
    /// Statuses of problems that its route does not tell.
    #[serde(default)]
    also: Vec<u16>,
}

/// The document of these routes. A route without words is left out; a test says that every route has some, and no other.
pub(super) fn document(routes: &[Route]) -> Value {
    let source: Source = serde_json::from_str(SOURCE).unwrap_or_default();
    let mut paths: Map<String, Value> = Map::new();
    for route in routes {
        let Some(words) = source.operations.get(route.operation) else { continue };
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(methods) = path.as_object_mut() {
            methods.insert(route.method.as_str().to_lowercase(), operation(route, words, &source.responses));
        }
    }
    let problem = |(status, meaning): (&String, &Value)| {
        let content = json!({ PROBLEM: { "schema": schema("Problem") } });
        (status.clone(), json!({ "description": meaning, "content": content }))
    };
    let tag = |(name, description): (&String, &Value)| json!({ "name": name, "description": description });
    let mut info = source.info.clone();
    info.insert("version".to_owned(), env!("CARGO_PKG_VERSION").into());
    json!({
        "openapi": "3.1.0",
        "info": info,
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }, {}],
        "tags": source.tags.iter().map(tag).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "schemas": source.schemas,
            "responses": source.responses.iter().map(problem).collect::<Map<_, _>>(),
            "securitySchemes": { "bearer": source.security },
        },
    })
}

fn operation(route: &Route, words: &Words, meanings: &Map<String, Value>) -> Value {
    let needs = match route.access {
        Access::Needs(scope) => Some(format!("Needs the scope `{}`.", scope.as_str())),
        Access::Public | Access::Known => None,
    };
    let description: Vec<&str> = needs.as_deref().into_iter().chain(words.description.as_deref()).collect();
    let mut members = Map::from_iter([
        ("operationId".to_owned(), route.operation.into()),
        ("summary".to_owned(), words.summary.as_str().into()),
        ("description".to_owned(), description.join(" ").into()),
        ("tags".to_owned(), json!([words.tag])),
        ("parameters".to_owned(), parameters(route, words).into()),
        ("responses".to_owned(), responses(route, words, meanings).into()),
    ]);
    if route.access == Access::Public {
        members.insert("security".to_owned(), json!([]));
    }
    if let Some(takes) = &words.takes {
        let content = json!({ JSON: { "schema": schema(takes) } });
        members.insert("requestBody".to_owned(), json!({ "required": true, "content": content }));
    }
    members.into()
}

/// The parts of the path, the query, and the key of what counts once.
fn parameters(route: &Route, words: &Words) -> Vec<Value> {
    let parameter = |name: &str, place: &str, required: bool, description: &Value, kind: &Value| {
        let (description, schema) = (description.clone(), json!({ "type": kind }));
        json!({ "name": name, "in": place, "required": required, "description": description, "schema": schema })
    };
    let text: Value = "string".into();
    let of_path = is_of_task(route).then(|| parameter("task", "path", true, &"The task's id".into(), &text));
    let of_query = words.query.iter().map(|(name, it)| {
        let required = it.get("required").and_then(Value::as_bool).unwrap_or_default();
        let part = |name| it.get(name).unwrap_or(&Value::Null);
        parameter(name, "query", required, part("description"), part("type"))
    });
    let key = is_kept(route).then(|| {
        let description = "The same key with the same request is answered as before and counted once";
        parameter("Idempotency-Key", "header", false, &description.into(), &text)
    });
    of_path.into_iter().chain(of_query).chain(key).collect()
}

/// The answer, and every problem that there can be.
fn responses(route: &Route, words: &Words, meanings: &Map<String, Value>) -> Map<String, Value> {
    let gives = words.gives.as_deref().map_or_else(|| json!({ "type": "string" }), schema);
    let mut answer = json!({
        "description": words.answer,
        "content": { words.media_type.as_deref().unwrap_or(JSON): { "schema": gives } },
    });
    if let (Some(201), Some(members)) = (words.status, answer.as_object_mut()) {
        let location = json!({ "description": "The task", "schema": { "type": "string" } });
        members.insert("headers".to_owned(), json!({ "Location": location }));
    }
    let mut responses = Map::new();
    responses.insert(words.status.unwrap_or(200).to_string(), answer);
    for status in problems(route, words) {
        let status = status.to_string();
        let response = match (&words.unready, &*status) {
            (Some(unready), "503") => json!({
                "description": unready,
                "content": { JSON: { "schema": gives }, PROBLEM: { "schema": schema("Problem") } },
            }),
            // the protocol has its own problems
            _ if route.takes == Body::Raw => json!({
                "description": meanings.get(&status),
                "content": { JSON: { "schema": gives } },
            }),
            _ => json!({ "$ref": format!("#/components/responses/{status}") }),
        };
        responses.insert(status, response);
    }
    responses
}

/// The statuses of problems that a route can answer with.
fn problems(route: &Route, words: &Words) -> BTreeSet<u16> {
    // the header, the host and a body that nobody wants are looked at whatever the route is
    let mut statuses = BTreeSet::from([413, 421, 431, 500, 503]);
    if route.access != Access::Public {
        statuses.extend([400, 401, 403, 408]);
    }
    if route.takes != Body::None {
        statuses.insert(415);
    }
    if route.takes == Body::Json {
        statuses.insert(422);
    }
    if is_of_task(route) {
        statuses.extend([404, 409, 410]);
    }
    if is_kept(route) {
        statuses.extend([409, 410, 422]);
    }
    statuses.extend(&words.also);
    statuses
}

fn is_of_task(route: &Route) -> bool {
    route.path.contains("{task}")
}

/// Whether the answer is kept under the key of the request: that of creating a task and of its steps is.
fn is_kept(route: &Route) -> bool {
    route.access == Access::Needs(Scope::TasksWrite) && route.method == Method::POST
}

fn schema(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

#[cfg(test)]
mod tests {
    use super::{SOURCE, Source, document};
    use crate::routes::routes;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_has_words_and_every_word_a_route() {
        let source: Source = serde_json::from_str(SOURCE).unwrap();
        let described: BTreeSet<&str> = source.operations.keys().map(|name| &**name).collect();
        let routes = routes();
        let served: BTreeSet<&str> = routes.iter().map(|route| route.operation).collect();
        assert_eq!(described, served);
        assert_eq!(routes.len(), served.len());
        for words in source.operations.values() {
            assert!(source.tags.contains_key(&words.tag), "{}", words.tag);
        }
        let document = document(&routes);
        let methods =
            document["paths"].as_object().unwrap().values().map(|path| path.as_object().unwrap().len());
        assert_eq!(methods.sum::<usize>(), routes.len());
    }
}
