//! The end of tasks: purging one, so that nothing but a tombstone is left.
//!
//! In: a caller's task and their reason. Out: the tombstone. The task's seat is held meanwhile, so no step of this process is
//! under way; one of another process is told that the task is gone when it writes. Ending a task is a step like any other.

use crate::problem::Problem;
use crate::request::{Answer, Request};
use crate::tasks::seat::{Open, sit};
use crate::tasks::steps::check_reason;
use crate::tasks::{Tasks, owner};
use celador_store::{Ending, Owner, Purge, StoreError, Tombstone};
use serde::Serialize;
use std::sync::MutexGuard;
use std::time::Instant;
use tracing::warn;

/// The facts that stay of a purged task.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Tombstone"))]
pub(crate) struct Purged<'t> {
    /// The task's id, which is never used again.
    task: &'t str,
    /// The namespace of its agent.
    namespace: &'t str,
    /// The name of its agent.
    agent: &'t str,
    /// The state that it was in when it was purged.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = celador::task::TaskState::WORDS)))]
    state: &'t str,
    /// The time when it began: RFC 3339.
    started_at: &'t str,
    /// The time of its last event: RFC 3339.
    changed_at: &'t str,
    /// The number of events that it had.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    events: u64,
    /// The time when it was purged: RFC 3339.
    purged_at: &'t str,
    /// The identity of the caller who purged it; empty where callers do not have to authenticate.
    purged_by: &'t str,
    /// The reason, in their words.
    reason: &'t str,
}

impl Tasks {
    /// Purges a task of the caller. With a decision log that is required, it is answered when its line is on disk.
    pub(crate) fn purge(&self, request: &Request, reason: &str, most: usize) -> Result<Answer, Problem> {
        check_reason(reason, most)?;
        self.recorder.ready()?;
        let owner = owner(&request.caller);
        let seat = self.seat(&owner, &request.id);
        let open = Some(sit(&seat));
        let who = request.caller.identity.as_deref().unwrap_or_default();
        let purge = Purge { at: (self.clock)(), who, reason };
        let (tombstone, recorded) = self
            .purge_seated(&owner, &request.id, &purge, None, open)
            .map_err(|error| self.gone(&owner, &request.id, &error))?;
        if let Err(error) = self.recorder.tidy() {
            warn!(%error, "lines of a purged task stay in the store for now");
        }
        self.empty_log();
        self.end_children(&owner, &request.id, who);
        recorded?;
        Answer::json(200, &Purged::of(&tombstone))
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
