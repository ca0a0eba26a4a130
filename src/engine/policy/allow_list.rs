//! The action allow list of one tool in one task (ALW): the values that its parameters have had, by name.
//!
//! In: the names that bindings seal, and the arguments of the calls that ran. Out: for each name its values in the order
//! in which they came; events are filtered by them. A sealed name has no value until its binding gives one, and then that
//! one for ever (ALW-08, ALW-10): no call adds to it. Adding is amortised constant time in the values there are, and copies
//! none of them.

use super::value_set::ValueSet;
use crate::cel::{Json, JsonRef};
use indexmap::IndexMap;
use std::fmt;
use std::hash::RandomState;
use std::sync::Arc;

/// The values of one tool's parameters in one task. Root, action and event parameters of a name share one set (ALW-02).
#[derive(Clone, Default)]
pub struct AllowList {
    names: IndexMap<Arc<str>, Members>,
    /// The number of sealed names without a value. It is kept because a task asks at each step, and the number is mostly zero.
    awaited: usize,
    /// The name of each value by its position, in the order in which the values came, so that new values are found at the end.
    arrivals: Vec<u32>,
    /// The random keys of the hashes, so that nobody can send many values of one hash.
    keys: RandomState,
}

/// The values of one parameter.
#[derive(Clone, Default)]
struct Members {
    sealed: bool,
    values: ValueSet,
}

impl AllowList {
    /// A list in which these names are sealed and have no values yet.
    #[must_use]
    pub fn sealed<'n>(names: impl IntoIterator<Item = &'n Arc<str>>) -> Self {
        let sealed = || Members { sealed: true, values: ValueSet::default() };
        let names: IndexMap<_, _> = names.into_iter().map(|name| (name.clone(), sealed())).collect();
        Self { awaited: names.len(), names, arrivals: Vec::new(), keys: RandomState::new() }
    }

    /// Adds the arguments of a call that ran (ALW-03): of each name that is not sealed, unless it is null (ALW-14).
    /// The list shares them.
    pub fn add(&mut self, arguments: &Json) {
        for (name, _) in arguments.root().entries().filter(|(_, value)| !value.is_null()) {
            let position = match self.names.get_index_of(name) {
                Some(position) => position,
                None => self.names.insert_full(name.into(), Members::default()).0,
            };
            let Some((_, members)) = self.names.get_index_mut(position) else { continue };
            if !members.sealed && members.values.add(name, arguments, &self.keys) {
                self.arrivals.push(position_of(position));
            }
        }
    }

    /// Whether a name waits for the value of its binding.
    #[must_use]
    pub fn awaits(&self, name: &str) -> bool {
        self.names.get(name).is_some_and(Members::is_awaited)
    }

    /// Whether any name does.
    #[must_use]
    pub fn awaits_any(&self) -> bool {
        self.awaited > 0
    }

    /// Gives a sealed name the value of its binding, which it then keeps. Null counts as no value (ALW-14).
    pub fn seal(&mut self, name: &Arc<str>, value: JsonRef<'_>) {
        let known = self.names.get(name).filter(|members| members.sealed);
        if known.is_some_and(|members| !members.is_awaited()) {
            return;
        }
        let given = (!value.is_null()).then(|| value.to_json());
        self.put(name.clone(), true, given.into_iter().collect());
    }

    /// The values of a name, in order of arrival.
    pub fn values<'l>(&'l self, name: &'l str) -> impl Iterator<Item = JsonRef<'l>> {
        self.names.get(name).into_iter().flat_map(move |members| members.values.values(name))
    }

    /// The names that have values, and sealed ones without, each with whether it is sealed.
    pub fn names(&self) -> impl Iterator<Item = (&Arc<str>, bool)> {
        self.names.iter().map(|(name, members)| (name, members.sealed))
    }

    /// Restores a name as [`AllowList::names`] and [`AllowList::values`] gave it.
    pub fn put(&mut self, name: Arc<str>, sealed: bool, values: Vec<Json>) {
        let mut members = Members { sealed, values: ValueSet::default() };
        for value in values {
            members.values.add(&name, &Json::object([(&*name, value)]), &self.keys);
        }
        let count = members.values.len();
        self.awaited = self.awaited.saturating_add(usize::from(members.is_awaited()));
        let (position, before) = self.names.insert_full(name, members);
        self.arrivals.extend(std::iter::repeat_n(position_of(position), count));
        self.awaited = self.awaited.saturating_sub(usize::from(before.is_some_and(|it| it.is_awaited())));
    }

    /// How many values have come, of all names.
    #[must_use]
    pub fn count(&self) -> usize {
        self.arrivals.len()
    }

    /// The names that got values after so many had come, each with whether it is sealed and with those values. Linear in
    /// them.
    pub fn since(&self, count: usize) -> impl Iterator<Item = (&Arc<str>, bool, Vec<Json>)> {
        let mut arrived: IndexMap<u32, usize> = IndexMap::new();
        for position in self.arrivals.iter().skip(count) {
            let arrived = arrived.entry(*position).or_default();
            *arrived = arrived.saturating_add(1);
        }
        arrived.into_iter().filter_map(|(position, arrived)| {
            let (name, members) = self.names.get_index(position as usize)?;
            Some((name, members.sealed, members.values.latest(name, arrived).map(JsonRef::to_json).collect()))
        })
    }

    /// An object with the values of each name that has some.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let names = self.names.iter().filter(|(_, members)| !members.values.is_empty());
        let names = names.map(|(name, members)| {
            let values = members.values.values(name);
            let values = values.map(|value| serde_json::to_value(value).unwrap_or_default());
            (name.to_string(), values.collect::<serde_json::Value>())
        });
        serde_json::Value::Object(names.collect())
    }
}

impl Members {
    fn is_awaited(&self) -> bool {
        self.sealed && self.values.is_empty()
    }
}

impl fmt::Debug for AllowList {
    /// The names and how many values each has: task data must not reach a log by accident.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.names.iter().map(|(name, members)| (name, members.values.len()))).finish()
    }
}

/// The position of a name; of names there are fewer than could ever be counted this far.
fn position_of(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::AllowList;
    use crate::cel::Json;
    use serde_json::{Value, json};
    use std::sync::Arc;

    #[test]
    fn values_accumulate_once_each_and_sealed_names_stay() {
        let [owner, repo]: [Arc<str>; 2] = ["owner".into(), "repo".into()];
        let mut list = AllowList::sealed([&owner, &repo]);
        let mut add = |arguments: Value| list.add(&arguments.into());
        add(json!({ "owner": "evil", "n": 1, "who": "a", "nothing": null }));
        add(json!({ "owner": "evil", "n": 1.0, "who": "b", "nothing": null }));
        add(json!({ "n": "1", "who": "a" }));
        let long = "long".repeat(40);
        [&long, &(long.clone() + "er"), &long].into_iter().for_each(|who| add(json!({ "who": who })));
        let who = json!(["a", "b", long, long.clone() + "er"]);
        assert_eq!(list.to_json(), json!({ "n": [1, "1"], "who": who }));
        assert!(list.awaits("owner") && !list.awaits("who") && !list.awaits("nobody") && list.awaits_any());
        list.seal(&owner, Json::null().root());
        assert!(list.awaits("owner"));
        for name in ["acme", "other"] {
            list.seal(&owner, Json::string(name).root());
        }
        assert_eq!(list.values("owner").filter_map(|owner| owner.as_str()).collect::<Vec<_>>(), ["acme"]);
        assert!(list.values("repo").next().is_none() && list.awaits_any());
        list.seal(&repo, Json::string("r").root());
        assert!(!list.awaits_any());
        list.put(repo.clone(), true, Vec::new());
        list.put(repo, true, Vec::new());
        assert!(list.awaits_any());
        assert_eq!(format!("{list:?}"), r#"{"owner": 1, "repo": 0, "n": 2, "who": 4}"#);
    }
}
