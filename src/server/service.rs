//! What all requests share: manifests, tasks, authentication, figures, the clock.
//!
//! Made once when the server starts; everything in it is used from many threads at once.

use super::agent_contexts::AgentContexts;
use super::auth::Authority;
use super::clock::Clock;
use super::error::ServeError;
use super::manifests::{Manifests, ReadManifests};
use super::network::origin::Origins;
use super::network::proxies::Proxies;
use super::problem::Problem;
use super::settings::Settings;
use super::shares::Holder;
use super::sweeper::{Sweeper, Swept};
use super::tasks::Tasks;
use super::tasks::recorder::Recorder;
use super::tasks::review_feed::Counted;
use super::telemetry::metrics::Metrics;
use celador::cel::Timestamp;
use celador_store::conversation::Conversations;
use celador_store::decision_log::DecisionLog;
use celador_store::{Database, RetentionError, StoredTasks};
use std::net::SocketAddr;
use std::sync::Arc;
use tracing::{info, warn};

/// The parts that the caller of [`Server::start`](crate::Server::start) makes for a server.
pub struct Parts {
    /// The time.
    pub clock: Clock,
    /// Where tasks and contexts are kept.
    pub database: Database,
    /// Where every decision is written down.
    pub log: Option<DecisionLog>,
}

/// What all requests share.
pub(super) struct Service {
    pub(super) settings: Settings,
    /// Where it listens.
    pub(super) address: SocketAddr,
    pub(super) origins: Origins,
    /// The proxies whose word about addresses counts.
    pub(super) proxies: Proxies,
    pub(super) clock: Clock,
    pub(super) authority: Authority,
    pub(super) manifests: Arc<Manifests>,
    pub(super) tasks: Tasks,
    pub(super) conversations: Conversations,
    pub(super) agent_contexts: Option<AgentContexts>,
    pub(super) metrics: Arc<Metrics>,
    /// What takes away what is too old.
    pub(super) sweeper: Sweeper,
    /// The streams of reviews that are open.
    pub(super) streams: Counted<Holder>,
    /// Whether a step runs on the thread that asks for it: nothing in it waits for a disk or a network, and nobody else's
    /// connection is behind it.
    pub(super) steps_at_once: bool,
}

impl Service {
    /// Reads everything else that the settings name, for a server that listens at this address.
    pub(super) fn open(
        settings: Settings,
        manifests: ReadManifests,
        parts: Parts,
        address: SocketAddr,
    ) -> Result<Self, ServeError> {
        let Parts { clock, database, log } = parts;
        let refused = |error: RetentionError| ServeError::setting("retention", error.to_string());
        settings.retention.check().map_err(refused)?;
        let authority = Authority::open(&settings.authentication)?;
        if !authority.is_required() && !settings.address.ip().is_loopback() && !settings.allow_unauthenticated
        {
            return Err(ServeError::OpenToAll(settings.address));
        }
        let origins = Origins::new(&settings, address, authority.is_required())?;
        let proxies = Proxies::new(&settings.trusted_proxies)?;
        let kept = StoredTasks::new(database.clone(), &settings.limits.store);
        let is_kept = |digest: &str| kept.keeps_manifests(digest).unwrap_or(false);
        let manifests = Arc::new(Manifests::open(&settings, manifests, is_kept, clock())?);
        let metrics = Arc::new(Metrics::new());
        if settings.log_required && log.is_none() {
            return Err(ServeError::NoLog);
        }
        let logging = (settings.log_required, settings.log_content);
        let recorder = Recorder::open(log, &database, logging, metrics.clone())?;
        let tasks = Tasks::new(database.clone(), manifests.clone(), recorder, clock.clone(), &settings);
        tasks.learn_switches()?;
        let agent_contexts = AgentContexts::open(&settings, &database)?;
        let conversations = Conversations::new(database, || uuid::Uuid::new_v4().as_u128());
        let (most, each) = (settings.limits.max_review_streams, settings.limits.max_caller_review_streams);
        let sweeper = Sweeper::new(settings.retention, settings.limits.store.max_page);
        Ok(Self {
            settings,
            address,
            origins,
            proxies,
            clock,
            authority,
            manifests,
            tasks,
            conversations,
            agent_contexts,
            metrics,
            sweeper,
            streams: Counted::new(most, each),
            steps_at_once: false,
        })
    }

    /// The agent that is meant where a task is begun with a namespace alone.
    pub(super) fn default_agent(&self, namespace: &str) -> Result<String, Problem> {
        match self.settings.default_agents.get(namespace) {
            Some(agent) => Ok(agent.clone()),
            None => Ok(self.manifests.served().engine.default_agent(namespace)?),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Reads again what has changed on disk.
    pub(super) fn refresh(&self) {
        if let Some(reload) = self.manifests.poll(self.now()) {
            self.told(reload.as_ref().map(|digest| &**digest).map_err(ToString::to_string));
        }
        self.authority.refresh();
    }

    /// Writes down what other processes left for any log.
    pub(super) fn tidy(&self) {
        if let Err(error) = self.tasks.recorder().tidy() {
            warn!(%error, "lines that wait in the store could not be seen to");
        }
    }

    /// Looks how far reviews have changed, and tells those who listen.
    pub(super) fn follow_reviews(&self) {
        match self.tasks.store.last_review_change() {
            Ok(last) => self.tasks.feed.tell(last),
            Err(error) => drop(self.tasks.problem(&error)),
        }
    }

    /// Ends tasks that have outlived the one that had delegated to them, and takes away what is too old, until it is told to stop.
    pub(super) fn sweep(&self, stop: &dyn Fn() -> bool) {
        self.tasks.end_orphans(stop);
        let Self { tasks, conversations, metrics, .. } = self;
        self.sweeper.sweep(&Swept { tasks, conversations, metrics, now: self.now() }, stop);
    }

    /// Loads the manifests anew, whether or not they have changed: whoever asks says that they are whole.
    pub(super) fn reload(&self) {
        let reload = self.manifests.reload(self.now());
        self.told(reload.as_ref().map(|digest| &**digest).map_err(ToString::to_string));
    }

    /// Says in figures and in the log what came of loading the manifests anew.
    pub(super) fn told(&self, reload: Result<&str, String>) {
        match reload {
            Ok(digest) => {
                self.metrics.reload("served");
                info!(digest, "manifests were loaded anew");
            }
            Err(problem) => {
                self.metrics.reload("refused");
                warn!(problem, "manifests cannot be served; those of before are served on");
            }
        }
    }
}
