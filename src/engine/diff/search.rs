//! Tasks and operations made of what two sets of policies name, through both engines, until they differ.
//!
//! In: two engines, an agent and its values. Out: a witness for each direction, the shortest past first. A witness is what both engines have decided, never a guess.

use super::Difference;
use crate::candidates::Named;
use crate::cel::{Json, Timestamp};
use crate::context::InvocationStatus;
use crate::engine::Engine;
use crate::task::{Call, CallResult, Decision, Past, PastCall, StartTask, Task, User, Verdict};
use serde_json::{Map, Value, json};
use std::cell::OnceCell;
use std::cmp::Ordering;

/// How many tasks are tried for an operation, and payloads for a trigger.
pub(super) const MOST: usize = 3_000;

/// What one side has decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// The value to go on with.
    pub value: Option<Value>,
    /// The message.
    pub message: Option<String>,
    /// What decided.
    pub by: Option<String>,
}

/// A task on which the two sides differ: as it stands in a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// The id and the address of the user.
    pub user: (String, Option<String>),
    /// What happened so far, as `state` of a case has it.
    pub state: Vec<Value>,
    /// The operation, as `call` of a case has it.
    pub call: Value,
    /// What was decided before.
    pub old: Outcome,
    /// What is decided now.
    pub new: Outcome,
}

/// What has come of the tries so far.
#[derive(Default)]
pub(super) struct Tries {
    count: usize,
    stricter: Option<Box<Witness>>,
    looser: Option<Box<Witness>>,
    otherwise: Option<Box<Witness>>,
}

impl Tries {
    /// Whether there is a witness for each direction, or there were enough of them.
    pub(super) fn are_enough(&self) -> bool {
        self.count >= MOST || (self.stricter.is_some() && self.looser.is_some())
    }

    /// Adds what both sides have decided, if they could; the first witness of a direction is kept.
    pub(super) fn add(
        &mut self,
        decided: [Option<Outcome>; 2],
        witness: impl FnOnce(Outcome, Outcome) -> Witness,
    ) {
        self.count = self.count.saturating_add(1);
        let [Some(old), Some(new)] = decided else { return };
        if (old.verdict, &old.value, &old.message) == (new.verdict, &new.value, &new.message) {
            return;
        }
        let slot = match strictness(new.verdict).cmp(&strictness(old.verdict)) {
            Ordering::Greater => &mut self.stricter,
            Ordering::Less => &mut self.looser,
            Ordering::Equal => &mut self.otherwise,
        };
        slot.get_or_insert_with(|| Box::new(witness(old, new)));
    }

    /// What they show.
    pub(super) fn difference(self) -> Difference {
        let Self { count, stricter, looser, otherwise } = self;
        if stricter.is_none() && looser.is_none() && otherwise.is_none() {
            Difference::Unknown { tried: count }
        } else {
            Difference::Found { stricter, looser, otherwise }
        }
    }
}

/// The two sides.
pub(super) struct Search<'s> {
    engines: [&'s Engine; 2],
    agent: (&'s str, &'s str),
    named: &'s Named,
    /// The pasts, once an operation is tried.
    stories: OnceCell<Vec<Story>>,
}

/// A past that is tried: entries of `state`, and the same as a task takes them.
#[derive(Clone, Default)]
struct Story {
    state: Vec<Value>,
    past: Vec<Past>,
}

impl<'s> Search<'s> {
    pub(super) fn new(engines: [&'s Engine; 2], agent: (&'s str, &'s str), named: &'s Named) -> Self {
        Self { engines, agent, named, stories: OnceCell::new() }
    }

    /// Tries inputs or responses.
    pub(super) fn message(&self, operation: &'static str) -> Difference {
        let messages = self.named.texts().map(|text| json!({ "message": text }));
        let calls: Vec<Value> =
            messages.map(|message| json!({ "op": operation, operation: message })).collect();
        self.tried(&calls, |task, call, now| {
            let message = Json::from(call.get(operation).unwrap_or(&Value::Null));
            let progress = if operation == "input" {
                task.input(&message, now).into_progress()
            } else {
                task.output(&message, now).into_progress()
            };
            decided(progress)
        })
    }

    /// Tries calls of a function, or results of them.
    pub(super) fn call(&self, operation: &'static str, function: &str) -> Difference {
        let calls: Vec<Value> = if operation == "before" {
            self.arguments(function)
                .into_iter()
                .map(|args| json!({ "op": "before", "fn": function, "args": args }))
                .collect()
        } else {
            let results = self.results(function);
            let first = self.first_arguments(function);
            let call = |output| json!({ "op": "after", "fn": function, "args": first, "output": output });
            results.into_iter().map(call).collect()
        };
        self.tried(&calls, |task, call, now| {
            let arguments = Json::from(call.get("args").unwrap_or(&Value::Null));
            let made = Call::new(function, arguments);
            if operation == "before" {
                return decided(task.before(&made, now).ok()?.into_progress());
            }
            let id = task.await_result(&made).ok()?;
            let output = Json::from(call.get("output").unwrap_or(&Value::Null));
            decided(task.after(&id, CallResult::successful(output), now).ok()?.into_progress())
        })
    }

    /// The parameters that the model sees, of both sides.
    fn schema(&self, function: &str) -> Map<String, Value> {
        let mut properties = Map::new();
        for engine in self.engines {
            let Ok(policy) = engine.policy(self.agent.0, self.agent.1) else { continue };
            let found = policy.position(function).and_then(|at| policy.function(at));
            let schema =
                found.and_then(|function| function.schema().get("properties")).and_then(Value::as_object);
            properties
                .extend(schema.into_iter().flatten().map(|(name, schema)| (name.clone(), schema.clone())));
        }
        properties
    }

    /// Arguments in which each parameter has some values, all with all as far as that is few.
    fn arguments(&self, function: &str) -> Vec<Value> {
        self.named.objects(&self.schema(function), MOST).into_iter().map(Value::Object).collect()
    }

    /// The first of these arguments.
    fn first_arguments(&self, function: &str) -> Value {
        Value::Object(self.named.first_object(&self.schema(function)))
    }

    fn results(&self, function: &str) -> Vec<Value> {
        let policy = self.engines.iter().find_map(|engine| engine.policy(self.agent.0, self.agent.1).ok());
        let found = policy.as_ref().and_then(|policy| policy.function(policy.position(function)?));
        let schema = found.and_then(|function| function.output.as_ref()).map(|output| output.schema());
        self.named.results(schema, MOST)
    }

    /// Pasts: none, an input, an input and a call of each function.
    fn stories(&self) -> Vec<Story> {
        let message = json!({ "message": "Please see to this." });
        let input =
            Story { state: vec![json!({ "input": message })], past: vec![Past::Input(Json::from(&message))] };
        let mut stories = vec![Story::default(), input.clone()];
        let Ok(policy) = self.engines[1].policy(self.agent.0, self.agent.1) else { return stories };
        for function in policy.functions() {
            let arguments = self.first_arguments(&function.key);
            let output = self.results(&function.key).into_iter().next().unwrap_or_else(|| json!({}));
            for status in [InvocationStatus::Successful, InvocationStatus::Restricted] {
                let is_successful = status == InvocationStatus::Successful;
                let output = if is_successful { output.clone() } else { Value::Null };
                let mut story = input.clone();
                let word = if is_successful { "successful" } else { "restricted" };
                let call =
                    json!({ "fn": *function.key, "args": arguments, "status": word, "output": output });
                story.state.push(json!({ "call": call }));
                story.past.push(Past::Call(PastCall {
                    function: function.key.to_string(),
                    arguments: Json::from(&arguments),
                    output: is_successful.then(|| Json::from(&output)),
                    status,
                    executed: is_successful,
                    task_id: None,
                    at: None,
                }));
                stories.push(story);
            }
        }
        stories
    }

    fn users(&self) -> Vec<(String, Option<String>)> {
        let addresses = self.named.addresses().map(str::to_owned);
        std::iter::once("u1@example.com".to_owned())
            .chain(addresses)
            .map(|address| ("u-1".to_owned(), Some(address)))
            .collect()
    }

    /// Tries operations on pasts of users until a witness for each direction is found, or there were enough.
    fn tried(
        &self,
        calls: &[Value],
        take: impl Fn(&mut Task, &Value, Timestamp) -> Option<Decision>,
    ) -> Difference {
        let mut tries = Tries::default();
        let now = || Timestamp::from(std::time::UNIX_EPOCH);
        'all: for story in self.stories.get_or_init(|| self.stories()) {
            for user in self.users() {
                for call in calls {
                    if tries.are_enough() {
                        break 'all;
                    }
                    let judge = |engine: &Engine| {
                        let mut task = self.begin(engine, &user, story)?;
                        take(&mut task, call, now()).map(|decision| Outcome::of(&decision))
                    };
                    tries.add(self.engines.map(judge), |old, new| {
                        let (user, state, call) = (user.clone(), story.state.clone(), call.clone());
                        Witness { user, state, call, old, new }
                    });
                }
            }
        }
        tries.difference()
    }

    fn begin(&self, engine: &Engine, user: &(String, Option<String>), story: &Story) -> Option<Task> {
        let now = Timestamp::from(std::time::UNIX_EPOCH);
        let user = User { id: user.0.clone(), email: user.1.clone(), ..User::default() };
        let start = StartTask {
            model: Some("test/model".to_owned()),
            ..StartTask::new("t-1", self.agent.0, self.agent.1, user, now)
        };
        let mut task = engine.start(start).ok()?;
        for past in &story.past {
            task.record(past.clone(), now).ok()?;
        }
        Some(task)
    }
}

/// How much stands in the way: nothing, a person who may still say yes, or the rules.
const fn strictness(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Allow | Verdict::Route => 0,
        Verdict::Suspend | Verdict::Wait => 1,
        _ => 2,
    }
}

/// A decision; one that asks for a person is one as well, and whatever else is asked for is not tried.
fn decided(progress: crate::task::Progress) -> Option<Decision> {
    match progress {
        crate::task::Progress::Decided(decision) => Some(decision),
        crate::task::Progress::Asks(question) => match question.request {
            crate::task::Request::Review { reviewer, .. } => {
                Some(Decision { reviewer: Some(reviewer), ..Decision::new(Verdict::Suspend) })
            }
            _ => None,
        },
    }
}

impl Outcome {
    fn of(decision: &Decision) -> Self {
        let by = decision.decided_by_name();
        let value = decision.value.as_ref().and_then(|value| serde_json::to_value(value).ok());
        let message = decision.message.clone().or_else(|| decision.reviewer.clone());
        Self { verdict: decision.verdict, value, message, by }
    }

    fn to_json(&self) -> Value {
        json!({ "verdict": self.verdict, "value": self.value, "message": self.message, "by": self.by })
    }
}

impl Witness {
    /// As JSON: `user`, `state` and `call` as a case has them, and both outcomes.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "user": { "id": self.user.0, "email": self.user.1 },
            "state": self.state,
            "call": self.call,
            "old": self.old.to_json(),
            "new": self.new.to_json(),
        })
    }
}
