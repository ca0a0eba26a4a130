//! Celador: the policy and guardrail engine for AI agents.
//!
//! An agent runtime calls it before and after every step of a running task. It holds the task's context, evaluates the
//! CEL middleware and guardrails of the agent's manifest on it, enforces limits, and answers with a [`Decision`].
//!
//! ```
//! use celador::{Call, CallResult, Engine, EngineLimits, Json, Outcome, StartTask, Usage, User};
//! use std::time::SystemTime;
//! # use celador::{Host, Invocation, Timestamp};
//! # struct Runtime;
//! # impl Host for Runtime {
//! #     fn now(&mut self) -> Timestamp { SystemTime::now().into() }
//! #     fn invoke(&mut self, _: &Invocation) -> Option<CallResult> { Some(CallResult::successful(Json::null())) }
//! #     fn review(&mut self, _: &str) -> Option<bool> { None }
//! #     fn read_mount(&mut self, _: &str) -> Option<String> { None }
//! #     fn write_mount(&mut self, _: &str, _: &str) -> bool { false }
//! # }
//! # fn json(value: serde_json::Value) -> Json { value.into() }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut runtime = Runtime;
//! # let now = SystemTime::now;
//! # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
//! // A folder of manifests; whatever is wrong in them is an error that shows the place with carets.
//! let engine = Engine::open(&["policies/support-desk"], EngineLimits::default())?;
//!
//! let user = User { id: "u-7".into(), email: Some("kim@example.com".into()), ..User::default() };
//! let mut task = engine.start(StartTask::new("t-1041", "support", "support-desk", user, now()))?;
//!
//! // Somebody says something: guardrails look at it before the model does.
//! let input = json(serde_json::json!({"message": "Please see to this ticket.", "ticket_id": "T-1041"}));
//! let Outcome::Allowed(said) = task.input(&input, now()).drive(&mut runtime)? else { panic!("a harmless input") };
//! task.model_turn(Usage { prompt_tokens: 640, completion_tokens: 35, ..Usage::default() }, now());
//!
//! // The model wants to pay before it has read the ticket. `runtime` answers whatever the steps ask for.
//! let refund = Call::new("payments_refund", json(serde_json::json!({"amount": 180, "reason": "Broken."})));
//! match task.before(&refund, now())?.drive(&mut runtime)? {
//!     Outcome::Allowed(call) => panic!("{} may not run", call.call),
//!     Outcome::Refused(refusal) => {
//!         assert_eq!(refusal.message(), "Fetch the ticket before you touch its payments.");
//!     }
//!     Outcome::Waits(waiting) => panic!("{:?} is asked", waiting.reviewer()),
//!     Outcome::Queued(queued) => panic!("{:?} are open", queued.waits_for),
//! }
//!
//! // It reads the ticket; the runtime carries the call out and reports what came back.
//! let fetch = Call::new("zendesk_fetch_ticket", json(serde_json::json!({})));
//! let Outcome::Allowed(fetch) = task.before(&fetch, now())?.drive(&mut runtime)? else { panic!("reading is allowed") };
//! assert_eq!(fetch.arguments.to_string(), r#"{"ticket_id":"T-1041"}"#);
//! let ticket = serde_json::json!({"id": "T-1041", "status": "open", "subject": "Lamp", "description": "In pieces.",
//!     "order_id": "ord-77", "order_total": 240, "customer_id": "cus-5", "internal_notes": "Second complaint."});
//! let result = CallResult::successful(json(ticket));
//! let reported = task.after(&fetch.call, result, now())?.drive(&mut runtime)?;
//! let Outcome::Allowed(seen) = reported else { panic!("the model may see it") };
//! assert!(seen.value.root().get("internal_notes").is_none());
//!
//! // What the model answers passes guardrails too.
//! let answer = json(serde_json::json!({"message": "A colleague will look at it."}));
//! assert!(task.output(&answer, now()).drive(&mut runtime)?.is_allowed());
//! # Ok(())
//! # }
//! ```
//!
//! `runtime` implements [`Host`]: it carries out what middleware invokes, gets reviews, reads and writes the mount, all at once. A
//! host on an async runtime takes [`BegunOperation::drive_async`] with a closure (`examples/async_host.rs` is the shortest one there
//! can be), and one that wants to see each effect takes [`BegunOperation::request`] and [`BegunOperation::answer`]. Where an answer takes
//! days, the operation waits: [`Task::save`] keeps it, and [`Task::resume`] goes on after [`Engine::restore`], in any process.
//!
//! A model that writes a script of calls instead of one call has it run by [`Task::script`]. A host that does not want to
//! know which tools are written in CEL has every call that was let through carried out by [`Task::execute`].
//!
//! # A whole runtime
//!
//! `examples/agent_loop/runtime.rs` is the loop around a task that a runtime author writes, in the order in which things
//! come: input, limits, a turn of the model with the prompt and the functions that it is offered, its call, script or
//! answer, delegation to a sub-agent in a task of its own, requests from outside, and rest in a store, from which another
//! process goes on. `cargo run --example agent_loop` plays a story with it and prints what was decided and why.
//!
//! # Where to go
//!
//! - [`Task::event`] and [`Task::route`] bring what happens outside to a task that runs.
//! - [`engine`] opens manifests and starts tasks; [`task`] is what happens to one; [`Outcome`] is what an operation comes to and [`Decision`] how it is written down.
//! - [`cel`] is the language alone: scopes, programs, values, the cache of compiled expressions.
//! - [`counter`] has amounts that count across tasks, users and days.
//! - [`context`] is what expressions see; [`manifest`] is what authors write; [`scenario`] runs their cases.
//! - [`replay`] judges recorded tasks anew, and counts what other policies would decide otherwise.
//! - [`prove`] proves what is to hold of all calls and tasks, or finds a task that breaks it.
//! - [`limits`] has every bound.
//!
//! # Untrusted input
//!
//! Manifests, expressions, arguments, results and messages may all be hostile. Each meets a bound of [`EngineLimits`]
//! before work that grows with it, and none of them makes the library panic. Expressions run in linear time of what
//! they go through, up to `max_cost`; regular expressions are linear. What is not bounded is the number of tasks and
//! what a host records in them: that is the host's to limit, with the manifests' own limits as a help.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "analysis"),
    expect(
        dead_code,
        unused_imports,
        reason = "what the analysis alone asks stands beside what it is about"
    )
)]

mod amount;
#[cfg(feature = "analysis")]
pub mod analysis;
mod candidates;
pub mod context;
pub mod copies;
pub mod counter;
pub mod detect;
#[cfg(feature = "analysis")]
pub mod diff;
pub mod digest;
pub mod engine;
pub mod evidence;
pub mod explained;
mod hash_key;
mod layers;
#[cfg(feature = "analysis")]
pub mod layout;
pub mod limits;
pub mod lint;
pub mod manifest;
#[cfg(feature = "parsers")]
pub mod parsers;
pub mod policy;
#[cfg(feature = "analysis")]
pub mod prove;
pub mod replay;
pub mod scenario;
pub mod task;
pub mod unfit;
mod unscoped;

pub use celador_cel::{self as cel, diagnostic, source};

pub use amount::{Amount, AmountError, Decimal};
pub use cel::{Json, Timestamp};
pub use context::tool_text;
pub use diagnostic::Diagnostic;
pub use engine::{Engine, OpenError};
pub use hash_key::{HashKey, HashKeyTooShort};
pub use limits::EngineLimits;
pub use manifest::brought::{BroughtAnnotations, BroughtTool, LeftOut, ToolsError};
pub use task::{
    AcceptedInput, AllowedCall, AllowedModelCall, Answer, BegunOperation, Call, CallId, CallResult, Content,
    Credential, DecidedCall, DecidedKind, Decision, DeliveredOutput, Delivery, Enforced, Host, Identity,
    Invocation, InvocationTarget, ModelCall, Next, Obligation, ObservedStep, Offer, Operation, Outcome,
    Parent, Progress, Question, QuestionId, Queued, Ran, Received, ReceivedAnswer, Refusal, Reported,
    Request, Retain, Review, ReviewAnswer, ReviewChoice, ReviewState, Reviewed, RoutedEvent, Rule, SavedTask,
    StartTask, Task, TaskError, Terms, Turn, Turned, Usage, User, Verdict, VerdictKind, Waiting,
};
