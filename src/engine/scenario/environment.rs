//! What a task of a case or a script starts with: `env`, with the defaults of the case format.
//!
//! In: the `env` mapping. Out: an [`Environment`] and a finding for every key and value that is not as it must be.

use super::messages;
use super::values::Time;
use crate::cel::Timestamp;
use crate::context::Runtime;
use crate::engine::Engine;
use crate::manifest::agent::Agent;
use crate::manifest::brought::BroughtTool;
use crate::manifest::fields::Key;
use crate::manifest::node::Data;
use crate::manifest::reader::Reader;
use crate::manifest::shape::{Count, List, Object, Text, mapping};
use crate::task::{Parent, Retain, StartTask, Task, TaskError, User};
use core::net::IpAddr;

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
    /// The network address from which the task is begun.
    pub address: Option<IpAddr>,
    /// How many tasks have delegated, one to the other, to come to it.
    pub depth: u32,
    /// The platform.
    pub runtime: Runtime,
    /// The resolved model; the agent's own, or else `test/model`, if it is not said.
    pub model: Option<String>,
    /// The tools that the task brings.
    pub tools: Vec<BroughtTool>,
}

/// The task that has delegated to one of a case.
pub(super) const FIRST_TASK: &str = "t-0";

/// The model of an agent that names none.
const DEFAULT_MODEL: &str = "test/model";

impl Default for Environment {
    fn default() -> Self {
        Self {
            now: constant("2026-06-01T12:00:00Z"),
            user: User { id: "u-1".to_owned(), email: Some("u1@example.com".to_owned()), ..User::default() },
            task_id: "t-1".to_owned(),
            started_at: constant("2026-06-01T11:00:00Z"),
            address: None,
            depth: 0,
            runtime: Runtime {
                version: "1.0.0".into(),
                dashboard_url: "https://dash.example.com".into(),
                api_root: "https://api.example.com".into(),
            },
            model: None,
            tools: Vec::new(),
        }
    }
}

#[expect(clippy::expect_used, reason = "both texts stand above, in RFC 3339")]
fn constant(text: &str) -> Timestamp {
    text.parse().expect("an RFC 3339 time")
}

mapping! {
    /// Who runs the task, where and when.
    pub(super) EnvironmentKeys as "env" = "`env`" {
        /// When the operation happens.
        now: Time => "2026-06-01T12:00:00Z",
        /// For whom the task runs.
        user: UserKeys,
        /// The task.
        task: TaskKeys,
        /// The platform.
        runtime: RuntimeKeys,
        /// The request that begins the task.
        request: RequestKeys,
        /// The resolved model.
        model: Text,
        /// The tools that the task brings, each as `tools/list` of MCP has it.
        tools: List<Object>,
    }

    UserKeys = "`user`" {
        /// The id of the user.
        id: Text => "u-1",
        /// The address of the user.
        email: Text,
        /// The claims of the user, which the policies that name them see as `context.user.claims`.
        claims: Object,
    }

    RequestKeys = "`request`" {
        /// The network address from which the task is begun.
        address: Text,
    }

    TaskKeys = "`task`" {
        /// The id of the task.
        id: Text => "t-1",
        /// When the task was created.
        started_at: Time => "2026-06-01T11:00:00Z",
        /// How many tasks have delegated, one to the other, to come to it.
        depth: Count => 0,
    }

    RuntimeKeys = "`runtime`" {
        /// The version of the platform.
        version: Text => "1.0.0",
        /// The address of its dashboard.
        dashboard_url: Text => "https://dash.example.com",
        /// The address of its API.
        api_root: Text => "https://api.example.com",
    }
}

impl Environment {
    /// Reads the field `env`, if there is one.
    pub(super) fn read(key: &Key<'_, '_, EnvironmentKeys>, reader: &mut Reader) -> Self {
        let mut environment = Self::default();
        let Some(fields) = key.fields(reader) else { return environment };
        if let Some(now) = fields.now().time(reader) {
            environment.now = now;
        }
        if let Some(user) = fields.user().fields(reader) {
            // an address that is not given is unknown, not the default's
            environment.user = User {
                id: user.id().string(reader).unwrap_or(environment.user.id),
                email: user.email().string(reader),
                claims: user.claims().object(reader),
            };
            user.refuse_others(reader);
        }
        if let Some(request) = fields.request().fields(reader) {
            let address = request.address();
            if let Some(field) = address.get()
                && let Some(text) = reader.text(field.node, &field.path)
            {
                environment.address = text.text.parse().ok();
                if environment.address.is_none() {
                    reader.report(&field.path, messages::no_address(&text.place));
                }
            }
            request.refuse_others(reader);
        }
        if let Some(task) = fields.task().fields(reader) {
            if let Some(id) = task.id().string(reader) {
                environment.task_id = id;
            }
            if let Some(started_at) = task.started_at().time(reader) {
                environment.started_at = started_at;
            }
            if let Some(field) = task.depth().get() {
                match field.node.data {
                    Data::Int(depth) if u32::try_from(depth).is_ok() => {
                        environment.depth = u32::try_from(depth).unwrap_or_default();
                    }
                    _ => reader.report(&field.path, messages::not_a_count(field.node)),
                }
            }
            task.refuse_others(reader);
        }
        if let Some(runtime) = fields.runtime().fields(reader) {
            let known = &mut environment.runtime;
            for (key, value) in [
                (runtime.version(), &mut known.version),
                (runtime.dashboard_url(), &mut known.dashboard_url),
                (runtime.api_root(), &mut known.api_root),
            ] {
                if let Some(text) = key.string(reader) {
                    *value = text.into();
                }
            }
            runtime.refuse_others(reader);
        }
        environment.model = fields.model().string(reader);
        environment.tools = read_tools(&fields.tools(), reader);
        fields.refuse_others(reader);
        environment
    }

    /// Starts a task of an agent.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub(crate) fn start(&self, engine: &Engine, agent: &Agent) -> Result<Task, TaskError> {
        engine.start(self.start_of(agent))
    }

    /// The start of a task of an agent.
    pub(crate) fn start_of(&self, agent: &Agent) -> StartTask {
        let default = agent.model.is_none().then(|| DEFAULT_MODEL.to_owned());
        StartTask {
            id: self.task_id.clone(),
            namespace: agent.namespace.text.to_string(),
            agent: agent.name.text.to_string(),
            user: self.user.clone(),
            started_at: self.started_at,
            address: self.address,
            // the first task of its tree stands above all others
            parent: self.depth.checked_sub(1).map(|depth| Parent { depth, ..Parent::new(FIRST_TASK) }),
            metadata: std::collections::BTreeMap::new(),
            model: self.model.clone().or(default),
            runtime: self.runtime.clone(),
            mount_id: None,
            begun_with: None,
            tools: self.tools.clone(),
            retain: Retain::All,
        }
    }
}

fn read_tools(key: &Key<'_, '_, List<Object>>, reader: &mut Reader) -> Vec<BroughtTool> {
    let Some(field) = key.get() else { return Vec::new() };
    let mut tools = Vec::new();
    for (at, item) in reader.list(field.node, &field.path).unwrap_or_default().iter().enumerate() {
        match serde_json::from_value(item.to_json()) {
            Ok(tool) => tools.push(tool),
            Err(_) => reader.report(&field.path.item(at), messages::no_tool(&item.place)),
        }
    }
    tools
}
