//! The schema of a function's parameters, as the model sees it.
//!
//! In: a function as its tool or agent declares it. Out: one JSON Schema, made when somebody first asks for it: a process that
//! decides one step and ends offers nothing to a model. Linear in the schemas of the parameters.

use crate::manifest::catalog::DeclaredFunction;
use crate::manifest::json_schema::Shown;
use crate::manifest::node::Node;
use serde_json::{Map, Value, json};
use std::sync::{Arc, OnceLock};

/// The schema of the parameters that the model is offered, without the words that are not for it (BND-03, BND-20).
#[derive(Debug)]
pub(super) struct OfferedSchema {
    function: Arc<DeclaredFunction>,
    /// The schema of the arguments of a listed tool as written.
    whole: Option<Node>,
    made: OnceLock<Value>,
}

impl OfferedSchema {
    pub(super) fn of(function: &Arc<DeclaredFunction>, whole: Option<&Node>) -> Self {
        Self { function: function.clone(), whole: whole.cloned(), made: OnceLock::new() }
    }

    pub(super) fn get(&self) -> &Value {
        self.made.get_or_init(|| schema(&self.function, self.whole.as_ref()))
    }
}

fn schema(function: &DeclaredFunction, whole: Option<&Node>) -> Value {
    let mut shown = Shown::default();
    // what a listed tool says of all arguments together, such as `additionalProperties`, the model reads too
    let beside = match whole.map(|whole| shown.block(whole)) {
        Some(Value::Object(beside)) => beside,
        _ => Map::new(),
    };
    let mut properties = Map::new();
    let mut required = Vec::new();
    for parameter in function.parameters.iter().filter(|parameter| parameter.offered) {
        let declared = parameter.declared.as_ref().map(|property| &property.schema);
        let schema = match declared {
            Some(schema) if function.action.is_some() => shown.schema(&schema.node, &schema.root),
            _ => json!({ "type": "string" }),
        };
        if declared.is_none_or(|schema| schema.is_required()) {
            required.push(Value::from(parameter.name.as_str()));
        }
        properties.insert(parameter.name.clone(), schema);
    }
    let names = beside.get("required").and_then(Value::as_array).into_iter().flatten();
    let is_undeclared = |name: &&Value| name.as_str().is_some_and(|name| !declares(function, name));
    required.extend(names.filter(is_undeclared).cloned());
    let mut said = Map::new();
    said.insert("type".to_owned(), "object".into());
    said.insert("properties".to_owned(), properties.into());
    said.insert("required".to_owned(), required.into());
    for (word, value) in beside {
        said.entry(word).or_insert(value);
    }
    shown.whole(said.into())
}

fn declares(function: &DeclaredFunction, name: &str) -> bool {
    function.parameters.iter().any(|parameter| parameter.name == name)
}
