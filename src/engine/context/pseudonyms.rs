//! The pseudonyms of a task as its state: those that it has given, and those that the step under way is about to give.
//!
//! Values with a pseudonym are part of the stored task and of nothing else: no expression, view, log or error has them, and `Debug` tells how many there are.

use crate::detect::{Pseudonym, Pseudonyms};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The pseudonyms of a task, and those that the step under way adds.
#[derive(Debug, Default)]
pub(super) struct TaskPseudonyms {
    known: Arc<Pseudonyms>,
    draft: Option<Mutex<Pseudonyms>>,
}

impl Clone for TaskPseudonyms {
    /// A copy of a task is not in the middle of a step.
    fn clone(&self) -> Self {
        Self { known: self.known.clone(), draft: None }
    }
}

impl TaskPseudonyms {
    /// Those that were stored.
    pub(super) fn of(stored: Vec<Pseudonym>) -> Self {
        let mut known = Pseudonyms::default();
        stored.into_iter().for_each(|one| known.push(one));
        Self { known: Arc::new(known), draft: None }
    }

    /// Those of the task.
    pub(super) fn known(&self) -> &Pseudonyms {
        &self.known
    }

    /// Those that the step under way adds, if one is.
    pub(super) fn draft(&self) -> Option<MutexGuard<'_, Pseudonyms>> {
        self.draft.as_ref().map(|draft| draft.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A step begins that may add some.
    pub(super) fn open(&mut self) {
        self.draft = Some(Mutex::default());
    }

    /// The step is over. Linear in what it adds, and in all there are if a copy of the task shares them.
    pub(super) fn close(&mut self, is_kept: bool) {
        let draft = self.draft.take();
        let draft = draft.map(|draft| draft.into_inner().unwrap_or_else(PoisonError::into_inner));
        let added = draft.filter(|added| is_kept && !added.all().is_empty());
        if let Some(added) = added {
            let known = Arc::make_mut(&mut self.known);
            added.all().iter().for_each(|one| known.push(one.clone()));
        }
    }
}
