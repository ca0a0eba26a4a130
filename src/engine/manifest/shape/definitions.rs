//! JSON Schemas that others refer to, and the document of all that one needs.
//!
//! In: schemas as they are made, those that are used in several places with a name. Out: one document of the draft 2020-12
//! that needs no other.

use serde_json::{Map, Value, json};

/// The schemas that have a name.
#[derive(Default)]
pub(crate) struct Definitions {
    schemas: Map<String, Value>,
}

impl Definitions {
    /// A schema without a name.
    pub(crate) fn make(&mut self, make: impl FnOnce(&mut Self) -> Value) -> Value {
        make(self)
    }

    /// A reference to the schema of a name, which is made where it is first referred to. A schema may refer to itself.
    pub(crate) fn refer(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.schemas.contains_key(name) {
            self.schemas.insert(name.to_owned(), Value::Null);
            let schema = make(self);
            self.schemas.insert(name.to_owned(), schema);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }
}

/// A schema that says one more thing.
pub(crate) fn with(mut schema: Value, word: &str, value: impl Into<Value>) -> Value {
    if let Value::Object(words) = &mut schema {
        words.insert(word.to_owned(), value.into());
    }
    schema
}

/// The document of a schema, with all definitions that it needs.
pub(crate) fn document(schema: impl FnOnce(&mut Definitions) -> Value) -> Value {
    let mut definitions = Definitions::default();
    let mut document = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema" });
    let schema = schema(&mut definitions);
    if let (Value::Object(document), Value::Object(schema)) = (&mut document, schema) {
        document.extend(schema);
        document.insert("$defs".to_owned(), Value::Object(definitions.schemas));
    }
    document
}
