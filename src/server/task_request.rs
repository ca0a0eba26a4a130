//! A request about one task, however it came: over HTTP, from a program in the same process, or from the server itself.

use crate::identity::Caller;
use std::net::IpAddr;

/// A request about one task.
#[derive(Clone)]
pub(crate) struct TaskRequest {
    pub(crate) caller: Caller,
    /// The id of the task.
    pub(crate) task: String,
    /// The key under which it counts once, if it has one.
    pub(crate) once: Option<OnceKey>,
    /// The network address from which it comes, if that is known.
    pub(crate) address: Option<IpAddr>,
}

/// A key under which a request counts once.
#[derive(Clone)]
pub(crate) struct OnceKey {
    /// The key, of the caller's choice.
    pub(crate) key: String,
    /// The digest of what a request under it says: a retry says the same.
    pub(crate) digest: String,
}

impl OnceKey {
    /// Whether a text can be a key: 1 to `most` visible ASCII characters.
    pub(crate) fn is_valid(text: &str, most: usize) -> bool {
        (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
    }
}

impl TaskRequest {
    /// A request that may come twice.
    pub(crate) fn new(caller: Caller, task: &str) -> Self {
        Self { caller, task: task.to_owned(), once: None, address: None }
    }

    /// One of the server itself.
    pub(crate) fn of_server(task: &str) -> Self {
        Self::new(Caller::nobody(), task)
    }
}
