//! The distinct values that one parameter has had, in the order in which they came.
//!
//! In: the arguments of one call after the other. Out: the values, each once as CEL tells values apart. A value is not
//! copied: the set keeps the arguments in which it came first, which the history of the task holds anyway, and finds them
//! by hash in a table of positions. So a value weighs some 16 bytes, however long it is, and adding one costs no more
//! than looking at it. A task's arguments may be hostile: who hashes brings the keys.

use crate::cel::{Json, JsonRef, Key, Map, Value};
use crate::context::Log;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::{BuildHasher, Hash, Hasher};

/// Values of one name.
#[derive(Clone, Default)]
pub(super) struct ValueSet {
    /// Objects that have the name, each with another value.
    arguments: Log<Json>,
    /// Positions in `arguments`, found by the hashes of their values.
    table: HashTable<u32>,
}

impl ValueSet {
    /// The values, given the name again.
    pub(super) fn values<'s>(&'s self, name: &'s str) -> impl ExactSizeIterator<Item = JsonRef<'s>> {
        self.arguments.iter().map(move |arguments| value_of(arguments, name))
    }

    /// The last so many values, in the order in which they came.
    pub(super) fn latest<'s>(&'s self, name: &'s str, count: usize) -> impl Iterator<Item = JsonRef<'s>> {
        let known = self.len().saturating_sub(count);
        let latest = (known..self.len()).filter_map(|position| self.arguments.get(position));
        latest.map(move |arguments| value_of(arguments, name))
    }

    /// The number of values.
    pub(super) fn len(&self) -> usize {
        self.arguments.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.arguments.len() == 0
    }

    /// Adds the value that a name has in an object, unless it is there already, and says whether it was not.
    pub(super) fn add(&mut self, name: &str, arguments: &Json, keys: &impl BuildHasher) -> bool {
        let Self { arguments: known, table } = self;
        let value = value_of(arguments, name).value();
        let at = |position: &u32| known.get(*position as usize).map(|found| value_of(found, name).value());
        let is_it = |position: &u32| at(position).is_some_and(|found| same(&found, &value));
        let hash_of = |position: &u32| at(position).map_or(0, |found| hash(&found, keys));
        match table.entry(hash(&value, keys), is_it, hash_of) {
            Entry::Occupied(_) => false,
            Entry::Vacant(free) => {
                let Ok(position) = u32::try_from(known.len()) else { return false };
                free.insert(position);
                known.push(arguments.clone());
                true
            }
        }
    }
}

fn value_of<'j>(arguments: &'j Json, name: &str) -> JsonRef<'j> {
    arguments.root().get(name).unwrap_or_else(|| arguments.root())
}

/// Whether two values are one: `1` and `1.0` are, as CEL has it (ALW-17), and `'1'` is another. Whole doubles that are
/// beyond the whole numbers of a double are told from the `int` next to them.
fn same(one: &Value<'_>, other: &Value<'_>) -> bool {
    match (one, other) {
        (Value::Int(whole), Value::Double(double)) | (Value::Double(double), Value::Int(whole)) => {
            exactly(*whole, *double)
        }
        _ => one.equals(other),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the double is whole, and its bounds are tested first")]
fn exactly(whole: i64, double: f64) -> bool {
    double.fract() == 0.0 && (-9.2e18..9.2e18).contains(&double) && double as i64 == whole
}

/// A number that is the same for values that are the same.
fn hash(value: &Value<'_>, keys: &impl BuildHasher) -> u64 {
    let mut hasher = keys.build_hasher();
    feed(value, &mut hasher, keys);
    hasher.finish()
}

fn feed(value: &Value<'_>, hasher: &mut impl Hasher, keys: &impl BuildHasher) {
    std::mem::discriminant(&as_double(value)).hash(hasher);
    match as_double(value) {
        // -0.0 is 0.0
        Value::Double(number) => (number + 0.0).to_bits().hash(hasher),
        Value::Bool(flag) => flag.hash(hasher),
        Value::String(text) => (*text).hash(hasher),
        Value::List(list) => {
            list.len().hash(hasher);
            list.iter().for_each(|item| feed(&item, hasher, keys));
        }
        Value::Map(map) => sum(&map, keys).hash(hasher),
        // JSON has no other kinds
        _ => {}
    }
}

/// The hash of a map, in which the order of keys does not count.
fn sum(map: &Map<'_>, keys: &impl BuildHasher) -> u64 {
    map.iter().fold(0, |sum, (key, value)| {
        let mut hasher = keys.build_hasher();
        if let Key::String(key) = key {
            (*key).hash(&mut hasher);
        }
        feed(&value, &mut hasher, keys);
        sum.wrapping_add(hasher.finish())
    })
}

/// Numbers as doubles: those that are the same have the same one.
#[expect(clippy::cast_precision_loss, reason = "whole numbers that become one double only share a hash")]
fn as_double<'v>(value: &Value<'v>) -> Value<'v> {
    match value {
        Value::Int(whole) => Value::Double(*whole as f64),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::ValueSet;
    use crate::cel::Json;
    use serde_json::{Value, json};
    use std::hash::RandomState;

    #[test]
    fn a_value_is_there_once_and_the_first_to_come_stays() {
        let mut set = ValueSet::default();
        let keys = RandomState::new();
        let mut added = 0;
        let mut add = |value: Value| {
            added += usize::from(set.add("p", &json!({ "other": 1, "p": value }).into(), &keys));
        };
        let wide = 9_007_199_254_740_993_i64;
        let distinct = [
            json!(0.0),
            json!(1),
            json!("1"),
            json!(true),
            json!(null),
            json!(1.5),
            json!(wide),
            json!(wide - 1),
            json!([1, "a"]),
            json!(["a", 1]),
            json!({"a": 1, "b": [{}]}),
            json!({"a": 1, "b": [[]]}),
            json!({}),
        ];
        distinct.iter().cloned().for_each(&mut add);
        let again = [json!(-0.0), json!(0), json!(1.0), json!([1.0, "a"]), json!({"b": [{}], "a": 1.0})];
        distinct.iter().cloned().chain(again).for_each(&mut add);
        (0..3_000).for_each(|number| add(json!(format!("v{}", number % 1_000))));
        let mut wanted: Vec<Json> = distinct.iter().map(Json::from).collect();
        wanted.extend((0..1_000).map(|number| Json::string(&format!("v{number}"))));
        assert_eq!(set.values("p").map(|value| value.to_json()).collect::<Vec<_>>(), wanted);
        assert_eq!(
            set.latest("p", 2).filter_map(|value| value.as_str()).collect::<Vec<_>>(),
            ["v998", "v999"]
        );
        assert!(
            added == wanted.len()
                && set.len() == wanted.len()
                && !set.is_empty()
                && set.table.len() == wanted.len()
        );
    }
}
