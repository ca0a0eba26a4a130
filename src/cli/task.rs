//! `celador task`: an operator decides about one stored task, beside the servers that use its store.

use super::files::{load_engine_for, of_operator};
use super::hash_key::HashKeyFile;
use super::operator::Operator;
use super::switch::{Store, named};
use super::{ExitCode, Failure, Format, Screen, clock, messages};
use celador::HashKey;
use celador::cel::Timestamp;
use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::mode::Mode;
use celador::manifest::{Catalog, load};
use celador::task::Task;
use celador_store::{
    DueLine, LoadedTask, ManifestSet, NewEvent, OperationKind, Owner, PolicyDecided, PolicyDecision,
    StoreError, StoreLimits, StoredTasks, Terms,
};
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// How often a decision is made anew because a server was first.
const ATTEMPTS: usize = 16;

/// Decide about one stored task
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Policy(Policy),
}

/// Decide under which policy a task goes on that was begun under another one than is served
///
/// The decision is an event of the task, and stands beside it with who, when and why. Servers heed it with the task's next
/// step.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador task policy 5f0c… --adopt policies/support-desk --reason 'only texts have changed'
  celador task policy 5f0c… --owner did:web:desk --keep --reason 'the customer was promised it'
  celador task policy --agent support/support-desk --adopt policies/support-desk --reason 'only texts have changed'

Exit codes: 0 done, 2 a task cannot go on under that policy, 3 the manifests are refused, 1 it could not be done.")]
struct Policy {
    #[command(flatten)]
    subject: Subject,

    #[command(flatten)]
    decision: Decision,

    /// Why; kept with the task
    #[arg(long, value_name = "TEXT")]
    reason: String,

    /// The identity of the caller whose task it is; not said where callers are not told apart
    #[arg(long, value_name = "IDENTITY")]
    owner: Option<String>,

    #[command(flatten)]
    operator: Operator,

    #[command(flatten)]
    hash_key: HashKeyFile,

    #[command(flatten)]
    store: Store,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Subject {
    /// The id of the task
    #[arg(value_name = "TASK")]
    task: Option<String>,

    /// Instead of one task, all tasks of this agent that take steps, of all callers or of the one who is said
    #[arg(long, value_name = "NAMESPACE/NAME")]
    agent: Option<String>,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Decision {
    /// Bring it under these manifests, which are those that are served: files, and folders to search for them
    #[arg(long, value_name = "MANIFESTS", num_args = 1..)]
    adopt: Option<Vec<PathBuf>>,

    /// Have it keep the policy that it is under, until it ends or somebody decides otherwise
    #[arg(long)]
    keep: bool,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        match self.action {
            Action::Policy(policy) => policy.run(screen),
        }
    }
}

/// What came of a decision about one task.
enum Outcome {
    /// It is stored, as this version.
    Done(u64),
    /// It is not, for this reason.
    Refused(String),
}

impl Policy {
    fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let bounds = StoreLimits::default();
        let limits = bounds.engine;
        let at = clock::now(None)?;
        if self.reason.trim().is_empty() || self.reason.len() > limits.max_reason_bytes {
            return Err(Failure::Unusable(messages::bad_reason(limits.max_reason_bytes)));
        }
        let hash_key = self.hash_key.read().map_err(Failure::Unusable)?;
        let read = |paths: Vec<PathBuf>| Manifests::read(&paths, hash_key.as_ref(), limits, screen);
        let given = self.decision.adopt.map(read).transpose()?;
        let agent = self.subject.agent.as_deref().map(named).transpose()?;
        let store = StoredTasks::new(self.store.open(&bounds)?, &bounds);
        let decision = if given.is_some() { PolicyDecision::Adopt } else { PolicyDecision::Keep };
        let who = self.operator.name();
        let decided = PolicyDecided { decision, at: at.to_string(), who, reason: self.reason };
        let decider = Decider { store, limits, at, given, hash_key, decided };
        let unusable = |error: StoreError| Failure::Unusable(error.to_string());
        let Some((namespace, agent)) = agent else {
            let owner = self.owner.as_deref().map_or_else(Owner::nobody, Owner::caller);
            let task = self.subject.task.unwrap_or_default();
            return decider.tell(&task, decider.decide(&owner, &task).map_err(unusable)?, screen);
        };
        let mut code = ExitCode::Yes;
        let mut after = None;
        loop {
            let page = decider.store.tasks_of_agent((&namespace, &agent), after.as_ref(), bounds.max_page);
            let page = page.map_err(unusable)?;
            after = page.last().cloned();
            if after.is_none() {
                return Ok(code);
            }
            for (owner, task) in page {
                if self.owner.as_ref().is_some_and(|meant| meant != owner.as_str()) {
                    continue;
                }
                match decider.decide(&owner, &task) {
                    // purged meanwhile: there is nothing to decide
                    Err(StoreError::NotFound | StoreError::Purged) => {}
                    outcome => {
                        let told = decider.tell(&task, outcome.map_err(unusable)?, screen)?;
                        code = code.max(told);
                    }
                }
            }
        }
    }
}

/// A decision, for as many tasks as it is about.
struct Decider {
    store: StoredTasks,
    limits: EngineLimits,
    at: Timestamp,
    /// What is to be adopted; the task's own manifests if nothing.
    given: Option<Manifests>,
    /// The key of `pii.hash`.
    hash_key: Option<HashKey>,
    decided: PolicyDecided,
}

impl Decider {
    fn decide(&self, owner: &Owner, id: &str) -> Result<Outcome, StoreError> {
        for _ in 0..ATTEMPTS {
            let loaded = self.store.load(owner, id)?;
            if loaded.saved.has_ended() {
                return Ok(Outcome::Refused(messages::task_has_ended().to_owned()));
            }
            let head = loaded.head.clone();
            let manifests = match &self.given {
                Some(given) => Ok(given.clone()),
                None => Manifests::of(&self.store, &loaded, self.hash_key.as_ref(), self.limits)?,
            };
            let opened = manifests.and_then(|manifests| Ok((manifests.open(loaded)?, manifests)));
            let (task, manifests) = match opened {
                Ok(opened) => opened,
                Err(why) => return Ok(Outcome::Refused(messages::no_such_policy(&why))),
            };
            let (operation, before) = (OperationKind::Policy, task.mark());
            let step =
                NewEvent { operation, at: self.at, task: &task, before: &before, decision: None, once: None };
            let version = head.version().saturating_add(1);
            // the first server that looks, and has a log, writes it
            let line = serde_json::to_string(&self.decided.notice(self.at, owner, id, version));
            let terms = Terms {
                manifests: Some(manifests.set),
                decided: Some(self.decided.clone()),
                due: line.ok().map(DueLine::for_any_log),
                ..Terms::default()
            };
            match self.store.append_under(&head, &step, terms) {
                Ok(head) => return Ok(Outcome::Done(head.version())),
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Outcome::Refused(messages::task_is_busy().to_owned()))
    }

    /// Says what came of it.
    fn tell(&self, task: &str, outcome: Outcome, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let PolicyDecided { decision, at, who, reason } = &self.decided;
        let version = match outcome {
            Outcome::Done(version) => version,
            Outcome::Refused(why) => {
                screen.error(&messages::about_policy(task, &why));
                return Ok(ExitCode::No);
            }
        };
        match screen.format() {
            Format::Human => {
                let word = decision.as_str();
                screen.line(&format!("{at} {word} the policy of the task `{task}`, by {who}: {reason}"))?;
            }
            Format::Json => {
                let decided = json!({ "task": task, "version": version, "decision": decision, "at": at, "who": who, "reason": reason });
                screen.json("policy", decided)?;
            }
        }
        Ok(ExitCode::Yes)
    }
}

/// Manifests with their text.
#[derive(Clone)]
pub(super) struct Manifests {
    engine: Arc<Engine>,
    set: Arc<ManifestSet>,
}

impl Manifests {
    /// Those at these paths. If they are refused, that is told.
    pub(super) fn read(
        paths: &[PathBuf],
        hash_key: Option<&HashKey>,
        limits: EngineLimits,
        screen: &mut Screen,
    ) -> Result<Self, Failure> {
        let (_, engine) = load_engine_for(paths, |catalog| of_operator(catalog, hash_key), limits, screen)?;
        let (files, _) = load(paths, &limits).map_err(|error| Failure::Unusable(error.to_string()))?;
        Ok(Self { engine: Arc::new(engine), set: Arc::new(ManifestSet::of(&files)) })
    }

    /// Those that a task is under, or why they cannot be had.
    pub(super) fn of(
        stored: &StoredTasks,
        loaded: &LoadedTask,
        hash_key: Option<&HashKey>,
        limits: EngineLimits,
    ) -> Result<Result<Self, String>, StoreError> {
        let digest = loaded.head.manifests();
        let set = digest.map(|digest| stored.manifests(digest)).transpose()?.flatten();
        let Some(set) = set else { return Ok(Err(messages::manifests_not_kept().to_owned())) };
        let (catalog, _) = Catalog::parse(&set.files()?, &limits);
        let catalog = of_operator(catalog, hash_key);
        let (engine, _) = Engine::kept_from_catalog(&catalog, Mode::Enforce, limits);
        Ok(Ok(Self { engine: Arc::new(engine), set: Arc::new(set) }))
    }

    pub(super) fn open(&self, loaded: LoadedTask) -> Result<Task, String> {
        self.engine.restore(loaded.saved).map_err(|error| error.to_string())
    }
}
