//! The counters of a policy document: which calls add to each, under which key, over which time, and how much.
//!
//! In: the mapping under `counters`. Out: [`DeclaredCounter`]s with their expressions as text and in their places. What they
//! count, and when, is told in `celador::counter`. Linear in the document.

use super::fields::Fields;
use super::messages;
use super::node::Entry;
use super::reader::{Path, Reader};
use super::selector::CallSelector;
use super::shape::{ByName, Expression, Name, Required, TextOrTexts, mapping};
use crate::cel::RESERVED;
use crate::counter::CounterWindow;
use crate::source::{Embedded, Place};

/// A counter of a policy.
#[derive(Clone, Debug)]
pub struct DeclaredCounter {
    /// Its name, by which expressions of the policy read it: `counters.spend`.
    pub name: Embedded,
    /// Where it stands.
    pub place: Place,
    /// The manifest path, such as `counters.spend`.
    pub path: String,
    /// The calls that add to it.
    pub on: Vec<CounterCalls>,
    /// The expression of the key; without one all calls of an owner add to one counter.
    pub key: Option<Embedded>,
    /// The time that it looks at.
    pub window: CounterWindow,
    /// The expression of the amount that a call adds; without one it is 1.
    pub add: Option<Embedded>,
}

/// A key of `on`, as keys of `capabilities` are.
#[derive(Clone, Debug)]
pub struct CounterCalls {
    /// As written.
    pub key: Embedded,
    /// The calls that it selects.
    pub calls: CallSelector,
    /// Its path.
    pub path: String,
}

mapping! {
    pub(super) CounterKeys as "counter" = "a counter" {
        /// The calls that add to the counter, as keys of `capabilities` select them: one key or several.
        on: Required<TextOrTexts>,
        /// Whose counter it is: an expression that gives a text. Without it there is one counter for all of an owner's tasks.
        whose = "key": Expression,
        /// The time whose amounts count: a duration such as `24h`, a period of the calendar (`minute`, `hour`, `day`, `week`, `month`,
        /// `year`), or `ever`.
        window: Required<Name>,
        /// How much a call adds: an expression that gives a number, not negative. Without it a call adds 1.
        add: Expression,
    }
}

/// The counters of a policy, in the order in which they are written.
pub(super) fn read_counters(
    key: &super::fields::Key<'_, '_, ByName<CounterKeys>>,
    reader: &mut Reader,
) -> Vec<DeclaredCounter> {
    let Some(field) = key.get() else { return Vec::new() };
    let entries = reader.mapping(field.node, &field.path).unwrap_or_default();
    let read = |entry: &Entry| read_counter(entry, &field.path.key(&entry.key.text), reader);
    entries.iter().filter_map(read).collect()
}

fn read_counter(entry: &Entry, path: &Path, reader: &mut Reader) -> Option<DeclaredCounter> {
    if !is_name(&entry.key.text) {
        reader.report(path, messages::bad_counter_name(&entry.key));
    }
    let fields = reader.fields::<CounterKeys>(&entry.value, path)?;
    let on = read_calls(&fields, reader);
    let key = fields.whose().expression("CEL-01", reader);
    let window = read_window(&fields, reader);
    let add = fields.add().expression("CEL-01", reader);
    fields.refuse_others(reader);
    let (name, place) = (entry.key.clone(), entry.key.place.clone());
    Some(DeclaredCounter { name, place, path: path.to_string(), on, key, window: window?, add })
}

fn read_calls(fields: &Fields<'_, CounterKeys>, reader: &mut Reader) -> Vec<CounterCalls> {
    let key = fields.on();
    let Some(field) = key.get() else {
        let place = fields.place.clone();
        reader.report(&key.path(), messages::counter_without(&place, "on"));
        return Vec::new();
    };
    let texts = match field.node.as_sequence() {
        Some(_) => reader.texts(field.node, &field.path).unwrap_or_default(),
        None => reader.text(field.node, &field.path).into_iter().collect(),
    };
    let is_list = field.node.as_sequence().is_some();
    if is_list && texts.is_empty() {
        reader.report(&field.path, messages::counter_without(&field.key.place, "on"));
    }
    let mut calls = Vec::new();
    for (at, key) in texts.into_iter().enumerate() {
        let path = if is_list { field.path.item(at) } else { field.path.clone() };
        match CallSelector::parse(&key.text) {
            Some(selector) => calls.push(CounterCalls { key, calls: selector, path: path.to_string() }),
            None => reader.report(&path, messages::bad_call_key(&key)),
        }
    }
    calls
}

fn read_window(fields: &Fields<'_, CounterKeys>, reader: &mut Reader) -> Option<CounterWindow> {
    let key = fields.window();
    let Some(field) = key.get() else {
        let place = fields.place.clone();
        reader.report(&key.path(), messages::counter_without(&place, "window"));
        return None;
    };
    let text = reader.text(field.node, &field.path)?;
    match text.text.parse() {
        Ok(window) => Some(window),
        Err(why) => {
            reader.report(&field.path, messages::bad_window(&text, why));
            None
        }
    }
}

/// Whether expressions can read it as `counters.NAME`.
fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
        && !RESERVED.contains(&text)
        && !["in", "true", "false", "null"].contains(&text)
}
