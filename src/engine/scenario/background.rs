//! Where a task stands before anything is asked of it: its environment and its past, as a case has them.
//!
//! In: the keys `env` and `state` of a case, or a file with these two alone. Out: a task with that past on record.

use super::environment::{Environment, EnvironmentKeys};
use super::messages;
use super::one_document::read_one;
use super::past::{PastKeys, StateEntry, read_state};
use crate::diagnostic::Diagnostic;
use crate::engine::Engine;
use crate::limits::EngineLimits;
use crate::manifest::agent::Agent;
use crate::manifest::shape::{List, mapping};
use crate::source::{Place, Source};
use crate::task::Task;

/// An environment and a past.
#[derive(Clone, Debug)]
pub struct Background {
    /// The data that the task starts with.
    pub environment: Environment,
    /// The history of the task before the case, in order.
    pub state: Vec<StateEntry>,
}

mapping! {
    /// Where a task stands.
    pub(super) BackgroundKeys = "the state of a task" {
        /// Who runs the task, where and when.
        env: EnvironmentKeys,
        /// What happened so far.
        state: List<PastKeys>,
    }
}

impl Background {
    /// Reads a file with `env` and `state`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(source: &Source, limits: &EngineLimits) -> Result<Self, Vec<Diagnostic>> {
        read_one::<BackgroundKeys, _>(source, limits, &["env", "state"], |fields, reader| {
            let environment = Environment::read(&fields.env(), reader);
            Some(Self { environment, state: read_state(&fields.state(), reader) })
        })
    }

    /// A task of an agent with this past; `place` is blamed if it cannot start.
    ///
    /// # Errors
    /// An agent that must not run, or a past that it cannot have had.
    pub fn start(&self, engine: &Engine, agent: &Agent, place: &Place) -> Result<Task, Box<Diagnostic>> {
        let started = self.environment.start(engine, agent);
        let mut task = started.map_err(|error| messages::cannot_start(place, &error))?;
        let mut at = self.environment.started_at;
        for entry in &self.state {
            at = entry.at.unwrap_or(at);
            for past in std::iter::once(&entry.past).chain(&entry.labels) {
                task.record(past.clone(), at)
                    .map_err(|error| messages::impossible_past(&entry.place, &error))?;
            }
        }
        Ok(task)
    }
}
