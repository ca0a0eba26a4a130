//! Celador: the policy and guardrail engine for AI agents.

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
