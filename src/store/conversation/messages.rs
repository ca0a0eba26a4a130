//! Every text of a refusal and of the protocols, one function each.
//!
//! Most are ours; those of K1 to K3 are the contract's to the letter. None holds a message, an artifact, or a detail of
//! the store (J12).

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

pub(super) const NO_CONTEXT_STORE: &str = "expected `embedded`, `redis://…`, `rediss://…` or `postgres://…`";

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
