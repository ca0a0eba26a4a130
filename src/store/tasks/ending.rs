//! Ending a task in its store, for whoever has no server at hand: an operator, or a rule about idle tasks.
//!
//! In: whose task, why and on whose word. Out: the same event that the engine would have made, and the line that a decision
//! log is to have of it, in one transaction. A task that waits for nothing is ended without its policy; one that waits needs
//! it, so that what waits is taken back as it should be.

use super::decision_lines::DueLine;
use super::owner::Owner;
use super::task_records::{NewEvent, OperationKind, TaskHead};
use super::tombstones::check_reason;
use super::{StoredTasks, Terms};
use crate::StoreError;
use crate::decision_log::{LogEntry, Stored};
use celador::cel::Timestamp;
use celador::engine::Engine;
use celador::manifest::Catalog;
use celador::manifest::mode::Mode;
use celador::task::{Decision, TerminationReason};
use std::time::Duration;

/// Why a task is ended, and who asked for it.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'e> {
    /// When.
    pub at: Timestamp,
    /// Who asked for it: the name that an operator gives, or the rule.
    pub who: &'e str,
    /// Why, in their words: at least one byte and at most `max_reason_bytes`.
    pub reason: &'e str,
    /// Whether it ends because the task that had delegated to it did ([`Task::end_with_parent`](celador::task::Task::end_with_parent)).
    pub with_parent: bool,
    /// The version that the task must have, if that matters.
    pub expected: Option<u64>,
}

/// A task that was ended.
///
/// ```
/// use celador::{Engine, EngineLimits, StartTask, User};
/// use celador_store::decision_log::{DecisionLog, LogSettings, Stored};
/// use celador_store::{Database, Ended, Ending, Location, Owner, StoreError, StoreLimits, StoredTasks};
/// use std::time::Duration;
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let limits = StoreLimits::default();
/// # let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
/// # let folder = std::env::temp_dir().join(format!("celador-ended-{}", std::process::id()));
///
/// let owner = Owner::caller("desk");
/// let task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// tasks.create(&owner, &task, now, None)?;
///
/// // an operator ends it, if it has taken no step since they looked at it
/// let ending = Ending { at: now, who: "kim", reason: "The order was cancelled.", with_parent: false, expected: Some(1) };
/// let ended: Ended = tasks.end(&owner, "t-1", &ending, None, |_| None)?;
/// assert_eq!((ended.head.version(), ended.decision.verdict.kind().as_str()), (2, "terminate"));
/// assert_eq!(tasks.end(&owner, "t-1", &ending, None, |_| None).err(), Some(StoreError::Conflict { expected: 1, found: 2 }));
///
/// // the line of the log names the event, so that log and store can be compared
/// let entry = ended.entry(&ending, Duration::from_millis(2));
/// let stored = Stored { owner: "desk", version: 2, event: Some(ended.head.digest()) };
/// assert_eq!((entry.who, entry.reason, &entry.stored), (Some("kim"), Some(ending.reason), &Some(stored)));
/// assert_eq!(DecisionLog::open(LogSettings::new(&folder), now)?.record(&entry)?, 1);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ended {
    /// The task after its end.
    pub head: TaskHead,
    /// The decision of its last event.
    pub decision: Decision,
}

impl Ended {
    /// Its entry for a decision log. `took` is the time that it took.
    #[must_use]
    pub fn entry<'e>(&'e self, ending: &Ending<'e>, took: Duration) -> LogEntry<'e> {
        let stored = Stored { event: Some(self.head.digest()), ..stored(&self.head, self.head.version()) };
        LogEntry { took, stored: Some(stored), ..entry(&self.head, &self.decision, ending) }
    }
}

impl StoredTasks {
    /// Ends a task as [`Task::end`](celador::task::Task::end) does. What `due` answers is stored with the end: it is given what
    /// a decision log is to say of it. A task that waits in the middle of its policy needs it: from this engine, or from the
    /// manifests that the store keeps for the task.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] and [`StoreError::Purged`]; [`StoreError::HasEnded`] if it has; [`StoreError::Waits`] if it
    /// waits and its policy cannot be had; [`StoreError::Conflict`] if it is not at the version that is expected,
    /// or takes a step meanwhile; [`StoreError::NotStorable`] for a reason that is empty or too long; those of the database.
    ///
    /// # Cost
    /// Linear in the task, as opening it is.
    pub fn end(
        &self,
        owner: &Owner,
        id: &str,
        ending: &Ending<'_>,
        engine: Option<&Engine>,
        due: impl FnOnce(String) -> Option<DueLine>,
    ) -> Result<Ended, StoreError> {
        check_reason(ending.reason, self.limits().engine.max_reason_bytes)?;
        let loaded = self.load(owner, id)?;
        let (saved, head) = (loaded.saved, loaded.head);
        if let Some(expected) = ending.expected.filter(|expected| *expected != head.version()) {
            return Err(StoreError::Conflict { expected, found: head.version() });
        }
        if saved.has_ended() {
            return Err(StoreError::HasEnded);
        }
        let line = |decision: &Decision| {
            let stored = stored(&head, head.version().saturating_add(1));
            let entry = LogEntry { stored: Some(stored), ..entry(&head, decision, ending) };
            due(serde_json::to_string(&entry).unwrap_or_default())
        };
        let cause = if ending.with_parent {
            TerminationReason::EndedWithParent
        } else {
            TerminationReason::EndedByHost
        };
        if let Some(ended) = saved.ending(cause, ending.reason) {
            let due = line(&ended.1);
            let head = self.put_end(&head, ending.at, &ended, due)?;
            return Ok(Ended { head, decision: ended.1 });
        }
        let given = engine.and_then(|engine| engine.restore(saved.clone()).ok());
        let kept = || self.kept_engine(&head).and_then(|engine| engine.restore(saved).ok());
        let mut task = given.or_else(kept).ok_or(StoreError::Waits)?;
        let before = task.mark();
        let decision = match cause {
            TerminationReason::EndedWithParent => task.end_with_parent(ending.reason, ending.at),
            _ => task.end(ending.reason, ending.at),
        };
        let counters = task.take_counter_changes();
        let step = NewEvent {
            operation: OperationKind::End,
            at: ending.at,
            task: &task,
            before: &before,
            decision: Some(&decision),
            once: None,
        };
        let due = line(&decision);
        let head = self.append_under(&head, &step, Terms { due, counters, ..Terms::default() })?;
        Ok(Ended { head, decision })
    }

    /// An engine with the manifests that the store keeps for a task.
    fn kept_engine(&self, head: &TaskHead) -> Option<Engine> {
        let digest = head.policy.as_ref()?.manifests.as_ref()?;
        let files = self.manifests(digest).ok()??.files().ok()?;
        let catalog = Catalog::parse(&files, &self.limits().engine).0.with_declared_functions();
        let catalog = match self.hash_key() {
            Some(key) => catalog.with_hash_key(key.clone()),
            None => catalog,
        };
        Some(Engine::kept_from_catalog(&catalog, Mode::Enforce, self.limits().engine).0)
    }
}

fn stored(head: &TaskHead, version: u64) -> Stored<'_> {
    Stored { owner: head.owner().as_str(), version, event: None }
}

fn entry<'e>(head: &'e TaskHead, decision: &'e Decision, ending: &Ending<'e>) -> LogEntry<'e> {
    let entry = LogEntry {
        at: ending.at,
        who: Some(ending.who).filter(|who| !who.is_empty()),
        task: head.id(),
        stored: None,
        namespace: &head.facts.namespace,
        agent: &head.facts.agent,
        policy: head.fingerprint,
        operation: OperationKind::End.as_str(),
        function: None,
        verdict: "",
        step: None,
        policy_step: None,
        limit: None,
        ended: None,
        switch: None,
        reason: Some(ending.reason),
        decided: &[],
        observed: &[],
        exceptions: &[],
        enforced: None,
        terms: None,
        cost: 0,
        took: Duration::ZERO,
        content: None,
    };
    entry.of(decision)
}
