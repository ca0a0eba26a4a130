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
    /// How many sealed names have no value yet: a task asks at each step, and mostly there is none.
    awaited: usize,
    /// What values are hashed with: nobody can send many of one hash.
    keys: RandomState,
}

/// The values of one parameter.
#[derive(Clone, Default)]
struct Members {
    sealed: bool,
    values: ValueSet,
}

impl AllowList {
    /// A list in which these names are sealed, and none has a value yet.
    #[must_use]
    pub fn sealed<'n>(names: impl IntoIterator<Item = &'n Arc<str>>) -> Self {
        let sealed = || Members { sealed: true, values: ValueSet::default() };
        let names: IndexMap<_, _> = names.into_iter().map(|name| (name.clone(), sealed())).collect();
        Self { awaited: names.len(), names, keys: RandomState::new() }
    }

    /// Adds the arguments of a call that ran (ALW-03): of each name that is not sealed, unless it is null (ALW-14).
    /// The list shares them.
    pub fn add(&mut self, arguments: &Json) {
        for (name, _) in arguments.root().entries().filter(|(_, value)| !value.is_null()) {
            let members = match self.names.get_mut(name) {
                Some(members) => members,
                None => self.names.entry(name.into()).or_default(),
            };
            if !members.sealed {
                members.values.add(name, arguments, &self.keys);
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

    /// Gives a sealed name the value of its binding, which it then keeps. Null is none (ALW-14).
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

    /// Puts a name back as it was: what [`AllowList::names`] and [`AllowList::values`] gave.
    pub fn put(&mut self, name: Arc<str>, sealed: bool, values: Vec<Json>) {
        let mut members = Members { sealed, values: ValueSet::default() };
        for value in values {
            members.values.add(&name, &Json::object([(&*name, value)]), &self.keys);
        }
        self.awaited = self.awaited.saturating_add(usize::from(members.is_awaited()));
        let before = self.names.insert(name, members);
        self.awaited = self.awaited.saturating_sub(usize::from(before.is_some_and(|it| it.is_awaited())));
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
