//! The values that cases and scripts share: words, times, objects, results, usage.
//!
//! In: the fields of a mapping. Out: the typed value, or nothing and a finding. An absent key is nothing without a
//! finding; whoever needs it says so.

use super::messages;
use crate::amount::{Amount, AmountError};
use crate::cel::{Json, Timestamp};
use crate::manifest::fields::{Fields, Key};
use crate::manifest::node::{Data, Node};
use crate::manifest::reader::{Path, Reader};
use crate::manifest::shape::{
    Anything, ByName, Count, Decimal, Expression, List, Object, OneOf, Required, Text, Vocabulary, mapping,
    shape, words,
};
use crate::source::Embedded;
use crate::task::{CallResult, CallStatus, Usage};
use serde_json::json;
use std::collections::BTreeMap;

mapping! {
    /// What an execution gives.
    pub(super) ResultKeys as "result" = "a result" {
        /// Whether the call succeeded.
        status: OneOf<CallStatus> => "successful",
        /// The output.
        output: Anything => {},
        /// The task of a sub-agent.
        task_id: Text,
    }

    /// What the model has used.
    pub(super) UsageKeys as "usage" = "a model turn" {
        /// The tokens of the prompt.
        prompt_tokens: Count,
        /// The tokens of the completion.
        completion_tokens: Count,
        /// What the turn cost.
        cost: Decimal,
    }
}

/// By function key, what executions give in turn.
pub(super) type Mocks = ByName<List<ResultKeys>>;

shape! {
    /// A message with its parameters.
    pub(super) Entry as "entry" =
        |_| json!({ "type": "object", "description": "A message with its parameters." });
    /// A point in time.
    pub(super) Time = |_| json!({ "type": "string", "description": "A point in time, RFC 3339." });
}

/// The verdict of a review.
pub(super) enum Verdict {}

impl Verdict {
    /// The word for yes.
    pub(super) const APPROVED: &'static str = "approved";
    /// The word for no.
    pub(super) const DENIED: &'static str = "denied";
}

impl Vocabulary for Verdict {
    type Meaning = bool;
    const WORDS: &'static [(&'static str, bool)] = &[(Self::APPROVED, true), (Self::DENIED, false)];
}

impl Vocabulary for CallStatus {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] = &[
        ("successful", Self::Successful),
        ("errored", Self::Errored),
        ("unrecoverable", Self::Unrecoverable),
    ];
}

impl Key<'_, '_, Required<Text>> {
    /// A text that must be there.
    pub(super) fn required_text(&self, reader: &mut Reader) -> Option<Embedded> {
        let field = self.required("", reader)?.get()?;
        reader.text(field.node, &field.path)
    }
}

impl Key<'_, '_, Required<Expression>> {
    /// The text of an expression that must be there.
    pub(super) fn required_expression(&self, reader: &mut Reader) -> Option<Embedded> {
        let field = self.required("", reader)?.get()?;
        reader.text(field.node, &field.path)
    }
}

impl Key<'_, '_, Text> {
    /// A text without its place.
    pub(super) fn string(&self, reader: &mut Reader) -> Option<String> {
        self.text(reader).map(|text| text.text.to_string())
    }
}

impl Key<'_, '_, Time> {
    /// A point in time, RFC 3339.
    pub(super) fn time(&self, reader: &mut Reader) -> Option<Timestamp> {
        let field = self.get()?;
        let text = reader.text(field.node, &field.path)?;
        let time = text.text.parse().ok();
        if time.is_none() {
            reader.report(&field.path, messages::not_a_time(&text));
        }
        time
    }
}

impl<V: Vocabulary> Key<'_, '_, OneOf<V>> {
    /// The meaning of one of some words.
    pub(super) fn word(&self, reader: &mut Reader) -> Option<V::Meaning> {
        let field = self.get()?;
        let text = reader.text(field.node, &field.path)?;
        one_of(&text, &field.path, V::WORDS, reader)
    }
}

impl Key<'_, '_, Anything> {
    /// Any value.
    pub(super) fn json(&self) -> Option<Json> {
        self.written().map(|field| field.node.to_json().into())
    }
}

impl Key<'_, '_, Object> {
    /// An object.
    pub(super) fn object(&self, reader: &mut Reader) -> Option<Json> {
        let field = self.get()?;
        entry(field.node, &field.path, reader)
    }

    /// An object, empty if it is not there.
    pub(super) fn object_or_empty(&self, reader: &mut Reader) -> Json {
        self.object(reader).unwrap_or_else(|| Json::object([]))
    }
}

impl<S> Key<'_, '_, ByName<S>> {
    /// Values by name.
    pub(super) fn by_name<T>(
        &self,
        reader: &mut Reader,
        mut read: impl FnMut(&Node, &Path, &mut Reader) -> Option<T>,
    ) -> BTreeMap<String, T> {
        let Some(field) = self.get() else { return BTreeMap::new() };
        let entries = reader.mapping(field.node, &field.path).unwrap_or_default();
        entries
            .iter()
            .filter_map(|entry| {
                let value = read(&entry.value, &field.path.key(&entry.key.text), reader)?;
                Some((entry.key.text.to_string(), value))
            })
            .collect()
    }
}

impl Key<'_, '_, ByName<Text>> {
    /// Texts by name.
    pub(super) fn strings(&self, reader: &mut Reader) -> BTreeMap<String, String> {
        self.by_name(reader, |node, path, reader| Some(reader.text(node, path)?.text.to_string()))
    }
}

impl Key<'_, '_, ByName<Anything>> {
    /// Any values by name.
    pub(super) fn values(&self, reader: &mut Reader) -> BTreeMap<String, Json> {
        self.by_name(reader, |node, _, _| Some(node.to_json().into()))
    }
}

impl Key<'_, '_, Mocks> {
    /// By function key, what executions give in turn.
    pub(super) fn mocks(&self, reader: &mut Reader) -> BTreeMap<String, Vec<CallResult>> {
        self.by_name(reader, |node, path, reader| {
            Some(list(node, path, reader, |node, path, reader| {
                let fields = reader.fields(node, path)?;
                let result = call_result(&fields, reader);
                fields.refuse_others(reader);
                Some(result)
            }))
        })
    }
}

impl<S> Key<'_, '_, List<S>> {
    /// The items of a list.
    pub(super) fn items<T>(
        &self,
        reader: &mut Reader,
        read: impl FnMut(&Node, &Path, &mut Reader) -> Option<T>,
    ) -> Vec<T> {
        let Some(field) = self.get() else { return Vec::new() };
        list(field.node, &field.path, reader, read)
    }
}

/// The meaning of a text that is one of some words.
pub(super) fn one_of<T: Copy>(
    text: &Embedded,
    path: &Path,
    table: &[(&'static str, T)],
    reader: &mut Reader,
) -> Option<T> {
    let meaning = table.iter().find(|(word, _)| **word == *text.text).map(|(_, meaning)| *meaning);
    if meaning.is_none() {
        reader.report(path, messages::unknown_word(text, &words(table)));
    }
    meaning
}

/// The items of a list.
pub(super) fn list<T>(
    node: &Node,
    path: &Path,
    reader: &mut Reader,
    mut read: impl FnMut(&Node, &Path, &mut Reader) -> Option<T>,
) -> Vec<T> {
    let items = reader.list(node, path).unwrap_or_default();
    items.iter().enumerate().filter_map(|(at, item)| read(item, &path.item(at), reader)).collect()
}

/// `status`, `output` and `task_id` of a result.
pub(super) fn call_result(fields: &Fields<'_, ResultKeys>, reader: &mut Reader) -> CallResult {
    let output = fields.output().json().unwrap_or_else(|| Json::object([]));
    CallResult {
        status: fields.status().word(reader).unwrap_or(CallStatus::Successful),
        task_id: fields.task_id().string(reader),
        ..CallResult::successful(output)
    }
}

/// `prompt_tokens`, `completion_tokens` and `cost` of a model turn; absent ones are 0.
pub(super) fn usage(fields: &Fields<'_, UsageKeys>, reader: &mut Reader) -> Usage {
    let [prompt_tokens, completion_tokens] =
        [fields.prompt_tokens(), fields.completion_tokens()].map(|key| {
            let field = key.get()?;
            let count = match field.node.data {
                Data::Int(count) => u64::try_from(count).ok(),
                _ => None,
            };
            if count.is_none() {
                reader.report(&field.path, messages::not_a_count(field.node));
            }
            count
        });
    let cost = fields.cost().get().and_then(|field| {
        let cost = reported(field.node);
        cost.map_err(|why| reader.report(&field.path, messages::no_cost(&field.node.place, why))).ok()
    });
    Usage {
        cost: cost.unwrap_or_default(),
        prompt_tokens: prompt_tokens.unwrap_or_default(),
        completion_tokens: completion_tokens.unwrap_or_default(),
    }
}

/// An amount as a runtime reports it.
fn reported(node: &Node) -> Result<Amount, AmountError> {
    match &node.data {
        Data::Int(number) => Amount::from_int(*number),
        Data::Float(number) => Amount::from_double(*number),
        Data::String(text) => Amount::from_decimal(&text.text),
        _ => Err(AmountError::NotDecimal),
    }
}

/// A message with its parameters: an object.
pub(super) fn entry(node: &Node, path: &Path, reader: &mut Reader) -> Option<Json> {
    reader.mapping(node, path)?;
    Some(node.to_json().into())
}

/// The only key of a mapping that has exactly one beside `others`, with its value.
pub(super) fn only_key<'a>(node: &'a Node, others: &[&str]) -> Option<(&'a Embedded, &'a Node)> {
    let mut entries = node.as_mapping()?.iter().filter(|entry| !others.contains(&&*entry.key.text));
    let entry = entries.next()?;
    entries.next().is_none().then_some((&entry.key, &entry.value))
}
