//! `counters`: what counts across tasks, as the steps of a policy read it.
//!
//! In: the counters that a call has read. Out: for each policy a record of its own ones. They are read once for a call, before
//! the first step that asks for one, so that all steps of the call see the same.

use crate::cel::{Domain, Field, Key, Numbers, RecordType, Storage, Text, Type, Value};
use crate::counter::Decimal;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The value of a counter, as expressions see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterValue {
    /// The policy that declares it: namespace and name.
    pub policy: Arc<str>,
    /// Its name there.
    pub name: Arc<str>,
    /// What counts.
    pub amount: Decimal,
    /// Whether it is read as a whole number: then a part of one counts as one.
    pub is_whole: bool,
}

impl CounterValue {
    fn value(&self) -> Value<'static> {
        if self.is_whole { Value::Int(self.amount.to_int()) } else { Value::Double(self.amount.to_double()) }
    }
}

/// The type of `counters` in the expressions of a policy. In: the name and the type of each, and whether it can go below zero.
#[must_use]
pub fn counters_type(counters: impl IntoIterator<Item = (Arc<str>, Type, bool)>) -> Type {
    let doc = "what counts so far, without the call at hand";
    let field = |(name, ty, is_below_zero): (Arc<str>, Type, bool)| {
        // one that is an int or a double is of the kind of what the call at hand adds, so the two go together
        let numbers = (ty == Type::Int && !is_below_zero).then_some(Numbers::Counts);
        let domain = Domain { numbers, ..Domain::default() }.known();
        (name, Field { doc: doc.to_owned(), domain, ..Field::required(ty) })
    };
    let fields = counters.into_iter().map(field).collect();
    let (name, aliases) = ("counters".to_owned(), Vec::new());
    Type::Record(Arc::new(RecordType { name, fields, aliases, storage: Storage::Closed }))
}

/// `counters` in the expressions of a policy. Linear in what the call has read.
pub(super) fn counters_value<'a>(policy: &str, values: &[CounterValue]) -> Value<'a> {
    let own = values.iter().filter(|value| *value.policy == *policy);
    Value::map(own.map(|value| (Key::String(Text::Shared(value.name.clone())), value.value())).collect())
}
