//! A task played step by step: each step through the task as a host would take it.
//!
//! In: the steps of a recorded task or of a case. Out: a [`ReplayedEvent`] for each decision. A step that cannot have happened (the result
//! of a call that was blocked, a verdict that nobody asked for) is an error with its place; nothing is made up to go on, but for the
//! answers to reviews, where the host says so ([`Unanswered`]), which stand in `replay_reviews`.

use super::agent::agent_named;
use super::counted::book_of;
use super::host_answers::MissingAnswer;
use super::known_call::{KnownCall, Stage};
use super::messages;
use super::replayed::{Happened, ReplayedEvent};
use super::script::Script;
use super::step::{ScriptAction, ScriptStep};
use super::world::{World, drive, drive_at};
use crate::cel::{Json, Timestamp};
use crate::counter::CounterBook;
use crate::diagnostic::Diagnostic;
use crate::engine::Engine;
use crate::manifest::Catalog;
use crate::policy::Execute;
use crate::source::{Embedded, Place};
use crate::task::{
    Call, CallId, Decision, Explanation, Next, Operation, Reported, ReportedCall, Task, TaskError, Turn,
    Turned,
};
use std::collections::{BTreeMap, HashMap};

/// A task under way.
#[derive(Debug)]
pub struct Replay {
    pub(super) task: Task,
    pub(super) world: World,
    settings: BTreeMap<String, Json>,
    /// How many executions have been told in events.
    told: usize,
    /// Whether a step was taken.
    has_begun: bool,
    /// The calls so far, by the names that the steps give them.
    pub(super) calls: HashMap<String, KnownCall>,
    pub(super) unanswered: Unanswered,
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

/// What is wrong with a step.
pub(super) type Impossible = Box<Diagnostic>;

impl Replay {
    /// Starts the task of a script.
    ///
    /// # Errors
    /// An agent that is not loaded, not valid, or of several namespaces.
    pub fn start(script: &Script, engine: &Engine, catalog: &Catalog) -> Result<Self, Impossible> {
        let agent = agent_named(catalog, &script.agent)?;
        let environment = &script.environment;
        let started = environment.start(engine, agent);
        let task = started.map_err(|error| messages::cannot_start(&script.agent.place, &error))?;
        let world = World {
            answered: 0,
            now: environment.now,
            unanswered: MissingAnswer::default(),
            mocks: script.mocks.clone(),
            reviews: BTreeMap::new(),
            files: script.files.clone(),
            counters: book_of(&script.counters, &task, environment.now)?,
            invoked: Vec::new(),
        };
        Ok(Self::of(task, world, script.settings.clone()))
    }

    /// A task that goes on in a world, with these settings of its namespace.
    pub(super) fn of(task: Task, world: World, settings: BTreeMap<String, Json>) -> Self {
        let told = world.invoked.len();
        let unanswered = Unanswered::default();
        Self { task, world, settings, told, has_begun: false, calls: HashMap::new(), unanswered }
    }

    /// The same with what becomes of reviews that the recording does not answer.
    #[must_use]
    pub fn with_unanswered(self, unanswered: Unanswered) -> Self {
        Self { unanswered, ..self }
    }

    /// The same, keeping what each step goes through for [`Replay::explanation`].
    #[must_use]
    pub fn explaining(mut self) -> Self {
        self.task.explain();
        self.task.explain_tools();
        self
    }

    /// What was gone through since it was asked for last; nothing unless that is kept.
    #[must_use]
    pub fn explanation(&self) -> Explanation {
        self.task.explanation().unwrap_or_default()
    }

    /// The task as it is now.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The task as it is now, to go on with.
    pub(super) fn into_task(self) -> Task {
        self.task
    }

    /// The time of the last step.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.world.now
    }

    /// What counts across tasks as it is now: what the recording begins with, and what its calls hold and have spent.
    #[must_use]
    pub fn counters(&self) -> &CounterBook {
        &self.world.counters
    }

    /// Takes a step and adds its decisions to `events`: one, and one more for each call of a turn, for each further result, for
    /// each call that has waited for the step, and for each review that is answered because the recording does not. `ahead` are the
    /// steps behind it; the recording answers a review with one of those, before the result of the call that waits for the review.
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
    ) -> Result<(), Impossible> {
        let at = step.at.unwrap_or(self.world.now);
        if at < self.world.now && self.has_begun {
            return Err(messages::back_in_time(&step.place).into());
        }
        self.has_begun = true;
        self.world.now = at;
        self.act(step, events)?;
        if let ScriptAction::Call { id, result: Some((result, place)), .. } = &step.action {
            // a result beside its call: no answer of the recording comes between them
            if self.waits(&id.text) {
                self.settle(step, &[], events)?;
            }
            let reported = ReportedCall { call: CallId::from(&*id.text), result: result.clone() };
            let id = Embedded::new(id.text.clone(), place.clone(), []);
            self.results(&[reported], &[id], events)?;
        }
        self.settle(step, ahead, events)
    }

    fn act(&mut self, step: &ScriptStep, events: &mut Vec<ReplayedEvent>) -> Result<(), Impossible> {
        let place = &step.place;
        match &step.action {
            ScriptAction::Operation { operation: Operation::Turn(turn), ids } => {
                self.turn(place, turn, ids, events)
            }
            ScriptAction::Operation { operation: Operation::Results { results }, ids } => {
                self.results(results, ids, events)
            }
            ScriptAction::Operation { operation, ids } => {
                self.apply(place, operation, ids.first().map_or(place, |id| &id.place), events)
            }
            ScriptAction::Call { call, id, result: _ } => self.call(place, call, id, events),
            ScriptAction::Review(review) => self.review(place, review, events),
        }
    }

    /// Takes an operation that is one decision; `blamed` is the place of an error.
    fn apply(
        &mut self,
        place: &Place,
        operation: &Operation,
        blamed: &Place,
        events: &mut Vec<ReplayedEvent>,
    ) -> Result<(), Impossible> {
        let impossible = |error: TaskError| messages::impossible_call(blamed, &error);
        let progress =
            self.task.apply(operation.clone(), &self.settings, self.world.now).map_err(impossible)?;
        let decision = drive(&mut self.task, progress, &mut self.world).map_err(impossible)?;
        if let Operation::Withdraw { call, .. } = operation {
            self.enter_stage(call.as_str(), Stage::after(&decision));
        }
        self.tell(place, Happened::Operation(operation.clone()), decision, events);
        Ok(())
    }

    /// A turn is tested before it is taken, and again when its usage is known; then all of its calls are decided, in one operation.
    fn turn(
        &mut self,
        place: &Place,
        turn: &Turn,
        ids: &[Embedded],
        events: &mut Vec<ReplayedEvent>,
    ) -> Result<(), Impossible> {
        let at = self.world.now;
        for (position, id) in ids.iter().enumerate() {
            let is_same = |other: &Embedded| other.text == id.text;
            if self.calls.contains_key(&*id.text) || ids.iter().take(position).any(is_same) {
                return Err(messages::call_twice(id).into());
            }
        }
        // a turn whose answer was judged has been taken by now
        let is_counted = self.task.has_counted_answer();
        let ahead = (!is_counted).then(|| self.task.limits(Next::ModelTurn, at));
        let turned = self.task.turn(turn, at);
        let Turned { limits, calls: decided } =
            turned.map_err(|error| messages::impossible_call(place, &error))?;
        let limits = ahead.filter(|ahead| !ahead.is_allowed()).unwrap_or(limits);
        self.tell(place, Happened::Operation(Operation::ModelTurn(turn.usage)), limits, events);
        for (id, decided) in ids.iter().zip(&decided) {
            self.know(&id.text, &decided.function, Stage::after(&decided.decision));
        }
        for ((id, call), decided) in ids.iter().zip(&turn.calls).zip(decided) {
            let decision = self.carried_on(&id.place, &id.text, decided.decision)?;
            let happened = Happened::Operation(Operation::Before(call.clone()));
            self.tell(&id.place, happened, decision, events);
        }
        Ok(())
    }

    /// How far the decision about a call comes with what the world has answers to. A call that the engine evaluates itself is
    /// carried out at once.
    fn carried_on(&mut self, place: &Place, name: &str, decision: Decision) -> Result<Decision, Impossible> {
        let impossible = |error| messages::impossible_call(place, &error);
        let id = CallId::from(name);
        let mut decision = match decision.verdict.question() {
            None => decision,
            Some(asked) if self.is_open(asked) => {
                drive_at(&mut self.task, asked, &mut self.world).map_err(impossible)?
            }
            // another call of the same turn has meanwhile stopped the task
            Some(_) => self.task.standing(&id).unwrap_or_else(Decision::not_known),
        };
        let is_let_through = matches!(Stage::after(&decision), Stage::Open);
        let is_evaluated = self.calls.get(name).is_some_and(|known| self.is_evaluated(&known.function));
        if is_let_through && is_evaluated {
            let progress = self.task.execute(&id, self.world.now).map_err(impossible)?.into_progress();
            decision = drive(&mut self.task, progress, &mut self.world).map_err(impossible)?;
            decision.call = None;
        }
        self.enter_stage(name, Stage::after(&decision));
        Ok(decision)
    }

    fn call(
        &mut self,
        place: &Place,
        call: &Call,
        id: &Embedded,
        events: &mut Vec<ReplayedEvent>,
    ) -> Result<(), Impossible> {
        if self.calls.contains_key(&*id.text) {
            return Err(messages::call_twice(id).into());
        }
        let operation = match self.is_evaluated(&call.function) {
            true => Operation::Invoke(call.clone()),
            false => Operation::Before(call.clone()),
        };
        let first = events.len();
        self.apply(place, &operation, &id.place, events)?;
        if let Some(event) = events.get(first) {
            self.know(&id.text, &call.function, Stage::after(&event.decision));
        }
        Ok(())
    }

    /// Whether the engine itself carries a function out.
    fn is_evaluated(&self, function: &str) -> bool {
        let policy = self.task.policy();
        let function = policy.position(function).and_then(|position| policy.function(position));
        function.is_some_and(|function| matches!(function.execute, Execute::Cel(_)))
    }

    /// Reports results together. `ids` are those of their calls, with the places that errors name.
    fn results(
        &mut self,
        results: &[ReportedCall],
        ids: &[Embedded],
        events: &mut Vec<ReplayedEvent>,
    ) -> Result<(), Impossible> {
        for (position, id) in ids.iter().enumerate() {
            let known = self.calls.get(&*id.text).ok_or_else(|| messages::unknown_call(id))?;
            known.stage.check_result(&id.place, &id.text)?;
            if ids.iter().take(position).any(|other| other.text == id.text) {
                return Err(messages::result_twice(&id.place, &id.text).into());
            }
        }
        let Some(first) = ids.first() else { return Ok(()) };
        let blame = |error: TaskError| messages::impossible_call(&first.place, &error);
        let given = results.iter().cloned().map(|ReportedCall { call, result }| (call, result)).collect();
        let Reported { calls, .. } = self.task.results(given, self.world.now).map_err(blame)?;
        for ((id, reported), told) in ids.iter().zip(results).zip(calls) {
            self.enter_stage(&id.text, Stage::Done);
            let decision = match told.decision.verdict.question().filter(|asked| self.is_open(*asked)) {
                Some(asked) => drive_at(&mut self.task, asked, &mut self.world).map_err(blame)?,
                None => told.decision,
            };
            let happened = Happened::Result { function: told.function, reported: reported.clone() };
            self.tell(&id.place, happened, decision, events);
        }
        Ok(())
    }

    /// Whether it is not decided yet whether a call may run.
    fn waits(&self, name: &str) -> bool {
        self.calls.get(name).is_some_and(|known| known.stage.waits())
    }

    /// Tells of the calls that have waited, for an answer or for others, and wait for that no more, in the order in which they were made.
    pub(super) fn follow(
        &mut self,
        place: &Place,
        events: &mut Vec<ReplayedEvent>,
    ) -> Result<(), Impossible> {
        while let Some(name) = self.no_longer_waiting() {
            let standing = self.task.standing(&CallId::from(&*name));
            let decision = standing.unwrap_or_else(Decision::not_known);
            let decision = self.carried_on(place, &name, decision)?;
            self.tell(place, Happened::Decided { id: CallId::from(name) }, decision, events);
        }
        Ok(())
    }

    fn no_longer_waiting(&self) -> Option<String> {
        let is_queued = |name: &str| self.task.queued().any(|call| call.as_str() == name);
        let moved_on = self.calls.iter().filter(|(name, known)| match known.stage {
            Stage::Queued => !is_queued(name),
            Stage::Asks(question) => !self.is_open(question),
            _ => false,
        });
        moved_on.min_by_key(|(_, known)| known.number).map(|(name, _)| name.clone())
    }

    fn know(&mut self, name: &str, function: &str, stage: Stage) {
        let number = self.calls.len();
        self.calls.insert(name.to_owned(), KnownCall { number, function: function.to_owned(), stage });
    }

    /// Notes how far a call has come.
    pub(super) fn enter_stage(&mut self, name: &str, stage: Stage) {
        if let Some(known) = self.calls.get_mut(name) {
            known.stage = stage;
        }
    }

    pub(super) fn tell(
        &mut self,
        place: &Place,
        happened: Happened,
        decision: Decision,
        events: &mut Vec<ReplayedEvent>,
    ) {
        self.world.keep_counters(&mut self.task);
        let new = self.world.invoked.get(self.told..).unwrap_or_default().to_vec();
        self.told = self.world.invoked.len();
        events.push(ReplayedEvent {
            place: place.clone(),
            at: self.world.now,
            happened,
            decision,
            invoked: new,
            state: self.task.state(),
        });
    }
}
