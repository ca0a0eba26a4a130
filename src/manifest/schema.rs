//! Parameter schemas (PAR): what a tool, an action, an event or an agent takes.
//!
//! In: a JSON Schema object as far as the specification speaks of it. Out: [`Property`]s with their types and defaults.
//! A property is required exactly when it has no `default` (PAR-02, PAR-04). What the engine does not read is kept in
//! [`Schema::node`], untouched, for the schema that the model sees.

use super::node::Node;
use crate::source::Embedded;
use serde_json::Value;

/// A named parameter, setting or field.
#[derive(Clone, Debug)]
pub struct Property {
    /// The name; a setting's may hold dots (INT-04).
    pub name: Embedded,
    /// The manifest path, such as `actions[0].parameters.properties.amount`.
    pub path: String,
    /// What it may be.
    pub schema: Schema,
}

/// The schema of one value.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The whole object as written.
    pub node: Node,
    /// Its type (TOOL-15), if it names one that is known.
    pub kind: Option<SchemaKind>,
    /// The default; its presence makes the value optional, also when it is null (PAR-04).
    pub default: Option<Value>,
    /// The values that are allowed (PAR-08).
    pub allowed: Option<Vec<Value>>,
    /// Whether an agent must bind it (BND-05).
    pub require_binding: bool,
    /// Whether the model may set it: `allow_from_llm` of `v1`, true by default (KV-11).
    pub allow_from_llm: bool,
    /// A label for people.
    pub title: Option<Embedded>,
    /// What it is for.
    pub description: Option<Embedded>,
    /// Such as `uri` or `password`.
    pub format: Option<Embedded>,
    /// The schema of the items of an array.
    pub items: Option<Box<Schema>>,
    /// The fields of an object that are known.
    pub properties: Vec<Property>,
}

impl Schema {
    /// Whether a value must be supplied (PAR-02).
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.default.is_none()
    }
}

/// The types of JSON Schema that a parameter may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaKind {
    /// `string`
    String,
    /// `number`
    Number,
    /// `integer`
    Integer,
    /// `boolean`
    Boolean,
    /// `object`
    Object,
    /// `array`
    Array,
}
