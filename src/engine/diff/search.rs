//! Tasks and operations made of what two sets of policies declare and name, through both engines, until they differ.
//!
//! In: two engines, an agent and its values. Out: a witness for each direction, the shortest past first, and the evidence of all tasks. First all operations are tried on
//! the simplest task, then a few of them on others, then all on those of the others on which the evaluation reached a rule that differs.

use super::Difference;
use super::changed_steps::ChangedSteps;
use super::witness::{Judgement, MOST, Outcome, Tries, Witness};
use crate::candidates::{Beginning, GeneratedWorld, MESSAGE, Named, around, beginnings};
use crate::cel::{Json, Timestamp};
use crate::context::InvocationStatus;
use crate::counter::CounterId;
use crate::engine::Engine;
use crate::evidence::{Evidence, reason_of};
use crate::manifest::brought::BroughtTool;
use crate::manifest::catalog::ResolvedAgent;
use crate::policy::Policy;
use crate::task::{
    Call, CallResult, Decision, Past, PastCall, Progress, Request, StartTask, Task, TaskError,
};
use serde_json::{Map, Value, json};
use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

/// The most tasks in which operations are tried.
const SETTINGS: usize = 240;

/// How many operations are tried in each task but the first.
const SAMPLE: usize = 5;

/// The two sides.
pub(super) struct Search<'s> {
    engines: [&'s Engine; 2],
    /// The policies, with the tools that tasks bring.
    policies: [Option<Arc<Policy>>; 2],
    agent: (&'s str, &'s str),
    sides: Vec<&'s ResolvedAgent>,
    named: &'s Named,
    tools: &'s [BroughtTool],
    /// The tasks, once an operation is tried.
    settings: OnceCell<Vec<Setting>>,
}

/// A task in which operations are tried.
struct Setting {
    beginning: Beginning,
    story: Story,
}

/// A past that is tried: entries of `state`, and the same as a task takes them.
#[derive(Clone, Default)]
struct Story {
    state: Vec<Value>,
    past: Vec<Past>,
}

/// Something that a task takes, up to its decision or to a review.
pub(super) type Take<'t> =
    dyn Fn(&mut Task, &Value, &mut GeneratedWorld<'_>) -> Result<Progress, TaskError> + 't;

impl<'s> Search<'s> {
    pub(super) fn new(
        (engines, policies): ([&'s Engine; 2], [Option<Arc<Policy>>; 2]),
        agent: (&'s str, &'s str),
        sides: Vec<&'s ResolvedAgent>,
        (named, tools): (&'s Named, &'s [BroughtTool]),
    ) -> Self {
        Self { engines, policies, agent, sides, named, tools, settings: OnceCell::new() }
    }

    /// The constants of both sides.
    pub(super) fn named(&self) -> &Named {
        self.named
    }

    /// Tries inputs or responses.
    pub(super) fn message(&self, operation: &'static str, changed: &ChangedSteps) -> (Difference, Evidence) {
        let messages: Vec<Value> = if operation == "input" {
            self.inputs()
        } else {
            self.named.texts().map(|text| json!({ "message": text })).collect()
        };
        let calls: Vec<Value> =
            messages.into_iter().map(|message| json!({ "op": operation, operation: message })).collect();
        self.tried(changed, &calls, &|task, call, world| {
            let message = Json::from(call.get(operation).unwrap_or(&Value::Null));
            let now = world.now;
            match operation {
                "input" => world.drive(task.input(&message, now), &mut |_| None),
                _ => world.drive(task.output(&message, now), &mut |_| None),
            }
        })
    }

    /// Tries calls of a function, or results of them.
    pub(super) fn call(
        &self,
        operation: &'static str,
        function: &str,
        changed: &ChangedSteps,
    ) -> (Difference, Evidence) {
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
        self.tried(changed, &calls, &|task, call, world| {
            let arguments = Json::from(call.get("args").unwrap_or(&Value::Null));
            let (made, now) = (Call::new(function, arguments), world.now);
            if operation == "before" {
                return world.drive(task.before(&made, now)?, &mut |_| None);
            }
            let id = task.await_result(&made)?;
            let output = Json::from(call.get("output").unwrap_or(&Value::Null));
            world.drive(task.after(&id, CallResult::successful(output), now)?, &mut |_| None)
        })
    }

    /// Inputs: the messages that are named, with the parameters of the first beginning, and the inputs of the others.
    fn inputs(&self) -> Vec<Value> {
        let settings = self.settings();
        let first = settings.first().map(|setting| setting.beginning.input.clone()).unwrap_or_default();
        let named = self.named.texts().map(|text| {
            let mut input = first.clone();
            input.insert("message".to_owned(), text.into());
            input
        });
        let mut known = HashSet::new();
        let all = named.chain(settings.iter().map(|setting| setting.beginning.input.clone()));
        all.map(Value::Object).filter(|input| known.insert(input.to_string())).collect()
    }

    /// The parameters that the model sees, of both sides, and the names of those that each side wants.
    fn schema(&self, function: &str) -> (Map<String, Value>, HashSet<String>) {
        let mut properties = Map::new();
        let mut required: Option<HashSet<String>> = None;
        for policy in self.policies.iter().flatten() {
            let Some(found) = policy.position(function).and_then(|at| policy.function(at)) else { continue };
            let own = found.schema().get("properties").and_then(Value::as_object);
            properties.extend(own.into_iter().flatten().map(|(name, schema)| (name.clone(), schema.clone())));
            let own = found.schema().get("required").and_then(Value::as_array).into_iter().flatten();
            let own: HashSet<String> = own.filter_map(|name| name.as_str().map(str::to_owned)).collect();
            required = Some(match required {
                Some(known) => known.intersection(&own).cloned().collect(),
                None => own,
            });
        }
        (properties, required.unwrap_or_default())
    }

    /// Arguments in which each parameter has some values, all with all as far as that is few, and those without one that may be left out.
    fn arguments(&self, function: &str) -> Vec<Value> {
        let (properties, required) = self.schema(function);
        let mut all = self.named.objects(&properties, MOST);
        let first = self.named.first_object(&properties);
        let optional = properties.keys().filter(|name| !required.contains(*name));
        all.extend(optional.map(|name| {
            let mut without = first.clone();
            without.remove(name);
            without
        }));
        all.into_iter().map(Value::Object).collect()
    }

    /// The first of these arguments.
    fn first_arguments(&self, function: &str) -> Value {
        Value::Object(self.named.first_object(&self.schema(function).0))
    }

    fn results(&self, function: &str) -> Vec<Value> {
        let policy = self.policies.iter().flatten().next();
        let found = policy.and_then(|policy| policy.function(policy.position(function)?));
        let schema = found.and_then(|function| function.output.as_ref()).map(|output| output.schema());
        self.named.results(schema, MOST)
    }

    /// The tasks, the simplest first: no past and the first beginning, then another past or another beginning, then both.
    fn settings(&self) -> &[Setting] {
        self.settings.get_or_init(|| {
            let beginnings = beginnings(&self.sides, self.named, SETTINGS);
            let functions = self.pasts();
            let pairs = around(&[functions.len(), beginnings.len()], SETTINGS);
            let setting = |places: Vec<usize>| {
                let calls = functions.get(*places.first()?)?;
                let beginning = beginnings.get(*places.get(1)?)?.clone();
                // nothing that came in can have labels yet
                let is_possible = beginning.labels.is_empty() || !calls.is_empty();
                is_possible.then(|| Setting { story: story(&beginning, calls), beginning })
            };
            pairs.into_iter().filter_map(setting).collect()
        })
    }

    /// Pasts: none, an input, an input and a call of each function.
    fn pasts(&self) -> Vec<Vec<PastStep>> {
        let mut pasts = vec![Vec::new(), vec![PastStep::Input]];
        let Some(policy) = &self.policies[1] else { return pasts };
        for function in policy.functions() {
            let arguments = self.first_arguments(&function.key);
            let output = self.results(&function.key).into_iter().next().unwrap_or_else(|| json!({}));
            for status in [InvocationStatus::Successful, InvocationStatus::Restricted] {
                let is_successful = status == InvocationStatus::Successful;
                let output = if is_successful { output.clone() } else { Value::Null };
                let function = function.key.to_string();
                let call = PastStep::Call { function, arguments: arguments.clone(), output, status };
                pasts.push(vec![PastStep::Input, call]);
            }
        }
        pasts
    }

    /// Tries operations in tasks until a witness for each direction is found, or there were enough.
    pub(super) fn tried(
        &self,
        changed: &ChangedSteps,
        calls: &[Value],
        take: &Take<'_>,
    ) -> (Difference, Evidence) {
        let settings = self.settings();
        let Some((first, others)) = settings.split_first() else { return Tries::default().difference() };
        let mut round = Round { search: self, changed, take, tries: Tries::default() };
        // a third for all operations, one for all tasks, and one for what the second has shown
        let third = MOST / 3;
        let reaching = round.all(first, calls, third);
        let representatives = representatives(calls, &reaching);
        let most = round.tries.count().saturating_add(third);
        let mut promising = Vec::new();
        for setting in others {
            if round.tries.count() >= most {
                break;
            }
            let is_reached = !round.all(setting, &representatives, SAMPLE).is_empty();
            promising.extend(is_reached.then_some(setting));
        }
        // the first one has not tried them all, and others may reach what it does not
        let unfinished = std::iter::once(first).filter(|_| calls.len() > third && !reaching.is_empty());
        for setting in unfinished.chain(promising) {
            round.all(setting, calls, MOST);
        }
        round.tries.difference()
    }

    /// What one side decides, and what counters held at the beginning.
    fn judge(
        &self,
        side: usize,
        setting: &Setting,
        call: &Value,
        (changed, take): (&ChangedSteps, &Take<'_>),
    ) -> (Judgement, Vec<(CounterId, i64)>) {
        let now = Timestamp::from(std::time::UNIX_EPOCH);
        let mut world = GeneratedWorld::new(now, &setting.beginning);
        let cannot = |error: TaskError| Judgement { outcome: None, reached: Err(error.to_string()) };
        let Some(engine) = self.engines.get(side) else {
            return (cannot(TaskError::NothingPending), Vec::new());
        };
        let mut task = match self.begin(engine, &setting.beginning, now) {
            Ok(task) => task,
            Err(error) => {
                let why = error.to_string();
                let outcome = Some(Outcome::not_begun(why.clone()));
                return (Judgement { outcome, reached: Err(why) }, Vec::new());
            }
        };
        for past in &setting.story.past {
            if let Err(error) = task.record(past.clone(), now) {
                return (cannot(error), Vec::new());
            }
        }
        task.explain_steps();
        let decision = match take(&mut task, call, &mut world) {
            Ok(Progress::Decided(decision)) => decision,
            Ok(Progress::Asks(question)) => match question.request {
                Request::Review { reviewer, .. } => Decision::suspended(question.id, Some(reviewer)),
                _ => return (cannot(TaskError::Waiting), Vec::new()),
            },
            Err(error) => return (cannot(error), Vec::new()),
        };
        let is_reached = task.explanation().is_some_and(|steps| changed.are_reached(side, &steps));
        let reached = if is_reached { Ok(()) } else { Err(reason_of(&decision)) };
        (Judgement { outcome: Some(Outcome::of(&decision)), reached }, world.filled)
    }

    fn begin(&self, engine: &Engine, beginning: &Beginning, now: Timestamp) -> Result<Task, TaskError> {
        engine.start_trial(StartTask {
            model: Some("test/model".to_owned()),
            tools: self.tools.to_vec(),
            ..StartTask::new("t-1", self.agent.0, self.agent.1, beginning.user(), now)
        })
    }
}

/// The tries of one operation.
struct Round<'r> {
    search: &'r Search<'r>,
    changed: &'r ChangedSteps,
    take: &'r Take<'r>,
    tries: Tries,
}

impl Round<'_> {
    /// Tries operations in one task, at most so many; the positions of those that reached a rule which differs.
    fn all(&mut self, setting: &Setting, calls: &[Value], most: usize) -> Vec<usize> {
        let mut reaching = Vec::new();
        for (at, call) in calls.iter().enumerate().take(most) {
            if self.tries.are_enough() {
                break;
            }
            let judge = |side| self.search.judge(side, setting, call, (self.changed, self.take));
            let ([old, new], filled) = {
                let ((old, _), (new, filled)) = (judge(0), judge(1));
                ([old, new], filled)
            };
            let is_reached = self.tries.add([old, new], |old, new| Witness {
                user: setting.beginning.user_json(),
                tools: self.search.tools.to_vec(),
                counters: GeneratedWorld::counters_json(&filled),
                state: setting.story.state.clone(),
                call: call.clone(),
                old,
                new,
            });
            reaching.extend(is_reached.then_some(at));
        }
        reaching
    }
}

/// A few operations that stand for all: some that reached a rule which differs, and some spread over the others.
fn representatives(calls: &[Value], reaching: &[usize]) -> Vec<Value> {
    let spread = |length: usize, count: usize| -> Vec<usize> {
        (0..count.min(length))
            .map(|at| at.saturating_mul(length).checked_div(count).unwrap_or_default())
            .collect()
    };
    let of_reaching = spread(reaching.len(), 3).into_iter().filter_map(|at| reaching.get(at).copied());
    let mut known = HashSet::new();
    let all = of_reaching.chain(spread(calls.len(), SAMPLE)).filter(|at| known.insert(*at));
    all.filter_map(|at| calls.get(at).cloned()).take(SAMPLE).collect()
}

/// Something that happened before.
enum PastStep {
    /// The input of the beginning.
    Input,
    /// A call with its result.
    Call { function: String, arguments: Value, output: Value, status: InvocationStatus },
}

/// A past with the input and the labels of a beginning.
fn story(beginning: &Beginning, steps: &[PastStep]) -> Story {
    let mut story = Story::default();
    let labels: crate::context::LabelSet =
        beginning.labels.iter().map(|label| label.as_str().into()).collect();
    if !beginning.task_labels.is_empty() {
        let labels = beginning.task_labels.iter().map(|label| label.as_str().into()).collect();
        story.past.push(Past::TaskLabels(labels));
        story.state.push(json!({ "task_labels": beginning.task_labels }));
    }
    let mut add = |mut entry: Value, past: Past, labelled: Past| {
        story.past.push(past);
        if !labels.is_empty() {
            if let Some(members) = entry.as_object_mut() {
                members.insert("labels".to_owned(), beginning.labels.clone().into());
            }
            story.past.push(labelled);
        }
        story.state.push(entry);
    };
    for step in steps {
        match step {
            PastStep::Input => {
                let mut input = beginning.input.clone();
                input.entry("message").or_insert_with(|| MESSAGE.into());
                let input = Value::Object(input);
                let past = Past::Input(Json::from(&input));
                add(json!({ "input": input }), past, Past::InputLabels(labels.clone()));
            }
            PastStep::Call { function, arguments, output, status } => {
                let is_successful = *status == InvocationStatus::Successful;
                let word = if is_successful { "successful" } else { "restricted" };
                let call = json!({ "fn": function, "args": arguments, "status": word, "output": output });
                let past = Past::Call(PastCall {
                    function: function.clone(),
                    arguments: Json::from(arguments),
                    output: is_successful.then(|| Json::from(output)),
                    status: *status,
                    executed: is_successful,
                    task_id: None,
                    at: None,
                });
                add(json!({ "call": call }), past, Past::CallLabels(labels.clone()));
            }
        }
    }
    story
}
