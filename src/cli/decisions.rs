//! Where the decisions of a guard come from that stands between two programs: out of this process, or from a server.
//!
//! In: the arguments that say so. Out: a [`TaskBackend`], and the server of the page of reviews, if one was asked for.

use super::hash_key::HashKeyFile;
use super::limits::Changes;
use super::service::{from_environment, refused, token};
use super::{Failure, Screen};
use celador::manifest::load::File;
use celador_server::{
    InProcess, Parts, ServeError, Server, ServerLimits, Settings, TaskBackend, system_clock,
};
use celador_service::{Client, KeptClient, RemoteTasks};
use celador_store::decision_log::{DecisionLog, LogSettings};
use celador_store::{Database, Location};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What holds, and who decides.
#[derive(Args)]
pub(super) struct Decisions {
    /// Policies that hold, and manifests: files, and folders to search for them
    #[arg(long, value_name = "PATH")]
    pub(super) policies: Vec<PathBuf>,

    /// Where to keep tasks: `memory`, `file:PATH` or `postgres://…`; `memory` if not said
    #[arg(long, value_name = "STORE", conflicts_with = "server")]
    store: Option<String>,

    /// Ask this server for decisions, in the place of this process
    #[arg(long, value_name = "URL", requires = "agent", conflicts_with_all = ["policies", "reviews", "decision_log"])]
    pub(super) server: Option<String>,

    /// A file with the token for `--server`; `CELADOR_TOKEN` if not said
    #[arg(long, value_name = "FILE", requires = "server")]
    token_file: Option<PathBuf>,

    /// A folder for the decision log
    #[arg(long, value_name = "FOLDER")]
    decision_log: Option<PathBuf>,

    /// Let everything through, and judge it all the same
    #[arg(long)]
    pub(super) observe: bool,

    /// Serve the page of reviews at this address of this machine
    #[arg(long, value_name = "ADDRESS")]
    reviews: Option<SocketAddr>,

    #[command(flatten)]
    hash_key: HashKeyFile,

    #[command(flatten)]
    changes: Changes,
}

impl Decisions {
    /// Who decides, and what serves the page of reviews. `texts` are manifests besides those of `--policies`.
    ///
    /// # Errors
    /// A token that cannot be read, an address that is none, a limit that does not exist, and those of a server that begins.
    pub(super) fn open(
        &self,
        texts: Vec<File>,
        screen: &mut Screen,
    ) -> Result<(TaskBackend, Option<Server>), Failure> {
        if let Some(address) = &self.server {
            let client = Client::new(address, token(self.token_file.as_deref())?.as_deref());
            let client = client.map_err(|error| Failure::Unusable(error.to_string()))?;
            return Ok((TaskBackend::Remote(RemoteTasks::new(KeptClient::new(client))), None));
        }
        let limits = self.limits()?;
        let settings = Settings {
            limits,
            texts,
            observe: self.observe,
            hash_key: self.hash_key.read().map_err(Failure::Unusable)?,
            ..Settings::new(self.policies.clone())
        };
        self.begin(settings).map_err(|error| refused(&error, screen))
    }

    /// The bounds with the changes of `--limit`.
    ///
    /// # Errors
    /// A limit that does not exist.
    pub(super) fn limits(&self) -> Result<ServerLimits, Failure> {
        let mut limits = ServerLimits::default();
        self.changes.apply(|name, value| limits.set(name, value))?;
        Ok(limits)
    }

    /// Where people find the reviews that are answered elsewhere.
    pub(super) fn reviews_at(&self, page: Option<&Server>) -> Option<String> {
        match (page, &self.server) {
            (Some(page), _) => Some(format!("http://{}/reviews", page.address())),
            (None, Some(server)) => Some(format!("{}/reviews", server.trim_end_matches('/'))),
            (None, None) => None,
        }
    }

    fn begin(&self, settings: Settings) -> Result<(TaskBackend, Option<Server>), ServeError> {
        let store = self.store.clone().or_else(|| from_environment("CELADOR_STORE"));
        let location = store.map_or(Location::Memory, |store| Location::parse(&store));
        let database = Database::open(&location, &settings.limits.store)?;
        let clock = system_clock()?;
        let log = self.decision_log.as_ref().map(LogSettings::new);
        let log = log.map(|settings| DecisionLog::open(settings, clock())).transpose()?;
        // the page of reviews is a server over the same store: an answer that it takes is one of another process, as it were
        let page = |address| {
            let settings = Settings { address, ..settings.clone() };
            Server::start(settings, Parts { clock: clock.clone(), database: database.clone(), log: None })
        };
        let reviews = self.reviews.map(page).transpose()?;
        let engine = InProcess::open(settings, Parts { clock, database, log })?;
        engine.keep_up();
        Ok((TaskBackend::InProcess(engine), reviews))
    }
}
