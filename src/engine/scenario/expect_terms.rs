//! What is expected of the terms under which a call is let through.
//!
//! In: a mapping of a case, and the terms of a decision. Out: whether each key that is given has just this value; a key that is absent is
//! not compared.

use super::values;
use crate::cel::Json;
use crate::manifest::node::Node;
use crate::manifest::reader::{Path, Reader};
use crate::manifest::shape::{Anything, List, Object, Required, Text, mapping};
use crate::task::Terms;
use serde_json::{Map, Value, json};

mapping! {
    /// The terms of a call.
    pub(super) TermsKeys = "`terms`" {
        /// How long the host waits, in milliseconds.
        _delay_ms = "delay_ms": Anything,
        /// What else it does.
        obligations: List<ObligationKeys>,
        /// The credentials that it gets.
        credentials: List<CredentialKeys>,
    }

    ObligationKeys = "an obligation" {
        /// Its name.
        id: Required<Text>,
        /// What is computed for it.
        values: Object,
    }

    CredentialKeys = "a credential" {
        /// Whom it is for.
        audience: Required<Text>,
        /// What it lets its bearer do.
        scopes: List<Text>,
    }
}

/// Reads what is expected of the terms: the keys that are given, each with its value.
pub(super) fn read(node: &Node, path: &Path, reader: &mut Reader) -> Option<Json> {
    let fields = reader.fields::<TermsKeys>(node, path)?;
    if let Some(field) = fields.obligations().get() {
        values::list(field.node, &field.path, reader, |node, path, reader| {
            let fields = reader.fields::<ObligationKeys>(node, path)?;
            fields.id().required_text(reader)?;
            fields.values().object(reader);
            fields.refuse_others(reader);
            Some(())
        });
    }
    if let Some(field) = fields.credentials().get() {
        values::list(field.node, &field.path, reader, |node, path, reader| {
            let fields = reader.fields::<CredentialKeys>(node, path)?;
            fields.audience().required_text(reader)?;
            if let Some(scopes) = fields.scopes().get() {
                reader.texts(scopes.node, &scopes.path)?;
            }
            fields.refuse_others(reader);
            Some(())
        });
    }
    fields.refuse_others(reader);
    Some(node.to_json().into())
}

/// The terms of a decision, with each key that can be expected.
pub(super) fn found(terms: Option<&Terms>) -> Map<String, Value> {
    let none = Terms::default();
    let Terms { delay_ms, obligations, credentials } = terms.unwrap_or(&none);
    let obligations: Vec<_> =
        obligations.iter().map(|it| json!({ "id": it.id, "values": it.values })).collect();
    let credentials: Vec<_> =
        credentials.iter().map(|it| json!({ "audience": it.audience, "scopes": it.scopes })).collect();
    let keys = [
        ("delay_ms", json!(delay_ms)),
        ("obligations", json!(obligations)),
        ("credentials", json!(credentials)),
    ];
    keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Whether the terms are what is expected, and what was found as far as it is compared.
pub(super) fn judge(expected: &Json, found: &Map<String, Value>) -> (bool, Value) {
    let mut compared = found.clone();
    compared.retain(|key, _| expected.root().get(key).is_some());
    // numbers are equal as CEL has it, and the order of keys does not count
    let is_same = Json::from(&Value::Object(compared.clone())) == *expected;
    (is_same, Value::Object(compared))
}
