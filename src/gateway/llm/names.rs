//! Ids of calls that a model uses again.
//!
//! In: a conversation, in which calls have the ids that the model gave them; some models count them anew in each turn. Out: for each call a
//! key that no other call of the task has, by which the task knows it. On the wire each keeps its id: the client and the model's API
//! are never told another one.

use super::memory::Notes;
use super::threading::Points;
use super::wire::{Conversation, Item, Kind, ModelCall};
use std::collections::HashMap;

/// Gives the calls of a conversation, and their results, the keys that they have in the task.
pub(super) fn put_keys(conversation: &mut Conversation, points: &Points, notes: &mut Notes) {
    // how often an id has come, and the key of the call that had it last
    let mut known: HashMap<String, (usize, String)> = HashMap::new();
    for (at, item) in conversation.items.iter_mut().enumerate() {
        match &mut item.kind {
            Kind::Assistant(calls) => {
                for call in calls {
                    let (count, last) = known.entry(call.id.clone()).or_default();
                    let noted = points.at(at).and_then(|point| notes.keys.get(&(point, call.id.clone())));
                    call.key = noted.cloned().unwrap_or_else(|| numbered(&call.id, *count));
                    *count = count.saturating_add(1);
                    last.clone_from(&call.key);
                    notes.used.insert(call.key.clone());
                }
            }
            Kind::Result { call, key, .. } => {
                let last = known.get(call).map(|(_, last)| last).or_else(|| notes.latest.get(call));
                key.clone_from(last.unwrap_or(call));
            }
            _ => {}
        }
    }
}

/// Gives the calls of an answer keys that no call of the task has.
pub(super) fn put_new_keys(calls: &mut [ModelCall], notes: &mut Notes) {
    for call in calls {
        let mut count = 0_usize;
        while notes.used.contains(&numbered(&call.id, count)) {
            count = count.saturating_add(1);
        }
        call.key = numbered(&call.id, count);
        notes.used.insert(call.key.clone());
        notes.latest.insert(call.id.clone(), call.key.clone());
    }
}

/// Remembers the keys of calls that the client is given, by the points of the conversation where they stand.
pub(super) fn note_keys(items: &[Item], points: &Points, notes: &mut Notes) {
    for (at, item) in items.iter().enumerate() {
        let Kind::Assistant(calls) = &item.kind else { continue };
        for call in calls {
            if let (Some(point), Some(key)) = (points.at(at), notes.latest.get(&call.id))
                && *key != call.id
            {
                let key = key.clone();
                notes.keys.insert((point, call.id.clone()), key);
            }
        }
    }
}

/// The id on the wire of the call of a key, and how many calls of that id stand ahead of it: of its result, where the call is not there.
pub(super) fn place(conversation: &Conversation, key: &str) -> Option<(String, usize)> {
    let calls = conversation.items.iter().flat_map(|item| match &item.kind {
        Kind::Assistant(calls) => calls.iter().map(|call| (&call.id, &call.key)).collect(),
        _ => Vec::new(),
    });
    let results = conversation.items.iter().filter_map(|item| match &item.kind {
        Kind::Result { call, key, .. } => Some((call, key)),
        _ => None,
    });
    let find = |all: Vec<(&String, &String)>| {
        let at = all.iter().position(|(_, known)| *known == key)?;
        let (id, _) = all.get(at)?;
        let ahead = all.iter().take(at).filter(|(other, _)| other == id).count();
        Some(((*id).clone(), ahead))
    };
    find(calls.collect()).or_else(|| find(results.collect()))
}

fn numbered(id: &str, count: usize) -> String {
    if count == 0 { id.to_owned() } else { format!("{id}~{}", count.saturating_add(1)) }
}
