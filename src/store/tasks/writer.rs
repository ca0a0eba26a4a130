//! Group commit: those who wait to write share one transaction, and one sync of the disk.
//!
//! In: writes to tasks, each from a thread that waits. Out: to each of them its own answer, when the transaction that it was
//! in is durable. A write that fails takes none of the others with it. Writes go in the order of their tasks, so that two
//! processes do not wait for each other in turn. While one transaction commits, the next gathers: nobody waits for company.

use super::decision_lines::DueLine;
use super::labels::Label;
use super::reviews::{self, ReviewWrite};
use super::rows::TaskRow;
use super::switches::version;
use super::task_policies::PolicyWrite;
use super::task_records::{Facts, Once};
use super::tombstones::{missing, tombstone};
use crate::counters::{self, CounterWork, CounterWrite};
use crate::database::storable;
use crate::{Database, Location, Sql, SqlValue, StoreError, messages};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// One write, as its rows.
#[derive(Debug)]
pub(super) struct Write {
    /// The task after it.
    pub(super) row: TaskRow,
    pub(super) digest: String,
    /// The version that the task must have before; 0 of one that must not be there.
    pub(super) expected: u64,
    pub(super) expected_chain: String,
    pub(super) kind: &'static str,
    pub(super) decision: Option<String>,
    pub(super) change: String,
    /// The request that it answers, with the digest of that row.
    pub(super) once: Option<(Once, String)>,
    /// The whole task, with the digest of that row.
    pub(super) snapshot: Option<(String, String)>,
    /// What it is found by, of a task that begins.
    pub(super) labels: Vec<Label>,
    /// The version of the switches under which it was decided, if it must be the present one.
    pub(super) switches: Option<u64>,
    /// What a decision log is to hold of it.
    pub(super) due: Option<DueLine>,
    /// The policy that the task is under now, if that is to be said.
    pub(super) policy: Option<PolicyWrite>,
    /// What it does to counters.
    pub(super) counters: Option<CounterWrite>,
    /// The reviews that it opens or closes.
    pub(super) reviews: Vec<ReviewWrite>,
}

impl Write {
    /// What its task is found by.
    fn key(&self) -> (&str, &str) {
        (&self.row.owner, &self.row.facts.id)
    }

    /// What it does to counters, if it does anything. In: its place in its transaction.
    fn counter_work(&self, position: usize) -> Option<CounterWork<'_>> {
        let (owner, task) = self.key();
        self.counters.as_ref().map(|write| CounterWork { position, owner, task, write })
    }

    /// Whether every database takes it: asked before it joins others. JSON writes U+0000 in other characters.
    pub(super) fn storable(&self) -> Result<(), StoreError> {
        let once = self.once.iter().flat_map(|(once, _)| [&once.key, &once.request, &once.answer]);
        let due = self.due.iter().flat_map(|due| [&due.log, &due.line]);
        let decided = self.policy.iter().filter_map(|write| write.policy.decided.as_ref());
        let decided = decided.flat_map(|decided| [&decided.who, &decided.reason]);
        let texts = once.chain(due).chain(decided).chain([&self.row.owner, &self.row.facts.id]);
        storable(&texts.map(SqlValue::from).collect::<Vec<_>>())
    }
}

struct Job {
    write: Write,
    answer: SyncSender<Result<(), StoreError>>,
}

/// Who writes.
#[derive(Clone, Debug)]
pub(super) enum Writer {
    /// A thread, for all. When the last handle is gone it has ended, and what it held is closed.
    Together(Arc<Thread>),
    /// Whoever has something to write.
    Alone(Database),
}

#[derive(Debug)]
pub(super) struct Thread {
    jobs: Option<Sender<Job>>,
    handle: Option<JoinHandle<()>>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.jobs = None;
        // one that panicked has nothing to say any more
        let _ = self.handle.take().map(JoinHandle::join);
    }
}

impl Writer {
    /// A thread that writes at most so many at once. Where nothing is shared, be it that one write is the most or that there is no disk to share a sync
    /// of, each writes for themselves.
    pub(super) fn start(database: Database, most: usize) -> Self {
        if most <= 1 || *database.location() == Location::Memory {
            return Self::Alone(database);
        }
        let (jobs, receive) = channel();
        let handle = std::thread::spawn(move || run(&database, &receive, most));
        Self::Together(Arc::new(Thread { jobs: Some(jobs), handle: Some(handle) }))
    }

    /// Writes, and returns when it is durable.
    pub(super) fn write(&self, write: Write) -> Result<(), StoreError> {
        let gone = || StoreError::Unavailable(messages::CLOSED.into());
        let (answer, wait) = sync_channel(1);
        let job = Job { write, answer };
        match self {
            Self::Together(thread) => {
                let jobs = thread.jobs.as_ref().ok_or_else(gone)?;
                jobs.send(job).map_err(|_| gone())?;
            }
            Self::Alone(database) => commit(database, vec![job]),
        }
        // a thread that ended before it answered may have written all the same
        wait.recv().unwrap_or(Err(StoreError::Uncertain))
    }
}

fn run(database: &Database, jobs: &Receiver<Job>, most: usize) {
    while let Ok(first) = jobs.recv() {
        let mut batch = vec![first];
        batch.extend(jobs.try_iter().take(most.saturating_sub(1)));
        batch.sort_by(|a, b| a.write.key().cmp(&b.write.key()));
        commit(database, batch);
    }
}

/// Commits a batch and answers all of it.
fn commit(database: &Database, mut batch: Vec<Job>) {
    // told last: who was first in the same transaction is found by then
    let mut late = Vec::new();
    while !batch.is_empty() {
        let mut refused = Vec::new();
        let done = database.write_rows(|sql| {
            refused.clear();
            let matters = batch.iter().any(|job| job.write.switches.is_some());
            let turned = if matters { Some(version(sql)?) } else { None };
            let works: Vec<CounterWork<'_>> = works_of(&batch, |_| true);
            let stale = counters::stale(sql, &works)?;
            for (position, job) in batch.iter().enumerate() {
                if job.write.switches.is_some() && job.write.switches != turned {
                    refused.push((position, StoreError::SwitchesTurned));
                    continue;
                }
                if stale.contains(&position) {
                    refused.push((position, StoreError::CountersMoved));
                    continue;
                }
                match put(sql, &job.write) {
                    Ok(()) => {}
                    Err(Refusal::Clean(error)) => refused.push((position, error)),
                    Err(Refusal::Dirty(error)) => {
                        refused.push((position, error.clone()));
                        return Err(error);
                    }
                }
            }
            let is_refused = |position: usize, refused: &[(usize, StoreError)]| {
                refused.iter().any(|(at, _)| *at == position)
            };
            // behind the rows of all tasks, and in the order of their keys
            let works = works_of(&batch, |position| !is_refused(position, &refused));
            let conflicts = counters::put(sql, &works)?;
            if let Some((_, error)) = conflicts.first().cloned() {
                refused.extend(conflicts);
                refused.sort_by_key(|(position, _)| *position);
                return Err(error);
            }
            // behind the rows of all tasks, so that whoever waits for the count holds what nobody with the count waits for
            for (position, job) in batch.iter().enumerate() {
                if !is_refused(position, &refused)
                    && let Err(error) = reviews::put(sql, &job.write.reviews)
                {
                    refused.push((position, error.clone()));
                    return Err(error);
                }
            }
            Ok(())
        });
        match done {
            Ok(()) => {
                let mut refused = refused.into_iter().peekable();
                for (position, job) in batch.drain(..).enumerate() {
                    let refusal = refused.next_if(|(at, _)| *at == position);
                    answer(job, refusal.map_or(Ok(()), |(_, error)| Err(error)));
                }
            }
            Err(StoreError::Uncertain) => {
                batch.drain(..).for_each(|job| {
                    let there = is_there(database, &job.write);
                    answer(job, if there { Ok(()) } else { Err(StoreError::Uncertain) });
                });
            }
            // the others go without the one that stands in the way
            Err(error) if !error.is_temporary() && !refused.is_empty() => {
                for (position, error) in refused.into_iter().rev() {
                    if position < batch.len() {
                        late.push((batch.remove(position), error));
                    }
                }
            }
            Err(error) => {
                batch.drain(..).for_each(|job| answer(job, Err(error.clone())));
            }
        }
    }
    late.into_iter().for_each(|(job, error)| answer(job, Err(error)));
}

/// What some jobs of a batch do to counters, with their places in it.
fn works_of(batch: &[Job], is_in: impl Fn(usize) -> bool) -> Vec<CounterWork<'_>> {
    let jobs = batch.iter().enumerate().filter(|(position, _)| is_in(*position));
    jobs.filter_map(|(position, job)| job.write.counter_work(position)).collect()
}

fn answer(job: Job, result: Result<(), StoreError>) {
    // one who does not wait any more does not need it
    let _ = job.answer.send(result);
}

/// Why a write is not done.
enum Refusal {
    /// It has left no trace in the transaction.
    Clean(StoreError),
    /// It has: the transaction is of no use.
    Dirty(StoreError),
}

fn put(sql: &mut Sql<'_>, write: &Write) -> Result<(), Refusal> {
    let is_there = head(sql, write).map_err(Refusal::Dirty)?;
    is_there.map_err(Refusal::Clean)?;
    rest(sql, write).map_err(Refusal::Dirty)
}

/// The row of the task: what decides who was first.
fn head(sql: &mut Sql<'_>, write: &Write) -> Result<Result<(), StoreError>, StoreError> {
    let Write { row, expected, expected_chain, digest, .. } = write;
    let TaskRow {
        owner,
        facts: Facts { id, namespace, agent, started_at },
        state,
        changed_at,
        version,
        chain,
    } = row;
    let key: [SqlValue<'_>; 2] = [owner.into(), id.into()];
    let now = [state.into(), changed_at.into(), (*version).into(), chain.into(), digest.into()];
    if *expected == 0 {
        let facts = [namespace.into(), agent.into(), started_at.into()];
        let made = sql.execute(
            "INSERT INTO task (owner, id, namespace, agent, started_at, state, changed_at, version, chain, digest) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING",
            &[&key[..], &facts, &now].concat(),
        )?;
        if made != 1 {
            return Ok(Err(StoreError::AlreadyExists));
        }
        // looked for behind the insert, which waits for whoever takes a task of this id away just now
        if tombstone(sql, owner, id)?.is_some() {
            sql.execute("DELETE FROM task WHERE owner = $1 AND id = $2", &key)?;
            return Ok(Err(StoreError::Purged));
        }
        return Ok(Ok(()));
    }
    let before = [(*expected).into(), expected_chain.into()];
    let changed = sql.execute(
        "UPDATE task SET state = $3, changed_at = $4, version = $5, chain = $6, digest = $7 \
         WHERE owner = $1 AND id = $2 AND version = $8 AND chain = $9",
        &[&key[..], &now, &before].concat(),
    )?;
    if changed == 1 {
        return Ok(Ok(()));
    }
    let found = sql.query_one("SELECT version FROM task WHERE owner = $1 AND id = $2", &key)?;
    Ok(Err(match found {
        Some(row) => StoreError::Conflict { expected: *expected, found: row.count(0)? },
        None => missing(sql, owner, id),
    }))
}

/// The event itself, the answer, and the snapshot.
fn rest(sql: &mut Sql<'_>, write: &Write) -> Result<(), StoreError> {
    let TaskRow { owner, facts: Facts { id: task, .. }, version, chain, changed_at: at, .. } = &write.row;
    if let Some(due) = &write.due {
        due.put(sql, owner, task, *version)?;
    }
    let decision: SqlValue<'_> = write.decision.as_ref().into();
    let change = (&write.change).into();
    sql.execute(
        "INSERT INTO task_event (owner, task, version, at, kind, decision, change, chain) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        &[
            owner.into(),
            task.into(),
            (*version).into(),
            at.into(),
            write.kind.into(),
            decision,
            change,
            chain.into(),
        ],
    )?;
    if let Some((Once { key, request, answer }, digest)) = &write.once {
        // that of a creation is looked for by whoever does not know the task's id yet
        let task = if write.expected == 0 { "" } else { task };
        let made = sql.execute(
            "INSERT INTO task_answer (owner, task, key, request, answer, at, digest) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
            &[owner.into(), task.into(), key.into(), request.into(), answer.into(), at.into(), digest.into()],
        )?;
        if made == 0 {
            return Err(StoreError::AlreadyExists);
        }
    }
    write.labels.iter().try_for_each(|label| label.put(sql, owner, task))?;
    if let Some(policy) = &write.policy {
        policy.put(sql, owner, task)?;
    }
    if let Some((saved, digest)) = &write.snapshot {
        sql.execute(
            "INSERT INTO task_snapshot (owner, task, version, saved, chain, digest) VALUES ($1, $2, $3, $4, $5, $6) \
             ON CONFLICT (owner, task) DO UPDATE SET version = excluded.version, saved = excluded.saved, \
             chain = excluded.chain, digest = excluded.digest",
            &[owner.into(), task.into(), (*version).into(), saved.into(), chain.into(), digest.into()],
        )?;
    }
    Ok(())
}

/// Whether a write that nobody heard of is there.
fn is_there(database: &Database, write: &Write) -> bool {
    let TaskRow { owner, facts: Facts { id: task, .. }, version, chain, .. } = &write.row;
    let key = [owner.into(), task.into(), (*version).into(), chain.into()];
    let statement = "SELECT 1 FROM task_event WHERE owner = $1 AND task = $2 AND version = $3 AND chain = $4";
    let rows = database.read(|sql| sql.query(statement, &key));
    rows.is_ok_and(|rows| !rows.is_empty())
}
