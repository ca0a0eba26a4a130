//! The end of tasks: purging one, so that nothing but a tombstone is left.
//!
//! In: a caller's task and their reason. Out: the tombstone. The task's seat is held meanwhile, so no step of this process is
//! under way; one of another process is told that the task is gone when it writes. Ending a task is a step like any other.

use crate::problem::Problem;
use crate::task_request::TaskRequest;
use crate::tasks::seat::{Open, sit};
use crate::tasks::steps::check_reason;
use crate::tasks::{Tasks, owner};
use celador_service::PurgedTask;
use celador_store::{Ending, Owner, Purge, StoreError, Tombstone};
use std::sync::MutexGuard;
use std::time::Instant;
use tracing::warn;

impl Tasks {
    /// Purges a task of the caller. With a decision log that is required, it is answered when its line is on disk.
    pub(crate) fn purge(
        &self,
        request: &TaskRequest,
        reason: &str,
        most: usize,
    ) -> Result<PurgedTask, Problem> {
        check_reason(reason, most)?;
        self.recorder.ready()?;
        let owner = owner(&request.caller);
        let seat = self.seat(&owner, &request.task);
        let open = Some(sit(&seat));
        let who = request.caller.identity.as_deref().unwrap_or_default();
        let purge = Purge { at: (self.clock)(), who, reason };
        let (tombstone, recorded) = self
            .purge_seated(&owner, &request.task, &purge, None, open)
            .map_err(|error| self.gone(&owner, &request.task, &error))?;
        if let Err(error) = self.recorder.tidy() {
            warn!(%error, "lines of a purged task stay in the store for now");
        }
        self.empty_log();
        self.end_children(&owner, &request.task, who);
        recorded?;
        Ok(purged(tombstone))
    }

    /// Purges a task whose seat is taken, or that nobody has in memory, and writes that down; whether the log has it.
    pub(crate) fn purge_seated(
        &self,
        owner: &Owner,
        id: &str,
        purge: &Purge<'_>,
        expected: Option<u64>,
        open: Option<MutexGuard<'_, Option<Open>>>,
    ) -> Result<(Tombstone, Result<(), Problem>), StoreError> {
        let mut due = None;
        let purged = self.store.purge_due(owner, id, purge, expected, |line| {
            due = self.recorder.due_line(line);
            due.clone()
        });
        if let Err(StoreError::Uncertain) = &purged {
            self.recorder.doubtful(due.as_ref());
        }
        let tombstone = purged?;
        if let Some(mut open) = open {
            *open = None;
        }
        self.live.remove(&(owner.clone(), id.to_owned()));
        let recorded = self.recorder.record_line(due.as_ref(), &tombstone.notice(purge.at));
        if recorded.is_err() {
            self.writing.failed();
        }
        Ok((tombstone, recorded))
    }

    /// Ends a task that is still at a version, on the word of a rule, and writes that down; whether the log has it.
    pub(crate) fn end_seated(
        &self,
        owner: &Owner,
        id: &str,
        ending: &Ending<'_>,
        open: Option<MutexGuard<'_, Option<Open>>>,
    ) -> Result<Result<(), Problem>, StoreError> {
        let begun = Instant::now();
        let mut due = None;
        let served = self.manifests.served();
        let ended = self.store.end(owner, id, ending, Some(&served.engine), |line| {
            due = self.recorder.due_line(line);
            due.clone()
        });
        if let Err(StoreError::Uncertain) = &ended {
            self.recorder.doubtful(due.as_ref());
        }
        let ended = ended?;
        // what is in memory is a step behind
        if let Some(mut open) = open {
            *open = None;
        }
        self.metrics().decision("end", Some(ended.decision.verdict.kind()));
        let recorded = self.recorder.record_line(due.as_ref(), &ended.entry(ending, begun.elapsed()));
        if recorded.is_err() {
            self.writing.failed();
        }
        Ok(recorded)
    }

    /// What was purged does not stay in the write-ahead log; if that fails it does so until the next time.
    pub(crate) fn empty_log(&self) {
        if let Err(error) = self.store.database().empty_log() {
            warn!(%error, "the write-ahead log could not be emptied");
        }
    }
}

/// A tombstone, as who has purged the task is told of it.
fn purged(tombstone: Tombstone) -> PurgedTask {
    PurgedTask {
        task: tombstone.id,
        namespace: tombstone.namespace,
        agent: tombstone.agent,
        state: tombstone.state,
        started_at: tombstone.started_at,
        changed_at: tombstone.changed_at,
        events: tombstone.events,
        purged_at: tombstone.purged_at,
        purged_by: tombstone.purged_by,
        reason: tombstone.reason,
    }
}
