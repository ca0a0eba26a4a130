//! A recorded task, played step by step: each step through the task as a host would take it.
//!
//! In: a [`Script`] and an engine. Out: a [`ReplayedEvent`] for each decision. A step that cannot have happened (the result of a
//! call that was blocked, a verdict that nobody asked for) is an error with its place; nothing is made up to go on, but for the
//! answers to reviews, where the host says so ([`Unanswered`]).

use super::agent::agent_named;
use super::messages;
use super::script::{Script, ScriptAction, ScriptStep};
use super::world::{World, drive};
use crate::cel::{Json, Timestamp};
use crate::diagnostic::Diagnostic;
use crate::engine::Engine;
use crate::manifest::Catalog;
use crate::policy::{Execute, Policy};
use crate::source::{Embedded, Place};
use crate::task::{
    Answer, Call, CallId, CallResult, Decision, Next, Progress, QuestionId, Request, Task, TaskState, Usage,
    Verdict,
};
use std::collections::{BTreeMap, HashMap};

/// A recorded task under way.
#[derive(Debug)]
pub struct Replay {
    task: Task,
    world: World,
    settings: BTreeMap<String, Json>,
    /// How many executions have been told in events.
    told: usize,
    /// The calls so far, by the names that the script gives them.
    calls: HashMap<String, KnownCall>,
    /// The calls whose admission waits for a review, by the question that is asked.
    waiting: HashMap<QuestionId, String>,
    unanswered: Unanswered,
}

/// What becomes of a review that a recording asks for and does not answer, such as one that other manifests ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unanswered {
    /// It stays open, and the steps that follow find it so.
    #[default]
    Open,
    /// It is approved when it is asked.
    Approve,
    /// It is denied when it is asked.
    Deny,
    /// The recording is played no further.
    Stop,
}

#[derive(Clone, Debug)]
struct KnownCall {
    /// How many calls were made before it.
    number: usize,
    function: String,
    stage: Stage,
}

/// How far a call came.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Whether it may run waits for a review.
    Waits,
    /// Whether it may run waits for other calls.
    Queued,
    /// It was let through, and its result is awaited.
    Open,
    /// It was not let through.
    Refused(Verdict),
    /// Its result is in.
    Done,
    /// It was evaluated by its tool's own expression.
    Evaluated,
}

impl Stage {
    fn after(decision: &Decision) -> Self {
        match (decision.verdict, &decision.call) {
            (Verdict::Suspend, _) => Self::Waits,
            (Verdict::Wait, _) => Self::Queued,
            (Verdict::Allow, Some(_)) => Self::Open,
            (Verdict::Allow, None) => Self::Evaluated,
            (verdict, _) => Self::Refused(verdict),
        }
    }
}

/// One decision of a recorded task.
#[derive(Clone, Debug)]
pub struct ReplayedEvent {
    /// Where the step stands.
    pub place: Place,
    /// When it happened.
    pub at: Timestamp,
    /// The step that was taken.
    pub happened: Happened,
    /// The decision of the engine.
    pub decision: Decision,
    /// The executions on the way: function and arguments, in order.
    pub invoked: Vec<(String, Json)>,
    /// The task afterwards.
    pub state: TaskState,
}

/// The step that was taken.
#[derive(Clone, Debug)]
pub enum Happened {
    /// Somebody said something.
    Input(Json),
    /// The model answered.
    ModelTurn(Usage),
    /// The model called a function.
    Call {
        /// The name of the call.
        id: String,
        /// The function and its arguments.
        call: Call,
    },
    /// A call that waited for other calls is decided.
    Decided {
        /// The name of the call.
        id: String,
    },
    /// A function that was let through has run.
    Result {
        /// The name of the call.
        id: String,
        /// The function.
        function: String,
        /// Its result.
        result: CallResult,
    },
    /// A reviewer decided.
    Review {
        /// Who.
        reviewer: String,
        /// Whether it approved.
        approved: bool,
        /// Whether a step of the recording says so; if not, [`Unanswered`] did.
        recorded: bool,
    },
    /// Something happened outside.
    Event {
        /// The capability whose event it is said to be.
        capability: String,
        /// The event.
        event: String,
    },
    /// The model had a response.
    Output(Json),
}

impl ReplayedEvent {
    /// The event as views show it, under the policy of its task.
    #[must_use]
    pub fn masked(self, policy: &Policy) -> Self {
        let happened = match self.happened {
            Happened::Input(input) => Happened::Input(policy.masked_input(&input)),
            Happened::Call { id, call } => {
                let arguments = policy.masked_arguments(&call.function, &call.arguments);
                Happened::Call { id, call: Call { arguments, ..call } }
            }
            Happened::Result { id, function, result } => {
                let output = policy.masked_result(&function, result.status, &result.output);
                Happened::Result { id, function, result: CallResult { output, ..result } }
            }
            other @ (Happened::ModelTurn(_)
            | Happened::Review { .. }
            | Happened::Decided { .. }
            | Happened::Event { .. }
            | Happened::Output(_)) => other,
        };
        let invoked = self.invoked.into_iter().map(|(function, arguments)| {
            let arguments = policy.masked_arguments(&function, &arguments);
            (function, arguments)
        });
        let invoked = invoked.collect();
        Self { happened, invoked, decision: self.decision.masked(), ..self }
    }
}

impl Replay {
    /// Starts the task of a script.
    ///
    /// # Errors
    /// An agent that is not loaded, not valid, or of several namespaces.
    pub fn start(script: &Script, engine: &Engine, catalog: &Catalog) -> Result<Self, Box<Diagnostic>> {
        let agent = agent_named(catalog, &script.agent)?;
        let environment = &script.environment;
        let started = environment.start(engine, agent);
        let task = started.map_err(|error| messages::cannot_start(&script.agent.place, &error))?;
        let world = World {
            now: environment.now,
            mocks: script.mocks.clone(),
            reviews: BTreeMap::new(),
            files: script.files.clone(),
            invoked: Vec::new(),
        };
        Ok(Self {
            task,
            world,
            settings: script.settings.clone(),
            told: 0,
            calls: HashMap::new(),
            waiting: HashMap::new(),
            unanswered: Unanswered::default(),
        })
    }

    /// The same with what becomes of reviews that the recording does not answer.
    #[must_use]
    pub fn with_unanswered(self, unanswered: Unanswered) -> Self {
        Self { unanswered, ..self }
    }

    /// The task as it is now.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Takes a step and adds its decisions to `events`: one, two for a call that comes with its result, one for each call that has
    /// waited for it, and one for each review that is answered because the recording does not. `ahead` are the steps behind it;
    /// the recording answers a review with one of those, before the result of the call that waits for the review.
    ///
    /// # Errors
    /// A step that cannot have happened, and [`NO_ANSWER`](super::NO_ANSWER) for a review without an answer under [`Unanswered::Stop`]. What was
    /// decided until then is in `events`.
    ///
    /// # Cost
    /// That of the operation, and for each open review linear in `ahead`.
    pub fn step(
        &mut self,
        step: &ScriptStep,
        ahead: &[ScriptStep],
        events: &mut Vec<ReplayedEvent>,
    ) -> Result<(), Box<Diagnostic>> {
        let at = step.at.unwrap_or(self.world.now);
        if at < self.world.now && !self.is_new() {
            return Err(messages::back_in_time(&step.place).into());
        }
        self.world.now = at;
        let event = self.act(step, at)?;
        events.push(event);
        if let ScriptAction::Call { id, result: Some((result, place)), .. } = &step.action {
            // a result beside its call: no answer of the recording comes between them
            if self.is_reviewed(&id.text) {
                self.settle(step, &[], events)?;
            }
            let event = self.result(step, id, place, result.clone())?;
            events.push(event);
        }
        self.settle(step, ahead, events)
    }

    fn act(&mut self, step: &ScriptStep, at: Timestamp) -> Result<ReplayedEvent, Box<Diagnostic>> {
        match &step.action {
            ScriptAction::Input(input) => {
                let progress = self.task.input(input, at).into_progress();
                self.drive(step, Happened::Input(input.clone()), progress)
            }
            ScriptAction::Event(arrival) => {
                let progress = arrival.bring(&mut self.task, &self.settings, at);
                let [capability, event] =
                    [&arrival.capability, &arrival.event].map(|name| name.text.to_string());
                self.drive(step, Happened::Event { capability, event }, progress)
            }
            ScriptAction::Output(output) => {
                let progress = self.task.output(output, at).into_progress();
                self.drive(step, Happened::Output(output.clone()), progress)
            }
            ScriptAction::ModelTurn(usage) => Ok(self.model_turn(step, *usage)),
            ScriptAction::Call { id, function, arguments, result: _ } => {
                let call = Call::new(&*function.text, arguments.clone()).with_id(&*id.text);
                self.call(step, id, call)
            }
            ScriptAction::Result { id, result } => self.result(step, id, &id.place, result.clone()),
            ScriptAction::Review { reviewer, approved } => self.review(step, reviewer, *approved),
        }
    }

    /// Tells of what a step has brought about, and answers the reviews that the recording does not answer in `ahead`.
    fn settle(
        &mut self,
        step: &ScriptStep,
        ahead: &[ScriptStep],
        events: &mut Vec<ReplayedEvent>,
    ) -> Result<(), Box<Diagnostic>> {
        loop {
            self.follow_queue(step, events)?;
            let approved = match self.unanswered {
                Unanswered::Open => return Ok(()),
                Unanswered::Approve => true,
                Unanswered::Deny | Unanswered::Stop => false,
            };
            let Some((question, reviewer)) = self.without_answer(ahead) else { return Ok(()) };
            if self.unanswered == Unanswered::Stop {
                let call = self.waiting.get(&question).map(String::as_str);
                return Err(messages::no_answer(&step.place, &reviewer, call).into());
            }
            let happened = Happened::Review { reviewer, approved, recorded: false };
            let event = self.answer(step, question, happened, approved)?;
            events.push(event);
        }
    }

    /// The first open review that no step ahead answers. A step answers the first open review of its reviewer, and only one that
    /// stands before the result of the call that waits.
    fn without_answer(&self, ahead: &[ScriptStep]) -> Option<(QuestionId, String)> {
        let mut taken: HashMap<String, usize> = HashMap::new();
        self.open_reviews().find(|(question, asked)| {
            let call = self.waiting.get(question);
            let until_result = ahead.iter().take_while(|step| {
                !matches!(&step.action, ScriptAction::Result { id, .. } if call.is_some_and(|call| **call == *id.text))
            });
            let answers = until_result.filter(
                |step| matches!(&step.action, ScriptAction::Review { reviewer, .. } if *reviewer.text == **asked),
            );
            let taken = taken.entry(asked.clone()).or_default();
            let has_answer = answers.count() > *taken;
            *taken = taken.saturating_add(usize::from(has_answer));
            !has_answer
        })
    }

    fn open_reviews(&self) -> impl Iterator<Item = (QuestionId, String)> {
        self.task.questions().filter_map(|question| match question.request {
            Request::Review { reviewer } => Some((question.id, reviewer)),
            _ => None,
        })
    }

    /// Whether a call waits for a review, its own or that of a call that it waits for.
    fn is_reviewed(&self, name: &str) -> bool {
        let waits = |known: &KnownCall| matches!(known.stage, Stage::Waits | Stage::Queued);
        self.calls.get(name).is_some_and(waits)
    }

    /// Tells of the calls that have waited for others and wait for them no more, in the order in which they were made.
    fn follow_queue(
        &mut self,
        step: &ScriptStep,
        events: &mut Vec<ReplayedEvent>,
    ) -> Result<(), Box<Diagnostic>> {
        while let Some(name) = self.no_longer_queued() {
            let id = CallId::from(&*name);
            let question = self.task.questions().find(|question| {
                self.task
                    .suspension_at(question.id)
                    .is_some_and(|decision| decision.call.as_ref() == Some(&id))
            });
            let happened = Happened::Decided { id: name.clone() };
            let event = match question {
                Some(question) => self.drive(step, happened, Progress::Asks(question))?,
                None => {
                    let decision =
                        self.task.standing(&id).unwrap_or_else(|| Decision::new(Verdict::Rejected));
                    self.event(step, happened, decision)
                }
            };
            self.enter_stage(name, &event.decision);
            events.push(event);
        }
        Ok(())
    }

    fn no_longer_queued(&self) -> Option<String> {
        let is_queued = |name: &str| self.task.queued().any(|call| call.as_str() == name);
        let decided = self
            .calls
            .iter()
            .filter(|(name, known)| matches!(known.stage, Stage::Queued) && !is_queued(name));
        decided.min_by_key(|(_, known)| known.number).map(|(name, _)| name.clone())
    }

    /// Whether nothing has happened yet; `env.now` is the time of the first step only if that has none.
    fn is_new(&self) -> bool {
        self.task.context().turns().len() == 0 && self.calls.is_empty()
    }

    /// A turn is tested before it is taken, and again when its usage is known.
    fn model_turn(&mut self, step: &ScriptStep, usage: Usage) -> ReplayedEvent {
        let at = self.world.now;
        let ahead = self.task.limits(Next::ModelTurn, at);
        let decision = if ahead.is_allowed() { self.task.model_turn(usage, at) } else { ahead };
        self.event(step, Happened::ModelTurn(usage), decision)
    }

    fn call(
        &mut self,
        step: &ScriptStep,
        id: &Embedded,
        call: Call,
    ) -> Result<ReplayedEvent, Box<Diagnostic>> {
        let name = id.text.to_string();
        if self.calls.contains_key(&name) {
            return Err(messages::call_twice(id).into());
        }
        let at = self.world.now;
        let progress = if self.is_evaluated(&call.function) {
            self.task.invoke(&call, at).map(Progress::from)
        } else {
            self.task.before(&call, at).map(Progress::from)
        };
        let progress = progress.map_err(|error| messages::impossible_call(&id.place, &error))?;
        let function = call.function.clone();
        let event = self.drive(step, Happened::Call { id: name.clone(), call }, progress)?;
        let number = self.calls.len();
        self.calls.insert(name.clone(), KnownCall { number, function, stage: Stage::Waits });
        self.enter_stage(name, &event.decision);
        Ok(event)
    }

    /// Whether the engine itself carries a function out.
    fn is_evaluated(&self, function: &str) -> bool {
        let policy = self.task.policy();
        let function = policy.position(function).and_then(|position| policy.function(position));
        function.is_some_and(|function| matches!(function.execute, Execute::Cel(_)))
    }

    fn result(
        &mut self,
        step: &ScriptStep,
        id: &Embedded,
        place: &Place,
        result: CallResult,
    ) -> Result<ReplayedEvent, Box<Diagnostic>> {
        let name = &*id.text;
        let known = self.calls.get_mut(name).ok_or_else(|| messages::unknown_call(id))?;
        match known.stage {
            Stage::Open => {}
            Stage::Waits | Stage::Queued => return Err(messages::result_while_waiting(place, name).into()),
            Stage::Refused(verdict) => return Err(messages::result_of_refused(place, name, verdict).into()),
            Stage::Done => return Err(messages::result_twice(place, name).into()),
            Stage::Evaluated => return Err(messages::result_of_evaluated(place, name).into()),
        }
        known.stage = Stage::Done;
        let function = known.function.clone();
        let progress = self.task.after(&CallId::from(name), result.clone(), self.world.now);
        let progress = progress.map_err(|error| messages::impossible_call(place, &error))?.into_progress();
        self.drive(step, Happened::Result { id: name.to_owned(), function, result }, progress)
    }

    fn review(
        &mut self,
        step: &ScriptStep,
        reviewer: &Embedded,
        approved: bool,
    ) -> Result<ReplayedEvent, Box<Diagnostic>> {
        let reviews: Vec<_> = self.open_reviews().collect();
        let (_, first) = reviews.first().ok_or_else(|| messages::no_review(reviewer))?;
        let asked = reviews.iter().find(|(_, asked)| **asked == *reviewer.text);
        let Some((question, asked)) = asked.cloned() else {
            return Err(messages::other_reviewer(reviewer, first).into());
        };
        let happened = Happened::Review { reviewer: asked, approved, recorded: true };
        self.answer(step, question, happened, approved)
    }

    fn answer(
        &mut self,
        step: &ScriptStep,
        question: QuestionId,
        happened: Happened,
        approved: bool,
    ) -> Result<ReplayedEvent, Box<Diagnostic>> {
        let progress = self.task.answer(question, Answer::Review(approved.into()), self.world.now);
        let progress =
            progress.map_err(|error| messages::impossible_call(&step.place, &error))?.into_progress();
        let event = self.drive(step, happened, progress)?;
        if let Some(name) = self.waiting.remove(&question) {
            self.enter_stage(name, &event.decision);
        }
        Ok(event)
    }

    /// Notes how far the decision on a call has come.
    fn enter_stage(&mut self, name: String, decision: &Decision) {
        if let Some(known) = self.calls.get_mut(&name) {
            known.stage = Stage::after(decision);
        }
        if let Some(question) = decision.question {
            self.waiting.insert(question, name);
        }
    }

    fn drive(
        &mut self,
        step: &ScriptStep,
        happened: Happened,
        progress: Progress,
    ) -> Result<ReplayedEvent, Box<Diagnostic>> {
        let decision = drive(&mut self.task, progress, &mut self.world);
        let decision = decision.map_err(|error| messages::impossible_call(&step.place, &error))?;
        Ok(self.event(step, happened, decision))
    }

    fn event(&mut self, step: &ScriptStep, happened: Happened, decision: Decision) -> ReplayedEvent {
        let new = self.world.invoked.split_off(self.told);
        self.world.invoked.extend_from_slice(&new);
        self.told = self.world.invoked.len();
        ReplayedEvent {
            place: step.place.clone(),
            at: self.world.now,
            happened,
            decision,
            invoked: new,
            state: self.task.state(),
        }
    }
}
