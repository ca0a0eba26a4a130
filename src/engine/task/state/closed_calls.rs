//! The calls of a task that are closed, in the order in which they were, found by their ids.
//!
//! A task keeps a thousand of them, whatever else it keeps of its calls, so they stand in one ring, and the table beside it holds
//! places in the ring and no ids of its own.

use super::call_id::CallId;
use super::known_call::KnownCall;
use hashbrown::HashTable;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

/// Calls that are closed.
#[derive(Clone, Debug, Default)]
pub(super) struct ClosedCalls {
    calls: VecDeque<KnownCall>,
    /// Of each call, how many had been closed before it since the task was opened. The count may wrap: never are so many kept.
    places: HashTable<u32>,
    hasher: RandomState,
    forgotten: usize,
}

impl ClosedCalls {
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// How many made room since the task was opened.
    pub(super) fn forgotten(&self) -> usize {
        self.forgotten
    }

    /// How many there were since the task was opened.
    pub(super) fn ever(&self) -> usize {
        self.forgotten.saturating_add(self.calls.len())
    }

    /// Those after the first so many that there were since the task was opened, as far as they are kept.
    pub(super) fn since(&self, ever: usize) -> impl Iterator<Item = &KnownCall> {
        self.calls.iter().skip(ever.saturating_sub(self.forgotten))
    }

    pub(super) fn get(&self, id: &CallId) -> Option<&KnownCall> {
        let place = self.places.find(self.hasher.hash_one(id), |place| self.is_at(*place, id))?;
        self.at(*place)
    }

    pub(super) fn push(&mut self, call: KnownCall) {
        let (hash, place) = (self.hasher.hash_one(&call.id), wrapped(self.ever()));
        self.calls.push_back(call);
        let Self { calls, places, hasher, forgotten } = self;
        let rehash = |place: &u32| {
            let call = calls.get(index(*place, *forgotten));
            call.map_or(0, |call| hasher.hash_one(&call.id))
        };
        places.insert_unique(hash, place, rehash);
    }

    pub(super) fn pop_oldest(&mut self) -> Option<KnownCall> {
        let oldest = self.calls.pop_front()?;
        let place = wrapped(self.forgotten);
        if let Ok(entry) = self.places.find_entry(self.hasher.hash_one(&oldest.id), |found| *found == place) {
            entry.remove();
        }
        self.forgotten = self.forgotten.saturating_add(1);
        Some(oldest)
    }

    fn at(&self, place: u32) -> Option<&KnownCall> {
        self.calls.get(index(place, self.forgotten))
    }

    fn is_at(&self, place: u32, id: &CallId) -> bool {
        self.at(place).is_some_and(|call| call.id == *id)
    }
}

/// Where in the ring the call of a place stands, after so many made room.
fn index(place: u32, forgotten: usize) -> usize {
    place.wrapping_sub(wrapped(forgotten)) as usize
}

/// The last 32 bits of a count.
fn wrapped(count: usize) -> u32 {
    (count & u32::MAX as usize) as u32
}
