//! Schemas that say so little that the shape of a parameter holds values to it by itself: types, constants, fields, items
//! and a choice of such.
//!
//! In: a schema that was checked. Out: whether it says no more than that. Linear in the schema.

use super::words::{Treatment, word};
use crate::manifest::node::{Data, Entry, Node};

/// Whether a schema says nothing that needs the validator.
pub(in crate::manifest) fn is_plain(schema: &Node) -> bool {
    let plain = |entry| is_plain_word(entry, schema);
    schema.as_mapping().is_some_and(|entries| entries.iter().all(plain))
}

fn is_plain_word(Entry { key, value }: &Entry, schema: &Node) -> bool {
    let has = |key: &str| schema.get(key).is_some();
    let is_enforced = word(&key.text).is_some_and(|word| word.treatment == Treatment::Enforced);
    let is_all_null =
        |node: &Node| node.is_null() || node.as_string().is_some_and(|name| &*name.text == "null");
    match &*key.text {
        "type" => match value.as_sequence() {
            None => true,
            Some(several) => several.iter().filter(|one| !is_all_null(one)).count() == 1,
        },
        "nullable" => true,
        "enum" | "const" => {
            let both = has("enum") && has("const");
            !both && !schema.get("type").is_some_and(is_all_null)
        }
        // the shape asks for fields that it knows; of a parameter, what is no list means nothing (PAR-06)
        "required" => {
            let known = |name: &Node| {
                let name = name.as_string().map(|name| &*name.text);
                let fields = schema.get("properties").and_then(Node::as_mapping).unwrap_or_default();
                fields.iter().any(|field| Some(&*field.key.text) == name)
            };
            value.as_sequence().is_none_or(|names| names.iter().all(known))
        }
        "items" => value.is_null() || is_plain(value),
        "properties" => {
            let fields = value.as_mapping().unwrap_or_default();
            fields.iter().all(|field| is_plain(&field.value))
        }
        "additionalProperties" => matches!(value.data, Data::Bool(_)) || is_plain(value),
        "anyOf" => !has("oneOf") && value.as_sequence().is_some_and(|all| all.iter().all(is_plain)),
        // definitions are looked at where something refers to them
        "$defs" | "definitions" => true,
        _ => !is_enforced,
    }
}
