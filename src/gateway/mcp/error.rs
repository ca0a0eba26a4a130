//! Why a guard of MCP does not run.

/// Why a guard of MCP does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// A command that cannot be run.
    #[error("the MCP server `{program}` cannot be run: {reason}")]
    Command {
        /// The program.
        program: String,
        /// What the system says.
        reason: String,
    },
    /// An address that is none of a server.
    #[error("`{0}` is no address of an MCP server: expected `https://…`, or `http://…` on this machine")]
    Url(String),
    /// A header that no request can have.
    #[error("the header `{0}` is none that a request can have")]
    Header(String),
    /// An address where nobody can listen.
    #[error("cannot listen on `{address}`: {reason}")]
    Listen {
        /// The address.
        address: String,
        /// What the system says.
        reason: String,
    },
    /// A file of pins that cannot be read or written.
    #[error("the pins in `{path}` cannot be used: {reason}")]
    Pins {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// A rule about tools that is none.
    #[error("the rule `{rule}` is none: {reason}")]
    Rule {
        /// The expression.
        rule: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A server that did not answer as one of MCP does.
    #[error("the MCP server does not answer as one: {0}")]
    Server(String),
}
