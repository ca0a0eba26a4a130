//! One call after the other, through the engine, with reviewers and tools that answer at once.
//!
//! In: a task and a call. Out: the task behind it, and what was decided. Nothing else is looked at here, so that the same calls can be made under the
//! policies as they are and under those with claims in them.

use crate::cel::{Json, Timestamp};
use crate::counter::CounterBook;
use crate::engine::Engine;
use crate::scenario::Environment;
use crate::task::{Call, CallId, CallResult, CallStatus, Decision, Host, Invocation, Outcome, Task, Verdict};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What somebody says at the beginning of each task.
pub(super) const MESSAGE: &str = "Please see to this.";

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
    pub verdict: Verdict,
    /// The arguments that it ran with, if it ran.
    pub ran_with: Option<Value>,
    /// The result that the tool gave; nothing if it did not run, and null if it failed.
    pub result: Option<Value>,
    /// The decision on the result.
    pub result_verdict: Option<Verdict>,
    /// Whether the engine itself carried it out.
    pub is_evaluated: bool,
    /// Whether the result came behind all calls of the task, as where calls are made side by side.
    pub is_late: bool,
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
    pub(super) made: Vec<Made>,
}

/// Where tasks are played.
pub(super) struct Stage<'s> {
    engine: &'s Engine,
    agent: (&'s str, &'s str),
    /// What functions give that steps invoke.
    invoked: BTreeMap<String, Value>,
    pub(super) results: Results,
}

/// The world of one call.
struct World<'w> {
    now: Timestamp,
    approves: bool,
    invoked: &'w BTreeMap<String, Value>,
    asked: Vec<String>,
    book: CounterBook,
}

impl Host for World<'_> {
    fn now(&mut self) -> Timestamp {
        self.now
    }

    fn invoke(&mut self, invocation: &Invocation) -> Option<CallResult> {
        let output = self.invoked.get(&invocation.function).cloned().unwrap_or_else(|| json!({}));
        Some(CallResult::successful(Json::from(&output)))
    }

    fn review(&mut self, reviewer: &str) -> Option<bool> {
        self.asked.push(reviewer.to_owned());
        Some(self.approves)
    }

    fn read_mount(&mut self, _: &str) -> Option<String> {
        None
    }

    fn write_mount(&mut self, _: &str, _: &str) -> bool {
        false
    }

    fn counters(&mut self) -> Option<&mut CounterBook> {
        Some(&mut self.book)
    }
}

impl Clone for State {
    fn clone(&self) -> Self {
        Self { task: self.task.fork(), book: self.book.clone(), made: self.made.clone() }
    }
}

impl<'s> Stage<'s> {
    pub(super) fn new(
        engine: &'s Engine,
        agent: (&'s str, &'s str),
        invoked: BTreeMap<String, Value>,
        results: Results,
    ) -> Self {
        Self { engine, agent, invoked, results }
    }

    /// What functions give that steps invoke.
    pub(super) fn invoked(&self) -> &BTreeMap<String, Value> {
        &self.invoked
    }

    /// The time at which everything happens.
    pub(super) fn now() -> Timestamp {
        Environment::default().now
    }

    /// A task of somebody who has said something; nothing if nobody may say it.
    pub(super) fn begin(&self, email: &str) -> Option<State> {
        let policy = self.engine.policy(self.agent.0, self.agent.1).ok()?;
        let mut environment = Environment::default();
        environment.user.email = Some(email.to_owned());
        let mut task = environment.start(self.engine, policy.agent()).ok()?;
        let mut world = self.world(true, CounterBook::default());
        let said = Json::from(&json!({ "message": MESSAGE }));
        let outcome = task.input(&said, Self::now()).drive(&mut world).ok()?;
        outcome.is_allowed().then_some(State { task, book: world.book, made: Vec::new() })
    }

    fn world(&self, approves: bool, book: CounterBook) -> World<'_> {
        World { now: Self::now(), approves, invoked: &self.invoked, asked: Vec::new(), book }
    }

    /// Makes a call; nothing if it cannot come to an end here. Beside the state behind it stands the decision ahead of it.
    pub(super) fn make(&self, state: &State, call: &Move) -> Option<(State, Decision)> {
        let State { mut task, book, mut made } = state.clone();
        let mut world = self.world(call.approves, book);
        let name = name(made.len());
        let arguments = Value::Object(call.arguments.clone());
        let wanted = Call::new(&*call.function, Json::from(&arguments)).with_id(&*name);
        let outcome = task.before(&wanted, Self::now()).ok()?.drive(&mut world).ok()?;
        let decision = match outcome {
            Outcome::Allowed(allowed) => allowed.decision,
            Outcome::Refused(refusal) => refusal.decision,
            Outcome::Waits(_) | Outcome::Queued(_) => return None,
        };
        let reviews = std::mem::take(&mut world.asked).into_iter().map(|who| (who, call.approves)).collect();
        let is_allowed = decision.verdict == Verdict::Allow;
        let mut one = Made {
            function: call.function.clone(),
            arguments,
            reviews,
            verdict: decision.verdict,
            ran_with: decision.value.as_ref().filter(|_| is_allowed).map(json_of),
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
        let mut state = State { task, book: world.book, made };
        if is_allowed && !waits {
            let last = state.made.len().checked_sub(1)?;
            state = self.with_result(state, last)?;
        }
        Some((state, decision))
    }

    /// The task with the results that have not come yet.
    pub(super) fn settled(&self, state: &State) -> Option<State> {
        let mut state = state.clone();
        for at in 0..state.made.len() {
            let is_awaited =
                state.made.get(at).is_some_and(|made| made.is_late && made.result_verdict.is_none());
            if is_awaited {
                state = self.with_result(state, at)?;
            }
        }
        Some(state)
    }

    /// The task with the result of the call at this place; nothing if it cannot come to an end here.
    fn with_result(&self, state: State, at: usize) -> Option<State> {
        let State { mut task, book, mut made } = state;
        let one = made.get_mut(at)?;
        let mut world = self.world(true, book);
        let id = CallId::from(&*name(at));
        let outcome = if one.is_evaluated {
            task.execute(&id, Self::now()).ok()?.drive(&mut world).ok()?
        } else {
            let output = one.result.as_ref().map_or(Json::null(), Json::from);
            let result = match &one.result {
                Some(Value::Null) | None => {
                    CallResult { status: CallStatus::Errored, ..CallResult::successful(output) }
                }
                Some(_) => CallResult::successful(output),
            };
            task.after(&id, result, Self::now()).ok()?.drive(&mut world).ok()?
        };
        let decision = match outcome {
            Outcome::Allowed(received) => received.decision,
            Outcome::Refused(refusal) => refusal.decision,
            Outcome::Waits(_) | Outcome::Queued(_) => return None,
        };
        if !world.asked.is_empty() {
            // a person who looks at a result has no place among these steps
            return None;
        }
        one.result_verdict = Some(decision.verdict);
        Some(State { task, book: world.book, made })
    }

    /// The same calls, made again: whether each is decided as it was.
    pub(super) fn confirms(&self, email: &str, moves: &[Move], made: &[Made]) -> bool {
        let Some(mut state) = self.begin(email) else { return false };
        for call in moves {
            let Some((next, _)) = self.make(&state, call) else { return false };
            state = next;
        }
        self.settled(&state).is_some_and(|state| state.made == made)
    }
}

/// The id of the call at this place.
pub(super) fn name(at: usize) -> String {
    format!("c{}", at.saturating_add(1))
}

fn json_of(json: &Json) -> Value {
    serde_json::to_value(json).unwrap_or_default()
}
