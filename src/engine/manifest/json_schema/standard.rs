//! A schema as plain JSON Schema 2020-12 that stands on its own.
//!
//! In: a schema and the block that it stands in. Out: JSON whose references all lead to its own `$defs`. For the validator
//! everything is said in words of 2020-12, and what says nothing of values is left out; for the model the words stay as
//! they were written, but for the definitions, of which only those are shown that what the model sees refers to. Linear in
//! the schema and what it refers to.

use super::parts::{Step, schemas};
use super::pattern;
use super::references::resolve;
use super::words::{FORMATS, PARAMETER_WORDS, SECRET, Takes, Treatment, word};
use crate::manifest::node::{Data, Entry, Node};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

/// Schemas that go to the same reader and share their definitions.
#[derive(Default)]
pub struct Shown {
    definitions: Definitions,
}

/// What is referred to, by block and reference: its name, and the schema once it was written. A block is known by where
/// its tree lies in memory.
type Definitions = IndexMap<(usize, String), (String, Value)>;

impl Shown {
    /// What a block of parameters says beside its properties, as the model is to see it.
    pub fn block(&mut self, block: &Node) -> Value {
        let entries = block.as_mapping().unwrap_or_default().iter();
        let is_beside = |entry: &&Entry| !matches!(&*entry.key.text, "properties" | "$schema" | "$id");
        let beside: Vec<_> = entries.filter(is_beside).cloned().collect();
        self.schema(&Node { place: block.place.clone(), data: Data::Mapping(beside.into()) }, block)
    }

    /// The schema of a parameter as the model is to see it: without the words that are not for it (BND-20), and with
    /// references to what [`Shown::whole`] puts beside it. `root` is the block that it stands in.
    pub fn schema(&mut self, schema: &Node, root: &Node) -> Value {
        let block = root.as_mapping().map_or(0, |entries| entries.as_ptr().addr());
        let before = self.definitions.len();
        let mut writer = Writer { root, block, purpose: Purpose::Model, definitions: &mut self.definitions };
        let shown = writer.schema(schema);
        writer.define(before);
        shown
    }

    /// A schema that was made of these, with everything that they refer to in its own `$defs`.
    #[must_use]
    pub fn whole(self, schema: Value) -> Value {
        whole(schema, self.definitions)
    }
}

fn whole(mut schema: Value, definitions: Definitions) -> Value {
    if let Value::Object(members) = &mut schema
        && !definitions.is_empty()
    {
        members.insert("$defs".to_owned(), definitions.into_values().collect::<Map<_, _>>().into());
    }
    schema
}

/// The schema for the validator. Its patterns are those of the engine; `patterns` says what was written.
#[cfg(feature = "schemas")]
pub(super) fn for_validator(schema: &Node, root: &Node) -> Value {
    let mut definitions = Definitions::default();
    let mut writer = Writer { root, block: 0, purpose: Purpose::Validator, definitions: &mut definitions };
    let written = writer.schema(schema);
    writer.define(0);
    whole(written, definitions)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Validator,
    Model,
}

struct Writer<'w> {
    root: &'w Node,
    block: usize,
    purpose: Purpose,
    definitions: &'w mut Definitions,
}

impl Writer<'_> {
    fn schema(&mut self, schema: &Node) -> Value {
        let Some(entries) = schema.as_mapping() else { return schema.to_json() };
        let mut members = Map::new();
        for entry in entries {
            match self.purpose {
                Purpose::Model => self.show(entry, &mut members),
                Purpose::Validator => self.say(entry, schema, &mut members),
            }
        }
        let nullable = matches!(schema.get("nullable"), Some(Node { data: Data::Bool(true), .. }));
        if nullable && self.purpose == Purpose::Validator {
            return json!({ "anyOf": [{ "type": "null" }, members] });
        }
        Value::Object(members)
    }

    /// A word for the model.
    fn show(&mut self, Entry { key, value }: &Entry, members: &mut Map<String, Value>) {
        if PARAMETER_WORDS.contains(&&*key.text) || *key.text == *SECRET {
            return;
        }
        let takes = word(&key.text).map_or(Takes::Anything, |word| word.takes);
        let shown = match (takes, value.as_string()) {
            (Takes::Definitions, _) => return,
            (Takes::Reference, Some(reference)) => self.reference(&reference.text),
            _ => self.written(takes, value),
        };
        members.insert(key.text.to_string(), shown);
    }

    /// The value of a word with the schemas in it.
    fn written(&mut self, takes: Takes, value: &Node) -> Value {
        let inner = schemas(takes, value);
        match inner.first() {
            None => value.to_json(),
            Some((Step::Itself, _, schema)) => self.schema(schema),
            Some((Step::Item(_), _, _)) => inner.iter().map(|(_, _, schema)| self.schema(schema)).collect(),
            Some((Step::Key(_), _, _)) => {
                let mut members = Map::new();
                for Entry { key, value } in value.as_mapping().unwrap_or_default() {
                    let is_schema = inner.iter().any(|(step, _, _)| step.is(&key.text));
                    let written = if is_schema { self.schema(value) } else { value.to_json() };
                    members.insert(key.text.to_string(), written);
                }
                Value::Object(members)
            }
        }
    }

    /// A word for the validator.
    fn say(&mut self, Entry { key, value }: &Entry, schema: &Node, members: &mut Map<String, Value>) {
        let Some(word) = word(&key.text) else { return };
        let is_absent = value.is_null() && !matches!(word.takes, Takes::Value | Takes::Types);
        if word.treatment != Treatment::Enforced || word.takes == Takes::Definitions || is_absent {
            return;
        }
        let (name, said) = match (word.takes, value.as_string()) {
            (Takes::Reference, Some(reference)) => (word.name, self.reference(&reference.text)),
            (Takes::Pattern, Some(text)) => (word.name, translated(&text.text)),
            (Takes::Format, Some(format)) => return say_format(&format.text, members),
            (Takes::Count, _) => (word.name, value.as_count().map_or(Value::Null, Value::from)),
            (Takes::Types, None) if value.is_null() => (word.name, Value::from("null")),
            (Takes::Types, None) => {
                let named = |node: &Node| if node.is_null() { Value::from("null") } else { node.to_json() };
                (word.name, value.as_sequence().unwrap_or_default().iter().map(named).collect())
            }
            // of a parameter, `required: true` means nothing (PAR-06)
            (Takes::Names, _) if value.as_sequence().is_none() => return,
            (Takes::SchemasByPattern, _) => {
                let entries = value.as_mapping().unwrap_or_default().iter();
                let by_pattern = entries.map(|entry| {
                    let pattern = pattern::rewrite(&entry.key.text).unwrap_or_default();
                    (pattern, self.schema(&entry.value))
                });
                (word.name, Value::Object(by_pattern.collect()))
            }
            (Takes::Dependencies, _) => return self.dependencies(value, members),
            (Takes::Items, _) if value.as_sequence().is_some() => {
                ("prefixItems", self.written(word.takes, value))
            }
            (Takes::SchemaBelow, _) if word.name == "additionalItems" => {
                let has_list = schema.get("items").is_some_and(|items| items.as_sequence().is_some());
                if !has_list {
                    return;
                }
                ("items", self.schema(value))
            }
            (Takes::Boolean, _) if word.name == "nullable" => return,
            _ => (word.name, self.written(word.takes, value)),
        };
        if members.contains_key(name) {
            // two words that are one in 2020-12, or one that another was said in: both hold
            and(members, json!({ name: said }));
        } else {
            members.insert(name.to_owned(), said);
        }
    }

    /// `dependencies` of draft-07 in the two words that 2020-12 has for them.
    fn dependencies(&mut self, value: &Node, members: &mut Map<String, Value>) {
        for Entry { key, value } in value.as_mapping().unwrap_or_default() {
            let (name, said) = match value.as_sequence() {
                Some(_) => ("dependentRequired", value.to_json()),
                None => ("dependentSchemas", self.schema(value)),
            };
            and(members, json!({ name: { &*key.text: said } }));
        }
    }

    /// A reference to the definition of what it names, which is written when all else is: so that no chain of references
    /// costs stack.
    fn reference(&mut self, reference: &str) -> Value {
        let key = (self.block, reference.to_owned());
        if let Some((name, _)) = self.definitions.get(&key) {
            return Value::from(format!("#/$defs/{name}"));
        }
        let name = self.free_name(reference);
        let said = Value::from(format!("#/$defs/{name}"));
        self.definitions.insert(key, (name, Value::Null));
        said
    }

    /// Writes what was referred to since this position, and what that refers to.
    fn define(&mut self, mut next: usize) {
        while let Some(((_, reference), _)) = self.definitions.get_index(next) {
            // a reference that leads nowhere was refused; if it is asked all the same, nothing fits
            let target = resolve(self.root, reference).ok();
            let schema = target.map_or(Value::Bool(false), |target| self.schema(target));
            if let Some((_, (_, written))) = self.definitions.get_index_mut(next) {
                *written = schema;
            }
            next = next.saturating_add(1);
        }
    }

    /// A name for a definition: its own where it has one, so that the model reads what the author wrote. One that stands
    /// among the parameters may be hidden from the model, and is not named.
    fn free_name(&self, reference: &str) -> String {
        let own = ["#/$defs/", "#/definitions/"].iter().find_map(|prefix| reference.strip_prefix(prefix));
        let is_plain = |name: &&str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
        };
        let own = own.filter(is_plain).unwrap_or("schema");
        let is_free = |name: &str| self.definitions.values().all(|(taken, _)| taken != name);
        let mut names = std::iter::once(own.to_owned()).chain((2_u32..).map(|n| format!("{own}{n}")));
        names.find(|name| is_free(name)).unwrap_or_default()
    }
}

/// Says one more thing that must hold.
fn and(members: &mut Map<String, Value>, more: Value) {
    if let Value::Array(all) = members.entry("allOf").or_insert_with(|| json!([])) {
        all.push(more);
    }
}

/// A pattern that cannot be said was refused.
fn translated(text: &str) -> Value {
    Value::from(pattern::rewrite(text).unwrap_or_default())
}

/// A format, if values are held to it. Those of OpenAPI are bounds.
fn say_format(name: &str, members: &mut Map<String, Value>) {
    let known = FORMATS.iter().find(|format| format.name == name);
    let bounds = match name {
        "int32" => json!({ "minimum": i32::MIN, "maximum": i32::MAX }),
        "int64" => json!({ "minimum": i64::MIN, "maximum": i64::MAX }),
        _ if known.is_some_and(|format| format.treatment == Treatment::Enforced) => {
            members.insert("format".to_owned(), Value::from(name));
            return;
        }
        _ => return,
    };
    and(members, bounds);
}
