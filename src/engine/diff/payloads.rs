//! Payloads of events that are tried: made of declared schemas, or of the parts that expressions read.
//!
//! In: the constants of both sides, the schemas that they declare, and the expressions that see the event. Out: JSON values. Linear in the expressions; at most some
//! thousand payloads.

use super::witness::MOST;
use crate::candidates::Named;
use crate::context::{Root, Selector};
use crate::policy::{Expression, for_each_path};
use serde_json::{Value, json};

/// Payloads in which each part that a schema declares, or an expression reads, has some values.
pub(super) fn payloads(
    named: &Named,
    declared: [Option<Value>; 2],
    expressions: &[&Expression],
) -> Vec<Value> {
    let all = match declared {
        // what nobody declares may be a text or a number
        [None, None] => ["string", "integer"].map(|kind| read_parts(expressions, kind)).to_vec(),
        declared => declared.into_iter().flatten().collect(),
    };
    let fitting = |schema: &Value| match schema.get("properties").and_then(Value::as_object) {
        Some(parts) => named.objects(parts, MOST).into_iter().map(Value::Object).collect(),
        None => named.fitting(schema),
    };
    all.iter().flat_map(fitting).collect()
}

/// A schema of the parts of a payload that expressions read, each of this type.
fn read_parts(expressions: &[&Expression], kind: &str) -> Value {
    let mut schema = json!({ "type": "object" });
    for expression in expressions {
        for_each_path(expression.program().expr(), &mut |root, path| {
            let mut names = path.iter().map_while(|selector| match selector {
                Selector::Name(name) => Some(name.as_str()),
                _ => None,
            });
            if Root::long_name(root) != Root::Event.name() || names.next() != Some("payload") {
                return;
            }
            add_part(&mut schema, names, kind);
        });
    }
    schema
}

/// Adds the part at the end of a path, unless it is known.
fn add_part<'n>(schema: &mut Value, names: impl Iterator<Item = &'n str>, kind: &str) {
    let mut part = schema;
    for name in names {
        if !part.is_object() {
            *part = json!({});
        }
        let Some(members) = part.as_object_mut() else { return };
        members.insert("type".to_owned(), "object".into());
        let parts = members.entry("properties").or_insert_with(|| json!({}));
        let Some(parts) = parts.as_object_mut() else { return };
        part = parts.entry(name).or_insert(Value::Null);
    }
    if part.is_null() {
        *part = json!({ "type": kind });
    }
}
