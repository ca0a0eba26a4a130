//! What a store of tasks does: tasks in as their steps, tasks out as they were.
//!
//! In: after each operation, the task and where it was before. Out: a promise that the step is durable, and later the
//! task as it was after its last step. Two writers of one task never both succeed on the same version. Whoever asks for
//! a task says for whom: of another's it learns nothing, not even that it is there. All of it blocks.

use super::owner::Owner;
use super::review::OpenReviews;
use super::task_policies::{PolicyDecision, TaskPolicy};
use celador::cel::Timestamp;
use celador::counter::Hold;
use celador::policy::{Fingerprint, Policy};
use celador::task::{Answer, Decision, Operation, SavedTask, Task, TaskChange, TaskMark};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

macro_rules! operations {
    ($($(#[doc = $doc:literal])+ $name:ident = $word:literal,)+) => {
        /// Which operation an event of a task tells of.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum OperationKind { $($(#[doc = $doc])+ #[serde(rename = $word)] $name,)+ }

        impl OperationKind {
            /// The word that is stored.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }

            /// The operation of a word.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$name),)+ _ => None }
            }
        }
    };
}

operations! {
    /// The task began: its first event, and only that.
    Started = "started",
    /// [`Task::input`]
    Input = "input",
    /// [`Task::limits`]
    Limits = "limits",
    /// [`Task::model_before`]
    ModelBefore = "model_before",
    /// [`Task::model_after`]
    ModelAfter = "model_after",
    /// [`Task::model_turn`]
    ModelTurn = "model_turn",
    /// [`Task::turn`]
    Turn = "turn",
    /// [`Task::results`]
    Results = "results",
    /// [`Task::before`]
    Before = "before",
    /// [`Task::after`]
    After = "after",
    /// [`Task::withdraw`]
    Withdraw = "withdraw",
    /// [`Task::claim`]
    Claim = "claim",
    /// [`Task::release`]
    Release = "release",
    /// [`Task::execute`]
    Execute = "execute",
    /// [`Task::invoke`]
    Invoke = "invoke",
    /// [`Task::script`]
    Script = "script",
    /// [`Task::resume`] with the verdict of a reviewer
    Review = "review",
    /// Reviews that nobody answered in time were denied
    Expire = "expire",
    /// [`Task::resume`] with any other answer
    Resume = "resume",
    /// [`Task::event`]
    Event = "event",
    /// [`Task::output`]
    Output = "output",
    /// [`Task::interrupt`]
    Interrupt = "interrupt",
    /// [`Task::record`]
    Record = "record",
    /// [`Task::end`]
    End = "end",
    /// [`Task::unlock`]
    Unlock = "unlock",
    /// The task brought tools that it did not have: [`Engine::bring`](celador::Engine::bring)
    Tools = "tools",
    /// An operator has decided under which policy the task goes on.
    Policy = "policy",
}

impl From<&Operation> for OperationKind {
    /// The answer of a reviewer is a kind of its own.
    fn from(operation: &Operation) -> Self {
        match operation {
            Operation::Input(_) => Self::Input,
            Operation::Output(_) => Self::Output,
            Operation::Limits { .. } => Self::Limits,
            Operation::ModelTurn(_) => Self::ModelTurn,
            Operation::Turn(_) => Self::Turn,
            Operation::ModelBefore(_) => Self::ModelBefore,
            Operation::ModelAfter { .. } => Self::ModelAfter,
            Operation::Before(_) => Self::Before,
            Operation::Invoke(_) => Self::Invoke,
            Operation::After(_) => Self::After,
            Operation::Results { .. } => Self::Results,
            Operation::Claim { .. } => Self::Claim,
            Operation::Release { .. } => Self::Release,
            Operation::Withdraw { .. } => Self::Withdraw,
            Operation::Execute { .. } => Self::Execute,
            Operation::Event(_) => Self::Event,
            Operation::Script { .. } => Self::Script,
            Operation::Resume { answer: Answer::Review(_), .. } => Self::Review,
            Operation::Resume { .. } => Self::Resume,
            Operation::Interrupt {} => Self::Interrupt,
            Operation::End { .. } => Self::End,
            Operation::Unlock { .. } => Self::Unlock,
        }
    }
}

/// One operation on a task, to be stored as the next event; [`StoredEvent`] is an event that is read back.
#[derive(Clone, Debug)]
pub struct NewEvent<'t> {
    /// Its kind.
    pub operation: OperationKind,
    /// When.
    pub at: Timestamp,
    /// The task after it.
    pub task: &'t Task,
    /// Where the task was before it.
    pub before: &'t TaskMark,
    /// The decision that it ended in; [`Task::suspension`] for an operation that asks.
    pub decision: Option<&'t Decision>,
    /// The request that it answers, if that may be sent again.
    pub once: Option<Once>,
}

/// A request that may be sent again, and must not count again.
///
/// ```
/// use celador::{Engine, EngineLimits, StartTask, User};
/// use celador_store::{Database, Location, Once, Owner, StoreError, StoreLimits, StoredTasks};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let limits = StoreLimits::default();
/// # let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
///
/// let owner = Owner::caller("desk");
/// let task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// let request = celador::digest::Digest::of(br#"{"agent": "clerk"}"#).to_string();
/// let once = Once { key: "key-7".into(), request, answer: r#"{"task": "t-1"}"#.into() };
/// tasks.create(&owner, &task, now, Some(once.clone()))?;
///
/// // the answer was lost on its way, and the caller sends the request again: it does not begin a second task
/// let again = engine.start(StartTask::new("t-2", "shop", "clerk", User::default(), now))?;
/// assert_eq!(tasks.create(&owner, &again, now, Some(once.clone())), Err(StoreError::AlreadyExists));
/// let answered = tasks.answer(&owner, None, "key-7")?.ok_or("the answer is there")?;
/// assert_eq!((answered.request == once.request, &*answered.answer), (true, r#"{"task": "t-1"}"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Once {
    /// The key that the sender gave it.
    pub key: String,
    /// A digest of the request, to tell it from another request under the same key.
    pub request: String,
    /// The answer, to be given again.
    pub answer: String,
}

/// A stored task at one of its versions. A writer needs it to write the next version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskHead {
    pub(super) owner: Owner,
    pub(super) facts: Arc<Facts>,
    pub(super) version: u64,
    /// The digest of the last event, which chains to all before.
    pub(super) chain: String,
    /// The policy under which the stored state came about.
    pub(super) fingerprint: Fingerprint,
    /// What is stored of it.
    pub(super) policy: Option<Arc<TaskPolicy>>,
    /// The open reviews, as they are stored.
    pub(super) reviews: Arc<OpenReviews>,
    /// What its calls hold of counters, in order.
    pub(super) holds: Arc<[Hold]>,
}

/// What of a task never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) id: String,
    pub(super) namespace: String,
    pub(super) agent: String,
    pub(super) started_at: String,
}

impl TaskHead {
    /// The number of its last event, from 1.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The digest of its last event, which chains to all before.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.chain
    }

    /// What its calls hold of counters across tasks, in the order of the calls' ids.
    #[must_use]
    pub fn holds(&self) -> &[Hold] {
        &self.holds
    }

    /// Whether any of its reviews is open.
    #[must_use]
    pub fn has_reviews(&self) -> bool {
        !self.reviews.is_empty()
    }

    /// Its owner.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.facts.id
    }

    /// Its agent: namespace and name.
    #[must_use]
    pub fn agent(&self) -> (&str, &str) {
        (&self.facts.namespace, &self.facts.agent)
    }

    /// The fingerprint of the policy under which the stored state came about
    /// ([`Policy::fingerprint`](celador::policy::Policy::fingerprint)).
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// That policy as the store knows it; `None` for a task that was stored without it.
    #[must_use]
    pub fn policy(&self) -> Option<&TaskPolicy> {
        self.policy.as_deref()
    }

    /// The digest of the manifests that its policy was made of; nothing if the store does not have them.
    #[must_use]
    pub fn manifests(&self) -> Option<&str> {
        self.policy()?.manifests.as_deref()
    }

    /// Whether an operator has decided that the task keeps its policy.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        let decided = self.policy().and_then(|policy| policy.decided.as_ref());
        decided.is_some_and(|decided| decided.decision == PolicyDecision::Keep)
    }
}

/// A task as a store has it.
///
/// ```
/// use celador::{Engine, EngineLimits, StartTask, User};
/// use celador_store::{
///     Database, LoadedTask, Location, NewEvent, OperationKind, Owner, StoreError, StoreLimits, StoredEvent, StoredTasks,
///     TaskHead, Verified,
/// };
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let limits = StoreLimits::default();
/// # let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
///
/// let owner = Owner::caller("desk");
/// let task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// let stale: TaskHead = tasks.create(&owner, &task, now, None)?;
///
/// // another process goes on with the task
/// let LoadedTask { saved, head, replayed } = tasks.load(&owner, "t-1")?;
/// assert_eq!((head.id(), head.agent(), head.version(), replayed), ("t-1", ("shop", "clerk"), 1, 1));
/// let mut task = engine.restore(saved)?;
/// let before = task.mark();
/// let decision = task.end("The order was cancelled.", now);
/// let operation = OperationKind::End;
/// let step = NewEvent { operation, at: now, task: &task, before: &before, decision: Some(&decision), once: None };
/// tasks.append(&head, &step)?;
///
/// // the first process still has the head of before: its step is refused, and nothing is written
/// assert_eq!(tasks.append(&stale, &step), Err(StoreError::Conflict { expected: 1, found: 2 }));
///
/// // its events, for whoever looks into the task
/// let events: Vec<StoredEvent> = tasks.events(&owner, "t-1", 0, 100)?;
/// let operations: Vec<_> = events.iter().map(|event| (event.version, event.operation)).collect();
/// assert_eq!(operations, [(1, OperationKind::Started), (2, OperationKind::End)]);
/// assert_eq!(tasks.verify()?, Verified { tasks: 1, events: 2, ..Verified::default() });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LoadedTask {
    /// For [`Engine::restore`](celador::Engine::restore).
    pub saved: SavedTask,
    /// For the next step.
    pub head: TaskHead,
    /// How many events were replayed on a snapshot.
    pub replayed: u64,
}

/// A task in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSummary {
    /// Its id.
    pub id: String,
    /// The namespace of its agent.
    pub namespace: String,
    /// Its agent.
    pub agent: String,
    /// [`TaskState::as_str`](celador::task::TaskState::as_str) after the last event.
    pub state: String,
    /// When it began: RFC 3339.
    pub started_at: String,
    /// When the last event was: RFC 3339.
    pub changed_at: String,
    /// The number of the last event.
    pub version: u64,
}

/// An event of a task, for inspection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its number in the task, from 1.
    pub version: u64,
    /// When: RFC 3339.
    pub at: String,
    /// The kind of the operation.
    pub operation: OperationKind,
    /// The [`Decision`] as JSON.
    pub decision: Option<String>,
    /// The [`TaskChange`] as JSON; of the first event the [`SavedTask`].
    pub change: String,
}

impl StoredEvent {
    /// The operation of the event, what was decided about it, and when, as far as the event tells; `policy` is that of the task. A result, a turn of
    /// several calls and an event without a decision tell none.
    #[must_use]
    pub fn told(&self, policy: &Policy) -> Option<(Operation, Decision, Timestamp)> {
        use OperationKind::{After, Claim, Record, Release, Results, Withdraw};
        // these put a call on record as well, and are not its steps ahead of it
        if matches!(self.operation, After | Results | Withdraw | Claim | Release | Record) {
            return None;
        }
        let decision: Decision = serde_json::from_str(self.decision.as_deref()?).ok()?;
        // that of the beginning is a whole task, and no change
        let change: TaskChange = serde_json::from_str(&self.change).ok()?;
        let operation = change.operation(decision.verdict.kind(), policy)?;
        Some((operation, decision, self.at.parse().ok()?))
    }
}

/// The contents of a whole store in which nothing is wrong, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Tasks.
    pub tasks: u64,
    /// Their events.
    pub events: u64,
    /// Answers to requests that may be sent again.
    pub answers: u64,
    /// Tasks that were purged.
    pub tombstones: u64,
    /// Reviews, open and closed.
    pub reviews: u64,
    /// Counters across tasks.
    pub counters: u64,
}

/// Why a task is purged, and who asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purge<'p> {
    /// When.
    pub at: Timestamp,
    /// Who asked for it: the identity of the caller, or the name that an operator gives.
    pub who: &'p str,
    /// Why, in their words: at least one byte and at most `max_reason_bytes`.
    pub reason: &'p str,
}

/// The tombstone of a purged task: the facts that stay. The task's id is never used again.
///
/// ```
/// use celador::{Engine, EngineLimits, StartTask, User};
/// use celador_store::{Database, Location, Owner, Purge, StoreError, StoreLimits, StoredTasks, Tombstone};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let limits = StoreLimits::default();
/// # let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
///
/// let owner = Owner::caller("desk");
/// let task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// tasks.create(&owner, &task, now, None)?;
/// let purge = Purge { at: now, who: "kim", reason: "The customer asked for it." };
/// let tombstone: Tombstone = tasks.purge(&owner, "t-1", &purge)?;
/// assert_eq!(tombstone.events, 1);
/// assert!(matches!(tasks.load(&owner, "t-1"), Err(StoreError::Purged { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Its owner.
    pub owner: Owner,
    /// Its id.
    pub id: String,
    /// The namespace of its agent.
    pub namespace: String,
    /// Its agent.
    pub agent: String,
    /// [`TaskState::as_str`](celador::task::TaskState::as_str) when it was purged.
    pub state: String,
    /// When it began: RFC 3339.
    pub started_at: String,
    /// When its last event was: RFC 3339.
    pub changed_at: String,
    /// How many events it had.
    pub events: u64,
    /// The digest of the last of them, which an export that somebody kept can be compared with.
    pub chain: String,
    /// When it was purged: RFC 3339.
    pub purged_at: String,
    /// Who purged it.
    pub purged_by: String,
    /// Why.
    pub reason: String,
}
