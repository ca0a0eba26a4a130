//! What an observed step would have done, as plain data: it stands in a decision beside what was done.

use super::trace::{Finding, StepKind, StepName, StepOutcome};
use super::verdict::VerdictKind;
use crate::context::LabelSet;
use crate::policy::Origin;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A step of a policy document under `mode: observe`, or any step of an engine that observes, that was evaluated. Nothing of the
/// decision follows from it.
///
/// ```
/// use celador::{Call, Engine, StartTask, User, VerdictKind};
/// # let manifests = r#"
/// # kind: commonagents.info/v1beta2/tool
/// # namespace: shop
/// # name: refund
/// # description: Pays money back.
/// # actions:
/// #   - name: pay
/// #     description: Pays.
/// #     parameters: {properties: {amount: {type: number}}}
/// #     execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
/// # ---
/// # kind: commonagents.info/v1beta2/agent
/// # namespace: shop
/// # name: clerk
/// # description: Answers customers.
/// # prompt: You are a careful clerk.
/// # capabilities:
/// #   refund: {include: [pay]}
/// # ---
/// # kind: celador/v1/policy
/// # namespace: shop
/// # name: money
/// # mode: observe
/// # capabilities:
/// #   "refund*":
/// #     before:
/// #       - {id: cap, assert: input.amount <= 100}
/// # "#;
/// # let engine = Engine::parse("shop.yaml", manifests)?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// // shop/money has `mode: observe`, and its step `cap` asserts `input.amount <= 100`
/// let call = Call::new("refund", serde_json::json!({"amount": 500}).into());
/// let decision = task.before(&call, now)?.outcome().into_decision();
/// assert_eq!(decision.verdict.kind(), VerdictKind::Allow);
/// let [observed] = &*decision.observed else { panic!("one step is observed") };
/// assert_eq!(observed.called(), "before[0] of shop/money#cap");
/// assert_eq!(observed.verdict, Some(VerdictKind::Block));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObservedStep {
    /// The list and the position of the step under its key, such as `before[0]`.
    pub step: StepName,
    /// The kind of step.
    pub action: StepKind,
    /// The end that it would have come to: `suspend` where somebody would have been asked, or a capability carried out.
    pub outcome: StepOutcome,
    /// The verdict that it would have led to; nothing if the operation would have gone on, or if that is not known without an
    /// answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictKind>,
    /// Who would have been asked for a review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// The text that would have been told when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The text that views show in the place of the message, if a secret is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// The arguments that it would have given other values to, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub set: Vec<Arc<str>>,
    /// The labels that it would have given or taken away; observed steps behind it see them so.
    #[serde(default, skip_serializing_if = "LabelSet::is_empty")]
    pub labels: LabelSet,
    /// Why it failed, where an error is why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Where it stands, with its name.
    pub origin: Origin,
}

impl ObservedStep {
    /// What the step is called: `before[0] of shop/money#cap`.
    #[must_use]
    pub fn called(&self) -> String {
        match &self.origin.policy {
            Some(policy) => format!("{} of {policy}", self.step),
            None => self.step.to_string(),
        }
    }

    /// Whether something else would have come of the operation: it judges and has passed otherwise.
    #[must_use]
    pub fn would_change(&self) -> bool {
        self.outcome != StepOutcome::Pass || self.action != StepKind::Assert
    }
}
