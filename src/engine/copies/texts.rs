//! All texts that a value holds, the digits of its numbers among them: a copy repeats one of these.

use crate::cel::{JsonRef, Kind};

/// Where a text was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is the name of a member. Most names are their schema's, and so a short one that is repeated says nothing.
    Name,
    /// It is a value.
    Value,
}

/// Hands over all texts of a value, at any depth, the digits of its numbers and the names of its members among them. Recurses as deep
/// as the value, which `max_json_depth` bounds.
pub fn each_text(value: JsonRef<'_>, told: &mut impl FnMut(&str, Found)) {
    match value.kind() {
        Kind::Map => {
            for (name, member) in value.entries() {
                told(name, Found::Name);
                each_text(member, told);
            }
        }
        Kind::List => value.items().for_each(|item| each_text(item, told)),
        Kind::String => value.as_str().into_iter().for_each(|text| told(text, Found::Value)),
        Kind::Int | Kind::UInt | Kind::Double => told(&value.to_string(), Found::Value),
        _ => {}
    }
}

/// The bytes of all texts of a value. Linear in its parts.
#[must_use]
pub fn text_bytes(value: JsonRef<'_>) -> usize {
    let mut bytes = 0_usize;
    each_text(value, &mut |text, _| bytes = bytes.saturating_add(text.len()));
    bytes
}
