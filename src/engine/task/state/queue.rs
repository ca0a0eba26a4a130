//! Calls that wait for other calls, and what those came to that have waited.

use super::decision::{CallId, DecidedCall};
use super::start::Call;
use super::under_way::Extent;
use serde::{Deserialize, Serialize};

/// A call whose decision reads what a call that is still open may change. Nothing of it has been evaluated.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct QueuedCall {
    pub(in crate::task) id: CallId,
    /// The call as the model made it, without its id.
    pub(in crate::task) call: Call,
    pub(in crate::task) extent: Extent,
}

/// The calls of a task that wait for each other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::task) struct Queue {
    /// Those that wait, in the order in which they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) waiting: Vec<QueuedCall>,
    /// Those that have waited, until the model has its next turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) settled: Vec<DecidedCall>,
}

impl Queue {
    /// Whether there is no word of any call.
    pub(in crate::task) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.settled.is_empty()
    }
}
