//! The OpenAPI document, made of the table of routes, the types on the wire and the kinds of problems (feature `schema`).
//!
//! In: the routes. Out: the document. Nothing that code says is said again: a route has its method, path, scope and body, and hence
//! the problems that it can answer with; a type has its members, and their doc comments describe them; a kind of problem has its
//! status. `operations` adds the words and types of each operation, `schemas` makes schemas of types, `texts` makes descriptions of
//! doc comments.
//!
//! The document is stored in the sources as `openapi.json` and served from there, so that no server carries what makes it.

mod operations;
mod schemas;
mod texts;

use crate::identity::Scope;
use crate::problem::Kind;
use crate::request::JSON;
use crate::route::{Access, Action, Body, Route};
use axum::http::Method;
use celador_service::{PROBLEM_JSON, ProblemDetails};
use operations::{Answered, Operation, TAGS, Taken, operations};
use schemas::{Schemas, of};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The document of these routes.
///
/// # Errors
/// A route that no operation describes, an operation without a route, and a type that a request and an answer write differently.
pub(super) fn document(routes: &[Route]) -> Result<Value, String> {
    let mut schemas = Schemas::default();
    let mut operations = operations();
    let mut paths: Map<String, Value> = Map::new();
    let mut refusals = BTreeSet::new();
    for route in routes {
        let found = operations.iter().position(|operation| operation.id == route.operation);
        let found = found.ok_or_else(|| format!("the operation `{}` is not described", route.operation))?;
        let operation = operations.swap_remove(found);
        refusals.extend(statuses(route, &operation));
        let operation = described(route, &operation, &mut schemas)?;
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path.as_object_mut().map(|path| path.insert(route.method.as_str().to_lowercase(), operation));
    }
    if let Some(left) = operations.first() {
        return Err(format!("there is no route of the operation `{}`", left.id));
    }
    let problem = schemas.answer(of::<ProblemDetails>);
    let response = |status: u16| (status.to_string(), refused(status, &[(PROBLEM_JSON, problem.clone())]));
    let responses: Map<String, Value> = refusals.into_iter().map(response).collect();
    let tag = |(name, description): (&str, &str)| json!({ "name": name, "description": description });
    Ok(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Celador",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Decisions for AI agents",
            "description": "Decisions before and after every step of an agent's task. A step is answered when it is durable. A request that is not done is answered with a problem (RFC 9457).",
            "license": { "name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }, {}],
        "tags": TAGS.into_iter().map(tag).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "schemas": schemas.components()?,
            "responses": responses,
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "A token of the server's file, or a JWT" },
            },
        },
    }))
}

fn described(route: &Route, operation: &Operation, schemas: &mut Schemas) -> Result<Value, String> {
    let needs = match route.access {
        Access::Needs(scope) => Some(format!("Needs the scope `{}`.", scope.as_str())),
        Access::Public | Access::Known => None,
    };
    let notes = Some(operation.notes).filter(|notes| !notes.is_empty());
    let description: Vec<&str> = needs.as_deref().into_iter().chain(notes).collect();
    let mut members = Map::new();
    let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
    add("operationId", route.operation.into());
    add("summary", operation.summary.into());
    if !description.is_empty() {
        add("description", description.join(" ").into());
    }
    add("tags", json!([operation.tag]));
    let parameters = parameters(route, operation, schemas);
    if !parameters.is_empty() {
        add("parameters", parameters.into());
    }
    let taken = match (&operation.taken, route.action) {
        (Some(Taken::Whole(of)), _) => Some(schemas.request(*of)),
        (Some(Taken::Without(name, of, left_out)), _) => Some(schemas.request_without(name, *of, left_out)),
        (None, Action::Take(name)) => Some(schemas.operation(name)?),
        (None, Action::Call(_)) => None,
    };
    if let Some(schema) = taken {
        add("requestBody", json!({ "required": true, "content": { JSON: { "schema": schema } } }));
    }
    add("responses", responses(route, operation, schemas).into());
    if route.access == Access::Public {
        add("security", json!([]));
    }
    Ok(members.into())
}

/// The parts of the path, the members of the query, and the key of a request that counts once.
fn parameters(route: &Route, operation: &Operation, schemas: &mut Schemas) -> Vec<Value> {
    let text = json!({ "type": "string" });
    let of_path = is_of_task(route).then(|| {
        json!({ "name": "task", "in": "path", "required": true, "description": "The task's id", "schema": text })
    });
    let of_call = route.path.contains("{call}").then(|| {
        let id = json!({ "type": "integer", "minimum": 0 });
        json!({ "name": "call", "in": "path", "required": true, "description": "The call's id", "schema": id })
    });
    let of_review = route.path.contains("{review}").then(|| {
        json!({ "name": "review", "in": "path", "required": true, "description": "The review's id", "schema": text })
    });
    let of_query = operation.query.map(|query| schemas.parameters(query)).unwrap_or_default();
    let key = is_kept(route).then(|| {
        let description = "The same key with the same request is answered as before and counted once.";
        json!({ "name": "Idempotency-Key", "in": "header", "required": false, "description": description, "schema": text })
    });
    of_path.into_iter().chain(of_call).chain(of_review).chain(of_query).chain(key).collect()
}

/// The answers, and every problem that there can be.
fn responses(route: &Route, operation: &Operation, schemas: &mut Schemas) -> Map<String, Value> {
    let mut responses = Map::new();
    let problem = (PROBLEM_JSON, schemas.answer(of::<ProblemDetails>));
    let mut content = |answered: &Answered| {
        let schema = answered.schema.map_or_else(|| json!({ "type": "string" }), |of| schemas.answer(of));
        (answered.media_type, schema)
    };
    for answered in &operation.answered {
        let kept = is_kept(route).then_some((
            "Idempotency-Replayed",
            "`true` if the request had been answered before under its key.",
        ));
        let headers = answered.headers.iter().copied().chain(kept);
        let response = response(answered.description, &[content(answered)], headers);
        responses.insert(answered.status.to_string(), response);
    }
    let own: Option<(&'static str, Value)> =
        operation.answered.first().filter(|_| route.takes == Body::Raw).map(&mut content);
    for status in statuses(route, operation) {
        let name = status.to_string();
        let answered = operation.answered.iter().find(|answered| answered.status == status);
        let response = match (&own, answered) {
            // the protocol has problems of its own
            (Some(own), _) => refused(status, std::slice::from_ref(own)),
            (None, Some(answered)) => {
                response(answered.description, &[content(answered), problem.clone()], [])
            }
            (None, None) => json!({ "$ref": reference(status) }),
        };
        responses.insert(name, response);
    }
    responses
}

/// The statuses of the problems that a route can answer with.
fn statuses(route: &Route, operation: &Operation) -> BTreeSet<u16> {
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
    statuses.extend(operation.also);
    statuses
}

fn is_of_task(route: &Route) -> bool {
    route.path.contains("{task}")
}

/// Whether the answer is kept under the key of the request: that of creating a task and of its steps is.
fn is_kept(route: &Route) -> bool {
    route.access == Access::Needs(Scope::TasksWrite) && route.method == Method::POST
}

/// The place of the problems of a status.
fn reference(status: u16) -> String {
    format!("#/components/responses/{status}")
}

/// The problems of a status, kind by kind.
fn refused(status: u16, content: &[(&str, Value)]) -> Value {
    let kinds = || Kind::ALL.iter().filter(|kind| kind.status() == status);
    let kind = |kind: &Kind| format!("`{}`: {}", kind.word(), kind.meaning());
    let description = kinds().map(kind).collect::<Vec<_>>().join(" ");
    let is_passing = kinds().any(|kind| kind.is_passing());
    let advice = ("Retry-After", "The seconds after which the same request may be done.");
    response(&description, content, is_passing.then_some(advice))
}

/// A response with its content by media types, and headers with what they say.
fn response<'h>(
    description: &str,
    content: &[(&str, Value)],
    headers: impl IntoIterator<Item = (&'h str, &'h str)>,
) -> Value {
    let content =
        content.iter().map(|(media_type, schema)| ((*media_type).to_owned(), json!({ "schema": schema })));
    let content: Map<String, Value> = content.collect();
    let header = |(name, description): (&str, &str)| {
        (name.to_owned(), json!({ "description": description, "schema": { "type": "string" } }))
    };
    let headers: Map<String, Value> = headers.into_iter().map(header).collect();
    if headers.is_empty() {
        return json!({ "description": description, "content": content });
    }
    json!({ "description": description, "content": content, "headers": headers })
}
