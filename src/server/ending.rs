//! The end of tasks: purging one, so that nothing but a tombstone is left.
//!
//! In: a caller's task and their reason. Out: the tombstone. The task's seat is held meanwhile, so no step of this process is
//! under way; one of another process is told that the task is gone when it writes. Ending a task is a step like any other.

use super::problem::Problem;
use super::request::{Answer, Request};
use super::steps::check_reason;
use super::task_opening::sit;
use super::tasks::{Tasks, owner};
use crate::decision_log::Notice;
use crate::store::{Purge, TaskStore, Tombstone};
use serde::Serialize;
use tracing::warn;

/// What is left of a task.
#[derive(Serialize)]
struct Purged<'t> {
    task: &'t str,
    namespace: &'t str,
    agent: &'t str,
    /// As it was.
    state: &'t str,
    started_at: &'t str,
    changed_at: &'t str,
    /// How many it had.
    events: u64,
    purged_at: &'t str,
    purged_by: &'t str,
    reason: &'t str,
}

impl Tasks {
    /// Purges a task of the caller.
    pub(super) fn purge(&self, request: &Request, reason: &str, most: usize) -> Result<Answer, Problem> {
        check_reason(reason, most)?;
        let owner = owner(&request.caller);
        let seat = self.seat(&owner, &request.id);
        let mut open = sit(&seat);
        let at = (self.clock)();
        let purge = Purge { at, who: request.caller.identity.as_deref().unwrap_or_default(), reason };
        let purged = self.store.purge(&owner, &request.id, &purge);
        let tombstone = purged.map_err(|error| self.gone(&owner, &request.id, &error))?;
        *open = None;
        self.live.remove(&(owner, request.id.clone()));
        self.recorder.note(&Notice {
            who: request.caller.identity.as_deref(),
            task: Some(&tombstone.id),
            count: Some(tombstone.events),
            reason: Some(reason),
            ..Notice::new(at, "purge")
        });
        self.empty_log();
        Answer::json(200, &Purged::of(&tombstone))
    }

    /// What was purged does not stay in the write-ahead log; if that fails it does so until the next time.
    pub(super) fn empty_log(&self) {
        if let Err(error) = self.store.database().empty_log() {
            warn!(%error, "the write-ahead log could not be emptied");
        }
    }
}

impl<'t> Purged<'t> {
    fn of(tombstone: &'t Tombstone) -> Self {
        let Tombstone { id, namespace, agent, state, started_at, changed_at, .. } = tombstone;
        let Tombstone { events, purged_at, purged_by, reason, .. } = tombstone;
        Self {
            task: id,
            namespace,
            agent,
            state,
            started_at,
            changed_at,
            events: *events,
            purged_at,
            purged_by,
            reason,
        }
    }
}
