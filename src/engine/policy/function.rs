//! The functions of an agent: what the model or an invoke step calls, compiled.

use super::binding::Binding;
use super::expression::Expression;
use super::parameters::Parameters;
use super::result::OutputSchema;
use crate::cel::Json;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A function of an agent. Its position among the policy's functions is its id in the task context.
#[derive(Debug)]
pub struct AgentFunction {
    /// The name that the model calls and the key of its record (KEY-04).
    pub key: Arc<str>,
    /// The action's or agent's name, sanitised: what `match` selects (MW-22).
    pub name: String,
    /// The position of its capability in the policy; functions of unlisted tools have one without steps.
    pub capability: usize,
    /// Whether the model is offered it (AG-11).
    pub offered: bool,
    /// Its parameters.
    pub parameters: Parameters,
    /// The capability's bindings of its parameters.
    pub bindings: Vec<Arc<Binding>>,
    /// Its description in the manifest, for the model.
    pub description: Option<Arc<str>>,
    /// The JSON Schema of its parameters as the model sees it (BND-03).
    pub schema: serde_json::Value,
    /// The schema of its successful results, if its tool declares one.
    pub output: Option<OutputSchema>,
    /// Defaults of the settings of its tool (INT-23).
    pub setting_defaults: Arc<[(Arc<str>, Json)]>,
    /// How it is carried out.
    pub execute: Execute,
    /// The action or agent that the host carries out for it.
    pub target: InvocationTarget,
}

/// How a function is carried out.
#[derive(Debug)]
pub enum Execute {
    /// By evaluating this expression (TOOL-06).
    Cel(Expression),
    /// By the host.
    Host,
}

/// The action of a tool, or the agent, that a call carries out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Target"))]
pub enum InvocationTarget {
    /// An action of a tool.
    Action {
        /// The tool's namespace.
        namespace: Arc<str>,
        /// The tool's name.
        tool: Arc<str>,
        /// The action's name.
        action: Arc<str>,
    },
    /// A child task of another agent (DEL-02), for the same user (DEL-06).
    Agent {
        /// The agent's namespace.
        namespace: Arc<str>,
        /// The agent's name.
        agent: Arc<str>,
    },
}
