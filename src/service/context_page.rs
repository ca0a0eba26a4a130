//! The context of a task, as expressions see it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The part of a context that is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextQuery {
    /// The paths of its parts, with commas between: `input,capabilities.refund`; without it, all of the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<String>,
    /// The most entries of each list; without it, as many as `max_page_bytes` allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The `next` of the page before, as long as the task has taken no step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// The context of a task, as expressions see it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Context"))]
pub struct ContextPage {
    /// The number of the task's last event, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub version: u64,
    /// The context, or the part of it that was asked for. A value of which only the digest is kept, or nothing, is null.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub context: Box<RawValue>,
    /// The `cursor` of the next page; null if no list goes on.
    pub next: Option<String>,
    /// The values of which only the digest is kept.
    pub shortened: Vec<ShortenedValue>,
    /// The values of which nothing is kept, as no rule reads them (`--retain-calls needed`): JSON pointers into `context`, to the nulls in
    /// their places.
    pub dropped: Vec<String>,
}

/// A value of which only the digest is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShortenedValue {
    /// A JSON pointer into `context`, to the null in the value's place.
    pub pointer: String,
    /// The SHA-256 of its JSON text, compact and with its keys in their order: 64 hexadecimal digits.
    pub sha256: String,
    /// The bytes of that text.
    pub bytes: u64,
    /// Its kind before it was shortened: `map`, `list` or `string`.
    pub kind: String,
}
