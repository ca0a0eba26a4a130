//! `celador store end`: a task takes no step any more.

use super::super::files::{load_engine_for, of_operator};
use super::super::hash_key::HashKeyFile;
use super::log::Log;
use super::{ExitCode, Failure, Format, Operator, Screen, clock, messages, owner_of, store_and_task, tasks};
use celador_store::StoreLimits;
use celador_store::{DueLine, Ending, StoreError};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// End a task: it takes no step any more, and its state says why
///
/// The same event as `POST /v1/tasks/{task}/end`. Servers learn of it at the task's next step. A task that waits for an answer
/// (a review, a capability) is taken back under its policy, from the manifests that the store keeps for it or from those that are
/// named here. The line for the decision log is
/// written to `--decision-log`, or by the first server with a log that finds it.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador store end celador-data/celador.db 5c1f… --reason 'asked for by the customer'
  celador store end 5c1f… --reason 'the reviewer has left' --manifests policies

Environment:
  CELADOR_STORE   the store, if none is named

Exit codes: 0 ended, 2 there is no such task or it has ended, 1 it could not be done.")]
pub(super) struct End {
    /// The store (a file, or `postgres://…`; `CELADOR_STORE` if left out), then the task's id
    #[arg(value_names = ["STORE", "TASK"], num_args = 1..=2, required = true)]
    named: Vec<String>,

    /// Why; told to whoever tries a step later
    #[arg(long, value_name = "TEXT")]
    reason: String,

    #[command(flatten)]
    operator: Operator,

    /// Whose task it is, if several callers have one of this id; empty for nobody's
    #[arg(long, value_name = "CALLER")]
    owner: Option<String>,

    /// Manifest files and folders with the task's agent, for a task that waits and whose manifests the store does not keep
    #[arg(long, value_name = "PATH")]
    manifests: Vec<PathBuf>,

    #[command(flatten)]
    hash_key: HashKeyFile,

    /// The decision log to write to; no server may have it open
    #[arg(long, value_name = "FOLDER")]
    decision_log: Option<PathBuf>,
}

impl End {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = StoreLimits::default();
        let (store, id) = store_and_task(self.named);
        let hash_key = self.hash_key.read().map_err(Failure::Unusable)?;
        let tasks = tasks(store, &limits)?.with_hash_key(hash_key.clone());
        let at = clock::now(None)?;
        let engine = if self.manifests.is_empty() {
            None
        } else {
            let prepare = |catalog| of_operator(catalog, hash_key.as_ref());
            Some(load_engine_for(&self.manifests, prepare, limits.engine, screen)?.1)
        };
        let log = Log::open(self.decision_log, at)?;
        let owner = owner_of(&tasks, &id, self.owner)?;
        let (who, reason) = (self.operator.name(), self.reason);
        let ending = Ending { at, who: &who, reason: &reason, with_parent: false, expected: None };
        let ended = match &owner {
            Some(owner) => {
                tasks.end(owner, &id, &ending, engine.as_ref(), |line| Some(DueLine::for_any_log(line)))
            }
            None => Err(StoreError::NotFound),
        };
        match ended {
            Ok(ended) => {
                let version = ended.head.version();
                match screen.format() {
                    Format::Human => screen.line(&messages::ended(&id, version))?,
                    Format::Json => screen.json("ended", json!({ "task": id, "version": version }))?,
                }
                log.write(tasks.database())?;
                Ok(ExitCode::Yes)
            }
            Err(error @ (StoreError::NotFound | StoreError::Purged | StoreError::HasEnded)) => {
                screen.error(&messages::about_task(&id, &error));
                Ok(ExitCode::No)
            }
            Err(StoreError::Waits) => Err(Failure::Unusable(messages::waits(&id))),
            Err(error) => Err(Failure::Unusable(messages::about_task(&id, &error))),
        }
    }
}
