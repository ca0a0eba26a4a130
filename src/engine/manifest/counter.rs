//! The counters of a policy document: which calls of functions and of the model add to each, under which key, over which time, and how
//! much.
//!
//! In: the mapping under `counters`. Out: [`DeclaredCounter`]s with their expressions as text and in their places. What they
//! count, and when, is told in `celador::counter`. Linear in the document.

use super::fields::{Field, Fields, Key};
use super::messages;
use super::node::{Data, Entry};
use super::reader::{Path, Reader};
use super::selector::CallSelector;
use super::shape::{
    ByName, Expression, Name, OneOf, Required, TextOrTexts, Vocabulary, mapping, shape, words,
};
use crate::cel::RESERVED;
use crate::counter::CounterWindow;
use crate::diagnostic::Diagnostic;
use crate::source::{Embedded, Place};
use serde_json::json;

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
    /// The expression of the amount that a call of the model adds; without one it adds nothing.
    pub model: Option<Embedded>,
    /// The expression of the most that may count; without one steps decide.
    pub limit: Option<Embedded>,
    /// Whether calls can lower it.
    pub decrease: Decrease,
    /// Whose calls add to it.
    pub scope: CounterScope,
}

/// Whose calls add to a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CounterScope {
    /// Those of all tasks of a caller.
    #[default]
    Caller,
    /// Those of a task, of the tasks to which it delegates, and of theirs.
    Tree,
}

impl Vocabulary for CounterScope {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] = &[("caller", Self::Caller), ("tree", Self::Tree)];
}

impl Key<'_, '_, OneOf<CounterScope>> {
    /// An unknown word is an error.
    fn counter_scope(&self, reader: &mut Reader) -> CounterScope {
        word_of(self.get(), messages::unknown_counter_scope, reader)
    }
}

/// The meaning of a word; the default one where there is none. An unknown word is an error.
fn word_of<V: Vocabulary<Meaning = V> + Copy + Default>(
    field: Option<Field<'_>>,
    unknown: fn(&Embedded, &[&str]) -> Diagnostic,
    reader: &mut Reader,
) -> V {
    let Some(field) = field else { return V::default() };
    let Some(word) = reader.text(field.node, &field.path) else { return V::default() };
    let known = V::WORDS.iter().find(|(known, _)| **known == *word.text);
    if known.is_none() {
        reader.report(&field.path, unknown(&word, &words(V::WORDS)));
    }
    known.map_or(V::default(), |(_, meaning)| *meaning)
}

/// Whether calls can lower a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decrease {
    /// They cannot.
    #[default]
    None,
    /// They can, to zero.
    ToZero,
    /// They can, to less than nothing.
    BelowZero,
}

impl Vocabulary for Decrease {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] =
        &[("none", Self::None), ("to_zero", Self::ToZero), ("below_zero", Self::BelowZero)];
}

impl Decrease {
    /// The word of the policy.
    pub(crate) fn as_str(self) -> &'static str {
        Self::WORDS.iter().find(|(_, known)| *known == self).map_or("none", |(word, _)| word)
    }
}

impl Key<'_, '_, OneOf<Decrease>> {
    /// An unknown word is an error, and calls cannot lower the counter.
    fn decrease(&self, reader: &mut Reader) -> Decrease {
        word_of(self.get(), messages::unknown_decrease, reader)
    }
}

impl DeclaredCounter {
    /// Its expressions, each with its key.
    pub fn expressions(&self) -> impl Iterator<Item = (&'static str, &Embedded)> {
        let Self {
            name: _,
            place: _,
            path: _,
            on: _,
            key,
            window: _,
            add,
            model,
            limit,
            decrease: _,
            scope: _,
        } = self;
        let all = [("key", key), ("add", add), ("model", model), ("limit", limit)];
        all.into_iter().filter_map(|(key, text)| Some((key, text.as_ref()?)))
    }

    /// The same, to be changed.
    pub(super) fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Embedded> {
        [&mut self.key, &mut self.add, &mut self.model, &mut self.limit].into_iter().flatten()
    }
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
        /// The calls that add to the counter, as keys of `capabilities` select them: one key or several. A counter without it has `model`.
        on: TextOrTexts,
        /// Whose counter it is: an expression that gives a text. Without it there is one counter for all of an owner's tasks.
        whose = "key": Expression,
        /// The time whose amounts count: a duration such as `24h`, a period of the calendar (`minute`, `hour`, `day`, `week`, `month`,
        /// `year`), or `ever`.
        window: Required<Name>,
        /// How much a call adds: an expression that gives a number, not negative unless `decrease` says so. Without it a call adds 1.
        add: Expression,
        /// How much a call of the model adds: an expression over `usage` that gives a number, not negative. The host's estimate is reserved
        /// ahead of the call, and replaced by what it reports.
        model: Expression,
        /// The most that may count: a number, or an expression that gives one. A call that would add more is blocked.
        limit: NumberOrExpression,
        /// Whether calls can lower it: an `add` below 0 takes away what it says when its call has run, until nothing is left, or beyond.
        decrease: OneOf<Decrease> => "none",
        /// Whose calls add to it: those of all tasks of a caller, or those of one task with all tasks below it, to which it delegates.
        scope: OneOf<CounterScope> => "caller",
    }
}

shape! {
    /// A number, or an expression that gives one.
    NumberOrExpression = |_| json!({ "type": ["number", "string"], "minLength": 1 });
}

/// The counters of a policy, in the order in which they are written.
pub(super) fn read_counters(
    key: &Key<'_, '_, ByName<CounterKeys>>,
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
    let model = fields.model().expression("CEL-01", reader);
    let limit = fields.limit().get().and_then(|field| number_or_expression(&field, reader));
    let decrease = fields.decrease().decrease(reader);
    let scope = fields.scope().counter_scope(reader);
    fields.refuse_others(reader);
    let (name, place, path) = (entry.key.clone(), entry.key.place.clone(), path.to_string());
    Some(DeclaredCounter { name, place, path, on, key, window: window?, add, model, limit, decrease, scope })
}

fn number_or_expression(field: &Field<'_>, reader: &mut Reader) -> Option<Embedded> {
    let number = match field.node.data {
        Data::Int(number) => number.to_string(),
        // as an expression writes a double
        Data::Float(number) => format!("{number:?}"),
        _ => return reader.expression(field.node, &field.path, "CEL-01"),
    };
    Some(Embedded::new(number, field.node.place.clone(), [(0, field.node.place.span.start)]))
}

fn read_calls(fields: &Fields<'_, CounterKeys>, reader: &mut Reader) -> Vec<CounterCalls> {
    let key = fields.on();
    let Some(field) = key.get() else {
        let place = fields.place.clone();
        if fields.model().get().is_none() {
            reader.report(&key.path(), messages::counter_without(&place, "on"));
        }
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
