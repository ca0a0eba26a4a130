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
use crate::tasks::seat::Open;
use crate::tasks::{Tasks, owner};
use celador::cel::{Json, Timestamp};
use celador::counter::{CounterId, CounterState};
use celador::task::{Call, Decision, Explanation, Progress, Task, TaskChange, ToldOperation};
use celador_store::StoreError;
use serde::{Deserialize, Serialize};

/// What is to be explained: a decision of the past, or a call that is only tried.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Explain {
    /// The number of the event whose decision is explained.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    version: Option<u64>,
    /// The function of a call that is tried on the task as it is now; in the place of `version`.
    #[serde(default)]
    function: Option<String>,
    /// The arguments of that call.
    #[serde(default)]
    arguments: Option<Json>,
}

/// A decision and what it came of.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Explained {
    /// The decision, as it comes out when the operation is taken once more.
    decision: Decision,
    /// Whether that is the verdict of the event. It is another one if somebody has answered meanwhile, and where the rules have changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    same: Option<bool>,
    #[serde(flatten)]
    explanation: Explanation,
}

pub(crate) fn explain(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let body: Explain = request.read(&service.settings.limits.store.engine)?;
    let now = service.now();
    let explained = match (body.version, body.function) {
        (Some(version), None) if body.arguments.is_none() => service.tasks.explain_event(request, version),
        (None, Some(function)) => service.tasks.look(request, |open| {
            may_look(request, open)?;
            let arguments = body.arguments.clone().unwrap_or_else(|| Json::object([]));
            let call = Call::new(function.as_str(), arguments);
            let copy = open.task.copy().map_err(|_| Problem::from(Kind::NotRestorable))?;
            let owner = owner(&request.caller);
            let read = |counters: &[CounterId]| {
                let found = service.tasks.store.counters(&owner, counters);
                found.map_err(|error: StoreError| service.tasks.problem(&error))
            };
            Explained::of(copy, &ToldOperation::Call(call), now, None, read)
        }),
        _ => Err(Problem::new(Kind::BadRequest, messages::version_or_function())),
    };
    Answer::json(200, &explained?)
}

/// Who reads a task may be told why it was decided, as what is secret is masked; where the policy that says so is not there, those who may take steps.
fn may_look(request: &Request, open: &Open) -> Result<(), Problem> {
    let may = !open.is_borrowed || request.caller.may(Scope::TasksWrite);
    if may { Ok(()) } else { Err(Problem::lacking(Scope::TasksWrite)) }
}

/// Counters as they were when a decision was made; nothing if it does not tell what one of them held, as it may be a secret.
fn held_then(decision: &Decision, counters: &[CounterId]) -> Option<Vec<CounterState>> {
    let states = counters.iter().map(|counter| {
        let mut used = decision.counters.iter();
        let used = used.find(|used| used.is_of(counter))?;
        let mut state = CounterState::default();
        state.tally.hold(used.counted?);
        Some(state)
    });
    states.collect()
}

impl Tasks {
    /// The decision of an event, taken once more on the task as it was before.
    fn explain_event(&self, request: &Request, version: u64) -> Result<Explained, Problem> {
        let owner = owner(&request.caller);
        self.look(request, |open: &Open| {
            may_look(request, open)?;
            let found = self.store.before_event(&owner, &request.id, version);
            let found = found.map_err(|error| self.problem(&error))?;
            let not_told = || Problem::new(Kind::NotExplainable, messages::not_explainable());
            let (saved, event) = found.ok_or_else(not_told)?;
            let decision: Option<Decision> =
                event.decision.as_deref().and_then(|text| serde_json::from_str(text).ok());
            let decision = decision.ok_or_else(not_told)?;
            let change: TaskChange = serde_json::from_str(&event.change).map_err(|_| not_told())?;
            let operation = change.operation(decision.verdict, open.task.policy()).ok_or_else(not_told)?;
            let at: Timestamp = event.at.parse().map_err(|_| not_told())?;
            let copy = open.task.copy_at(saved).map_err(|_| not_told())?;
            let read = |counters: &[CounterId]| held_then(&decision, counters).ok_or_else(not_told);
            Explained::of(copy, &operation, at, Some(&decision), read)
        })
    }
}

impl Explained {
    fn of(
        mut task: Task,
        operation: &ToldOperation,
        at: Timestamp,
        stored: Option<&Decision>,
        read: impl FnMut(&[CounterId]) -> Result<Vec<CounterState>, Problem>,
    ) -> Result<Self, Problem> {
        task.explain();
        let progress = match operation {
            ToldOperation::Call(call) => task.before(call, at).map_err(Problem::from)?.into_progress(),
            ToldOperation::Input(input) => task.input(input, at).into_progress(),
        };
        let decision = match task.settle_counters(progress, read, at)? {
            Progress::Decided(decision) => decision,
            Progress::Asks(question) => {
                // a task that asks has a decision that says so
                task.suspension_at(question.id).unwrap_or_else(Decision::suspended)
            }
        };
        let same = stored.map(|stored| stored.verdict == decision.verdict);
        let explanation = task.explanation().unwrap_or_default();
        Ok(Self { decision: decision.masked(), same, explanation })
    }
}
