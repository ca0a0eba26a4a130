//! `celador explain TASK --store STORE`: why the calls and inputs of a stored task were decided as they were.
//!
//! In: a store, and the id of a task in it. Out: for each event that tells of its operation, the operation taken once more on a copy of the task as it was then, with every
//! step and value. The store is read only, and a server may go on working meanwhile.

use super::hash_key::HashKeyFile;
use super::screen::Format;
use super::store::{owner_of, tasks};
use super::task::Manifests;
use super::{ExitCode, Failure, Screen, messages};
use celador::counter::CounterId;
use celador::limits::EngineLimits;
use celador::scenario::{Detail, ExplainedOperation};
use celador::task::{SavedTask, Task, TaskError};
use celador_store::{StoreError, StoreLimits, StoredEvent};
use clap::Args;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// A store in which the task is.
#[derive(Args)]
pub(super) struct Stored {
    /// A store of tasks: a file, or `postgres://…`; `CELADOR_STORE` without a value
    #[arg(long, value_name = "STORE", num_args = 0..=1, default_missing_value = "")]
    store: Option<String>,

    /// Whose task it is, if several callers have one of this id; empty for nobody's
    #[arg(long, value_name = "CALLER", requires = "store")]
    owner: Option<String>,

    #[command(flatten)]
    hash_key: HashKeyFile,
}

impl Stored {
    pub(super) const fn is_meant(&self) -> bool {
        self.store.is_some()
    }

    pub(super) fn run(
        self,
        id: &str,
        step: Option<&str>,
        (manifests, limits): (&[PathBuf], EngineLimits),
        screen: &mut Screen,
    ) -> Result<ExitCode, Failure> {
        let bounds = StoreLimits { engine: limits, ..StoreLimits::default() };
        let hash_key = self.hash_key.read().map_err(Failure::Unusable)?;
        let hash_key = hash_key.as_ref();
        let tasks = tasks(self.store.filter(|store| !store.is_empty()), &bounds)?;
        let about = |error: StoreError| Failure::Unusable(messages::about_task(id, &error));
        let owner = owner_of(&tasks, id, self.owner)?.ok_or(StoreError::NotFound).map_err(about)?;
        let loaded = tasks.load(&owner, id).map_err(about)?;
        let rules = match manifests {
            [] => Manifests::of(&tasks, &loaded, hash_key, limits).map_err(about)?,
            paths => Ok(Manifests::read(paths, hash_key, limits, screen)?),
        };
        let task = rules.and_then(|rules| rules.open(loaded));
        let task = task.map_err(|why| Failure::Unusable(messages::not_explained(id, &why)))?;
        let wanted = Wanted::of(step);
        let (mut told, mut untold, mut failure) = (0_usize, 0_usize, None);
        tasks
            .each_event(&owner, id, |before, event| {
                if !wanted.is_event(event.version) {
                    return ControlFlow::Continue(());
                }
                match explained(&task, before, event) {
                    None => untold = untold.saturating_add(1),
                    Some(explained) => match wanted.show(explained, screen) {
                        Ok(is_shown) => told = told.saturating_add(usize::from(is_shown)),
                        Err(error) => failure = Some(error),
                    },
                }
                let is_enough = failure.is_some() || matches!(wanted, Wanted::Event(_));
                if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .map_err(about)?;
        match (failure, step) {
            (Some(failure), _) => Err(failure),
            (None, Some(_)) if untold > 0 && matches!(wanted, Wanted::Event(_)) => {
                Err(Failure::Unusable(messages::event_tells_nothing().to_owned()))
            }
            (None, Some(step)) if told == 0 => Err(Failure::Unusable(messages::no_explained_step(step))),
            (None, None) if untold > 0 && screen.format() == Format::Human => {
                screen.line(&messages::events_tell_nothing(untold))?;
                Ok(ExitCode::Yes)
            }
            (None, _) => Ok(ExitCode::Yes),
        }
    }
}

/// What of a task is to be explained.
enum Wanted<'w> {
    All,
    /// The event of this number.
    Event(u64),
    /// The steps of this name, of whatever event.
    Named(&'w str),
}

/// An event that was explained: for people, and the members that a program gets.
struct Explained {
    operation: ExplainedOperation,
    members: Value,
    /// The verdict of the event, where it is not that of today.
    was: Option<String>,
}

/// An event that cannot be explained.
struct Untold;

impl From<TaskError> for Untold {
    fn from(_: TaskError) -> Self {
        Self
    }
}

/// The operation of an event taken once more on the task as it was; nothing if the event does not tell it, or if the rules cannot take it.
fn explained(task: &Task, before: &SavedTask, event: &StoredEvent) -> Option<Explained> {
    let (operation, decision, at) = event.told(task.policy())?;
    let copy = task.copy_at(before.clone()).ok()?;
    let agent = task.policy().agent();
    let agent = format!("{}/{}", agent.namespace.text, agent.name.text);
    let read = |counters: &[CounterId]| decision.counters_then(counters).ok_or(Untold);
    let explained = operation.explained(copy, at, Some(&decision), read).ok()?;
    let number = usize::try_from(event.version).unwrap_or(usize::MAX);
    let was = (explained.same == Some(false)).then(|| decision.verdict.kind().to_string());
    let members = json!({ "decision": explained.decision, "same": explained.same });
    Some(Explained {
        operation: ExplainedOperation::of_stored(number, &agent, &operation, &explained),
        members,
        was,
    })
}

impl<'w> Wanted<'w> {
    fn of(step: Option<&'w str>) -> Self {
        match step {
            None => Self::All,
            Some(step) => step.parse().map_or(Self::Named(step), Self::Event),
        }
    }

    fn is_event(&self, version: u64) -> bool {
        !matches!(self, Self::Event(meant) if *meant != version)
    }

    /// Shows what is wanted of an event. Whether there was anything.
    fn show(&self, explained: Explained, screen: &mut Screen) -> Result<bool, Failure> {
        let Explained { operation, members, was } = explained;
        let operation = match self {
            Self::Named(step) => operation.step_alone(step),
            _ => Some(operation),
        };
        let Some(operation) = operation else { return Ok(false) };
        match screen.format() {
            Format::Human => {
                let detail = if matches!(self, Self::All) { Detail::OfOthers } else { Detail::OfAll };
                screen.text(&operation.render(detail, &screen.palette()))?;
                if let Some(was) = was {
                    screen.line(&messages::was_decided(&was))?;
                }
            }
            Format::Json => {
                let mut all = json!({ "version": operation.number, "operation": operation.called });
                let explanation = serde_json::to_value(&operation.explanation).unwrap_or_default();
                for more in [members, explanation] {
                    if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
                        all.extend(more);
                    }
                }
                screen.json("explanation", all)?;
            }
        }
        Ok(true)
    }
}
