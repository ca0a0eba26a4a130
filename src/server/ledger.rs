//! Where tasks are kept: what the server needs of a store, and one in memory.
//!
//! In: a task's owner, its id, its state after each step. Out: the state again, for the same owner only: to anybody else the
//! task is not there. An append that expects another version than the present one is a conflict and changes nothing.

use crate::task::SavedTask;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The answer to a request with an idempotency key.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) digest: String,
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// Why a store did not do what it was asked.
#[derive(Debug)]
pub(super) enum LedgerError {
    NotFound,
    Conflict,
}

type Owner = Option<String>;

#[derive(Default)]
struct Shelf {
    tasks: BTreeMap<(Owner, String), (SavedTask, u64)>,
    answers: BTreeMap<(Owner, String, String), Kept>,
}

/// Tasks in memory.
#[derive(Default)]
pub(super) struct Ledger(Mutex<Shelf>);

impl Ledger {
    pub(super) fn create(&self, owner: &Owner, id: &str, task: SavedTask, retry: Option<(&str, Kept)>) -> Result<(), LedgerError> {
        let mut shelf = self.shelf();
        if let Some((key, kept)) = retry {
            let key = (owner.clone(), String::new(), key.to_owned());
            if shelf.answers.contains_key(&key) {
                return Err(LedgerError::Conflict);
            }
            shelf.answers.insert(key, kept);
        }
        shelf.tasks.insert((owner.clone(), id.to_owned()), (task, 0));
        Ok(())
    }

    pub(super) fn append(
        &self,
        owner: &Owner,
        id: &str,
        expected: u64,
        task: SavedTask,
        retry: Option<(&str, Kept)>,
    ) -> Result<(), LedgerError> {
        let mut shelf = self.shelf();
        let entry = shelf.tasks.get_mut(&(owner.clone(), id.to_owned())).ok_or(LedgerError::NotFound)?;
        if entry.1 != expected {
            return Err(LedgerError::Conflict);
        }
        *entry = (task, expected.saturating_add(1));
        if let Some((key, kept)) = retry {
            shelf.answers.insert((owner.clone(), id.to_owned(), key.to_owned()), kept);
        }
        Ok(())
    }

    pub(super) fn load(&self, owner: &Owner, id: &str) -> Result<(SavedTask, u64), LedgerError> {
        self.shelf().tasks.get(&(owner.clone(), id.to_owned())).cloned().ok_or(LedgerError::NotFound)
    }

    pub(super) fn version(&self, owner: &Owner, id: &str) -> Result<u64, LedgerError> {
        self.shelf().tasks.get(&(owner.clone(), id.to_owned())).map(|task| task.1).ok_or(LedgerError::NotFound)
    }

    /// The answer that a key had; the id is empty for the creation of tasks.
    pub(super) fn answer(&self, owner: &Owner, id: &str, key: &str) -> Result<Option<Kept>, LedgerError> {
        Ok(self.shelf().answers.get(&(owner.clone(), id.to_owned(), key.to_owned())).cloned())
    }

    pub(super) fn list(&self, owner: &Owner, after: &str, most: usize) -> Result<Vec<(String, u64)>, LedgerError> {
        let shelf = self.shelf();
        let mine = shelf.tasks.iter().filter(|((of, id), _)| of == owner && id.as_str() > after);
        Ok(mine.take(most).map(|((_, id), (_, version))| (id.clone(), *version)).collect())
    }

    pub(super) fn ping(&self) -> Result<(), LedgerError> {
        Ok(())
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
