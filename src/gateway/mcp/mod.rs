//! A guard between an MCP client and its server, over pipes and over streamable HTTP.
//!
//! In: a client, a server, and where decisions come from. Out: a session in which everything goes through as it came, but for what a policy
//! is asked about:
//!
//! - `tools/list`: tools that nobody may call are not in it, nor are parameters that the manifest binds, nor tools whose description is not
//!   the one that was accepted;
//! - `tools/call`, `resources/read`, `prompts/get`: decided before they reach the server, and their results before they reach the model;
//! - reviews: the client asks its user where they are the one to answer, otherwise the call waits for whoever does.
//!
//! What nobody can decide is refused, with a text that the model can read.
//!
//! | file | what |
//! |---|---|
//! | `session` | the two directions, what is under way, the queue of what is decided |
//! | `calls`, `course`, `begun`, `listing`, `reviews` | what becomes of a call, of a list of tools, of a question to the user |
//! | `guard` | the task of a session, as requests of the API |
//! | `kinds` | requests and results of MCP as functions, arguments and outputs |
//! | `descriptions` | what tools must not say of themselves |
//! | `pins`, `introduction` | descriptions that somebody has accepted, and what a server says of itself when it is asked for that |
//! | `agent` | the manifest of a session for which nobody has written one |
//! | `link`, `message` | pipes and processes, messages |
//! | `http` | streamable HTTP on both sides |
//! | `settings`, `error`, `messages` | what it is told, why it does not run, what it says |

mod agent;
mod begun;
mod calls;
mod course;
mod descriptions;
mod error;
mod guard;
mod http;
mod introduction;
mod kinds;
mod link;
mod listing;
mod message;
mod messages;
mod pins;
mod reviews;
mod session;
mod settings;
#[cfg(test)]
mod tests;

pub use agent::{AGENT, manifest};
pub use descriptions::ToolRules;
pub use error::McpError;
pub use http::HTTP_FORMS;
pub use introduction::Introduction;
pub use pins::{Change, Pins};
pub use settings::{Elicit, McpServer, McpSettings};

use crate::desk::Desk;
use http::{Credentials, Endpoint};
use link::{Link, Process};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

/// A guard between clients and a server.
#[derive(Clone)]
pub struct McpGuard {
    settings: Arc<McpSettings>,
    desk: Arc<Desk>,
}

impl McpGuard {
    /// A guard that asks this desk.
    #[must_use]
    pub fn new(settings: McpSettings, desk: Arc<Desk>) -> Self {
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
        http::listen(address, Arc::new(open), endpoint, listening).await
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
