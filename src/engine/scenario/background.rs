//! Where a task stands before anything is asked of it: its environment and its past, as a case has them.
//!
//! In: the keys `env` and `state` of a case, or a file with these two alone. Out: a task with that past on record.

use super::environment::{Environment, EnvironmentKeys};
use super::messages;
use super::one_document::read_one;
use super::past::{PastKeys, StateEntry, read_state};
use crate::context::InvocationStatus;
use crate::diagnostic::Diagnostic;
use crate::engine::Engine;
use crate::limits::EngineLimits;
use crate::manifest::agent::Agent;
use crate::manifest::shape::{List, mapping};
use crate::source::{Place, Source};
use crate::task::{Past, Task};

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
            if let Some(why) = misfit(&entry.past, &task) {
                return Err(messages::past_misfit(&entry.place, &why).into());
            }
            for past in std::iter::once(&entry.past).chain(&entry.labels) {
                if let Err(error) = task.record(past.clone(), at) {
                    let finding = messages::impossible_past(&entry.place, &error);
                    return Err(messages::beside_functions(finding, &error, &task).into());
                }
            }
        }
        Ok(task)
    }
}

/// Why no task of the agent can have had this behind it: a schema does not let it. What did not run may be anything that a model wrote, and what
/// failed gives what it likes.
fn misfit(past: &Past, task: &Task) -> Option<String> {
    let policy = task.policy();
    match past {
        Past::Call(call) | Past::Invoke(call) if call.executed => {
            let function = policy.function(policy.position(&call.function)?)?;
            if let Some(why) = function.parameters.misfit(&call.arguments) {
                return Some(why);
            }
            let (output, schema) = (call.output.as_ref()?, function.output.as_ref()?);
            let is_result = call.status == InvocationStatus::Successful && !output.root().is_null();
            schema.check(output).err().filter(|_| is_result)
        }
        _ => None,
    }
}
