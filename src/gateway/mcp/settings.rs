//! What a guard of MCP is told when it starts.

use super::descriptions::ToolRules;
use super::pins::Pins;
use celador_server::ServerLimits;
use std::time::Duration;

/// The settings of a guard between MCP clients and a server.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// The server.
    pub server: McpServer,
    /// The namespace and the name of the agent whose rules hold.
    pub agent: (String, String),
    /// The id of the person who uses the client.
    pub user: String,
    /// Their e-mail address, as reviews may be addressed to it.
    pub email: Option<String>,
    /// The id of the task; without one each session makes one up, and ends its task.
    pub task: Option<String>,
    /// How long a call waits for a review that is answered elsewhere, or for other calls.
    pub review_wait: Duration,
    /// Whose reviews the client asks its user.
    pub elicit: Elicit,
    /// Where people find the reviews that are answered elsewhere, for the text that the model reads.
    pub reviews_at: Option<String>,
    /// What tools must not say of themselves.
    pub tool_rules: ToolRules,
    /// What was accepted of the server's descriptions; without it those hold that a session began with.
    pub pins: Option<Pins>,
    /// Names of members of `_meta` that are forwarded although no rule sees them, besides those that the protocol defines.
    pub forward_meta: Vec<String>,
    /// Whether everything is forwarded, and judged all the same.
    pub observe: bool,
    /// The bounds of the connections and requests of clients over HTTP.
    pub limits: ServerLimits,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpServer {
    /// A command that speaks over its standard input and output. Each session has a process of its own.
    Command(Vec<String>),
    /// An address that speaks streamable HTTP.
    Url {
        /// The address.
        url: String,
        /// Headers of every request: names and values.
        headers: Vec<(String, String)>,
    },
}

/// Whose reviews a client asks its user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elicit {
    /// Those that are addressed to the user of the session. Whoever sits at the client answers for nobody else.
    #[default]
    User,
    /// Everybody's, but for those of several people: the client is used by those who review.
    Anyone,
    /// Nobody's.
    Never,
}
