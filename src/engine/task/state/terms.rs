//! What a host has to do for a call that is let through, as plain data: the terms under which it may run.

use crate::cel::Json;
use crate::context::MASK;
use crate::manifest::policy_step::PolicyStep;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The terms under which a call is let through, from the steps of policy documents that it has passed. Who carries the call out sees to
/// them first.
///
/// ```
/// use celador::{Call, Credential, Engine, Obligation, StartTask, Terms, User};
/// let manifests = r#"
/// kind: commonagents.info/v1beta2/tool
/// namespace: shop
/// name: refund
/// description: Pays money back.
/// actions:
///   - name: pay
///     description: Pays.
///     parameters: {properties: {amount: {type: number}}}
///     execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
/// ---
/// kind: commonagents.info/v1beta2/agent
/// namespace: shop
/// name: clerk
/// description: Answers customers.
/// prompt: You are a careful clerk.
/// capabilities:
///   refund: {include: [pay]}
/// ---
/// kind: celador/v1/policy
/// namespace: shop
/// name: money
/// capabilities:
///   "refund*":
///     before:
///       - {condition: input.amount > 100, delay: 30s}
///       - {obligations: [{id: tell-risk, values: {amount: input.amount}}]}
///       - {credential: {audience: "'https://pay.example.com'", scopes: ["'refund'"]}}
/// "#;
/// let engine = Engine::parse("shop.yaml", manifests)?;
/// let now = std::time::SystemTime::UNIX_EPOCH;
/// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
///
/// let call = Call::new("refund", serde_json::json!({"amount": 500}).into());
/// let decision = task.before(&call, now)?.outcome().into_decision();
/// let Terms { delay_ms, obligations, credentials, .. } = decision.verdict.terms().cloned().ok_or("each step has a say")?;
/// assert_eq!(delay_ms, Some(30_000));
/// let [Obligation { id, values, .. }] = &*obligations else { panic!("one is written") };
/// assert_eq!((&**id, values.to_string()), ("tell-risk", r#"{"amount":500}"#.to_owned()));
/// let [Credential { audience, scopes, .. }] = &*credentials else { panic!("one is written") };
/// assert_eq!((audience.as_str(), scopes.as_slice()), ("https://pay.example.com", &["refund".to_owned()][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Terms {
    /// How long to wait before the call is carried out, in milliseconds: the longest of what the steps ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// What else to do, in the order of the steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub obligations: Vec<Obligation>,
    /// The credentials to carry the call out with, each once, in the order of the steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<Credential>,
}

/// Something that the host does for a call beside carrying it out. Its meaning is a matter between the policy and the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Obligation {
    /// The name by which the host knows it.
    pub id: Arc<str>,
    /// What the step has computed for it: an object.
    #[cfg_attr(feature = "schema", schemars(extend("type" = "object")))]
    pub values: Json,
    /// The values that are made of secrets, by name. Views show `***` there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub secret: Vec<Arc<str>>,
    /// The name of the step that asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Arc<PolicyStep>>,
}

/// A credential that the host gets for a call. It names what the credential is for; the credential itself passes through no
/// decision, no log and no store, and no expression sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Credential {
    /// Whom it is for, such as the address of the service that the tool calls.
    pub audience: String,
    /// What it lets its bearer do, in the words of that service.
    pub scopes: Vec<String>,
    /// The name of the step that asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Arc<PolicyStep>>,
}

impl Terms {
    /// The same if there are any.
    pub(in crate::task) fn some(&self) -> Option<Box<Self>> {
        (*self != Self::default()).then(|| Box::new(self.clone()))
    }

    /// Whether a value of them is made of a secret.
    pub(in crate::task) fn has_secrets(&self) -> bool {
        self.obligations.iter().any(|obligation| !obligation.secret.is_empty())
    }

    /// Puts [`MASK`] in the place of each value that is made of a secret.
    pub(in crate::task) fn mask(&mut self) {
        for Obligation { values, secret, .. } in &mut self.obligations {
            let is_secret = |name: &str| secret.iter().any(|secret| **secret == *name);
            let shown = values.root().entries().map(|(name, value)| {
                (name, if is_secret(name) { Json::string(MASK) } else { value.to_json() })
            });
            *values = Json::object(shown.collect::<Vec<_>>());
        }
    }

    /// The same with these values masked.
    pub(in crate::task) fn masked(mut terms: Box<Self>) -> Box<Self> {
        terms.mask();
        terms
    }

    /// Whether there are none.
    pub(in crate::task) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
