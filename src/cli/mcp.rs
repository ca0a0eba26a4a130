//! `celador mcp`: a guard between an MCP client and its server, until one of the two is gone.
//!
//! In: how the server is reached, what holds, and where decisions come from. Out: on standard output the messages of the server as a
//! decision leaves them, or, with `--listen`, sessions over HTTP. The log is on standard error, as the client reads the other.

use super::decisions::Decisions;
use super::files::read_text;
use super::service::{MAX_SECRET_BYTES, from_environment, namespaced, refused, telemetry};
use super::{ExitCode, Failure, Screen, messages};
use celador::EngineLimits;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador_gateway::mcp::{
    AGENT, Change, Elicit, McpError, McpGuard, McpServer, McpSettings, Pins, ToolRules, introduce, manifest,
};
use clap::{ArgGroup, Args};
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Guard an MCP server: what its client sees, calls and gets back
///
/// A client runs this command in the place of the server's own. Everything goes through as it came but for lists of tools, calls,
/// resources and prompts, which are held to policies, and reviews, which the client asks its user.
#[derive(Args)]
#[command(
    group = ArgGroup::new("what").required(true).args(["url", "command"]),
    after_long_help = "\
Examples:
  celador mcp --policies rules -- npx -y @modelcontextprotocol/server-filesystem /srv
  celador mcp --policies rules --url https://mcp.example.com/mcp --header-file headers
  celador mcp --policies rules --listen 127.0.0.1:8770 -- my-server       clients connect to http://127.0.0.1:8770/mcp
  celador mcp --pins files.pins --accept -- my-server                     what it lists now is what is accepted
  celador mcp --policies rules --pins files.pins -- my-server
  celador mcp --observe -- my-server                                      nothing is stopped, everything is judged
  celador mcp --server http://127.0.0.1:8717 --agent acme/clerk -- my-server

A client that has `npx -y @modelcontextprotocol/server-filesystem /srv` in its settings gets `celador` with the arguments
of the first example instead.

Environment:
  CELADOR_HASH_KEY the key of `pii.hash`, in the place of --hash-key-file
  CELADOR_LOG      as --log
  CELADOR_STORE    as --store, so that a password stands in no list of processes
  CELADOR_TOKEN    the token for --server; never among the arguments, which every user of a machine can see"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    decisions: Decisions,

    /// The agent whose manifest says what is admitted; without it, everything that the server lists is, and policies for
    /// `mcp/session` say what holds
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = namespaced)]
    agent: Option<(String, String)>,

    /// Believe what the server's hints say of its tools (`readOnlyHint`, `destructiveHint`), so that policies select calls by them
    #[arg(long, conflicts_with_all = ["agent", "server"])]
    believe_hints: bool,

    /// The id of the person who uses the client; `USER` of the environment if not said
    #[arg(long, value_name = "ID")]
    user: Option<String>,

    /// Their e-mail address, as reviews may be addressed to it
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,

    /// The id of the task, which a later session goes on with; without it each session has a task of its own
    #[arg(long, value_name = "ID", conflicts_with = "listen")]
    task: Option<String>,

    /// What holds of each tool that the client sees: an expression over `tool`, as `tools/list` has it, and `tool.text`, all texts of it
    #[arg(long = "tool-rule", value_name = "EXPRESSION")]
    tool_rules: Vec<String>,

    /// Forward this member of `_meta` although no rule sees it; repeat it for several
    #[arg(long, value_name = "NAME")]
    forward_meta: Vec<String>,

    /// Show tools whose descriptions have signs that nobody sees, or comments
    #[arg(long)]
    allow_hidden_text: bool,

    /// A file of accepted descriptions: tools that say something else of themselves are hidden and refused
    #[arg(long, value_name = "FILE")]
    pins: Option<PathBuf>,

    /// Accept what the server lists now: write it into the file of `--pins`, say what has changed, and end
    #[arg(long, requires = "pins")]
    accept: bool,

    /// How many seconds a call waits for a review that is answered elsewhere, or for other calls; then the model is told what to do
    #[arg(long, value_name = "SECONDS", default_value_t = 45)]
    review_wait: u64,

    /// Whose reviews the client asks its user: those addressed to the user, anyone's, or nobody's
    #[arg(long, value_name = "WHOSE", value_parser = ["user", "anyone", "never"], default_value = "user")]
    elicit: String,

    /// Speak streamable HTTP at `/mcp` of this address instead of standard input and output, with sessions or without (2026-07-28); port 0 for a free one
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,

    /// A file with headers for `--url`, a line each: `Authorization: Bearer …`; with `--listen` and without such a header, the client's own is used
    #[arg(long, value_name = "FILE", requires = "url")]
    header_file: Option<PathBuf>,

    /// The address of a server that speaks streamable HTTP
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// What to log: `error`, `warn`, `info`, `debug`, or a filter such as `celador_gateway=debug`; `warn` if not said
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,

    /// The command that runs the server, and its arguments, behind `--`
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let server = self.mcp_server()?;
        let runtime = Builder::new_multi_thread().enable_all().worker_threads(2).build();
        let runtime = runtime.map_err(|error| Failure::Unusable(messages::cannot_serve(&error)))?;
        let answer = if self.accept {
            accept(self.pins.as_deref(), &server, &runtime, screen)
        } else {
            self.guard(server, &runtime, screen)
        };
        // a thread that reads standard input ends with the process
        runtime.shutdown_background();
        answer
    }

    fn guard(&self, server: McpServer, runtime: &Runtime, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let Decisions { policies, server: desk, observe, .. } = &self.decisions;
        if policies.is_empty() && desk.is_none() && !observe {
            return Err(Failure::Unusable(messages::nothing_holds()));
        }
        let telemetry = telemetry(self.log.as_deref(), "warn", screen);
        let _sending = telemetry.install().map_err(|error| refused(&error, screen))?;
        let own = || {
            let source = Source::new("celador mcp", manifest(self.believe_hints));
            File { source, origin: FileOrigin::Named }
        };
        let texts = if self.agent.is_none() { vec![own()] } else { Vec::new() };
        let (desk, reviews) = self.decisions.open(texts, screen)?;
        let pins = self.pins.as_deref().map(Pins::read).transpose().map_err(unusable)?;
        let tool_rules = ToolRules::new(&self.tool_rules, !self.allow_hidden_text, EngineLimits::default());
        let tool_rules = tool_rules.map_err(unusable)?;
        let (namespace, name) = AGENT;
        let settings = McpSettings {
            server,
            agent: self.agent.clone().unwrap_or_else(|| (namespace.to_owned(), name.to_owned())),
            user: self.user.clone().or_else(|| from_environment("USER")).unwrap_or_else(|| "user".to_owned()),
            email: self.email.clone(),
            task: self.task.clone(),
            review_wait: Duration::from_secs(self.review_wait),
            elicit: match &*self.elicit {
                "anyone" => Elicit::Anyone,
                "never" => Elicit::Never,
                _ => Elicit::User,
            },
            reviews_at: self.decisions.reviews_at(reviews.as_ref()),
            tool_rules,
            pins,
            forward_meta: self.forward_meta.clone(),
            observe: self.decisions.observe,
            limits: self.decisions.limits()?,
        };
        let guard = McpGuard::new(settings, Arc::new(desk));
        match self.listen {
            None => {
                // the screen holds the lock of standard output, so the session has a handle of its own
                let output = std::io::stdout().as_fd().try_clone_to_owned()?;
                let output = tokio::fs::File::from_std(output.into());
                runtime.block_on(guard.over_pipes(tokio::io::stdin(), output)).map_err(unusable)?;
            }
            Some(address) => {
                let listening = |address| {
                    let _ = screen.line(&messages::mcp_listening(address));
                    let _ = screen.flush();
                };
                let ended = runtime.block_on(async {
                    tokio::select! {
                        listened = guard.listen(address, listening) => listened,
                        _ = tokio::signal::ctrl_c() => Ok(()),
                    }
                });
                ended.map_err(unusable)?;
            }
        }
        if let Some(reviews) = reviews {
            reviews.stop();
        }
        Ok(ExitCode::Yes)
    }

    fn mcp_server(&self) -> Result<McpServer, Failure> {
        let Some(url) = self.url.clone() else { return Ok(McpServer::Command(self.command.clone())) };
        let text = self.header_file.as_deref().map(|file| read_text(file, MAX_SECRET_BYTES)).transpose()?;
        let lines = text.as_deref().unwrap_or_default().lines().filter(|line| !line.trim().is_empty());
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.trim().to_owned(), value.trim().to_owned()))
        };
        let headers = lines.map(header).collect::<Option<Vec<_>>>();
        Ok(McpServer::Url { url, headers: headers.ok_or_else(|| Failure::Unusable(messages::no_headers()))? })
    }
}

/// Writes down what a server lists.
fn accept(
    pins: Option<&Path>,
    server: &McpServer,
    runtime: &Runtime,
    screen: &mut Screen,
) -> Result<ExitCode, Failure> {
    let Some(path) = pins else { return Ok(ExitCode::Unusable) };
    let mut pins = if path.exists() { Pins::read(path).map_err(unusable)? } else { Pins::empty(path) };
    let introduction = runtime.block_on(introduce(server)).map_err(unusable)?;
    let changes = pins.accept(&introduction).map_err(unusable)?;
    for change in &changes {
        screen.line(&match change {
            Change::New(tool) => format!("new      {tool}"),
            Change::Changed(tool) => format!("changed  {tool}"),
            Change::Gone(tool) => format!("gone     {tool}"),
            Change::Instructions => "changed  the instructions of the server".to_owned(),
            Change::Server => "changed  the name or description of the server".to_owned(),
        })?;
    }
    screen.line(&messages::accepted(path, introduction.tools.len()))?;
    Ok(ExitCode::Yes)
}

fn unusable(error: McpError) -> Failure {
    Failure::Unusable(error.to_string())
}
