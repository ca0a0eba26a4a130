//! Calls that wait for other calls, and what those came to that have waited.

use super::decision::{CallId, DecidedCall};
use super::start::Call;
use super::under_way::{Extent, UnderWay};
use serde::{Deserialize, Serialize};

/// A call that waits: its decision reads what a call that is still open may change, or a review is open.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct QueuedCall {
    pub(in crate::task) id: CallId,
    /// The call as the model made it, without its id.
    pub(in crate::task) call: Call,
    pub(in crate::task) extent: Extent,
    /// When it began to wait for calls, in nanoseconds since 1970; nothing of one that waits for reviews, or that an earlier release stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) since: Option<i128>,
    /// How far its steps came: then it waits for the end of reviews, and nothing else stands in its way. Nothing of one that
    /// waits for calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) held: Option<Box<UnderWay>>,
}

/// The calls of a task that wait for each other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::task) struct Queue {
    /// Those that wait, in the order in which they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) waiting: Vec<QueuedCall>,
    /// Those that have waited or asked, until the model has its next turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) settled: Vec<DecidedCall>,
    /// How many of these, from the end, no operation has told of.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(in crate::task) untold: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Queue {
    /// Keeps the decision of a call, of which the operation under way is to tell.
    pub(in crate::task) fn settle(&mut self, decided: DecidedCall) {
        self.forget(&decided.call);
        self.settled.push(decided);
        self.untold = self.untold.saturating_add(1);
    }

    /// The same of a call whose decision is what the operation under way comes to.
    pub(in crate::task) fn settle_told(&mut self, decided: DecidedCall) {
        self.forget(&decided.call);
        self.settled.insert(self.told(), decided);
    }

    /// Forgets what a call came to.
    pub(in crate::task) fn forget(&mut self, call: &CallId) {
        if let Some(at) = self.settled.iter().position(|settled| settled.call == *call) {
            if at >= self.told() {
                self.untold = self.untold.saturating_sub(1);
            }
            self.settled.remove(at);
        }
    }

    /// Forgets what all calls came to.
    pub(in crate::task) fn forget_all(&mut self) {
        self.settled.clear();
        self.untold = 0;
    }

    /// What no operation has told of.
    pub(in crate::task) fn tell(&mut self) -> Vec<DecidedCall> {
        let untold = self.settled.iter().skip(self.told()).cloned().collect();
        self.untold = 0;
        untold
    }

    fn told(&self) -> usize {
        self.settled.len().saturating_sub(self.untold)
    }

    /// Whether calls are held until reviews are closed.
    pub(in crate::task) fn holds(&self) -> bool {
        self.waiting.iter().any(|queued| queued.held.is_some())
    }

    /// Whether there is no word of any call.
    pub(in crate::task) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.settled.is_empty()
    }
}
