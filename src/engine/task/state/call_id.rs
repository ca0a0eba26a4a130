//! The id of a call, and the kinds of operations that have one.
//!
//! In: the id that the model gave a call, or a number. Out: a text that is unique in its task.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::Write as _;
use std::sync::Arc;

/// The kinds of operations that can wait.
///
/// ```
/// use celador::{Call, DecidedKind, Engine, EngineLimits, Json, Outcome, Answer, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// // while the lead looks at a payout, the user says something
/// let call = Call::new("payout", serde_json::json!({"amount": 250}).into());
/// let Outcome::Waits(review) = task.before(&call, now)?.outcome() else { panic!("250 needs a review") };
/// let Outcome::Queued(said) = task.input(&Json::string("Is it paid?"), now).outcome() else { panic!("a review is open") };
///
/// // the input is judged when the lead has answered, and the decision on the answer tells of it
/// let told = task.answer(review.question, Answer::deny(), now)?.outcome().into_decision();
/// let decided = &told.decided[0];
/// assert_eq!((decided.kind, &decided.call), (DecidedKind::Input, &said.call));
/// assert_eq!(decided.decision.text().as_deref(), Some("Is it paid?"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DecidedKind {
    /// A call by the model.
    #[default]
    Call,
    /// An input.
    Input,
    /// An event of a tool.
    Event,
    /// A response of the model.
    Output,
    /// A call of the model.
    Model,
}

impl DecidedKind {
    /// The word for wires and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Input => "input",
            Self::Event => "event",
            Self::Output => "output",
            Self::Model => "model",
        }
    }

    /// Whether it is a call.
    #[must_use]
    pub fn is_call(&self) -> bool {
        *self == Self::Call
    }
}

/// The id of a call: a text that is unique in its task. It is that of whoever makes the call ([`Call::id`](super::Call)), such as the
/// id that the model gave it; of a call that has none the task makes one up: `1`, `2`, and so on. An input,
/// an event or a response that waits gets one, too, such as `input-3`.
///
/// A clone shares the text. In JSON it is a text.
///
/// ```
/// use celador::{Call, CallId, CallResult, Engine, EngineLimits, Json, Outcome, StartTask, User};
/// use std::collections::BTreeMap;
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
///
/// // the model wants several calls at once; the host knows each by its id while it runs
/// let mut running: BTreeMap<CallId, i64> = BTreeMap::new();
/// for (id, amount) in [("toolu_1", 40), ("toolu_2", 60)] {
///     let call = Call::new("payout", serde_json::json!({"amount": amount}).into()).with_id(id);
///     let Outcome::Allowed(allowed) = task.before(&call, now)?.outcome() else { panic!("it is little") };
///     assert_eq!(allowed.call.as_str(), id);
///     running.insert(allowed.call, amount);
/// }
///
/// // they come back in any order, which is that of their records
/// for (id, amount) in running.into_iter().rev() {
///     let result = CallResult::successful(serde_json::json!({"paid": amount}).into());
///     assert!(task.after(&id, result, now)?.outcome().is_allowed());
/// }
/// let paid: Vec<_> = task.context().invocations().filter_map(|record| record.output.as_ref().map(Json::to_string)).collect();
/// assert_eq!(paid, [r#"{"paid":60}"#, r#"{"paid":40}"#]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct CallId(#[cfg_attr(feature = "schema", schemars(with = "String", length(min = 1)))] Arc<str>);

impl CallId {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id that a task makes up for its operation of this number, if it is no call: `input-3`.
    pub(in crate::task) fn of_kind(kind: DecidedKind, number: u64) -> Self {
        match kind {
            DecidedKind::Call => Self::numbered(number),
            kind => format!("{}-{number}", kind.as_str()).into(),
        }
    }

    /// The id that a task makes up for its call of this number.
    fn numbered(number: u64) -> Self {
        let mut digits = [0; 20];
        let mut text: &mut [u8] = &mut digits;
        // 20 digits hold every number
        let _ = write!(text, "{number}");
        let rest = text.len();
        let written = digits.split_at(digits.len().saturating_sub(rest)).0;
        Self(std::str::from_utf8(written).unwrap_or_default().into())
    }

    /// Whether a call may have this id: a text of at most so many bytes, with no control characters in it.
    pub(in crate::task) fn is_sound(&self, most: usize) -> bool {
        !self.0.is_empty() && self.0.len() <= most && !self.0.contains(char::is_control)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for CallId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for CallId {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}
