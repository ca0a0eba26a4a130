//! What the schema of a listed tool says of its arguments together.
//!
//! In: the `inputSchema` of a tool as MCP lists it. Out: what becomes of arguments that no property declares, and the whole schema made
//! ready where it says more than its properties do (`patternProperties`, `oneOf`, a `required` name without a property, …). So JSON Schema holds
//! for tools that others wrote; the specification's manifests have rules of their own (PAR-06, PAR-07).

use super::json_schema::Validator;
use super::json_schema::words::{Treatment, word};
use super::node::{Data, Entry, Node};
use std::sync::Arc;

/// What holds for the arguments of a function beside the schema of each.
#[derive(Clone, Debug, Default)]
pub struct ArgumentRules {
    /// What becomes of arguments that no property declares.
    pub undeclared: Undeclared,
    /// The whole schema made ready, if it says more than its properties do.
    pub validator: Option<Arc<Validator>>,
    /// The schema as written, for the model; nothing where the function is no listed tool.
    pub node: Option<Node>,
}

/// What becomes of an argument that no property declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undeclared {
    /// It is left out (PAR-07).
    #[default]
    Dropped,
    /// The call is refused: `additionalProperties: false`.
    Refused,
    /// It goes on: `additionalProperties` is absent.
    KeptUnsaid,
    /// It goes on: `additionalProperties` is `true`, or a schema, which the validator of the whole enforces.
    Kept,
}

impl Undeclared {
    /// Whether it goes on.
    #[must_use]
    pub fn is_kept(self) -> bool {
        matches!(self, Self::KeptUnsaid | Self::Kept)
    }
}

impl ArgumentRules {
    /// The rules of an `inputSchema`, without its validator.
    pub(super) fn of(node: &Node) -> Self {
        let is_closed =
            matches!(node.get("additionalProperties"), Some(Node { data: Data::Bool(false), .. }));
        let has_others = node.get("patternProperties").is_some();
        let is_said = has_others || node.get("additionalProperties").is_some();
        let undeclared = match (is_closed && !has_others, is_said) {
            (true, _) => Undeclared::Refused,
            (false, true) => Undeclared::Kept,
            (false, false) => Undeclared::KeptUnsaid,
        };
        Self { undeclared, validator: None, node: Some(node.clone()) }
    }
}

/// Whether a block of arguments says something that neither its properties nor [`Undeclared`] say. `known` tells whether a property of a name
/// is declared.
pub(super) fn says_more(node: &Node, known: impl Fn(&str) -> bool) -> bool {
    let says = |Entry { key, value }: &Entry| match &*key.text {
        "type" | "properties" | "$defs" | "definitions" => false,
        "required" => value
            .as_sequence()
            .unwrap_or_default()
            .iter()
            .any(|name| name.as_string().is_some_and(|name| !known(&name.text))),
        "additionalProperties" | "unevaluatedProperties" => match value.data {
            Data::Bool(allowed) => !allowed && &*key.text == "unevaluatedProperties",
            _ => !value.is_null(),
        },
        name => word(name).is_some_and(|word| word.treatment == Treatment::Enforced) && !value.is_null(),
    };
    node.as_mapping().unwrap_or_default().iter().any(says)
}
