//! The task of a session: it begins with the first event of it, and takes steps as a runtime would send them.
//!
//! In: an operation. Out: how far it came, by the function of the routes of the API, so that locks,
//! conflicts, stores and logs are theirs. A step of a session that has no task yet begins one.

use super::event::Event;
use super::query::HookQuery;
use crate::problem::{Kind, Problem};
use crate::request::Request;
use crate::service::Service;
use crate::task_request::TaskRequest;
use crate::tasks::check_task_id;
use celador::cel::Json;
use celador::context::Runtime;
use celador::task::{CallId, Decision, Operation, Parent, Question, StartTask, User};
use celador_service::{CameTo, OperationAnswer};
use std::collections::BTreeMap;

/// The namespace of the agent that is meant where no other is named.
const NAMESPACE: &str = "claude-code";

/// What tells its tasks from those that were begun otherwise.
const BEGUN_WITH: &str = "hooks/claude-code";

/// The function that stands for each tool which no manifest names, where an agent has it.
pub(super) const ANY_TOOL: &str = "any_tool";

/// A session, and who asks about it.
pub(super) struct Session<'s> {
    service: &'s Service,
    request: &'s Request,
    event: &'s Event,
    query: &'s HookQuery,
}

/// How far a step came.
pub(super) enum Outcome {
    Decided(Box<Decision>),
    Asks(Box<Asks>),
}

/// What a step asks, under its name, and the call that asks.
pub(super) struct Asks {
    pub(super) question: Question,
    pub(super) call: Option<CallId>,
}

/// A call as the task knows it: its function, and its arguments.
pub(super) struct Named {
    pub(super) function: String,
    pub(super) arguments: Json,
    /// Whether the function stands for a tool that no manifest names.
    pub(super) is_any: bool,
}

impl<'s> Session<'s> {
    pub(super) fn new(
        service: &'s Service,
        request: &'s Request,
        event: &'s Event,
        query: &'s HookQuery,
    ) -> Self {
        Self { service, request, event, query }
    }

    /// Whether rules stop nothing.
    pub(super) fn observes(&self) -> bool {
        self.service.settings.observe
    }

    /// How long the request of an event may take.
    pub(super) fn max_request_ms(&self) -> u64 {
        self.service.settings.limits.max_request_ms
    }

    /// Begins the task of the session, if it has none.
    pub(super) fn begin(&self) -> Result<(), Problem> {
        let id = &self.event.session_id;
        check_task_id(id, self.service.settings.limits.store.engine.max_id_bytes)?;
        let (namespace, agent) = match &self.query.agent {
            Some(agent) => match agent.split_once('/') {
                Some((namespace, agent)) => (namespace.to_owned(), agent.to_owned()),
                None => return Err(Kind::UnknownAgent.into()),
            },
            None => (NAMESPACE.to_owned(), self.service.default_agent(NAMESPACE)?),
        };
        let user = User { id: self.query.user.clone().unwrap_or_default(), ..User::default() };
        let start = StartTask {
            model: self.event.model.clone(),
            runtime: Runtime::default(),
            // files of a task lie under a name that no caller chooses
            mount_id: Some(uuid::Uuid::new_v4().to_string()),
            begun_with: Some(BEGUN_WITH.to_owned()),
            metadata: BTreeMap::from([("hooks".to_owned(), "claude-code".to_owned())]),
            retain: self.service.settings.retain_calls,
            address: self.request.address,
            parent: self.parent(),
            ..StartTask::new(id, &namespace, &agent, self.service.user(user, None)?, self.service.now())
        };
        let request = self.of_task();
        let created = match self.service.tasks.create(&request, start.clone()) {
            // the environment of a command line may name any session
            Err(problem) if problem.kind == Kind::UnknownTask => {
                self.service.tasks.create(&request, StartTask { parent: None, ..start })
            }
            created => created,
        };
        match created {
            Ok(_) => Ok(()),
            // somebody else has begun it
            Err(problem) if problem.kind == Kind::TaskExists => Ok(()),
            Err(problem) => Err(problem),
        }
    }

    /// The task of the session that has started this one.
    fn parent(&self) -> Option<Parent> {
        let parent = self.query.parent.as_ref().filter(|parent| **parent != self.event.session_id)?;
        Some(Parent { task: parent.clone(), ..Parent::default() })
    }

    /// Takes a step of the task, and begins that first where it is not there.
    pub(super) fn step(&self, operation: &Operation) -> Result<Outcome, Problem> {
        let request = self.of_task();
        let taken = match self.service.tasks.take(&request, operation) {
            Err(problem) if problem.kind == Kind::UnknownTask => {
                self.begin()?;
                self.service.tasks.take(&request, operation)?
            }
            taken => taken?,
        };
        // no hook brings a turn
        let OperationAnswer::One(progress) = taken else { return Err(Kind::Internal.into()) };
        Ok(match progress.came_to {
            CameTo::Decided { decided } => Outcome::Decided(Box::new(decided.into_owned())),
            CameTo::Asks { asks, question: id, call, .. } => {
                let question = Question { id, request: asks.into_owned() };
                Outcome::Asks(Box::new(Asks { question, call }))
            }
        })
    }

    /// A request about the task, on behalf of the caller who sends the event.
    fn of_task(&self) -> TaskRequest {
        TaskRequest::new(self.request.caller.clone(), &self.event.session_id)
    }

    /// A call of a tool as the task knows it, with the server that has the tool; that is empty for those of Claude Code. A tool that no manifest names is a call of
    /// [`ANY_TOOL`], where the agent has that.
    pub(super) fn named(&self, tool: &str, server: &str, arguments: Json) -> Result<Named, Problem> {
        let function = self.look(|task| {
            let is_offered = |name: &str| {
                let function = task.policy().position(name).and_then(|at| task.policy().function(at));
                function.is_some_and(|function| function.offered)
            };
            !is_offered(tool) && is_offered(ANY_TOOL)
        })?;
        if !function {
            return Ok(Named { function: tool.to_owned(), arguments, is_any: false });
        }
        let arguments = Json::object([
            ("tool", Json::string(tool)),
            ("server", Json::string(server)),
            ("arguments", arguments),
        ]);
        Ok(Named { function: ANY_TOOL.to_owned(), arguments, is_any: true })
    }

    /// Looks at the task, and begins it first where it is not there.
    pub(super) fn look<T>(&self, look: impl Fn(&celador::task::Task) -> T) -> Result<T, Problem> {
        let request = self.of_task();
        let tasks = &self.service.tasks;
        match tasks.look(&request, |open| Ok(look(&open.task))) {
            Err(problem) if problem.kind == Kind::UnknownTask => {
                self.begin()?;
                tasks.look(&request, |open| Ok(look(&open.task)))
            }
            seen => seen,
        }
    }
}
