//! Tasks in memory: how one is opened, and the policy that it is opened under.
//!
//! In: whose task. Out: its seat, and with the seat held the task as its last step left it, whichever process took that step.
//! A task that was begun under another policy than the one that is served is brought under that one, keeps its own, or is
//! held until an operator decides: see [`LiveTasks`]. What is held takes no step, but stays open to be looked at.

use super::former_policies::Lack;
use super::live_tasks::{Tasks, owner};
use super::seat::{Held, Open, Seat, sit};
use crate::manifests::Served;
use crate::messages;
use crate::problem::{Kind, Problem};
use crate::settings::LiveTasks;
use crate::task_request::TaskRequest;
use celador::BroughtTool;
use celador::policy::Fingerprint;
use celador::task::{SavedTask, Task, TaskState};
use celador_store::{ManifestSet, Owner, StoreError, TaskHead};
use std::sync::{Arc, Mutex};

/// A task before it is known under which policy it goes on.
enum Found {
    /// In memory, under a policy.
    Task(Box<Task>, Option<Arc<ManifestSet>>),
    /// From the store.
    Saved(Box<SavedTask>),
}

impl Found {
    fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::Task(task, _) => task.policy().fingerprint(),
            Self::Saved(saved) => saved.fingerprint(),
        }
    }

    /// The tools that the task has brought.
    fn tools(&self) -> &[BroughtTool] {
        match self {
            Self::Task(task, _) => task.tools(),
            Self::Saved(saved) => saved.tools(),
        }
    }

    fn state(&self) -> TaskState {
        match self {
            Self::Task(task, _) => task.state(),
            Self::Saved(saved) => saved.state(),
        }
    }

    fn saved(&self) -> SavedTask {
        match self {
            Self::Task(task, _) => task.save(),
            Self::Saved(saved) => SavedTask::clone(saved),
        }
    }
}

impl Tasks {
    /// Looks at a task of the caller as it is now, whichever process took its last step.
    pub(crate) fn look<T>(
        &self,
        request: &TaskRequest,
        look: impl FnOnce(&Open) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        self.look_at(&owner(&request.caller), &request.task, look)
    }

    /// The same, whoever owns it.
    pub(crate) fn look_at<T>(
        &self,
        owner: &Owner,
        id: &str,
        look: impl FnOnce(&Open) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let present = self.store.version(owner, id);
        let present = present.map_err(|error| self.gone(owner, id, &error))?;
        let seat = self.seat(owner, id);
        let mut open = sit(&seat);
        let found = match open.take() {
            Some(found) if found.head.version() >= present => self.brought_up(found)?,
            _ => self.open(owner, id)?,
        };
        look(open.insert(found))
    }

    /// Whether a task takes no step any more, whatever an operator does: it then stays under the policy that it was under.
    pub(crate) fn is_over(&self, state: &TaskState) -> bool {
        match state {
            TaskState::Active | TaskState::Suspended => false,
            TaskState::Locked { .. } => !self.unlocks,
            TaskState::Terminated(_) => true,
        }
    }

    /// The seat of a task.
    pub(crate) fn seat(&self, owner: &Owner, id: &str) -> Arc<Seat> {
        let key = (owner.clone(), id.to_owned());
        if let Some(seat) = self.live.get(&key) {
            return seat;
        }
        // two that come at once may take two seats: the store then lets only one of them step
        let seat = Arc::new(Mutex::new(None));
        self.live.insert(key, seat.clone());
        seat
    }

    /// A task in memory, judged by what is served now. One that has ended stays as it was.
    pub(crate) fn brought_up(&self, open: Open) -> Result<Open, Problem> {
        if Arc::ptr_eq(&open.judged, &self.manifests.served()) || self.is_over(&open.task.state()) {
            return Ok(open);
        }
        let Open { task, head, manifests, is_borrowed, .. } = open;
        if is_borrowed {
            return self.open(head.owner(), head.id());
        }
        self.judge(Found::Task(Box::new(task), manifests), head)
    }

    /// A task from the store.
    pub(crate) fn open(&self, owner: &Owner, id: &str) -> Result<Open, Problem> {
        let loaded = self.store.load(owner, id).map_err(|error| self.gone(owner, id, &error))?;
        self.judge(Found::Saved(Box::new(loaded.saved)), loaded.head)
    }

    /// Opens a task under the policy that it is to go on under, or says why it takes no step.
    ///
    /// # Errors
    /// [`Kind::PolicyChanged`] for a task that no policy at hand can read; those of the store.
    fn judge(&self, found: Found, head: TaskHead) -> Result<Open, Problem> {
        let served = self.manifests.served();
        let (namespace, agent) = head.agent();
        let policy = served.engine.policy_with(namespace, agent, found.tools());
        let is_served = policy.is_ok_and(|policy| policy.fingerprint() == found.fingerprint());
        if is_served && let Found::Task(task, manifests) = found {
            return Ok(Open { manifests, ..Open::under(*task, head, served) });
        }
        // the same text may come to another policy in a server of another version
        let is_adopted = is_served || head.manifests() == Some(served.set.digest());
        let has_ended = self.is_over(&found.state());
        let how = if head.is_kept() { LiveTasks::Keep } else { self.live_tasks };
        // what has ended is only looked at, and what is served is at hand
        let held = if is_adopted || has_ended || how == LiveTasks::Adopt {
            match served.engine.restore(found.saved()) {
                Ok(task) => return Ok(Open::under(task, head, served)),
                Err(error) => Some(Held::Unreadable(error)),
            }
        } else {
            (how == LiveTasks::Lock).then_some(Held::Locked)
        };
        match self.own(found, &head, &served).map_err(|error| self.problem(&error))? {
            Own::Had(task, manifests) => {
                let held = held.filter(|_| !has_ended);
                Ok(Open { manifests, held, ..Open::under(*task, head, served) })
            }
            Own::Lost(saved, lack) => {
                let held = held.unwrap_or(Held::Lost(lack));
                let task = served.engine.restore(*saved).map_err(|_| Problem::from(&held))?;
                let held = Some(held).filter(|_| !has_ended);
                Ok(Open { held, is_borrowed: true, ..Open::under(task, head, served) })
            }
        }
    }

    /// A task under its own policy.
    fn own(&self, found: Found, head: &TaskHead, served: &Served) -> Result<Own, StoreError> {
        let saved = match found {
            Found::Task(task, manifests) => return Ok(Own::Had(task, manifests)),
            Found::Saved(saved) => saved,
        };
        let Some(digest) = head.manifests() else {
            return Ok(Own::Lost(saved, Lack::NotKept));
        };
        let former = match self.former.set(&self.store, digest, served)? {
            Ok(former) => former,
            Err(lack) => return Ok(Own::Lost(saved, lack)),
        };
        Ok(match former.engine.restore(SavedTask::clone(&saved)) {
            Ok(task) => Own::Had(Box::new(task), Some(former.set.clone())),
            Err(_) => Own::Lost(saved, Lack::NotCompiled),
        })
    }

    /// A task under the policy that is served, as an operator decides that it is to go on.
    pub(crate) fn open_as_served(&self, saved: SavedTask, head: TaskHead) -> Result<Open, Problem> {
        let served = self.manifests.served();
        let task = served.engine.restore(saved);
        let task = task.map_err(|error| Problem::new(Kind::PolicyChanged, messages::cannot_adopt(&error)))?;
        Ok(Open::under(task, head, served))
    }

    /// A task under its own policy, as an operator decides that it is to go on.
    pub(crate) fn open_as_own(&self, saved: SavedTask, head: TaskHead) -> Result<Open, Problem> {
        let served = self.manifests.served();
        let (namespace, agent) = head.agent();
        let policy = served.engine.policy_with(namespace, agent, saved.tools());
        if policy.is_ok_and(|policy| policy.fingerprint() == saved.fingerprint()) {
            return self.open_as_served(saved, head);
        }
        let own = self.own(Found::Saved(Box::new(saved)), &head, &served);
        match own.map_err(|error| self.problem(&error))? {
            Own::Had(task, manifests) => Ok(Open { manifests, ..Open::under(*task, head, served) }),
            Own::Lost(_, lack) => Err(Problem::from(&Held::Lost(lack))),
        }
    }
}

/// What came of looking for the policy that a task is under.
enum Own {
    /// The task, under it.
    Had(Box<Task>, Option<Arc<ManifestSet>>),
    /// The task as it is stored, and why there is none.
    Lost(Box<SavedTask>, Lack),
}
