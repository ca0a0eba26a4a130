//! Schemas (PAR): what a tool, an action, an event or an agent takes, and what an action returns.
//!
//! In: a JSON Schema object. Out: [`Property`]s with their types, their defaults and, where a schema says more than types,
//! the schema made ready. A property is required exactly when it has no `default` (PAR-02, PAR-04). What a schema says is
//! enforced (`json_schema`) or refused (`schema_check`); the whole of it is kept in [`Schema::node`] for the schema that the
//! model sees.

use super::argument_rules::{ArgumentRules, says_more};
use super::fields::Key;
#[cfg(feature = "schemas")]
use super::json_schema::NotReady;
use super::json_schema::Validator;
use super::json_schema::plain::is_plain;
use super::json_schema::secret;
use super::json_schema::words::{SECRET, Takes, Treatment, WORDS, Word, word};
use super::messages;
use super::node::{Data, Entry, Node};
use super::reader::{Path, Reader};
use super::schema_check::{
    NO_MEANING, Position, check, check_definitions, check_names, check_references, check_word,
};
use super::shape::{Anything, Boolean, Mapping, Object, Text, closed, mapping, shape, with};
use super::unsaid::is_left_out;
use crate::context::Secrets;
use crate::source::Embedded;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

pub use super::json_schema::schema_kind::SchemaKind;

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
    /// Whether the value must be supplied, as `required` of a listed tool says; elsewhere the default decides.
    pub required: Option<bool>,
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
    /// The block that it stands in, which its references lead into.
    pub root: Node,
    /// The schema made ready, if it says more than types, constants and fields.
    pub validator: Option<Arc<Validator>>,
    /// Which parts of its values views do not show.
    pub secrets: Secrets,
}

impl Schema {
    /// Whether a value must be supplied (PAR-02). One that need not be and has no default that counts stays out.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.required.unwrap_or(self.default.is_none())
    }
}

/// What a schema is for: it decides how much of it must be right.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Parameters of a tool, an action, an event or an agent: values are held to them.
    Parameters,
    /// Arguments of a listed tool, whose own `required` says which of them must be there.
    Listed,
    /// Settings, which the host reads: JSON Schema at large.
    Settings,
}

mapping! {
    /// What the engine looks at in a block of parameters or settings; the other words are those of [`WORDS`].
    BlockKeys = "a block" {
        properties: Object,
        required: Anything,
    }

    /// What the engine looks at in a parameter or a setting; the other words are those of [`WORDS`].
    PropertyKeys = "a parameter" {
        /// A label for people.
        title: Text,
        /// What the model is told.
        description: Text,
        /// Every agent must bind it.
        require_binding: Boolean,
        /// Of v1: `false` hides it from the model.
        allow_from_llm: Boolean,
        /// A format, such as `uri`.
        format: Text,
        /// Names of fields that are there; of the parameter itself its `default` says whether it is.
        required: Anything,
    }
}

shape! {
    /// Parameters by name.
    pub(super) Parameters as "parameters" = |definitions| {
        let parameter = definitions.refer("parameter", |definitions| {
            let known = WORDS.iter().filter(|word| !matches!(word.treatment, Treatment::Refused(_)));
            with_words(Value::Object(closed(PropertyKeys::ROWS, definitions)), known)
        });
        let block = block("Parameters by name; one without `default` is required.", parameter);
        with_words(block, WORDS.iter().filter(|word| stands_in_a_block(word)))
    };
    /// Settings by name.
    pub(super) Settings as "settings" = |_| {
        let block = block("What operators configure; the model never sees it.", json!({ "type": "object" }));
        with_words(block, WORDS.iter().filter(|word| word.name != "required"))
    };
    /// The JSON Schema of the arguments of a listed tool: an object.
    pub(super) InputSchema = |_| json!({
        "type": "object",
        "description": "A JSON Schema.",
        "properties": {
            "type": { "const": "object" },
            "properties": { "type": "object" },
            "required": { "type": "array", "items": { "type": "string" } },
        },
    });
    /// A JSON Schema of its own.
    pub(super) Alone = Object::schema;
    /// The JSON Schema of what an event brings.
    pub(super) Payload = Object::schema;
}

/// What JSON Schema says of a block whose properties have this schema, before the words that say nothing of them.
fn block(about: &str, property: Value) -> Value {
    json!({
        "description": about,
        "type": "object",
        "properties": {
            "type": { "const": "object" },
            "properties": { "type": "object", "additionalProperties": property },
        },
        "required": ["properties"],
        "additionalProperties": false,
    })
}

/// A schema of schemas that knows more words.
fn with_words(mut schema: Value, words: impl Iterator<Item = &'static Word>) -> Value {
    if let Some(Value::Object(known)) = schema.get_mut("properties") {
        for word in words {
            let value = match word.takes {
                Takes::Text | Takes::Format => json!({ "type": "string" }),
                Takes::Boolean => json!({ "type": "boolean" }),
                Takes::Values => json!({ "type": "array" }),
                _ => json!({}),
            };
            known.entry(word.name).or_insert(with(value, "description", word.about));
        }
    }
    schema
}

impl Key<'_, '_, Parameters> {
    /// The parameters.
    pub(super) fn properties(&self, reader: &mut Reader) -> Vec<Property> {
        let field = self.get();
        field.map(|field| read_parameters(field.node, &field.path, reader)).unwrap_or_default()
    }
}

impl Key<'_, '_, InputSchema> {
    /// The arguments, and what holds for all of them together.
    pub(super) fn arguments(&self, reader: &mut Reader) -> (Vec<Property>, ArgumentRules) {
        let Some(field) = self.get() else { return Default::default() };
        let before = reader.errors();
        let properties = read_properties(field.node, &field.path, Role::Listed, reader);
        let mut rules = ArgumentRules::of(field.node);
        let is_known = |name: &str| properties.iter().any(|property| *property.name.text == *name);
        if reader.errors() == before && says_more(field.node, is_known) {
            check_references(field.node, field.node, &field.path, reader);
            rules.validator = made_ready(field.node, field.node, &field.path, before, reader);
        }
        (properties, rules)
    }
}

impl Key<'_, '_, Settings> {
    /// The settings.
    pub(super) fn properties(&self, reader: &mut Reader) -> Vec<Property> {
        let field = self.get();
        field
            .map(|field| read_properties(field.node, &field.path, Role::Settings, reader))
            .unwrap_or_default()
    }
}

impl Key<'_, '_, Alone> {
    /// The schema; nothing if it is no mapping. Its references lead into it.
    pub(super) fn alone(&self, reader: &mut Reader) -> Option<Arc<Schema>> {
        let field = self.get()?;
        read_alone(field.node, &field.path, reader)
    }
}

impl Key<'_, '_, Payload> {
    /// The same of what an event brings, of which nothing can be secret: it becomes a message, which everybody sees.
    pub(super) fn payload(&self, reader: &mut Reader) -> Option<Arc<Schema>> {
        let field = self.get()?;
        let schema = read_alone(field.node, &field.path, reader)?;
        if !schema.secrets.is_empty() {
            reader.report(&field.path, messages::secret_of_an_event(&field.key.place));
        }
        Some(schema)
    }
}

/// Reads the properties of a block of parameters.
pub(super) fn read_parameters(node: &Node, path: &Path, reader: &mut Reader) -> Vec<Property> {
    read_properties(node, path, Role::Parameters, reader)
}

fn read_properties(node: &Node, path: &Path, role: Role, reader: &mut Reader) -> Vec<Property> {
    let Some(fields) = reader.fields::<BlockKeys>(node, path) else { return Vec::new() };
    let required = fields.required();
    let must = (role == Role::Listed).then(|| required_names(&required, reader));
    if must.is_none() {
        warn_of_required(&required, reader);
    }
    let properties = fields.properties().get();
    check_block(node, path, role, properties.is_none(), reader);
    let entries = properties.as_ref().map(|properties| reader.mapping(properties.node, &properties.path));
    let entries = entries.flatten().unwrap_or_default();
    let must = must.map(|names| names.iter().map(|name| name.text.clone()).collect::<HashSet<_>>());
    let read = |entry: &Entry| {
        let path = path.key("properties").key(&entry.key.text);
        let value = match entry.value.data {
            // of a listed tool; what `false` says, the validator of the whole enforces
            Data::Bool(_) if role == Role::Listed => &entry.value.emptied(),
            _ => &entry.value,
        };
        let mut schema = Schema::read(value, node, &path, role, reader)?;
        schema.required = must.as_ref().map(|must| must.contains(&entry.key.text));
        Some(Property { name: entry.key.clone(), path: path.into(), schema: Arc::new(schema) })
    };
    entries.iter().filter_map(read).collect()
}

/// Reads a schema of its own; nothing if it is no mapping. Its references lead into it.
pub(super) fn read_alone(node: &Node, path: &Path, reader: &mut Reader) -> Option<Arc<Schema>> {
    reader.mapping(node, path)?;
    let mut schema = Schema::of(node, node);
    schema.validator = ready(node, node, path, Position::Inner, reader);
    schema.secrets = secret::secrets(node, node);
    Some(Arc::new(schema))
}

/// The words that may stand in a block and that nobody looks at.
const UNREAD: [&str; 5] =
    // an address of the whole changes nothing that is in it
    ["properties", "required", "additionalProperties", "unevaluatedProperties", "$id"];

/// Whether a word stands in a block of parameters without a finding.
fn stands_in_a_block(word: &Word) -> bool {
    let is_said = word.treatment == Treatment::Annotation && word.name != SECRET;
    matches!(word.name, "type" | "$defs" | "definitions")
        || (UNREAD.contains(&word.name) && word.name != "required")
        || (is_said && !word.name.starts_with("content"))
}

/// The words of a block beside its properties. Arguments that no property declares are dropped (PAR-07), and which of
/// them are required their defaults say (PAR-06); more cannot be said of all together.
fn check_block(node: &Node, path: &Path, role: Role, bare: bool, reader: &mut Reader) {
    for entry in node.as_mapping().unwrap_or_default() {
        let (key, path) = (&entry.key, path.key(&entry.key.text));
        let Some(word) = word(&key.text) else {
            let known = ["properties", "required", "description", "title", "type", "$defs"];
            match (bare, messages::nearest_key(key, &known)) {
                _ if key.text.starts_with("x-") => {}
                _ if role == Role::Listed => {
                    reader.report(&path, messages::not_enforced_of_tool(key, NO_MEANING));
                }
                (_, near) if role == Role::Settings && !(bare && near.is_none()) => {
                    reader.report(&path, messages::ignored_key(key, "a schema", &known));
                }
                (true, None) => reader.report(&path, messages::bare_schema(key)),
                _ => reader.report(&path, messages::unknown_keyword(key, &known)),
            }
            continue;
        };
        if word.name == "properties" && role != Role::Settings && is_left_out(&entry.value) {
            reader.report(&path, messages::nothing_said(key, "no parameter is declared"));
        }
        if role == Role::Settings || entry.value.is_null() {
            continue;
        }
        let is_object = |node: &Node| node.as_string().is_some_and(|name| &*name.text == "object");
        match (word.name, word.treatment) {
            ("type", _) if is_object(&entry.value) => {}
            ("type", _) => reader.report(&path, messages::not_an_object(&entry.value)),
            ("$defs" | "definitions", _) => check_definitions(&entry.value, &path, reader),
            (name, Treatment::Enforced)
                if role == Role::Listed && !matches!(name, "properties" | "required") =>
            {
                check_word(entry, node, &path, Position::Inner, reader);
            }
            (name, _) if UNREAD.contains(&name) => {}
            (SECRET, _) => reader.report(&path, messages::secret_of_all(key)),
            (_, Treatment::Annotation) => check_word(entry, node, &path, Position::Inner, reader),
            (_, Treatment::Refused(reason)) => {
                reader.report(&path, messages::unsupported_keyword(key, reason))
            }
            (_, Treatment::Enforced) => reader.report(&path, messages::all_arguments(key)),
        }
    }
}

impl Schema {
    /// The schema of a text that has a default and nothing else.
    pub(super) fn of_text_with_default(node: &Node, default: &Embedded) -> Self {
        Self {
            kind: None,
            default: Some(Value::from(&*default.text)),
            allowed: None,
            title: None,
            description: None,
            format: None,
            items: None,
            properties: Vec::new(),
            ..Self::of(node, node)
        }
    }

    fn read(node: &Node, root: &Node, path: &Path, role: Role, reader: &mut Reader) -> Option<Self> {
        let fields = reader.fields::<PropertyKeys>(node, path)?;
        let require_binding = fields.require_binding().boolean(reader).unwrap_or(false);
        let allow_from_llm = fields.allow_from_llm().boolean(reader).unwrap_or(true);
        let mut schema = Self { require_binding, allow_from_llm, ..Self::of(node, root) };
        if role == Role::Settings {
            for key in [fields.title(), fields.description(), fields.format()] {
                key.text(reader);
            }
            return Some(schema);
        }
        let has_fields = matches!(schema.kind, Some(SchemaKind::Object) | None);
        if !has_fields || node.get("required").is_some_and(|list| list.as_sequence().is_none()) {
            warn_of_required(&fields.required(), reader);
        } else if let Some(list) = fields.required().get() {
            check_names("required", list.node, &list.path, reader);
        }
        schema.validator = ready(node, root, path, Position::Parameter, reader);
        schema.secrets = secret::secrets(node, root);
        Some(schema)
    }

    /// The schema as it is written, unchecked.
    fn of(node: &Node, root: &Node) -> Self {
        let text = |key: &str| node.get(key).and_then(Node::as_string).cloned();
        let all = |values: &[Node]| values.iter().map(Node::to_json).collect();
        let property = |entry: &Entry| Property {
            name: entry.key.clone(),
            path: String::new(),
            schema: Arc::new(Self::of(&entry.value, root)),
        };
        let fields = node.get("properties").and_then(Node::as_mapping).unwrap_or_default();
        let items = node.get("items").filter(|items| items.as_mapping().is_some());
        Self {
            node: node.clone(),
            root: root.clone(),
            kind: node.get("type").and_then(Node::as_string).and_then(|name| SchemaKind::named(&name.text)),
            default: node.get("default").map(Node::to_json),
            required: None,
            allowed: node.get("enum").and_then(Node::as_sequence).map(all),
            require_binding: false,
            allow_from_llm: true,
            title: text("title"),
            description: text("description"),
            format: text("format"),
            items: items.map(|items| Box::new(Self::of(items, root))),
            properties: fields.iter().map(property).collect(),
            validator: None,
            secrets: Secrets::default(),
        }
    }
}

/// Checks a schema and makes it ready, if it says more than types, constants and fields and nothing in it is wrong.
fn ready(
    node: &Node,
    root: &Node,
    path: &Path,
    position: Position,
    reader: &mut Reader,
) -> Option<Arc<Validator>> {
    if reader.schemas.is_spent() {
        return None;
    }
    let before = reader.errors();
    check(node, path, position, reader);
    if !reader.schemas.is_spent() {
        check_references(root, node, path, reader);
    }
    if is_plain(node) { None } else { made_ready(node, root, path, before, reader) }
}

/// Makes a schema ready that was checked; nothing if errors were found in it since there were `before`.
fn made_ready(
    node: &Node,
    root: &Node,
    path: &Path,
    before: usize,
    reader: &mut Reader,
) -> Option<Arc<Validator>> {
    if reader.errors() > before {
        return None;
    }
    #[cfg(feature = "schemas")]
    match Validator::new(node, root, &mut reader.schemas) {
        Ok(validator) => return Some(Arc::new(validator)),
        Err(NotReady::Refused(reason)) => {
            reader.report(path, messages::schema_refused(&node.place, &reason));
        }
        Err(NotReady::TooLarge) => {
            let limit = reader.schemas.limits().max_schema_bytes;
            reader.report(path, messages::schemas_too_large(&node.place, limit));
        }
    }
    #[cfg(not(feature = "schemas"))]
    {
        let Node { place, .. } = if node.is_null() { root } else { node };
        reader.report(path, messages::schema_refused(place, "it needs a build with the feature `schemas`"));
    }
    None
}

/// The names that `required` of a listed tool has.
fn required_names(required: &Key<'_, '_, Anything>, reader: &mut Reader) -> Vec<Embedded> {
    let Some(field) = required.get() else { return Vec::new() };
    check_names("required", field.node, &field.path, reader);
    let names = field.node.as_sequence().unwrap_or_default();
    names.iter().filter_map(Node::as_string).cloned().collect()
}

/// A list of required names means nothing: the absence of a default does (PAR-06).
fn warn_of_required(required: &Key<'_, '_, Anything>, reader: &mut Reader) {
    if let Some(field) = required.get() {
        reader.report(&field.path, messages::required_list(&field.key.place));
    }
}
