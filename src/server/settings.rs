//! What a server is told when it starts: where it listens, what it loads, whom it believes, how much it takes.
//!
//! Plain data with defaults that are safe on a developer's machine: loopback, no token needed, all bounds on.

use crate::cel::Json;
use crate::conversation;
use crate::limits::{EvalLimits, ServerLimits};
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
    /// Where clients of the context protocols reach it, if not where it listens: what the agent card says.
    pub public_url: Option<String>,
    /// Whether the decision log holds what was handled and answered.
    pub log_content: bool,
    /// Its own bounds.
    pub limits: ServerLimits,
    /// The engine's.
    pub eval_limits: EvalLimits,
}

/// Where callers are known from. With neither file nobody has to say who he is.
#[derive(Clone, Debug, Default)]
pub struct Authentication {
    /// A file of token digests: `{"tokens": [{"sha256": hex, "identity": text, "scopes": [text]}]}`.
    pub tokens: Option<PathBuf>,
    /// What signed tokens must be.
    pub jwt: Option<Jwt>,
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
            watch: Some(Duration::from_secs(1)),
            authentication: Authentication::default(),
            allow_unauthenticated: false,
            tls: None,
            namespaces: BTreeMap::new(),
            conversation: conversation::Settings::default(),
            public_url: None,
            log_content: false,
            limits: ServerLimits::default(),
            eval_limits: EvalLimits::default(),
        }
    }
}
