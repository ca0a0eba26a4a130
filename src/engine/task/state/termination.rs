//! Why a task was terminated: a kind for programs, a sentence for people.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a task was terminated, for programs and for people.
///
/// ```
/// use celador::task::{Termination, TerminationReason, TaskState};
/// use celador::{Call, Engine, EngineLimits, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
///
/// // the manifest allows five calls, and the model asks for a sixth
/// let call = Call::new("payout", serde_json::json!({"amount": 2_000}).into());
/// for _ in 0..6 {
///     assert!(!task.before(&call, now)?.outcome().is_allowed());
/// }
/// let TaskState::Terminated(Termination { reason, message }) = task.state() else { panic!("it is one too many") };
/// assert_eq!(reason, TerminationReason::LimitExceeded);
/// assert_eq!(message, "the task has ended at a limit: 6 of 5 tool calls (`max_tool_calls`)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Termination {
    /// The kind of reason, which is stable.
    pub reason: TerminationReason,
    /// A sentence: the limit with its numbers, the function that cannot work, or the words of whoever ended the task.
    pub message: String,
}

/// The kinds of reasons for which a task is terminated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum TerminationReason {
    /// A step would have exceeded a limit (LIM-01).
    LimitExceeded,
    /// A call ended in an error that nothing can recover (LIFE-02).
    UnrecoverableError,
    /// The host, an operator or a rule of retention has ended it.
    EndedByHost,
    /// The task that had delegated to it was locked or terminated.
    EndedWithParent,
}

impl TerminationReason {
    /// All kinds.
    const ALL: [Self; 4] =
        [Self::LimitExceeded, Self::UnrecoverableError, Self::EndedByHost, Self::EndedWithParent];

    /// The kind of a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The word for wires and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LimitExceeded => "limit_exceeded",
            Self::UnrecoverableError => "unrecoverable_error",
            Self::EndedByHost => "ended_by_host",
            Self::EndedWithParent => "ended_with_parent",
        }
    }
}

impl fmt::Display for TerminationReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
