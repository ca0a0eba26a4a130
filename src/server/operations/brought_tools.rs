//! Tools that a task brings while it is under way, as servers list new ones.
//!
//! In: a task and tools. Out: the task under its policy with these tools, stored as an event of its own. Nothing is decided, so the decision log has
//! no line of it.

use crate::messages;
use crate::problem::{Kind, Problem};
use crate::request::{Answer, Request};
use crate::service::Service;
use crate::task_request::TaskRequest;
use crate::tasks::seat::{Open, has_ended, sit};
use crate::tasks::{Tasks, begun_task, once, owner};
use celador::BroughtTool;
use celador_service::BegunTask;
use celador_store::{NewEvent, OperationKind, Owner, StoreError, Terms};
use serde::Deserialize;
use std::sync::Arc;

/// Tools that a task brings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "BringTools"))]
pub(crate) struct Bring {
    /// The tools, each exactly as `tools/list` of MCP has it. One that the task has brought before, exactly as it is here, is passed over.
    tools: Vec<BroughtTool>,
}

/// `POST /v1/tasks/{task}/tools`
pub(crate) fn bring(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let Bring { tools } = request.read(&service.settings.limits.store.engine)?;
    let (brought, is_replayed) = service.tasks.bring(&request.of_task(), &owner(&request.caller), &tools)?;
    let answer = Answer::json(200, &brought)?;
    Ok(if is_replayed { answer.replayed() } else { answer })
}

impl Tasks {
    /// Brings tools. Out comes the task, and whether that was told before under the request's key.
    pub(crate) fn bring(
        &self,
        request: &TaskRequest,
        owner: &Owner,
        tools: &[BroughtTool],
    ) -> Result<(BegunTask, bool), Problem> {
        let seat = self.seat(owner, &request.task);
        let mut open = sit(&seat);
        for _ in 0..=self.limits.max_conflicts {
            if let Some(brought) = self.answered(owner, request, Some(&request.task))? {
                return Ok((brought, true));
            }
            let mut found = match open.take() {
                Some(open) => self.brought_up(open)?,
                None => self.open(owner, &request.task)?,
            };
            let brought = self.bring_to(&mut found, tools);
            let present = self.store.version(owner, &request.task);
            if present.map_err(|error| self.gone(owner, &request.task, &error))? != found.head.version() {
                self.metrics().conflict();
                continue;
            }
            let Some(before) = brought? else {
                let brought = begun_task(&found.task, found.head.version());
                *open = Some(found);
                return Ok((brought, false));
            };
            let version = found.head.version().saturating_add(1);
            let brought = begun_task(&found.task, version);
            let answer = serde_json::to_vec(&brought).map_err(|_| Problem::from(Kind::Internal))?;
            let at = (self.clock)();
            let (operation, task) = (OperationKind::Tools, &found.task);
            let step = NewEvent {
                operation,
                at,
                task,
                before: &before,
                decision: None,
                once: once(request, &answer),
            };
            let terms = Terms { manifests: found.manifests.clone(), ..Terms::default() };
            match self.store.append_under(&found.head, &step, terms) {
                Ok(head) => {
                    *open = Some(Open { head, ..found });
                    return Ok((brought, false));
                }
                Err(StoreError::Conflict { .. } | StoreError::AlreadyExists) => self.metrics().conflict(),
                Err(error) => return Err(self.problem(&error)),
            }
        }
        Err(Kind::Contended.into())
    }

    /// Brings tools to a task under the policy that it is under.
    fn bring_to(
        &self,
        open: &mut Open,
        tools: &[BroughtTool],
    ) -> Result<Option<celador::task::TaskMark>, Problem> {
        if has_ended(&open.task) {
            return Err(Problem::new(Kind::BadRequest, messages::has_ended()));
        }
        if let Some(held) = &open.held {
            return Err(Problem::from(held));
        }
        let served = match &open.manifests {
            Some(set) if set.digest() != open.judged.set.digest() => {
                let former = self.former.set(&self.store, set.digest(), &open.judged);
                former
                    .map_err(|error| self.problem(&error))?
                    .map_err(|_| Problem::from(Kind::PolicyChanged))?
            }
            _ => Arc::clone(&open.judged),
        };
        Ok(served.engine.bring(&mut open.task, tools)?)
    }
}
