//! An agent runtime over Celador, whole but for a network: the loop that a runtime author writes.
//!
//! In: what happens, one thing after the other. Out: tasks that went on as far as they can. Between two happenings a task is
//! text in a store, so any process may go on with it, and nothing here waits: a person who reviews and a sub-agent that
//! works are happenings to come. A model makes several calls in a turn; those that are let through run side by side, and its
//! next turn comes when none of them waits. Whatever was decided stands in the timeline; nothing runs that Celador did not let
//! through.

use super::outside::{Outside, Wish};
use super::timeline::Timeline;
use celador::task::EventSource;
use celador::{
    Answer, CallId, CallResult, Content, DecidedCall, Decision, Delivery, Engine, EngineLimits, Json, Next,
    Offer, QuestionId, Reported, Request, ReviewState, SavedTask, StartTask, Task, Timestamp, Turn, Turned,
    VerdictKind,
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
    /// Who delegated to this task and waits for what comes of it.
    parent: Option<Parent>,
    /// What the model is told at its next turn.
    told: Vec<String>,
    /// The webhooks that it hears of: capability and event.
    hears: Vec<(String, String)>,
}

/// The task that delegated, and its question that the result answers.
type Parent = (String, QuestionId);

/// A task at work.
struct Work {
    task: Task,
    told: Vec<String>,
    /// The calls that were let through and have not run.
    ready: Vec<Ready>,
    /// What it has come to: a response, or its end.
    end: Option<Decision>,
}

/// A call that may run.
struct Ready {
    call: CallId,
    function: String,
    arguments: Json,
}

/// What happens to a task.
pub enum Happening {
    /// Somebody says something.
    Input(Json),
    /// Somebody sent a request that may be an event of a capability.
    Event { capability: String, event: String, request: Webhook },
    /// A person answers what they were asked. A runtime with people names the review by its question and its digest.
    Review { reviewer: String, answer: Answer },
    /// A sub-agent is done.
    Delegated { question: QuestionId, result: CallResult },
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
            let (task, Record { parent, told, .. }) = self.restore(&id)?;
            let mut work = Work { task, told, ready: Vec::new(), end: None };
            self.take(&mut work, happening)?;
            self.go_on(&mut work)?;
            self.rest(&work, parent)?;
        }
        Ok(())
    }

    /// A task as it rests. One that must be within its parent is given the parent as that rests.
    fn restore(&self, id: &str) -> Result<(Task, Record), Failure> {
        let record: Record = serde_json::from_str(self.store.get(id).ok_or("there is no such task")?)?;
        let mut task = self.engine.restore(record.task.clone())?;
        if let Some(parent) = task.bounding_parent().map(str::to_owned) {
            let (parent, _) = self.restore(&parent)?;
            task.set_parent(&parent)?;
        }
        Ok((task, record))
    }

    /// The operation that a happening is.
    fn take(&mut self, work: &mut Work, happening: Happening) -> Result<(), Failure> {
        let now = self.outside.clock();
        let what = happening.to_string();
        let Work { task, .. } = work;
        let decision = match happening {
            Happening::Input(input) => task.input(&input, now).outcome().into_decision(),
            Happening::Review { reviewer, answer } => {
                let asked = |it: &celador::Review| it.state == ReviewState::Open && it.reviewer == reviewer;
                let review = task.reviews().find(asked).ok_or("nobody is asked that")?;
                task.answer(review.question, answer, now)?.outcome().into_decision()
            }
            Happening::Delegated { question, result } => {
                task.answer(question, Answer::Result(result), now)?.outcome().into_decision()
            }
            Happening::Event { capability, event, request } => {
                let content = Content::Request { headers: request.headers, body: request.body };
                let delivery = Delivery::new(capability, event, content);
                task.event(&delivery, &self.settings, now).outcome().into_decision()
            }
        };
        self.follow(work, &what, decision, now)
    }

    /// Calls that were let through, and turns of the model, until the task rests: it has answered, waits, or has ended.
    fn go_on(&mut self, work: &mut Work) -> Result<(), Failure> {
        while work.end.is_none() {
            let waits = work.task.questions().next().is_some() || work.task.queued().next().is_some();
            if !work.ready.is_empty() {
                self.carry_out(work)?;
            } else if waits || work.told.is_empty() {
                break;
            } else {
                self.turn(work)?;
            }
        }
        Ok(())
    }

    /// A turn of the model, and what it wants.
    fn turn(&mut self, work: &mut Work) -> Result<(), Failure> {
        // Told once: a task that may have no further turn has nothing left to tell.
        let told = std::mem::take(&mut work.told);
        let now = self.outside.clock();
        let permitted = work.task.limits(Next::ModelTurn, now);
        if !permitted.is_allowed() {
            return self.follow(work, "the model would have a turn", permitted, now);
        }
        let prompt = work.task.render_prompt(now).unwrap_or_default();
        let offers: Vec<Offer<'_>> = work.task.offers().collect();
        self.timeline.turn(&work.task, &prompt, &offers, now);
        let (wish, usage) = self.outside.model(&work.task, &prompt, &offers, &told);

        // What the turn cost counts before anything that the model asked for runs; then all of its calls are decided.
        let now = self.outside.clock();
        let turn = Turn { usage, calls: wish.calls() };
        let Turned { limits, calls } = work.task.turn(&turn, now)?;
        if !limits.is_allowed() {
            return self.follow(work, "the model has had its turn", limits, now);
        }
        for (DecidedCall { call: id, decision, .. }, call) in calls.into_iter().zip(&turn.calls) {
            let what = format!("the model calls {} {} as {id}", call.function, call.arguments);
            self.follow(work, &what, decision, now)?;
        }
        self.follow_all(work, limits.decided, now)?;
        let what = wish.to_string();
        match wish {
            Wish::Calls(_) => Ok(()),
            Wish::Script(source) => {
                let decision = match work.task.script(&source, now) {
                    Ok(operation) => operation.outcome().into_decision(),
                    Err(issues) => Decision::refused_script(&issues),
                };
                self.follow(work, &what, decision, now)
            }
            Wish::Say(text) => {
                let said = work.task.output(&Json::string(&text), now).drive(&mut self.outside)?;
                work.end = Some(self.tell(&work.task, &what, said.into_decision(), now));
                Ok(())
            }
        }
    }

    /// Has the calls carried out that were let through. The tools of this runtime run side by side and are reported together.
    fn carry_out(&mut self, work: &mut Work) -> Result<(), Failure> {
        let now = self.outside.clock();
        let ready = std::mem::take(&mut work.ready);
        let (tools, others): (Vec<_>, Vec<_>) =
            ready.into_iter().partition(|it| self.outside.has(&it.function));
        let results = tools.into_iter().map(|it| (it.call, self.outside.run(&it.function, &it.arguments)));
        let Reported { calls, decided } = work.task.results(results.collect(), now)?;
        for DecidedCall { call, function, decision, .. } in calls {
            self.follow(work, &format!("{function} has run as {call}"), decision, now)?;
        }
        self.follow_all(work, decided, now)?;
        // Celador evaluates a tool that is written in CEL, and asks for a sub-agent.
        for Ready { call, function, .. } in others {
            let decision = work.task.execute(&call, now)?.outcome().into_decision();
            self.follow(work, &format!("{function} is carried out as {call}"), decision, now)?;
        }
        Ok(())
    }

    /// Writes a decision down and does what follows from it.
    fn follow(
        &mut self,
        work: &mut Work,
        what: &str,
        decision: Decision,
        now: Timestamp,
    ) -> Result<(), Failure> {
        // Tools of steps and of scripts answer at once; people and sub-agents take their time.
        let decision = match decision.verdict.question().and_then(|question| work.task.pending_at(question)) {
            Some(asks) => asks.drive(&mut self.outside)?.into_decision(),
            None => decision,
        };
        let mut decision = self.tell(&work.task, what, decision, now);
        let decided = std::mem::take(&mut decision.decided);
        match (decision.verdict.kind(), decision.call.clone()) {
            (VerdictKind::Allow, Some(call)) => {
                let function = work.task.function_of(&call).unwrap_or_default().to_owned();
                let arguments = decision.verdict.into_value().unwrap_or_else(Json::null);
                work.ready.push(Ready { call, function, arguments });
            }
            (VerdictKind::Allow | VerdictKind::Route | VerdictKind::Respond, _) => {
                work.told.extend(decision.verdict.into_value().map(|value| value.to_string()));
            }
            (VerdictKind::Block | VerdictKind::Error, _) => {
                work.told.extend(decision.verdict.message().map(str::to_owned))
            }
            (VerdictKind::LockTask | VerdictKind::Terminate, _) => work.end = Some(decision),
            (VerdictKind::Suspend, _) => self.delegate(&work.task, decision.verdict.question())?,
            // A call that waits for others goes on by itself, and what is said meanwhile is judged by itself.
            _ => {}
        }
        self.follow_all(work, decided, now)
    }

    /// The same for calls that have waited, and for what was said meanwhile.
    fn follow_all(
        &mut self,
        work: &mut Work,
        decided: Vec<DecidedCall>,
        now: Timestamp,
    ) -> Result<(), Failure> {
        for DecidedCall { call, kind, function, decision } in decided {
            let what = if kind.is_call() { &*function } else { kind.as_str() };
            self.follow(work, &format!("{what} has waited as {call}"), decision, now)?;
        }
        Ok(())
    }

    /// A sub-agent that is asked for works in a task of its own.
    fn delegate(&mut self, task: &Task, question: Option<QuestionId>) -> Result<(), Failure> {
        for asked in task.questions().filter(|asked| Some(asked.id) == question) {
            let Request::Invoke(invocation) = asked.request else { continue };
            // An id of which there is one: a runtime of many processes takes one by chance.
            let id = format!("t-{}", self.store.len().saturating_add(1));
            let now = self.outside.clock();
            let child = task.child(&id, &invocation, now).ok_or("only agents take their time here")?;
            self.begin(child, invocation.arguments, Some((task.id().to_owned(), asked.id)))?;
        }
        Ok(())
    }

    /// Writes down what was decided, and what ran on the way.
    fn tell(&mut self, task: &Task, what: &str, decision: Decision, now: Timestamp) -> Decision {
        self.timeline.decision(task, what, &decision, &self.outside.take_ran(), now);
        decision
    }

    /// Lets a task rest, and others know.
    fn rest(&mut self, work: &Work, mut parent: Option<Parent>) -> Result<(), Failure> {
        // A runtime with people would write to all of them now.
        let open: Vec<_> = work.task.reviews().filter(|review| review.state == ReviewState::Open).collect();
        self.timeline.reviews(&work.task, &open, self.outside.clock());
        if let (Some(end), Some((id, question))) = (&work.end, &parent) {
            // It has answered or ended: whoever delegated to it learns what came of it.
            let result = CallResult::delegated(&work.task, end);
            self.queue.push_back((id.clone(), Happening::Delegated { question: *question, result }));
            parent = None;
        }
        self.save(&work.task, parent, work.told.clone())
    }

    fn begin(&mut self, start: StartTask, input: Json, parent: Option<Parent>) -> Result<(), Failure> {
        let task = self.engine.start(start)?;
        self.queue.push_back((task.id().to_owned(), Happening::Input(input)));
        self.save(&task, parent, Vec::new())
    }

    fn save(&mut self, task: &Task, parent: Option<Parent>, told: Vec<String>) -> Result<(), Failure> {
        // What a host asked for or polled for itself comes another way; a request of anybody is none of these.
        let webhooks =
            task.subscriptions(self.outside.clock()).filter(|it| it.source == EventSource::Webhook);
        let hears = webhooks.map(|it| (it.capability.to_owned(), it.event.to_owned())).collect();
        let record = Record { task: task.save(), parent, told, hears };
        self.store.insert(task.id().to_owned(), serde_json::to_string(&record)?);
        Ok(())
    }
}
