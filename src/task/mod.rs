//! One running task: operations in, decisions out.
//!
//! The host tells a task what is about to happen and does what it is told:
//!
//! | operation | when | ends in |
//! |---|---|---|
//! | `limits` | ahead of a model turn | allow, terminate |
//! | `input` | somebody says something | allow with the admitted message, lock_task, invalid_input, terminate |
//! | `model_turn` | the model has answered | allow, terminate |
//! | `before` | the model calls a function | allow with the resolved arguments, block, lock_task, error, terminate |
//! | `after` | the function has run | allow with what the model receives, block, lock_task, terminate |
//! | `invoke` | instead of both | as `before` and `after` |
//! | `output` | the model has a response | allow with what is delivered, lock_task |
//!
//! Nothing here does IO or reads a clock: an operation that needs something from outside ends in
//! [`Progress::Asks`](effect::Progress::Asks) and goes on with [`Task::resume`], in this process or in another.

pub mod decision;
pub mod effect;
mod error;
mod start;

pub use crate::policy::{InvocationTarget, Origin};
pub use decision::{CallId, Decision, Finding, LimitReached, StepName, StepOutcome, TraceEntry, Verdict};
pub use effect::{Answer, CallResult, CallStatus, Caller, Invocation, Progress, Request};
pub use error::TaskError;
pub use start::{Call, Next, Runtime, StartTask, Usage, User};
