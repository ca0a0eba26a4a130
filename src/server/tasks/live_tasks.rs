//! The tasks that callers have: those in memory, and the store behind them.
//!
//! In: requests about tasks. Out: answers that the store has on disk. Each task has a lock of its own, held from the decision
//! until it is durable, and no other is taken on the way. A caller's tasks are found under their name only, in memory and in
//! the store. `task_opening` opens tasks, `task_steps` takes their steps, `task_lists` lists them.

use super::former_policies::FormerPolicies;
use super::recorder::Recorder;
use super::review_feed::ReviewFeed;
use super::seat::{Open, Seat};
use crate::clock::Clock;
use crate::identity::Caller;
use crate::limits::ServerLimits;
use crate::manifests::Manifests;
use crate::messages;
use crate::problem::{Kind, Problem};
use crate::settings::{LiveTasks, Settings};
use crate::task_request::{OnceKey, TaskRequest};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::reasons::Writing;
use celador::cel::Json;
use celador::task::{StartTask, Switches, Task};
use celador_service::BegunTask;
use celador_store::decision_log::Notice;
use celador_store::{Database, Once, Owner, StoreError, StoredTasks};
use quick_cache::sync::Cache;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tracing::{error, warn};

/// The owner and the id.
pub(crate) type Key = (Owner, String);

/// The tasks of all callers.
pub(crate) struct Tasks {
    pub(crate) store: StoredTasks,
    pub(crate) manifests: Arc<Manifests>,
    /// What was served before.
    pub(crate) former: FormerPolicies,
    pub(crate) recorder: Recorder,
    pub(crate) clock: Clock,
    pub(crate) live: Cache<Key, Arc<Seat>>,
    pub(crate) limits: ServerLimits,
    /// Entries of one page: as many as the store gives at a time, and one at least, as a list has to go on.
    pub(crate) page: usize,
    pub(crate) namespaces: BTreeMap<String, BTreeMap<String, Json>>,
    pub(crate) no_settings: BTreeMap<String, Json>,
    pub(crate) live_tasks: LiveTasks,
    /// Whether locked tasks can be unlocked.
    pub(crate) unlocks: bool,
    /// What is known of whether log and store can be written.
    pub(crate) writing: Writing,
    /// The number of the last turn of a switch that was logged.
    pub(crate) told: Mutex<u64>,
    /// Who is told that reviews have changed.
    pub(crate) feed: ReviewFeed,
}

/// A task as its creator is told of it.
pub(crate) fn begun_task(task: &Task, version: u64) -> BegunTask {
    let findings = task.tool_findings().iter().filter_map(|finding| serde_json::to_value(finding).ok());
    BegunTask {
        task: task.id().to_owned(),
        version,
        left_out: task.tools_left_out().to_vec(),
        findings: findings.collect(),
    }
}

/// How a task was begun that a caller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// By this request.
    Now,
    /// By the same one before.
    Before,
    /// By one with the same key.
    Replayed,
}

impl Tasks {
    /// No task in memory.
    pub(crate) fn new(
        database: Database,
        manifests: Arc<Manifests>,
        recorder: Recorder,
        clock: Clock,
        settings: &Settings,
    ) -> Self {
        Self {
            store: StoredTasks::new(database, &settings.limits.store)
                .with_hash_key(settings.hash_key.clone()),
            manifests,
            former: FormerPolicies::new(&settings.limits),
            recorder,
            clock,
            live: Cache::new(settings.limits.max_live_tasks),
            limits: settings.limits,
            page: settings.limits.max_page_entries.min(settings.limits.store.max_page).max(1),
            namespaces: settings.namespaces.clone(),
            no_settings: BTreeMap::new(),
            live_tasks: settings.live_tasks,
            unlocks: settings.allow_unlock,
            writing: Writing::default(),
            told: Mutex::default(),
            feed: ReviewFeed::new(),
        }
    }

    /// How many are in memory.
    pub(crate) fn live(&self) -> usize {
        self.live.len()
    }

    /// Whether the store answers.
    pub(crate) fn ping(&self) -> Result<(), Problem> {
        let rows = self.store.database().read(|sql| sql.query("SELECT 1", &[]));
        rows.map(|_| ()).map_err(|error| self.problem(&error))
    }

    /// Whether a step could be written now.
    ///
    /// # Errors
    /// What is wrong, without data of a task.
    pub(crate) fn probe(&self) -> Result<(), StoreError> {
        self.store.database().probe()
    }

    /// Who writes decisions down.
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Starts a task of a caller, or finds the one that this very request has started before.
    pub(crate) fn create(
        &self,
        request: &TaskRequest,
        mut start: StartTask,
    ) -> Result<(BegunTask, Begun), Problem> {
        let owner = owner(&request.caller);
        if let Some(begun) = self.created_before(&owner, request)? {
            return Ok((begun, Begun::Replayed));
        }
        let (id, at) = (start.id.clone(), start.started_at);
        let begun_with = start.begun_with.clone();
        let served = self.manifests.served();
        let parent = self.under_parent(&owner, &mut start);
        let begun = parent.and_then(|()| {
            let mut task = served.engine.start(start)?;
            self.give_parents(&owner, &mut task)?;
            Ok(task)
        });
        let task = match begun {
            Ok(task) => task,
            // it may have begun while its parent or its agent was there
            Err(problem) => {
                let begun = self.begun(&owner, &id, begun_with.as_deref())?.ok_or(problem)?;
                return Ok((begun, Begun::Before));
            }
        };
        // the beginning is the first event
        let begun = begun_task(&task, 1);
        let answer = serde_json::to_vec(&begun).map_err(|_| Problem::from(Kind::Internal))?;
        let manifests = Some(served.set.clone());
        let head = match self.store.create_under(&owner, &task, at, once(request, &answer), manifests) {
            Ok(head) => head,
            // the key was used while this task was made, or a task has the id
            Err(StoreError::AlreadyExists) => {
                if let Some(begun) = self.created_before(&owner, request)? {
                    return Ok((begun, Begun::Replayed));
                }
                let begun = self.begun(&owner, &id, begun_with.as_deref())?;
                return Ok((begun.ok_or_else(|| Problem::from(Kind::Contended))?, Begun::Before));
            }
            Err(error) => return Err(self.problem(&error)),
        };
        let open = Open::under(task, head, served);
        self.live.insert((owner, id), Arc::new(Mutex::new(Some(open))));
        Ok((begun, Begun::Now))
    }

    /// The task that a request has begun before, as it is; a problem if another request has.
    fn begun(&self, owner: &Owner, id: &str, begun_with: Option<&str>) -> Result<Option<BegunTask>, Problem> {
        let Some(begun_with) = begun_with else { return Ok(None) };
        let loaded = match self.store.load(owner, id) {
            Ok(loaded) => loaded,
            // it is the key that exists, and its task is not there any more
            Err(StoreError::NotFound) => return Ok(None),
            Err(error) => return Err(self.problem(&error)),
        };
        if loaded.saved.begun_with() != Some(begun_with) {
            return Err(Kind::TaskExists.into());
        }
        let Open { task, head, .. } = &self.open(owner, id)?;
        Ok(Some(begun_task(task, head.version())))
    }

    /// The task that was created under the request's key; a problem if that task was purged.
    fn created_before(&self, owner: &Owner, request: &TaskRequest) -> Result<Option<BegunTask>, Problem> {
        let Some(begun): Option<BegunTask> = self.answered(owner, request, None)? else { return Ok(None) };
        let tombstone = self.store.tombstone(owner, &begun.task);
        if tombstone.map_err(|error| self.problem(&error))?.is_some() {
            return Err(Kind::Purged.into());
        }
        Ok(Some(begun))
    }

    /// Writes something down in the decision log that is about no task; whether there is one.
    pub(crate) fn note(&self, notice: &Notice<'_>) -> Result<bool, Problem> {
        self.recorder.ready()?;
        self.recorder.record_notice(notice)
    }

    /// The switches that the tasks heed.
    pub(crate) fn engine_switches(&self) -> Switches {
        self.manifests.served().engine.switches().clone()
    }

    /// What was told under the request's key, of a task or of creating one; a problem if it was told to another request.
    pub(crate) fn answered<T: DeserializeOwned>(
        &self,
        owner: &Owner,
        request: &TaskRequest,
        task: Option<&str>,
    ) -> Result<Option<T>, Problem> {
        let Some(asked) = &request.once else { return Ok(None) };
        let found = self.store.answer(owner, task, &asked.key);
        let Some(once) = found.map_err(|error| self.problem(&error))? else { return Ok(None) };
        if once.request != asked.digest {
            return Err(Kind::KeyReused.into());
        }
        self.metrics().replay();
        serde_json::from_str(&once.answer).map(Some).map_err(|_| Kind::NotRestorable.into())
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        self.recorder.metrics()
    }

    /// A task that is not there takes no seat.
    pub(crate) fn gone(&self, owner: &Owner, id: &str, error: &StoreError) -> Problem {
        if matches!(error, StoreError::NotFound | StoreError::Purged) {
            self.live.remove(&(owner.clone(), id.to_owned()));
        }
        self.problem(error)
    }

    /// What a caller is told of the store; what is wrong with it is for the log.
    pub(crate) fn problem(&self, error: &StoreError) -> Problem {
        match error {
            StoreError::NotFound => Kind::UnknownTask.into(),
            StoreError::Purged => Kind::Purged.into(),
            StoreError::Conflict { .. } | StoreError::AlreadyExists | StoreError::CountersMoved => {
                Kind::Contended.into()
            }
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

pub(crate) fn owner(caller: &Caller) -> Owner {
    caller.identity.as_deref().map_or_else(Owner::nobody, Owner::caller)
}

/// What is kept of an answer, the bytes of its body, if its request may come again.
pub(crate) fn once(request: &TaskRequest, answer: &[u8]) -> Option<Once> {
    let OnceKey { key, digest } = request.once.clone()?;
    let answer = String::from_utf8_lossy(answer).into_owned();
    Some(Once { key, request: digest, answer })
}
