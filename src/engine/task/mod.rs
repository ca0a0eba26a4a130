//! One running task: operations in, decisions out.
//!
//! The host tells a task what is about to happen and does what it is told:
//!
//! | operation | when | ends in |
//! |---|---|---|
//! | [`Task::input`] | somebody says something | allow with the admitted entry, lock_task, invalid_input, terminate |
//! | [`Task::limits`] | ahead of a model turn | allow, terminate |
//! | [`Task::model_turn`] | the model has answered | allow, terminate |
//! | [`Task::before`] | the model calls a function | allow with the resolved arguments, block, lock_task, error, terminate |
//! | [`Task::after`] | the function has run | allow with what the model receives, block, lock_task, terminate |
//! | [`Task::execute`] | instead of running it yourself | as `after` |
//! | [`Task::invoke`] | instead of all three | as `before` and `after` |
//! | [`Task::script`] | the model writes a script of calls | allow with its result, or as the call that ends it |
//! | [`Task::invoke`] | instead of both | as `before` and `after` |
//! | [`Task::event`] | something happened outside | route with the entry that it became, discard, lock_task |
//! | [`Task::output`] | the model has a response | allow with what is delivered, lock_task |
//! | [`Task::end`] | the host wants no more of it | terminate |
//!
//! Nothing here does IO or reads a clock: an operation that needs something from outside ends in [`Progress::Asks`] and
//! goes on with [`Task::resume`], in this process or, through [`Task::save`], in another. A locked or terminated task takes
//! no step any more, and one that waits takes none but the answer; both say [`Verdict::Rejected`].

mod activity;
mod allowed;
mod capability_call;
mod change;
mod decision;
mod delegation;
mod delivered;
mod driver;
mod effect;
mod error;
mod event;
mod execution;
mod file_reference;
mod interpolation;
mod invoke_step;
mod judge;
mod limits;
mod message;
mod messages;
mod mount_path;
mod operation;
mod record;
mod replay;
mod save;
mod script;
mod secret;
mod size;
mod start;
mod state;
mod steps;
mod switches;
mod trial;

pub use crate::policy::{EventSource, InvocationTarget, Origin};
pub use change::{TaskChange, TaskMark};
pub use decision::{
    CallId, Decision, EventStage, Finding, LimitReached, StepKind, StepName, StepOutcome, TraceEntry, Verdict,
};
pub use driver::Host;
pub use effect::{Answer, CallResult, CallStatus, Caller, Invocation, Progress, Request};
pub use error::TaskError;
pub use event::{Content, Delivery, Routing, Subscription};
pub use file_reference::FileReference;
pub use interpolation::{Given, InterpolationError, TemplateKind};
pub use record::{Past, PastCall};
pub use replay::Exchange;
pub use save::SavedTask;
pub use secret::Hidden;
pub use start::{Call, Next, Offer, StartTask, Usage, User};
pub use state::TaskState;
pub use switches::{Switch, Switches};
pub use trial::{Trial, Tried};

use crate::cel::{Cache, Fault, Json, Timestamp};
use crate::context::{Bound, Moment, Mount, Runtime, TaskContext, TaskStart};
use crate::policy::{AllowList, OutputSchema, Policy};
use activity::Activity;
use delivered::Deliveries;
use operation::{OpenCall, Pending, Sender, Subject};
use replay::Replay;
use state::End;
use std::sync::Arc;

/// A running task of one agent. It keeps the policy that it started with.
#[derive(Debug)]
pub struct Task {
    id: String,
    policy: Arc<Policy>,
    cache: Arc<Cache>,
    context: TaskContext,
    runtime: Runtime,
    mount: Option<Mount>,
    end: Option<End>,
    pending: Option<Box<Pending>>,
    /// Calls that were let through and have no result yet.
    open: Vec<OpenCall>,
    /// The bytes of their arguments.
    open_bytes: u64,
    /// The bytes that the script under way holds while it makes a call.
    script_bytes: u64,
    next_call: u64,
    /// When steps were taken, for the subscriptions.
    activity: Activity,
    /// What the parameters of each capability have had.
    allowed: Vec<AllowList>,
    /// Which deliveries of webhooks it has taken.
    delivered: Deliveries,
    /// What an operator stops.
    switches: Switches,
}

impl Task {
    /// A task that starts under a policy; expressions that are tried out share a cache.
    #[must_use]
    pub fn new(policy: Arc<Policy>, cache: Arc<Cache>, start: StartTask) -> Self {
        let agent = policy.agent();
        let wish = agent.model.as_ref().map(|model| model.text.clone());
        let facts = TaskStart {
            agent: agent.name.text.clone(),
            namespace: agent.namespace.text.clone(),
            started_at: start.started_at,
            user_id: start.user.id.into(),
            user_email: start.user.email.map(Into::into),
            model: start.model.map(Into::into).or(wish).unwrap_or_default(),
        };
        let context = TaskContext::new(policy.schema().clone(), facts);
        let mount = policy.mount(&start.id);
        let mut task = Self {
            allowed: allowed::lists(&policy),
            id: start.id,
            policy,
            cache,
            context,
            runtime: start.runtime,
            mount,
            end: None,
            pending: None,
            open: Vec::new(),
            open_bytes: 0,
            script_bytes: 0,
            next_call: 0,
            activity: Activity::starting(start.started_at),
            delivered: Deliveries::default(),
            switches: Switches::default(),
        };
        task.seal(start.started_at);
        task
    }

    /// The id that the host gave it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The policy that it runs under.
    #[must_use]
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// The context, as the engine holds it.
    #[must_use]
    pub fn context(&self) -> &TaskContext {
        &self.context
    }

    /// The context as JSON: exactly what expressions see. Linear.
    ///
    /// # Errors
    /// As [`TaskContext::to_json`].
    pub fn context_json(&self) -> Result<Json, Fault> {
        self.context.to_json()
    }

    /// The mount, if the agent works in one; requests name paths below its prefix.
    #[must_use]
    pub fn mount(&self) -> Option<&Mount> {
        self.mount.as_ref()
    }

    /// Whether it was interrupted and has taken no step since: it then has no event subscriptions (SUB-11).
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.activity.is_interrupted()
    }

    /// What the pending operation asks for; none if nothing is pending.
    #[must_use]
    pub fn request(&self) -> Option<&Request> {
        self.pending.as_ref().map(|pending| &pending.request)
    }

    /// What the model is offered, in the order of the manifest (AG-11, AG-22): what its interface calls tools.
    pub fn offers(&self) -> impl Iterator<Item = Offer<'_>> {
        let offered = self.policy.functions().iter().filter(|function| function.offered);
        offered.map(|function| Offer {
            name: &function.key,
            description: function.description.as_deref(),
            schema: &function.schema,
            output: function.output.as_ref().map(OutputSchema::schema),
        })
    }

    /// The names of the functions that the model is offered.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.offers().map(|offer| offer.name)
    }

    /// The JSON Schema of a function's parameters as the model sees them (BND-03, BND-20).
    ///
    /// # Errors
    /// [`TaskError::UnknownFunction`] for one that the model is not offered.
    pub fn schema(&self, function: &str) -> Result<&serde_json::Value, TaskError> {
        let offered = self.offers().find(|offer| offer.name == function);
        offered.map(|offer| offer.schema).ok_or_else(|| TaskError::UnknownFunction(function.to_owned()))
    }

    /// Goes on with the pending operation.
    ///
    /// # Errors
    /// [`TaskError::NothingPending`], and [`TaskError::WrongAnswer`] for an answer of another kind than the request's;
    /// the operation then still waits.
    pub fn resume(&mut self, answer: Answer, now: Timestamp) -> Result<Progress, TaskError> {
        let Some(pending) = &self.pending else { return Err(TaskError::NothingPending) };
        if !answer.fits(&pending.request) {
            return Err(TaskError::WrongAnswer);
        }
        if let Some(decision) = self.expire(now).or_else(|| self.unanswerable(&answer)) {
            return Ok(Progress::Decided(decision));
        }
        let Some(pending) = self.pending.take() else { return Err(TaskError::NothingPending) };
        let Pending { mut operation, request, script } = *pending;
        operation.course.exchanges.push(Exchange { question: request, answer });
        let of_event = matches!(operation.subject, Subject::Event(_) | Subject::Input(Sender::Event));
        if !of_event {
            self.take_step(now);
        }
        let progress = self.go_on(operation, script, now);
        Ok(self.settle_event(progress, now))
    }

    /// The host of an expression, with the answers that it was given.
    fn replay<'e>(&self, exchanges: &'e [Exchange]) -> Replay<'e> {
        Replay::new(exchanges, self.mount.is_some(), self.policy.limits())
    }

    /// The values that the expressions of an operation see.
    #[inline]
    fn bound<'a>(&'a self, subject: &'a Subject, now: &'a Moment) -> Bound<'a> {
        let mut bound = self.surroundings(now);
        match subject {
            Subject::Call(call) => {
                bound.input = Some(call.arguments.value());
                bound.output = call.output.as_ref().map(Json::value);
            }
            Subject::Event(event) => {
                bound.input = Some(event.input.value());
                bound.event = Some(event.data.value());
            }
            Subject::Input(_) | Subject::Output | Subject::Script(_) => {}
        }
        bound
    }

    /// The values that any expression of the task sees.
    #[inline]
    fn surroundings<'a>(&'a self, now: &'a Moment) -> Bound<'a> {
        Bound {
            context: Some(&self.context),
            now: Some(now),
            runtime: Some(&self.runtime),
            mount: self.mount.as_ref(),
            ..Bound::default()
        }
    }
}
