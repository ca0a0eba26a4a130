//! What a host is that answers at once.
//!
//! In: a request of an operation. Out: its answer, or nothing: a review or a capability that takes its time. Hosts that wait
//! for IO answer with an async closure, or effect by effect ([`BegunOperation`](super::BegunOperation)).

use super::state::{Answer, CallResult, Invocation, Request};
use crate::cel::Timestamp;
use crate::counter::CounterBook;

/// Answers the requests of operations: carries out capabilities, gets reviews, reads and writes the mount.
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

    /// The counters across tasks that it keeps; of a host without counters a call that needs one is refused. It gives the same book
    /// each time, and nobody else changes it while an operation is driven.
    fn counters(&mut self) -> Option<&mut CounterBook> {
        None
    }

    /// The bytes of a file of the mount; none if that cannot be said. Unless a host knows better, that of its text.
    fn measure_file(&mut self, path: &str) -> Option<u64> {
        self.read_mount(path).map(|text| text.len() as u64)
    }
}

/// The answer of a host to a request; nothing if it has none yet.
pub(super) fn answer(host: &mut dyn Host, request: &Request) -> Option<Answer> {
    match request {
        Request::Invoke(invocation) => host.invoke(invocation).map(Answer::Result),
        // several people answer each for themselves, through `Task::answer`
        Request::Review { panel: Some(_), .. } => None,
        Request::Review { reviewer, panel: None } => {
            host.review(reviewer).map(|approved| Answer::Review(approved.into()))
        }
        Request::ReadMount { path } => Some(host.read_mount(path).map_or(Answer::Failed, Answer::Text)),
        Request::WriteMount { path, text } => {
            Some(if host.write_mount(path, text) { Answer::Written } else { Answer::Failed })
        }
        Request::Counters { counters } => Some(host.counters().map_or(Answer::Failed, |book| {
            Answer::Counters(counters.iter().map(|counter| book.read(counter)).collect())
        })),
        Request::MeasureFile { path } => Some(host.measure_file(path).map_or(Answer::Failed, Answer::Size)),
    }
}
