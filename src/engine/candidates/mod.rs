//! The values that policies name, and those just beside them: where a comparison turns, a difference shows.
//!
//! In: agents with their policies. Out: for a JSON Schema some values that fit it, and tasks to begin with. The texts of expressions and the values of parameters
//! are read for their constants.
//!
//! | module | what it holds |
//! |---|---|
//! | `beginnings` | users, claims, parameters of inputs, labels and amounts of counters, from what is declared |
//! | `brought` | tools that tasks may bring |
//! | `world` | the answers that such a task gets |

mod beginnings;
mod brought;
mod world;

pub(crate) use beginnings::{Beginning, MESSAGE, around, beginnings};
pub(crate) use brought::brought_tools;
pub(crate) use world::GeneratedWorld;

use crate::cel::{Expr, ExprKind, Literal, parse};
use crate::limits::EngineLimits;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::counter::DeclaredCounter;
use crate::manifest::event::EventDecl;
use crate::manifest::step::DeclaredAction;
use crate::manifest::task_limit::TaskLimit;
use crate::manifest::trigger::DeclaredTrigger;
use crate::source::Embedded;
use regex::Regex;
use serde_json::{Map, Number, Value, json};
use std::collections::BTreeSet;

/// How many values of a kind are kept: what more there are is not tried.
const MOST: usize = 24;

/// The constants of expressions.
#[derive(Debug, Default)]
pub(crate) struct Named {
    ints: BTreeSet<i64>,
    texts: BTreeSet<String>,
}

impl Named {
    /// Adds the constants of an agent and of the policies that are for it. Linear in the texts.
    pub(crate) fn add(&mut self, resolved: &ResolvedAgent, limits: &EngineLimits) {
        let agent = &resolved.agent;
        let own = agent.capabilities.iter().flat_map(|capability| capability.steps());
        let guardrails = agent.guardrails.before.iter().chain(&agent.guardrails.after);
        let of_policies = resolved.policies.iter().flat_map(|applied| applied.policy.steps());
        let variables = resolved.policies.iter().flat_map(|applied| &applied.policy.variables);
        let bindings = agent.capabilities.iter().flat_map(|capability| &capability.bindings);
        let steps = own.chain(guardrails).chain(of_policies);
        let texts = steps.flat_map(|step| step.expressions());
        let texts = texts.chain(variables.map(|variable| &variable.expression));
        self.add_texts(texts.chain(bindings.map(|binding| &binding.value)), limits);
        let tools = resolved.capabilities.iter().filter_map(|entry| entry.tool());
        let of_events = tools.flat_map(|tool| &tool.events).flat_map(EventDecl::expressions);
        self.add_texts(of_events.map(|(_, text)| text), limits);
        for applied in &resolved.policies {
            let counters = applied.policy.counters.iter();
            let of_counters = counters.flat_map(DeclaredCounter::expressions).map(|(_, text)| text);
            self.add_texts(of_counters, limits);
            let values = applied.policy.parameters.iter().filter_map(|parameter| parameter.value.as_ref());
            values.for_each(|value| self.add_value(&value.node.to_json()));
        }
        // what copies a labelled input has its labels
        let mut steps = resolved.policies.iter().flat_map(|applied| applied.policy.steps());
        if steps.any(|step| matches!(step.action, DeclaredAction::Label(_))) {
            self.texts.insert(MESSAGE.to_owned());
        }
        for limit in [TaskLimit::MaxTurns, TaskLimit::MaxToolCalls] {
            self.ints.extend(agent.limits.count(limit).and_then(|most| i64::try_from(most).ok()));
        }
    }

    /// Adds the constants of a trigger. Linear in its texts.
    pub(crate) fn add_trigger(&mut self, trigger: &DeclaredTrigger, limits: &EngineLimits) {
        self.add_texts(trigger.before.iter().flat_map(|step| step.expressions()), limits);
    }

    fn add_texts<'t>(&mut self, texts: impl Iterator<Item = &'t Embedded>, limits: &EngineLimits) {
        for text in texts {
            // what is wrong with it was said when it was loaded
            if let Ok(expr) = parse(&text.text, &limits.eval) {
                self.walk(&expr);
            }
        }
    }

    /// Adds the numbers and texts of a value.
    fn add_value(&mut self, value: &Value) {
        match value {
            Value::Number(number) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::as_conversions,
                    reason = "saturates; any number near it will do"
                )]
                let whole = number.as_i64().or_else(|| number.as_f64().map(|number| number as i64));
                self.ints.extend(whole);
            }
            Value::String(text) => {
                self.texts.insert(text.clone());
            }
            Value::Array(items) => items.iter().for_each(|item| self.add_value(item)),
            Value::Object(members) => members.values().for_each(|member| self.add_value(member)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn walk(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Literal(Literal::Int(number)) => {
                self.ints.insert(*number);
            }
            ExprKind::Literal(Literal::UInt(number)) => self.ints.extend(i64::try_from(*number)),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::as_conversions,
                reason = "saturates; any number near it will do"
            )]
            ExprKind::Literal(Literal::Double(number)) => {
                self.ints.insert(*number as i64);
            }
            ExprKind::Literal(Literal::String(text)) => {
                self.texts.insert(text.clone());
            }
            _ => {}
        }
        expr.for_each_part(&mut |part| self.walk(part));
    }

    /// Some values that a schema lets through, those first that the policies name.
    pub(crate) fn fitting(&self, schema: &Value) -> Vec<Value> {
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return values.iter().take(MOST).cloned().collect();
        }
        if let Some(value) = schema.get("const") {
            return vec![value.clone()];
        }
        let branches = ["anyOf", "oneOf"].iter().find_map(|word| schema.get(*word)?.as_array());
        if let Some(branches) = branches.filter(|_| schema.get("type").is_none()) {
            return branches.iter().flat_map(|branch| self.fitting(branch)).take(MOST).collect();
        }
        let held = Held::of(schema);
        let ty = schema.get("type");
        let ty = ty.and_then(|ty| ty.as_str().or_else(|| ty.as_array()?.first()?.as_str()));
        match ty {
            Some("integer" | "number") => self.numbers(&held),
            Some("boolean") => vec![json!(true), json!(false)],
            Some("array") => {
                let items = schema.get("items").map(|items| self.fitting(items)).unwrap_or_default();
                let [least, most] = held.sizes;
                let some = items.into_iter().take(MOST).filter(|_| most > 0);
                let is_unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
                let some: Vec<Value> = some.collect();
                let lists = some.iter().enumerate().map(|(at, item)| match is_unique {
                    true => some.iter().cycle().skip(at).take(least.clamp(1, some.len())).cloned().collect(),
                    false => Value::Array(vec![item.clone(); least.clamp(1, MOST)]),
                });
                std::iter::once(json!([])).filter(|_| least == 0).chain(lists).collect()
            }
            Some("object") => match schema.get("properties").and_then(Value::as_object) {
                Some(properties) => self.objects(properties, MOST).into_iter().map(Value::Object).collect(),
                None => vec![json!({})],
            },
            _ => held.texts(self.texts()).map(Value::String).collect(),
        }
    }

    /// Objects in which each property has some values, all with all as far as that is few.
    pub(crate) fn objects(&self, properties: &Map<String, Value>, most: usize) -> Vec<Map<String, Value>> {
        let mut all = vec![Map::new()];
        for (name, schema) in properties {
            let mut values = self.fitting(schema);
            let room = most.checked_div(all.len()).unwrap_or(1).max(2);
            values.truncate(room);
            let grown = all.iter().flat_map(|known| values.iter().map(|value| with(known, name, value)));
            all = grown.take(most).collect();
        }
        all
    }

    /// The first value of each property.
    pub(crate) fn first_object(&self, properties: &Map<String, Value>) -> Map<String, Value> {
        let first =
            |(name, schema): (&String, _)| Some((name.clone(), self.fitting(schema).into_iter().next()?));
        properties.iter().filter_map(first).collect()
    }

    /// What a function may give: objects in which one property after the other has other values than the first, or texts where nothing is
    /// declared.
    pub(crate) fn results(&self, schema: Option<&Value>, most: usize) -> Vec<Value> {
        let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        let Some(properties) = properties else {
            return std::iter::once(json!({})).chain(self.texts().map(Value::String)).collect();
        };
        let mut all = vec![Map::new()];
        for (name, schema) in properties {
            let values = self.fitting(schema);
            let first = values.first().cloned().unwrap_or_default();
            let base: Vec<_> = all.iter().map(|known| with(known, name, &first)).collect();
            let varied = all.first().cloned().unwrap_or_default();
            all = base;
            all.extend(values.iter().skip(1).map(|value| with(&varied, name, value)));
        }
        all.into_iter().map(Value::Object).take(most).collect()
    }

    fn numbers(&self, held: &Held) -> Vec<Value> {
        let beside = |by: i64| self.ints.iter().map(move |number| number.saturating_add(by));
        let ends = held.whole_ends();
        let step = held.schema.get("multipleOf").and_then(Value::as_i64).filter(|step| *step > 0);
        let down = |number: i64| step.map_or(number, |step| number.saturating_sub(number.rem_euclid(step)));
        let fits = |number: &i64| {
            ends[0].is_none_or(|least| *number >= least) && ends[1].is_none_or(|most| *number <= most)
        };
        // where there are too many, those that are named go before those beside them
        let all = [0, 1, 50].into_iter().chain(ends.into_iter().flatten());
        let all = all.chain(beside(0)).chain(beside(1)).chain(beside(-1));
        let all = all
            .flat_map(|number| [down(number), step.unwrap_or(0).saturating_add(down(number))])
            .filter(fits);
        let mut kept = BTreeSet::new();
        for number in all {
            if kept.len() < MOST.saturating_mul(2) {
                kept.insert(number);
            }
        }
        kept.into_iter().map(|number| Value::Number(Number::from(number))).collect()
    }

    /// The texts, and each with a letter more on either side.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        let longer = self.texts.iter().map(|text| format!("{text}x"));
        let later = self.texts.iter().map(|text| format!("x{text}"));
        let texts = self.texts.iter().cloned().chain(longer).chain(later).take(MOST.saturating_mul(3));
        ["x".to_owned(), String::new()].into_iter().chain(texts)
    }

    /// The whole numbers that are not negative.
    pub(crate) fn amounts(&self) -> impl Iterator<Item = i64> {
        let beside = |number: &i64| [*number, number.saturating_sub(1), number.saturating_add(1)];
        let amounts: BTreeSet<i64> = self.ints.iter().flat_map(beside).filter(|number| *number > 0).collect();
        amounts.into_iter().take(MOST)
    }

    /// The texts as they are named.
    pub(crate) fn plain_texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str).filter(|text| !text.is_empty()).take(MOST)
    }

    /// The texts that may be addresses of people.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str).filter(|text| text.contains('@')).take(4)
    }
}

/// The words of a schema that bound values, as far as candidates are held to them: others are refused when they are tried.
struct Held<'s> {
    schema: &'s Value,
    /// The least and the greatest size.
    sizes: [usize; 2],
}

impl<'s> Held<'s> {
    fn of(schema: &'s Value) -> Self {
        let size = |words: [&str; 2]| {
            let given = words.iter().filter_map(|word| schema.get(*word)?.as_u64()).next()?;
            usize::try_from(given).ok()
        };
        let sizes = [
            size(["minLength", "minItems"]).unwrap_or(0),
            size(["maxLength", "maxItems"]).unwrap_or(usize::MAX),
        ];
        Self { schema, sizes }
    }

    /// The least and the greatest whole number.
    fn whole_ends(&self) -> [Option<i64>; 2] {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::as_conversions,
            reason = "saturates; a number that does not fit is refused when it is tried"
        )]
        let end = |word: &str, by: f64| Some((self.schema.get(word)?.as_f64()? + by) as i64);
        let either = |one: Option<i64>, two: Option<i64>, tighter: fn(i64, i64) -> i64| match (one, two) {
            (Some(one), Some(two)) => Some(tighter(one, two)),
            (one, two) => one.or(two),
        };
        let least = either(end("minimum", 0.999), end("exclusiveMinimum", 1.0), i64::max);
        let most = either(end("maximum", 0.0), end("exclusiveMaximum", -0.001), i64::min);
        [least, most]
    }

    /// The texts among these that fit, and one that the pattern describes.
    fn texts(&self, texts: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
        let [least, most] = self.sizes;
        let pattern = self.schema.get("pattern").and_then(Value::as_str);
        let (expression, witness) = pattern.map_or((None, None), described);
        let filler = (least > 0).then(|| "x".repeat(least.min(1_000)));
        let format = self.schema.get("format").and_then(Value::as_str);
        let example = FORMATS.iter().find(|(name, _)| Some(*name) == format).map(|(_, it)| (*it).to_owned());
        witness.into_iter().chain(example).chain(filler).chain(texts).filter(move |text| {
            (least..=most).contains(&text.chars().count())
                && expression.as_ref().is_none_or(|expression| expression.is_match(text))
        })
    }
}

/// Formats of texts, with an example of each.
const FORMATS: &[(&str, &str)] = &[
    ("email", "u1@example.com"),
    ("uri", "https://example.com/"),
    ("hostname", "example.com"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("uuid", "00000000-0000-4000-8000-000000000001"),
    ("date", "2026-06-01"),
    ("date-time", "2026-06-01T12:00:00Z"),
    ("time", "12:00:00Z"),
    ("duration", "P1D"),
];

/// A pattern of a schema as a regular expression, and a text in which it finds something.
#[cfg(feature = "schemas")]
fn described(pattern: &str) -> (Option<Regex>, Option<String>) {
    let expression =
        jsonschema_regex::to_rust_regex(pattern).ok().and_then(|pattern| Regex::new(&pattern).ok());
    (expression, jsonschema_regex::pattern_witness(pattern))
}

#[cfg(not(feature = "schemas"))]
fn described(_pattern: &str) -> (Option<Regex>, Option<String>) {
    (None, None)
}

/// An object with one member more.
pub(crate) fn with(known: &Map<String, Value>, name: &str, value: &Value) -> Map<String, Value> {
    let mut members = known.clone();
    members.insert(name.to_owned(), value.clone());
    members
}
