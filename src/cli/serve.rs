//! `celador serve`: decisions over HTTP until the process is asked to end.

use super::hash_key::HashKeyFile;
use super::limits::Changes;
use super::service::{from_environment, namespaced, refused, telemetry};
use super::{ExitCode, Failure, Screen, messages, read_text};
use celador::Retain;
use celador::cel::Json;
use celador::limits::EngineLimits;
use celador_server::{
    Authentication, DEFAULT_ADDRESS, Jwt, LiveTasks, Parts, ReviewWebhook, ServeError, Server, ServerLimits,
    Settings, Telemetry, Tls, Unreadable, system_clock,
};
use celador_store::conversation::aletheia::{ContextPlace, RedisOptions};
use celador_store::conversation::{self, HistoryOrder, ListShape};
use celador_store::decision_log::{self, DecisionLog, SyncMode};
use celador_store::{Age, Database, Location, Retention};
use clap::Args;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Serve decisions over HTTP
///
/// Listens on loopback, keeps tasks in a file, looks at the manifests every second and serves what has changed as a whole;
/// manifests with errors leave those of before in force. Ends on SIGTERM or SIGINT, when what was begun is finished.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador serve policies/support-desk
  celador serve policies --store memory --listen 127.0.0.1:9000
  CELADOR_STORE='postgres://celador@db/celador?sslmode=verify-full&sslrootcert=system' \\
      celador serve policies --tokens tokens.json \\
      --listen 0.0.0.0:8717 --tls-certificates chain.pem --tls-key key.pem
  celador serve policies --retain idle-tasks=90d --retain ended-tasks=30d --retain answers=30d

Environment:
  CELADOR_STORE            as --store, so that a password stands in no list of processes
  CELADOR_ALETHEIA_STORE   as --aletheia-store, for the same reason
  CELADOR_HASH_KEY         the key of `pii.hash`, in the place of --hash-key-file
  CELADOR_LOG              as --log

A file of tokens: {\"tokens\": [{\"sha256\": \"…\", \"identity\": \"did:web:a\", \"scopes\": [\"tasks:write\"]}]}
where sha256 is that of the token: printf %s \"$TOKEN\" | sha256sum")]
pub(crate) struct Arguments {
    /// Manifest files, and folders to search for them
    #[arg(value_name = "MANIFESTS", default_value = "policies")]
    manifests: Vec<PathBuf>,

    /// Where to listen; port 0 for one that is free
    #[arg(long, value_name = "ADDRESS", default_value_t = DEFAULT_ADDRESS)]
    listen: SocketAddr,

    /// Where to keep tasks: `memory`, `file:PATH` or `postgres://…`; `celador.db` in the data folder if not said
    #[arg(long, value_name = "STORE")]
    store: Option<String>,

    /// The folder of the store
    #[arg(long, value_name = "FOLDER", default_value = "celador-data")]
    data: PathBuf,

    /// Serve manifests only if they are exactly those of this file, which their publisher writes last: `sha256sum` makes it
    #[arg(long, value_name = "FILE")]
    manifest_digests: Option<PathBuf>,

    /// Stop nothing: let each operation by as it comes, and tell what would have come of it
    #[arg(long)]
    observe: bool,

    /// What becomes of tasks under way when other manifests are served: `adopt` them where those can read the task's state
    /// (else the task takes no step), `keep` the policy of the task, or `lock` the task until an operator decides
    #[arg(long, value_name = "HOW", value_parser = ["adopt", "keep", "lock"], default_value = "adopt")]
    live_tasks: String,

    /// How much of its calls a task keeps that is begun from now on: `all`, or of arguments and results those that rules read later
    #[arg(long, value_name = "HOW", value_parser = ["all", "needed"], default_value = "all")]
    retain_calls: String,

    /// Let holders of the scope `tasks:admin` unlock tasks (`POST /v1/tasks/{task}/unlock`); otherwise a lock is for good
    #[arg(long)]
    allow_unlock: bool,

    /// Take the claims of a user from the body that begins a task, although callers need tokens; otherwise they come from the user's own
    /// token (`user_token`) alone
    #[arg(long)]
    allow_plain_claims: bool,

    /// One of `aud` of users' tokens; without it that of callers
    #[arg(long, value_name = "AUDIENCE", requires = "jwks")]
    user_audience: Option<String>,

    /// The agent of tasks that are begun with this namespace and no agent; without it the only one that no other agent delegates to
    #[arg(long = "default-agent", value_name = "NAMESPACE/NAME", value_parser = namespaced)]
    default_agents: Vec<(String, String)>,

    /// How often to look for changed files, in seconds; 0 for never: then manifests are loaded anew on SIGHUP only
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    watch: u64,

    /// A file of token digests, identities and scopes
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,

    /// A file of public keys, for JSON Web Tokens
    #[arg(long, value_name = "FILE", requires_all = ["issuer", "audience"])]
    jwks: Option<PathBuf>,

    /// `iss` of such tokens
    #[arg(long, value_name = "TEXT", requires = "jwks")]
    issuer: Option<String>,

    /// `aud` of such tokens
    #[arg(long, value_name = "TEXT", requires = "jwks")]
    audience: Option<String>,

    /// The claim of such tokens that names the caller
    #[arg(long, value_name = "CLAIM", default_value = "sub")]
    identity_claim: String,

    /// The claim of such tokens that lists the groups of the caller, for reviews; empty for none
    #[arg(long, value_name = "CLAIM", default_value = "groups")]
    groups_claim: String,

    /// What a missing or broken file of tokens or keys means while serving: accept none, or those read before
    #[arg(long, value_name = "WAY", value_parser = ["close", "keep"], default_value = "close")]
    unreadable_tokens: String,

    /// Listen beyond loopback although callers need no token
    #[arg(long)]
    allow_unauthenticated: bool,

    /// The certificate chain, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificates: Option<PathBuf>,

    /// The private key, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificates")]
    tls_key: Option<PathBuf>,

    /// A JSON file with the settings of namespaces, for the secrets of webhooks: {namespace: {key: value}}
    #[arg(long, value_name = "FILE")]
    namespaces: Option<PathBuf>,

    #[command(flatten)]
    hash_key: HashKeyFile,

    /// The answer of `contexts/list`: as documented, or as servers deployed today give it
    #[arg(long, value_name = "SHAPE", value_parser = ["documented", "deployed"], default_value = "documented")]
    bindu_list_shape: String,

    /// The order of a context's history: as documented, or as servers deployed today give it
    #[arg(long, value_name = "ORDER", value_parser = ["oldest_first", "newest_first"], default_value = "oldest_first")]
    aion_history_order: String,

    /// Where Aletheia agents keep which context they are in, at `/v1/agent-contexts`: `embedded` in the store of the tasks,
    /// `redis://…`, `rediss://…` or `postgres://…`; not served if not said
    #[arg(long, value_name = "STORE")]
    aletheia_store: Option<String>,

    /// What stands before each key in Redis
    #[arg(long, value_name = "TEXT", default_value_t = RedisOptions::default().prefix)]
    aletheia_prefix: String,

    /// How long Redis keeps a key after it was set, in seconds; 0 for ever
    #[arg(long, value_name = "SECONDS", default_value_t = RedisOptions::default().ttl_seconds)]
    aletheia_ttl: i64,

    /// Where clients reach the context protocols, for the agent card; where it listens if not said
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,

    /// Send reviews here when they are asked and when they are answered: `https://…`, or an address of loopback
    #[arg(long, value_name = "URL", requires = "review_webhook_secret_file")]
    review_webhook: Option<String>,

    /// The file with the secret that signs them: `whsec_…`, a line each, and each signs
    #[arg(long, value_name = "FILE", requires = "review_webhook")]
    review_webhook_secret_file: Option<PathBuf>,

    /// A host that requests may be for, besides loopback; needed without tokens only
    #[arg(long = "allow-host", value_name = "HOST")]
    allowed_hosts: Vec<String>,

    /// A proxy in front of the server whose `X-Forwarded-For` says from which address a request comes: an address, or a network such as `10.0.0.0/8`
    #[arg(long = "trusted-proxy", value_name = "NETWORK")]
    trusted_proxies: Vec<String>,

    /// An origin whose pages may use the server from a browser, such as `https://console.example`
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    allowed_origins: Vec<String>,

    /// A folder for the decision log
    #[arg(long, value_name = "FOLDER")]
    decision_log: Option<PathBuf>,

    /// Answer no decision that is not in the decision log, on disk; 503 while the log cannot be written
    #[arg(long, requires = "decision_log")]
    decision_log_required: bool,

    /// Put arguments, messages and answers into the decision log
    #[arg(long, requires = "decision_log")]
    log_content: bool,

    /// How long a kind of data is kept, such as `ended-tasks=30d`; for ever unless it is said. The kinds: `ended-tasks`,
    /// `idle-tasks` (they are ended), `tombstones`, `answers`, `decision-lines`, `contexts`, `log-files`
    #[arg(long = "retain", value_name = "KIND=AGE")]
    retain: Vec<String>,

    /// How often to look whether something is over its age
    #[arg(long, value_name = "AGE", default_value = "10m")]
    sweep_every: Age,

    #[command(flatten)]
    changes: Changes,

    /// What to log: `error`, `warn`, `info`, `debug`, or a filter such as `celador=debug`; `info` if not said
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,

    /// Send traces to this OpenTelemetry collector, such as `http://localhost:4318`
    #[cfg(feature = "otel")]
    #[arg(long, value_name = "URL")]
    collector: Option<String>,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let telemetry = Telemetry {
            #[cfg(feature = "otel")]
            collector: self.collector.clone(),
            ..telemetry(self.log.as_deref(), "info", screen)
        };
        let settings = self.settings()?;
        let location = match self.store.clone().or_else(|| from_environment("CELADOR_STORE")) {
            Some(store) => Location::parse(&store),
            None => Location::File(self.data.join("celador.db")),
        };
        if let Location::File(path) = &location {
            let folder = path.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder)
                .map_err(|error| Failure::Unusable(messages::cannot_create(folder, &error)))?;
        }
        let _sending = telemetry.install().map_err(|error| refused(&error, screen))?;
        let server =
            serve(settings, &location, self.decision_log).map_err(|error| refused(&error, screen))?;
        let signals = server.take_signals().map_err(|error| refused(&error, screen))?;
        screen.line(&messages::serving(server.address()))?;
        screen.flush()?;
        server.run(signals);
        Ok(ExitCode::Yes)
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let mut limits = ServerLimits::default();
        self.changes.apply(|name, value| limits.set(name, value))?;
        let mut retention = Retention::default();
        for setting in &self.retain {
            retention.set(setting).map_err(|error| Failure::Unusable(messages::no_rule(&error)))?;
        }
        retention.check().map_err(|error| Failure::Unusable(messages::no_rule(&error)))?;
        let jwt = match (&self.jwks, &self.issuer, &self.audience) {
            (Some(jwks), Some(issuer), Some(audience)) => Some(Jwt {
                jwks: jwks.clone(),
                issuer: issuer.clone(),
                audience: audience.clone(),
                identity_claim: self.identity_claim.clone(),
                groups_claim: self.groups_claim.clone(),
            }),
            _ => None,
        };
        let authentication = Authentication {
            tokens: self.tokens.clone(),
            jwt,
            user_audience: self.user_audience.clone(),
            unreadable: match &*self.unreadable_tokens {
                "keep" => Unreadable::Keep,
                _ => Unreadable::Close,
            },
        };
        let conversation = conversation::ConversationSettings {
            bindu_list_shape: match &*self.bindu_list_shape {
                "deployed" => ListShape::Deployed,
                _ => ListShape::Documented,
            },
            aion_history_order: match &*self.aion_history_order {
                "newest_first" => HistoryOrder::NewestFirst,
                _ => HistoryOrder::OldestFirst,
            },
        };
        let redis = RedisOptions { prefix: self.aletheia_prefix.clone(), ttl_seconds: self.aletheia_ttl };
        let agent_contexts =
            self.aletheia_store.clone().or_else(|| from_environment("CELADOR_ALETHEIA_STORE"));
        let tls = self.tls_certificates.clone().zip(self.tls_key.clone());
        let webhook = self.review_webhook.clone().zip(self.review_webhook_secret_file.clone());
        Ok(Settings {
            address: self.listen,
            live_tasks: match &*self.live_tasks {
                "keep" => LiveTasks::Keep,
                "lock" => LiveTasks::Lock,
                _ => LiveTasks::Adopt,
            },
            retain_calls: match &*self.retain_calls {
                "needed" => Retain::Needed,
                _ => Retain::All,
            },
            manifest_digests: self.manifest_digests.clone(),
            observe: self.observe,
            allow_unlock: self.allow_unlock,
            allow_plain_claims: self.allow_plain_claims,
            default_agents: self.default_agents.iter().cloned().collect(),
            watch: (self.watch > 0).then(|| Duration::from_secs(self.watch)),
            authentication,
            allow_unauthenticated: self.allow_unauthenticated,
            tls: tls.map(|(certificates, key)| Tls { certificates, key }),
            namespaces: self.namespaces.as_deref().map(namespaces).transpose()?.unwrap_or_default(),
            hash_key: self.hash_key.read().map_err(Failure::Unusable)?,
            conversation,
            agent_contexts: agent_contexts.map(|store| ContextPlace { store, redis }),
            public_url: self.public_url.clone(),
            review_webhook: webhook.map(|(url, secret)| ReviewWebhook { url, secret }),
            allowed_hosts: self.allowed_hosts.clone(),
            trusted_proxies: self.trusted_proxies.clone(),
            allowed_origins: self.allowed_origins.clone(),
            log_required: self.decision_log_required,
            log_content: self.log_content,
            retention,
            sweep_every: self.sweep_every.duration(),
            limits,
            ..Settings::new(self.manifests.clone())
        })
    }
}

fn serve(settings: Settings, location: &Location, log: Option<PathBuf>) -> Result<Server, ServeError> {
    let clock = system_clock()?;
    let database = Database::open(location, &settings.limits.store)?;
    let sync = if settings.log_required { SyncMode::Always } else { SyncMode::System };
    let log_settings = |folder| decision_log::LogSettings { sync, ..decision_log::LogSettings::new(folder) };
    let log = log.map(|folder| DecisionLog::open(log_settings(folder), clock()));
    let parts = Parts { clock, database, log: log.transpose()? };
    Server::start(settings, parts)
}

fn namespaces(path: &Path) -> Result<BTreeMap<String, BTreeMap<String, Json>>, Failure> {
    let text = read_text(path, EngineLimits::default().max_manifest_bytes)?;
    // what stands in this file is secret: where it is wrong, and not what is there
    serde_json::from_str(&text).map_err(|error| Failure::Unusable(messages::no_settings(path, &error)))
}
