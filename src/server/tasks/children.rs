//! Tasks to which another task has delegated: they begin under it, and end with it.
//!
//! In: a task that begins with a parent, or one that has ended. Out: whether it may begin; the children ended, and theirs. The labels that pass
//! between the two stand in `child_labels`. A task
//! looks at its parent with each step, so that one whose parent ended in another process ends before it takes the step. Those whose
//! parent ended just before a process died are looked for when a server starts, and with each sweep.

use super::live_tasks::Tasks;
use super::seat::Open;
use crate::messages;
use crate::problem::{Kind, Problem};
use celador::task::{StartTask, Task, TaskState};
use celador_store::{Ending, Orphan, Owner, StoreError, TaskFilter};
use tracing::warn;

/// The most tasks above a task whose calls must be within all of them.
const MAX_TREE_DEPTH: usize = 64;

/// Whose word an end is that no caller asked for.
const NOBODY: &str = "";

impl Tasks {
    /// Gives a task the claims of its parent, if it has one and no claims of its own, and the labels of what it is given: both run for the same user. The error says whether
    /// it may begin under it at all: that is a task of the same caller which has not ended, has the call
    /// open, and runs for the same user (DEL-06). Linear in the parent.
    pub(crate) fn under_parent(&self, owner: &Owner, start: &mut StartTask) -> Result<(), Problem> {
        let Some(parent) = &mut start.parent else { return Ok(()) };
        let saved = self.store.load(owner, &parent.task).map_err(|error| self.problem(&error))?.saved;
        if saved.has_ended() {
            return Err(Kind::ParentEnded.into());
        }
        if parent.call.as_ref().is_some_and(|call| !saved.awaits(call)) {
            return Err(Kind::UnknownCall.into());
        }
        if saved.user() != start.user.id {
            return Err(Problem::new(Kind::BadRequest, messages::user_of_parent()));
        }
        start.user.claims = start.user.claims.take().or_else(|| saved.claims().cloned());
        parent.labels.append(&mut self.labels_given_to(owner, &saved, parent.call.as_ref()));
        // where it stands in the tree is what the store says, whatever the caller does
        *parent = std::mem::take(parent).below(saved.parent());
        Ok(())
    }

    /// Gives a task whose calls must be within its parent the parent as it is now, and the parent its own. Without them it may make no call.
    ///
    /// # Errors
    /// Those of the store, and a parent that may not delegate to it or that cannot be opened under its own policy.
    ///
    /// # Cost
    /// Nothing for a task that no policy bounds; else that of opening each task above it.
    pub(crate) fn give_parents(&self, owner: &Owner, task: &mut Task) -> Result<(), Problem> {
        task.clear_parent();
        let mut above = Vec::new();
        let mut next = task.bounding_parent().map(str::to_owned);
        while let Some(id) = next {
            if above.len() >= MAX_TREE_DEPTH {
                return Err(Problem::new(Kind::BadRequest, messages::too_many_parents(MAX_TREE_DEPTH)));
            }
            let Open { task: parent, held, is_borrowed, .. } = self.open(owner, &id)?;
            if let Some(held) = held {
                return Err((&held).into());
            }
            if is_borrowed {
                return Err(Kind::PolicyChanged.into());
            }
            next = parent.bounding_parent().map(str::to_owned);
            above.push(parent);
        }
        let Some(mut parent) = above.pop() else { return Ok(()) };
        while let Some(mut child) = above.pop() {
            child.set_parent(&parent)?;
            parent = child;
        }
        Ok(task.set_parent(&parent)?)
    }

    /// The same before a step of the task: what is wrong with a parent denies its calls and is logged, but for a store that does not answer.
    pub(crate) fn give_parents_for_step(&self, owner: &Owner, task: &mut Task) -> Result<(), Problem> {
        match self.give_parents(owner, task) {
            Err(problem) if problem.kind.is_passing() => Err(problem),
            Err(problem) => {
                warn!(%problem, "the parent of a task cannot decide its calls, and they are denied");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Whether the task that has delegated to this one takes no step any more. One row.
    fn is_orphan(&self, owner: &Owner, task: &Task) -> Result<bool, Problem> {
        let Some(parent) = task.parent() else { return Ok(false) };
        match self.store.summary(owner, &parent.task) {
            Ok(parent) => Ok(has_ended(&parent.state)),
            Err(StoreError::NotFound | StoreError::Purged) => Ok(true),
            Err(error) => Err(self.problem(&error)),
        }
    }

    /// Ends a task whose seat is held if its parent takes no step any more; whether it did.
    pub(crate) fn end_orphan(&self, owner: &Owner, task: &Task, who: &str) -> Result<bool, Problem> {
        if !matches!(task.state(), TaskState::Active | TaskState::Suspended)
            || !self.is_orphan(owner, task)?
        {
            return Ok(false);
        }
        let parent = task.parent().map_or("", |parent| &parent.task);
        match self.end_child(owner, task.id(), parent, who, None) {
            // another process was first
            Ok(()) | Err(StoreError::HasEnded | StoreError::Conflict { .. }) => {
                self.end_children(owner, task.id(), who);
                Ok(true)
            }
            Err(StoreError::Waits) => Err(Kind::ParentEnded.into()),
            Err(error) => Err(self.problem(&error)),
        }
    }

    /// Ends the tasks to which a task has delegated that takes no step any more, and theirs. One that cannot be ended now ends
    /// before its next step.
    pub(crate) fn end_children(&self, owner: &Owner, ended: &str, who: &str) {
        let mut ended = vec![ended.to_owned()];
        while let Some(parent) = ended.pop() {
            let filter = TaskFilter { parent: Some(parent.clone()), ..TaskFilter::default() };
            let mut last = String::new();
            loop {
                let found = match self.store.find(Some(owner), Some((owner, &last)), &filter, self.page) {
                    Ok(found) => found,
                    Err(error) => {
                        warn!(%error, "the tasks under one that has ended could not be looked up");
                        break;
                    }
                };
                let Some(end) = found.last() else { break };
                last.clone_from(&end.task.id);
                for child in found.iter().filter(|child| !has_ended(&child.task.state)) {
                    let id = &child.task.id;
                    let seat = self.seat(owner, id);
                    let seated = super::seat::sit(&seat);
                    match self.end_child(owner, id, &parent, who, Some(seated)) {
                        Ok(()) | Err(StoreError::HasEnded) => ended.push(id.clone()),
                        Err(error) => warn!(%error, "a task under one that has ended could not be ended"),
                    }
                }
            }
        }
    }

    /// Ends the tasks whose parent was ended by a process that died before it came to them, until it is to stop.
    pub(crate) fn end_orphans(&self, stop: &dyn Fn() -> bool) {
        let mut last: Option<Orphan> = None;
        while !stop() {
            let after = last.as_ref().map(|last| (&last.owner, &*last.task));
            let found = match self.store.orphans(after, self.page) {
                Ok(found) => found,
                Err(error) => return warn!(%error, "tasks under ones that have ended could not be looked up"),
            };
            let Some(end) = found.last() else { return };
            last = Some(end.clone());
            for Orphan { owner, task, parent } in &found {
                // a task that nobody has in memory takes no seat there
                let seat = self.live.peek(&(owner.clone(), task.clone()));
                let seated = seat.as_ref().map(|seat| super::seat::sit(seat));
                match self.end_child(owner, task, parent, NOBODY, seated) {
                    Ok(()) | Err(StoreError::HasEnded) => self.end_children(owner, task, NOBODY),
                    Err(error) => warn!(%error, "a task under one that has ended could not be ended"),
                }
            }
        }
    }

    fn end_child(
        &self,
        owner: &Owner,
        id: &str,
        parent: &str,
        who: &str,
        mut seated: Option<std::sync::MutexGuard<'_, Option<Open>>>,
    ) -> Result<(), StoreError> {
        let reason = messages::ended_with(parent);
        let ending = Ending { at: (self.clock)(), who, reason: &reason, with_parent: true, expected: None };
        let mut tries = self.limits.max_conflicts;
        loop {
            match self.end_seated(owner, id, &ending, seated.take()) {
                Err(StoreError::Conflict { .. }) if tries > 0 => tries = tries.saturating_sub(1),
                // what the log lacks it is told later: the line is stored with the end
                ended => return ended.map(drop),
            }
        }
    }
}

fn has_ended(state: &str) -> bool {
    !["active", "suspended"].contains(&state)
}
