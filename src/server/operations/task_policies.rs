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
use crate::tasks::seat::{Held, Open, has_ended, sit};
use crate::tasks::steps::check_reason;
use crate::tasks::{Tasks, owner};
use celador::BroughtTool;
use celador::policy::Fingerprint;
use celador::task::{Parent, Task, TaskState};
use celador_store::{
    NewEvent, OperationKind, Owner, PolicyDecided, PolicyDecision, StoreError, TaskHead, Terms,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A task as it stands.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TaskState"))]
pub(crate) struct Standing<'t> {
    /// Its id.
    task: &'t str,
    /// The number of its last event, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    version: u64,
    /// The agent's namespace.
    namespace: &'t str,
    /// The agent's name.
    agent: &'t str,
    /// The identifier of the user for whom it runs.
    user: &'t str,
    /// The task that has delegated to it; null if none has.
    parent: Option<&'t Parent>,
    /// Its metadata.
    metadata: &'t BTreeMap<String, String>,
    #[serde(flatten)]
    state: TaskState,
    /// The question that it waits for, with its secrets masked; null if it asks nothing.
    asks: Option<celador::task::Request>,
    /// Whether it was interrupted and has taken no step since.
    interrupted: bool,
    /// The values of earlier calls that its policy reads and that it has not kept, because it was under another one: a step that reads one of
    /// them fails.
    lacking: Vec<Lacking>,
    /// The policy that it is under.
    policy: Shown<'t>,
}

/// A value of earlier calls that a task has not kept.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LackingValue"))]
struct Lacking {
    /// The function.
    function: String,
    /// `input`, the arguments of the calls, or `output`, their results.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["input", "output"])))]
    value: &'static str,
    /// The number of calls.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    calls: u32,
}

impl Lacking {
    /// What a task lacks under the policy that it is under.
    fn of(task: &Task) -> Vec<Self> {
        let lacking = task.values_lacking();
        lacking.map(|it| Self { function: it.function, value: it.part.as_str(), calls: it.calls }).collect()
    }
}

/// The policy that a task is under.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TaskPolicy"))]
struct Shown<'t> {
    /// Its fingerprint, under the name that it has in the decision log: 64 hexadecimal digits, the same for manifests that differ
    /// in comments, layout or texts for people alone.
    manifest: String,
    /// The digest of the manifests that it was made of, as `/v1/manifests` has it; null if they are not known.
    manifests: Option<&'t str>,
    /// Whether it is the one that is served now.
    current: bool,
    /// The reason why the task takes no step until an operator decides; null if it takes steps.
    held: Option<Hold>,
    /// The last decision of an operator about the policy of the task; null if there was none.
    decided: Option<&'t PolicyDecided>,
}

/// The reason why a task takes no step, and the ways to deal with it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Hold {
    /// The reason, in words.
    reason: String,
    /// The ways in which an operator can deal with it.
    can: Vec<Way>,
}

/// A way to deal with a task that takes no step.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
enum Way {
    /// The decision `adopt` about its policy.
    Adopt,
    /// The decision `keep` about its policy.
    Keep,
    /// Ending it.
    End,
    /// Purging it.
    Purge,
}

impl<'t> Shown<'t> {
    /// The policy of a task that is open.
    fn of(open: &'t Open, served: &Served) -> Self {
        let Open { task, head, manifests, held, is_borrowed, .. } = open;
        let held = held.as_ref().filter(|_| !has_ended(task));
        if held.is_some() || *is_borrowed || has_ended(task) {
            return Self {
                held: held.map(|held| Hold::of(held, open, served)),
                ..Self::stored(head, task.tools(), served)
            };
        }
        // what was brought under the policy that is served is stored with its next step
        let fingerprint = task.policy().fingerprint();
        let known = manifests.as_ref().map(|set| set.digest());
        Self { manifests: known, ..Self::under(fingerprint, head, task.tools(), served) }
    }

    /// The policy under which the last step of a task was stored.
    fn stored(head: &'t TaskHead, tools: &[BroughtTool], served: &Served) -> Self {
        Self { manifests: head.manifests(), ..Self::under(head.fingerprint(), head, tools, served) }
    }

    fn under(fingerprint: Fingerprint, head: &'t TaskHead, tools: &[BroughtTool], served: &Served) -> Self {
        let (namespace, agent) = head.agent();
        let policy = served.engine.policy_with(namespace, agent, tools);
        Self {
            manifest: fingerprint.to_string(),
            manifests: None,
            current: policy.is_ok_and(|policy| policy.fingerprint() == fingerprint),
            held: None,
            decided: head.policy().and_then(|policy| policy.decided.as_ref()),
        }
    }
}

impl Hold {
    /// Of a task that is open to be looked at. Whether the policy that is served can take it over is tried: linear in the
    /// task.
    fn of(held: &Held, open: &Open, served: &Served) -> Self {
        let is_unreadable = matches!(held, Held::Unreadable(_));
        let adopts = !is_unreadable && served.engine.restore(open.task.save()).is_ok();
        let ways =
            [(adopts, Way::Adopt), (!open.is_borrowed, Way::Keep), (true, Way::End), (true, Way::Purge)];
        let can = ways.into_iter().filter(|(can, _)| *can).map(|(_, way)| way).collect();
        Self { reason: held.reason(), can }
    }
}

/// `GET /v1/tasks/{task}`
pub(crate) fn state(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let served = service.manifests.served();
    let looked = service.tasks.look(request, |open| {
        let (namespace, agent) = open.head.agent();
        let standing = Standing {
            task: open.task.id(),
            version: open.head.version(),
            namespace,
            agent,
            user: &open.task.context().start().user_id,
            parent: open.task.parent(),
            metadata: open.task.metadata(),
            state: open.task.state(),
            asks: if open.is_borrowed {
                open.task.request().map(celador::task::Request::masked)
            } else {
                open.task.masked_request()
            },
            interrupted: open.task.is_interrupted(),
            // of rules that are not its own it lacks what it likes
            lacking: if open.is_borrowed { Vec::new() } else { Lacking::of(&open.task) },
            policy: Shown::of(open, &served),
        };
        Answer::json(200, &standing)
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
    service.tasks.decide(request, &owner, &decide)
}

impl Tasks {
    /// A task that no policy at hand can read, as far as it can be shown without one.
    fn closed(&self, request: &Request, served: &Served, problem: &Problem) -> Result<Answer, Problem> {
        let owner = owner(&request.caller);
        let loaded = self.store.load(&owner, &request.id);
        let loaded = loaded.map_err(|error| self.gone(&owner, &request.id, &error))?;
        let (head, saved) = (&loaded.head, &loaded.saved);
        let (namespace, agent) = head.agent();
        let reason = problem.detail().unwrap_or_default().to_owned();
        let held = (!saved.has_ended()).then(|| Hold { reason, can: vec![Way::Purge] });
        let standing = Standing {
            task: saved.id(),
            version: head.version(),
            namespace,
            agent,
            user: saved.user(),
            parent: saved.parent(),
            metadata: saved.metadata(),
            state: saved.state(),
            asks: saved.request().map(celador::task::Request::masked),
            interrupted: saved.is_interrupted(),
            lacking: Vec::new(),
            policy: Shown { held, ..Shown::stored(head, saved.tools(), served) },
        };
        Answer::json(200, &standing)
    }

    /// Brings a task under the policy that is served, or has it keep its own. Nothing else happens to it. With a decision log
    /// that is required, it is answered when its line is on disk.
    fn decide(&self, request: &Request, owner: &Owner, decide: &Decide) -> Result<Answer, Problem> {
        let Decide { decision, reason, .. } = decide;
        self.recorder.ready()?;
        let who = request.caller.identity.as_deref();
        let seat = self.seat(owner, &request.id);
        let mut open = sit(&seat);
        for _ in 0..=self.limits.max_conflicts {
            *open = None;
            let loaded = self.store.load(owner, &request.id);
            let loaded = loaded.map_err(|error| self.gone(owner, &request.id, &error))?;
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
            let notice = decided.notice(at, owner, &request.id, found.head.version().saturating_add(1));
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
    policy: Shown<'t>,
}

impl Decision<'_> {
    fn answer(open: &Open, served: &Served) -> Result<Answer, Problem> {
        let (task, version) = (open.task.id(), open.head.version());
        Answer::json(200, &Decision { task, version, policy: Shown::of(open, served) })
    }
}
