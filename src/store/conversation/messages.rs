//! Every text of a refusal and of the protocols, one function each.
//!
//! Most are ours; those of K1 to K3 are the contract's to the letter. None holds a message, an artifact, or a detail of
//! the store (J12).

use super::refusal::Refusal;

// The contract's.

/// K1.
pub(super) fn cleared(id: &str) -> String {
    format!("Context {id} and all associated tasks cleared successfully")
}

/// K2.
pub(super) fn unknown_context(id: &str) -> String {
    format!("Context {id} not found")
}

/// K3.
pub(super) fn context_not_found() -> String {
    "Context not found".to_owned()
}

// Refusals.

pub(super) fn task_not_found() -> String {
    "Task not found".to_owned()
}

pub(super) fn task_finished() -> String {
    "the task is finished and takes no message".to_owned()
}

pub(super) fn not_in_this_status() -> String {
    "the status of the context does not allow it".to_owned()
}

pub(super) fn archived() -> String {
    "an archived context is not cleared".to_owned()
}

pub(super) fn not_an_object(name: &str) -> Refusal {
    Refusal::Params(format!("`{name}` is to be an object"))
}

pub(super) fn wrong_type(name: &str) -> Refusal {
    Refusal::Params(format!("`{name}` has a value of a wrong type"))
}

pub(super) fn not_changeable(name: &str) -> Refusal {
    Refusal::Params(format!("`{name}` is no member that can be changed"))
}

pub(super) fn not_whole(name: &str) -> Refusal {
    Refusal::Params(format!("`{name}` is to be a whole number of at least 0"))
}

pub(super) fn not_positive(name: &str) -> Refusal {
    Refusal::Params(format!("`{name}` is to be at least 1"))
}

pub(super) fn not_one_of(name: &str, choices: &str) -> Refusal {
    Refusal::Params(format!("`{name}` is to be one of {choices}"))
}

pub(super) fn not_a_time(name: &str) -> Refusal {
    Refusal::Params(format!("`{name}` is to be a date and time of RFC 3339 with an offset"))
}

pub(super) fn no_context_id() -> Refusal {
    Refusal::Params("`contextId` is to be a string".to_owned())
}

pub(super) fn not_a_uuid() -> Refusal {
    Refusal::Params("`contextId` is to be a UUID".to_owned())
}

pub(super) fn bad_id(name: &str) -> Refusal {
    let most = super::MAX_ID_BYTES;
    Refusal::Params(format!("`{name}` is to be a string of 1 to {most} bytes, without the character U+0000"))
}

pub(super) fn bad_parent() -> Refusal {
    Refusal::Params(
        "`parentContextId` is to be another context of the same owner, and none that came out of this one"
            .to_owned(),
    )
}

pub(super) fn other_context() -> Refusal {
    Refusal::Params("the task belongs to another context".to_owned())
}

pub(super) fn ambiguous_task() -> Refusal {
    Refusal::Params("tasks of several owners have this id".to_owned())
}

pub(super) fn bad_message() -> Refusal {
    Refusal::Params(
        "a message is to be an object in which `messageId` and `role` are strings and `parts` a list"
            .to_owned(),
    )
}

pub(super) fn bad_artifact() -> Refusal {
    Refusal::Params("an artifact is to be an object in which `parts` is a list".to_owned())
}

pub(super) fn unknown_state() -> Refusal {
    Refusal::Params("the state is to be one of A2A".to_owned())
}

pub(super) fn unknown_status() -> Refusal {
    not_one_of("status", "`active`, `paused`, `completed`, `archived`")
}

pub(super) fn not_importable() -> Refusal {
    Refusal::Params("an id is there already or cannot be, or a task has no context".to_owned())
}

// The envelope.

pub(super) const NOT_JSON: &str = "the body is not JSON";
pub(super) const NOT_A_REQUEST: &str = "the body is not one request object of JSON-RPC 2.0";
pub(super) const NO_USABLE_ID: &str = "`id` is to be a string, an integer or null";
pub(super) const NO_METHOD: &str = "`method` is to be a string";
pub(super) const UNKNOWN_METHOD: &str = "there is no such method";
pub(super) const NOT_STRUCTURED: &str = "`params` is to be an object";
pub(super) const POSITIONAL: &str = "parameters are named: `params` is to be an object";
pub(super) const STORE_FAILED: &str = "the store does not answer";
pub(super) const NO_IDENTITY: &str = "authentication required";
pub(super) const NO_SCOPE: &str = "The token lacks a scope";

// The store.

pub(super) fn damaged(what: &str, id: &str) -> String {
    format!("{what} of context {id}")
}
