//! Requests and answers as texts of JSON, for bindings of languages whose values are JSON: one crossing an operation, whatever it carries.
//!
//! In: what is asked, the handle of what it is about, a body. Out: the answer, or an object with `error`. A handle is a number that the
//! binding gives back with [`Texts::forget`]. Decisions are written as the HTTP API writes those of several calls.

use crate::cases::CaseWishes;
use crate::{
    Agent, Clock, Decided, Error, ErrorKind, Flaw, Person, Place, Policies, Review, ReviewFilter,
    ReviewReply, Source, Step, Stepped, Task, TaskWish, Tryout, check, evaluate,
};
use celador::BroughtTool;
use celador::cel::Json;
use celador::manifest::given::{Files, GivenFiles};
use celador::manifest::mode::Mode;
use celador::task::{
    Answer, Call, CallId, CallResult, ModelCall, Next, Parent, QuestionId, Ran, ReviewState, ReviewWord,
    Turn, User,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
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

#[derive(Clone)]
enum Thing {
    Policies(Policies),
    Agent(Agent),
    Task(Task),
}

/// What an answer is: JSON.
type Answered = Result<String, Error>;

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

    /// Lets go of what a handle is of. A task stays where it is kept.
    pub fn forget(&self, about: u32) {
        self.held().things.remove(&about);
    }

    fn answer(&self, what: &str, about: u32, body: &str) -> Answered {
        match what {
            "step" => self.step(&self.task(about)?, body),
            "standing" => standing(&self.task(about)?, body),
            "load" => self.load(body),
            "agent_for" => self.agent_for(body),
            "check" => {
                let Sources { sources } = read(body)?;
                told(&json!({ "diagnostics": shown(&check(&sources_of(sources))?) }))
            }
            "test" => test(body),
            "evaluate_alone" => {
                let Alone { expression, variables } = read(body)?;
                let variables: Vec<(String, Json)> = variables.into_iter().collect();
                told(&json!({ "value": evaluate(&expression, &variables)? }))
            }
            "agent" => self.agent_of(about, body),
            "restore" => {
                let Saved { saved } = read(body)?;
                self.begun(self.policies(about)?.restore(&saved)?)
            }
            "task" => self.begin(about, body),
            "reviews" => self.reviews(about, body),
            "answer_review" => self.answer_review(about, body),
            "state" => told(&json!({ "state": self.task(about)?.state()? })),
            "purge" => {
                let Purge { reason } = read(body)?;
                self.task(about)?.purge(reason.as_deref())?;
                told(&json!({}))
            }
            "offers" => told(&json!({ "functions": self.task(about)?.offers()? })),
            "context" => {
                let Paths { paths } = read(body)?;
                told(&json!({ "context": self.task(about)?.context(&paths)? }))
            }
            "evaluate" => {
                let Try { expression, scope, input, output } = read(body)?;
                let value = self.task(about)?.evaluate(&Tryout { scope, expression, input, output })?;
                told(&json!({ "value": value }))
            }
            "check_expression" => {
                let Try { expression, scope, .. } = read(body)?;
                let flaws = self.task(about)?.check(&scope, &expression)?;
                told(&json!({ "diagnostics": shown(&flaws) }))
            }
            "save" => told(&json!({ "saved": self.task(about)?.save()? })),
            _ => Err(Error::misuse("bad_request", "there is no request of this name")),
        }
    }

    fn load(&self, body: &str) -> Answered {
        let Load { sources, observe, r#where } = read(body)?;
        let place = r#where.place()?.unwrap_or_default();
        let word = place.word();
        let policies = Policies::load(&sources_of(sources), mode(observe), place, self.clock.clone())?;
        let (agents, warnings) = (policies.agents(), shown(policies.warnings()));
        let handle = self.hold(Thing::Policies(policies))?;
        told(&json!({ "handle": handle, "place": word, "agents": agents, "warnings": warnings }))
    }

    fn agent_for(&self, body: &str) -> Answered {
        let AgentFor { tools, policies, name, observe, r#where } = read(body)?;
        let (place, policies) = (r#where.place()?.unwrap_or_default(), sources_of(policies));
        let (name, clock) = (name.as_deref(), self.clock.clone());
        self.found(Policies::agent_for(name, tools, &policies, mode(observe), place, clock)?)
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
        match task.step(step.into(), wait_ms.map(Duration::from_millis))? {
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
        told(&json!({ "reviews": self.reviews_of(about, &filter)? }))
    }

    fn reviews_of(&self, about: u32, filter: &ReviewFilter) -> Result<Vec<Review>, Error> {
        match self.thing(about)? {
            Thing::Task(task) => task.reviews(filter),
            Thing::Agent(agent) => agent.reviews(filter),
            Thing::Policies(_) => Err(unknown_handle()),
        }
    }

    fn answer_review(&self, about: u32, body: &str) -> Answered {
        let Reply { review, answer: word, arguments, result, note, by } = read(body)?;
        let known = self.reviews_of(about, &ReviewFilter::default())?;
        let found = known.into_iter().find(|known| known.id == review);
        let found = found
            .ok_or_else(|| Error::misuse("unknown_review", "no such review, or one that closed long ago"))?;
        let by = by.map(|Answering { id, email, groups }| Person { id, email, groups });
        let reply = ReviewReply { word, arguments, result, note, by };
        let task = match self.thing(about)? {
            Thing::Task(task) => task,
            Thing::Agent(agent) => agent.task_of(&found)?,
            Thing::Policies(_) => return Err(unknown_handle()),
        };
        told(&task.answer(&found, reply)?.0)
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

/// Runs cases: of the disk, or among the texts that are given, of which those below some paths are cases.
fn test(body: &str) -> Answered {
    let Cases { sources, below, wishes } = read(body)?;
    let (mut paths, mut texts) = (Vec::new(), Vec::new());
    for source in sources {
        match source {
            Told::Path(path) => paths.push(path),
            Told::Text { name, text } => texts.push((name, text)),
        }
    }
    let (results, coverage) = match (paths.is_empty(), texts.is_empty()) {
        (_, true) => crate::run_cases(&paths, wishes)?,
        (true, false) => {
            let below = if below.is_empty() { vec![String::new()] } else { below };
            crate::run_cases_among(&Files::Given(GivenFiles::new(texts)), &below, wishes)?
        }
        (false, false) => {
            return Err(Error::misuse(
                "bad_request",
                "expected paths or texts: cases of both at once have no common folder",
            ));
        }
    };
    let coverage = coverage.map(|coverage| coverage.to_json());
    told(&json!({ "results": results, "coverage": coverage }))
}

fn mode(observe: bool) -> Mode {
    if observe { Mode::Observe } else { Mode::Enforce }
}

fn unknown_handle() -> Error {
    Error::misuse("bad_request", "the handle is of nothing that such a request is about")
}

fn read<'t, T: Deserialize<'t>>(body: &'t str) -> Result<T, Error> {
    // the place and what was expected, never what stands there
    serde_json::from_str(body).map_err(|error| Error::misuse("bad_request", unfit(&error)))
}

fn unfit(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => {
            "the request has a member of another kind than it takes".to_owned()
        }
        _ => format!("the request is no JSON: column {} of it", error.column()),
    }
}

fn told<T: Serialize + ?Sized>(answer: &T) -> Answered {
    serde_json::to_string(answer)
        .map_err(|_| Error::misuse("bad_request", "the answer cannot be written as JSON"))
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

fn shown(flaws: &[Flaw]) -> Vec<Value> {
    let shown = |flaw: &Flaw| {
        json!({
            "severity": if flaw.is_error { "error" } else { "warning" },
            "code": flaw.code,
            "message": flaw.message,
            "file": flaw.file,
            "line": flaw.line,
            "column": flaw.column,
            "path": flaw.path,
            "rule": flaw.rule,
            "help": flaw.help,
            "refused": flaw.is_refused,
            "shown": flaw.shown,
        })
    };
    flaws.iter().map(shown).collect()
}

fn sources_of(told: Vec<Told>) -> Vec<Source> {
    let source = |told| match told {
        Told::Path(path) => Source::Path(path.into()),
        Told::Text { name, text } => Source::text(name, text),
    };
    told.into_iter().map(source).collect()
}

/// What a turn or results came to.
#[derive(Serialize)]
struct Several<'s> {
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<&'s Decided>,
    calls: &'s [Decided],
    decided: &'s [Decided],
}

/// A source as a binding writes it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Told {
    Path(String),
    Text { name: String, text: String },
}

#[derive(Deserialize)]
struct Sources {
    sources: Vec<Told>,
}

#[derive(Deserialize)]
struct Load {
    sources: Vec<Told>,
    #[serde(default)]
    observe: bool,
    #[serde(default)]
    r#where: Where,
}

#[derive(Deserialize)]
struct AgentFor {
    tools: Vec<BroughtTool>,
    policies: Vec<Told>,
    name: Option<String>,
    #[serde(default)]
    observe: bool,
    #[serde(default)]
    r#where: Where,
}

/// Where tasks are kept, if it is said.
#[derive(Default, Deserialize)]
#[cfg_attr(
    not(feature = "stores"),
    expect(dead_code, reason = "without stores nothing but memory may be asked for")
)]
struct Where {
    store: Option<String>,
    server: Option<String>,
    token: Option<String>,
}

impl Where {
    #[cfg(feature = "stores")]
    fn place(self) -> Result<Option<Place>, Error> {
        match self {
            Self { store: Some(_), server: Some(_), .. } => {
                Err(Error::misuse("bad_request", "expected a store or a server, and found both"))
            }
            Self { store: Some(store), .. } => Ok(Some(Place::Store(store))),
            Self { server: Some(address), token, .. } => Ok(Some(Place::Server { address, token })),
            _ => Ok(None),
        }
    }

    #[cfg(not(feature = "stores"))]
    fn place(self) -> Result<Option<Place>, Error> {
        if self.store.is_some() || self.server.is_some() {
            return Err(Error::misuse("no_stores", "tasks are in memory alone here"));
        }
        Ok(None)
    }
}

#[derive(Deserialize)]
struct Cases {
    sources: Vec<Told>,
    #[serde(default)]
    below: Vec<String>,
    #[serde(flatten)]
    wishes: CaseWishes,
}

#[derive(Deserialize)]
struct Alone {
    expression: String,
    variables: BTreeMap<String, Json>,
}

#[derive(Deserialize)]
struct Named {
    name: Option<String>,
    #[serde(default)]
    tools: Vec<BroughtTool>,
}

#[derive(Deserialize)]
struct Saved {
    saved: String,
}

#[derive(Deserialize)]
struct Begin {
    id: Option<String>,
    user: Option<User>,
    model: Option<String>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default)]
    tools: Vec<BroughtTool>,
    parent: Option<Parent>,
    #[serde(default)]
    r#where: Where,
}

#[derive(Deserialize)]
struct Wanted {
    state: Option<ReviewState>,
    reviewer: Option<String>,
}

#[derive(Deserialize)]
struct Reply {
    review: String,
    answer: ReviewWord,
    arguments: Option<Json>,
    result: Option<Json>,
    note: Option<String>,
    by: Option<Answering>,
}

#[derive(Deserialize)]
struct Answering {
    id: String,
    email: Option<String>,
    #[serde(default)]
    groups: Vec<String>,
}

#[derive(Deserialize)]
struct Purge {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Paths {
    paths: Vec<String>,
}

#[derive(Deserialize)]
struct Try {
    expression: String,
    scope: String,
    input: Option<Json>,
    output: Option<Json>,
}

#[derive(Deserialize)]
struct Standing {
    call: CallId,
    wait_ms: Option<u64>,
}

#[derive(Deserialize)]
struct Stepping {
    step: ToldStep,
    wait_ms: Option<u64>,
}

/// A step as a binding writes it: under its name the body of the request that the HTTP API has for it.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ToldStep {
    Input(Json),
    Output(Json),
    Limits { next: Next },
    Turn(Turn),
    Before(Call),
    After(ToldResult),
    Results { results: Vec<ToldResult> },
    Withdraw { call: CallId, ran: Value },
    Invoke(Call),
    Execute { call: CallId },
    Script { source: String },
    Resume { question: Option<QuestionId>, answer: Answer },
    ModelBefore(ModelCall),
    ModelAfter { call: CallId, answer: Json },
    Interrupt {},
    End { reason: String },
}

#[derive(Deserialize)]
struct ToldResult {
    call: CallId,
    result: CallResult,
}

impl From<ToldStep> for Step {
    fn from(told: ToldStep) -> Self {
        match told {
            ToldStep::Input(message) => Self::Input(message),
            ToldStep::Output(message) => Self::Output(message),
            ToldStep::Limits { next } => Self::Limits(next),
            ToldStep::Turn(turn) => Self::Turn(turn),
            ToldStep::Before(call) => Self::Before(call),
            ToldStep::After(ToldResult { call, result }) => Self::After { call, result },
            ToldStep::Results { results } => {
                Self::Results(results.into_iter().map(|told| (told.call, told.result)).collect())
            }
            // whatever is not a plain no leaves it open whether the call has run
            ToldStep::Withdraw { call, ran } => Self::Withdraw {
                call,
                ran: if ran == Value::Bool(false) { Ran::Never } else { Ran::Unknown },
            },
            ToldStep::Invoke(call) => Self::Invoke(call),
            ToldStep::Execute { call } => Self::Execute(call),
            ToldStep::Script { source } => Self::Script(source),
            ToldStep::Resume { question, answer } => Self::Resume { question, answer },
            ToldStep::ModelBefore(call) => Self::ModelBefore(call),
            ToldStep::ModelAfter { call, answer } => Self::ModelAfter { call, answer },
            ToldStep::Interrupt {} => Self::Interrupt,
            ToldStep::End { reason } => Self::End { reason },
        }
    }
}
