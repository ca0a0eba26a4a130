//! Whether a schema says only what values can be held to: every word, and where its references lead.
//!
//! In: a schema with places. Out: findings. What the words are and what becomes of a schema that is right is said in
//! `json_schema`, which knows no findings.

mod references;
mod words;

pub(super) use references::check_references;
pub(super) use words::{NO_MEANING, Position, check, check_definitions, check_names, check_word};
