//! A task to begin.

use celador::BroughtTool;
use celador::context::Runtime;
use celador::task::{Parent, User};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A task to begin.
///
/// ```
/// use celador_service::NewTask;
///
/// let new: NewTask = serde_json::from_str(r#"{"namespace": "shop", "agent": "clerk", "user": {"id": "u-7"}}"#)?;
/// assert_eq!((new.user.id.as_str(), new.id), ("u-7", None));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewTask {
    /// The id of the task, unique among the caller's: 1 to `max_id_bytes` bytes without control characters, and neither `.` nor `..`.
    /// Without one the server makes an id up. The same id with the same body answers with the task as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub id: Option<String>,
    /// The agent's namespace.
    pub namespace: String,
    /// The agent's name; without it the default agent of the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The person for whom it runs. `claims` only where callers need no token, or the operator allows it; else they come with `user_token`.
    pub user: User,
    /// A token (JWT) of that person, whose subject is the `id` of `user`: what it says is their claims. It is verified as callers' tokens are,
    /// and not kept. A task without it that has a parent has the claims of its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_token: Option<String>,
    /// The resolved model; without it the one that the agent wishes for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The platform that calls: `runtime` in expressions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// The tools that the task brings, each exactly as `tools/list` of MCP has it. The agent can call those that its manifests keep
    /// places for, under `brought` in a document of kind `celador/v1/tools`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<BroughtTool>,
    /// The task that has delegated to it. It is the caller's own and has not ended; when it does, this one ends with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// What the task is to be found by: texts under names of ASCII letters, digits, `_`, `-`, `.` and `/`. Expressions do not see it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}
