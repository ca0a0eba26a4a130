//! The rows of tasks: what of them is digested, and how they are read.
//!
//! In: columns. Out: rows that are what was written, or [`StoreError::Corrupt`] with the task and the event. The digest of
//! an event is made of its columns and of the digest before it, so an event that was changed, taken away or put elsewhere
//! is found by whoever reads a later one.

use super::owner::Owner;
use super::task_records::{Facts, OperationKind, StoredEvent, TaskSummary};
use crate::row_digest::digest;
use crate::{Row, StoreError, messages};

/// A row of `task`.
#[derive(Debug)]
pub(super) struct TaskRow {
    pub(super) owner: String,
    pub(super) facts: Facts,
    pub(super) state: String,
    pub(super) changed_at: String,
    pub(super) version: u64,
    pub(super) chain: String,
}

/// Its columns, in the order in which [`TaskRow::read`] takes them.
pub(super) const TASK: &str =
    "owner, id, namespace, agent, started_at, state, changed_at, version, chain, digest";

impl TaskRow {
    pub(super) fn digest(&self) -> String {
        let Facts { id, namespace, agent, started_at } = &self.facts;
        let version = self.version.to_string();
        let changing = [&*self.state, &self.changed_at, &version, &self.chain];
        digest(&[&[&*self.owner, id, namespace, agent, started_at], &changing[..]].concat())
    }

    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let text = |column| row.text(column).map(str::to_owned);
        let facts = Facts { id: text(1)?, namespace: text(2)?, agent: text(3)?, started_at: text(4)? };
        let owner = text(0)?;
        let read = Self {
            owner,
            facts,
            state: text(5)?,
            changed_at: text(6)?,
            version: row.count(7)?,
            chain: text(8)?,
        };
        if row.text(9)? != read.digest() {
            return Err(StoreError::Corrupt(messages::altered_task(&read.facts.id)));
        }
        Ok(read)
    }
}

/// What an event adds to the chain of a task.
pub(super) struct EventLink<'e> {
    pub(super) owner: &'e str,
    pub(super) task: &'e str,
    pub(super) version: u64,
    pub(super) at: &'e str,
    pub(super) kind: &'e str,
    pub(super) decision: Option<&'e str>,
    pub(super) change: &'e str,
}

impl EventLink<'_> {
    /// The digest of the event after the one before it; of the first that is empty.
    pub(super) fn chain(&self, before: &str) -> String {
        let Self { owner, task, version, at, kind, decision, change } = *self;
        let decided = if decision.is_some() { "1" } else { "0" };
        let version = version.to_string();
        digest(&[before, owner, task, &version, at, kind, decided, decision.unwrap_or_default(), change])
    }
}

/// The columns of `task_event`, in the order in which [`read_events`] takes them.
pub(super) const EVENT: &str = "version, at, kind, decision, change, chain";

/// Events that follow one another, and the digest of the last of them.
pub(super) struct Events {
    pub(super) events: Vec<StoredEvent>,
    pub(super) version: u64,
    pub(super) chain: String,
}

/// The events that follow a version with this digest.
pub(super) fn read_events(
    owner: &Owner,
    task: &str,
    (mut version, mut chain): (u64, String),
    rows: &[Row],
) -> Result<Events, StoreError> {
    let mut events = Vec::with_capacity(rows.len());
    for row in rows {
        version = version.saturating_add(1);
        let link = EventLink {
            owner: owner.as_str(),
            task,
            version,
            at: row.text(1)?,
            kind: row.text(2)?,
            decision: row.optional_text(3)?,
            change: row.text(4)?,
        };
        chain = link.chain(&chain);
        let operation = OperationKind::parse(link.kind);
        let (Some(operation), true) = (operation, row.count(0)? == version && row.text(5)? == chain) else {
            return Err(altered(task, version));
        };
        events.push(StoredEvent {
            version,
            at: link.at.to_owned(),
            operation,
            decision: link.decision.map(str::to_owned),
            change: link.change.to_owned(),
        });
    }
    Ok(Events { events, version, chain })
}

pub(super) fn altered(task: &str, version: u64) -> StoreError {
    StoreError::Corrupt(messages::altered_event(task, version))
}

/// The digest of a snapshot.
pub(super) fn snapshot_digest(owner: &str, task: &str, version: u64, saved: &str, chain: &str) -> String {
    digest(&[owner, task, &version.to_string(), saved, chain])
}

/// The digest of an answer.
pub(super) fn answer_digest(owner: &str, task: &str, key: &str, request: &str, answer: &str) -> String {
    digest(&[owner, task, key, request, answer])
}

pub(super) fn summary(row: &Row) -> Result<(Owner, TaskSummary), StoreError> {
    let TaskRow { owner, facts, state, changed_at, version, .. } = TaskRow::read(row)?;
    let Facts { id, namespace, agent, started_at } = facts;
    let task = TaskSummary { id, namespace, agent, state, started_at, changed_at, version };
    Ok((Owner::caller(&owner), task))
}
