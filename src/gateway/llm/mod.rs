//! A guard between an agent and the API of its model: OpenAI's or Anthropic's, as their clients speak it.
//!
//! In: requests of a client, and a way to ask for decisions. Out: answers in the same form, less what a policy refuses. What users say passes
//! the guardrails of the agent, calls that the model asks for its rules, what they come to the rules behind them; tokens count. A call
//! that is refused never reaches the client, and the model is told why; one that waits for a person waits here.
//!
//! | file or folder | what |
//! |---|---|
//! | `wire` | the two makers' three interfaces as one conversation: pure functions of bodies and events |
//! | `exchange` | one request, from its body to its answer |
//! | `threading` | which task a request belongs to |
//! | `begin` | the task of a conversation, with the tools that the client has |
//! | `inbound` | what the client sends, judged |
//! | `held` | calls that wait, for a person or for other calls |
//! | `model` | the model is asked, again where all that it wants is refused |
//! | `outbound` | what the model has answered, judged |
//! | `model_steps` | requests and answers in the words of rules around calls of the model |
//! | `given` | answers to the client, and a note of each |
//! | `memory` | what is remembered between requests |
//! | `asking` | the questions for Celador, and the answers as few words |
//! | `names` | ids of calls that a model uses again |
//! | `routes`, `bodies` | addresses that are answered, and bodies that are compressed |
//! | `upstream`, `reply`, `request`, `door` | HTTP: to the model, to the client, and the address where clients come in |
//! | `messages` | everything that the proxy says itself |

mod asking;
mod begin;
mod bodies;
mod door;
mod exchange;
mod given;
mod held;
mod inbound;
mod memory;
mod messages;
mod model;
mod model_steps;
mod names;
mod outbound;
mod reply;
mod request;
mod routes;
mod threading;
mod upstream;
mod wire;

pub use door::{LlmProxy, LlmProxyError};

use celador_server::ServerLimits;
use celador_server::TaskBackend;
use celador_server::traffic::Form;
use memory::Memory;
use std::net::SocketAddr;
use std::time::Duration;
use upstream::Upstream;

/// Whose API a proxy speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// OpenAI's: chat completions and responses.
    OpenAi,
    /// Anthropic's: messages.
    Anthropic,
}

impl Maker {
    /// The address of its API.
    #[must_use]
    pub fn address(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
        }
    }
}

/// What a proxy is told when it starts.
#[derive(Clone, Debug)]
pub struct LlmSettings {
    /// Whose API it speaks.
    pub maker: Maker,
    /// The API of the model, such as `https://api.openai.com/v1`.
    pub upstream: String,
    /// Where it listens; port 0 for one that is free.
    pub listen: SocketAddr,
    /// The namespace and the name of the agent whose rules hold.
    pub agent: (String, String),
    /// How long an answer waits for a person who is asked.
    pub wait: Duration,
    /// How often the model is asked for one answer, where all calls that it wants are refused.
    pub rounds: usize,
    /// Whether requests pass that cannot be held to policies.
    pub allow_other: bool,
    /// Whether tools that the maker runs are taken out of requests instead of refusing them.
    pub drop_hosted: bool,
    /// Headers of requests that the model's API is sent besides those of the makers' clients, by their names or how these begin (`cf-access-`).
    pub forward_headers: Vec<String>,
    /// Whether the engine observes: then the model is offered what the agent could not call, too.
    pub observe: bool,
    /// What bounds the connections of clients; how long one may be silent is the proxy's own.
    pub limits: ServerLimits,
}

impl LlmSettings {
    /// The settings of a proxy of an agent, with the maker's own API behind it, and with the bounds of its host.
    #[must_use]
    pub fn new(maker: Maker, agent: (String, String), limits: ServerLimits) -> Self {
        Self {
            maker,
            upstream: maker.address().to_owned(),
            listen: SocketAddr::from(([127, 0, 0, 1], 8718)),
            agent,
            wait: Duration::from_secs(60),
            rounds: 4,
            allow_other: false,
            drop_hosted: false,
            forward_headers: Vec::new(),
            observe: false,
            limits,
        }
    }
}

/// What the proxies do with each form of message: addresses, messages, items, blocks, parts and tools.
#[must_use]
pub fn forms() -> Vec<Form> {
    let mut forms = routes::forms();
    forms.extend(wire::forms());
    forms
}

/// Reads bytes as requests and answers of each interface: what goes on says what rules read. For tests and fuzzing.
///
/// # Panics
/// If it does not.
#[doc(hidden)]
pub fn probe(data: &[u8]) {
    wire::probe::probe(data);
}

/// What all requests share.
struct Proxy {
    desk: TaskBackend,
    upstream: Upstream,
    memory: Memory,
    settings: LlmSettings,
}

impl LlmSettings {
    /// Whether kinds of messages go on that the proxy does not know.
    fn is_lax(&self) -> bool {
        self.allow_other || self.observe
    }
}

impl Proxy {
    /// Whether kinds of messages go on that the proxy does not know.
    fn is_lax(&self) -> bool {
        self.settings.is_lax()
    }

    /// The agent as addresses name it.
    fn agent(&self) -> String {
        format!("{}/{}", self.settings.agent.0, self.settings.agent.1)
    }
}
