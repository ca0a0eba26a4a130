//! What is known of the parts of a YAML document: which texts are expressions, and in which order keys stand.
//!
//! In: a document, and the JSON Schema of its kind. Out: the texts that are expressions, and the mappings whose keys have an order. Both come of the description by
//! which the file itself is read; only what a reader looks for first stands here.

use crate::manifest::node::{Data, Node};
use crate::source::Embedded;
use serde_json::Value;

/// The JSON Schema of a kind of file.
pub(super) struct Description<'d> {
    document: &'d Value,
}

/// What is found in a document.
#[derive(Default)]
pub(super) struct Parts<'n> {
    pub(super) expressions: Vec<&'n Embedded>,
    /// Mappings, with their keys in the order in which they should stand.
    pub(super) mappings: Vec<(&'n Node, Vec<usize>)>,
}

/// What a reader looks for first, ahead of the other keys: what a thing is.
const FIRST: [&str; 7] = ["kind", "namespace", "name", "requirements", "about", "type", "op"];

/// How deep schemas refer to each other at one place.
const MAX_REFERENCES: usize = 32;

impl<'d> Description<'d> {
    pub(super) const fn of(document: &'d Value) -> Self {
        Self { document }
    }

    /// The parts of a document, from the outside in.
    pub(super) fn parts<'n>(&self, node: &'n Node) -> Parts<'n> {
        let mut parts = Parts::default();
        self.walk(node, self.document, &mut parts);
        parts
    }

    fn walk<'n>(&self, node: &'n Node, schema: &Value, parts: &mut Parts<'n>) {
        let mut forms = Vec::new();
        self.forms(schema, &mut forms, MAX_REFERENCES);
        match &node.data {
            Data::String(text) if is_expression(schema, &forms) => parts.expressions.push(text),
            Data::Mapping(entries) => {
                let has = |form: &Value, key: &str| {
                    form.get("properties").is_some_and(|keys| keys.get(key).is_some())
                };
                let known = |form: &&Value| entries.iter().filter(|entry| has(form, &entry.key.text)).count();
                // of several forms the one that knows most of what is written, among those that it may be
                let fitting = forms.iter().copied().rev().filter(|form| may_be(node, form));
                let Some(form) = fitting.max_by_key(|form| known(form)) else { return };
                let keys = form.get("properties").and_then(Value::as_object);
                let order = |key: &str| {
                    let first = FIRST.iter().position(|name| *name == key);
                    let later = || keys.and_then(|keys| keys.keys().position(|name| name == key));
                    let later = || later().map(|at| at.saturating_add(FIRST.len()));
                    first.filter(|_| later().is_some()).or_else(later)
                };
                let mut positions: Vec<usize> = (0..entries.len()).collect();
                positions.sort_by_key(|at| {
                    let key = entries.get(*at).map(|entry| &*entry.key.text).unwrap_or_default();
                    order(key).unwrap_or(usize::MAX)
                });
                parts.mappings.push((node, positions));
                for entry in entries.iter() {
                    let of_key = keys.and_then(|keys| keys.get(&*entry.key.text));
                    let others = form.get("additionalProperties").filter(|others| others.is_object());
                    if let Some(schema) = of_key.or(others) {
                        self.walk(&entry.value, schema, parts);
                    }
                }
            }
            Data::Sequence(items) => {
                if let Some(of_items) = forms.iter().find_map(|form| form.get("items")) {
                    items.iter().for_each(|item| self.walk(item, of_items, parts));
                }
            }
            _ => {}
        }
    }

    /// What a schema comes to: itself, and what it refers to or chooses among.
    fn forms<'s>(&'s self, schema: &'s Value, forms: &mut Vec<&'s Value>, depth: usize)
    where
        'd: 's,
    {
        let Some(deeper) = depth.checked_sub(1) else { return };
        forms.push(schema);
        let referred = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.rsplit('/').next());
        let definition = referred.and_then(|name| self.document.get("$defs")?.get(name));
        definition.into_iter().for_each(|schema| self.forms(schema, forms, deeper));
        for word in ["anyOf", "oneOf"] {
            for schema in schema.get(word).and_then(Value::as_array).into_iter().flatten() {
                self.forms(schema, forms, deeper);
            }
        }
    }
}

/// Whether a mapping may be of a form by what it says that it is: it has no other `kind`, and no other `op`.
fn may_be(node: &Node, form: &Value) -> bool {
    ["kind", "op"].into_iter().all(|key| {
        let schema = form.get("properties").and_then(|keys| keys.get(key));
        let words = schema.map(|schema| [schema.get("const"), schema.get("enum")]);
        let Some([word, words]) = words.filter(|words| words.iter().any(Option::is_some)) else {
            return true;
        };
        let written = node.get(key).and_then(Node::as_string);
        let mut wanted = words.and_then(Value::as_array).into_iter().flatten().chain(word);
        written.is_none_or(|written| wanted.any(|word| word.as_str() == Some(&*written.text)))
    })
}

/// Whether a text under this schema is an expression: the schema of expressions is referred to by its name.
fn is_expression(schema: &Value, forms: &[&Value]) -> bool {
    let mut all = std::iter::once(schema).chain(forms.iter().copied());
    all.any(|form| form.get("$ref").and_then(Value::as_str) == Some("#/$defs/expression"))
}
