//! What an operation comes to, in one word, and how far an event came.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Whether a step may go on, and otherwise why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Verdict {
    /// Go on with [`Decision::value`](crate::task::Decision::value).
    Allow,
    /// Do not; the model gets the message as an error of the tool.
    Block,
    /// Do not, and never again: the task is locked (MW-31).
    LockTask,
    /// Wait: somebody has to answer first.
    Suspend,
    /// Wait: it reads what calls may change that are still open, or a review is open. It is decided by itself once they are reported or
    /// withdrawn, and reviews closed ([`Task::standing`](crate::task::Task::standing)).
    Wait,
    /// Do not: a reviewer gave the result, [`Decision::value`](crate::task::Decision::value), which the model receives in the tool's place.
    Respond,
    /// The task has ended: a limit (LIM-01) or an error that nothing can recover (LIFE-02).
    Terminate,
    /// Not now: the task is locked, terminated, or waits for an answer (MW-32, RV-13, LIM-14), or an operator has stopped
    /// its agent or user.
    Rejected,
    /// The input does not fit the agent's parameters (CTX-18, CTX-20), or what is sent to a model or came back is not of the shape that
    /// steps see.
    InvalidInput,
    /// The call could not be formed; the model gets the message (REC-07).
    Error,
    /// The event became an input of the task: [`Decision::value`](crate::task::Decision::value) (EVT-16).
    Route,
    /// The event is dropped, and nothing of it reaches the model (EVT-10).
    Discard,
}

/// The checks that an event has to pass, in this order (EVT-15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EventStage {
    /// The task's subscription to it.
    Inactive,
    /// The secret of the webhook.
    Signature,
    /// The schema of its payload.
    Payload,
    /// The filter of the tool.
    Filter,
    /// The steps of `before`.
    Before,
    /// The steps of `after`.
    After,
    /// A guardrail of a policy document that refuses one input.
    Guardrails,
}

impl EventStage {
    /// The word for wires and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inactive => "inactive",
            Self::Signature => "signature",
            Self::Payload => "payload",
            Self::Filter => "filter",
            Self::Before => "before",
            Self::After => "after",
            Self::Guardrails => "guardrails",
        }
    }
}

impl Verdict {
    /// The word for wires and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Block => "block",
            Self::LockTask => "lock_task",
            Self::Suspend => "suspend",
            Self::Wait => "wait",
            Self::Respond => "respond",
            Self::Terminate => "terminate",
            Self::Rejected => "rejected",
            Self::InvalidInput => "invalid_input",
            Self::Error => "error",
            Self::Route => "route",
            Self::Discard => "discard",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
