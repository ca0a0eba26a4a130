//! What would have come of an operation that nothing stops, as plain data: it stands in a decision beside what was done.

use super::limit_reached::LimitReached;
use super::observed::ObservedStep;
use super::trace::StepName;
use super::verdict::VerdictKind;
use crate::policy::Origin;
use serde::{Deserialize, Serialize};

/// The first thing that would have kept an operation from going on as it came, of an engine that observes
/// ([`Engine::open_observing`](crate::Engine::open_observing)): a step, a limit, a call that cannot be formed, an input that does not fit.
///
/// ```
/// use celador::{Call, Engine, StartTask, User, VerdictKind};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// let engine = Engine::open_observing(&["examples/first-policy"], celador::EngineLimits::default())?;
/// let now = std::time::SystemTime::UNIX_EPOCH;
/// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
///
/// // the lead would have been asked, and is not
/// let call = Call::new("payout", serde_json::json!({"amount": 250}).into());
/// let decision = task.before(&call, now)?.outcome().into_decision();
/// let enforced = decision.enforced.expect("a review is needed");
/// assert_eq!((decision.verdict.kind(), enforced.verdict), (VerdictKind::Allow, VerdictKind::Suspend));
/// assert_eq!(enforced.reviewer.as_deref(), Some("lead@example.com"));
/// assert_eq!(enforced.step.map(|step| step.to_string()).as_deref(), Some("before[1]"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Enforced {
    /// The verdict that it would have been.
    pub verdict: VerdictKind,
    /// The step that would have decided; nothing where a limit, a parameter or a schema would have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepName>,
    /// The text that would have been told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The text that views show in the place of the message, if a secret is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// Who would have been asked for a review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// The limit that would have stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitReached>,
    /// Where the step stands, with its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Origin>,
}

impl Enforced {
    /// A verdict with what is told.
    pub(in crate::task) fn new(verdict: VerdictKind, message: String) -> Self {
        Self {
            verdict,
            step: None,
            message: Some(message),
            shown: None,
            reviewer: None,
            limit: None,
            decided_by: None,
        }
    }

    /// What a step would have led to; nothing if the operation would have gone on behind it.
    pub(in crate::task) fn of_step(observed: &ObservedStep) -> Option<Self> {
        Some(Self {
            verdict: observed.verdict?,
            step: Some(observed.step),
            message: observed.message.clone(),
            shown: observed.shown.clone(),
            reviewer: observed.reviewer.clone(),
            limit: None,
            decided_by: Some(observed.origin.clone()),
        })
    }
}
