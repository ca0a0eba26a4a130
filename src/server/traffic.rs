//! The forms of messages that a component between two programs knows, and what it does with each.
//!
//! Each component (the guard for MCP, the proxies, the hooks) has one table of [`Form`]s. What stands in no row is unknown, and is refused or
//! dropped. `docs/security.md` shows these tables; a test writes them.

/// One form of message: a method, an event, a type of item, block or part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The name in the protocol, such as `tools/call`.
    pub name: &'static str,
    /// The side that sends it, such as `client`, `server`, `agent`, `model`.
    pub from: &'static str,
    /// What happens to it.
    pub treatment: Treatment,
    /// What rules see of it, or why it needs no decision.
    pub note: &'static str,
}

/// What a component does with a form of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// Rules decide, and the judged value goes on.
    Judged,
    /// It goes on without a decision, in its known members. The note says why.
    Passed,
    /// Its sender gets an error.
    Refused,
    /// It goes nowhere, and a log line names it.
    Dropped,
}

impl Treatment {
    /// The word for it in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Judged => "judged",
            Self::Passed => "passed",
            Self::Refused => "refused",
            Self::Dropped => "dropped",
        }
    }
}
