//! `invoked`: the results of `invoke` steps of the operation at hand, as later steps of the same policy read them.
//!
//! In: a result when its step has passed, and the policies that are read. Out: for each policy a record of its own results, by the ids of the steps. A step
//! that was left out, or has failed, has no result: `has(invoked.score)` is false. Reading is linear in the results of the operation, of which each step has one.

use crate::cel::{Field, Json, Key, RecordType, Storage, Text, Type, Value};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The result of an `invoke` step of a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvokedResult {
    /// The step.
    pub step: NamedStep,
    /// What its function gave.
    pub output: Json,
}

/// A step of a policy that has an id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedStep {
    /// The policy, with the uses that lead to it.
    pub policy: Arc<str>,
    /// The id of the step.
    pub id: Arc<str>,
}

/// The type of `invoked` in the expressions of a policy. In: the id of each step and the type of its result.
#[must_use]
pub fn invoked_type(results: impl IntoIterator<Item = (Arc<str>, Type)>) -> Type {
    let doc = "what the function of this `invoke` step gave; absent if the step was left out or has failed";
    let field = |(id, ty): (Arc<str>, Type)| {
        (id, Field { required: false, doc: doc.to_owned(), ..Field::required(ty) })
    };
    let fields = results.into_iter().map(field).collect();
    let (name, aliases) = ("invoked".to_owned(), Vec::new());
    Type::Record(Arc::new(RecordType { name, fields, aliases, storage: Storage::Closed }))
}

/// `invoked` in the expressions of a policy.
pub(super) fn invoked_value<'a>(policy: &str, results: &'a [InvokedResult]) -> Value<'a> {
    let own = results.iter().filter(|result| *result.step.policy == *policy);
    Value::map(own.map(|it| (Key::String(Text::Shared(it.step.id.clone())), it.output.value())).collect())
}
