//! What a task of a case or a script starts with: `env`, with the defaults of the case format.
//!
//! In: the `env` mapping. Out: an [`Environment`] and a finding for every key and value that is not as it must be.

use super::values;
use crate::cel::Timestamp;
use crate::context::Runtime;
use crate::engine::Engine;
use crate::manifest::agent::Agent;
use crate::manifest::reader::{Fields, Reader};
use crate::task::{StartTask, Task, TaskError, User};

/// The data that a task starts with.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The time of the operation under test; of a script, that of the first step.
    pub now: Timestamp,
    /// For whom the task runs.
    pub user: User,
    /// The task's id.
    pub task_id: String,
    /// When the task was created.
    pub started_at: Timestamp,
    /// The platform.
    pub runtime: Runtime,
    /// The resolved model; the agent's own, or else `test/model`, if it is not said.
    pub model: Option<String>,
}

/// The model of an agent that names none.
const DEFAULT_MODEL: &str = "test/model";

impl Default for Environment {
    fn default() -> Self {
        Self {
            now: constant("2026-06-01T12:00:00Z"),
            user: User { id: "u-1".to_owned(), email: Some("u1@example.com".to_owned()) },
            task_id: "t-1".to_owned(),
            started_at: constant("2026-06-01T11:00:00Z"),
            runtime: Runtime {
                version: "1.0.0".into(),
                dashboard_url: "https://dash.example.com".into(),
                api_root: "https://api.example.com".into(),
            },
            model: None,
        }
    }
}

#[expect(clippy::expect_used, reason = "both texts stand above, in RFC 3339")]
fn constant(text: &str) -> Timestamp {
    text.parse().expect("an RFC 3339 time")
}

impl Environment {
    /// Reads the field `env`, if there is one.
    pub(super) fn read(owner: &mut Fields<'_>, reader: &mut Reader) -> Self {
        let mut environment = Self::default();
        let Some(mut fields) = values::fields(owner, "env", reader) else { return environment };
        if let Some(now) = values::time(&mut fields, "now", reader) {
            environment.now = now;
        }
        if let Some(mut user) = values::fields(&mut fields, "user", reader) {
            // an address that is not given is unknown, not the default's
            environment.user = User {
                id: values::string(&mut user, "id", reader).unwrap_or(environment.user.id),
                email: values::string(&mut user, "email", reader),
            };
            user.refuse_others("`user`", reader);
        }
        if let Some(mut task) = values::fields(&mut fields, "task", reader) {
            if let Some(id) = values::string(&mut task, "id", reader) {
                environment.task_id = id;
            }
            if let Some(started_at) = values::time(&mut task, "started_at", reader) {
                environment.started_at = started_at;
            }
            task.refuse_others("`task`", reader);
        }
        if let Some(mut runtime) = values::fields(&mut fields, "runtime", reader) {
            let known = &mut environment.runtime;
            for (key, value) in [
                ("version", &mut known.version),
                ("dashboard_url", &mut known.dashboard_url),
                ("api_root", &mut known.api_root),
            ] {
                if let Some(text) = values::string(&mut runtime, key, reader) {
                    *value = text.into();
                }
            }
            runtime.refuse_others("`runtime`", reader);
        }
        environment.model = values::string(&mut fields, "model", reader);
        fields.refuse_others("`env`", reader);
        environment
    }

    /// Starts a task of an agent.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub(super) fn start(&self, engine: &Engine, agent: &Agent) -> Result<Task, TaskError> {
        let default = agent.model.is_none().then(|| DEFAULT_MODEL.to_owned());
        engine.start(StartTask {
            id: self.task_id.clone(),
            namespace: agent.namespace.text.to_string(),
            agent: agent.name.text.to_string(),
            user: self.user.clone(),
            started_at: self.started_at,
            model: self.model.clone().or(default),
            runtime: self.runtime.clone(),
        })
    }
}
