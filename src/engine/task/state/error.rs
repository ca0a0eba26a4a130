//! Misuse of a task by its host. What a model, a user or a policy does wrong is a decision, never one of these.

use super::call_id::CallId;
use crate::manifest::brought::ToolsError;
use std::sync::Arc;

/// A mistake of the host that cannot be answered with a decision.
///
/// ```
/// use celador::{Call, CallResult, Engine, EngineLimits, Outcome, StartTask, TaskError, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
///
/// // an agent that no manifest has
/// let start = StartTask::new("t-1", "shop", "cashier", User::default(), now);
/// assert!(matches!(engine.start(start), Err(TaskError::UnknownAgent(name)) if name.contains("cashier")));
///
/// // a result that is reported twice counts once, and a call has one result
/// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// let call = Call::new("payout", serde_json::json!({"amount": 40}).into());
/// let Outcome::Allowed(allowed) = task.before(&call, now)?.outcome() else { panic!("40 is little") };
/// let result = CallResult::successful(serde_json::json!({"paid": 40}).into());
/// assert!(task.after(&allowed.call, result.clone(), now)?.outcome().is_allowed());
/// assert!(task.after(&allowed.call, result, now)?.outcome().is_allowed());
/// let other = CallResult::successful(serde_json::json!({"paid": 41}).into());
/// assert_eq!(task.after(&allowed.call, other, now).err(), Some(TaskError::OtherResult(allowed.call)));
/// assert_eq!(task.context().invocations().count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// `engine.start` with the name of an agent that is not loaded
    #[error("no agent `{0}` is loaded")]
    UnknownAgent(String),
    /// `engine.start` with an agent whose manifest has errors
    #[error("the agent `{0}` is not valid and must not run")]
    InvalidAgent(String),
    /// `engine.start` with two tools of one key
    #[error("the task cannot have its tools: {0}")]
    Tools(#[from] ToolsError),
    /// `engine.default_agent` of a namespace that has no agent, or of whose agents several could be meant
    #[error(
        "the namespace has {candidates} agents that no other agent delegates to, and not exactly one: name the agent"
    )]
    NoDefaultAgent {
        /// The number of agents that no other agent delegates to.
        candidates: usize,
    },
    /// `engine.start` with more metadata than a bound allows
    #[error("the metadata has more than {most} {what} (`{bound}`)")]
    MetadataTooLarge {
        /// What is counted.
        what: &'static str,
        /// The name of the bound.
        bound: &'static str,
        /// Its value.
        most: usize,
    },
    /// `engine.start` with metadata under the name `a b`
    #[error("a name of metadata has letters and digits of ASCII, `_`, `-`, `.` and `/`, one at least")]
    MetadataName,
    /// `engine.start` with a line break in metadata
    #[error("a text of metadata has no control characters")]
    MetadataText,
    /// `engine.start` with claims that are a list
    #[error("the claims of a user are an object")]
    ClaimsNotAnObject,
    /// `engine.start` with more claims than `max_claims_bytes`
    #[error("the claims of the user have more than {0} bytes (`max_claims_bytes`)")]
    ClaimsTooLarge(usize),
    /// `engine.start` for a user whose claims do not fit what a policy says of them
    #[error("the claims of the user do not fit the policy `{policy}`: {why}")]
    ClaimsMisfit {
        /// Namespace and name of the policy.
        policy: Arc<str>,
        /// The claim and the word of the schema that it breaks, without a value.
        why: String,
    },
    /// `engine.start` without a parent, with an agent whose tasks must be within one
    #[error("a task of the agent `{0}` must be within a parent task, and has none")]
    ParentRequired(String),
    /// `task.set_parent` with another task than the parent, or one for another user
    #[error("the task is not the parent, or it runs for another user")]
    OtherParent,
    /// `task.set_parent` with a task of an agent that no policy lets delegate to this one
    #[error("a task of the agent `{parent}` may not delegate to the agent `{child}`")]
    ParentNotAdmitted {
        /// Namespace and name of the parent's agent.
        parent: String,
        /// Namespace and name of the task's agent.
        child: String,
    },
    /// `engine.trigger` with the name of a trigger that is not loaded
    #[error("no trigger `{0}` is loaded")]
    UnknownTrigger(String),
    /// `engine.trigger` with a trigger that has errors, or whose agent has
    #[error("the trigger `{0}` is not valid and makes no tasks")]
    InvalidTrigger(String),
    /// `operation.drive` with a host whose book of counters somebody else has changed meanwhile
    #[error("a counter was reserved since it was read, and the step has to be decided anew")]
    CountersMoved,
    /// `task.after` with an id that `before` never gave, or twice with the same one
    #[error("no result of this call is awaited")]
    UnknownCall(CallId),
    /// `task.after` with another result than the first time
    #[error("another result of this call was reported")]
    OtherResult(CallId),
    /// `task.before` under an id that is empty, too long, or has control characters
    #[error("the id of a call is a text of 1 to {max} bytes without control characters")]
    BadCallId {
        /// The bytes that an id may have.
        max: usize,
    },
    /// `task.claim` by a claimant whose text is empty, too long, or has control characters
    #[error("a claimant is a text of 1 to {max} bytes without control characters")]
    BadClaimant {
        /// The bytes that the text may have.
        max: usize,
    },
    /// `task.claim` of a call that another claimant has, and `task.execute` of a claimed one
    #[error("another process has claimed this call and runs it")]
    CallClaimed(CallId),
    /// `task.before` under the id of a call of another function or with other arguments
    #[error("another call of the task has this id")]
    CallExists(CallId),
    /// `task.schema("nope")`
    #[error("the agent has no function `{0}`")]
    UnknownFunction(String),
    /// `task.record(Past::Input(1.into()), at)`
    #[error("an entry of the past is no message")]
    NotAMessage,
    /// `task.record` and `engine.bring` while an operation waits for an answer
    #[error("the task waits for an answer")]
    Waiting,
    /// `task.unlock` of a task that is not locked
    #[error("the task is not locked")]
    NotLocked,
    /// `task.unlock` of a task that was terminated
    #[error("the task was terminated, and that is for good")]
    HasEnded,
    /// `task.resume` while nothing was asked
    #[error("nothing was asked")]
    NothingPending,
    /// `task.resume` while several operations ask: `task.answer` names the question
    #[error("several questions are open: name one")]
    SeveralPending,
    /// `task.answer` to a question that is not open
    #[error("question {0} is not open")]
    UnknownQuestion(u32),
    /// `task.resume(Answer::Written)` to a review
    #[error("the answer is not of the kind that was asked for")]
    WrongAnswer,
    /// `task.answer` to a review that nobody has answered in time
    #[error("the review of question {0} has expired")]
    ReviewExpired(u32),
    /// `task.answer` to a review of several people by somebody who is none of them
    #[error("the review of question {0} is addressed to others")]
    NotAddressed(u32),
    /// `task.answer` to a review with arguments that the call cannot have
    #[error("the arguments cannot be edited so: {0}")]
    BadEdit(String),
    /// `engine.restore` of a task of another format
    #[error("saved in format {0}, which this version does not read")]
    UnknownFormat(u32),
    /// `engine.restore` of a task that waits in the middle of a policy that has since changed
    #[error("the policy has changed since the task was suspended")]
    PolicyChanged,
    /// `engine.restore` of data that no task ever saved
    #[error("the saved task does not fit its agent: {0}")]
    NotRestorable(&'static str),
}
