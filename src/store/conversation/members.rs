//! The members of a JSON object, each as the text that it was sent as.
//!
//! In: a JSON text. Out: its members by name; of equal names the last counts. A value stays text until somebody asks for
//! it, so nothing that is only passed on loses a digit, and what nests deeply costs no stack.

use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// What an object holds.
#[derive(Default)]
pub(super) struct Members<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Members<'a> {
    /// The members of `raw`, if it is an object.
    pub(super) fn of(raw: &'a RawValue) -> Option<Self> {
        raw.get().starts_with('{').then(|| serde_json::from_str(raw.get()).ok().map(Self)).flatten()
    }

    /// The member of this name, `null` included.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.get(name).copied()
    }

    /// The member of this name, if it is there and not `null`.
    pub(super) fn present(&self, name: &str) -> Option<&'a RawValue> {
        self.get(name).filter(|value| !is_null(value))
    }

    /// The member that is a string.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(text)
    }

    /// The member in camelCase or, where that is not there at all, in snake_case (J8).
    pub(super) fn either(&self, camel: &str, snake: &str) -> Option<&'a RawValue> {
        self.get(camel).or_else(|| self.get(snake))
    }

    /// Every member, by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

/// Whether the value is `null`.
pub(super) fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

/// Whether the value is an object.
pub(super) fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

/// The value, if it is a string.
pub(super) fn text(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// Whether the value is `null`, `""`, `{}` or `[]`: what A2A's JSON leaves out.
pub(super) fn is_empty(raw: &RawValue) -> bool {
    let mut signs = raw.get().chars().filter(|sign| !sign.is_ascii_whitespace());
    match (signs.next(), signs.next()) {
        (Some('{'), Some('}')) | (Some('['), Some(']')) => true,
        _ => is_null(raw) || raw.get() == "\"\"",
    }
}
