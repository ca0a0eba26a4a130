//! One call after the other, through the engine, with reviewers and tools that answer at once.
//!
//! In: a task and a call. Out: the task behind it, and what was decided. Nothing else is looked at here, so that the same calls can be made under the
//! policies as they are and under those with claims in them.

use crate::candidates::{Beginning, GeneratedWorld};
use crate::cel::{Json, Timestamp};
use crate::counter::{CounterBook, CounterId};
use crate::engine::Engine;
use crate::evidence::reason_of;
use crate::manifest::brought::BroughtTool;
use crate::scenario::{Environment, by_somebody};
use crate::task::{
    Answer, Call, CallId, CallResult, CallStatus, Decision, Progress, Request, Task, VerdictKind,
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The most answers of people to one call.
const MAX_REVIEWS: usize = 64;

/// A call as it is made, and what the world answers.
#[derive(Clone, Debug)]
pub(super) struct Move {
    pub(super) function: String,
    pub(super) arguments: Map<String, Value>,
    /// Whether those approve who are asked.
    pub(super) approves: bool,
    /// What the tool gives; nothing if it fails.
    pub(super) result: Option<Value>,
    /// Whether the engine itself carries it out.
    pub(super) is_evaluated: bool,
}

/// A call that was made, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The function.
    pub function: String,
    /// The arguments that the model gives.
    pub arguments: Value,
    /// Who was asked, and whether they approved.
    pub reviews: Vec<(String, bool)>,
    /// The decision on it.
    pub verdict: VerdictKind,
    /// The arguments that it ran with, if it ran.
    pub ran_with: Option<Value>,
    /// The result that the tool gave; nothing if it did not run, and null if it failed.
    pub result: Option<Value>,
    /// The decision on the result.
    pub result_verdict: Option<VerdictKind>,
    /// Whether the engine itself carried it out.
    pub is_evaluated: bool,
    /// Whether the result came behind all calls of the task, as where calls are made side by side.
    pub is_late: bool,
}

impl Made {
    /// Whether the call was let by.
    pub(super) fn is_let_by(&self) -> bool {
        self.verdict == VerdictKind::Allow
    }
}

/// When the results of calls come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Results {
    /// Each ahead of the next call.
    AtOnce,
    /// All behind the last call, in the order of the calls.
    Last,
}

/// A task, as far as it came.
pub(super) struct State {
    pub(super) task: Task,
    book: CounterBook,
    /// The counters that the task has read, with what they held at the beginning.
    pub(super) filled: Vec<(CounterId, i64)>,
    pub(super) made: Vec<Made>,
}

/// Where tasks are played.
pub(super) struct Stage<'s> {
    engine: &'s Engine,
    agent: (&'s str, &'s str),
    /// The tools that tasks bring.
    tools: &'s [BroughtTool],
    /// What functions give that steps invoke.
    invoked: BTreeMap<String, Value>,
    pub(super) results: Results,
}

impl Clone for State {
    fn clone(&self) -> Self {
        let Self { task, book, filled, made } = self;
        Self { task: task.fork(), book: book.clone(), filled: filled.clone(), made: made.clone() }
    }
}

impl<'s> Stage<'s> {
    pub(super) fn new(
        engine: &'s Engine,
        (agent, tools): ((&'s str, &'s str), &'s [BroughtTool]),
        invoked: BTreeMap<String, Value>,
        results: Results,
    ) -> Self {
        Self { engine, agent, tools, invoked, results }
    }

    /// What functions give that steps invoke.
    pub(super) fn invoked(&self) -> &BTreeMap<String, Value> {
        &self.invoked
    }

    /// The time at which everything happens.
    pub(super) fn now() -> Timestamp {
        Environment::default().now
    }

    /// A task whose first input was accepted.
    ///
    /// # Errors
    /// Why there is none: the task does not begin, or a rule rejects the input.
    pub(super) fn begin(&self, beginning: &Beginning) -> Result<State, String> {
        let policy = self.engine.policy(self.agent.0, self.agent.1).map_err(|error| error.to_string())?;
        let (user, tools) = (beginning.user(), self.tools.to_vec());
        let environment = Environment { user, tools, ..Environment::default() };
        let started = self.engine.start_trial(environment.start_of(policy.agent()));
        let mut task = started.map_err(|error| error.to_string())?;
        let mut world = self.world(beginning, CounterBook::default(), Vec::new());
        let said = Json::from(&Value::Object(beginning.input.clone()));
        let progress = world.drive(task.input(&said, Self::now()), &mut |_| None);
        let decision = match progress.map_err(|error| error.to_string())? {
            Progress::Decided(decision) => decision,
            Progress::Asks(_) => return Err("the first input waits for a review".to_owned()),
        };
        if !decision.is_allowed() {
            return Err(reason_of(&decision));
        }
        let GeneratedWorld { book, filled, .. } = world;
        Ok(State { task, book, filled, made: Vec::new() })
    }

    fn world<'w>(
        &'w self,
        beginning: &'w Beginning,
        book: CounterBook,
        filled: Vec<(CounterId, i64)>,
    ) -> GeneratedWorld<'w> {
        let invoked = Some(&self.invoked);
        GeneratedWorld { book, filled, invoked, ..GeneratedWorld::new(Self::now(), beginning) }
    }

    /// Makes a call; nothing if it cannot come to an end here. Beside the state behind it stands the decision ahead of it.
    pub(super) fn make(
        &self,
        beginning: &Beginning,
        state: &State,
        call: &Move,
    ) -> Option<(State, Decision)> {
        let State { mut task, book, filled, mut made } = state.clone();
        let mut world = self.world(beginning, book, filled);
        let mut reviews: Vec<(String, bool)> = Vec::new();
        let mut review = |request: &Request| {
            let Request::Review { reviewer, panel } = request else { return None };
            reviews.push((reviewer.clone(), call.approves));
            let answer = by_somebody(call.approves.into(), panel.as_ref(), reviews.len());
            (reviews.len() <= MAX_REVIEWS).then_some(Answer::Review(answer))
        };
        let name = name(made.len());
        let arguments = Value::Object(call.arguments.clone());
        let wanted = Call::new(&*call.function, Json::from(&arguments)).with_id(&*name);
        let decision = match world.drive(task.before(&wanted, Self::now()).ok()?, &mut review).ok()? {
            Progress::Decided(decision) if decision.verdict.kind() != VerdictKind::Wait => decision,
            Progress::Decided(_) | Progress::Asks(_) => return None,
        };
        world.keep_changes(&mut task)?;
        let is_allowed = decision.verdict.kind() == VerdictKind::Allow;
        let mut one = Made {
            function: call.function.clone(),
            arguments,
            reviews,
            verdict: decision.verdict.kind(),
            ran_with: decision.verdict.value().filter(|_| is_allowed).map(json_of),
            result: None,
            result_verdict: None,
            is_evaluated: call.is_evaluated,
            is_late: is_allowed && self.results == Results::Last && !call.is_evaluated,
        };
        let waits = one.is_late;
        if is_allowed {
            one.result = Some(call.result.clone().unwrap_or(Value::Null));
        }
        made.push(one);
        let GeneratedWorld { book, filled, .. } = world;
        let mut state = State { task, book, filled, made };
        if is_allowed && !waits {
            let last = state.made.len().checked_sub(1)?;
            state = self.with_result(beginning, state, last)?;
        }
        Some((state, decision))
    }

    /// The task with the results that have not come yet.
    pub(super) fn settled(&self, beginning: &Beginning, state: &State) -> Option<State> {
        let mut state = state.clone();
        for at in 0..state.made.len() {
            let is_awaited =
                state.made.get(at).is_some_and(|made| made.is_late && made.result_verdict.is_none());
            if is_awaited {
                state = self.with_result(beginning, state, at)?;
            }
        }
        Some(state)
    }

    /// The task with the result of the call at this place; nothing if it cannot come to an end here.
    fn with_result(&self, beginning: &Beginning, state: State, at: usize) -> Option<State> {
        let State { mut task, book, filled, mut made } = state;
        let one = made.get_mut(at)?;
        let mut world = self.world(beginning, book, filled);
        let id = CallId::from(&*name(at));
        // a person who looks at a result has no place among these steps
        let mut nobody = |_: &Request| None;
        let progress = if one.is_evaluated {
            world.drive(task.execute(&id, Self::now()).ok()?, &mut nobody)
        } else {
            let output = one.result.as_ref().map_or(Json::null(), Json::from);
            let result = match &one.result {
                Some(Value::Null) | None => {
                    CallResult { status: CallStatus::Errored, ..CallResult::successful(output) }
                }
                Some(_) => CallResult::successful(output),
            };
            world.drive(task.after(&id, result, Self::now()).ok()?, &mut nobody)
        };
        let decision = match progress.ok()? {
            Progress::Decided(decision) if decision.verdict.kind() != VerdictKind::Wait => decision,
            Progress::Decided(_) | Progress::Asks(_) => return None,
        };
        world.keep_changes(&mut task)?;
        one.result_verdict = Some(decision.verdict.kind());
        let GeneratedWorld { book, filled, .. } = world;
        Some(State { task, book, filled, made })
    }

    /// The same calls, made again: whether each is decided as it was.
    pub(super) fn confirms(&self, beginning: &Beginning, moves: &[Move], made: &[Made]) -> bool {
        let Ok(mut state) = self.begin(beginning) else { return false };
        for call in moves {
            let Some((next, _)) = self.make(beginning, &state, call) else { return false };
            state = next;
        }
        self.settled(beginning, &state).is_some_and(|state| state.made == made)
    }
}

/// The id of the call at this place.
pub(super) fn name(at: usize) -> String {
    format!("c{}", at.saturating_add(1))
}

fn json_of(json: &Json) -> Value {
    serde_json::to_value(json).unwrap_or_default()
}
