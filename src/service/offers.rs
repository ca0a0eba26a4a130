//! The functions that a model is offered, and which messages are judged besides.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The functions that the model is offered, and what else of a conversation is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Offers {
    /// The functions, in the order of the manifests.
    pub functions: Vec<OfferedFunction>,
    /// Which messages have steps that judge them, whatever the model calls.
    pub judged: JudgedMessages,
}

/// A function that the model is offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Offer"))]
pub struct OfferedFunction {
    /// The name that the model calls.
    pub name: String,
    /// The description of the function in the manifest; null if it has none.
    pub description: Option<String>,
    /// The JSON Schema of its arguments, without those that are bound.
    pub schema: Value,
    /// The JSON Schema of its successful results, if its tool declares one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Whether a call may destroy something, as far as the server of the tool can be believed: that of a tool that the task has
    /// brought is not. Only tools of documents of kind `celador/v1/tools` have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
}

/// Which messages have steps that judge them. A runtime that passes on what comes in parts may pass on at once what nothing judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Judged"))]
pub struct JudgedMessages {
    /// What is said to the agent: guardrails ahead of it.
    pub inputs: bool,
    /// What the agent says: guardrails behind it.
    pub outputs: bool,
    /// What is sent to the model.
    pub model_before: bool,
    /// What the model answers.
    pub model_after: bool,
}
