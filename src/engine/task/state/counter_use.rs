//! What a decision tells of the counters that it has read.

use crate::counter::{CounterId, Decimal, observed_book};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A counter that a decision has read, or that a call of the model was counted on.
///
/// ```
/// use celador::counter::CounterBook;
/// use celador::{Call, CallResult, Engine, Host, Invocation, StartTask, Timestamp, User};
/// let manifests = r#"
/// kind: commonagents.info/v1beta2/tool
/// namespace: shop
/// name: payments
/// description: Moves money.
/// actions:
///   - name: refund
///     description: Pays money back.
///     parameters: {properties: {amount: {type: number}}}
///     execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
/// ---
/// kind: commonagents.info/v1beta2/agent
/// namespace: shop
/// name: clerk
/// description: Answers customers.
/// prompt: You are a careful clerk.
/// capabilities:
///   payments: {include: [refund]}
/// ---
/// kind: celador/v1/policy
/// namespace: shop
/// name: money
/// counters:
///   spend: {on: payments, key: context.user.id, window: 24h, add: input.amount}
/// capabilities:
///   payments:
///     before:
///       - assert: counters.spend + input.amount <= 100
/// "#;
/// struct Desk(CounterBook, Timestamp);
/// impl Host for Desk {
///     fn now(&mut self) -> Timestamp { self.1 }
///     fn invoke(&mut self, _: &Invocation) -> Option<CallResult> { None }
///     fn review(&mut self, _: &str) -> Option<bool> { None }
///     fn read_mount(&mut self, _: &str) -> Option<String> { None }
///     fn write_mount(&mut self, _: &str, _: &str) -> bool { false }
///     fn counters(&mut self) -> Option<&mut CounterBook> { Some(&mut self.0) }
/// }
/// let engine = Engine::parse("shop.yaml", manifests)?;
/// let now = "2026-06-01T12:00:00Z".parse()?;
/// let mut desk = Desk(CounterBook::default(), now);
/// let user = User { id: "u-7".into(), email: None, ..User::default() };
///
/// // two tasks of one user: 70 and 40 are more than 100
/// let mut verdicts = Vec::new();
/// for (id, amount) in [("t-1", 70), ("t-2", 40)] {
///     let mut task = engine.start(StartTask::new(id, "shop", "clerk", user.clone(), now))?;
///     let call = Call::new("payments", serde_json::json!({"amount": amount}).into());
///     let decision = task.before(&call, now)?.drive(&mut desk)?.into_decision();
///     let read = &decision.counters[0];
///     verdicts.push((decision.verdict.kind().as_str(), read.counted.map(|counted| counted.to_int())));
/// }
/// assert_eq!(verdicts, [("allow", Some(0)), ("block", Some(70))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterUse {
    /// The policy that declares it: namespace and name.
    pub policy: Arc<str>,
    /// Its name there.
    pub name: Arc<str>,
    /// The amount that counted when it was read, without that of the call: a decimal as text. Absent where amounts may be secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub counted: Option<Decimal>,
    /// The amount that the call adds, which it holds as long as the verdict is no refusal: a decimal as text. Absent of a counter that it
    /// only reads, and where amounts may be secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub adds: Option<Decimal>,
    /// Whether the policy is only tried out: the counter has a book of its own, which only observed steps read. Absent if it is not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
}

impl CounterUse {
    /// Whether it is of this counter, whatever its key.
    #[must_use]
    pub fn is_of(&self, counter: &CounterId) -> bool {
        let is_of_book = if self.observed {
            *counter.policy() == observed_book(&self.policy)
        } else {
            counter.policy() == &*self.policy
        };
        is_of_book && counter.name() == &*self.name
    }
}
