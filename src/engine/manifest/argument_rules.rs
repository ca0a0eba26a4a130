//! Rules for all arguments of a listed tool together.
//!
//! In: the `inputSchema` of a tool as MCP lists it. Out: the treatment of arguments that no property declares, and a validator of the whole
//! object where the schema has keywords beside its properties (`patternProperties`, `oneOf`, a `required` name without a property, …). Tools of
//! other authors follow JSON Schema; manifests of the specification follow PAR-06 and PAR-07.

use super::json_schema::Validator;
use super::json_schema::words::{Treatment, word};
use super::node::{Data, Entry, Node};
use std::sync::Arc;

/// Rules for the arguments of a function, beside the schema of each argument.
#[derive(Clone, Debug, Default)]
pub struct ArgumentRules {
    /// The treatment of arguments that no property declares.
    pub undeclared: Undeclared,
    /// The validator of the whole object, where the schema has keywords beside its properties.
    pub validator: Option<Arc<Validator>>,
    /// The schema as written, for the model; nothing where the function is not a listed tool.
    pub node: Option<Node>,
}

/// The treatment of an argument that no property declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undeclared {
    /// It is left out (PAR-07).
    #[default]
    Dropped,
    /// The call is refused: `additionalProperties: false`.
    Refused,
    /// It is kept: `additionalProperties` is absent.
    KeptUnsaid,
    /// It is kept: `additionalProperties` is `true`, or a schema, which the validator of the whole object enforces.
    Kept,
}

impl Undeclared {
    /// Whether it is kept.
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

/// Whether a schema of arguments has a constraint that neither its properties nor [`Undeclared`] express. `known` tells whether a property is
/// declared.
pub(super) fn says_more(node: &Node, known: impl Fn(&str) -> bool) -> bool {
    let says = |Entry { key, value }: &Entry| match &*key.text {
        "type" | "$defs" | "definitions" => false,
        // a property that no value fits
        "properties" => {
            value.as_mapping().unwrap_or_default().iter().any(|it| matches!(it.value.data, Data::Bool(false)))
        }
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
