//! A call of a task that is played, and how far it came.
//!
//! In: the decisions about it. Out: whether a result of it can be taken, and otherwise why not.

use super::messages;
use crate::diagnostic::Diagnostic;
use crate::source::Place;
use crate::task::{Decision, QuestionId, Verdict, VerdictKind};

/// A call that was made.
#[derive(Clone, Debug)]
pub(super) struct KnownCall {
    /// How many calls were made before it.
    pub(super) number: usize,
    /// Its function.
    pub(super) function: String,
    /// How far it came.
    pub(super) stage: Stage,
}

/// How far a call came.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// Whether it may run waits for the answer to this question.
    Asks(QuestionId),
    /// Whether it may run waits for other calls.
    Queued,
    /// It was let through, and its result is awaited.
    Open,
    /// It was not let through, or it was withdrawn.
    Refused(VerdictKind),
    /// Its result is in; steps behind the call may still ask.
    Done,
    /// It was evaluated by its tool's own expression.
    Evaluated,
}

impl Stage {
    /// How far a call came with a decision about whether it may run.
    pub(super) fn after(decision: &Decision) -> Self {
        match (&decision.verdict, &decision.call) {
            (Verdict::Suspend { question, .. }, _) => Self::Asks(*question),
            (Verdict::Wait { .. }, _) => Self::Queued,
            (Verdict::Allow(_), Some(_)) => Self::Open,
            (Verdict::Allow(_), None) => Self::Evaluated,
            (verdict, _) => Self::Refused(verdict.kind()),
        }
    }

    /// Whether whether it may run is not decided yet.
    pub(super) const fn waits(self) -> bool {
        matches!(self, Self::Asks(_) | Self::Queued)
    }

    /// That a result of the call `name` can be taken; `place` is blamed if not.
    pub(super) fn check_result(self, place: &Place, name: &str) -> Result<(), Box<Diagnostic>> {
        let finding = match self {
            Self::Open => return Ok(()),
            Self::Asks(_) | Self::Queued => messages::result_while_waiting(place, name),
            Self::Refused(verdict) => messages::result_of_refused(place, name, verdict),
            Self::Done => messages::result_twice(place, name),
            Self::Evaluated => messages::result_of_evaluated(place, name),
        };
        Err(Box::new(finding))
    }
}
