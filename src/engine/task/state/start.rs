//! The facts of a task that is about to begin, what its model is offered, and the calls that it makes.

use crate::cel::{Json, Timestamp};
use crate::context::Runtime;

/// The data that a task begins with. It holds no secrets: settings and tokens never enter a task (CTX-22).
#[derive(Clone, Debug)]
pub struct StartTask {
    /// Its id, unique for the host.
    pub id: String,
    /// The agent's namespace.
    pub namespace: String,
    /// The agent's name.
    pub agent: String,
    /// For whom it runs.
    pub user: User,
    /// When it was created: `context.agent.started_at`, and what `max_age` counts from (CTX-03).
    pub started_at: Timestamp,
    /// The resolved model; the agent's own wish if the host does not say (AG-17).
    pub model: Option<String>,
    /// The platform it runs on.
    pub runtime: Runtime,
}

impl StartTask {
    /// A task of an agent for a user, created now, with the agent's own model and an unnamed runtime.
    #[must_use]
    pub fn new(id: &str, namespace: &str, agent: &str, user: User, started_at: impl Into<Timestamp>) -> Self {
        let (id, namespace, agent) = (id.to_owned(), namespace.to_owned(), agent.to_owned());
        let started_at = started_at.into();
        Self { id, namespace, agent, user, started_at, model: None, runtime: Runtime::default() }
    }
}

/// For whom a task runs.
#[derive(Clone, Debug, Default)]
pub struct User {
    /// The identifier.
    pub id: String,
    /// The address, if it is known (CTX-05).
    pub email: Option<String>,
}

/// A call that the model wants to make.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function's name as the model wrote it.
    pub function: String,
    /// The arguments as the model wrote them: an object.
    pub arguments: Json,
}

/// A function as the model is to know it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offer<'t> {
    /// The name that it calls (KEY-04).
    pub name: &'t str,
    /// The description of the function in the manifest, if it has one.
    pub description: Option<&'t str>,
    /// The JSON Schema of its arguments, without those that are bound (BND-03, BND-20).
    pub schema: &'t serde_json::Value,
    /// The JSON Schema of its successful results, if its tool declares one.
    pub output: Option<&'t serde_json::Value>,
}

/// The tokens that one turn of the model used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
}

/// The coming step, for [`Task::limits`](super::Task::limits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A turn of the model.
    ModelTurn,
    /// A call by the model.
    Capability,
    /// Any other step.
    Other,
}
