//! Celador: the policy and guardrail engine for AI agents.

#![forbid(unsafe_code)]

pub mod cel;
pub mod context;
pub mod diagnostic;
pub mod limits;
pub mod manifest;
pub mod source;
