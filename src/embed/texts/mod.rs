//! Requests and answers as texts of JSON, for bindings of languages whose values are JSON: one crossing an operation, whatever it carries.
//!
//! In: what is asked, the handle of what it is about, a body. Out: the answer, or an object with `error`. A handle is a number that the
//! binding gives back with [`Texts::forget`]. Decisions are written as the HTTP API writes those of several calls.
//!
//! | module | what |
//! |---|---|
//! | `body` | the bodies of requests, and JSON read and written |
//! | `unheld` | requests that are about nothing held |

mod body;
mod unheld;

#[cfg(feature = "authoring")]
use crate::Replaying;
use crate::{
    Agent, Clock, Error, ErrorKind, Host, Person, Policies, Review, ReviewFilter, Stepped, Task, TaskWish,
    Tryout,
};
#[cfg(feature = "authoring")]
use body::authoring::{Lines, Replay};
use body::{
    AgentFor, Answered, Answering, Begin, Explain, Load, Named, Paths, Purge, Reply, Saved, Several,
    Standing, Stepping, ToldHost, Try, Wanted, read, shown, sources_of, told, told_as,
};
use celador::cel::{EvalLimits, HostError, HostRefusal, Json};
use celador::manifest::mode::Mode;
use celador::{EngineLimits, HashKey};
use serde_json::json;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
#[cfg(feature = "authoring")]
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a binding holds: policies, agents and tasks by their handles. It may be used from many threads.
pub struct Texts {
    clock: Clock,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    things: HashMap<u32, Thing>,
    /// The handle that was given last; 0 is none.
    last: u32,
}

/// Answers a call of a function of the program. In: its name, and its arguments as a list of JSON. Out: JSON of `{"value": …}`, or of `{"failed": …}` with `raised`, `awaitable`, `inexact` or another word
/// if the function has thrown an error, gives a promise, cannot be given the arguments exactly, or gives no JSON; nothing if nobody has answered.
pub type HostAnswer = dyn Fn(&str, &str) -> Option<String> + Send + Sync;

#[derive(Clone)]
enum Thing {
    Host(Arc<HostAnswer>),
    Policies(Policies),
    Agent(Agent),
    Task(Task),
    /// A recording that comes in parts; nothing once it was tallied.
    #[cfg(feature = "authoring")]
    Replaying(Arc<Mutex<Option<Replaying>>>),
}

impl Texts {
    /// Nothing is held yet. Tasks in memory have their times from this clock.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, held: Mutex::default() }
    }

    /// Answers a request. It never fails: what goes wrong is an answer with `error`, so that nothing has to cross as a panic or a code.
    #[must_use]
    pub fn ask(&self, what: &str, about: u32, body: &str) -> String {
        self.answer(what, about, body).unwrap_or_else(|error| written_error(&error))
    }

    /// Holds what answers calls of functions of the program, for the policies that are loaded with its handle.
    ///
    /// # Errors
    /// Too much that is held.
    pub fn hold_host(&self, answer: Arc<HostAnswer>) -> Result<u32, Error> {
        self.hold(Thing::Host(answer))
    }

    /// Lets go of what a handle is of. A task stays where it is kept.
    pub fn forget(&self, about: u32) {
        self.held().things.remove(&about);
    }

    fn answer(&self, what: &str, about: u32, body: &str) -> Answered {
        crate::refuse_within_function()?;
        match what {
            "step" => self.step(&self.task(about)?, body),
            "standing" => standing(&self.task(about)?, body),
            "load" => self.load(body),
            "agent_for" => self.agent_for(body),
            "agent" => self.agent_of(about, body),
            "restore" => {
                let Saved { saved } = read(body)?;
                self.begun(self.policies(about)?.restore(&saved)?)
            }
            "task" => self.begin(about, body),
            "reviews" => self.reviews(about, body),
            "answer_review" => self.answer_review(about, body),
            "state" => told_as("state", &self.task(about)?.state()?),
            "purge" => {
                let Purge { reason } = read(body)?;
                self.task(about)?.purge(reason.as_deref())?;
                told(&json!({}))
            }
            "offers" => told_as("functions", &self.task(about)?.offers()?),
            "context" => {
                let Paths { paths } = read(body)?;
                told_as("context", &self.task(about)?.context(&paths)?)
            }
            "evaluate" => {
                let Try { expression, scope, input, output } = read(body)?;
                let value = self.task(about)?.evaluate(&Tryout { scope, expression, input, output })?;
                told_as("value", &value)
            }
            "check_expression" => {
                let Try { expression, scope, .. } = read(body)?;
                let flaws = self.task(about)?.check(&scope, &expression)?;
                told_as("diagnostics", &shown(&flaws))
            }
            "explain" => {
                let asked: Explain = read(body)?;
                told(&self.task(about)?.explain(&asked.meant()?)?)
            }
            "events" => told_as("events", &self.task(about)?.events()?),
            "save" => told_as("saved", &self.task(about)?.save()?),
            #[cfg(feature = "authoring")]
            "replay" | "replay_begin" | "replay_lines" | "replay_end" => self.replay(what, about, body),
            _ => unheld::answer(what, body, &self.clock)
                .unwrap_or_else(|| Err(Error::misuse("bad_request", "there is no request of this name"))),
        }
    }

    fn load(&self, body: &str) -> Answered {
        let Load { sources, observe, host, r#where } = read(body)?;
        let place = r#where.place()?.unwrap_or_default();
        let word = place.word();
        let (sources, clock) = (sources_of(sources), self.clock.clone());
        let policies = Policies::load_for(self.host(host)?, &sources, mode(observe), place, clock)?;
        let (agents, warnings) = (policies.agents(), shown(policies.warnings()));
        let handle = self.hold(Thing::Policies(policies))?;
        told(&json!({ "handle": handle, "place": word, "agents": agents, "warnings": warnings }))
    }

    fn agent_for(&self, body: &str) -> Answered {
        let AgentFor { tools, policies, name, observe, host, r#where } = read(body)?;
        let (place, policies) = (r#where.place()?.unwrap_or_default(), sources_of(policies));
        let (of, clock) = ((name.as_deref(), tools), self.clock.clone());
        self.found(Policies::agent_of_host(self.host(host)?, of, &policies, mode(observe), place, clock)?)
    }

    /// The key and the functions of the program, for its policies.
    fn host(&self, told: ToldHost) -> Result<Host, Error> {
        let host = Host::default().with_hash_key(key_of(told.hash_key.as_deref())?);
        let Some(functions) = told.functions else { return Ok(host) };
        let Thing::Host(answer) = self.thing(functions.by)? else { return Err(unknown_handle()) };
        Ok(functions.names.into_iter().fold(host, |host, name| {
            let (answer, called) = (answer.clone(), name.clone());
            host.with_function(&name, move |arguments| answered(&*answer, &called, arguments))
        }))
    }

    fn agent_of(&self, about: u32, body: &str) -> Answered {
        let Named { name, tools } = read(body)?;
        self.found(self.policies(about)?.agent(name.as_deref(), tools)?)
    }

    fn found(&self, agent: Agent) -> Answered {
        let (name, place) = (agent.name(), agent.place().word());
        let handle = self.hold(Thing::Agent(agent))?;
        told(&json!({ "handle": handle, "name": name, "place": place }))
    }

    fn begin(&self, about: u32, body: &str) -> Answered {
        let Begin { id, user, model, metadata, tools, parent, r#where } = read(body)?;
        let user = user.unwrap_or_default();
        let wish = TaskWish { id, user, model, metadata, tools, parent, place: r#where.place()? };
        self.begun(self.agent(about)?.task(wish)?)
    }

    fn begun(&self, task: Task) -> Answered {
        let mut answer = json!({
            "id": task.id(),
            "agent": task.agent(),
            "place": task.place(),
            "left_out": task.left_out(),
        });
        let handle = self.hold(Thing::Task(task))?;
        if let Some(answer) = answer.as_object_mut() {
            answer.insert("handle".to_owned(), handle.into());
        }
        told(&answer)
    }

    fn step(&self, task: &Task, body: &str) -> Answered {
        let Stepping { step, wait_ms } = read(body)?;
        match task.step(step, wait_ms.map(Duration::from_millis))? {
            Stepped::One(decided) => told(&decided),
            Stepped::Several(several) => told(&Several {
                limits: several.limits.as_ref(),
                calls: &several.calls,
                decided: &several.decided,
            }),
        }
    }

    fn reviews(&self, about: u32, body: &str) -> Answered {
        let Wanted { state, reviewer } = read(body)?;
        let filter = ReviewFilter { state, reviewer, task: None };
        told_as("reviews", &self.reviews_of(about, &filter)?)
    }

    fn reviews_of(&self, about: u32, filter: &ReviewFilter) -> Result<Vec<Review>, Error> {
        match self.thing(about)? {
            Thing::Task(task) => task.reviews(filter),
            Thing::Agent(agent) => agent.reviews(filter),
            _ => Err(unknown_handle()),
        }
    }

    fn answer_review(&self, about: u32, body: &str) -> Answered {
        let Reply { review, reply, by } = read(body)?;
        let known = self.reviews_of(about, &ReviewFilter::default())?;
        let found = known.into_iter().find(|known| known.id == review);
        let found = found
            .ok_or_else(|| Error::misuse("unknown_review", "no such review, or one that closed long ago"))?;
        let by = by.map(|Answering { id, email, groups }| Person { id, email, groups });
        let task = match self.thing(about)? {
            Thing::Task(task) => task,
            Thing::Agent(agent) => agent.task_of(&found)?,
            _ => return Err(unknown_handle()),
        };
        told(&task.answer(&found, reply, by)?.0)
    }

    /// A recording that comes in parts: begun with its policies, lines of it, its tally.
    #[cfg(feature = "authoring")]
    fn replay(&self, what: &str, about: u32, body: &str) -> Answered {
        if let "replay" | "replay_begin" = what {
            let Replay { recorded, policies, against, host } = read(body)?;
            let (policies, against) = (sources_of(policies), sources_of(against));
            let mut replaying = Replaying::open(&policies, &against, &self.host(host)?)?;
            if what == "replay" {
                recorded.iter().try_for_each(|path| replaying.file(Path::new(path)))?;
                return told(&replaying.tally());
            }
            let handle = self.hold(Thing::Replaying(Arc::new(Mutex::new(Some(replaying)))))?;
            return told(&json!({ "handle": handle }));
        }
        let Thing::Replaying(replaying) = self.thing(about)? else { return Err(unknown_handle()) };
        let mut replaying = replaying.lock().unwrap_or_else(PoisonError::into_inner);
        if what == "replay_end" {
            return told(&replaying.take().ok_or_else(unknown_handle)?.tally());
        }
        let Lines { lines } = read(body)?;
        let replaying = replaying.as_mut().ok_or_else(unknown_handle)?;
        lines.iter().try_for_each(|line| replaying.line(line.as_bytes()))?;
        told(&json!({}))
    }

    fn hold(&self, thing: Thing) -> Result<u32, Error> {
        let mut held = self.held();
        // a handle is given again only once its number has come round, and never while it is held
        for _ in 0..u32::MAX {
            held.last = held.last.wrapping_add(1).max(1);
            let handle = held.last;
            if let Entry::Vacant(free) = held.things.entry(handle) {
                free.insert(thing);
                return Ok(handle);
            }
        }
        Err(Error::misuse("overloaded", "too many tasks are held at once"))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // what it holds is whole after each of its operations
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn thing(&self, about: u32) -> Result<Thing, Error> {
        self.held().things.get(&about).cloned().ok_or_else(unknown_handle)
    }

    fn policies(&self, about: u32) -> Result<Policies, Error> {
        match self.thing(about)? {
            Thing::Policies(policies) => Ok(policies),
            _ => Err(unknown_handle()),
        }
    }

    fn agent(&self, about: u32) -> Result<Agent, Error> {
        match self.thing(about)? {
            Thing::Agent(agent) => Ok(agent),
            _ => Err(unknown_handle()),
        }
    }

    fn task(&self, about: u32) -> Result<Task, Error> {
        match self.thing(about)? {
            Thing::Task(task) => Ok(task),
            _ => Err(unknown_handle()),
        }
    }
}

fn standing(task: &Task, body: &str) -> Answered {
    let Standing { call, wait_ms } = read(body)?;
    told(&task.standing(&call, wait_ms.map(Duration::from_millis))?)
}

/// The value of a function of the program. What it has answered is read as the value of JSON that every reader finds in it, or not at all.
fn answered(answer: &HostAnswer, name: &str, arguments: &[Json]) -> Result<Json, HostError> {
    let limits: EvalLimits = EngineLimits::default().eval;
    let arguments = serde_json::to_string(arguments)?;
    let answer = answer(name, &arguments).ok_or(HostRefusal("its function has not answered"))?;
    let answer = Json::parse(&answer, &limits).map_err(|_| HostRefusal("its value is not JSON"))?;
    let failed = answer.root().get("failed").and_then(|why| why.as_str());
    match (answer.root().get("value"), failed) {
        (Some(value), None) => Ok(value.to_json()),
        (_, Some("raised")) => Err(HostRefusal("its function has raised an exception").into()),
        (_, Some("awaitable")) => Err(HostRefusal("its function gives something to be awaited").into()),
        (_, Some("inexact")) => {
            Err(HostRefusal("an argument is a number that the program does not hold exactly").into())
        }
        _ => Err(HostRefusal("its value is not JSON").into()),
    }
}

/// The key that policies hash with, of its text.
fn key_of(text: Option<&str>) -> Result<Option<HashKey>, Error> {
    let key = text.map(|text| HashKey::new(text.as_bytes())).transpose();
    key.map_err(|error| Error::misuse("bad_request", error.to_string()))
}

fn mode(observe: bool) -> Mode {
    if observe { Mode::Observe } else { Mode::Enforce }
}

fn unknown_handle() -> Error {
    Error::misuse("bad_request", "the handle is of nothing that such a request is about")
}

fn written_error(error: &Error) -> String {
    let kind = match error.kind {
        ErrorKind::Load => "load",
        ErrorKind::Misuse => "misuse",
        ErrorKind::Store => "store",
        ErrorKind::Internal => "internal",
    };
    let Error { code, message, flaws, .. } = error;
    let diagnostics = shown(flaws);
    json!({ "error": { "kind": kind, "code": code, "message": message, "diagnostics": diagnostics } })
        .to_string()
}
