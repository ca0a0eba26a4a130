//! Why the rules say no, with the code that each protocol knows it by.
//!
//! In: nothing; rules return these. Out: code, message and data of a JSON-RPC error. A refusal is an answer, not a
//! failure: the store was reached and nothing changed. No text of a message or an artifact is ever in one.

use super::messages;
use crate::StoreError;

/// A rule's no.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub enum ContextRefusal {
    /// −32602: a parameter is missing, of the wrong type, or out of range; the text says which.
    Params(String),
    /// −32001: nothing to clear under this id, in normal form (K2).
    Unknown(String),
    /// −32001: no such context, or somebody else's (K3).
    ContextNotFound,
    /// −32001: no such task, or somebody else's.
    TaskNotFound,
    /// −32008: the task is finished and takes no message (L2).
    TaskFinished,
    /// −32004: the context's status does not allow it (L1, L2).
    Unsupported,
    /// −32021: an archived context cannot be cleared (K5).
    Archived,
}

impl ContextRefusal {
    /// The code of the JSON-RPC error.
    #[must_use]
    pub fn code(&self) -> i32 {
        match self {
            Self::Params(_) => -32602,
            Self::Unknown(_) | Self::ContextNotFound | Self::TaskNotFound => -32001,
            Self::TaskFinished => -32008,
            Self::Unsupported => -32004,
            Self::Archived => -32021,
        }
    }

    /// The text of the JSON-RPC error.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Params(what) => what.clone(),
            Self::Unknown(id) => messages::unknown_context(id),
            Self::ContextNotFound => messages::context_not_found(),
            Self::TaskNotFound => messages::task_not_found(),
            Self::TaskFinished => messages::task_finished(),
            Self::Unsupported => messages::not_in_this_status(),
            Self::Archived => messages::archived(),
        }
    }
}

/// Why an operation on conversations gave nothing.
///
/// ```
/// use celador_store::conversation::{ContextRefusal, ConversationError, Conversations, Incoming};
/// use celador_store::{Database, FaultPlan, Location, StoreLimits};
/// # let now: celador::Timestamp = "2026-01-15T12:00:00Z".parse()?;
///
/// let database = Database::open(&Location::Memory, &StoreLimits::default())?;
/// let conversations = Conversations::new(database.clone(), || uuid::Uuid::new_v4().as_u128());
/// let sent = conversations.send(Some("kim"), &Incoming::default(), now)?;
/// conversations.set_task_state(Some("kim"), &sent.task_id, "TASK_STATE_COMPLETED", None)?;
///
/// // a rule says no: the client is told the code, and nothing changed
/// let more = Incoming { task_id: Some(&sent.task_id), ..Incoming::default() };
/// let error = conversations.send(Some("kim"), &more, now).err().ok_or("the task is finished")?;
/// assert_eq!(error.refusal(), Some(&ContextRefusal::TaskFinished));
/// assert_eq!(error.refusal().map(ContextRefusal::code), Some(-32008));
///
/// // the store is down: the same request may succeed later
/// database.faults().plan(FaultPlan::Everything);
/// match conversations.send(Some("kim"), &Incoming::default(), now) {
///     Err(ConversationError::Store(error)) => assert!(error.is_temporary()),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// A rule says no; nothing changed.
    #[error(transparent)]
    Refused(#[from] ContextRefusal),
    /// The store failed; whether a change took place is not known.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ConversationError {
    /// The refusal, if a rule said no.
    #[must_use]
    pub fn refusal(&self) -> Option<&ContextRefusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Store(_) => None,
        }
    }
}
