//! Policies that were loaded, their agents, and the places where tasks of these are kept.
//!
//! In: sources and a place. Out: agents, and of an agent its tasks. The place can be named with the policies or with each task: nothing else
//! changes where a program goes from one process to a store or a server.

use crate::loaded::Loaded;
use crate::memory::Memory;
#[cfg(feature = "stores")]
use crate::remote::Desk;
use crate::review::ReviewFilter;
use crate::sources::{Purpose, Source, Sources};
use crate::task::{Kept, Task};
use crate::{Clock, Error, Flaw, Host, tools};
use celador::context::Runtime;
use celador::digest::Digest;
use celador::manifest::mode::Mode;
use celador::task::ReviewRecord;
use celador::task::{Parent, Retain, StartTask, User};
use celador::{BroughtTool, EngineLimits};
#[cfg(feature = "stores")]
use celador_service::NewTask;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
#[cfg(feature = "stores")]
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Where tasks are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Place {
    /// In the memory of this process.
    #[default]
    Memory,
    /// In a store: the path of a SQLite file, or `postgres://…`.
    #[cfg(feature = "stores")]
    Store(String),
    /// On a server: its address, and the token that it wants.
    #[cfg(feature = "stores")]
    Server {
        /// The address, such as `http://127.0.0.1:8717`.
        address: String,
        /// The token, if the server wants one.
        token: Option<String>,
    },
}

/// Manifests and policies that were loaded, or the server that has them. A clone shares them.
#[derive(Clone)]
pub struct Policies(Arc<Shared>);

struct Shared {
    /// Nothing where a server has them.
    loaded: Option<Loaded>,
    place: Place,
    #[cfg(feature = "stores")]
    mode: Mode,
    #[cfg(feature = "stores")]
    host: Host,
    memory: Arc<Memory>,
    clock: Clock,
    #[cfg(feature = "stores")]
    desks: Mutex<HashMap<Place, Arc<Desk>>>,
}

/// An agent under its policies.
#[derive(Clone)]
pub struct Agent {
    policies: Policies,
    namespace: Arc<str>,
    name: Arc<str>,
    /// Brought with each task.
    tools: Arc<[BroughtTool]>,
}

/// A task that is wanted.
#[derive(Clone, Debug, Default)]
pub struct TaskWish {
    /// The id that the caller has for it; without one it gets one of its own.
    pub id: Option<String>,
    /// For whom it runs.
    pub user: User,
    /// The model; without one the agent's own.
    pub model: Option<String>,
    /// What it is to be found by.
    pub metadata: BTreeMap<String, String>,
    /// The tools that it brings, beside those of the agent.
    pub tools: Vec<BroughtTool>,
    /// The task that has delegated to it.
    pub parent: Option<Parent>,
    /// Where it is kept; without one where the policies say.
    pub place: Option<Place>,
}

impl Policies {
    /// Loads manifests and policies whose agents may all run.
    ///
    /// # Errors
    /// What is refused, with each place; a path that cannot be read. No source, unless the place is a server, which has its own.
    pub fn load(sources: &[Source], mode: Mode, place: Place, clock: Clock) -> Result<Self, Error> {
        Self::load_for(Host::default(), sources, mode, place, clock)
    }

    /// The same for policies that hash with a key of the host (`pii.hash`), or call its functions.
    ///
    /// # Errors
    /// As [`Policies::load`]; a key or functions where the place is a server, which has its own.
    pub fn load_for(
        host: Host,
        sources: &[Source],
        mode: Mode,
        place: Place,
        clock: Clock,
    ) -> Result<Self, Error> {
        let is_server = place.is_server();
        if is_server {
            host.refuse_for_server()?;
        }
        if is_server && mode == Mode::Observe {
            return Err(Error::misuse(
                "bad_request",
                "a server observes by an option of its own: `celador serve --observe`",
            ));
        }
        let loaded = match sources {
            [] if is_server => None,
            [] => {
                return Err(Error::misuse(
                    "bad_request",
                    "expected manifests or policies: paths, or texts by their names",
                ));
            }
            _ if is_server => {
                let message = "a server has manifests of its own: `celador serve` is given their paths";
                return Err(Error::misuse("bad_request", message));
            }
            sources => {
                let purpose = Purpose::Deciding(&host);
                Some(Loaded::of(Sources::open(sources, mode, purpose, EngineLimits::default())?))
            }
        };
        let memory = Arc::new(Memory::new(clock.clone(), host.has_functions()));
        let shared = Shared {
            loaded,
            place,
            #[cfg(feature = "stores")]
            mode,
            #[cfg(feature = "stores")]
            host,
            memory,
            clock,
            #[cfg(feature = "stores")]
            desks: Mutex::default(),
        };
        Ok(Self(Arc::new(shared)))
    }

    /// An agent that nobody wrote a manifest for: it has these tools, and what its calls may do the policies say.
    ///
    /// Its name is what `applies_to` of policies is compared with. Without one its namespace is that of the policies, if they are all of one:
    /// a policy is for the agents of its namespace where it does not say otherwise. On a server the agent is one of the server's, and the
    /// tools are brought with each task.
    ///
    /// # Errors
    /// As [`Policies::load`], and tools whose schemas no value could be held to.
    pub fn agent_for(
        name: Option<&str>,
        tools: Vec<BroughtTool>,
        policies: &[Source],
        mode: Mode,
        place: Place,
        clock: Clock,
    ) -> Result<Agent, Error> {
        Self::agent_of_host(Host::default(), (name, tools), policies, mode, place, clock)
    }

    /// The same for policies that hash with a key of the host (`pii.hash`), or call its functions.
    ///
    /// # Errors
    /// As [`Policies::agent_for`] and [`Policies::load_for`].
    pub fn agent_of_host(
        host: Host,
        (name, tools): (Option<&str>, Vec<BroughtTool>),
        policies: &[Source],
        mode: Mode,
        place: Place,
        clock: Clock,
    ) -> Result<Agent, Error> {
        if place.is_server() {
            return Self::load_for(host, policies, mode, place, clock)?.agent(name, tools);
        }
        let name = match name {
            Some(name) => name.to_owned(),
            None => format!("{}/agent", namespace_of(policies)?),
        };
        let Some((namespace, agent)) = name.split_once('/') else {
            return Err(Error::misuse("bad_request", "expected the name of an agent as `namespace/name`"));
        };
        let mut sources = vec![tools::manifests(namespace, agent, &tools)];
        sources.extend_from_slice(policies);
        Self::load_for(host, &sources, mode, place, clock)?.agent(Some(&name), Vec::new())
    }

    /// An agent by its names (`shop/desk`), by its name where only one agent has it, or the only one. The tools are brought with each task.
    ///
    /// # Errors
    /// A name that no agent has, or several.
    pub fn agent(&self, name: Option<&str>, tools: Vec<BroughtTool>) -> Result<Agent, Error> {
        let (namespace, name) = match (&self.0.loaded, name) {
            (Some(loaded), name) => loaded.agent(name)?,
            (None, Some(name)) => match name.split_once('/') {
                Some((namespace, name)) => (namespace.to_owned(), name.to_owned()),
                None => {
                    return Err(Error::misuse(
                        "unknown_agent",
                        "expected the name of an agent as `namespace/name`",
                    ));
                }
            },
            (None, None) => {
                return Err(Error::misuse("unknown_agent", "a server does not say its agents: name one"));
            }
        };
        Ok(Agent {
            policies: self.clone(),
            namespace: namespace.into(),
            name: name.into(),
            tools: tools.into(),
        })
    }

    /// The names of all agents, as `shop/desk`. None of a server, which does not say them.
    #[must_use]
    pub fn agents(&self) -> Vec<String> {
        let agents = self.0.loaded.iter().flat_map(|loaded| &loaded.agents);
        agents.map(|(namespace, name)| format!("{namespace}/{name}")).collect()
    }

    /// The problems for which no manifest is refused.
    #[must_use]
    pub fn warnings(&self) -> &[Flaw] {
        self.0.loaded.as_ref().map_or(&[], |loaded| &loaded.warnings)
    }

    /// Goes on with a task in memory that was saved as a text.
    ///
    /// # Errors
    /// A text that is no saved task, or one that does not fit its agent; a task of its id that is in memory.
    pub fn restore(&self, text: &str) -> Result<Task, Error> {
        let Some(loaded) = &self.0.loaded else {
            return Err(Error::misuse("kept", "a task on a server is kept there"));
        };
        let held = self.0.memory.restore(&loaded.engine, text)?;
        let (agent, left_out) = held.with(|task| (agent_of(task), left_out(task)))?;
        Ok(Task {
            id: held.id().into(),
            agent: agent.into(),
            kept: Kept::Memory(self.0.memory.clone(), held),
            left_out: left_out.into(),
        })
    }

    #[cfg(feature = "stores")]
    fn desk(&self, place: &Place) -> Result<Arc<Desk>, Error> {
        let mut desks = self.0.desks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(desk) = desks.get(place) {
            return Ok(desk.clone());
        }
        let desk = Arc::new(match place {
            Place::Memory => return Err(Error::misuse("bad_request", "tasks in memory have no store")),
            Place::Store(store) => {
                let texts = self.0.loaded.as_ref().map(|loaded| loaded.texts.clone());
                let none = || Error::misuse("bad_request", "a store needs manifests: load some");
                let (mode, host) = (self.0.mode, self.0.host.clone());
                Desk::open(store, texts.ok_or_else(none)?, (mode, host), self.0.clock.clone())?
            }
            Place::Server { address, token } => Desk::connect(address, token.as_deref())?,
        });
        desks.insert(place.clone(), desk.clone());
        Ok(desk)
    }
}

impl Place {
    #[cfg(feature = "stores")]
    fn is_server(&self) -> bool {
        matches!(self, Self::Server { .. })
    }

    #[cfg(not(feature = "stores"))]
    #[expect(clippy::unused_self, reason = "without stores there is memory alone")]
    fn is_server(&self) -> bool {
        false
    }

    /// Its word: `memory`, `store` or `server`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Memory => "memory",
            #[cfg(feature = "stores")]
            Self::Store(_) => "store",
            #[cfg(feature = "stores")]
            Self::Server { .. } => "server",
        }
    }
}

impl Agent {
    /// Its namespace and name: `shop/desk`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Where its tasks are kept, unless a task says otherwise.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.policies.0.place
    }

    /// Gets or begins a task: the same id with the same wish is the same task.
    ///
    /// # Errors
    /// An id that is another task's, and what no task of the agent can begin with; stores and servers that do not answer.
    pub fn task(&self, wish: TaskWish) -> Result<Task, Error> {
        let TaskWish { id, user, model, metadata, tools: more, parent, place } = wish;
        let place = place.as_ref().unwrap_or(&self.policies.0.place);
        let tools: Vec<BroughtTool> = self.tools.iter().cloned().chain(more).collect();
        let agent: Arc<str> = self.name().into();
        let is_named = id.is_some();
        let id = id.unwrap_or_else(|| self.policies.made_up_id());
        match place {
            Place::Memory => {
                if parent.is_some() {
                    let message =
                        "a task to which another has delegated needs a store or a server, which see to both";
                    return Err(Error::misuse("bad_request", message));
                }
                let shared = &self.policies.0;
                let Some(loaded) = &shared.loaded else {
                    return Err(Error::misuse("bad_request", "a task in memory needs manifests: load some"));
                };
                let (namespace, name) = (self.namespace.to_string(), self.name.to_string());
                check_id(&id)?;
                let meaning =
                    json!([namespace, name, user.id, user.email, user.claims, model, metadata, tools]);
                let start = StartTask {
                    id,
                    namespace,
                    agent: name,
                    user,
                    started_at: (shared.clock)(),
                    address: None,
                    model,
                    runtime: Runtime::default(),
                    mount_id: None,
                    begun_with: Some(Digest::of(meaning.to_string().as_bytes()).to_string()),
                    tools,
                    parent: None,
                    metadata,
                    retain: Retain::All,
                };
                let held = shared.memory.begin(&loaded.engine, start, is_named)?;
                let left_out = held.with(left_out)?;
                let id = held.id().into();
                Ok(Task {
                    id,
                    agent,
                    kept: Kept::Memory(shared.memory.clone(), held),
                    left_out: left_out.into(),
                })
            }
            #[cfg(feature = "stores")]
            place => {
                let desk = self.policies.desk(place)?;
                let new = NewTask {
                    id: Some(id.clone()),
                    namespace: self.namespace.to_string(),
                    agent: Some(self.name.to_string()),
                    user,
                    model,
                    tools,
                    parent,
                    metadata,
                    ..NewTask::default()
                };
                let left_out = desk.begin(new)?;
                Ok(Task { id: id.into(), agent, kept: Kept::Desk(desk), left_out: left_out.into() })
            }
        }
    }

    /// The reviews of its tasks, in the order in which they were asked.
    ///
    /// # Errors
    /// Stores and servers that do not answer.
    pub fn reviews(&self, filter: &ReviewFilter) -> Result<Vec<ReviewRecord>, Error> {
        match self.place() {
            Place::Memory => self.policies.0.memory.reviews(filter, &self.name()),
            #[cfg(feature = "stores")]
            place => self.policies.desk(place)?.reviews(filter, &self.name()),
        }
    }

    /// The task of a review that [`Agent::reviews`] has listed, to answer it.
    ///
    /// # Errors
    /// A task that is not there any more.
    pub fn task_of(&self, review: &ReviewRecord) -> Result<Task, Error> {
        let shared = &self.policies.0;
        let kept = match self.place() {
            Place::Memory => {
                let gone = || Error::misuse("purged", "the task was purged");
                Kept::Memory(shared.memory.clone(), shared.memory.holder(&review.task).ok_or_else(gone)?)
            }
            #[cfg(feature = "stores")]
            place => Kept::Desk(self.policies.desk(place)?),
        };
        Ok(Task {
            id: review.task.as_str().into(),
            agent: self.name().into(),
            kept,
            left_out: Arc::default(),
        })
    }
}

impl Policies {
    #[cfg(feature = "stores")]
    #[expect(clippy::unused_self, reason = "without stores the ids are numbers of the policies' own")]
    fn made_up_id(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }

    #[cfg(not(feature = "stores"))]
    fn made_up_id(&self) -> String {
        self.0.memory.next_id()
    }
}

/// The namespace of policies that are all of one.
fn namespace_of(policies: &[Source]) -> Result<String, Error> {
    let read = Sources::read(policies, Mode::Enforce, Purpose::Verifying, EngineLimits::default())?;
    let mut namespaces: Vec<String> =
        read.catalog.policies().iter().map(|policy| policy.namespace.text.to_string()).collect();
    namespaces.sort();
    namespaces.dedup();
    match &*namespaces {
        [one] => Ok(one.clone()),
        _ => Ok("agents".to_owned()),
    }
}

/// The bounds are those of the API, so that an id can go along to a store.
fn check_id(id: &str) -> Result<(), Error> {
    let most = EngineLimits::default().max_id_bytes;
    let is_sound =
        (1..=most).contains(&id.len()) && !id.contains(char::is_control) && !matches!(id, "." | "..");
    let message = || {
        format!(
            "the id of a task is a text of 1 to {most} bytes without control characters, and neither `.` nor `..`"
        )
    };
    if is_sound { Ok(()) } else { Err(Error::misuse("bad_request", message())) }
}

fn agent_of(task: &celador::Task) -> String {
    let policy = task.policy();
    format!("{}/{}", policy.agent().namespace.text, policy.agent().name.text)
}

fn left_out(task: &celador::Task) -> BTreeMap<String, String> {
    task.tools_left_out().iter().map(|it| (it.name.clone(), it.reason.clone())).collect()
}
