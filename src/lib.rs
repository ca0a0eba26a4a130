//! Celador: the policy and guardrail engine for AI agents.
//!
//! An agent runtime calls it before and after every step of a running task. It holds the task's context, evaluates the
//! CEL middleware and guardrails of the agent's manifest on it, enforces limits, and answers with a [`Decision`]. It does
//! no IO and reads no clock: what it needs from outside it asks for.
//!
//! ```
//! use celador::{Call, CallResult, Engine, EvalLimits, Json, Progress, StartTask, Timestamp, User, Verdict};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Load a folder of manifests; what is wrong in them comes as diagnostics with carets.
//! let (engine, findings) = Engine::open(&["policies/support-desk"], EvalLimits::default())?;
//! assert!(!findings.iter().any(|finding| finding.is_error()));
//!
//! let now: Timestamp = "2026-06-01T12:00:00Z".parse()?;
//! let mut task = engine.start(StartTask {
//!     id: "t-1".into(),
//!     namespace: "support".into(),
//!     agent: "support-desk".into(),
//!     user: User { id: "u-1".into(), email: Some("ann@example.com".into()) },
//!     started_at: now,
//!     model: None,
//!     runtime: Default::default(),
//! })?;
//!
//! // Somebody says something; the guardrails look at it first.
//! let input = serde_json::json!({"message": "Please refund ticket 4711.", "ticket_id": "4711"});
//! let Progress::Decided(decision) = task.input(&Json::from(input), now) else { panic!("nobody is asked") };
//! assert_eq!(decision.verdict, Verdict::Allow);
//!
//! // The model wants to refund before it has read the ticket.
//! let refund = Call { function: "refunds_issue".into(), arguments: serde_json::json!({"amount": 20}).into() };
//! let Progress::Decided(decision) = task.before(&refund, now) else { panic!("nobody is asked") };
//! assert_eq!(decision.verdict, Verdict::Block);
//! # let _ = CallResult::successful(Json::null());
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

pub mod cel;
pub mod context;
pub mod diagnostic;
pub mod engine;
pub mod limits;
pub mod manifest;
pub mod policy;
pub mod scenario;
pub mod source;
pub mod task;
