//! Where a task stands before anything is asked of it: its environment and its past, as a case has them.
//!
//! In: the keys `env` and `state` of a case, or a file with these two alone. Out: a task with that past on record.

use super::environment::{Environment, EnvironmentKeys, FIRST_TASK};
use super::messages;
use super::one_document::read_one;
use super::past::{PastKeys, StateEntry, read_state};
use super::reachable::unreachable;
use crate::context::InvocationStatus;
use crate::diagnostic::Diagnostic;
use crate::engine::Engine;
use crate::limits::EngineLimits;
use crate::manifest::agent::Agent;
use crate::manifest::fields::Key;
use crate::manifest::reader::Reader;
use crate::manifest::shape::{List, Required, Text, mapping};
use crate::source::{Embedded, Place, Source};
use crate::task::{Parent, Past, StartTask, Task, TaskError};

/// An environment and a past.
#[derive(Clone, Debug)]
pub struct Background {
    /// The data that the task starts with.
    pub environment: Environment,
    /// The history of the task before the case, in order.
    pub state: Vec<StateEntry>,
    /// The task that has delegated to it, if the case has one.
    pub parent: Option<ParentBackground>,
}

/// The task that has delegated to that of a case, for the same user.
#[derive(Clone, Debug)]
pub struct ParentBackground {
    /// The name of its agent.
    pub agent: Embedded,
    /// Its history before the case, in order.
    pub state: Vec<StateEntry>,
}

mapping! {
    /// Where a task stands.
    pub(super) BackgroundKeys = "the state of a task" {
        /// Who runs the task, where and when.
        env: EnvironmentKeys,
        /// What happened so far.
        state: List<PastKeys>,
        /// The task that has delegated to it.
        parent: ParentKeys,
    }

    pub(super) ParentKeys as "parent" = "`parent`" {
        /// The name of its agent.
        agent: Required<Text>,
        /// What happened in it so far.
        state: List<PastKeys>,
    }
}

impl ParentBackground {
    /// Reads the field `parent`, if there is one.
    pub(super) fn read(key: &Key<'_, '_, ParentKeys>, reader: &mut Reader) -> Option<Self> {
        let fields = key.fields(reader)?;
        let agent = fields.agent().required_text(reader);
        let state = read_state(&fields.state(), reader);
        fields.refuse_others(reader);
        Some(Self { agent: agent?, state })
    }
}

impl Background {
    /// Reads a file with `env` and `state`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(source: &Source, limits: &EngineLimits) -> Result<Self, Vec<Diagnostic>> {
        read_one::<BackgroundKeys, _>(source, limits, &["env", "state", "parent"], |fields, reader| {
            let environment = Environment::read(&fields.env(), reader);
            let parent = ParentBackground::read(&fields.parent(), reader);
            Some(Self { environment, state: read_state(&fields.state(), reader), parent })
        })
    }

    /// A task of an agent with this past; `place` is blamed if it cannot start.
    ///
    /// # Errors
    /// An agent that must not run, or a past that it cannot have had.
    pub fn start(&self, engine: &Engine, agent: &Agent, place: &Place) -> Result<Task, Box<Diagnostic>> {
        let cannot = |error: TaskError| messages::cannot_start(place, &error);
        let mut start = self.environment.start_of(agent);
        let parent = self.parent.as_ref().map(|parent| {
            let task = self.start_parent(parent, engine, (&start, agent))?;
            start.parent = Some(Parent::new(task.id()).below(task.parent()));
            Ok::<_, Box<Diagnostic>>(task)
        });
        let parent = parent.transpose()?;
        let mut task = engine.start(start).map_err(cannot)?;
        if let Some(parent) = &parent {
            task.set_parent(parent).map_err(cannot)?;
        }
        self.remember(&self.state, &mut task)?;
        Ok(task)
    }

    /// The task that has delegated to that of an agent, with its past.
    fn start_parent(
        &self,
        parent: &ParentBackground,
        engine: &Engine,
        (child, agent): (&StartTask, &Agent),
    ) -> Result<Task, Box<Diagnostic>> {
        let ParentBackground { agent: name, state } = parent;
        let (namespace, agent) = name.text.split_once('/').unwrap_or((&*agent.namespace.text, &*name.text));
        let cannot = |error: TaskError| messages::cannot_start(&name.place, &error);
        let policy = engine.policy(namespace, agent).map_err(cannot)?;
        let start = self.environment.start_of(policy.agent());
        let above = child.parent.as_ref().and_then(|parent| parent.depth.checked_sub(1));
        let above = above.map(|depth| Parent { depth, ..Parent::new("first") });
        let start = StartTask { id: FIRST_TASK.to_owned(), parent: above, ..start };
        let mut task = engine.start(start).map_err(cannot)?;
        if let Some(finding) = state.iter().find_map(|entry| unreachable(entry, task.policy(), true)) {
            return Err(finding.into());
        }
        self.remember(state, &mut task)?;
        Ok(task)
    }

    /// Puts a past on record.
    fn remember(&self, state: &[StateEntry], task: &mut Task) -> Result<(), Box<Diagnostic>> {
        let mut at = self.environment.started_at;
        for entry in state {
            at = entry.at.unwrap_or(at);
            if let Some(why) = misfit(&entry.past, task) {
                return Err(messages::past_misfit(&entry.place, &why).into());
            }
            for past in std::iter::once(&entry.past).chain(&entry.labels) {
                if let Err(error) = task.record(past.clone(), at) {
                    let finding = messages::impossible_past(&entry.place, &error);
                    return Err(messages::beside_functions(finding, &error, task).into());
                }
            }
        }
        Ok(())
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
