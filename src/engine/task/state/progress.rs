//! How far an operation came: to its decision, or to a question.

use super::decision::Decision;
use super::effect::Question;

/// How far an operation came.
///
/// ```
/// use celador::{Answer, Call, Engine, EngineLimits, Progress, StartTask, User, VerdictKind};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
///
/// // it is not tied to the task, which the host can store before it asks anybody
/// let call = Call::new("payout", serde_json::json!({"amount": 250}).into());
/// let progress = task.before(&call, now)?.into_progress();
/// let saved = task.save();
/// let Progress::Asks(question) = progress else { panic!("250 needs a review") };
///
/// let mut task = engine.restore(saved)?;
/// match task.answer(question.id, Answer::approve(), now)?.into_progress() {
///     Progress::Decided(decision) => assert_eq!(decision.verdict.kind(), VerdictKind::Allow),
///     Progress::Asks(question) => panic!("{:?}", question.request),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[expect(
    clippy::large_enum_variant,
    reason = "most operations are decided: a box would be one more allocation for each"
)]
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// To its end.
    Decided(Decision),
    /// To a question. Until it is answered no further call is let through and no model turn begins (RV-13).
    Asks(Question),
}

impl From<Decision> for Progress {
    fn from(decision: Decision) -> Self {
        Self::Decided(decision)
    }
}
