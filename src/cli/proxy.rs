//! `celador proxy`: a guard between an agent and the API of its model, until the process is asked to end.
//!
//! In: whose API, what holds, and where decisions come from. Out: an address for the agent's client. The key of the client goes to the
//! model's API and nowhere else.

use super::files::read_text;
use super::limits::Changes;
use super::{ExitCode, Failure, Format, Screen, messages};
use celador_gateway::Desk;
use celador_gateway::llm::{LlmProxy, LlmSettings, Maker};
use celador_server::{
    Client, InProcess, LogFormat, Parts, ServeError, Server, ServerLimits, Settings, Telemetry, system_clock,
};
use celador_store::decision_log::{DecisionLog, LogSettings};
use celador_store::{Database, Location};
use clap::{Args, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// Guard an agent at the API of its model: what users say, which tools the model may call, what it reads and says
///
/// The agent's client gets the address of this command in the place of OpenAI's or Anthropic's. Calls that a policy refuses do not reach
/// it, and the model is told why; calls that a person has to approve wait.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador proxy openai --policies rules --agent shop/desk
  celador proxy anthropic --policies rules --agent shop/desk --store file:celador.db --reviews 127.0.0.1:8719
  celador proxy openai --server http://127.0.0.1:8717 --agent shop/desk
  celador proxy openai --policies rules --agent shop/desk --upstream http://127.0.0.1:11434/v1

Clients are given the address by OPENAI_BASE_URL=http://127.0.0.1:8718/v1 or ANTHROPIC_BASE_URL=http://127.0.0.1:8718, and
keep their key. A request may name its task in the header x-celador-task and its user in x-celador-user.

Environment:
  CELADOR_LOG      as --log
  CELADOR_STORE    as --store, so that a password stands in no list of processes
  CELADOR_TOKEN    the token for --server; never among the arguments, which every user of a machine can see")]
pub(crate) struct Arguments {
    /// Whose API the agent's client speaks
    #[arg(value_enum)]
    api: ApiName,

    /// The API of the model; that of OpenAI or Anthropic if not said
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,

    /// Policies that hold, and manifests: files, and folders to search for them
    #[arg(long, value_name = "PATH", required_unless_present = "server")]
    policies: Vec<PathBuf>,

    /// The agent whose rules hold
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = namespaced)]
    agent: (String, String),

    /// Where to listen, on loopback; port 0 for one that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8718")]
    listen: SocketAddr,

    /// Where to keep tasks: `memory`, `file:PATH` or `postgres://…`; `memory` if not said
    #[arg(long, value_name = "STORE", conflicts_with = "server")]
    store: Option<String>,

    /// Ask this server for decisions, in the place of this process
    #[arg(long, value_name = "URL", conflicts_with_all = ["policies", "reviews", "decision_log"])]
    server: Option<String>,

    /// A file with the token for `--server`; `CELADOR_TOKEN` if not said
    #[arg(long, value_name = "FILE", requires = "server")]
    token_file: Option<PathBuf>,

    /// A folder for the decision log
    #[arg(long, value_name = "FOLDER")]
    decision_log: Option<PathBuf>,

    /// Serve the page of reviews at this address of this machine
    #[arg(long, value_name = "ADDRESS")]
    reviews: Option<SocketAddr>,

    /// How long an answer waits for a person who is asked; then the client is told that the call waits
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    review_wait: u64,

    /// How often the model is asked for one answer, where all calls that it wants are refused
    #[arg(long, value_name = "COUNT", default_value_t = 4)]
    rounds: usize,

    /// Let requests through that cannot be held to policies: tools that the maker of the model runs, and other addresses
    #[arg(long)]
    allow_other: bool,

    /// Let everything through, and judge it all the same
    #[arg(long)]
    observe: bool,

    /// What to log: `error`, `warn`, `info`, `debug`, or a filter; `warn` if not said
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,

    #[command(flatten)]
    changes: Changes,
}

/// Whose API.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ApiName {
    /// Chat completions and responses, as OpenAI and many others have them
    Openai,
    /// Messages, as Anthropic has them
    Anthropic,
}

/// The longest token.
const MAX_SECRET_BYTES: usize = 65_536;

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let fail = |error: ServeError, screen: &mut Screen| {
            if let ServeError::Invalid(findings) = &error {
                screen.complain(findings);
                return Failure::Told(ExitCode::Invalid);
            }
            Failure::Unusable(error.to_string())
        };
        let format = match screen.format() {
            Format::Human => LogFormat::Human,
            Format::Json => LogFormat::Json,
        };
        let filter = self.log.clone().or_else(|| from_environment("CELADOR_LOG"));
        let telemetry = Telemetry {
            format,
            filter: filter.unwrap_or_else(|| "warn".to_owned()),
            #[cfg(feature = "otel")]
            collector: None,
        };
        let _sending = telemetry.install().map_err(|error| fail(error, screen))?;
        let (desk, reviews) = match &self.server {
            Some(address) => (self.remote(address)?, None),
            None => self.own()?.map_err(|error| fail(error, screen))?,
        };
        let runtime = Builder::new_multi_thread().enable_all().worker_threads(2).build();
        let unusable = |error: &dyn std::fmt::Display| Failure::Unusable(error.to_string());
        let runtime = runtime.map_err(|error| unusable(&error))?;
        let proxy =
            runtime.block_on(LlmProxy::bind(desk, self.settings())).map_err(|error| unusable(&error))?;
        let (terminate, interrupt) = {
            // signals belong to the runtime in which they are taken, and are taken before anybody knows that it is there
            let _inside = runtime.enter();
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?)
        };
        screen.line(&messages::proxy_listening(proxy.address()))?;
        if let Some(reviews) = &reviews {
            screen.line(&messages::proxy_reviews(reviews.address()))?;
        }
        screen.flush()?;
        runtime.block_on(proxy.serve(async move {
            let (mut terminate, mut interrupt) = (terminate, interrupt);
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }));
        runtime.shutdown_background();
        if let Some(reviews) = reviews {
            reviews.stop();
        }
        Ok(ExitCode::Yes)
    }

    fn settings(&self) -> LlmSettings {
        let maker = match self.api {
            ApiName::Openai => Maker::OpenAi,
            ApiName::Anthropic => Maker::Anthropic,
        };
        LlmSettings {
            upstream: self.upstream.clone().unwrap_or_else(|| maker.address().to_owned()),
            listen: self.listen,
            wait: Duration::from_secs(self.review_wait),
            rounds: self.rounds,
            allow_other: self.allow_other,
            observe: self.observe,
            ..LlmSettings::new(maker, self.agent.clone())
        }
    }

    fn remote(&self, address: &str) -> Result<Desk, Failure> {
        let token = match &self.token_file {
            Some(file) => Some(read_text(file, MAX_SECRET_BYTES)?.trim().to_owned()),
            None => from_environment("CELADOR_TOKEN"),
        };
        let client = Client::new(address, token.as_deref());
        Ok(Desk::There(client.map_err(|error| Failure::Unusable(error.to_string()))?))
    }

    /// An engine in this process, and what serves the page of reviews, if anything does.
    fn own(&self) -> Result<Result<(Desk, Option<Server>), ServeError>, Failure> {
        let mut limits = ServerLimits::default();
        self.changes.apply(|name, value| limits.set(name, value))?;
        let settings = Settings { limits, observe: self.observe, ..Settings::new(self.policies.clone()) };
        let store = self.store.clone().or_else(|| from_environment("CELADOR_STORE"));
        let location = store.map_or(Location::Memory, |store| Location::parse(&store));
        Ok(self.open(settings, &location))
    }

    fn open(&self, settings: Settings, location: &Location) -> Result<(Desk, Option<Server>), ServeError> {
        let database = Database::open(location, &settings.limits.store)?;
        let clock = system_clock()?;
        let log =
            self.decision_log.as_ref().map(|folder| DecisionLog::open(LogSettings::new(folder), clock()));
        let log = log.transpose()?;
        // the page of reviews is a server over the same store: an answer that it takes is one of another process, as it were
        let page = |address| {
            let settings = Settings { address, ..settings.clone() };
            Server::start(settings, Parts { clock: clock.clone(), database: database.clone(), log: None })
        };
        let reviews = self.reviews.map(page).transpose()?;
        let engine = InProcess::open(settings, Parts { clock, database, log })?;
        engine.keep_up();
        Ok((Desk::Here(engine), reviews))
    }
}

fn namespaced(text: &str) -> Result<(String, String), &'static str> {
    let (namespace, name) =
        text.split_once('/').ok_or("expected a namespace and a name with a slash between")?;
    Ok((namespace.to_owned(), name.to_owned()))
}

fn from_environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
