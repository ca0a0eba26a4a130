//! A task that has begun, or has brought tools.

use celador::LeftOut;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A task that was created, now or by the same request before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Created"))]
pub struct BegunTask {
    /// Its id: the caller's, or one that the server has made up.
    pub task: String,
    /// The number of its last event: 1 when it has just begun.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub version: u64,
    /// The tools of the task that cannot be called, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Warnings about the rules of the agent, now that the tools are known. No rule is lost by them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<celador::Diagnostic>"))]
    pub findings: Vec<Value>,
}
