//! The tasks that callers have: those in memory, and the store behind them.
//!
//! In: a step of a task. Out: an answer that the store has on disk. Each task has a lock of its own, held from the decision
//! until it is durable, and no other is taken on the way. What another process did meanwhile is a conflict: the task is
//! opened again and the step decided anew. What the store did not take leaves nothing in memory. A caller's tasks are found
//! under his name only, in memory and in the store.

use super::identity::Caller;
use super::manifests::Manifests;
use super::messages;
use super::metrics::Metrics;
use super::problem::{Kind, Problem};
use super::readiness::Writing;
use super::recorder::{Recorder, Taken};
use super::request::{Answer, JSON, Request};
use super::service::Clock;
use super::settings::{LiveTasks, Settings};
use super::steps::{Circumstances, Step};
use crate::cel::{Json, Timestamp};
use crate::limits::{EvalLimits, ServerLimits};
use crate::store::{self, Database, Once, Owner, StoreError, StoredTasks, TaskHead, TaskStore};
use crate::task::{Decision, Progress, StartTask, Switches, Task, TaskState};
use axum::http::HeaderName;
use axum::http::header::LOCATION;
use quick_cache::sync::Cache;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;
use tracing::{error, warn};

/// Says that an answer was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The owner and the id.
pub(super) type Key = (Owner, String);

/// A task in memory; nothing while nobody has opened it.
pub(super) type Seat = Mutex<Option<Open>>;

pub(super) struct Open {
    task: Task,
    head: TaskHead,
}

/// The tasks of all callers.
pub(super) struct Tasks {
    pub(super) store: StoredTasks,
    manifests: Arc<Manifests>,
    pub(super) eval_limits: EvalLimits,
    pub(super) recorder: Recorder,
    pub(super) clock: Clock,
    pub(super) live: Cache<Key, Arc<Seat>>,
    limits: ServerLimits,
    /// Entries of one page: as many as the store gives at a time, and one at least, as a list has to go on.
    pub(super) page: usize,
    namespaces: BTreeMap<String, BTreeMap<String, Json>>,
    no_settings: BTreeMap<String, Json>,
    live_tasks: LiveTasks,
    /// Who is told when nothing can be written.
    writing: Arc<Writing>,
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
    Decided(&'p Decision),
    Asks(&'p crate::task::Request),
}

/// What a step is about, in the words of the decision log.
#[derive(Clone, Copy)]
struct About<'s> {
    operation: &'static str,
    function: Option<&'s str>,
    reason: Option<&'s str>,
}

impl<'s> About<'s> {
    fn of(step: &'s impl Step) -> Self {
        Self { operation: step.operation().as_str(), function: step.function(), reason: step.reason() }
    }
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
    namespace: String,
    agent: String,
    state: String,
    started_at: String,
    changed_at: String,
}

/// What happened to a task, in the order in which it did.
#[derive(Serialize)]
pub(super) struct Events {
    events: Vec<Event>,
    next: Option<u64>,
}

#[derive(Serialize)]
struct Event {
    version: u64,
    at: String,
    operation: &'static str,
    /// As it was decided, with its secrets masked; nothing of the beginning of the task.
    decision: Option<Box<serde_json::value::RawValue>>,
}

impl Tasks {
    /// No task in memory.
    pub(super) fn new(
        database: Database,
        manifests: Arc<Manifests>,
        recorder: Recorder,
        clock: Clock,
        settings: &Settings,
    ) -> Self {
        Self {
            store: StoredTasks::new(database, &settings.eval_limits),
            manifests,
            eval_limits: settings.eval_limits,
            recorder,
            clock,
            live: Cache::new(settings.limits.max_live_tasks),
            limits: settings.limits,
            page: settings.limits.max_page_entries.min(settings.eval_limits.max_page).max(1),
            namespaces: settings.namespaces.clone(),
            no_settings: BTreeMap::new(),
            live_tasks: settings.live_tasks,
            writing: Arc::default(),
        }
    }

    /// The same, telling of each write that fails.
    pub(super) fn telling(self, writing: Arc<Writing>) -> Self {
        Self { writing, ..self }
    }

    /// How many are in memory.
    pub(super) fn live(&self) -> usize {
        self.live.len()
    }

    /// Whether the store answers.
    pub(super) fn ping(&self) -> Result<(), Problem> {
        let rows = self.store.database().read(|sql| sql.query("SELECT 1", &[]));
        rows.map(|_| ()).map_err(|error| self.problem(&error))
    }

    /// Whether a step could be written now.
    ///
    /// # Errors
    /// What is wrong, without data of a task.
    pub(super) fn probe(&self) -> Result<(), StoreError> {
        self.store.database().probe()
    }

    /// Who writes decisions down.
    pub(super) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Starts a task of a caller. The id is the server's: files below a mount are found by it, whoever the owner is.
    pub(super) fn create(&self, request: &Request, start: StartTask) -> Result<Answer, Problem> {
        if let Some(answer) = self.answered(request, None)? {
            return Ok(answer);
        }
        let owner = owner(&request.caller);
        let (id, at) = (start.id.clone(), start.started_at);
        let task = self.manifests.engine().start(start)?;
        // the beginning is the first event
        let answer = Answer::json(201, &Created { task: &id, version: 1 })?;
        let head = match self.store.create(&owner, &task, at, once(request, &answer)) {
            Ok(head) => head,
            // the key was used while this task was made
            Err(StoreError::AlreadyExists) => {
                return self.answered(request, None)?.ok_or_else(|| Kind::Contended.into());
            }
            Err(error) => return Err(self.problem(&error)),
        };
        self.live.insert((owner, id.clone()), Arc::new(Mutex::new(Some(Open { task, head }))));
        Ok(located(answer, &id))
    }

    /// Takes a step of a task and answers when it is durable.
    pub(super) fn step<S: Step>(&self, request: &Request, step: &S) -> Result<Answer, Problem> {
        let begun = Instant::now();
        let owner = owner(&request.caller);
        let seat = self.seat(&owner, &request.id);
        let mut open = sit(&seat);
        let about = About::of(step);
        for _ in 0..=self.limits.max_conflicts {
            self.recorder.ready()?;
            if let Some(answer) = self.answered(request, Some(&request.id))? {
                let about = (about.operation, about.function);
                self.recorder.record_replay(request, (self.clock)(), about, &answer.body)?;
                return Ok(answer);
            }
            let Open { mut task, head } = match open.take() {
                Some(open) => self.brought_up(open)?,
                None => self.open(&owner, &request.id)?,
            };
            let switches = self.engine_switches().version();
            let (now, before) = ((self.clock)(), task.mark());
            let at = Circumstances { now, settings: self.settings_of(&task) };
            // before the step is taken: it may close the call that its body is about
            let content = self.recorder.content_of(step, &task, &request.body);
            let progress = match step.take(&mut task, &at) {
                Ok(progress) => progress,
                Err(problem) => {
                    // nothing has happened, as the operations promise
                    *open = Some(Open { task, head });
                    return Err(problem);
                }
            };
            if let Progress::Decided(decision) = &progress
                && task.turned_away_since(&before, decision)
            {
                // nothing is stored that would tell that another process was ahead, or has purged the task
                let present = self.store.version(&owner, &request.id);
                if present.map_err(|error| self.gone(&owner, &request.id, &error))? != head.version() {
                    self.metrics().conflict();
                    continue;
                }
                if decision.switch.is_some() && self.store.switches_version() != Ok(switches) {
                    self.learn_switches().map_err(|error| self.problem(&error))?;
                    continue;
                }
                // nothing has happened, so nothing is stored, and the same request may be decided otherwise some day
                let shown = Shown::Decided(decision);
                let stepped = Stepped { task: &request.id, version: head.version(), progress: shown };
                let answer = Answer::json(200, &stepped)?;
                let taken =
                    Self::taken(request, about, (&task, &owner, now), begun, (&progress, &answer), content);
                let recorded = self.recorder.record_rejection(&taken);
                *open = Some(Open { task, head });
                return recorded.map(|()| answer);
            }
            let (shown, suspension) = match &progress {
                Progress::Decided(decision) => (Shown::Decided(decision), None),
                Progress::Asks(request) => (Shown::Asks(request), task.suspension()),
            };
            let version = head.version().saturating_add(1);
            let answer = Answer::json(200, &Stepped { task: &request.id, version, progress: shown })?;
            let decision = match &progress {
                Progress::Decided(decision) => Some(decision),
                Progress::Asks(_) => suspension.as_ref(),
            };
            let operation = step.operation();
            let once = once(request, &answer);
            let stored = store::Step { operation, at: now, task: &task, before: &before, decision, once };
            let taken =
                Self::taken(request, about, (&task, &owner, now), begun, (&progress, &answer), content);
            let due = self.recorder.due(&taken, version);
            match self.store.append_under(&head, &stored, switches, due.clone()) {
                Ok(head) => {
                    let taken = Taken { took: begun.elapsed(), ..taken };
                    let recorded = self.recorder.record(&taken, due.as_ref(), &head);
                    if recorded.is_err() {
                        self.writing.failed();
                    }
                    *open = Some(Open { task, head });
                    // stored all the same: who sends it again under its key is answered when the log has it
                    return recorded.map(|()| answer);
                }
                // what is in memory is no more than an attempt now, and goes
                Err(StoreError::Conflict { .. } | StoreError::AlreadyExists) => self.metrics().conflict(),
                Err(StoreError::SwitchesTurned) => {
                    self.learn_switches().map_err(|error| self.problem(&error))?;
                }
                Err(error) => {
                    if matches!(error, StoreError::Uncertain) {
                        self.recorder.doubtful(due.as_ref());
                    }
                    return Err(self.problem(&error));
                }
            }
        }
        Err(Kind::Contended.into())
    }

    /// A step as the decision log is told of it.
    fn taken<'t>(
        request: &'t Request,
        About { operation, function, reason }: About<'t>,
        (task, owner, at): (&'t Task, &'t Owner, Timestamp),
        begun: Instant,
        (progress, answer): (&'t Progress, &'t Answer),
        shown: Option<Value>,
    ) -> Taken<'t> {
        let took = begun.elapsed();
        Taken { request, task, owner, at, took, operation, function, reason, progress, answer, shown }
    }

    /// The switches that the tasks heed.
    pub(super) fn engine_switches(&self) -> &Switches {
        self.manifests.engine().switches()
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
        let owner = owner(&request.caller);
        let present = self.store.version(&owner, &request.id);
        let present = present.map_err(|error| self.gone(&owner, &request.id, &error))?;
        let seat = self.seat(&owner, &request.id);
        let mut open = sit(&seat);
        let held = match open.take() {
            Some(held) if held.head.version() >= present => self.brought_up(held)?,
            _ => self.open(&owner, &request.id)?,
        };
        let held = open.insert(held);
        look(&held.task, held.head.version())
    }

    /// The tasks of a caller behind an id, a page at a time.
    pub(super) fn list(&self, caller: &Caller, after: Option<&str>) -> Result<Page, Problem> {
        let found = self.store.tasks(&owner(caller), after, self.page);
        let found = found.map_err(|error| self.problem(&error))?;
        let next = found.last().filter(|_| found.len() >= self.page).map(|last| last.id.clone());
        let listed = found.into_iter().map(|it| Listed {
            task: it.id,
            version: it.version,
            namespace: it.namespace,
            agent: it.agent,
            state: it.state,
            started_at: it.started_at,
            changed_at: it.changed_at,
        });
        Ok(Page { tasks: listed.collect(), next })
    }

    /// What happened to a task behind a version, a page at a time.
    pub(super) fn events(&self, request: &Request, after: u64) -> Result<Events, Problem> {
        let found = self.store.events(&owner(&request.caller), &request.id, after, self.page);
        let found = found.map_err(|error| self.problem(&error))?;
        // a page may also end where its bytes do
        let present = self.store.version(&owner(&request.caller), &request.id);
        let present = present.map_err(|error| self.problem(&error))?;
        let is_cut = |last: &&store::StoredEvent| found.len() >= self.page || last.version < present;
        let next = found.last().filter(is_cut).map(|last| last.version);
        let events = found.into_iter().map(|it| {
            let decision = it.decision.map(Decision::masked_json).transpose();
            let decision = decision.map_err(|_| Problem::from(Kind::NotRestorable))?;
            let decision = decision.map(serde_json::value::RawValue::from_string).transpose();
            let decision = decision.map_err(|_| Problem::from(Kind::NotRestorable))?;
            Ok(Event { version: it.version, at: it.at, operation: it.operation.as_str(), decision })
        });
        Ok(Events { events: events.collect::<Result<_, Problem>>()?, next })
    }

    pub(super) fn seat(&self, owner: &Owner, id: &str) -> Arc<Seat> {
        let key = (owner.clone(), id.to_owned());
        if let Some(seat) = self.live.get(&key) {
            return seat;
        }
        // two that come at once may take two seats: the store then lets only one of them step
        let seat = Arc::new(Mutex::new(None));
        self.live.insert(key, seat.clone());
        seat
    }

    /// A task in memory under the policy that is served now. One that has ended stays as it was.
    fn brought_up(&self, open: Open) -> Result<Open, Problem> {
        let Open { task, head } = open;
        let has_ended = matches!(task.state(), TaskState::Locked(_) | TaskState::Terminated(_));
        if self.live_tasks == LiveTasks::Keep || has_ended {
            return Ok(Open { task, head });
        }
        let agent = task.policy().agent();
        let served = self.manifests.engine().policy(&agent.namespace.text, &agent.name.text)?;
        if served.fingerprint() == task.policy().fingerprint() {
            return Ok(Open { task, head });
        }
        let task = self.manifests.engine().restore(task.save())?;
        Ok(Open { task, head })
    }

    fn open(&self, owner: &Owner, id: &str) -> Result<Open, Problem> {
        let loaded = self.store.load(owner, id).map_err(|error| self.gone(owner, id, &error))?;
        let task = self.manifests.engine().restore(loaded.saved)?;
        Ok(Open { task, head: loaded.head })
    }

    /// The answer that the request's key had, of a task or of creating one; a problem if it was that of another request.
    fn answered(&self, request: &Request, task: Option<&str>) -> Result<Option<Answer>, Problem> {
        let Some(key) = &request.key else { return Ok(None) };
        let found = self.store.answer(&owner(&request.caller), task, key);
        let Some(once) = found.map_err(|error| self.problem(&error))? else { return Ok(None) };
        if once.request != request.digest() {
            return Err(Kind::KeyReused.into());
        }
        if let (None, Ok(created)) = (task, serde_json::from_str::<CreatedBefore>(&once.answer)) {
            let tombstone = self.store.tombstone(&owner(&request.caller), &created.task);
            if tombstone.map_err(|error| self.problem(&error))?.is_some() {
                return Err(Kind::Purged.into());
            }
        }
        self.metrics().replay();
        let status = if task.is_some() { 200 } else { 201 };
        let body = once.answer.into_bytes();
        let answer = Answer { status, media_type: JSON, body, headers: Vec::new() };
        let answer = match (task, serde_json::from_slice::<CreatedBefore>(&answer.body)) {
            (None, Ok(created)) => located(answer, &created.task),
            _ => answer,
        };
        Ok(Some(answer.with_header(REPLAYED, "true")))
    }

    fn metrics(&self) -> &Metrics {
        self.recorder.metrics()
    }

    /// A task that is not there takes no seat.
    pub(super) fn gone(&self, owner: &Owner, id: &str, error: &StoreError) -> Problem {
        if matches!(error, StoreError::NotFound | StoreError::Purged) {
            self.live.remove(&(owner.clone(), id.to_owned()));
        }
        self.problem(error)
    }

    /// What a caller is told of the store; what is wrong with it is for the log.
    pub(super) fn problem(&self, error: &StoreError) -> Problem {
        match error {
            StoreError::NotFound => Kind::UnknownTask.into(),
            StoreError::Purged => Kind::Purged.into(),
            StoreError::Conflict { .. } | StoreError::AlreadyExists => Kind::Contended.into(),
            StoreError::NotStorable(_) => Problem::new(Kind::BadRequest, messages::not_storable()),
            error if error.is_temporary() => {
                self.metrics().store_error();
                self.writing.failed();
                warn!(%error, "the store does not answer");
                Kind::StoreUnavailable.into()
            }
            error => {
                self.metrics().store_error();
                error!(%error, "the store cannot be trusted");
                if matches!(error, StoreError::Corrupt(_)) { Kind::NotRestorable } else { Kind::Internal }
                    .into()
            }
        }
    }
}

/// What is read of the answer to a creation.
#[derive(serde::Deserialize)]
struct CreatedBefore {
    task: String,
}

pub(super) fn owner(caller: &Caller) -> Owner {
    caller.identity.as_deref().map_or_else(Owner::nobody, Owner::caller)
}

fn located(answer: Answer, id: &str) -> Answer {
    answer.with_header(LOCATION, format!("/v1/tasks/{id}"))
}

/// What is kept of an answer, if its request may come again.
fn once(request: &Request, answer: &Answer) -> Option<Once> {
    let key = request.key.clone()?;
    let answer = String::from_utf8_lossy(&answer.body).into_owned();
    Some(Once { key, request: request.digest(), answer })
}

/// Takes the seat of a task. After a panic in the middle of a step, what is in memory may be half of it.
pub(super) fn sit(seat: &Seat) -> MutexGuard<'_, Option<Open>> {
    seat.lock().unwrap_or_else(|poisoned| {
        seat.clear_poison();
        let mut open = poisoned.into_inner();
        *open = None;
        open
    })
}
