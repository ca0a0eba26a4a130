//! `celador task`: an operator decides about one stored task, beside the servers that use its store.

use super::switch::{Store, operator};
use super::{ExitCode, Failure, Format, Screen, clock, messages};
use celador::engine::Engine;
use celador::limits::EvalLimits;
use celador::manifest::{Catalog, load};
use celador::store::{
    LoadedTask, ManifestSet, Operation, Owner, PolicyDecided, PolicyDecision, Step, StoreError, StoredTasks,
    TaskStore, Terms,
};
use celador::task::Task;
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

Exit codes: 0 done, 2 the task cannot go on under that policy, 3 the manifests are refused, 1 it could not be done.")]
struct Policy {
    /// The id of the task
    #[arg(value_name = "TASK")]
    task: String,

    #[command(flatten)]
    decision: Decision,

    /// Why; kept with the task
    #[arg(long, value_name = "TEXT")]
    reason: String,

    /// The identity of the caller whose task it is; not said where callers are not told apart
    #[arg(long, value_name = "IDENTITY")]
    owner: Option<String>,

    /// Who; `USER` of the environment if not said
    #[arg(long, value_name = "NAME")]
    by: Option<String>,

    #[command(flatten)]
    store: Store,
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

impl Policy {
    fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = EvalLimits::default();
        let at = clock::now(None)?;
        let given = self.decision.adopt.map(|paths| Manifests::read(&paths, limits, screen)).transpose()?;
        let stored = StoredTasks::new(self.store.open(&limits)?, &limits);
        let owner = self.owner.as_deref().map_or_else(Owner::nobody, Owner::caller);
        let unusable = |error: StoreError| Failure::Unusable(error.to_string());
        if self.reason.trim().is_empty() || self.reason.len() > limits.max_reason_bytes {
            return Err(Failure::Unusable(messages::bad_reason(limits.max_reason_bytes)));
        }
        let decision = if given.is_some() { PolicyDecision::Adopt } else { PolicyDecision::Keep };
        let decided =
            PolicyDecided { decision, at: at.to_string(), who: operator(self.by), reason: self.reason };
        for _ in 0..ATTEMPTS {
            let loaded = stored.load(&owner, &self.task).map_err(unusable)?;
            if loaded.saved.has_ended() {
                screen.error(messages::task_has_ended());
                return Ok(ExitCode::No);
            }
            let head = loaded.head.clone();
            let manifests = match &given {
                Some(given) => Ok(given.clone()),
                None => Manifests::of(&stored, &loaded, limits).map_err(unusable)?,
            };
            let opened = manifests.and_then(|manifests| Ok((manifests.open(loaded)?, manifests)));
            let (task, manifests) = match opened {
                Ok(opened) => opened,
                Err(why) => {
                    screen.error(&messages::no_such_policy(&why));
                    return Ok(ExitCode::No);
                }
            };
            let (operation, before) = (Operation::Policy, task.mark());
            let step = Step { operation, at, task: &task, before: &before, decision: None, once: None };
            let manifests = Some(manifests.set);
            let terms = Terms { manifests, decided: Some(decided.clone()), ..Terms::default() };
            match stored.append_under(&head, &step, terms) {
                Ok(head) => {
                    show(&self.task, head.version(), &decided, screen)?;
                    return Ok(ExitCode::Yes);
                }
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(unusable(error)),
            }
        }
        Err(Failure::Unusable(messages::task_is_busy().to_owned()))
    }
}

/// Manifests with their text.
#[derive(Clone)]
struct Manifests {
    engine: Arc<Engine>,
    set: Arc<ManifestSet>,
}

impl Manifests {
    /// Those at these paths. If they are refused, that is told.
    fn read(paths: &[PathBuf], limits: EvalLimits, screen: &mut Screen) -> Result<Self, Failure> {
        let (_, engine) = super::load_engine(paths, limits, screen)?;
        let (files, _) = load(paths, &limits).map_err(|error| Failure::Unusable(error.to_string()))?;
        Ok(Self { engine: Arc::new(engine), set: Arc::new(ManifestSet::of(&files)) })
    }

    /// Those that a task is under, or why they cannot be had.
    fn of(
        stored: &StoredTasks,
        loaded: &LoadedTask,
        limits: EvalLimits,
    ) -> Result<Result<Self, String>, StoreError> {
        let digest = loaded.head.policy().and_then(|policy| policy.manifests.as_deref());
        let set = digest.map(|digest| stored.manifests(digest)).transpose()?.flatten();
        let Some(set) = set else { return Ok(Err(messages::manifests_not_kept().to_owned())) };
        let (catalog, _) = Catalog::parse(&set.files()?, &limits);
        let (engine, _) = Engine::from_catalog(&catalog, limits);
        Ok(Ok(Self { engine: Arc::new(engine), set: Arc::new(set) }))
    }

    fn open(&self, loaded: LoadedTask) -> Result<Task, String> {
        self.engine.restore(loaded.saved).map_err(|error| error.to_string())
    }
}

fn show(task: &str, version: u64, decided: &PolicyDecided, screen: &mut Screen) -> Result<(), Failure> {
    let PolicyDecided { decision, at, who, reason } = decided;
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
    Ok(())
}
