//! An agent runtime over Celador, whole but for a network: the loop that a runtime author writes.
//!
//! In: what happens, one thing after the other. Out: tasks that went on as far as they can. Between two happenings a task is
//! text in a store, so any process may go on with it, and nothing here waits: a person who reviews and a sub-agent that
//! works are happenings to come. Whatever was decided stands in the timeline; nothing runs that Celador did not let through.

use super::outside::{Outside, Wish};
use super::timeline::Timeline;
use celador::task::{Answer, EventSource};
use celador::{
    Call, CallResult, Content, Decision, Delivery, Engine, EngineLimits, Json, Next, Offer, Request,
    SavedTask, StartTask, Task, TaskError, Timestamp, Verdict,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

pub type Failure = Box<dyn std::error::Error>;

/// A process that runs agents.
pub struct Runtime {
    engine: Engine,
    /// Settings of the namespace. They go to webhooks and tools, and into no task.
    settings: BTreeMap<String, Json>,
    store: Store,
    /// What has happened and has not reached its task. One that lasts is as good as the store.
    queue: VecDeque<(String, Happening)>,
    outside: Outside,
    pub timeline: Timeline,
}

/// Tasks at rest: JSON by id, as a database would hold them.
pub type Store = BTreeMap<String, String>;

/// A task at rest. A model that is none of a script needs its conversation kept here as well.
#[derive(Serialize, Deserialize)]
struct Record {
    task: SavedTask,
    /// The task that delegated to this one and waits for what comes of it.
    parent: Option<String>,
    /// The webhooks that it hears of: capability and event.
    hears: Vec<(String, String)>,
}

/// What happens to a task.
pub enum Happening {
    /// Somebody says something.
    Input(Json),
    /// Somebody sent a request that may be an event of a capability.
    Event { capability: String, event: String, request: Webhook },
    /// The answer to what the task waits for: a verdict of a review, the result of a sub-agent.
    Answer(Answer),
}

/// A request as it came.
#[derive(Clone)]
pub struct Webhook {
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Runtime {
    /// A process with these manifests over a store. Manifests that are refused are an error.
    pub fn open(
        manifests: &Path,
        settings: BTreeMap<String, Json>,
        store: Store,
        outside: Outside,
        timeline: Timeline,
    ) -> Result<Self, Failure> {
        let engine = Engine::open(&[manifests], EngineLimits::default())?;
        Ok(Self { engine, settings, store, queue: VecDeque::new(), outside, timeline })
    }

    /// The process ends. What is left is the store, and what is not of the process.
    pub fn close(self) -> (Store, Outside, Timeline) {
        (self.store, self.outside, self.timeline)
    }

    /// Starts a task for somebody; what is said to it first passes guardrails as all that is said later.
    pub fn start(&mut self, start: StartTask, input: Json) -> Result<(), Failure> {
        self.begin(start, input, None)?;
        self.run()
    }

    /// Something happens to a task.
    pub fn happens(&mut self, id: &str, happening: Happening) -> Result<(), Failure> {
        self.queue.push_back((id.to_owned(), happening));
        self.run()
    }

    /// A request of anybody: it may be an event of every task that hears of one. Whether it is, the task says itself.
    pub fn receive(&mut self, request: &Webhook) -> Result<(), Failure> {
        for (id, text) in &self.store {
            let record: Record = serde_json::from_str(text)?;
            self.queue.extend(record.hears.into_iter().map(|(capability, event)| {
                (id.clone(), Happening::Event { capability, event, request: request.clone() })
            }));
        }
        self.run()
    }

    /// Brings what has happened to the tasks, each of which then goes on as far as it can.
    fn run(&mut self) -> Result<(), Failure> {
        while let Some((id, happening)) = self.queue.pop_front() {
            let text = self.store.get(&id).ok_or("there is no such task")?;
            let Record { task, parent, .. } = serde_json::from_str(text)?;
            let mut task = self.engine.restore(task)?;
            let decision = self.take(&mut task, happening)?;
            let decision = self.turns(&mut task, decision)?;
            self.rest(&task, parent, &decision)?;
        }
        Ok(())
    }

    /// The operation that a happening is.
    fn take(&mut self, task: &mut Task, happening: Happening) -> Result<Decision, TaskError> {
        let now = self.outside.clock();
        let what = happening.to_string();
        let outside = &mut self.outside;
        let decision = match &happening {
            Happening::Input(input) => task.input(input, now).drive(outside)?.into_decision(),
            Happening::Answer(answer) => task.resume(answer.clone(), now)?.drive(outside)?.into_decision(),
            Happening::Event { capability, event, request } => {
                let headers: Vec<_> =
                    request.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
                let content = Content::Request { headers: &headers, body: &request.body };
                let delivery = Delivery { content, settings: &self.settings };
                task.event(capability, event, &delivery, now).drive(outside)?.into_decision()
            }
        };
        Ok(self.tell(task, &what, decision, now))
    }

    /// Turns of the model, and what it wants at each, until the task rests: it has answered, waits, or has ended.
    fn turns(&mut self, task: &mut Task, mut decision: Decision) -> Result<Decision, TaskError> {
        loop {
            // The model is told of these; with every other verdict it has no turn.
            let told = match decision.verdict {
                Verdict::Allow | Verdict::Route => decision.value.as_ref().map(Json::to_string),
                Verdict::Block | Verdict::Error => decision.message.clone(),
                _ => return Ok(decision),
            };

            let now = self.outside.clock();
            let permitted = task.limits(Next::ModelTurn, now);
            if !permitted.is_allowed() {
                return Ok(self.tell(task, "the model would have a turn", permitted, now));
            }
            let prompt = task.render_prompt(now).unwrap_or_default();
            let offers: Vec<Offer<'_>> = task.offers().collect();
            self.timeline.turn(task, &prompt, &offers, now);
            let (wish, usage) = self.outside.model(task, &prompt, &offers, told.as_deref());

            // What the turn cost counts before anything that the model asked for runs.
            let now = self.outside.clock();
            let counted = task.model_turn(usage, now);
            if !counted.is_allowed() {
                return Ok(self.tell(task, "the model has had its turn", counted, now));
            }
            let what = wish.to_string();
            let outside = &mut self.outside;
            let taken = match wish {
                // A runtime that has several calls at work asks `before`, and reports to `after`.
                Wish::Call { function, arguments } => {
                    task.invoke(&Call::new(function, arguments), now)?.drive(outside)?.into_decision()
                }
                Wish::Script(source) => match task.script(&source, now) {
                    Ok(operation) => operation.drive(outside)?.into_decision(),
                    Err(issues) => Decision::refused_script(&issues),
                },
                Wish::Say(text) => {
                    let said = task.output(&Json::string(&text), now).drive(outside)?.into_decision();
                    return Ok(self.tell(task, &what, said, now));
                }
            };
            decision = self.tell(task, &what, taken, now);
        }
    }

    /// Writes down what was decided, and what ran on the way.
    fn tell(&mut self, task: &Task, what: &str, decision: Decision, now: Timestamp) -> Decision {
        self.timeline.decision(task, what, &decision, &self.outside.take_ran(), now);
        decision
    }

    /// Lets a task rest, and others know.
    fn rest(&mut self, task: &Task, mut parent: Option<String>, decision: &Decision) -> Result<(), Failure> {
        match (decision.verdict, task.request()) {
            // It waits for a sub-agent: that works in a task of its own.
            (Verdict::Suspend, Some(Request::Invoke(invocation))) => {
                // An id of which there is one: a runtime of many processes takes one by chance.
                let id = format!("t-{}", self.store.len().saturating_add(1));
                let now = self.outside.clock();
                let child = task.child(&id, invocation, now).ok_or("only agents take their time here")?;
                self.begin(child, invocation.arguments.clone(), Some(task.id().to_owned()))?;
            }
            // It waits for a person, or nothing has changed: a runtime with people would write to them now, and keep for
            // later what was rejected only because the task waits.
            (Verdict::Suspend | Verdict::Rejected | Verdict::Discard, _) => {}
            // It has answered or ended: whoever delegated to it learns what came of it.
            _ => {
                let result = Answer::Result(CallResult::delegated(task, decision));
                self.queue.extend(parent.take().map(|parent| (parent, Happening::Answer(result))));
            }
        }
        self.save(task, parent)
    }

    fn begin(&mut self, start: StartTask, input: Json, parent: Option<String>) -> Result<(), Failure> {
        let task = self.engine.start(start)?;
        self.queue.push_back((task.id().to_owned(), Happening::Input(input)));
        self.save(&task, parent)
    }

    fn save(&mut self, task: &Task, parent: Option<String>) -> Result<(), Failure> {
        // What a host asked for or polled for itself comes another way; a request of anybody is none of these.
        let webhooks =
            task.subscriptions(self.outside.clock()).filter(|it| it.source == EventSource::Webhook);
        let hears = webhooks.map(|it| (it.capability.to_owned(), it.event.to_owned())).collect();
        let record = Record { task: task.save(), parent, hears };
        self.store.insert(task.id().to_owned(), serde_json::to_string(&record)?);
        Ok(())
    }
}
