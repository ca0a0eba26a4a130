//! Labels that pass between a task and those to which it has delegated.
//!
//! In: a task that begins with a parent, or the result of a delegation that its runtime reports. Out: the labels that pass, found in the task
//! where the words come from, as the library finds them where it runs both. What a runtime says of labels is added and takes none away. Where a
//! task cannot be opened under its own policy, all labels that it has ever given pass.

use super::live_tasks::Tasks;
use super::seat::Open;
use crate::problem::Problem;
use celador::context::LabelSet;
use celador::task::{CallId, CallResult, SavedTask, Task};
use celador_store::{Owner, StoreError, TaskFilter};

impl Tasks {
    /// The labels that a child begins with to which this call of its parent delegates. Linear in the parent.
    pub(crate) fn labels_given_to(
        &self,
        owner: &Owner,
        parent: &SavedTask,
        call: Option<&CallId>,
    ) -> LabelSet {
        let all = parent.labels_given();
        if all.is_empty() {
            return all;
        }
        match self.open(owner, parent.id()) {
            Ok(Open { task, is_borrowed: false, .. }) => task.labels_given_to(call),
            _ => all,
        }
    }

    /// The result of a delegation of a task, with the labels that it carries in the child: in the one that it names, or else in each task to
    /// which this one has delegated. Linear in these.
    pub(crate) fn with_labels(
        &self,
        owner: &Owner,
        parent: &Task,
        result: &CallResult,
    ) -> Result<CallResult, Problem> {
        let mut labels = result.labels.clone();
        match &result.task_id {
            Some(child) => labels.append(&mut self.labels_in(owner, child, result)?),
            None => self.for_each_child(owner, parent.id(), |child| {
                labels.append(&mut self.labels_in(owner, child, result)?);
                Ok(())
            })?,
        }
        Ok(CallResult { labels, ..result.clone() })
    }

    /// The labels that a result carries in a task of the caller; nothing of one that is not there, which another server may have.
    fn labels_in(&self, owner: &Owner, child: &str, result: &CallResult) -> Result<LabelSet, Problem> {
        let all = match self.store.load(owner, child) {
            Ok(loaded) => loaded.saved.labels_given(),
            Err(StoreError::NotFound | StoreError::Purged) => return Ok(LabelSet::new()),
            Err(error) => return Err(self.problem(&error)),
        };
        if all.is_empty() {
            return Ok(all);
        }
        Ok(match self.open(owner, child) {
            Ok(Open { task, is_borrowed: false, .. }) => task.labels_of(&result.output),
            _ => all,
        })
    }

    fn for_each_child(
        &self,
        owner: &Owner,
        parent: &str,
        mut told: impl FnMut(&str) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let filter = TaskFilter { parent: Some(parent.to_owned()), ..TaskFilter::default() };
        let mut last = String::new();
        loop {
            let found = self.store.find(Some(owner), Some((owner, &last)), &filter, self.page);
            let found = found.map_err(|error| self.problem(&error))?;
            let Some(end) = found.last() else { return Ok(()) };
            last.clone_from(&end.task.id);
            found.iter().try_for_each(|child| told(&child.task.id))?;
        }
    }
}
