//! The seat of a task in memory, and what sits there: the task, its head in the store, the policy that it is open under.
//!
//! Plain data: `task_opening` fills a seat, and whoever takes a step holds it.

use super::former_policies::Lack;
use crate::manifests::Served;
use crate::messages;
use crate::problem::{Kind, Problem};
use celador::task::{Task, TaskError, TaskState};
use celador_store::{ManifestSet, TaskHead};
use std::sync::{Arc, Mutex, MutexGuard};

/// A task in memory; nothing while nobody has opened it.
pub(crate) type Seat = Mutex<Option<Open>>;

/// A task that is open.
pub(crate) struct Open {
    pub(crate) task: Task,
    pub(crate) head: TaskHead,
    /// The manifests that its policy is made of.
    pub(crate) manifests: Option<Arc<ManifestSet>>,
    /// Why it takes no step, if so.
    pub(crate) held: Option<Held>,
    /// Whether it is open under another policy than its own, which could not be had: to be looked at, and to be ended.
    pub(crate) is_borrowed: bool,
    /// What was served when that was found out.
    pub(crate) judged: Arc<Served>,
}

impl Open {
    /// A task that is open under what is served now.
    pub(crate) fn under(task: Task, head: TaskHead, served: Arc<Served>) -> Self {
        let manifests = Some(served.set.clone());
        Self { task, head, manifests, held: None, is_borrowed: false, judged: served }
    }
}

/// Why a task takes no step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Another policy is served than the one that it was begun under, and an operator is to decide.
    Locked,
    /// The policy that is served cannot take it over.
    Unreadable(TaskError),
    /// It is to keep its policy, which cannot be had.
    Lost(Lack),
}

impl Held {
    /// In words.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Locked => messages::held_locked().to_owned(),
            Self::Unreadable(error) => messages::held_unreadable(error),
            Self::Lost(lack) => messages::held_lost(lack.as_str()),
        }
    }
}

impl From<&Held> for Problem {
    fn from(held: &Held) -> Self {
        Self::new(Kind::PolicyChanged, held.reason())
    }
}

/// Whether a task takes no step any more.
pub(crate) fn has_ended(task: &Task) -> bool {
    matches!(task.state(), TaskState::Locked { .. } | TaskState::Terminated(_))
}

/// Takes the seat of a task. After a panic in the middle of a step, what is in memory may be half of it.
pub(crate) fn sit(seat: &Seat) -> MutexGuard<'_, Option<Open>> {
    seat.lock().unwrap_or_else(|poisoned| {
        seat.clear_poison();
        let mut open = poisoned.into_inner();
        *open = None;
        open
    })
}
