//! What a server is told when it starts: where it listens, what it loads, whom it believes, how much it takes.
//!
//! Plain data with defaults that are safe on a developer's machine: loopback, no token needed, all bounds on.

use super::limits::ServerLimits;
use celador::cel::Json;
use celador_store::Retention;
use celador_store::conversation;
use celador_store::conversation::aletheia::ContextPlace;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Where `celador serve` listens if nothing else is said.
pub const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8717);

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it listens; port 0 for one that is free.
    pub address: SocketAddr,
    /// Manifest files, and folders to search for them.
    pub policies: Vec<PathBuf>,
    /// A file of digests as `sha256sum` writes it, which the publisher of manifests writes last: manifests are served only
    /// if they are exactly those that it lists. Without it, manifests are taken when two looks see the same.
    pub manifest_digests: Option<PathBuf>,
    /// What becomes of tasks that are under way when other manifests are served.
    pub live_tasks: LiveTasks,
    /// How often the manifests and the files of authentication are looked at; never if nothing.
    pub watch: Option<Duration>,
    /// Whom it believes.
    pub authentication: Authentication,
    /// Whether it may listen beyond loopback although nobody has to say who he is.
    pub allow_unauthenticated: bool,
    /// Certificate and key, if it speaks TLS.
    pub tls: Option<Tls>,
    /// Settings of namespaces, for the secrets of webhooks (WH-07).
    pub namespaces: BTreeMap<String, BTreeMap<String, Json>>,
    /// The settings of the context protocols.
    pub conversation: conversation::Settings,
    /// Where Aletheia agents keep which context they are in, at `/v1/agent-contexts`; nothing is served there without it.
    pub agent_contexts: Option<ContextPlace>,
    /// Where clients reach it, if not where it listens: what the agent card says, an origin and a host of its own.
    pub public_url: Option<String>,
    /// Names and IP addresses that requests may be for, besides loopback, [`Settings::address`] and
    /// [`Settings::public_url`]; without ports. Where callers are known by tokens any host will do, unless some stand here.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may use the server from a browser (CORS), such as `https://console.example`.
    pub allowed_origins: Vec<String>,
    /// Whether a decision is answered only when the decision log has it on disk. Then there has to be a log, and it has to
    /// sync ([`Sync::Always`](celador_store::decision_log::Sync::Always)).
    pub log_required: bool,
    /// Whether the decision log holds what was handled and answered.
    pub log_content: bool,
    /// How long what is kept; for ever unless something is set.
    pub retention: Retention,
    /// How often it is looked whether something is over its age.
    pub sweep_every: Duration,
    /// Its bounds, with those of the store, the engine and the language.
    pub limits: ServerLimits,
}

/// What becomes of tasks that are under way when other manifests are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LiveTasks {
    /// A task goes on under the new policy with its next step, if that can read its state; else it takes no step until an
    /// operator decides.
    #[default]
    Adopt,
    /// A task goes on under the policy that it was begun under, after a restart, too.
    Keep,
    /// A task takes no step until an operator decides, or the policy that it was begun under is served again.
    Lock,
}

/// Where callers are known from. With neither file nobody has to say who he is.
#[derive(Clone, Debug, Default)]
pub struct Authentication {
    /// A file of token digests: `{"tokens": [{"sha256": hex, "identity": text, "scopes": [text]}]}`.
    pub tokens: Option<PathBuf>,
    /// What signed tokens must be.
    pub jwt: Option<Jwt>,
    /// What becomes of callers when one of the files cannot be read again.
    pub unreadable: Unreadable,
    /// How a JWT's caller is called.
    pub jwt_identity: JwtIdentity,
}

/// What becomes of callers when a file of tokens or keys is missing or broken after the server has started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unreadable {
    /// No token of the file is accepted until it can be read: who deletes it has withdrawn its tokens.
    #[default]
    Close,
    /// What the file said when it could be read stays in force.
    Keep,
}

/// What the identity of a JWT's caller is, who owns what they create.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JwtIdentity {
    /// `jwt:ISSUER|CLAIM`: nobody else's, whatever another issuer or a token file says.
    #[default]
    WithIssuer,
    /// The claim alone, under which releases before this form stored what a caller owns. Only without a token file, which
    /// could name the same caller.
    ClaimAlone,
}

/// What a JSON Web Token must say, and who may sign it.
#[derive(Clone, Debug)]
pub struct Jwt {
    /// A file with the public keys: a JWK set.
    pub jwks: PathBuf,
    /// `iss`.
    pub issuer: String,
    /// One of `aud`.
    pub audience: String,
    /// The claim that names the caller, such as `sub` or `client_id`.
    pub identity_claim: String,
}

/// Files of a certificate chain and its key, as PEM.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The chain, the server's own certificate first.
    pub certificates: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Settings {
    /// A server for the manifests at these paths.
    #[must_use]
    pub fn new(policies: Vec<PathBuf>) -> Self {
        Self {
            address: DEFAULT_ADDRESS,
            policies,
            manifest_digests: None,
            live_tasks: LiveTasks::default(),
            watch: Some(Duration::from_secs(1)),
            authentication: Authentication::default(),
            allow_unauthenticated: false,
            tls: None,
            namespaces: BTreeMap::new(),
            conversation: conversation::Settings::default(),
            agent_contexts: None,
            public_url: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            log_required: false,
            log_content: false,
            retention: Retention::default(),
            sweep_every: Duration::from_secs(600),
            limits: ServerLimits::default(),
        }
    }
}
