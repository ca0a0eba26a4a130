//! Parameter schemas (PAR): what a tool, an action, an event or an agent takes.
//!
//! In: a JSON Schema object as far as the specification speaks of it. Out: [`Property`]s with their types and defaults.
//! A property is required exactly when it has no `default` (PAR-02, PAR-04). What the engine does not read is kept in
//! [`Schema::node`], untouched, for the schema that the model sees.

use super::messages;
use super::node::Node;
use super::reader::{Fields, Path, Reader};
use crate::source::Embedded;
use serde_json::Value;
use std::sync::Arc;

/// A named parameter, setting or field.
#[derive(Clone, Debug)]
pub struct Property {
    /// The name; a setting's may hold dots (INT-04).
    pub name: Embedded,
    /// The manifest path, such as `actions[0].parameters.properties.amount`.
    pub path: String,
    /// What it may be; shared by every function that has the parameter.
    pub schema: Arc<Schema>,
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

impl SchemaKind {
    /// The type of a name, if it is one of JSON Schema's; `null` is none that a value can have alone.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }
}

const KINDS: [(&str, SchemaKind); 6] = [
    ("string", SchemaKind::String),
    ("number", SchemaKind::Number),
    ("boolean", SchemaKind::Boolean),
    ("object", SchemaKind::Object),
    ("array", SchemaKind::Array),
    ("integer", SchemaKind::Integer),
];

/// Keys of JSON Schema that the engine does not read, and that say nothing wrong.
const OTHER_KEYS: [&str; 31] = [
    "$comment",
    "$defs",
    "$id",
    "$ref",
    "$schema",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "deprecated",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "readOnly",
    "uniqueItems",
    "writeOnly",
];

/// What a schema is for: it decides how much of it must be right.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Parameters of a tool, an action, an event or an agent.
    Parameters,
    /// Settings, and fields and items within a parameter: JSON Schema at large.
    Inner,
}

/// Reads the properties of a `parameters` or `settings` block.
pub(super) fn read_properties(node: &Node, path: &Path, role: Role, reader: &mut Reader) -> Vec<Property> {
    let Some(mut fields) = reader.fields(node, path) else { return Vec::new() };
    fields.get("type");
    for key in ["description", "title"].into_iter().chain(OTHER_KEYS) {
        fields.written(key);
    }
    warn_of_required(&mut fields, reader);
    let properties = fields.get("properties");
    let bare = properties.is_none();
    let properties =
        properties.map(|field| read_each(field.node, &field.path, role, reader)).unwrap_or_default();
    if bare {
        for entry in fields.others() {
            reader.report(&path.key(&entry.key.text), messages::bare_schema(&entry.key));
        }
    } else {
        fields.warn_of_others("a schema", &[], reader);
    }
    properties
}

fn read_each(node: &Node, path: &Path, role: Role, reader: &mut Reader) -> Vec<Property> {
    let entries = reader.mapping(node, path).unwrap_or_default();
    entries
        .iter()
        .filter_map(|entry| {
            let path = path.key(&entry.key.text);
            let schema = Schema::read(&entry.value, &path, role, reader)?;
            Some(Property { name: entry.key.clone(), path: path.into(), schema: Arc::new(schema) })
        })
        .collect()
}

impl Schema {
    /// The schema of a text that has a default and nothing else.
    pub(super) fn of_text_with_default(node: &Node, default: &Embedded) -> Self {
        Self {
            node: node.clone(),
            kind: None,
            default: Some(Value::from(&*default.text)),
            allowed: None,
            require_binding: false,
            allow_from_llm: true,
            title: None,
            description: None,
            format: None,
            items: None,
            properties: Vec::new(),
        }
    }

    fn read(node: &Node, path: &Path, role: Role, reader: &mut Reader) -> Option<Self> {
        let mut fields = reader.fields(node, path)?;
        let default = fields.written("default").map(|field| field.node.to_json());
        let allowed = fields.get("enum").and_then(|field| {
            let items = reader.list(field.node, &field.path)?;
            Some(items.iter().map(Node::to_json).collect())
        });
        for key in OTHER_KEYS {
            fields.written(key);
        }
        let kind = read_kind(&mut fields, role, reader);
        let schema = Self {
            node: node.clone(),
            kind,
            default,
            allowed,
            require_binding: fields.boolean("require_binding", false, reader),
            allow_from_llm: fields.boolean("allow_from_llm", true, reader),
            title: fields.text("title", reader),
            description: fields.text("description", reader),
            format: fields.text("format", reader),
            items: fields
                .get("items")
                .filter(|field| field.node.as_mapping().is_some())
                .and_then(|field| Self::read(field.node, &field.path, Role::Inner, reader))
                .map(Box::new),
            properties: fields
                .get("properties")
                .map(|field| read_each(field.node, &field.path, Role::Inner, reader))
                .unwrap_or_default(),
        };
        if role == Role::Parameters {
            if schema.kind == Some(SchemaKind::Object) {
                fields.written("required");
            } else {
                warn_of_required(&mut fields, reader);
            }
            fields.warn_of_others("a parameter", &["require_binding", "allow_from_llm", "enum"], reader);
        }
        Some(schema)
    }
}

/// The type of a parameter must be one that is known (TOOL-15); within one, JSON Schema has more to say than we read.
fn read_kind(fields: &mut Fields<'_>, role: Role, reader: &mut Reader) -> Option<SchemaKind> {
    let field = fields.get("type")?;
    let word = field.node.as_string().map(|text| &*text.text);
    let kind = word.and_then(SchemaKind::named);
    if kind.is_none() && role == Role::Parameters {
        let known = KINDS.map(|(name, _)| name);
        reader.report(&field.path, messages::unknown_type(field.node, &known));
    }
    kind
}

/// A list of required names means nothing: the absence of a default does (PAR-06).
fn warn_of_required(fields: &mut Fields<'_>, reader: &mut Reader) {
    if let Some(field) = fields.get("required") {
        reader.report(&field.path, messages::required_list(&field.key.place));
    }
}
