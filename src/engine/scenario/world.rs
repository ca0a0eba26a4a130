//! The world around a task of a case or a script: mocks for tools, verdicts for reviewers, files in memory.
//!
//! In: what the case says. Out: answers to everything that an operation asks for, and a record of what was executed. It
//! never decides anything, and a function without a mock gives `{}`.

use super::host_answers::MissingAnswer;
use super::made_up::by_somebody;
use crate::cel::{Json, Timestamp};
use crate::counter::CounterBook;
use crate::task::{
    Answer, CallResult, Decision, Host, Invocation, Progress, QuestionId, Request, Task, TaskError,
};
use std::collections::BTreeMap;

/// A host that answers at once, from memory.
#[derive(Clone, Debug)]
pub(super) struct World {
    /// The time.
    pub(super) now: Timestamp,
    /// What executions return in turn; the last one repeats.
    pub(super) mocks: BTreeMap<String, Vec<CallResult>>,
    /// The first call of a function of the host that nothing answered.
    pub(super) unanswered: MissingAnswer,
    /// Who approves or denies; others are undecided.
    pub(super) reviews: BTreeMap<String, bool>,
    /// The files below the mount prefix.
    pub(super) files: BTreeMap<String, String>,
    /// What counts across tasks.
    pub(super) counters: CounterBook,
    /// How many reviews were answered, to tell those who answered apart.
    pub(super) answered: usize,
    /// What was executed: function and arguments, in order.
    pub(super) invoked: Vec<(String, Json)>,
}

impl World {
    /// The answer to a question of an expression; none to a review that is undecided.
    pub(super) fn answer(&mut self, question: &Request) -> Option<Answer> {
        Some(match question {
            Request::Invoke(invocation) => Answer::Result(self.invoke(invocation)?),
            Request::Review { reviewer, panel } => {
                let approved = self.review(reviewer)?;
                self.answered = self.answered.saturating_add(1);
                Answer::Review(by_somebody(approved.into(), panel.as_ref(), self.answered))
            }
            Request::ReadMount { path } => self.read_mount(path).map_or(Answer::Failed, Answer::Text),
            Request::WriteMount { path, text } => {
                self.write_mount(path, text);
                Answer::Written
            }
            Request::Counters { counters } => {
                Answer::Counters(counters.iter().map(|counter| self.counters.read(counter)).collect())
            }
            Request::MeasureFile { path } => self.measure_file(path).map_or(Answer::Failed, Answer::Size),
        })
    }
}

impl World {
    /// Keeps what a task has done to counters.
    pub(super) fn keep_counters(&mut self, task: &mut Task) {
        let changes = task.take_counter_changes();
        // the world is one task's alone, so nobody was ahead of it
        let _ = self.counters.apply(task.id(), &changes, self.now);
    }
}

impl Host for World {
    fn now(&mut self) -> Timestamp {
        self.now
    }

    fn invoke(&mut self, invocation: &Invocation) -> Option<CallResult> {
        let before = self.invoked.iter().filter(|(function, _)| *function == invocation.function).count();
        self.invoked.push((invocation.function.clone(), invocation.arguments.clone()));
        let results = self.mocks.get(&invocation.function);
        let result = results.and_then(|results| results.get(before).or(results.last()));
        Some(result.cloned().unwrap_or_else(|| CallResult::successful(Json::object([]))))
    }

    fn counters(&mut self) -> Option<&mut CounterBook> {
        Some(&mut self.counters)
    }

    fn review(&mut self, reviewer: &str) -> Option<bool> {
        self.reviews.get(reviewer).copied()
    }

    fn read_mount(&mut self, path: &str) -> Option<String> {
        self.files.get(path).cloned()
    }

    fn write_mount(&mut self, path: &str, text: &str) -> bool {
        self.files.insert(path.to_owned(), text.to_owned());
        true
    }
}

/// Takes an operation of a task as far as the world has answers.
pub(super) fn drive(task: &mut Task, progress: Progress, world: &mut World) -> Result<Decision, TaskError> {
    match progress {
        Progress::Decided(decision) => Ok(decision),
        Progress::Asks(question) => drive_at(task, question.id, world),
    }
}

/// The same of the operation that asks a question.
pub(super) fn drive_at(
    task: &mut Task,
    question: QuestionId,
    world: &mut World,
) -> Result<Decision, TaskError> {
    let pending = task.pending_at(question).ok_or(TaskError::NothingPending)?;
    Ok(pending.drive(world)?.into_decision())
}
