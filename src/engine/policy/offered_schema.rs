//! The schema of a function's parameters, as the model sees it.
//!
//! In: a function as its tool or agent declares it. Out: one JSON Schema, made when somebody first asks for it: a process that
//! decides one step and ends offers nothing to a model. Linear in the schemas of the parameters.

use crate::manifest::catalog::DeclaredFunction;
use crate::manifest::json_schema::Shown;
use serde_json::{Map, Value, json};
use std::sync::{Arc, OnceLock};

/// The schema of the parameters that the model is offered, without the words that are not for it (BND-03, BND-20).
#[derive(Debug)]
pub(super) struct OfferedSchema {
    function: Arc<DeclaredFunction>,
    made: OnceLock<Value>,
}

impl OfferedSchema {
    pub(super) fn of(function: &Arc<DeclaredFunction>) -> Self {
        Self { function: function.clone(), made: OnceLock::new() }
    }

    pub(super) fn get(&self) -> &Value {
        self.made.get_or_init(|| schema(&self.function))
    }
}

fn schema(function: &DeclaredFunction) -> Value {
    let mut shown = Shown::default();
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
    shown.whole(json!({ "type": "object", "properties": properties, "required": required }))
}
