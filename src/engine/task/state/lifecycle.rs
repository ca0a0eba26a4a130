//! Whether a task takes steps: active, waiting for a review, or at one of its two ends.

use super::pending::Pending;
use super::termination::Termination;
use serde::{Deserialize, Serialize};

/// Whether a task takes steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TaskState {
    /// It takes steps. An idle task is active (LIFE-01).
    Active,
    /// It takes no step before somebody has decided a review (RV-01).
    Suspended,
    /// It takes no step again, because a step said `lock_task` (LIFE-04), unless an operator unlocks it.
    Locked {
        /// The rendered message of that step (MW-38).
        reason: String,
    },
    /// It takes no step again, because of a limit, an unrecoverable error or its host (LIM-01, LIFE-02).
    Terminated(Termination),
}

/// An end, with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::task) enum End {
    Locked(String),
    Terminated(Termination),
}

impl End {
    /// The reason for programs, and the sentence: of a lock both are the rendered message.
    pub(in crate::task) fn said(&self) -> (&str, &str) {
        match self {
            Self::Locked(reason) => (reason, reason),
            Self::Terminated(Termination { reason, message }) => (reason.as_str(), message),
        }
    }
}

impl TaskState {
    /// The word of a task that takes steps.
    pub const ACTIVE: &'static str = "active";

    /// The word of a task that was terminated.
    pub const TERMINATED: &'static str = "terminated";

    /// The words of all states.
    pub const WORDS: [&'static str; 4] = [Self::ACTIVE, "suspended", "locked", Self::TERMINATED];

    /// Of a task with this end in which these wait.
    pub(in crate::task) fn of(end: Option<&End>, waiting: &[Pending]) -> Self {
        match end {
            Some(End::Locked(reason)) => Self::Locked { reason: reason.clone() },
            Some(End::Terminated(termination)) => Self::Terminated(termination.clone()),
            None if waiting.iter().any(Pending::is_in_review) => Self::Suspended,
            None => Self::Active,
        }
    }

    /// The word for wires and logs.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Active => Self::ACTIVE,
            Self::Suspended => "suspended",
            Self::Locked { .. } => "locked",
            Self::Terminated(_) => Self::TERMINATED,
        }
    }
}
