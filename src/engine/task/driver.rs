//! Driving an operation to its decision with a host that answers at once.
//!
//! In: the first [`Progress`] of an operation and a [`Host`]. Out: its decision. What the host has no answer to yet, a
//! review or a capability that takes its time, ends in [`Verdict::Suspend`](super::Verdict::Suspend); the task stays
//! pending and goes on with [`Task::resume`](super::Task::resume). Hosts that wait for IO drive the same loop themselves.

use super::state::{Answer, CallResult, Decision, Invocation, Progress, Request, Task, TaskError};
use crate::cel::Timestamp;

/// Carries out what operations ask for.
pub trait Host {
    /// The time: after an answer an operation goes on at a later one.
    fn now(&mut self) -> Timestamp;

    /// Carries out a capability; none if it is not done yet, such as a delegation whose child task is at work.
    fn invoke(&mut self, invocation: &Invocation) -> Option<CallResult>;

    /// The verdict of a review; none if it is not decided yet.
    fn review(&mut self, reviewer: &str) -> Option<bool>;

    /// The content of a file of the mount; none if it cannot be read.
    fn read_mount(&mut self, path: &str) -> Option<String>;

    /// Writes a file of the mount; false if it cannot be written.
    fn write_mount(&mut self, path: &str, text: &str) -> bool;

    /// The bytes of a file of the mount; none if that cannot be said. Unless a host knows better, that of its text.
    fn measure_file(&mut self, path: &str) -> Option<u64> {
        self.read_mount(path).map(|text| text.len() as u64)
    }
}

impl Task {
    /// Answers whatever an operation asks until it is decided, or the host has no answer yet: then the decision is
    /// suspend, [`Task::request`] says what is missing, and [`Task::resume`] takes it.
    ///
    /// # Errors
    /// [`TaskError`] if the progress is not that of this task's pending operation.
    pub fn drive(&mut self, mut progress: Progress, host: &mut dyn Host) -> Result<Decision, TaskError> {
        loop {
            let request = match progress {
                Progress::Decided(decision) => return Ok(decision),
                Progress::Asks(request) => request,
            };
            let answer = match &request {
                Request::Invoke(invocation) => host.invoke(invocation).map(Answer::Result),
                Request::Review { reviewer } => host.review(reviewer).map(Answer::Review),
                Request::ReadMount { path } => {
                    Some(host.read_mount(path).map_or(Answer::Failed, Answer::Text))
                }
                Request::WriteMount { path, text } => {
                    Some(if host.write_mount(path, text) { Answer::Written } else { Answer::Failed })
                }
                Request::MeasureFile { path } => {
                    Some(host.measure_file(path).map_or(Answer::Failed, Answer::Size))
                }
            };
            let Some(answer) = answer else { return self.suspension().ok_or(TaskError::NothingPending) };
            progress = self.resume(answer, host.now())?;
        }
    }
}
