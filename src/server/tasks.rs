//! The tasks that callers have: those in memory, and the store behind them.
//!
//! In: a step of a task. Out: an answer that the store has on disk. Each task has a lock of its own, held from the decision
//! until it is durable, and no other is taken on the way. What another process did meanwhile is a conflict: the task is
//! opened again and the step decided anew. What the store did not take leaves nothing in memory. A caller's tasks are found
//! under his name only, in memory and in the store.

use super::identity::Caller;
use super::ledger::{Kept, Ledger, LedgerError};
use super::manifests::Manifests;
use super::metrics::Metrics;
use super::problem::{Kind, Problem};
use super::recorder::{Recorder, Taken};
use super::request::{Answer, Request};
use super::service::Clock;
use super::settings::Settings;
use super::steps::{Circumstances, Step};
use crate::cel::Json;
use crate::limits::ServerLimits;
use crate::task::{Progress, StartTask, Task};
use axum::http::HeaderName;
use axum::http::header::LOCATION;
use quick_cache::sync::Cache;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// Says that an answer was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The owner and the id.
type Key = (Option<String>, String);

/// A task in memory; nothing while nobody has opened it.
type Seat = Mutex<Option<Open>>;

struct Open {
    task: Task,
    version: u64,
}

/// The tasks of all callers.
pub(super) struct Tasks {
    ledger: Ledger,
    manifests: Arc<Manifests>,
    recorder: Recorder,
    clock: Clock,
    live: Cache<Key, Arc<Seat>>,
    limits: ServerLimits,
    namespaces: BTreeMap<String, BTreeMap<String, Json>>,
    no_settings: BTreeMap<String, Json>,
}

/// What became of a step.
#[derive(Serialize)]
struct Stepped<'p> {
    task: &'p str,
    version: u64,
    #[serde(flatten)]
    progress: Shown<'p>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Shown<'p> {
    Decided(&'p crate::task::Decision),
    Asks(&'p crate::task::Request),
}

/// A task that was created.
#[derive(Serialize)]
struct Created<'t> {
    task: &'t str,
    version: u64,
}

/// The tasks of a caller, in the order of their ids.
#[derive(Serialize)]
pub(super) struct Page {
    tasks: Vec<Listed>,
    /// What to ask for next; nothing at the end.
    next: Option<String>,
}

#[derive(Serialize)]
struct Listed {
    task: String,
    version: u64,
}

impl Tasks {
    /// No task in memory.
    pub(super) fn new(
        ledger: Ledger,
        manifests: Arc<Manifests>,
        recorder: Recorder,
        clock: Clock,
        settings: &Settings,
    ) -> Self {
        Self {
            ledger,
            manifests,
            recorder,
            clock,
            live: Cache::new(settings.limits.max_live_tasks),
            limits: settings.limits,
            namespaces: settings.namespaces.clone(),
            no_settings: BTreeMap::new(),
        }
    }

    /// How many are in memory.
    pub(super) fn live(&self) -> usize {
        self.live.len()
    }

    /// Whether the store answers.
    pub(super) fn ping(&self) -> Result<(), Problem> {
        self.ledger.ping().map_err(|error| self.problem(&error))
    }

    /// Starts a task of a caller. The id is the server's, so that asking for one tells nothing of other callers'.
    pub(super) fn create(&self, request: &Request, start: StartTask) -> Result<Answer, Problem> {
        let owner = &request.caller.identity;
        if let Some(answer) = self.kept(request, "")? {
            return Ok(answer);
        }
        let id = start.id.clone();
        let task = self.manifests.engine().start(start)?;
        let answer = Answer::json(201, &Created { task: &id, version: 0 })?;
        let retry = request.key.as_deref().map(|key| (key, keep(request, &answer)));
        match self.ledger.create(owner, &id, task.save(), retry) {
            Ok(()) => {}
            // somebody used the key while this task was made
            Err(LedgerError::Conflict) => return self.kept(request, "")?.ok_or_else(|| Kind::Contended.into()),
            Err(error) => return Err(self.problem(&error)),
        }
        let seat = Arc::new(Mutex::new(Some(Open { task, version: 0 })));
        self.live.insert((owner.clone(), id.clone()), seat);
        Ok(answer.with_header(LOCATION, format!("/v1/tasks/{id}")))
    }

    /// Takes a step of a task and answers when it is durable.
    pub(super) fn step<S: Step>(&self, request: &Request, step: &S) -> Result<Answer, Problem> {
        let begun = Instant::now();
        let owner = &request.caller.identity;
        let seat = self.seat(owner, &request.id);
        let mut open = sit(&seat);
        for _ in 0..self.limits.max_conflicts.max(1) {
            if let Some(answer) = self.kept(request, &request.id)? {
                return Ok(answer);
            }
            let Open { mut task, version } = match open.take() {
                Some(open) => open,
                None => self.open(&request.caller, &request.id)?,
            };
            let now = (self.clock)();
            let at = Circumstances { now, settings: self.settings_of(&task) };
            let progress = match step.take(&mut task, &at) {
                Ok(progress) => progress,
                Err(problem) => {
                    // nothing has happened, as the operations promise
                    *open = Some(Open { task, version });
                    return Err(problem);
                }
            };
            let next = version.saturating_add(1);
            let shown = match &progress {
                Progress::Decided(decision) => Shown::Decided(decision),
                Progress::Asks(request) => Shown::Asks(request),
            };
            let answer = Answer::json(200, &Stepped { task: &request.id, version: next, progress: shown })?;
            let retry = request.key.as_deref().map(|key| (key, keep(request, &answer)));
            match self.ledger.append(owner, &request.id, version, task.save(), retry) {
                Ok(()) => {
                    let taken = Taken {
                        at: now,
                        took: begun.elapsed(),
                        operation: S::KIND,
                        function: step.function(),
                        progress: &progress,
                    };
                    self.recorder.record(request, &task, &taken, &answer);
                    *open = Some(Open { task, version: next });
                    return Ok(answer);
                }
                Err(LedgerError::Conflict) => self.metrics().conflict(),
                Err(error) => return Err(self.problem(&error)),
            }
        }
        Err(Kind::Contended.into())
    }

    /// The settings of a task's namespace.
    fn settings_of(&self, task: &Task) -> &BTreeMap<String, Json> {
        self.namespaces.get(&*task.policy().agent().namespace.text).unwrap_or(&self.no_settings)
    }

    /// Looks at a task as it is now, whichever process took its last step.
    pub(super) fn look<T>(
        &self,
        request: &Request,
        look: impl FnOnce(&Task, u64) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let seat = self.seat(&request.caller.identity, &request.id);
        let mut open = sit(&seat);
        let present = self.ledger.version(&request.caller.identity, &request.id);
        let present = present.map_err(|error| self.gone(request, &error))?;
        let held = match open.take() {
            Some(held) if held.version == present => held,
            _ => self.open(&request.caller, &request.id)?,
        };
        let held = open.insert(held);
        look(&held.task, held.version)
    }

    /// The tasks of a caller behind an id, a page at a time.
    pub(super) fn list(&self, caller: &Caller, after: &str) -> Result<Page, Problem> {
        let most = self.limits.max_page_entries;
        let found = self.ledger.list(&caller.identity, after, most);
        let found = found.map_err(|error| self.problem(&error))?;
        let next = found.last().filter(|_| found.len() == most).map(|(id, _)| id.clone());
        let tasks = found.into_iter().map(|(task, version)| Listed { task, version }).collect();
        Ok(Page { tasks, next })
    }

    fn seat(&self, owner: &Option<String>, id: &str) -> Arc<Seat> {
        let key = (owner.clone(), id.to_owned());
        if let Some(seat) = self.live.get(&key) {
            return seat;
        }
        // two that come at once may take two seats: the store then lets only one of them step
        let seat = Arc::new(Mutex::new(None));
        self.live.insert(key, seat.clone());
        seat
    }

    fn open(&self, caller: &Caller, id: &str) -> Result<Open, Problem> {
        let loaded = self.ledger.load(&caller.identity, id);
        let (saved, version) = loaded.map_err(|error| {
            if matches!(error, LedgerError::NotFound) {
                self.live.remove(&(caller.identity.clone(), id.to_owned()));
            }
            self.problem(&error)
        })?;
        let task = self.manifests.engine().restore(saved)?;
        Ok(Open { task, version })
    }

    /// The answer that the request's key had; a problem if it was that of another request.
    fn kept(&self, request: &Request, id: &str) -> Result<Option<Answer>, Problem> {
        let Some(key) = &request.key else { return Ok(None) };
        let kept = self.ledger.answer(&request.caller.identity, id, key);
        let Some(kept) = kept.map_err(|error| self.problem(&error))? else { return Ok(None) };
        if kept.digest != request.digest() {
            return Err(Kind::KeyReused.into());
        }
        self.metrics().replay();
        let answer = Answer {
            status: kept.status,
            media_type: super::request::JSON,
            body: kept.body,
            headers: Vec::new(),
        };
        Ok(Some(answer.with_header(REPLAYED, "true")))
    }

    fn metrics(&self) -> &Metrics {
        self.recorder.metrics()
    }

    fn gone(&self, request: &Request, error: &LedgerError) -> Problem {
        self.live.remove(&(request.caller.identity.clone(), request.id.clone()));
        self.problem(error)
    }

    fn problem(&self, error: &LedgerError) -> Problem {
        match error {
            LedgerError::NotFound => Kind::UnknownTask.into(),
            LedgerError::Conflict => Kind::Contended.into(),
        }
    }
}

/// Takes the seat of a task. After a panic in the middle of a step, what is in memory may be half of it.
fn sit(seat: &Seat) -> MutexGuard<'_, Option<Open>> {
    seat.lock().unwrap_or_else(|poisoned| {
        seat.clear_poison();
        let mut open = poisoned.into_inner();
        *open = None;
        open
    })
}

fn keep(request: &Request, answer: &Answer) -> Kept {
    Kept { digest: request.digest(), status: answer.status, body: answer.body.clone() }
}
