//! What is left of a task that was purged.

use serde::{Deserialize, Serialize};

/// The facts that stay of a purged task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Tombstone"))]
pub struct PurgedTask {
    /// The task's id, which is never used again.
    pub task: String,
    /// The namespace of its agent.
    pub namespace: String,
    /// The name of its agent.
    pub agent: String,
    /// The state that it was in when it was purged.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = celador::task::TaskState::WORDS)))]
    pub state: String,
    /// The time when it began: RFC 3339.
    pub started_at: String,
    /// The time of its last event: RFC 3339.
    pub changed_at: String,
    /// The number of events that it had.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub events: u64,
    /// The time when it was purged: RFC 3339.
    pub purged_at: String,
    /// The identity of the caller who purged it; empty where callers do not have to authenticate.
    pub purged_by: String,
    /// The reason, in their words.
    pub reason: String,
}
