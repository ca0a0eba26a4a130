//! A task as it stands, and the policy that it is under.

use celador::task::{Parent, Request, TaskState};
use celador_store::PolicyDecided;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A task as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TaskState"))]
pub struct TaskStanding {
    /// Its id.
    pub task: String,
    /// The number of its last event, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub version: u64,
    /// The agent's namespace.
    pub namespace: String,
    /// The agent's name.
    pub agent: String,
    /// The identifier of the user for whom it runs.
    pub user: String,
    /// The task that has delegated to it; null if none has.
    pub parent: Option<Parent>,
    /// Its metadata.
    pub metadata: BTreeMap<String, String>,
    /// Whether it takes steps, and otherwise why not.
    #[serde(flatten)]
    pub state: TaskState,
    /// The question that it waits for, with its secrets masked; null if it asks nothing.
    pub asks: Option<Request>,
    /// Whether it was interrupted and has taken no step since.
    pub interrupted: bool,
    /// The values of earlier calls that its policy reads and that it has not kept, because it was under another one: a step that reads one of
    /// them fails.
    pub lacking: Vec<LackingValue>,
    /// The policy that it is under.
    pub policy: PolicyStanding,
}

/// A value of earlier calls that a task has not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LackingValue {
    /// The function.
    pub function: String,
    /// `input`, the arguments of the calls, or `output`, their results.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["input", "output"])))]
    pub value: String,
    /// The number of calls.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub calls: u32,
}

/// The policy that a task is under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TaskPolicy"))]
pub struct PolicyStanding {
    /// Its fingerprint, under the name that it has in the decision log: 64 hexadecimal digits, the same for manifests that differ
    /// in comments, layout or texts for people alone.
    pub manifest: String,
    /// The digest of the manifests that it was made of, as `/v1/manifests` has it; null if they are not known.
    pub manifests: Option<String>,
    /// Whether it is the one that is served now.
    pub current: bool,
    /// The reason why the task takes no step until an operator decides; null if it takes steps.
    pub held: Option<Hold>,
    /// The last decision of an operator about the policy of the task; null if there was none.
    pub decided: Option<PolicyDecided>,
}

/// The reason why a task takes no step, and the ways to deal with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hold {
    /// The reason, in words.
    pub reason: String,
    /// The ways in which an operator can deal with it.
    pub can: Vec<WayOut>,
}

/// A way to deal with a task that takes no step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum WayOut {
    /// The decision `adopt` about its policy.
    Adopt,
    /// The decision `keep` about its policy.
    Keep,
    /// Ending it.
    End,
    /// Purging it.
    Purge,
}
