//! Why a decision of a task was made as it was, and what a call would come to.
//!
//! In: the number of an event of a task, or a call. Out: the decision with every step of its lists and every expression as a tree of values. The operation is
//! taken once more, on a copy of the task as it was; nothing of the task changes and nobody is asked. Counters hold what they held when the decision was made,
//! which it tells; those of a call that is only tried are read as they are. Values that manifests mark as secret are masked as everywhere.

use crate::identity::Scope;
use crate::messages;
use crate::problem::{Kind, Problem};
use crate::request::{Answer, Request};
use crate::service::Service;
use crate::task_request::TaskRequest;
use crate::tasks::seat::Open;
use crate::tasks::{Tasks, owner};
use celador::cel::Json;
use celador::counter::CounterId;
use celador::task::{Call, ExplainedDecision, Operation};
use celador_service::Explain;
use celador_store::StoreError;

pub(crate) fn explain(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let what = request.read(&service.settings.limits.store.engine)?;
    Answer::json(200, &explained(service, &request.of_task(), what)?)
}

/// The explanation of a decision of a task, or of a call that is tried on it.
pub(crate) fn explained(
    service: &Service,
    request: &TaskRequest,
    body: Explain,
) -> Result<ExplainedDecision, Problem> {
    let now = service.now();
    match (body.version, body.function) {
        (Some(version), None) if body.arguments.is_none() => service.tasks.explain_event(request, version),
        (None, Some(function)) => service.tasks.look(request, |open| {
            may_look(request, open)?;
            let arguments = body.arguments.clone().unwrap_or_else(|| Json::object([]));
            let call = Call::new(function.as_str(), arguments);
            let mut copy = open.task.copy().map_err(|_| Problem::from(Kind::NotRestorable))?;
            let owner = owner(&request.caller);
            service.tasks.give_parents_for_step(&owner, &mut copy)?;
            let read = |counters: &[CounterId]| {
                let found = service.tasks.store.counters(&owner, counters);
                found.map_err(|error: StoreError| service.tasks.problem(&error))
            };
            Operation::Before(call).explained(copy, now, None, read)
        }),
        _ => Err(Problem::new(Kind::BadRequest, messages::version_or_function())),
    }
}

/// Who reads a task may be told why it was decided, as what is secret is masked; where the policy that says so is not there, those who may take steps.
fn may_look(request: &TaskRequest, open: &Open) -> Result<(), Problem> {
    let may = !open.is_borrowed || request.caller.may(Scope::TasksWrite);
    if may { Ok(()) } else { Err(Problem::lacking(Scope::TasksWrite)) }
}

impl Tasks {
    /// The decision of an event, taken once more on the task as it was before.
    fn explain_event(&self, request: &TaskRequest, version: u64) -> Result<ExplainedDecision, Problem> {
        let owner = owner(&request.caller);
        self.look(request, |open: &Open| {
            may_look(request, open)?;
            let found = self.store.before_event(&owner, &request.task, version);
            let found = found.map_err(|error| self.problem(&error))?;
            let not_told = || Problem::new(Kind::NotExplainable, messages::not_explainable());
            let (saved, event) = found.ok_or_else(not_told)?;
            let told = event.told(open.task.policy());
            let (operation, decision, at) = told.ok_or_else(not_told)?;
            let mut copy = open.task.copy_at(saved).map_err(|_| not_told())?;
            self.give_parents_for_step(&owner, &mut copy)?;
            let read = |counters: &[CounterId]| decision.counters_then(counters).ok_or_else(not_told);
            operation.explained(copy, at, Some(&decision), read)
        })
    }
}
