//! What has happened to a task.

use celador::task::{ReviewAnswered, ReviewState};
use celador_store::OperationKind;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Events of a task, in their order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventPage {
    /// The events.
    pub events: Vec<TaskEvent>,
    /// The value of `after` for the next page; null at the end.
    pub next: Option<u64>,
}

/// An event of a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskEvent {
    /// Its number, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub version: u64,
    /// The time when it happened: RFC 3339.
    pub at: String,
    /// The operation that it tells of.
    pub operation: OperationKind,
    /// The decision of the operation, with its secrets masked; null of an event without one, such as the beginning of the task.
    #[cfg_attr(feature = "schema", schemars(with = "Option<celador::task::Decision>"))]
    pub decision: Option<Box<RawValue>>,
    /// The reviews that it has closed, with who answered; absent if it has closed no review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ClosedReview>,
}

/// A review that an event has closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClosedReview {
    /// The review's id.
    pub review: String,
    /// How it was closed.
    pub state: ReviewState,
    /// The answer; null of a review that nobody answered.
    pub answered: Option<ReviewAnswered>,
}
