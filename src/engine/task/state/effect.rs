//! What an operation asks of its host, and what the host answers.
//!
//! The engine does no IO. An operation that needs something from outside ends in [`Progress::Asks`](crate::task::Progress::Asks); the host does it
//! and hands the [`Answer`] to [`Task::resume`](super::Task::resume). Requests and answers are plain data.

use super::review_answer::ReviewAnswer;
use super::terms::Terms;
use crate::cel::Json;
use crate::context::{Caller, LabelSet};
use crate::counter::{CounterId, CounterState};
use crate::policy::{InvocationTarget, ReviewPanel};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;

/// Names a question of a task, for [`Task::answer`](super::Task::answer). Unique in its task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct QuestionId(pub u32);

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A request of one operation. Several operations of a task may ask at once, each its own question.
///
/// ```
/// use celador::{Answer, Call, CallResult, Engine, EngineLimits, Outcome, Question, QuestionId, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: Some("kim@example.com".into()), ..User::default() };
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
/// let pay = |amount| Call::new("payout", serde_json::json!({"amount": amount}).into());
///
/// let Outcome::Allowed(small) = task.before(&pay(40), now)?.outcome() else { panic!("40 is little") };
/// let Outcome::Waits(large) = task.before(&pay(250), now)?.outcome() else { panic!("250 needs a review") };
/// let questions: Vec<Question> = task.questions().collect();
/// let asked: QuestionId = large.question;
/// assert_eq!((questions.len(), questions[0].id), (1, asked));
///
/// // the first call is reported while the lead thinks, and then the lead answers this question
/// let result = CallResult::successful(serde_json::json!({"paid": true}).into());
/// assert!(task.after(&small.call, result, now)?.outcome().is_allowed());
/// assert!(task.answer(asked, Answer::approve(), now)?.outcome().is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its name.
    pub id: QuestionId,
    /// What is asked.
    pub request: Request,
}

/// A request of an operation to its host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Question"))]
pub enum Request {
    /// Carry out a capability; answer with [`Answer::Result`].
    Invoke(Invocation),
    /// Ask this person; answer with [`Answer::Review`] (RV-01). It may take days.
    ///
    /// [`Task::save`](super::Task::save) keeps the task meanwhile.
    Review {
        /// A user's id or e-mail address, not empty (RV-06, RV-09); of several people what `panel` says, in a text.
        reviewer: String,
        /// The people, where a policy asks several. Each answers for themselves, until enough have approved or one has denied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        panel: Option<ReviewPanel>,
    },
    /// Read a file; answer with [`Answer::Text`] (MNT-05), or [`Answer::Failed`] if there is none (MNT-11).
    ReadMount {
        /// The path below the mount's prefix, free of traversal (MNT-08).
        path: String,
    },
    /// Write a file; answer with [`Answer::Written`] (MNT-06).
    WriteMount {
        /// The path below the mount's prefix, free of traversal (MNT-08).
        path: String,
        /// The whole new content.
        text: String,
    },
    /// Read counters across tasks; answer with [`Answer::Counters`], or [`Answer::Failed`] if they cannot be read: the call is then
    /// refused. What the call reserves is in [`Task::take_counter_changes`](super::Task::take_counter_changes).
    #[cfg_attr(feature = "schema", schemars(skip))]
    Counters {
        /// The counters, each once.
        counters: Vec<CounterId>,
    },
    /// Say how large a file is that a script refers to; answer with [`Answer::Size`] (SCR-07), or [`Answer::Failed`] if
    /// that cannot be said.
    MeasureFile {
        /// The path below the mount's prefix, free of traversal (SCR-08).
        path: String,
    },
}

/// A capability to be carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Invocation {
    /// The function's key: the name that the model knows, the key of its record.
    pub function: String,
    /// Who wants it.
    pub caller: Caller,
    /// The action or agent to carry out.
    pub target: InvocationTarget,
    /// The resolved arguments: an object.
    #[cfg_attr(feature = "schema", schemars(extend("type" = "object")))]
    pub arguments: Json,
    /// What to do for it, where a policy asks for something: wait, get credentials, and what else they agree on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Box<Terms>>,
}

/// The answer of a host to the question of an operation.
///
/// Its variants name the [`Request`] that they answer.
///
/// ```
/// use celador::{Answer, Call, Engine, EngineLimits, Outcome, Request, SavedTask, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: Some("kim@example.com".into()), ..User::default() };
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
///
/// let call = Call::new("payout", serde_json::json!({"amount": 250}).into());
/// let Outcome::Waits(waiting) = task.before(&call, now)?.outcome() else { panic!("250 needs a review") };
/// assert_eq!(waiting.request, Request::Review { reviewer: "lead@example.com".into(), panel: None });
///
/// // days later, in any process: the task is restored and the lead has answered
/// let text = serde_json::to_string(&task.save())?;
/// let saved: SavedTask = serde_json::from_str(&text)?;
/// let mut task = engine.restore(saved)?;
/// let Outcome::Allowed(decision) = task.resume(Answer::approve(), now)?.outcome() else { panic!("it is approved") };
/// assert!(decision.call.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Answer {
    /// To [`Request::Invoke`].
    Result(CallResult),
    /// To [`Request::Review`]: what the person wants, such as that it is approved (RV-02, RV-03).
    Review(ReviewAnswer),
    /// To [`Request::ReadMount`]: the file.
    Text(String),
    /// To [`Request::WriteMount`]: it is written.
    Written,
    /// To [`Request::MeasureFile`]: its bytes.
    Size(u64),
    /// To [`Request::Counters`]: their states, in the order of the question.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Counters(Vec<CounterState>),
    /// To [`Request::ReadMount`], [`Request::WriteMount`] and [`Request::Counters`]: it could not be done; the step fails. To
    /// [`Request::MeasureFile`]: nobody knows; the reference then says no size.
    Failed,
}

impl Answer {
    /// To [`Request::Review`]: approved, by somebody of whom the host says nothing.
    #[must_use]
    pub fn approve() -> Self {
        Self::Review(true.into())
    }

    /// The same: denied.
    #[must_use]
    pub fn deny() -> Self {
        Self::Review(false.into())
    }
}

impl From<ReviewAnswer> for Answer {
    fn from(answer: ReviewAnswer) -> Self {
        Self::Review(answer)
    }
}

/// The result of carrying out a capability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ToolResult"))]
pub struct CallResult {
    /// Whether it worked.
    pub status: CallStatus,
    /// The result, or the error as data.
    pub output: Json,
    /// The child task, if it was a delegation (REC-14).
    pub task_id: Option<String>,
    /// The labels that the response of a child task carries; of a tool they do not count.
    #[serde(default, skip_serializing_if = "LabelSet::is_empty")]
    pub labels: LabelSet,
}

/// Whether a call that is withdrawn has run.
///
/// ```
/// use celador::context::InvocationStatus;
/// use celador::{Call, Engine, EngineLimits, Outcome, Ran, StartTask, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: Some("kim@example.com".into()), ..User::default() };
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
/// let call = Call::new("payout", serde_json::json!({"amount": 40}).into());
/// let Outcome::Allowed(allowed) = task.before(&call, now)?.outcome() else { panic!("40 is little") };
///
/// // the process that paid died: the payout counts, for the money may be gone
/// let told = task.withdraw(&allowed.call, Ran::Unknown, now)?;
/// assert_eq!(told.verdict.message(), Some("the call was withdrawn"));
/// let record = task.context().invocations().next().ok_or("it is on record")?;
/// assert_eq!(record.status, InvocationStatus::Errored);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// It has not run and never will: a person said no.
    Never,
    /// Nobody knows: the process that ran it died.
    Unknown,
}

/// On wires and in recordings `false` or `"unknown"`.
impl Serialize for Ran {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Never => serializer.serialize_bool(false),
            Self::Unknown => serializer.serialize_str("unknown"),
        }
    }
}

impl<'de> Deserialize<'de> for Ran {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Word;

        impl de::Visitor<'_> for Word {
            type Value = Ran;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`false` or `unknown`")
            }

            fn visit_bool<E: de::Error>(self, ran: bool) -> Result<Ran, E> {
                if ran { Err(E::invalid_value(de::Unexpected::Bool(ran), &self)) } else { Ok(Ran::Never) }
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Ran, E> {
                if word == "unknown" {
                    Ok(Ran::Unknown)
                } else {
                    Err(E::invalid_value(de::Unexpected::Str(word), &self))
                }
            }
        }

        deserializer.deserialize_any(Word)
    }
}

/// Whether carrying out a capability worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CallStatus {
    /// It did. A result that breaks what its tool declares is taken as [`CallStatus::Errored`].
    Successful,
    /// The tool says no: HTTP errors and the like. The model gets to see it (LIFE-03).
    Errored,
    /// It cannot work: unreachable endpoint, invalid configuration. The task ends (LIFE-02).
    Unrecoverable,
}

impl CallResult {
    /// A result that worked, of a tool.
    #[must_use]
    pub fn successful(output: Json) -> Self {
        Self { status: CallStatus::Successful, output, task_id: None, labels: LabelSet::new() }
    }

    /// An error of a tool.
    #[must_use]
    pub fn errored(output: Json) -> Self {
        Self { status: CallStatus::Errored, output, task_id: None, labels: LabelSet::new() }
    }
}
