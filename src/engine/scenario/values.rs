//! The values that cases and scripts share: words, times, objects, results, usage.
//!
//! In: the fields of a mapping. Out: the typed value, or nothing and a finding. An absent key is nothing without a
//! finding; whoever needs it says so.

use super::messages;
use crate::cel::{Json, Timestamp};
use crate::manifest::node::{Data, Node};
use crate::manifest::reader::{Fields, Path, Reader};
use crate::source::Embedded;
use crate::task::{CallResult, CallStatus, Usage};
use std::collections::BTreeMap;

/// The fields of a mapping under a key.
pub(super) fn fields<'a>(
    owner: &mut Fields<'a>,
    key: &'static str,
    reader: &mut Reader,
) -> Option<Fields<'a>> {
    let field = owner.get(key)?;
    reader.fields(field.node, &field.path)
}

/// A text that must be there.
pub(super) fn required_text(
    owner: &mut Fields<'_>,
    key: &'static str,
    reader: &mut Reader,
) -> Option<Embedded> {
    let field = owner.required(key, "", reader)?;
    reader.text(field.node, &field.path)
}

/// A text without its place.
pub(super) fn string(owner: &mut Fields<'_>, key: &'static str, reader: &mut Reader) -> Option<String> {
    owner.text(key, reader).map(|text| text.text.to_string())
}

/// A point in time, RFC 3339.
pub(super) fn time(owner: &mut Fields<'_>, key: &'static str, reader: &mut Reader) -> Option<Timestamp> {
    let field = owner.get(key)?;
    let text = reader.text(field.node, &field.path)?;
    let time = text.text.parse().ok();
    if time.is_none() {
        reader.report(&field.path, messages::not_a_time(&text));
    }
    time
}

/// One of some words.
pub(super) fn word<T: Copy>(
    owner: &mut Fields<'_>,
    key: &'static str,
    words: &[(&'static str, T)],
    reader: &mut Reader,
) -> Option<T> {
    let field = owner.get(key)?;
    let text = reader.text(field.node, &field.path)?;
    one_of(&text, &field.path, words, reader)
}

/// The meaning of a text that is one of some words.
pub(super) fn one_of<T: Copy>(
    text: &Embedded,
    path: &Path,
    words: &[(&'static str, T)],
    reader: &mut Reader,
) -> Option<T> {
    let meaning = words.iter().find(|(word, _)| **word == *text.text).map(|(_, meaning)| *meaning);
    if meaning.is_none() {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        reader.report(path, messages::unknown_word(text, &words));
    }
    meaning
}

/// Any value.
pub(super) fn json(owner: &mut Fields<'_>, key: &'static str) -> Option<Json> {
    owner.written(key).map(|field| field.node.to_json().into())
}

/// An object.
pub(super) fn object(owner: &mut Fields<'_>, key: &'static str, reader: &mut Reader) -> Option<Json> {
    let field = owner.get(key)?;
    reader.mapping(field.node, &field.path)?;
    Some(field.node.to_json().into())
}

/// An object, empty if it is not there.
pub(super) fn arguments(owner: &mut Fields<'_>, reader: &mut Reader) -> Json {
    object(owner, "args", reader).unwrap_or_else(|| Json::object([]))
}

/// Texts by name.
pub(super) fn strings(
    owner: &mut Fields<'_>,
    key: &'static str,
    reader: &mut Reader,
) -> BTreeMap<String, String> {
    by_name(owner, key, reader, |node, path, reader| Some(reader.text(node, path)?.text.to_string()))
}

/// Values by name.
pub(super) fn by_name<T>(
    owner: &mut Fields<'_>,
    key: &'static str,
    reader: &mut Reader,
    mut read: impl FnMut(&Node, &Path, &mut Reader) -> Option<T>,
) -> BTreeMap<String, T> {
    let Some(field) = owner.get(key) else { return BTreeMap::new() };
    let entries = reader.mapping(field.node, &field.path).unwrap_or_default();
    entries
        .iter()
        .filter_map(|entry| {
            let value = read(&entry.value, &field.path.key(&entry.key.text), reader)?;
            Some((entry.key.text.to_string(), value))
        })
        .collect()
}

/// The items of a list under a key.
pub(super) fn items<T>(
    owner: &mut Fields<'_>,
    key: &'static str,
    reader: &mut Reader,
    mut read: impl FnMut(&Node, &Path, &mut Reader) -> Option<T>,
) -> Vec<T> {
    let Some(field) = owner.get(key) else { return Vec::new() };
    list(field.node, &field.path, reader, &mut read)
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

/// `mocks`: what executions return in turn, by function key.
pub(super) fn mocks(owner: &mut Fields<'_>, reader: &mut Reader) -> BTreeMap<String, Vec<CallResult>> {
    by_name(owner, "mocks", reader, |node, path, reader| {
        Some(list(node, path, reader, |node, path, reader| {
            let mut fields = reader.fields(node, path)?;
            let result = call_result(&mut fields, reader);
            fields.refuse_others("a result", reader);
            Some(result)
        }))
    })
}

/// `status`, `output` and `task_id` of a result.
pub(super) fn call_result(fields: &mut Fields<'_>, reader: &mut Reader) -> CallResult {
    let words = [
        ("successful", CallStatus::Successful),
        ("errored", CallStatus::Errored),
        ("unrecoverable", CallStatus::Unrecoverable),
    ];
    CallResult {
        status: word(fields, "status", &words, reader).unwrap_or(CallStatus::Successful),
        output: json(fields, "output").unwrap_or_else(|| Json::object([])),
        task_id: string(fields, "task_id", reader),
    }
}

/// `prompt_tokens` and `completion_tokens` of a model turn; absent ones are 0.
pub(super) fn usage(node: &Node, path: &Path, reader: &mut Reader) -> Option<Usage> {
    let mut fields = reader.fields(node, path)?;
    let [prompt_tokens, completion_tokens] = ["prompt_tokens", "completion_tokens"].map(|key| {
        let field = fields.get(key)?;
        let count = match field.node.data {
            Data::Int(count) => u64::try_from(count).ok(),
            _ => None,
        };
        if count.is_none() {
            reader.report(&field.path, messages::not_a_count(field.node));
        }
        count
    });
    fields.refuse_others("a model turn", reader);
    Some(Usage {
        prompt_tokens: prompt_tokens.unwrap_or_default(),
        completion_tokens: completion_tokens.unwrap_or_default(),
    })
}

/// The verdicts of a review.
pub(super) const VERDICTS: [(&str, bool); 2] = [("approved", true), ("denied", false)];

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
