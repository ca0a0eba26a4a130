//! One running task: operations in, decisions out.
//!
//! The host tells a task what is about to happen and does what it is told:
//!
//! | operation | when | ends in |
//! |---|---|---|
//! | [`Task::input`] | somebody says something | allow with the admitted entry, wait, lock_task, invalid_input, terminate |
//! | [`Task::limits`] | ahead of a model turn | allow, terminate |
//! | [`Task::model_turn`] | the model has answered | allow, block where a counter cannot count it, terminate |
//! | [`Task::model_before`] | a request goes to the model | allow with what is sent, block, lock_task, invalid_input, terminate |
//! | [`Task::model_after`] | the model's answer has come | allow with what goes on of it, block, lock_task, invalid_input, terminate |
//! | [`Task::before`] | the model calls a function | allow with the resolved arguments, wait, block, lock_task, error, terminate |
//! | [`Task::turn`] | the model has answered, with all its calls at once | as `model_turn` and, for each call, `before` |
//! | [`Task::after`] | the function has run | allow with what the model receives, block, lock_task, terminate |
//! | [`Task::results`] | several functions have run | as `after`, for each |
//! | [`Task::claim`] | ahead of running it, where several processes share a store | allow for one of them |
//! | [`Task::release`] | a claimed call was not run | allow |
//! | [`Task::withdraw`] | the function will never be reported | block with what the model receives |
//! | [`Task::execute`] | instead of running it yourself | as `after` |
//! | [`Task::invoke`] | instead of all three | as `before` and `after` |
//! | [`Task::script`] | the model writes a script of calls | allow with its result, or as the call that ends it |
//! | [`Task::event`] | something happened outside | route with the entry that it became, wait, discard, lock_task |
//! | [`Task::output`] | the model has a response | allow with what is delivered, lock_task |
//! | [`Task::end`] | the host wants no more of it | terminate |
//! | [`Task::unlock`] | an operator lets a locked task go on | allow |
//!
//! Nothing here does IO or reads a clock: an operation that needs something from outside ends in [`Progress::Asks`] and
//! goes on with [`Task::resume`], in this process or, through [`Task::save`], in another. A locked or terminated task takes
//! no step any more. Several operations may wait at once: while one does, the task takes results of calls that were let through,
//! withdrawals and answers; calls, inputs and events that may not be decided yet are [`VerdictKind::Wait`]; whatever else is tried is [`VerdictKind::Rejected`].
//!
//! `state` holds what a task is as plain data, and names nothing else. The parts beside it work on that data: `evaluation` is what
//! expressions see and ask, `judge`, `invoke_step` and `steps` run lists of steps, `calls`, `message`, `model` and `event` are what operations
//! are about, `model_counting` is what turns of the model spend, `waiting` has the operations that wait for others or for people, `limits`, `switches` and `ending` say why one may not
//! begin. `door` is on top.

mod begun_operation;
mod calls;
mod change;
mod compute;
mod delivery;
mod door;
mod driver;
mod ending;
mod evaluation;
mod event;
mod execution;
mod explain;
mod explained;
mod flow;
mod invoke_step;
mod judge;
mod labels;
mod limits;
mod message;
mod messages;
mod model;
mod model_counting;
mod model_outcome;
mod observe;
mod operation;
mod operation_body;
mod outcome;
mod record;
mod rewrite;
mod save;
mod secret;
mod size;
mod state;
mod steps;
mod switches;
mod terms;
mod waiting;
mod why_not;

pub use crate::context::Caller;
pub use crate::policy::{EventSource, InvocationTarget, Origin};
pub use begun_operation::BegunOperation;
pub use calls::turn::{Reported, Turned};
pub use change::{TaskChange, TaskMark};
pub use delivery::{Content, Delivery};
pub use driver::Host;
pub use evaluation::file_reference::FileReference;
pub use evaluation::interpolation::{Given, InterpolationError, TemplateKind};
pub use evaluation::trial::{Trial, Tried};
pub use event::{Routing, Subscription};
pub use explained::ExplainedDecision;
pub use model_outcome::{AllowedModelCall, ReceivedAnswer};
pub use operation::{Operation, ReportedCall};
pub use outcome::{
    AcceptedInput, AllowedCall, DeliveredOutput, HandedOver, Outcome, Queued, Received, Refusal, RoutedEvent,
    Waiting,
};
pub use record::{Past, PastCall};
pub use save::SavedTask;
pub use state::{
    Allowed, Answer, Call, CallId, CallResult, CallStatus, CounterUse, Credential, DecidedCall, DecidedKind,
    Decision, Enforced, EventStage, Exchange, ExplainedExpression, ExplainedStep, Explanation, Finding,
    Hidden, Identity, Invocation, LackingValues, LimitReached, ModelCall, Next, Obligation, ObservedStep,
    Offer, Parent, Progress, Question, QuestionId, Ran, Refused, Request, Retain, Review, ReviewAnswer,
    ReviewAnswered, ReviewChoice, ReviewProgress, ReviewRecord, ReviewReply, ReviewRule, ReviewState,
    ReviewWord, Reviewed, ReviewedAgent, ReviewedUser, Rule, SkipReason, StartTask, StepEnding, StepKind,
    StepName, StepOutcome, Suggestion, Switch, Switches, Task, TaskError, TaskState, Termination,
    TerminationReason, Terms, TraceEntry, Turn, Usage, User, Verdict, VerdictKind,
};
pub(crate) use state::{ClauseSeen, NameSeen};
