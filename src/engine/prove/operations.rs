//! Calls that are worth trying: made of the values that policies and invariants name, and of those just beside them.
//!
//! In: a function and the values. Out: arguments. Where values go together is found by trying: one argument after the other is changed, then two at a
//! time, and what was let by is taken as the next beginning.

use crate::candidates::{Named, with};
use crate::policy::{AgentFunction, Execute};
use serde_json::{Map, Value, json};

/// A function with the values that its arguments and results may have.
pub(super) struct Callable {
    pub(super) key: String,
    /// Whether the engine itself carries it out.
    pub(super) is_evaluated: bool,
    /// By argument: its values, nothing among them where it may be left out.
    values: Vec<(String, Vec<Option<Value>>)>,
    pub(super) results: Vec<Value>,
}

impl Callable {
    pub(super) fn new(function: &AgentFunction, named: &Named) -> Self {
        let none = Map::new();
        let properties = function.schema().get("properties").and_then(Value::as_object).unwrap_or(&none);
        let required = function.schema().get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
        let values = properties.iter().map(|(name, schema)| {
            let mut values = likely_first(named.fitting(schema));
            if schema.get("type").and_then(Value::as_str) == Some("number") {
                values.push(json!(0.5));
            }
            let values = values.into_iter().map(Some).chain((!is_required(name)).then_some(None));
            (name.clone(), values.collect())
        });
        let schema = function.output.as_ref().map(|output| output.schema());
        let mut results = named.results(schema, 8);
        results.truncate(8);
        Self {
            key: function.key.to_string(),
            is_evaluated: matches!(function.execute, Execute::Cel(_)),
            values: values.collect(),
            results,
        }
    }

    /// Arguments of which nothing is known yet.
    pub(super) fn beginning(&self) -> Map<String, Value> {
        let mut members = Map::new();
        for (name, values) in &self.values {
            if let Some(Some(value)) = values.first() {
                members.insert(name.clone(), value.clone());
            }
        }
        members
    }

    /// The arguments with one of them changed, and with two, at most so many.
    pub(super) fn around(&self, beginning: &Map<String, Value>, most: usize) -> Vec<Map<String, Value>> {
        let mut all = vec![beginning.clone()];
        // the first other value of each, then the second of each
        let longest = self.values.iter().map(|(_, values)| values.len()).max().unwrap_or_default();
        let at = |place: usize| {
            let own = self.values.iter().enumerate();
            own.filter_map(move |(at, (name, values))| Some((at, name.as_str(), values.get(place)?)))
        };
        let changes: Vec<(usize, &str, &Option<Value>)> = (0..longest).flat_map(at).collect();
        all.extend(changes.iter().map(|(_, name, value)| changed(beginning, name, value.as_ref())));
        for (at, name, value) in &changes {
            let one = changed(beginning, name, value.as_ref());
            let others = changes.iter().filter(|(other, ..)| other != at);
            all.extend(others.map(|(_, name, value)| changed(&one, name, value.as_ref())));
            if all.len() > most {
                break;
            }
        }
        let mut known = std::collections::HashSet::new();
        all.retain(|arguments| known.insert(Value::Object(arguments.clone()).to_string()));
        all.truncate(most);
        all
    }
}

fn changed(members: &Map<String, Value>, name: &str, value: Option<&Value>) -> Map<String, Value> {
    match value {
        Some(value) => with(members, name, value),
        None => {
            let mut members = members.clone();
            members.remove(name);
            members
        }
    }
}

/// The values with the one in front that most rules let by: a number that is small and above nothing, a text that says something.
fn likely_first(mut values: Vec<Value>) -> Vec<Value> {
    let is_likely = |value: &Value| match value {
        Value::Number(number) => number.as_i64() == Some(1),
        Value::String(text) => !text.is_empty(),
        _ => true,
    };
    if let Some(at) = values.iter().position(is_likely) {
        values.swap(0, at);
    }
    values
}

/// The sum of all numbers among some arguments: what rules about totals add up.
pub(super) fn weight(arguments: &Map<String, Value>) -> f64 {
    arguments.values().filter_map(Value::as_f64).sum()
}

/// What of some arguments is no number: where that is the same, two calls differ in amounts alone.
pub(super) fn outline(arguments: &Map<String, Value>) -> String {
    let shown = arguments.iter().map(|(name, value)| match value {
        Value::Number(_) => format!("{name}=#"),
        value => format!("{name}={value}"),
    });
    shown.collect::<Vec<_>>().join(",")
}
