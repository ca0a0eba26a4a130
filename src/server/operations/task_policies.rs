//! The policy that a task is under: how it is shown, and what an operator decides about it.
//!
//! In: a task, or a decision about one, of whichever caller it is. Out: which policy it is under, whether that is the one
//! that is served, why the task takes no step if it takes none, and what can be done. A decision is an event of the task and
//! a line of the decision log, with who and why.

use crate::manifests::Served;
use crate::messages;
use crate::problem::{Kind, Problem};
use crate::request::{Answer, Request};
use crate::service::Service;
use crate::task_request::TaskRequest;
use crate::tasks::seat::{Held, Open, has_ended, sit};
use crate::tasks::steps::check_reason;
use crate::tasks::{Tasks, owner};
use celador::BroughtTool;
use celador::policy::Fingerprint;
use celador::task::Task;
use celador_service::{Hold, LackingValue, PolicyStanding, TaskStanding, WayOut};
use celador_store::{
    NewEvent, OperationKind, Owner, PolicyDecided, PolicyDecision, StoreError, TaskHead, Terms,
};
use serde::{Deserialize, Serialize};

/// The policy of a task that is open.
fn policy_of(open: &Open, served: &Served) -> PolicyStanding {
    let Open { task, head, manifests, held, is_borrowed, .. } = open;
    let held = held.as_ref().filter(|_| !has_ended(task));
    if held.is_some() || *is_borrowed || has_ended(task) {
        let held = held.map(|held| hold(held, open, served));
        return PolicyStanding { held, ..stored_policy(head, task.tools(), served) };
    }
    // what was brought under the policy that is served is stored with its next step
    let fingerprint = task.policy().fingerprint();
    let manifests = manifests.as_ref().map(|set| set.digest().to_owned());
    PolicyStanding { manifests, ..policy_under(fingerprint, head, task.tools(), served) }
}

/// The policy under which the last step of a task was stored.
fn stored_policy(head: &TaskHead, tools: &[BroughtTool], served: &Served) -> PolicyStanding {
    let manifests = head.manifests().map(str::to_owned);
    PolicyStanding { manifests, ..policy_under(head.fingerprint(), head, tools, served) }
}

fn policy_under(
    fingerprint: Fingerprint,
    head: &TaskHead,
    tools: &[BroughtTool],
    served: &Served,
) -> PolicyStanding {
    let (namespace, agent) = head.agent();
    let policy = served.engine.policy_with(namespace, agent, tools);
    PolicyStanding {
        manifest: fingerprint.to_string(),
        manifests: None,
        current: policy.is_ok_and(|policy| policy.fingerprint() == fingerprint),
        held: None,
        decided: head.policy().and_then(|policy| policy.decided.clone()),
    }
}

/// Why a task takes no step that is open to be looked at. Whether the policy that is served can take it over is tried: linear in the
/// task.
fn hold(held: &Held, open: &Open, served: &Served) -> Hold {
    let is_unreadable = matches!(held, Held::Unreadable(_));
    let adopts = !is_unreadable && served.engine.restore(open.task.save()).is_ok();
    let ways = [
        (adopts, WayOut::Adopt),
        (!open.is_borrowed, WayOut::Keep),
        (true, WayOut::End),
        (true, WayOut::Purge),
    ];
    let can = ways.into_iter().filter(|(can, _)| *can).map(|(_, way)| way).collect();
    Hold { reason: held.reason(), can }
}

/// What a task lacks under the policy that it is under.
fn lacking(task: &Task) -> Vec<LackingValue> {
    let lacking = task.values_lacking();
    let shown = |it: celador::task::LackingValues| LackingValue {
        function: it.function,
        value: it.part.as_str().to_owned(),
        calls: it.calls,
    };
    lacking.map(shown).collect()
}

/// `GET /v1/tasks/{task}`
pub(crate) fn state(service: &Service, request: &Request) -> Result<Answer, Problem> {
    Answer::json(200, &task_state(service, &request.of_task())?)
}

/// A task as it stands.
pub(crate) fn task_state(service: &Service, request: &TaskRequest) -> Result<TaskStanding, Problem> {
    let served = service.manifests.served();
    let looked = service.tasks.look(request, |open| {
        let (namespace, agent) = open.head.agent();
        Ok(TaskStanding {
            task: open.task.id().to_owned(),
            version: open.head.version(),
            namespace: namespace.to_owned(),
            agent: agent.to_owned(),
            user: open.task.context().start().user_id.to_string(),
            parent: open.task.parent().cloned(),
            metadata: open.task.metadata().clone(),
            state: open.task.state(),
            asks: if open.is_borrowed {
                open.task.request().map(celador::task::Request::masked)
            } else {
                open.task.masked_request()
            },
            interrupted: open.task.is_interrupted(),
            // of rules that are not its own it lacks what it likes
            lacking: if open.is_borrowed { Vec::new() } else { lacking(&open.task) },
            policy: policy_of(open, &served),
        })
    });
    match looked {
        Err(problem) if problem.kind == Kind::PolicyChanged => {
            service.tasks.closed(request, &served, &problem)
        }
        looked => looked,
    }
}

/// The decision of an operator about the policy of a task.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "DecidePolicy"))]
pub(crate) struct Decide {
    /// The policy under which the task is to go on.
    decision: PolicyDecision,
    /// The reason, of at most `max_reason_bytes`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    reason: String,
    /// The identity of the caller whose task it is; without it, the operator's own.
    #[serde(default)]
    owner: Option<String>,
}

/// `POST /v1/tasks/{task}/policy`
pub(crate) fn decide(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let decide: Decide = request.read(&service.settings.limits.store.engine)?;
    check_reason(&decide.reason, service.settings.limits.store.engine.max_reason_bytes)?;
    let owner = decide.owner.as_deref().map_or_else(|| owner(&request.caller), Owner::caller);
    service.tasks.decide(&request.of_task(), &owner, &decide)
}

impl Tasks {
    /// A task that no policy at hand can read, as far as it can be shown without one.
    fn closed(
        &self,
        request: &TaskRequest,
        served: &Served,
        problem: &Problem,
    ) -> Result<TaskStanding, Problem> {
        let owner = owner(&request.caller);
        let loaded = self.store.load(&owner, &request.task);
        let loaded = loaded.map_err(|error| self.gone(&owner, &request.task, &error))?;
        let (head, saved) = (&loaded.head, &loaded.saved);
        let (namespace, agent) = head.agent();
        let reason = problem.detail().unwrap_or_default().to_owned();
        let held = (!saved.has_ended()).then(|| Hold { reason, can: vec![WayOut::Purge] });
        Ok(TaskStanding {
            task: saved.id().to_owned(),
            version: head.version(),
            namespace: namespace.to_owned(),
            agent: agent.to_owned(),
            user: saved.user().to_owned(),
            parent: saved.parent().cloned(),
            metadata: saved.metadata().clone(),
            state: saved.state(),
            asks: saved.request().map(celador::task::Request::masked),
            interrupted: saved.is_interrupted(),
            lacking: Vec::new(),
            policy: PolicyStanding { held, ..stored_policy(head, saved.tools(), served) },
        })
    }

    /// Brings a task under the policy that is served, or has it keep its own. Nothing else happens to it. With a decision log
    /// that is required, it is answered when its line is on disk.
    fn decide(&self, request: &TaskRequest, owner: &Owner, decide: &Decide) -> Result<Answer, Problem> {
        let Decide { decision, reason, .. } = decide;
        self.recorder.ready()?;
        let who = request.caller.identity.as_deref();
        let seat = self.seat(owner, &request.task);
        let mut open = sit(&seat);
        for _ in 0..=self.limits.max_conflicts {
            *open = None;
            let loaded = self.store.load(owner, &request.task);
            let loaded = loaded.map_err(|error| self.gone(owner, &request.task, &error))?;
            if self.is_over(&loaded.saved.state()) {
                return Err(Problem::new(Kind::BadRequest, messages::has_ended()));
            }
            let found = match decision {
                PolicyDecision::Adopt => self.open_as_served(loaded.saved, loaded.head)?,
                PolicyDecision::Keep => self.open_as_own(loaded.saved, loaded.head)?,
            };
            let (at, before) = ((self.clock)(), found.task.mark());
            let decided = PolicyDecided {
                decision: *decision,
                at: at.to_string(),
                who: who.unwrap_or_default().to_owned(),
                reason: reason.clone(),
            };
            let (operation, task) = (OperationKind::Policy, &found.task);
            let step = NewEvent { operation, at, task, before: &before, decision: None, once: None };
            let notice = decided.notice(at, owner, &request.task, found.head.version().saturating_add(1));
            let due = self.recorder.due_line(serde_json::to_string(&notice).unwrap_or_default());
            let (manifests, decided) = (found.manifests.clone(), Some(decided.clone()));
            let terms = Terms { manifests, decided, due: due.clone(), ..Terms::default() };
            match self.store.append_under(&found.head, &step, terms) {
                Ok(head) => {
                    let open = open.insert(Open { head, ..found });
                    let recorded = self.recorder.record_line(due.as_ref(), &notice);
                    if recorded.is_err() {
                        self.writing.failed();
                    }
                    // decided all the same: `GET` says what stands
                    recorded?;
                    return Decision::answer(open, &self.manifests.served());
                }
                Err(StoreError::Conflict { .. }) => self.metrics().conflict(),
                Err(error) => {
                    if matches!(error, StoreError::Uncertain) {
                        self.recorder.doubtful(due.as_ref());
                    }
                    return Err(self.problem(&error));
                }
            }
        }
        Err(Kind::Contended.into())
    }
}

/// The policy of a task after a decision about it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PolicyDecided"))]
pub(crate) struct Decision<'t> {
    /// The task's id.
    task: &'t str,
    /// The number of the event that the decision is.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    version: u64,
    /// The policy that it is under now.
    policy: PolicyStanding,
}

impl Decision<'_> {
    fn answer(open: &Open, served: &Served) -> Result<Answer, Problem> {
        let (task, version) = (open.task.id(), open.head.version());
        Answer::json(200, &Decision { task, version, policy: policy_of(open, served) })
    }
}
