//! `celador proxy`: a guard between an agent and the API of its model, until the process is asked to end.
//!
//! In: whose API, what holds, and where decisions come from. Out: an address for the agent's client. The key of the client goes to the
//! model's API and nowhere else.

use super::decisions::Decisions;
use super::service::{namespaced, refused, telemetry};
use super::{ExitCode, Failure, Screen, messages};
use celador_gateway::llm::{LlmProxy, LlmSettings, Maker};
use clap::{Args, ValueEnum};
use std::net::SocketAddr;
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
  CELADOR_HASH_KEY the key of `pii.hash`, in the place of --hash-key-file
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

    #[command(flatten)]
    decisions: Decisions,

    /// The agent whose rules hold
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = namespaced)]
    agent: (String, String),

    /// Where to listen, on loopback; port 0 for one that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8718")]
    listen: SocketAddr,

    /// How long an answer waits for a person who is asked; then the client is told that the call waits
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    review_wait: u64,

    /// How often the model is asked for one answer, where all calls that it wants are refused
    #[arg(long, value_name = "COUNT", default_value_t = 4)]
    rounds: usize,

    /// Let requests through that cannot be held to policies: tools that the maker of the model runs, and other addresses
    #[arg(long)]
    allow_other: bool,

    /// Take tools out of requests that the maker of the model runs itself, such as a search of the web, instead of refusing the request
    #[arg(long)]
    drop_hosted: bool,
    /// A header of requests that the model's API is sent besides those of the makers' clients, such as one that a gateway ahead of it needs; a
    /// name that ends with `-` stands for all that begin so. May occur several times
    #[arg(long, value_name = "NAME")]
    forward_header: Vec<String>,

    /// What to log: `error`, `warn`, `info`, `debug`, or a filter; `warn` if not said
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
}

/// Whose API.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ApiName {
    /// Chat completions and responses, as OpenAI and many others have them
    Openai,
    /// Messages, as Anthropic has them
    Anthropic,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        if self.decisions.policies.is_empty() && self.decisions.server.is_none() {
            return Err(Failure::Unusable(messages::nothing_holds()));
        }
        let telemetry = telemetry(self.log.as_deref(), "warn", screen);
        let _sending = telemetry.install().map_err(|error| refused(&error, screen))?;
        let settings = self.settings()?;
        let (desk, reviews) = self.decisions.open(Vec::new(), screen)?;
        let runtime = Builder::new_multi_thread().enable_all().worker_threads(2).build();
        let unusable = |error: &dyn std::fmt::Display| Failure::Unusable(error.to_string());
        let runtime = runtime.map_err(|error| unusable(&error))?;
        let proxy = {
            // a socket belongs to the runtime in which it is made
            let _inside = runtime.enter();
            LlmProxy::bind(desk, settings).map_err(|error| unusable(&error))?
        };
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

    fn settings(&self) -> Result<LlmSettings, Failure> {
        let maker = match self.api {
            ApiName::Openai => Maker::OpenAi,
            ApiName::Anthropic => Maker::Anthropic,
        };
        Ok(LlmSettings {
            upstream: self.upstream.clone().unwrap_or_else(|| maker.address().to_owned()),
            listen: self.listen,
            wait: Duration::from_secs(self.review_wait),
            rounds: self.rounds,
            allow_other: self.allow_other,
            drop_hosted: self.drop_hosted,
            forward_headers: self.forward_header.clone(),
            observe: self.decisions.observe,
            ..LlmSettings::new(maker, self.agent.clone(), self.decisions.limits()?)
        })
    }
}
