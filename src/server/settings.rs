//! What a server is told when it starts: where it listens, what it loads, whom it believes, how much it takes.
//!
//! Plain data with defaults that are safe on a developer's machine: loopback, no token needed, all bounds on.

use super::limits::ServerLimits;
use celador::cel::{HostFunctionSet, Json};
use celador::manifest::load::File;
use celador::{HashKey, Retain};
use celador_store::Retention;
use celador_store::conversation;
use celador_store::conversation::aletheia::ContextPlace;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where `celador serve` listens if nothing else is said.
pub const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8717);

/// The settings of a server.
///
/// ```
/// use celador_server::{Authentication, Jwt, LiveTasks, ReviewWebhook, ServerLimits, Settings, Tls};
/// use std::time::Duration;
///
/// let mut settings = Settings::new(vec!["policies/support-desk".into()]);
/// settings.address = "127.0.0.1:8800".parse()?;
/// let jwt = Jwt {
///     jwks: "keys.json".into(),
///     issuer: "https://login.example".into(),
///     audience: "celador".into(),
///     identity_claim: "sub".into(),
///     groups_claim: "groups".into(),
/// };
/// settings.authentication = Authentication { jwt: Some(jwt), ..Authentication::default() };
/// settings.tls = Some(Tls { certificates: "chain.pem".into(), key: "key.pem".into() });
/// settings.review_webhook =
///     Some(ReviewWebhook { url: "https://chat.example/celador".into(), secret: "webhook.secret".into() });
/// settings.live_tasks = LiveTasks::Keep;
/// settings.allowed_origins.push("https://console.example".into());
/// settings.retention.set("ended-tasks=30d")?;
/// settings.sweep_every = Duration::from_secs(600);
/// settings.limits = ServerLimits { max_body_bytes: 65_536, ..ServerLimits::default() };
///
/// // a bound of the store or the engine is found by its name as well
/// assert!(settings.limits.set("max_commit_batch", 16));
/// assert_eq!(settings.limits.store.max_commit_batch, 16);
/// assert!(settings.retention.check().is_ok() && settings.address.ip().is_loopback());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it listens; port 0 for one that is free.
    pub address: SocketAddr,
    /// Manifest files, and folders to search for them.
    pub policies: Vec<PathBuf>,
    /// Manifests that are held as texts, beside those of the files: of a program that makes them, or has read them already.
    pub texts: Vec<File>,
    /// A file of digests as `sha256sum` writes it, which the publisher of manifests writes last: manifests are served only
    /// if they are exactly those that it lists. Without it, manifests are taken when two looks see the same.
    pub manifest_digests: Option<PathBuf>,
    /// Whether nothing is stopped: each decision lets the operation by, with the arguments and results that it came with, and tells in
    /// `enforced` and `observed` what would have come of it. Former manifests, under which tasks go on, are observed as well.
    pub observe: bool,
    /// Whether the clauses of manifests that the store keeps for its tasks are decided again when the server starts. They were decided before the first
    /// task began under them, so a process that answers one request and ends need not do it each time.
    pub analyse_kept: bool,
    /// Whether tasks that are under way go over to new manifests when other ones are served.
    pub live_tasks: LiveTasks,
    /// How much of its calls each task keeps that it begins: the wish of whoever runs the server, and of nobody who begins a task.
    pub retain_calls: Retain,
    /// Whether locked tasks can be unlocked; without it a lock is for good (MW-31).
    pub allow_unlock: bool,
    /// Whether the claims of a user may stand in the body that begins a task, although callers need tokens; without it they come from
    /// the user's own token alone. Where callers need no token, claims are taken from the body as the user's id is.
    pub allow_plain_claims: bool,
    /// The default agents of namespaces, by namespace: for tasks that are begun without the name of an agent. Without one here it is
    /// the only agent of the namespace that no other agent delegates to.
    pub default_agents: BTreeMap<String, String>,
    /// How often the manifests and the files of authentication are looked at; never if nothing.
    pub watch: Option<Duration>,
    /// Whom it believes.
    pub authentication: Authentication,
    /// Whether it may listen beyond loopback although callers need no token.
    pub allow_unauthenticated: bool,
    /// Certificate and key, if it speaks TLS.
    pub tls: Option<Tls>,
    /// Settings of namespaces, for the secrets of webhooks (WH-07).
    pub namespaces: BTreeMap<String, BTreeMap<String, Json>>,
    /// The key of `pii.hash`; without a key manifests that hash are not served.
    pub hash_key: Option<HashKey>,
    /// The functions of the program that opens the server, which policies call; without them manifests that declare any are not served.
    pub functions: Arc<HostFunctionSet>,
    /// The settings of the context protocols.
    pub conversation: conversation::ConversationSettings,
    /// The store where Aletheia agents keep which context they are in, at `/v1/agent-contexts`; without it that address serves
    /// nothing.
    pub agent_contexts: Option<ContextPlace>,
    /// The address where clients reach it, if not where it listens. The agent card shows it, and it is an allowed origin and host.
    pub public_url: Option<String>,
    /// Where reviews are sent when they are asked and when their state changes; nowhere without it.
    pub review_webhook: Option<ReviewWebhook>,
    /// Names and IP addresses that requests may be for, besides loopback, [`Settings::address`] and
    /// [`Settings::public_url`]; without ports. Where callers are known by tokens any host will do, unless some stand here.
    pub allowed_hosts: Vec<String>,
    /// Proxies whose `X-Forwarded-For` says from which address a request comes, as addresses and networks (`10.0.0.0/8`). Without any it is the address of
    /// the connection, whatever a header says.
    pub trusted_proxies: Vec<String>,
    /// Origins of web pages that may use the server from a browser (CORS), such as `https://console.example`.
    pub allowed_origins: Vec<String>,
    /// Whether a decision is answered only when the decision log has it on disk. Then there has to be a log, and it has to
    /// sync ([`SyncMode::Always`](celador_store::decision_log::SyncMode::Always)).
    pub log_required: bool,
    /// Whether the decision log holds the content of requests and answers.
    pub log_content: bool,
    /// How long rows are kept; for ever unless a value is set.
    pub retention: Retention,
    /// How often it is looked whether something is over its age.
    pub sweep_every: Duration,
    /// Its bounds, with those of the store, the engine and the language.
    pub limits: ServerLimits,
}

/// Whether tasks that are under way go over to new manifests when other ones are served.
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

/// The files by which callers are authenticated. Without both files, callers need no token.
#[derive(Clone, Debug, Default)]
pub struct Authentication {
    /// A file of token digests: `{"tokens": [{"sha256": hex, "identity": text, "scopes": [text]}]}`. A row may also have `email`, a
    /// text, and `groups`, a list of texts: reviews are addressed to both.
    pub tokens: Option<PathBuf>,
    /// The requirements for signed tokens (JWT).
    pub jwt: Option<Jwt>,
    /// One of `aud` of the tokens of users, whose claims a task gets; without it that of callers ([`Jwt::audience`]). Such a token is
    /// made for the application that the user has signed in to.
    pub user_audience: Option<String>,
    /// Whether callers are still accepted when one of the files cannot be read again.
    pub unreadable: Unreadable,
}

/// Whether callers are still accepted when a file of tokens or keys is missing or broken after the server has started.
///
/// ```
/// use celador::digest::Digest;
/// use celador_server::{Authentication, Parts, Server, Settings, Unreadable, system_clock};
/// use celador_store::{Database, Location};
/// use std::io::{Read as _, Write as _};
/// use std::path::Path;
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
///
/// // the status of a request of somebody whose token was withdrawn by deleting the file of tokens
/// fn status_after_deletion(tokens: &Path, unreadable: Unreadable) -> Result<String, Box<dyn std::error::Error>> {
///     let token = "a-secret-of-the-desk";
///     let digest = Digest::of(token.as_bytes());
///     std::fs::write(tokens, format!(r#"{{"tokens": [{{"sha256": "{digest}", "identity": "desk", "scopes": []}}]}}"#))?;
///     let mut settings = Settings::new(vec!["examples/first-policy".into()]);
///     settings.address.set_port(0);
///     settings.authentication = Authentication { tokens: Some(tokens.to_owned()), unreadable, ..Authentication::default() };
///     let database = Database::open(&Location::Memory, &settings.limits.store)?;
///     let server = Server::start(settings, Parts { clock: system_clock()?, database, log: None })?;
///     std::fs::remove_file(tokens)?;
///     server.refresh();
///
///     let mut connection = std::net::TcpStream::connect(server.address())?;
///     let head = "GET /v1/tasks HTTP/1.1\r\nHost: localhost\r\nConnection: close";
///     write!(connection, "{head}\r\nAuthorization: Bearer {token}\r\n\r\n")?;
///     let mut answer = String::new();
///     connection.read_to_string(&mut answer)?;
///     server.stop();
///     Ok(answer.chars().skip("HTTP/1.1 ".len()).take(3).collect())
/// }
///
/// let folder = tempfile::tempdir()?;
/// let tokens = folder.path().join("tokens.json");
/// assert_eq!(status_after_deletion(&tokens, Unreadable::Close)?, "401");
/// assert_eq!(status_after_deletion(&tokens, Unreadable::Keep)?, "403"); // known, without the scope of this route
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unreadable {
    /// No token of the file is accepted until the file can be read. So deleting the file withdraws its tokens.
    #[default]
    Close,
    /// The last content that could be read stays in force.
    Keep,
}

/// The requirements for a JSON Web Token, and the keys that may sign it.
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
    /// The claim that lists the groups that the caller is in, such as `groups`; empty if reviews are addressed to no groups.
    pub groups_claim: String,
}

/// Files of a certificate chain and its key, as PEM.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The chain, the server's own certificate first.
    pub certificates: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Where reviews are sent.
#[derive(Clone, Debug)]
pub struct ReviewWebhook {
    /// The address, which begins with `https://` or leads to loopback.
    pub url: String,
    /// A file with the secret that signs, `whsec_…` as Standard Webhooks have it; each line is one, and each signs.
    pub secret: PathBuf,
}

impl Settings {
    /// A server for the manifests at these paths.
    #[must_use]
    pub fn new(policies: Vec<PathBuf>) -> Self {
        Self {
            address: DEFAULT_ADDRESS,
            policies,
            texts: Vec::new(),
            manifest_digests: None,
            observe: false,
            analyse_kept: true,
            allow_unlock: false,
            allow_plain_claims: false,
            default_agents: BTreeMap::new(),
            live_tasks: LiveTasks::default(),
            retain_calls: Retain::default(),
            watch: Some(Duration::from_secs(1)),
            authentication: Authentication::default(),
            allow_unauthenticated: false,
            tls: None,
            namespaces: BTreeMap::new(),
            hash_key: None,
            functions: Arc::default(),
            conversation: conversation::ConversationSettings::default(),
            agent_contexts: None,
            public_url: None,
            review_webhook: None,
            allowed_hosts: Vec::new(),
            trusted_proxies: Vec::new(),
            allowed_origins: Vec::new(),
            log_required: false,
            log_content: false,
            retention: Retention::default(),
            sweep_every: Duration::from_secs(600),
            limits: ServerLimits::default(),
        }
    }
}
