//! Tasks in memory: the seat of each, how one is opened, and the policy that it is opened under.
//!
//! In: whose task. Out: its seat, and with the seat held the task as its last step left it, whichever process took that step.

use super::problem::Problem;
use super::request::Request;
use super::settings::LiveTasks;
use super::tasks::{Tasks, owner};
use crate::store::{Owner, TaskHead, TaskStore};
use crate::task::{Task, TaskState};
use std::sync::{Arc, Mutex, MutexGuard};

/// A task in memory; nothing while nobody has opened it.
pub(super) type Seat = Mutex<Option<Open>>;

pub(super) struct Open {
    pub(super) task: Task,
    pub(super) head: TaskHead,
}

impl Tasks {
    /// Looks at a task as it is now, whichever process took its last step.
    pub(super) fn look<T>(
        &self,
        request: &Request,
        look: impl FnOnce(&Task, u64) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let owner = owner(&request.caller);
        let present = self.store.version(&owner, &request.id);
        let present = present.map_err(|error| self.gone(&owner, &request.id, &error))?;
        let seat = self.seat(&owner, &request.id);
        let mut open = sit(&seat);
        let held = match open.take() {
            Some(held) if held.head.version() >= present => self.brought_up(held)?,
            _ => self.open(&owner, &request.id)?,
        };
        let held = open.insert(held);
        look(&held.task, held.head.version())
    }

    pub(super) fn seat(&self, owner: &Owner, id: &str) -> Arc<Seat> {
        let key = (owner.clone(), id.to_owned());
        if let Some(seat) = self.live.get(&key) {
            return seat;
        }
        // two that come at once may take two seats: the store then lets only one of them step
        let seat = Arc::new(Mutex::new(None));
        self.live.insert(key, seat.clone());
        seat
    }

    /// A task in memory under the policy that is served now. One that has ended stays as it was.
    pub(super) fn brought_up(&self, open: Open) -> Result<Open, Problem> {
        let Open { task, head } = open;
        let has_ended = matches!(task.state(), TaskState::Locked(_) | TaskState::Terminated(_));
        if self.live_tasks == LiveTasks::Keep || has_ended {
            return Ok(Open { task, head });
        }
        let agent = task.policy().agent();
        let served = self.manifests.engine().policy(&agent.namespace.text, &agent.name.text)?;
        if served.fingerprint() == task.policy().fingerprint() {
            return Ok(Open { task, head });
        }
        let task = self.manifests.engine().restore(task.save())?;
        Ok(Open { task, head })
    }

    pub(super) fn open(&self, owner: &Owner, id: &str) -> Result<Open, Problem> {
        let loaded = self.store.load(owner, id).map_err(|error| self.gone(owner, id, &error))?;
        let task = self.manifests.engine().restore(loaded.saved)?;
        Ok(Open { task, head: loaded.head })
    }
}

/// Takes the seat of a task. After a panic in the middle of a step, what is in memory may be half of it.
pub(super) fn sit(seat: &Seat) -> MutexGuard<'_, Option<Open>> {
    seat.lock().unwrap_or_else(|poisoned| {
        seat.clear_poison();
        let mut open = poisoned.into_inner();
        *open = None;
        open
    })
}
