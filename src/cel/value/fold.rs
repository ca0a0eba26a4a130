//! What the loops over a growing list came to, kept by the host that holds the list.
//!
//! In goes the outcome of a loop over the elements that stay as they are, out comes the same when that loop runs again,
//! so that it goes only through what was appended since. What is kept are counts, sums, codes and costs, never an element; of
//! a fixed number of loops, those used last. Beside them stand the indexes of loops that compare a part of each element with
//! something else, as many as fit into a bound. Nobody ever waits here: who finds it in use by another thread goes without.

use super::{Index, Total};
use crate::fault::Fault;
use crate::meter::Spent;
use crate::types::At;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// How a list grows.
///
/// The first `settled` elements, counted from the oldest, and whatever is read from them stay as they are for as long
/// as `epoch` does. Elements beyond may still change, and be taken back.
#[derive(Clone, Copy, Debug)]
pub struct Growth<'a> {
    /// The kept outcomes of loops over the list.
    pub folds: &'a Folds,
    /// At which end elements are added.
    pub end: GrowingEnd,
    /// How many elements never change.
    pub settled: usize,
    /// Another number than before, once one of those changed all the same.
    pub epoch: u64,
}

/// Where the elements of a list are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowingEnd {
    /// After the last: the oldest is the first.
    Back,
    /// Before the first: the most recent is the first.
    Front,
}

/// The kept outcomes of loops over the lists of one host. A clone begins empty.
#[derive(Debug, Default)]
pub struct Folds(Mutex<Store>);

#[derive(Debug, Default)]
struct Store {
    kept: Vec<Entry>,
    /// Indexes of lists, the one that was used last at the end.
    indexes: Vec<(FoldKey, Index)>,
    /// How often something was looked up: the time by which the longest unused is found.
    now: u64,
}

#[derive(Debug)]
struct Entry {
    key: FoldKey,
    used: u64,
    kept: Kept,
}

/// Tells apart, within this process, the loops whose outcome may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoldId(u64);

/// A loop and the part of its host that it goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoldKey(pub(crate) FoldId, pub(crate) At);

/// What a loop came to over the oldest elements of a list, gone through in the list's own order.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) epoch: u64,
    /// How many elements.
    pub(crate) seen: usize,
    /// What going through them took.
    pub(crate) spent: Spent,
    /// Of how many the predicate held.
    pub(crate) count: i64,
    /// What those of a sum come to.
    pub(crate) total: Total,
    /// Whether the loop ended among them.
    pub(crate) over: bool,
    /// The first failure, and the number of the step that failed.
    pub(crate) error: Option<(Fault, u32)>,
}

impl FoldId {
    /// One that no other loop has.
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Folds {
    /// What is kept under a key.
    pub(crate) fn get(&self, key: FoldKey) -> Option<Kept> {
        let mut store = self.store()?;
        store.now = store.now.saturating_add(1);
        let now = store.now;
        let entry = store.kept.iter_mut().find(|entry| entry.key == key)?;
        entry.used = now;
        Some(entry.kept.clone())
    }

    /// Keeps an outcome, in the place of what is kept under the same key; if there are `most` of other keys, in the
    /// place of the one that was not used for the longest time.
    pub(crate) fn put(&self, key: FoldKey, kept: Kept, most: usize) {
        let Some(mut store) = self.store() else { return };
        let entry = Entry { key, used: store.now, kept };
        let is_full = store.kept.len() >= most;
        let entries = &mut store.kept;
        let place = match entries.iter().position(|entry| entry.key == key) {
            None if is_full => {
                let oldest = entries.iter().enumerate().min_by_key(|(_, entry)| entry.used);
                oldest.map(|(index, _)| index)
            }
            known => known,
        };
        match place.and_then(|index| entries.get_mut(index)) {
            Some(place) => *place = entry,
            None if !is_full => entries.push(entry),
            None => {}
        }
    }

    /// Takes out the index that is kept under a key.
    pub(crate) fn take_index(&self, key: FoldKey) -> Option<Index> {
        let mut store = self.store()?;
        let place = store.indexes.iter().position(|(known, _)| *known == key)?;
        Some(store.indexes.remove(place).1)
    }

    /// Keeps an index. Those that were not used for the longest time go, until all of them take no more than so many bytes.
    pub(crate) fn put_index(&self, key: FoldKey, index: Index, most: usize) {
        let Some(mut store) = self.store() else { return };
        store.indexes.retain(|(known, _)| *known != key);
        store.indexes.push((key, index));
        let mut bytes = store.index_bytes();
        while bytes > most && !store.indexes.is_empty() {
            let (_, unused) = store.indexes.remove(0);
            bytes = bytes.saturating_sub(unused.heap_bytes());
        }
    }

    /// The bytes that it holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.store().map_or(0, |store| {
            let totals = store.kept.iter().map(|entry| entry.kept.total.heap_bytes());
            let kept = store.kept.capacity().saturating_mul(size_of::<Entry>());
            let kept = totals.fold(kept, usize::saturating_add);
            let indexes = store.indexes.capacity().saturating_mul(size_of::<(FoldKey, Index)>());
            kept.saturating_add(indexes).saturating_add(store.index_bytes())
        })
    }

    /// Nothing while another thread is in here: going through a list once more is better than waiting.
    fn store(&self) -> Option<MutexGuard<'_, Store>> {
        self.0.try_lock().ok()
    }
}

impl Store {
    fn index_bytes(&self) -> usize {
        let bytes = self.indexes.iter().map(|(_, index)| index.heap_bytes());
        bytes.fold(0, usize::saturating_add)
    }
}

impl Clone for Folds {
    fn clone(&self) -> Self {
        Self::default()
    }
}
