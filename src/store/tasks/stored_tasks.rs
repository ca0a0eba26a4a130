//! The store of tasks over a database: in memory, in a file, or in Postgres.
//!
//! In: steps, each turned into its rows on the thread that brings it. Out: tasks, events and answers, as `reading` makes them of
//! their rows. Writes go through one thread that commits them in groups; reads go beside it.

use super::asked_reviews::reviews_of;
use super::decision_lines::DueLine;
use super::labels::Label;
use super::owner::Owner;
use super::reading::{stored_answer, stored_events, stored_task, task_row};
use super::reviews;
use super::rows::{EventLink, TASK, TaskRow, answer_digest, snapshot_digest, summary};
use super::task_policies::{ManifestSet, PolicyDecided, PolicyWrite, TaskPolicy};
use super::task_records::{
    Facts, LoadedTask, NewEvent, Once, OperationKind, Purge, StoredEvent, TaskHead, TaskSummary, Tombstone,
    Verified,
};
use super::tombstones;
use super::writer::{Write, Writer};
use super::{switches, verify};
use crate::StoreLimits;
use crate::counters::{CounterTurns, CounterWrite};
use crate::{Database, SqlValue, StoreError, messages};
use celador::HashKey;
use celador::cel::Timestamp;
use celador::counter::CounterChanges;
use celador::policy::Fingerprint;
use celador::task::{Decision, ReviewRecord, SavedTask, Task, TaskChange, TaskState};
use serde::Serialize;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Tasks in a database. Clones share the database and the thread that writes.
///
/// ```
/// use celador::{Call, Engine, EngineLimits, StartTask, User};
/// use celador_store::{Database, Location, NewEvent, OperationKind, Owner, StoreLimits, StoredTasks};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let limits = StoreLimits::default();
///
/// let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
/// let owner = Owner::caller("desk");
/// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// let head = tasks.create(&owner, &task, now, None)?;
///
/// // a step: where the task was, the decision, where it is now
/// let before = task.mark();
/// let call = Call::new("payout", serde_json::json!({"amount": 2_000}).into());
/// let decision = task.before(&call, now)?.outcome().into_decision();
/// let operation = OperationKind::Before;
/// let step = NewEvent { operation, at: now, task: &task, before: &before, decision: Some(&decision), once: None };
/// let head = tasks.append(&head, &step)?;
/// assert_eq!(head.version(), 2);
/// assert_eq!(tasks.load(&owner, "t-1")?.head.digest(), head.digest());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct StoredTasks {
    database: Database,
    writer: Writer,
    limits: StoreLimits,
    turns: CounterTurns,
    /// The key of `pii.hash` of the manifests that it keeps.
    hash_key: Option<HashKey>,
}

/// What a step does to a stored task, before it is rows.
struct Happening<'s> {
    operation: OperationKind,
    at: Timestamp,
    decision: Option<String>,
    change: String,
    once: Option<&'s Once>,
    snapshot: Option<String>,
    labels: Vec<Label>,
    /// The reviews that the task knows behind it.
    reviews: Vec<ReviewRecord>,
    terms: Terms,
}

/// Further rows to store with a step, and conditions under which it is stored at all.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// The version of the operator's switches under which it was decided: it is stored only if no switch was turned since,
    /// which is asked in the same transaction. Nothing if that does not matter.
    pub switches: Option<u64>,
    /// The line that a decision log is to hold of it.
    pub due: Option<DueLine>,
    /// The manifests that the policy of the task is made of. They are stored with the first step that names them, if it is
    /// another policy than before, and with each snapshot; a set of more than `max_kept_manifests_bytes` never is.
    pub manifests: Option<Arc<ManifestSet>>,
    /// The decision of an operator about the policy of the task, if the step is one.
    pub decided: Option<PolicyDecided>,
    /// What the step does to counters across tasks. It is stored only if each counter that was read has still the version that
    /// it had. What the calls of a task still hold when it ends is spent.
    pub counters: CounterChanges,
    /// Whether the step passes on the answer to a review of somebody whom the task's runtime alone knows.
    pub passed_on: bool,
}

impl StoredTasks {
    /// The tasks of a database, and a thread that writes them.
    #[must_use]
    pub fn new(database: Database, limits: &StoreLimits) -> Self {
        let writer = Writer::start(database.clone(), limits.max_commit_batch);
        Self { database, writer, limits: *limits, turns: CounterTurns::default(), hash_key: None }
    }

    /// The same where policies that the store keeps for tasks hash with this key (`pii.hash`). Without it a task that waits under such a policy cannot be [ended](StoredTasks::end).
    #[must_use]
    pub fn with_hash_key(self, hash_key: Option<HashKey>) -> Self {
        Self { hash_key, ..self }
    }

    /// The key of `pii.hash` of the manifests that it keeps.
    pub(super) fn hash_key(&self) -> Option<&HashKey> {
        self.hash_key.as_ref()
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Writes an event after a head, and the state that the task is in then, under a policy; answers the new head.
    fn put(
        &self,
        head: &TaskHead,
        (state, fingerprint): (&str, Fingerprint),
        happening: Happening<'_>,
    ) -> Result<TaskHead, StoreError> {
        let TaskHead { owner, facts, version: expected, chain: expected_chain, .. } = head;
        let Happening { operation, at, decision, change, once, snapshot, labels, reviews, terms } = happening;
        let Terms { switches, due, manifests, decided: by_operator, mut counters, passed_on: _ } = terms;
        counters.all_over |= state == TaskState::TERMINATED;
        let concerns_counters =
            !head.holds.is_empty() || counters.reserved().next().is_some() || !counters.read.is_empty();
        let holds =
            if concerns_counters { counters.holds_after(&head.holds).into() } else { head.holds.clone() };
        let counters =
            concerns_counters.then(|| CounterWrite { changes: counters, holds: head.holds.clone(), at });
        let (owner, id, version, at) =
            (owner.as_str(), &facts.id, expected.saturating_add(1), at.to_string());
        let decided = decision.as_deref();
        let kind = operation.as_str();
        let link = EventLink { owner, task: id, version, at: &at, kind, decision: decided, change: &change };
        let chain = link.chain(expected_chain);
        let row = TaskRow {
            owner: owner.to_owned(),
            facts: Facts::clone(facts),
            state: state.to_owned(),
            changed_at: at.clone(),
            version,
            chain: chain.clone(),
        };
        let once = once.map(|once| {
            let task = if *expected == 0 { "" } else { id };
            (once.clone(), answer_digest(owner, task, &once.key, &once.request, &once.answer))
        });
        let snapshot = snapshot.map(|saved| {
            let digest = snapshot_digest(owner, id, version, &saved, &chain);
            (saved, digest)
        });
        let says_policy = head.policy.is_none() || snapshot.is_some() || by_operator.is_some();
        let policy = manifests.filter(|_| says_policy).map(|set| {
            let set = Some(set).filter(|set| set.bytes() <= self.limits.max_kept_manifests_bytes);
            let before = head.policy.as_ref().and_then(|policy| policy.decided.clone());
            let policy = TaskPolicy {
                fingerprint: fingerprint.to_string(),
                manifests: set.as_ref().map(|set| set.digest().to_owned()),
                decided: by_operator.or(before),
            };
            PolicyWrite { policy, set }
        });
        let present = match &policy {
            Some(write) => Some(Arc::new(write.policy.clone())),
            None => head.policy.clone(),
        };
        let (reviews, open) = reviews::writes(head, version, reviews)?;
        let write = Write {
            expected: *expected,
            expected_chain: expected_chain.clone(),
            kind,
            decision,
            change,
            once,
            snapshot,
            switches,
            due,
            policy,
            labels,
            counters,
            reviews,
            digest: row.digest(),
            row,
        };
        write.storable()?;
        self.writer.write(write)?;
        let of = |policy: &Option<Arc<TaskPolicy>>| policy.as_ref().and_then(|it| it.manifests.clone());
        if of(&head.policy).is_some_and(|before| Some(&before) != of(&present).as_ref()) {
            self.forget_sets();
        }
        let (owner, facts) = (head.owner.clone(), facts.clone());
        Ok(TaskHead { owner, facts, version, chain, fingerprint, policy: present, reviews: open, holds })
    }

    /// Ends a task that waits for nothing, without its policy.
    pub(super) fn put_end(
        &self,
        head: &TaskHead,
        at: Timestamp,
        (change, decision): &(TaskChange, Decision),
        due: Option<DueLine>,
    ) -> Result<TaskHead, StoreError> {
        let happening = Happening {
            operation: OperationKind::End,
            at,
            decision: Some(json(decision)?),
            change: json(change)?,
            once: None,
            snapshot: None,
            labels: Vec::new(),
            reviews: Vec::new(),
            terms: Terms { due, ..Terms::default() },
        };
        self.put(head, (TaskState::TERMINATED, head.fingerprint), happening)
    }

    /// Who has a turn at which counter.
    pub(super) fn turns(&self) -> &CounterTurns {
        &self.turns
    }

    /// The bounds.
    pub(super) fn limits(&self) -> &StoreLimits {
        &self.limits
    }

    /// Stores a task that has just started as [`StoredTasks::create`] does, and with it the manifests that its policy is made
    /// of.
    ///
    /// # Errors
    /// Those of [`StoredTasks::create`].
    pub fn create_under(
        &self,
        owner: &Owner,
        task: &Task,
        at: Timestamp,
        once: Option<Once>,
        manifests: Option<Arc<ManifestSet>>,
    ) -> Result<TaskHead, StoreError> {
        let agent = task.policy().agent();
        let facts = Facts {
            id: task.id().to_owned(),
            namespace: agent.namespace.text.to_string(),
            agent: agent.name.text.to_string(),
            started_at: task.context().started_at().to_string(),
        };
        let fingerprint = task.policy().fingerprint();
        let (owner, facts) = (owner.clone(), Arc::new(facts));
        let (reviews, holds, chain) = (Arc::default(), Arc::default(), String::new());
        let nowhere = TaskHead { owner, facts, version: 0, chain, fingerprint, policy: None, reviews, holds };
        let happening = Happening {
            operation: OperationKind::Started,
            at,
            decision: None,
            change: json(&task.save())?,
            once: once.as_ref(),
            snapshot: None,
            labels: Label::all(&task.context().start().user_id, task.parent(), task.metadata()),
            reviews: Vec::new(),
            terms: Terms { manifests, ..Terms::default() },
        };
        self.put(&nowhere, (task.state().as_str(), fingerprint), happening)
    }

    /// Stores a step as [`StoredTasks::append`] does, under more terms.
    ///
    /// # Errors
    /// [`StoreError::SwitchesTurned`] and [`StoreError::CountersMoved`], and those of [`StoredTasks::append`].
    pub fn append_under(
        &self,
        head: &TaskHead,
        step: &NewEvent<'_>,
        terms: Terms,
    ) -> Result<TaskHead, StoreError> {
        let reviews = reviews_of(head, step, terms.passed_on)?;
        let snapshot = self.wants_snapshot(head, step.task).then(|| json(&step.task.save())).transpose()?;
        let happening = Happening {
            operation: step.operation,
            at: step.at,
            decision: step.decision.map(json).transpose()?,
            change: json(&step.task.change_since(step.before))?,
            once: step.once.as_ref(),
            snapshot,
            labels: Vec::new(),
            reviews,
            terms,
        };
        let task = step.task;
        self.put(head, (task.state().as_str(), task.policy().fingerprint()), happening)
    }

    /// The number of the last turn of a switch. One row.
    ///
    /// # Errors
    /// Those of the database.
    pub fn switches_version(&self) -> Result<u64, StoreError> {
        self.database.read(switches::version)
    }

    /// Whether the whole task is to be stored with its next event: now and then, and when another policy has changed more
    /// than its steps say.
    fn wants_snapshot(&self, head: &TaskHead, task: &Task) -> bool {
        let is_due = head.version.saturating_add(1).is_multiple_of(self.limits.max_events_to_replay.max(1));
        is_due || head.fingerprint != task.policy().fingerprint()
    }

    /// The rows of one page, one at least: nobody would come to an end otherwise.
    pub(super) fn max_page(&self) -> usize {
        self.limits.max_page.max(1)
    }

    /// The rows of one page, as a value.
    pub(super) fn page(&self, limit: usize) -> SqlValue<'static> {
        (limit.min(self.max_page()) as u64).into()
    }
}

/// What is asked of a store of tasks. After an error of [`StoredTasks::append`] the task in memory is ahead of the store: let
/// go of it and load it anew.
impl StoredTasks {
    /// Stores a task that has just started, as its first event.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] for an id or a request that this owner has already, [`StoreError::Purged`] for the id
    /// of a task that was purged, and those of the database.
    pub fn create(
        &self,
        owner: &Owner,
        task: &Task,
        at: Timestamp,
        once: Option<Once>,
    ) -> Result<TaskHead, StoreError> {
        self.create_under(owner, task, at, once, None)
    }

    /// Stores a step; durable when it returns.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the task is not at this version any more, [`StoreError::AlreadyExists`] if the request
    /// was answered already: [`StoredTasks::answer`] has it. Those of the database; of [`StoreError::Uncertain`] the
    /// step may have been stored.
    ///
    /// # Cost
    /// Linear in the change of the step; once in `max_events_to_replay` steps, linear in the task.
    pub fn append(&self, head: &TaskHead, step: &NewEvent<'_>) -> Result<TaskHead, StoreError> {
        self.append_under(head, step, Terms::default())
    }

    /// The task after its last step.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], also for another owner's; [`StoreError::Purged`] if it was there once;
    /// [`StoreError::Corrupt`] with the task and the event.
    ///
    /// # Cost
    /// Linear in the task, and at most `max_events_to_replay` events.
    pub fn load(&self, owner: &Owner, id: &str) -> Result<LoadedTask, StoreError> {
        self.database.read(|sql| stored_task(sql, owner, id, &self.limits))
    }

    /// The number of a task's last event, to see whether a copy in memory is still the latest. Reads one row.
    ///
    /// # Errors
    /// As [`StoredTasks::load`].
    pub fn version(&self, owner: &Owner, id: &str) -> Result<u64, StoreError> {
        self.database.read(|sql| Ok(task_row(sql, owner, id)?.version))
    }

    /// The stored answer to a request on a task, or without a task, to a request that created one.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], and those of the database.
    pub fn answer(&self, owner: &Owner, task: Option<&str>, key: &str) -> Result<Option<Once>, StoreError> {
        self.database.read(|sql| stored_answer(sql, owner, task.unwrap_or_default(), key))
    }

    /// The tasks of an owner by id, those after this one, at most so many and at most `max_page`.
    ///
    /// # Errors
    /// As [`StoredTasks::load`].
    pub fn tasks(
        &self,
        owner: &Owner,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<TaskSummary>, StoreError> {
        let statement = format!("SELECT {TASK} FROM task WHERE owner = $1 AND id > $2 ORDER BY id LIMIT $3");
        let values = [owner.as_str().into(), after.unwrap_or_default().into(), self.page(limit)];
        let rows = self.database.read(|sql| sql.query(&statement, &values))?;
        rows.iter().map(|row| Ok(summary(row)?.1)).collect()
    }

    /// The events of a task after this number, at most so many and at most `max_page`.
    ///
    /// # Errors
    /// As [`StoredTasks::load`].
    pub fn events(
        &self,
        owner: &Owner,
        id: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let most = limit.min(self.max_page());
        self.database.read(|sql| stored_events(sql, owner, id, after, (most, &self.limits)))
    }

    /// The task as it was before one of its events, and that event; nothing before the first, which is its beginning, and nothing behind the last.
    ///
    /// # Errors
    /// As [`StoredTasks::load`].
    ///
    /// # Cost
    /// Linear in the events before it.
    pub fn before_event(
        &self,
        owner: &Owner,
        id: &str,
        version: u64,
    ) -> Result<Option<(SavedTask, StoredEvent)>, StoreError> {
        let mut found = None;
        self.each_event(owner, id, |before, event| {
            if event.version == version {
                found = Some((before.clone(), event.clone()));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Goes through the events of a task behind its beginning, each with the task as it was before it, until `each` has enough.
    ///
    /// # Errors
    /// As [`StoredTasks::load`].
    ///
    /// # Cost
    /// Linear in the events.
    pub fn each_event(
        &self,
        owner: &Owner,
        id: &str,
        mut each: impl FnMut(&SavedTask, &StoredEvent) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let altered = || StoreError::Corrupt(messages::altered_task(id));
        let mut task: Option<SavedTask> = None;
        let mut after = 0;
        loop {
            let events = self.events(owner, id, after, self.max_page())?;
            if events.is_empty() {
                return Ok(());
            }
            for event in events {
                after = event.version;
                task = Some(match task {
                    Some(task) => {
                        if each(&task, &event).is_break() {
                            return Ok(());
                        }
                        let change = serde_json::from_str(&event.change).map_err(|_| altered())?;
                        task.apply(change).map_err(|_| altered())?
                    }
                    None => serde_json::from_str(&event.change).map_err(|_| altered())?,
                });
            }
        }
    }

    /// Takes a task away for good: its events, its snapshot and its answers, in one transaction. What is left is the
    /// tombstone. A writer that has the task in memory is told [`StoreError::Purged`] when it writes.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], also for another owner's; [`StoreError::Purged`] if that was done before;
    /// [`StoreError::NotStorable`] for a reason that is empty or too long.
    ///
    /// # Cost
    /// Linear in the task.
    pub fn purge(&self, owner: &Owner, id: &str, purge: &Purge<'_>) -> Result<Tombstone, StoreError> {
        self.purge_due(owner, id, purge, None, |_| None)
    }

    /// The tombstone of a purged task; `None` if the task is stored or never was. Reads one row.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], and those of the database.
    pub fn tombstone(&self, owner: &Owner, id: &str) -> Result<Option<Tombstone>, StoreError> {
        self.database.read(|sql| tombstones::tombstone(sql, owner.as_str(), id))
    }

    /// Reads everything and tests every digest, and the database its own pages. Linear in all that is stored.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] with the first place where something is wrong.
    pub fn verify(&self) -> Result<Verified, StoreError> {
        verify::all(&self.database, &self.limits, self.max_page() as u64)
    }
}

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|_| StoreError::NotStorable(messages::NOT_JSON))
}
