//! A guard between an MCP client and its server, over pipes and over streamable HTTP.
//!
//! In: a client, a server, and where decisions come from. Out: a session in which each message is decoded, judged and encoded anew:
//!
//! - `tools/list`: tools that cannot be called are not in it, nor are parameters that the manifest binds, nor tools whose description is not
//!   the one that was accepted;
//! - `tools/call`, `resources/read`, `prompts/get`: decided before they reach the server, and their results before they reach the model;
//! - questions of the server (`elicitation/create`, `sampling/createMessage`, `roots/list`): decided before they reach the client, and the
//!   answers before they reach the server;
//! - reviews: the client asks its user where they are the reviewer, otherwise the call waits.
//!
//! A method that is not in the table ([`FORMS`]) is refused. A call that cannot be decided is refused, with a text that the model can read.
//!
//! | file | content |
//! |---|---|
//! | `message`, `unreadable`, `link` | messages of JSON-RPC, lines that are none, pipes and processes |
//! | `shape`, `schema`, `methods` | decoding by shapes, the types of MCP, the table of methods with what is done with each |
//! | `session`, `peer`, `notices` | the two directions, open requests of each side, log lines |
//! | `calls`, `course`, `kinds` | calls of tools, resources and prompts |
//! | `settle`, `parked` | how a call waits for its decision; calls that are not over |
//! | `operations`, `question` | questions of the server, and what is known of each |
//! | `tasks`, `task_list`, `said` | tasks of the server, what is known of each, texts that no rule of the task judges |
//! | `begun`, `listing`, `reviews` | the task with its tools, lists of tools, questions to the user |
//! | `guard` | the task of a session, as requests of the API |
//! | `descriptions`, `pins`, `introduction` | rules about descriptions, and descriptions that were accepted |
//! | `agent` | the manifest of a session without one |
//! | `fuzzing` | the property that fuzz targets check |
//! | `http` | streamable HTTP on both sides |
//! | `settings`, `error`, `messages` | settings, errors, texts |

mod agent;
mod begun;
mod calls;
mod course;
mod descriptions;
mod error;
mod fuzzing;
mod guard;
mod http;
mod introduction;
mod kinds;
mod link;
mod listing;
mod message;
mod messages;
mod methods;
mod notices;
mod operations;
mod parked;
mod peer;
mod pins;
mod question;
mod reviews;
mod said;
mod schema;
mod session;
mod settings;
mod settle;
mod shape;
mod task_list;
mod tasks;
#[cfg(test)]
mod tests;
mod unreadable;

pub use agent::{AGENT, manifest};
pub use descriptions::ToolRules;
pub use error::McpError;
#[doc(hidden)]
pub use fuzzing::check_traffic;
pub use http::HTTP_FORMS;
pub use introduction::Introduction;
pub use methods::FORMS;
pub use pins::{Change, Pins};
pub use settings::{Elicit, McpServer, McpSettings};

use celador_server::TaskBackend;
use http::{Credentials, Endpoint};
use link::{Link, Process};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

/// A guard between clients and a server.
#[derive(Clone)]
pub struct McpGuard {
    settings: Arc<McpSettings>,
    desk: Arc<TaskBackend>,
}

impl McpGuard {
    /// A guard that asks this desk.
    #[must_use]
    pub fn new(settings: McpSettings, desk: Arc<TaskBackend>) -> Self {
        Self { settings: Arc::new(settings), desk }
    }

    /// One session with the client at these pipes, until one of the two is gone.
    ///
    /// # Errors
    /// A server that cannot be run, or an address that is none.
    pub async fn over_pipes<R, W>(&self, reader: R, writer: W) -> Result<(), McpError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let server = Reach::new(&self.settings.server)?;
        self.guard(&server, link::pipes(reader, writer, true), Arc::default()).await
    }

    /// Sessions over streamable HTTP, at `/mcp` of an address of this machine, until the process ends. `listening` is told the address.
    ///
    /// # Errors
    /// An address that is not of this machine, or where nobody can listen.
    pub async fn listen(
        &self,
        address: SocketAddr,
        listening: impl FnOnce(SocketAddr),
    ) -> Result<(), McpError> {
        let server = Reach::new(&self.settings.server)?;
        let endpoint = server.endpoint();
        let guard = self.clone();
        let open = move |client: Link, credentials: Arc<Credentials>| -> http::Running {
            let (guard, server) = (guard.clone(), server.clone());
            Box::pin(async move {
                if let Err(error) = guard.guard(&server, client, credentials).await {
                    tracing::warn!(%error, "a session has no server");
                }
            })
        };
        http::listen(address, Arc::new(open), endpoint, self.settings.limits, listening).await
    }

    async fn guard(
        &self,
        server: &Reach,
        client: Link,
        credentials: Arc<Credentials>,
    ) -> Result<(), McpError> {
        let (process, server) = server.link(credentials)?;
        session::run(self.settings.clone(), self.desk.clone(), client, server).await;
        if let Some(process) = process {
            process.leave().await;
        }
        Ok(())
    }
}

/// Asks a server what it lists.
///
/// # Errors
/// A server that cannot be run, or that does not answer as one of MCP does.
pub async fn introduce(server: &McpServer) -> Result<Introduction, McpError> {
    let (process, link) = Reach::new(server)?.link(Arc::default())?;
    let introduced = introduction::of(link).await;
    if let Some(process) = process {
        process.leave().await;
    }
    introduced
}

/// Way to a server: a command to run for each session, or an address.
#[derive(Clone)]
enum Reach {
    Command(Vec<String>),
    Endpoint(Arc<Endpoint>),
}

impl Reach {
    fn new(server: &McpServer) -> Result<Self, McpError> {
        Ok(match server {
            McpServer::Command(command) => Self::Command(command.clone()),
            McpServer::Url { url, headers } => Self::Endpoint(Endpoint::new(url, headers)?),
        })
    }

    fn endpoint(&self) -> Option<Arc<Endpoint>> {
        match self {
            Self::Command(_) => None,
            Self::Endpoint(endpoint) => Some(endpoint.clone()),
        }
    }

    /// Begins a session with the server; the process is that of a command.
    fn link(&self, credentials: Arc<Credentials>) -> Result<(Option<Process>, Link), McpError> {
        match self {
            Self::Command(command) => Process::run(command).map(|(process, link)| (Some(process), link)),
            Self::Endpoint(endpoint) => Ok((None, endpoint.link(credentials))),
        }
    }
}
