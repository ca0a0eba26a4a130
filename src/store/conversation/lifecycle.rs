//! What may happen to a context, and to a task in it, in each of their states (L1 to L3).
//!
//! In: states and what is wanted. Out: whether it may be, or the refusal. The tables of the rules stand here as `match`es
//! and nowhere else. Whose a context is was asked before (L2); nothing here reads or writes.

use super::refusal::ContextRefusal;

/// The state of a context.
///
/// ```
/// use celador_store::conversation::{A2aTaskState, ContextRefusal, ContextStatus};
///
/// let paused = ContextStatus::from_name("paused").ok_or("it is a status")?;
/// // a paused context goes on with its unfinished tasks, and takes no new ones
/// assert_eq!(paused.message(Some(A2aTaskState::Working)), Ok(()));
/// assert_eq!(paused.message(Some(A2aTaskState::Completed)), Err(ContextRefusal::TaskFinished));
/// assert_eq!(paused.message(None), Err(ContextRefusal::Unsupported));
///
/// // it can be completed only when each of its tasks has ended, and archived at any time
/// assert_eq!(paused.change(ContextStatus::Completed, false), Err(ContextRefusal::Unsupported));
/// assert_eq!(paused.change(ContextStatus::Archived, false), Ok(true));
///
/// // names of A2A 1.0 and of A2A 0.3
/// let state = A2aTaskState::from_name("TASK_STATE_AUTH_REQUIRED").ok_or("it is a state")?;
/// assert_eq!((state.older_name(), state.is_terminal()), ("auth-required", false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ContextStatus {
    /// Takes tasks and messages. A context without a status counts as active.
    #[default]
    Active,
    /// Goes on with its unfinished tasks and takes no new ones.
    Paused,
    /// Takes no tasks and no messages; its details may still change.
    Completed,
    /// Read only.
    Archived,
}

impl ContextStatus {
    /// Every status, in the order in which a context goes through them.
    pub const ALL: [Self; 4] = [Self::Active, Self::Paused, Self::Completed, Self::Archived];

    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Archived => "archived",
        }
    }

    /// The status of this name, exactly.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Whether the context may become `to`: `Ok(false)` if it is so already (L1).
    ///
    /// # Errors
    /// [`ContextRefusal::Unsupported`] for a transition that the table does not have, and for completing a context of which a
    /// task is unfinished.
    pub fn change(self, to: Self, every_task_finished: bool) -> Result<bool, ContextRefusal> {
        use ContextStatus::{Active, Archived, Completed, Paused};
        match (self, to) {
            (from, to) if from == to => Ok(false),
            (Active, Paused) | (Paused, Active) | (Active | Paused | Completed, Archived) => Ok(true),
            (Active | Paused, Completed) if every_task_finished => Ok(true),
            _ => Err(ContextRefusal::Unsupported),
        }
    }

    /// Whether a message may come to the task in this state, or to a new task (L2, L3).
    ///
    /// # Errors
    /// [`ContextRefusal::TaskFinished`] before [`ContextRefusal::Unsupported`].
    pub fn message(self, task: Option<A2aTaskState>) -> Result<(), ContextRefusal> {
        match (self, task) {
            (_, Some(task)) if task.is_terminal() => Err(ContextRefusal::TaskFinished),
            (Self::Active, _) | (Self::Paused, Some(_)) => Ok(()),
            _ => Err(ContextRefusal::Unsupported),
        }
    }

    /// Whether name, tags, metadata and the like may change (L2).
    ///
    /// # Errors
    /// [`ContextRefusal::Unsupported`] if it is archived.
    pub fn description(self) -> Result<(), ContextRefusal> {
        if self == Self::Archived { Err(ContextRefusal::Unsupported) } else { Ok(()) }
    }

    /// Whether the context may be cleared (K5).
    ///
    /// # Errors
    /// [`ContextRefusal::Archived`].
    pub fn clear(self) -> Result<(), ContextRefusal> {
        if self == Self::Archived { Err(ContextRefusal::Archived) } else { Ok(()) }
    }
}

/// The state of a task of A2A (A12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum A2aTaskState {
    /// Nothing is known of it.
    Unspecified,
    /// It was taken on.
    Submitted,
    /// It is under way.
    Working,
    /// It ended well.
    Completed,
    /// It ended with an error.
    Failed,
    /// Somebody stopped it.
    Canceled,
    /// It waits for its user.
    InputRequired,
    /// The agent would not have it.
    Rejected,
    /// It waits for somebody to sign in.
    AuthRequired,
}

impl A2aTaskState {
    /// Each state with its name in A2A 1.0 and in A2A 0.3 (A12, O2).
    pub const ROWS: [(Self, &'static str, &'static str); 9] = [
        (Self::Unspecified, "TASK_STATE_UNSPECIFIED", "unknown"),
        (Self::Submitted, "TASK_STATE_SUBMITTED", "submitted"),
        (Self::Working, "TASK_STATE_WORKING", "working"),
        (Self::Completed, "TASK_STATE_COMPLETED", "completed"),
        (Self::Failed, "TASK_STATE_FAILED", "failed"),
        (Self::Canceled, "TASK_STATE_CANCELED", "canceled"),
        (Self::InputRequired, "TASK_STATE_INPUT_REQUIRED", "input-required"),
        (Self::Rejected, "TASK_STATE_REJECTED", "rejected"),
        (Self::AuthRequired, "TASK_STATE_AUTH_REQUIRED", "auth-required"),
    ];

    /// The name in A2A 1.0.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ROWS.into_iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The name in A2A 0.3.
    #[must_use]
    pub fn older_name(self) -> &'static str {
        Self::ROWS.into_iter().find(|row| row.0 == self).map_or("", |row| row.2)
    }

    /// The state of this name in A2A 1.0, exactly.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ROWS.into_iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Whether nothing more comes of the task.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }
}

/// Whether the caller may change the things of `owner`: only if the two are equal. No caller and no owner are equal (K3).
#[must_use]
pub fn owns(owner: Option<&str>, caller: Option<&str>) -> bool {
    owner == caller
}

/// Whether the caller may read the things of `owner`. A caller without identity reads everything (B9, A13).
#[must_use]
pub fn sees(owner: Option<&str>, caller: Option<&str>) -> bool {
    caller.is_none() || owner == caller
}
