//! The tasks of a server that calls of a session have created, and what is known of each.

use super::course::Course;
use super::kinds::Reported;
use super::message::Failure;
use super::peer::ProgressReports;
use super::question::Question;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// The most tasks of a session.
pub(super) const MAX_TASKS: usize = 1_024;

/// The tasks that calls of a session have created, by the server's ids.
#[derive(Default)]
pub(super) struct Tasks {
    pub(super) tasks: HashMap<String, CallTask>,
}

/// A task, and the call that created it.
pub(super) struct CallTask {
    pub(super) course: Course,
    /// The outcome as it was reported first, while it is judged.
    pub(super) reported: Option<Reported>,
    /// The judged outcome, once there is one.
    pub(super) outcome: Option<Result<Value, Failure>>,
    /// Questions of the server that the client has not answered.
    pub(super) questions: BTreeMap<String, Question>,
    /// Held so that progress is reported as long as the task runs.
    pub(super) _progress: Option<ProgressReports>,
}

impl Tasks {
    pub(super) fn is_known(&self, task: &str) -> bool {
        self.tasks.contains_key(task)
    }

    /// Whether a call of the session's task has created a task that is not over.
    pub(super) fn has_call(&self, call: &str) -> bool {
        let is_it = |task: &CallTask| {
            task.course.call == call || task.questions.values().any(|question| question.call == call)
        };
        self.tasks.values().any(is_it)
    }

    /// Takes tasks out of a list that are not of this session.
    pub(super) fn filter(&self, list: &mut Value) {
        if let Some(tasks) = list.get_mut("tasks").and_then(Value::as_array_mut) {
            tasks.retain(|task| {
                task.get("taskId").and_then(Value::as_str).is_some_and(|it| self.is_known(it))
            });
        }
    }

    /// The calls that are not reported.
    pub(super) fn drain(&mut self) -> Vec<String> {
        let open = self.tasks.drain().filter(|(_, task)| task.outcome.is_none());
        open.flat_map(|(_, task)| {
            let questions = task.questions.into_values().map(|question| question.call);
            std::iter::once(task.course.call).chain(questions).collect::<Vec<_>>()
        })
        .collect()
    }
}
