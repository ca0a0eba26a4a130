//! The claims of the user that a policy reads (`claims`): a JSON Schema of `context.user.claims`.
//!
//! In: the schema as it was written. Out: the schema made ready, with every claim that it names. Only what stands under
//! `properties` is ever visible, so a schema without properties is refused: rules would read nothing. Linear in the schema.

use super::fields::Key;
use super::messages;
use super::node::Node;
use super::reader::Reader;
use super::schema::{Schema, read_alone};
use super::shape::shape;
use serde_json::json;
use std::sync::Arc;

shape! {
    /// The JSON Schema of the claims: an object with properties.
    pub(super) ClaimsSchema = |_| json!({
        "type": "object",
        "description": "A JSON Schema of `context.user.claims`; a claim that stands under no `properties` is not visible.",
        "properties": {
            "type": { "const": "object" },
            "properties": { "type": "object", "minProperties": 1, "additionalProperties": { "type": "object" } },
            "required": { "type": "array", "items": { "type": "string" } },
        },
        "required": ["properties"],
    });
}

impl Key<'_, '_, ClaimsSchema> {
    /// The schema; nothing if it is no mapping.
    pub(super) fn claims(&self, reader: &mut Reader) -> Option<Arc<Schema>> {
        let field = self.get()?;
        let schema = read_alone(field.node, &field.path, reader)?;
        let properties = field.node.get("properties").and_then(Node::as_mapping).unwrap_or_default();
        let is_object = |node: &Node| node.as_string().is_some_and(|name| &*name.text == "object");
        if let Some(other) = field.node.get("type").filter(|node| !is_object(node)) {
            reader.report(&field.path.key("type"), messages::claims_not_an_object(&other.place));
        } else if properties.is_empty() {
            reader.report(&field.path, messages::no_claims(&field.key.place));
        }
        if !schema.secrets.is_empty() {
            reader.report(&field.path, messages::secret_claim(&field.key.place));
        }
        let required = field.node.get("required").and_then(Node::as_sequence).unwrap_or_default();
        for name in required.iter().filter_map(Node::as_string) {
            if !properties.iter().any(|property| property.key.text == name.text) {
                reader.report(&field.path.key("required"), messages::required_without_schema(name));
            }
        }
        Some(schema)
    }
}
