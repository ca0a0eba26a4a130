//! Expressions that are tried out on a task.

use celador::cel::Json;
use celador::source::Span;
use celador::task::Request;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An expression with the values that it is to be tried out on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TaskExpression {
    /// The scope, by its word, such as `before`.
    pub scope: String,
    /// The expression.
    pub expression: String,
    /// The value of `input`; of guardrails and `exposes` the entry under test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// The value of `output`; of guardrails and `exposes` the entry under test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
}

/// The outcome of an expression that was tried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Outcome"))]
pub enum ExpressionOutcome {
    /// Its value.
    Value(Json),
    /// The reason why it has no value.
    Failed(FailedExpression),
    /// The question that it asks before it has a value.
    Asks(Request),
}

/// The reason why an expression has no value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Failed"))]
pub struct FailedExpression {
    /// A stable word for programs.
    pub code: String,
    /// The fault, on one line.
    pub message: String,
    /// Its place in the expression.
    #[serde(flatten)]
    pub span: Span,
}

/// The facts about an expression that are known before it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Checked"))]
pub struct CheckedExpression {
    /// Whether it compiles.
    pub valid: bool,
    /// The type of its result, if it compiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<String>,
    /// The bounds of its cost, if it compiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostBounds>,
    /// Its errors and warnings.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<celador::cel::Issue>"))]
    pub findings: Vec<Value>,
}

/// The bounds of the cost of an expression, in cost units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Cost"))]
pub struct CostBounds {
    /// The least cost.
    pub min: u64,
    /// The greatest cost; null if nothing bounds it.
    pub max: Option<u64>,
}

/// What is to be explained of a task: a decision of the past, or a call that is only tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explain {
    /// The number of the event whose decision is explained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub version: Option<u64>,
    /// The function of a call that is tried on the task as it is now; in the place of `version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The arguments of that call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Json>,
}
