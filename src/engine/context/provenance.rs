//! What a task knows of where values came from, and what was made of it so far.
//!
//! Data, and how it is shared: the labels are part of the task; the indexes are made when somebody first asks and are
//! neither stored nor copied.

use super::copy_index::CopyIndex;
use super::labels::LabelRecord;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is known of where values came from.
#[derive(Debug, Default)]
pub(super) struct Provenance {
    pub(super) labels: LabelRecord,
    kept: Mutex<Kept>,
}

/// What was made of the values so far.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Of those that have had a label.
    pub(super) labelled: Labelled,
    /// Of those that have had one for observed steps, which is no concern of the others, not even by how much there is.
    pub(super) observed: Labelled,
    /// Of all results and inputs.
    pub(super) all: Option<CopyIndex>,
    pub(super) calls: usize,
    pub(super) inputs: usize,
    /// How many values had been shortened.
    pub(super) shortened: usize,
    /// The epoch of the inputs that it knows.
    pub(super) epoch: u64,
}

/// An index of values that have had a label.
#[derive(Debug, Default)]
pub(super) struct Labelled {
    pub(super) index: Option<CopyIndex>,
    /// How much of the record of labels it knows.
    pub(super) recorded: usize,
}

impl Clone for Provenance {
    /// An index is made anew where it is needed.
    fn clone(&self) -> Self {
        Self { labels: self.labels.clone(), kept: Mutex::default() }
    }
}

impl Provenance {
    pub(super) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let kept = self.kept();
        let indexes = [&kept.labelled.index, &kept.observed.index, &kept.all].into_iter().flatten();
        indexes.map(CopyIndex::heap_bytes).fold(self.labels.bytes(), usize::saturating_add)
    }
}
