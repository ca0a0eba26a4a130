//! How much of its calls a task keeps.
//!
//! It is the host that says so, once, when it begins a task: whoever runs tasks pays for their memory and answers for the data in it, and the same
//! manifests decide alike either way. In a policy document it would let the author of one policy take away what the rules of another, or
//! whoever looks into a task, want to see.

use serde::{Deserialize, Serialize};

/// How much of each call on record a task keeps.
///
/// ```
/// use celador::{Call, CallResult, Engine, EngineLimits, Outcome, Retain, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: Some("kim@example.com".into()), ..User::default() };
///
/// let start = StartTask { retain: Retain::Needed, ..StartTask::new("t-1", "shop", "clerk", user, now) };
/// let mut task = engine.start(start)?;
/// let call = Call::new("payout", serde_json::json!({"amount": 40}).into());
/// let Outcome::Allowed(allowed) = task.before(&call, now)?.outcome() else { panic!("40 is little") };
///
/// // the host and the steps behind the call have the whole result
/// let result = CallResult::successful(serde_json::json!({"paid": true}).into());
/// let Outcome::Allowed(seen) = task.after(&allowed.call, result, now)?.outcome() else { panic!("no rule hides it") };
/// assert_eq!(seen.value.to_string(), r#"{"paid":true}"#);
///
/// // no rule of this agent reads it later, so it is not there any more
/// let record = task.context().invocations().next().ok_or("it is on record")?;
/// assert!(record.output.is_some_and(|output| output.is_dropped()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Retain {
    /// Everything, within the bounds of its size.
    #[default]
    All,
    /// Of arguments and results those that anything of the policy reads once the call is on record ([`Policy::values_read`]). That it was made,
    /// when, and how it ended is kept of every call. Of the others the task has one digest
    /// ([`TaskContext::dropped`](crate::context::TaskContext::dropped)); to read one of them is `value_shortened`, so that the step fails.
    /// The arguments that filters of events ask for are kept where there is such a filter; under one that comes later, events about the calls of
    /// before are dropped.
    ///
    /// [`Policy::values_read`]: crate::policy::Policy::values_read
    Needed,
}

impl Retain {
    /// Whether it is [`Retain::All`].
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::All
    }
}
