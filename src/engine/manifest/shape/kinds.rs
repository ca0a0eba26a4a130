//! What may stand under a key, as far as manifests and cases share it.
//!
//! Each is a type without values: it stands in the type of a key, where it decides by which methods the reader gets the value.

use super::definitions::Definitions;
use super::mapping::{Mapping, Row, Shape, shape};
use serde_json::{Map, Value, json};
use std::marker::PhantomData;

shape! {
    /// Any value.
    pub(crate) Anything = |_| json!({});
    /// A text.
    pub(crate) Text = |_| json!({ "type": "string" });
    /// A text that is not empty.
    pub(crate) Name = |_| json!({ "type": "string", "minLength": 1 });
    /// A boolean.
    pub(crate) Boolean = |_| json!({ "type": "boolean" });
    /// A whole number.
    pub(crate) Whole = |_| json!({ "type": "integer" });
    /// A whole number that is not negative.
    pub(crate) Count = |_| json!({ "type": "integer", "minimum": 0 });
    /// An amount: a number that is not negative, or a decimal as text.
    pub(crate) Decimal as "decimal" = |_| json!({
        "description": "A number that is not negative, or a decimal as text, such as `\"0.05\"`.",
        "anyOf": [
            { "type": "number", "minimum": 0 },
            { "type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$" },
        ],
    });
    /// A mapping with any keys.
    pub(crate) Object = |_| json!({ "type": "object" });
    /// A text, or a list of texts.
    pub(crate) TextOrTexts = |definitions| {
        json!({ "anyOf": [Text::schema(definitions), <List<Text>>::schema(definitions)] })
    };
    /// The text of an expression.
    pub(crate) Expression as "expression" = |_| json!({ "type": "string", "description": "A CEL expression." });
    /// A positive duration.
    pub(crate) Duration as "duration" = |_| {
        const UNIT: &str = "(ns|us|µs|μs|ms|s|m|h)";
        const NUMBER: &str = r"([0-9]+\.?[0-9]*|\.[0-9]+)";
        json!({
            "type": "string",
            "description": "A duration such as `1h30m`: decimal numbers with `h`, `m`, `s`, `ms`, `us`, `µs` or `ns`.",
            "pattern": format!(r"^\+?{NUMBER}{UNIT}({NUMBER}{UNIT})*$"),
        })
    };
}

/// A value that must be there.
pub(crate) struct Required<S>(PhantomData<S>);

impl<S: Shape> Shape for Required<S> {
    const IS_REQUIRED: bool = true;

    fn schema(definitions: &mut Definitions) -> Value {
        S::schema(definitions)
    }
}

/// A value, or null in the place of none.
pub(crate) struct Nullable<S>(PhantomData<S>);

impl<S: Shape> Shape for Nullable<S> {
    fn schema(definitions: &mut Definitions) -> Value {
        let mut schema = S::schema(definitions);
        if let Some(kind) = schema.get_mut("type") {
            *kind = json!([kind, "null"]);
            return schema;
        }
        json!({ "anyOf": [schema, { "type": "null" }] })
    }
}

/// A list of values.
pub(crate) struct List<S>(PhantomData<S>);

impl<S: Shape> Shape for List<S> {
    fn schema(definitions: &mut Definitions) -> Value {
        json!({ "type": "array", "items": S::schema(definitions) })
    }
}

/// A mapping from any names to values.
pub(crate) struct ByName<S>(PhantomData<S>);

impl<S: Shape> Shape for ByName<S> {
    fn schema(definitions: &mut Definitions) -> Value {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        let values = S::schema(definitions);
        if values.as_object().is_some_and(|values| !values.is_empty()) {
            schema.insert("additionalProperties".to_owned(), values);
        }
        Value::Object(schema)
    }
}

/// Keys that several mappings have: they stand in each of them, under no key of their own.
pub(crate) struct Part<M>(PhantomData<M>);

impl<M: Mapping> Shape for Part<M> {
    const PART: Option<&'static [Row]> = Some(M::ROWS);

    fn schema(definitions: &mut Definitions) -> Value {
        M::schema(definitions)
    }
}

/// Words and what they mean.
pub(crate) trait Vocabulary {
    /// The meaning of a word.
    type Meaning: Copy + 'static;
    /// The words.
    const WORDS: &'static [(&'static str, Self::Meaning)];
}

/// One of some words.
pub(crate) struct OneOf<V>(PhantomData<V>);

impl<V: Vocabulary> Shape for OneOf<V> {
    fn schema(_: &mut Definitions) -> Value {
        json!({ "enum": words(V::WORDS) })
    }
}

/// The words of a table.
pub(crate) fn words<T>(table: &[(&'static str, T)]) -> Vec<&'static str> {
    table.iter().map(|(word, _)| *word).collect()
}
