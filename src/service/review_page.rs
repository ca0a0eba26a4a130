//! Reviews that a caller sees, and one that is answered.

use celador::task::{ReviewRecord, VerdictKind};
use serde::{Deserialize, Serialize};

/// Which reviews are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewsQuery {
    /// The name, e-mail address or group that is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// The state of the reviews, or `all`; `open` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The agent, by its name or as `namespace/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// Reviews that the caller sees, in the order in which they were asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewPage {
    /// The reviews.
    pub reviews: Vec<ReviewRecord>,
    /// The value of `after` for the next page; null at the end.
    pub next: Option<u64>,
}

/// A review with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewedReview {
    /// The review.
    pub review: ReviewRecord,
    /// What became of the operation that asked.
    pub decision: Option<VerdictKind>,
    /// Whether the same person had given this answer before: it counts once. Absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

/// Somebody who answers reviews, as a program knows them that has the tasks in its process. It vouches for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// Their id, by which policies may address them.
    pub id: String,
    /// Their e-mail address.
    pub email: Option<String>,
    /// The groups that they are in.
    pub groups: Vec<String>,
}
