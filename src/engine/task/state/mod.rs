//! The state of a task and of its operations, as plain data: what is kept, asked, answered and told.
//!
//! Nothing here runs a step. The parts beside this folder work on it.

mod activity;
mod beside;
mod call_id;
mod claim;
mod closed_calls;
mod counter_use;
mod counting;
mod course;
mod decision;
mod delivered;
mod effect;
mod enforced;
mod error;
mod exchange;
mod explanation;
mod hidden;
mod journal;
mod known_call;
mod known_calls;
mod lacking;
mod lifecycle;
mod limit_reached;
mod mark;
mod model;
mod observed;
mod open_call;
mod pending;
mod progress;
mod queue;
mod retain;
mod review;
mod review_answer;
mod review_record;
mod stage;
mod start;
mod stretches;
mod subject;
mod switch;
mod task;
mod termination;
mod terms;
mod trace;
mod under_way;
mod verdict;

pub(in crate::task) use activity::Activity;
pub use call_id::{CallId, DecidedKind};
pub(in crate::task) use claim::CallClaim;
pub use counter_use::CounterUse;
pub(in crate::task) use counting::{AskedCounter, CallCounters, CounterReading, Holdings};
pub(in crate::task) use course::{Course, Results, Rewriting};
pub use decision::{DecidedCall, Decision};
pub(in crate::task) use delivered::{Deliveries, DeliveriesChange, delivery_name};
pub use effect::{Answer, CallResult, CallStatus, Invocation, Question, QuestionId, Ran, Request};
pub use enforced::Enforced;
pub use error::TaskError;
pub use exchange::Exchange;
pub(crate) use explanation::Spot;
pub(crate) use explanation::{ClauseSeen, NameSeen};
pub use explanation::{ExplainedExpression, ExplainedStep, Explanation, SkipReason, StepEnding, Suggestion};
pub use hidden::Hidden;
pub(in crate::task) use hidden::Said;
pub(in crate::task) use journal::{Detail, Journal};
pub(in crate::task) use known_call::{Closed, KnownCall};
pub(in crate::task) use known_calls::{CallsChange, CallsMark, KnownCalls, SavedCalls};
pub use lacking::LackingValues;
pub(in crate::task) use lifecycle::End;
pub use lifecycle::TaskState;
pub use limit_reached::LimitReached;
pub(in crate::task) use limit_reached::MAX_TASK_BYTES;
pub(in crate::task) use mark::Mark;
pub use model::ModelCall;
pub(in crate::task) use model::{
    CountedTurn, ModelCalls, ModelMark, ModelUnderWay, OpenModelCall, SpentTurn,
};
pub use observed::ObservedStep;
pub(in crate::task) use open_call::OpenCall;
pub(in crate::task) use pending::{Asked, Pending};
pub use progress::Progress;
pub(in crate::task) use queue::{Named, Queue, QueuedOperation, Wanted};
pub use retain::Retain;
pub use review::{Review, ReviewState, Reviewed, Rule};
pub use review_answer::{Identity, ReviewAnswer, ReviewChoice, ReviewReply, ReviewWord};
pub use review_record::{
    ReviewAnswered, ReviewProgress, ReviewRecord, ReviewRule, ReviewedAgent, ReviewedUser,
};
pub(in crate::task) use stage::Stage;
pub use start::{Call, Next, Offer, Parent, StartTask, Turn, Usage, User};
pub(in crate::task) use stretches::Stretches;
pub(in crate::task) use subject::{
    CallUnderWay, EventUnderWay, Extent, Made, ScriptUnderWay, Sender, Subject,
};
pub use switch::{Switch, Switches};
pub use task::Task;
pub use termination::{Termination, TerminationReason};
pub use terms::{Credential, Obligation, Terms};
pub use trace::{Finding, StepKind, StepName, StepOutcome, TraceEntry};
pub(in crate::task) use under_way::UnderWay;
pub use verdict::{Allowed, EventStage, Refused, Verdict, VerdictKind, WaitReason};
