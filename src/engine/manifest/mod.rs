//! Common Agent manifests: their shape, where each part stands, and whether it is valid.
//!
//! In: YAML files or parsed documents. Out: a [`Catalog`] of linked documents and a diagnostic for every problem, each
//! with its place and its manifest path. Expressions and templates stay text here, with the way back to the file; the
//! layer above compiles them.

pub mod agent;
pub mod applied;
mod apply;
pub mod argument_rules;
pub mod binding;
pub mod brought;
pub mod bundle;
#[cfg_attr(not(feature = "schedules"), path = "no_cadence.rs")]
mod cadence;
pub mod capability_key;
pub mod catalog;
mod claims;
pub(crate) mod comments;
pub mod counter;
mod counter_limit;
mod default_decision;
pub mod delegation;
mod descriptor;
pub mod document;
pub mod doubt;
pub mod edit;
pub mod event;
mod except;
pub mod exception;
pub(crate) mod fields;
mod function_ref;
mod functions;
pub mod given;
pub mod host_function;
pub mod json_schema;
pub mod kind;
pub mod label;
pub mod launch;
mod link;
pub mod listing;
pub mod load;
mod mentions;
mod messages;
pub mod mode;
pub mod mount;
pub mod named_expression;
mod names;
pub mod node;
mod parse;
pub mod policy;
pub mod policy_step;
pub mod policy_use;
pub(crate) mod reader;
mod resolved_agent;
pub mod review;
pub mod role;
mod scalar;
pub mod schedule;
pub mod schema;
mod schema_check;
mod selection;
pub mod selector;
pub(crate) mod shape;
pub mod step;
pub mod step_effect;
pub mod subscription;
pub mod task_limit;
pub mod tool;
pub mod tools;
pub mod trigger;
mod unread;
mod unsaid;
mod uses;
pub mod version;
pub mod yaml;
mod yaml_cause;

pub use bundle::Bundle;
pub use catalog::Catalog;
pub use document::Document;
pub use load::load;
pub(crate) use yaml_cause::comment_behind;
