//! `celador store purge`: all rows of a task go, a tombstone stays.

use super::log::Log;
use super::{ExitCode, Failure, Format, Operator, Screen, clock, messages, owner_of, store_and_task, tasks};
use celador::cel::Timestamp;
use celador_store::StoreLimits;
use celador_store::{Age, DueLine, Fate, Owner, Retention, StoreError, StoredTasks, TaskSummary};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Purge a task, or all tasks that ended long ago: all of their rows go, tombstones stay
///
/// The same as `DELETE /v1/tasks/{task}`, each task in a transaction of its own. Servers that have it in memory learn of it at
/// its next step. The line for the decision log is written to `--decision-log`, or by the first server with a log that finds
/// it.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador store purge celador-data/celador.db 5c1f… --reason 'asked for by the customer'
  celador store purge celador-data/celador.db --older-than 30d --reason 'our retention' --dry-run
  CELADOR_STORE=postgres://celador@db/celador celador store purge --older-than 30d --reason 'our retention'

Environment:
  CELADOR_STORE   the store, if none is named

Exit codes: 0 purged (with --older-than also if there was nothing to purge), 2 there is no such task, 1 it could not be done.")]
pub(super) struct Purge {
    /// The store (a file, or `postgres://…`; `CELADOR_STORE` if left out), then the task's id unless there is `--older-than`
    #[arg(value_names = ["STORE", "TASK"], num_args = 0..=2)]
    named: Vec<String>,

    /// All tasks that ended longer ago than this, such as `30d` or `12h`; those that have not ended stay
    #[arg(long, value_name = "AGE")]
    older_than: Option<Age>,

    /// Why; kept in the tombstones
    #[arg(long, value_name = "TEXT")]
    reason: String,

    #[command(flatten)]
    operator: Operator,

    /// Whose tasks; needed if several callers have a task of this id, empty for nobody's
    #[arg(long, value_name = "CALLER")]
    owner: Option<String>,

    /// Say what would go, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// The decision log to write to; no server may have it open
    #[arg(long, value_name = "FOLDER")]
    decision_log: Option<PathBuf>,
}

/// What a command did, or would have done.
#[derive(Default)]
struct Total {
    tasks: u64,
    events: u64,
}

/// One purge after the other, on the word of one operator.
struct Work<'w> {
    tasks: &'w StoredTasks,
    at: Timestamp,
    who: &'w str,
    reason: &'w str,
    dry_run: bool,
    total: Total,
}

impl Purge {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = StoreLimits::default();
        let (mut named, at) = (self.named, clock::now(None)?);
        let (store, id) = match (self.older_than, named.len()) {
            (Some(_), 0 | 1) => (named.pop(), None),
            (None, 1 | 2) => {
                let (store, id) = store_and_task(named);
                (store, Some(id))
            }
            _ => return Err(Failure::Unusable(messages::task_or_age())),
        };
        let tasks = tasks(store, &limits)?;
        let log = Log::open(self.decision_log.filter(|_| !self.dry_run), at)?;
        let who = self.operator.name();
        let total = Total::default();
        let mut work =
            Work { tasks: &tasks, at, who: &who, reason: &self.reason, dry_run: self.dry_run, total };
        let done = match (&id, self.older_than) {
            (Some(id), _) => work.one(id, self.owner, screen),
            (None, Some(age)) => work.all(age, self.owner.as_deref(), limits.max_page, screen),
            (None, None) => Ok(ExitCode::No),
        };
        // also where it stopped half way: what was purged is to be in the log and nowhere else
        if !self.dry_run && work.total.tasks > 0 {
            tasks.database().empty_log().map_err(|error| Failure::Unusable(error.to_string()))?;
            log.write(tasks.database())?;
        }
        let code = done?;
        let Total { tasks, events } = work.total;
        match screen.format() {
            Format::Human if code == ExitCode::Yes => {
                screen.line(&messages::purged_in_all(self.dry_run, tasks, events))?;
            }
            Format::Human => {}
            Format::Json => {
                let total = json!({ "tasks": tasks, "events": events, "dry_run": self.dry_run });
                screen.json("total", total)?;
            }
        }
        Ok(code)
    }
}

impl Work<'_> {
    /// Purges the task of an id.
    fn one(&mut self, id: &str, owner: Option<String>, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let unusable = |error: StoreError| Failure::Unusable(messages::about_task(id, &error));
        let found = match owner_of(self.tasks, id, owner)? {
            Some(owner) => self.tasks.summary(&owner, id).map(|task| (owner, task)),
            None => Err(StoreError::NotFound),
        };
        let purged = found.and_then(|(owner, task)| Ok((self.purge(&owner, &task, None)?, owner, task)));
        match purged {
            Ok((_, owner, task)) => {
                self.show(&owner, &task, screen)?;
                Ok(ExitCode::Yes)
            }
            Err(error @ (StoreError::NotFound | StoreError::Purged)) => {
                screen.error(&messages::about_task(id, &error));
                Ok(ExitCode::No)
            }
            Err(error) => Err(unusable(error)),
        }
    }

    /// Purges the tasks that ended longer ago than an age.
    fn all(
        &mut self,
        age: Age,
        owner: Option<&str>,
        page: usize,
        screen: &mut Screen,
    ) -> Result<ExitCode, Failure> {
        let rule = Retention { ended_tasks: Some(age), ..Retention::default() };
        let mut last: Option<(Owner, String)> = None;
        loop {
            let after = last.as_ref().map(|(owner, id)| (owner, &**id));
            let found = self.tasks.all(after, page);
            let found = found.map_err(|error| Failure::Unusable(error.to_string()))?;
            let Some((end, task)) = found.last() else { return Ok(ExitCode::Yes) };
            last = Some((end.clone(), task.id.clone()));
            for (of, task) in &found {
                let is_meant = owner.is_none_or(|owner| of.as_str() == owner);
                if !is_meant || rule.fate(task, self.at) != Fate::Purge {
                    continue;
                }
                match self.purge(of, task, Some(task.version)) {
                    Ok(()) => self.show(of, task, screen)?,
                    // somebody else was first
                    Err(StoreError::NotFound | StoreError::Purged | StoreError::Conflict { .. }) => {}
                    Err(error) => return Err(Failure::Unusable(messages::about_task(&task.id, &error))),
                }
            }
        }
    }

    fn purge(&mut self, owner: &Owner, task: &TaskSummary, expected: Option<u64>) -> Result<(), StoreError> {
        if !self.dry_run {
            let purge = celador_store::Purge { at: self.at, who: self.who, reason: self.reason };
            let due = |line| Some(DueLine::for_any_log(line));
            self.tasks.purge_due(owner, &task.id, &purge, expected, due)?;
        }
        self.total.tasks = self.total.tasks.saturating_add(1);
        self.total.events = self.total.events.saturating_add(task.version);
        Ok(())
    }

    fn show(&self, owner: &Owner, task: &TaskSummary, screen: &mut Screen) -> Result<(), Failure> {
        let TaskSummary { id, namespace, agent, state, changed_at, version, .. } = task;
        match screen.format() {
            Format::Human => {
                let owner = if owner.as_str().is_empty() { "-" } else { owner.as_str() };
                let what = if self.dry_run { "would be purged" } else { "purged" };
                screen.line(&format!(
                    "{what}: {owner} {id} {namespace}/{agent} {state} {changed_at} {version} event(s)"
                ))?;
            }
            Format::Json => {
                let row = json!({
                    "owner": owner.as_str(), "task": id, "namespace": namespace, "agent": agent, "state": state,
                    "changed_at": changed_at, "events": version, "dry_run": self.dry_run
                });
                screen.json("purged", row)?;
            }
        }
        Ok(())
    }
}
