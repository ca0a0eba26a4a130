//! What may stand under a key, as far as manifests and cases share it.
//!
//! Each is a type without values: it stands in the type of a key, where it decides by which methods the reader gets the value.

use super::definitions::Definitions;
use super::mapping::{Mapping, Row, Shape};
use serde_json::{Map, Value, json};
use std::marker::PhantomData;

/// Shapes that are one schema and nothing else.
macro_rules! plain {
    ($($(#[doc = $about:literal])* $shape:ident = $schema:tt;)*) => {$(
        $(#[doc = $about])*
        pub(crate) enum $shape {}

        impl Shape for $shape {
            fn schema(_: &mut Definitions) -> Value {
                json!($schema)
            }
        }
    )*};
}

plain! {
    /// Any value.
    Anything = {};
    /// A text.
    Text = { "type": "string" };
    /// A text that is not empty.
    Name = { "type": "string", "minLength": 1 };
    /// A boolean.
    Boolean = { "type": "boolean" };
    /// A whole number.
    Whole = { "type": "integer" };
    /// A whole number that is not negative.
    Count = { "type": "integer", "minimum": 0 };
    /// A mapping with any keys.
    Object = { "type": "object" };
    /// A text, or a list of texts.
    TextOrTexts = { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] };
}

/// The text of an expression.
pub(crate) enum Expression {}

impl Shape for Expression {
    fn schema(definitions: &mut Definitions) -> Value {
        let schema = json!({ "type": "string", "description": "A CEL expression." });
        definitions.refer("expression", |_| schema)
    }
}

/// A positive duration.
pub(crate) enum Duration {}

impl Shape for Duration {
    fn schema(definitions: &mut Definitions) -> Value {
        const UNIT: &str = "(ns|us|µs|μs|ms|s|m|h)";
        const NUMBER: &str = r"([0-9]+\.?[0-9]*|\.[0-9]+)";
        let schema = json!({
            "type": "string",
            "description": "A duration such as `1h30m`: decimal numbers with `h`, `m`, `s`, `ms`, `us`, `µs` or `ns`.",
            "pattern": format!(r"^\+?{NUMBER}{UNIT}({NUMBER}{UNIT})*$"),
        });
        definitions.refer("duration", |_| schema)
    }
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
