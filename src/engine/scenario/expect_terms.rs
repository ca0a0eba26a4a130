//! What is expected of the terms under which a call is let through.
//!
//! In: a mapping of a case, and the terms of a decision. Out: whether each key that is given has just this value; a key that is absent is
//! not compared.

use crate::cel::Json;
use crate::manifest::shape::{Anything, List, Object, Required, Text, mapping};
use crate::task::Terms;
use serde_json::{Map, Value, json};

mapping! {
    /// The terms of a call.
    pub(super) TermsKeys = "`terms`" {
        /// How long the host waits, in milliseconds.
        _delay = "delay_ms": Anything,
        /// What else it does.
        _obligations = "obligations": List<ObligationKeys>,
        /// The credentials that it gets.
        _credentials = "credentials": List<CredentialKeys>,
    }

    ObligationKeys = "an obligation" {
        /// Its name.
        _id = "id": Required<Text>,
        /// What is computed for it.
        _values = "values": Object,
    }

    CredentialKeys = "a credential" {
        /// Whom it is for.
        _audience = "audience": Required<Text>,
        /// What it lets its bearer do.
        _scopes = "scopes": List<Text>,
    }
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
