//! Whether a task takes steps: active, waiting for a review, or at one of its two ends.

use super::under_way::Pending;
use serde::{Deserialize, Serialize};

/// Whether a task takes steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "reason")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TaskState {
    /// It takes steps. An idle task is active (LIFE-01).
    Active,
    /// It takes no step before somebody has decided a review (RV-01).
    Suspended,
    /// It takes no step again, because a step said `lock_task` (LIFE-04).
    Locked(String),
    /// It takes no step again, because of a limit or an unrecoverable error (LIM-01, LIFE-02).
    Terminated(String),
}

/// An end, with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::task) enum End {
    Locked(String),
    Terminated(String),
}

impl TaskState {
    /// The words of all states.
    pub const WORDS: [&'static str; 4] = ["active", "suspended", "locked", "terminated"];

    /// Of a task with this end in which these wait.
    pub(in crate::task) fn of(end: Option<&End>, waiting: &[Pending]) -> Self {
        match end {
            Some(End::Locked(reason)) => Self::Locked(reason.clone()),
            Some(End::Terminated(reason)) => Self::Terminated(reason.clone()),
            None if waiting.iter().any(Pending::is_in_review) => Self::Suspended,
            None => Self::Active,
        }
    }

    /// The word for wires and logs.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Locked(_) => "locked",
            Self::Terminated(_) => "terminated",
        }
    }
}
