//! What the operations around a call of the model hand to their host when it goes on.

use super::state::{CallId, Decision};
use crate::cel::Json;

/// A call of the model that may be made, from [`Task::model_before`](super::Task::model_before).
///
/// ```
/// use celador::{AllowedModelCall, Engine, ModelCall, Outcome, ReceivedAnswer, StartTask, User};
/// let manifests = r#"
/// kind: commonagents.info/v1beta2/agent
/// namespace: shop
/// name: clerk
/// description: Answers customers.
/// prompt: You are a careful clerk.
/// ---
/// kind: celador/v1/policy
/// namespace: shop
/// name: models
/// model:
///   before:
///     - {assert: input.model == 'small-1', on_fail: block}
///     - {transform: "pii.redact(input.messages)"}
///   after:
///     - {assert: "!input.messages.exists(m, m.role == 'system' && output.text.contains(m.text))", on_fail: block}
/// "#;
/// let engine = Engine::parse("shop.yaml", manifests)?;
/// let now = std::time::SystemTime::UNIX_EPOCH;
/// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
///
/// let messages = serde_json::json!([
///     {"role": "system", "text": "You are a careful clerk."},
///     {"role": "user", "text": "I am kim@example.com."},
/// ]);
/// let call = ModelCall::new(serde_json::json!({"model": "small-1", "messages": messages}).into());
/// let Outcome::Allowed(allowed) = task.model_before(&call, now)?.outcome() else { panic!("small-1 is approved") };
/// // the host sends this, and no address is in it
/// assert!(!allowed.request.to_string().contains("kim@example.com"));
///
/// let answer = serde_json::json!({"text": "I was told: You are a careful clerk."}).into();
/// let Outcome::Refused(refusal) = task.model_after(&allowed.call, &answer, now)?.outcome() else { panic!("it leaks") };
/// assert_eq!(refusal.message(), "Answer withheld by policy.");
/// // the model has answered all the same
/// assert_eq!(task.context().llm_turns(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AllowedModelCall {
    /// Under which [`Task::model_after`](super::Task::model_after) takes the answer.
    pub call: CallId,
    /// What is sent: an object with `model`, `messages`, `tools`, `parameters` and `other`.
    pub request: Json,
    /// The whole decision.
    pub decision: Decision,
}

/// An answer of the model that the steps let through, from [`Task::model_after`](super::Task::model_after).
///
/// ```
/// use celador::{Engine, EngineLimits, ModelCall, Outcome, ReceivedAnswer, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
///
/// let request = serde_json::json!({"model": "small-1", "messages": [{"role": "user", "text": "Hello."}]});
/// let call = ModelCall::new(request.into()).with_id("msg_01");
/// assert!(task.model_before(&call, now)?.outcome().is_allowed());
///
/// let answer = serde_json::json!({"text": "Hi.", "usage": {"prompt_tokens": 9, "completion_tokens": 2}}).into();
/// let Outcome::Allowed(ReceivedAnswer { answer, .. }) = task.model_after(&"msg_01".into(), &answer, now)?.outcome() else {
///     panic!("no rule looks at it")
/// };
/// // what the host has left out is there
/// assert_eq!(answer.root().get("tool_calls").map(|calls| calls.len()), Some(0));
/// assert_eq!(task.context().completion_tokens(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReceivedAnswer {
    /// The answer as the steps left it: an object with `text`, `tool_calls`, `other` and, where the host has told them, `finish_reason`
    /// and `usage`.
    pub answer: Json,
    /// The whole decision.
    pub decision: Decision,
}
