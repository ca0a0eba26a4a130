//! The events of stored tasks as recorded steps, to be judged anew.
//!
//! In: a store. Out: a [`Recorded`] step for each event that was a decision, task after task, a page at a time. An event holds what it changed, not what was
//! asked: so a call has its resolved arguments, a result is what was kept of it, and what changed nothing but its own record (a refused input, a call of no
//! function) is a step of another kind, which is not judged.

use super::find::{FoundTask, TaskFilter};
use super::owner::Owner;
use super::stored_tasks::StoredTasks;
use super::task_records::{OperationKind, StoredEvent};
use crate::StoreError;
use celador::cel::{Json, Timestamp};
use celador::context::InvocationStatus;
use celador::replay::{Recorded, RecordedStep, Was};
use celador::task::{
    Call, CallId, CallResult, CallStatus, Caller, Decision, Operation, Ran, ReportedCall, ReviewWord, Turn,
    Usage, User, VerdictKind,
};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What an event has changed, as far as steps are made of it.
#[derive(Default, Deserialize)]
struct Change {
    #[serde(default)]
    context: Context,
    #[serde(default)]
    opened: Vec<Opened>,
    #[serde(default)]
    closed: Vec<CallId>,
}

#[derive(Default, Deserialize)]
struct Context {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    #[serde(default)]
    inputs: Option<(usize, Vec<Json>)>,
    #[serde(default)]
    outputs: Option<(usize, Vec<Json>)>,
    #[serde(default)]
    invocations: Option<(usize, Vec<Made>)>,
}

#[derive(Deserialize)]
struct Opened {
    id: CallId,
    function: String,
    arguments: Json,
}

#[derive(Deserialize)]
struct Made {
    function: String,
    input: Json,
    #[serde(default)]
    output: Option<Json>,
    status: InvocationStatus,
    origin: Caller,
}

/// A task as its first event has it.
#[derive(Deserialize)]
struct Begun {
    namespace: String,
    agent: String,
    context: BegunContext,
}

#[derive(Deserialize)]
struct BegunContext {
    user_id: String,
    #[serde(default)]
    user_email: Option<String>,
    #[serde(default)]
    user_claims: Option<Json>,
}

impl StoredTasks {
    /// Hands on the steps of all tasks, those of a task one after the other, in pages of so many events.
    ///
    /// # Errors
    /// A store that cannot be read.
    ///
    /// # Cost
    /// Linear in the store; it holds a page of events at a time.
    pub fn recorded(&self, page: usize, mut each: impl FnMut(Recorded)) -> Result<(), StoreError> {
        let mut last: Option<(Owner, String)> = None;
        loop {
            let after = last.as_ref().map(|(owner, id)| (owner, &**id));
            let found = self.find(None, after, &TaskFilter::default(), page)?;
            let Some(FoundTask { owner, task, .. }) = found.last() else { return Ok(()) };
            last = Some((owner.clone(), task.id.clone()));
            for FoundTask { owner, task, .. } in &found {
                let mut telling = Telling::of(owner, &task.id);
                let mut version = 0;
                loop {
                    // a task that is purged meanwhile has no events any more
                    let events = self.events(owner, &task.id, version, page)?;
                    let Some(newest) = events.last() else { break };
                    version = newest.version;
                    for event in &events {
                        telling.tell(event, &mut each);
                    }
                }
            }
        }
    }
}

/// A task whose events are told.
struct Telling {
    task: String,
    agent: Option<String>,
    user: Option<User>,
    /// The tokens so far: an event has their sums.
    tokens: (u64, u64),
    /// The calls that wait for an answer, with the time of each: what they are stands in the event that ends the wait.
    asked: BTreeMap<CallId, (Option<Timestamp>, Was)>,
}

impl Telling {
    fn of(owner: &Owner, id: &str) -> Self {
        let task = format!("{}/{id}", owner.as_str());
        Self { task, agent: None, user: None, tokens: (0, 0), asked: BTreeMap::new() }
    }

    fn tell(&mut self, event: &StoredEvent, each: &mut impl FnMut(Recorded)) {
        if event.operation == OperationKind::Started {
            if let Ok(Begun { namespace, agent, context }) = serde_json::from_str(&event.change) {
                let BegunContext { user_id, user_email, user_claims } = context;
                self.agent = Some(format!("{namespace}/{agent}"));
                self.user = Some(User { id: user_id, email: user_email, claims: user_claims });
            }
            return;
        }
        let decision = event.decision.as_deref().and_then(|text| serde_json::from_str::<Decision>(text).ok());
        let (Some(decision), Ok(change)) = (decision, serde_json::from_str::<Change>(&event.change)) else {
            return;
        };
        let at = event.at.parse().ok();
        for (at, step, was) in self.steps(event.operation, &decision, change, at) {
            each(Recorded {
                task: self.task.clone(),
                agent: self.agent.clone(),
                user: self.user.clone(),
                started_at: None,
                at,
                step,
                was,
                calls_were: Vec::new(),
                gave: BTreeMap::new(),
                plays_others: false,
            });
        }
    }

    fn steps(
        &mut self,
        operation: OperationKind,
        decision: &Decision,
        change: Change,
        at: Option<Timestamp>,
    ) -> Vec<(Option<Timestamp>, RecordedStep, Option<Was>)> {
        let was = was(decision);
        let Change { context, opened, closed } = change;
        let of_model = |made: Vec<Made>| made.into_iter().filter(|made| made.origin == Caller::Model);
        let made: Vec<Made> =
            context.invocations.map(|(_, made)| of_model(made).collect()).unwrap_or_default();
        let last = |tail: Option<(usize, Vec<Json>)>| tail.and_then(|(_, mut added)| added.pop());
        let step = |operation: Operation| (at, RecordedStep::Operation(operation), Some(was.clone()));
        let one = |operation: Operation| vec![step(operation)];
        let unknown = || vec![(at, RecordedStep::Unreadable, None)];
        match operation {
            OperationKind::Input => {
                last(context.inputs).map_or_else(unknown, |said| one(Operation::Input(said)))
            }
            OperationKind::Output => {
                last(context.outputs).map_or_else(unknown, |said| one(Operation::Output(said)))
            }
            OperationKind::ModelTurn | OperationKind::Turn => {
                let tokens = (context.prompt_tokens, context.completion_tokens);
                let usage = Usage {
                    prompt_tokens: tokens.0.saturating_sub(self.tokens.0),
                    completion_tokens: tokens.1.saturating_sub(self.tokens.1),
                    ..Usage::default()
                };
                self.tokens = tokens;
                let mut steps = one(Operation::Turn(Turn { usage, calls: Vec::new() }));
                for decided in &decision.decided {
                    steps.extend(self.call(&decided.call, &decided.decision, &opened, &made, at));
                }
                steps
            }
            OperationKind::Before | OperationKind::Invoke => {
                let id = decision.call.clone().unwrap_or_else(|| CallId::from("recorded"));
                match self.call(&id, decision, &opened, &made, at) {
                    Some(step) => vec![step],
                    // it is told with its answer
                    None if self.asked.contains_key(&id) => Vec::new(),
                    None => unknown(),
                }
            }
            OperationKind::After | OperationKind::Results => {
                let reported = closed.into_iter().zip(made);
                let reported = reported.map(|(call, made)| ReportedCall { call, result: made.result() });
                reported.map(|reported| step(Operation::After(reported))).collect()
            }
            OperationKind::Withdraw => match closed.into_iter().next() {
                Some(call) => one(Operation::Withdraw { call, ran: Ran::Unknown }),
                None => unknown(),
            },
            // a lapsed claim takes its call back, and any other changes nothing that rules read
            OperationKind::Claim | OperationKind::Release => {
                let lost = closed.into_iter().next();
                lost.map_or_else(Vec::new, |call| one(Operation::Withdraw { call, ran: Ran::Unknown }))
            }
            OperationKind::Review | OperationKind::Expire => {
                let Some(id) = decision.call.clone().or_else(|| self.asked.keys().next().cloned()) else {
                    return unknown();
                };
                let Some((asked_at, asked)) = self.asked.remove(&id) else { return unknown() };
                let Some(call) = made_call(&id, &opened, &made) else { return unknown() };
                let word = if decision.verdict.kind() == VerdictKind::Allow {
                    ReviewWord::Approve
                } else {
                    ReviewWord::Deny
                };
                let review = RecordedStep::Review { call: Some(id), reviewer: None, word };
                let call = RecordedStep::Operation(Operation::Before(call));
                vec![(asked_at, call, Some(asked)), (at, review, Some(was))]
            }
            OperationKind::Unlock => {
                let unlock = Operation::Unlock { reason: "as recorded".to_owned() };
                vec![(at, RecordedStep::Operation(unlock), None)]
            }
            _ => unknown(),
        }
    }

    /// A call that was decided; one that waits is told with its answer.
    fn call(
        &mut self,
        id: &CallId,
        decision: &Decision,
        opened: &[Opened],
        made: &[Made],
        at: Option<Timestamp>,
    ) -> Option<(Option<Timestamp>, RecordedStep, Option<Was>)> {
        if decision.verdict.kind() == VerdictKind::Suspend {
            self.asked.insert(id.clone(), (at, was(decision)));
            return None;
        }
        let call = made_call(id, opened, made)?;
        Some((at, RecordedStep::Operation(Operation::Before(call)), Some(was(decision))))
    }
}

/// A call that was let through, or the record of one that was not.
fn made_call(id: &CallId, opened: &[Opened], made: &[Made]) -> Option<Call> {
    let let_through = opened.iter().find(|opened| opened.id == *id);
    let of = |function: &str, arguments: &Json| Call::new(function, arguments.clone()).with_id(id.clone());
    let_through
        .map(|opened| of(&opened.function, &opened.arguments))
        .or_else(|| made.first().map(|made| of(&made.function, &made.input)))
}

impl Made {
    fn result(self) -> CallResult {
        let status = match self.status {
            InvocationStatus::Successful => CallStatus::Successful,
            _ => CallStatus::Errored,
        };
        let output = self.output.unwrap_or_else(|| Json::object([]));
        CallResult { status, ..CallResult::successful(output) }
    }
}

fn was(decision: &Decision) -> Was {
    Was { verdict: decision.verdict.kind(), by: decision.decided_by_name() }
}
