//! One YAML document as a tree in which every node knows its place.
//!
//! In: nothing; [`yaml`](super::yaml) builds it. Out: the tree that the documents are read from, and JSON for schema
//! defaults. Collections are shared, so a clone costs nothing and an alias is its anchor's node, written once. The depth
//! is bounded by `max_yaml_depth` and the nodes, aliases written out, by `max_yaml_nodes`: a walk may recurse. A tree
//! never holds a mapping with two equal keys.

use crate::source::{Embedded, Place};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A value of a YAML document and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// What to underline: a scalar, a collection in brackets, or the first key or item of a block collection.
    pub place: Place,
    /// The value.
    pub data: Data,
}

/// What a node holds, by the core schema of YAML 1.2: `no` and `on` are strings.
#[derive(Clone, Debug)]
pub enum Data {
    /// `null`, `~`, or nothing at all.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number within 64 bits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A text, with the way back from each of its bytes into the file.
    String(Embedded),
    /// A list.
    Sequence(Arc<[Node]>),
    /// Keys and values, in the order in which they were written.
    Mapping(Arc<[Entry]>),
}

/// One key of a mapping with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key. A key that is written as a number or a word such as `true` is the text of it.
    pub key: Embedded,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The name of what it is, for messages: `text`, `a number`, …
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match self.data {
            Data::Null => "nothing",
            Data::Bool(_) => "a boolean",
            Data::Int(_) => "a number",
            Data::Float(_) => "a floating-point number",
            Data::String(_) => "text",
            Data::Sequence(_) => "a list",
            Data::Mapping(_) => "a mapping",
        }
    }

    /// An empty mapping in its place.
    pub(super) fn emptied(&self) -> Self {
        Self { place: self.place.clone(), data: Data::Mapping([].into()) }
    }

    /// Whether it is null or was left out.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.data, Data::Null)
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_string(&self) -> Option<&Embedded> {
        match &self.data {
            Data::String(text) => Some(text),
            _ => None,
        }
    }

    /// The whole number that it is, not negative; `5.0` is `5`.
    pub(super) fn as_count(&self) -> Option<u64> {
        match self.data {
            Data::Int(count) => u64::try_from(count).ok(),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole, not negative and far below 2^53"
            )]
            Data::Float(count) if count.fract() == 0.0 && (0.0..1e15).contains(&count) => Some(count as u64),
            _ => None,
        }
    }

    /// The keys and values, if it is a mapping.
    #[must_use]
    pub fn as_mapping(&self) -> Option<&[Entry]> {
        match &self.data {
            Data::Mapping(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items, if it is a list.
    #[must_use]
    pub fn as_sequence(&self) -> Option<&[Self]> {
        match &self.data {
            Data::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// The value of a key, if it is a mapping that has it. Linear in the keys.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_mapping()?.iter().find(|entry| &*entry.key.text == key).map(|entry| &entry.value)
    }

    /// A value of JSON that stands nowhere in a file: all of it has one place. Nothing if it is nested deeper than `depth`.
    /// Linear in the value.
    pub(crate) fn of_json(value: &Value, place: &Place, depth: usize) -> Option<Self> {
        let text = |text: &str| Embedded::new(text, place.clone(), []);
        let below = depth.checked_sub(1)?;
        let data = match value {
            Value::Null => Data::Null,
            Value::Bool(value) => Data::Bool(*value),
            Value::Number(number) => match number.as_i64() {
                Some(number) => Data::Int(number),
                None => Data::Float(number.as_f64()?),
            },
            Value::String(value) => Data::String(text(value)),
            Value::Array(items) => {
                let items: Option<Vec<Self>> =
                    items.iter().map(|item| Self::of_json(item, place, below)).collect();
                Data::Sequence(items?.into())
            }
            Value::Object(members) => {
                let member = |(key, value): (&String, &Value)| {
                    Some(Entry { key: text(key), value: Self::of_json(value, place, below)? })
                };
                let entries: Option<Vec<Entry>> = members.iter().map(member).collect();
                Data::Mapping(entries?.into())
            }
        };
        Some(Self { place: place.clone(), data })
    }

    /// The value as JSON; a number that JSON lacks (`.nan`, `.inf`) is null. Linear in the nodes, aliases written out.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(value) => Value::Bool(*value),
            Data::Int(value) => Value::from(*value),
            Data::Float(value) => Value::from(*value),
            Data::String(text) => Value::from(&*text.text),
            Data::Sequence(items) => items.iter().map(Self::to_json).collect(),
            Data::Mapping(entries) => Value::Object(
                entries
                    .iter()
                    .map(|entry| (entry.key.text.to_string(), entry.value.to_json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }
}
